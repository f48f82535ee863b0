"""Runs wanted: what anybody with a GPU can pick up; and compute that a track grants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bot.rank.grants import eligible
from bot.registry import Status
from bot.render import numbers
from leaderboard_site import text
from leaderboard_site.community import confirm_words
from leaderboard_site.model import Item, Site, TrackBoard
from leaderboard_site.pages.environment import number, page, render
from leaderboard_site.pages.track import result_of


def wanted_files(site: Site) -> Iterator[tuple[str, str]]:
    """The page; reachable, and out of the navigation, while nothing is wanted or granted."""
    body = render(
        "wanted.html", base="../", rows=wanted(site), claimed=claimed(site), grants=grants(site),
        as_of=site.pending_as_of,
    )  # fmt: skip
    yield (
        "wanted.md",
        page("Runs wanted", "Submissions that need a few more runs, and compute grants.", body),
    )


def wanted(site: Site) -> list[dict[str, Any]]:
    """The open pull requests that need runs, the cheapest first, those of unknown cost last."""
    rows = [
        {
            "pull": pull,
            "board": site.tracks.get(pull.track or ""),
            "runs": text.plural(pull.runs, "run") if pull.runs else "more runs",
            "hours": hours(pull.gpu_hours),
            "fetch": f"git fetch origin pull/{pull.number}/head && git checkout FETCH_HEAD",
            "entry": pull.entry or "",
        }
        for pull in site.pending
        if pull.status == Status.NEEDS_RUNS
    ]
    return sorted(rows, key=lambda r: (r["pull"].gpu_hours or 1e9, r["pull"].number))


def claimed(site: Site) -> list[dict[str, Any]]:
    """The entries that others have not confirmed yet, the best of each board first."""
    return [
        {"track": board.track, "item": board.items[path], "how": how}
        for board in site.tracks.values()
        for path in dict.fromkeys(e.submission for e in board.board.entries)
        if (how := confirm_words(board, board.items[path]))
    ]


def wants(site: Site) -> bool:
    """Whether the page has anything to show: runs to make, or compute for somebody."""
    return bool(wanted(site) or claimed(site)) or any(g["able"] or g["given"] for g in grants(site))


def hours(value: float) -> str:
    """GPU-hours to plan with: `about 3.2`, `under 0.1`."""
    if not value:
        return "unknown"
    return f"about {numbers.figure(value, 2)}" if value >= 0.1 else "under 0.1"


def grants(site: Site) -> list[dict[str, Any]]:
    """Each track that grants compute: who is eligible, what was granted, what came of it."""
    return [_of_track(site, board) for board in site.tracks.values() if board.track.compute_grant]


def _of_track(site: Site, board: TrackBoard) -> dict[str, Any]:
    rule = board.track.compute_grant
    able = [board.items[entry.submission] for entry in eligible(board.board)]
    given = [
        {"grant": grant, "item": item, "later": _larger(site, item)}
        for grant in site.grants
        if (item := board.items.get(grant.entry)) is not None
    ]
    return {"track": board.track, "rule": rule, "able": able, "given": given}


def _larger(site: Site, item: Item) -> list[dict[str, str]]:
    """Entries that build on this one and are larger, or do not say their size."""
    found = []
    for other in site.items:
        about = other.about
        named = site.item(about.based_on, other.verdict.track) if about else None
        if named is None or named.path != item.path or (_size(other) or 1e99) <= _size(item):
            continue
        board = site.tracks[other.verdict.track]
        result = result_of(board, other.places[0]) if other.places else ""
        found.append({"url": other.url, "label": other.label, "result": result})
    return found[:10]


def _size(item: Item) -> float:
    return number(item.verdict.metrics.get("parameters")) or 0.0
