"""Compare, pending, experiments, models, the list of all entries, and the search data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bot.registry import STATUS_NAMES, Status, catalogue
from leaderboard_site import text
from leaderboard_site.model import Item, Site
from leaderboard_site.pages.environment import number, page, render
from leaderboard_site.pages.track import result_of
from leaderboard_site.states import state_of


def other_files(site: Site) -> Iterator[tuple[str, str]]:
    """The files of this module's pages."""
    yield (
        "compare.md",
        page(
            "Compare",
            "Any entries side by side: curves, numbers, and the test between them.",
            render("compare.html", base="../", tracks=list(site.tracks.values())),
        ),
    )
    yield (
        "pending.md",
        page(
            "Pending",
            "Open pull requests: their state, their age, what blocks them.",
            render(
                "pending.html",
                base="../",
                rows=pending(site),
                as_of=site.pending_as_of,
                repository=site.repository,
            ),
        ),
    )
    yield (
        "experiments.md",
        page(
            "Experiments",
            "Preregistrations and submissions with their issues, code and reports, "
            "negative results included.",
            render(
                "experiments.html", base="../", rows=experiments(site), repository=site.repository
            ),
        ),
    )
    yield (
        "models.md",
        page(
            "Models",
            "What was trained, at which size, by how many entries.",
            render("models.html", base="../", rows=models(site)),
        ),
    )
    yield (
        "entries/index.md",
        page(
            "All entries",
            "Every submission on file, by track, whatever its state.",
            render("entries.html", base="../", groups=_groups(site)),
        ),
    )


def pending(site: Site) -> list[dict[str, Any]]:
    """The open pull requests as the page shows them, the longest open first."""
    rules = catalogue()
    rows = []
    for pull in sorted(site.pending, key=lambda p: (p.opened, p.number)):
        known = pull.status in set(Status)
        board = site.tracks.get(pull.track or "")
        rows.append(
            {
                "row": pull,
                "state": STATUS_NAMES[Status(pull.status)] if known else pull.status,
                "kind": pull.status if known else "",
                "age": text.age(pull.opened, site.pending_as_of),
                "blocks": [(b, b in rules) for b in pull.blocks],
                "track": None if board is None else board.track,
            }
        )
    return rows


def experiments(site: Site) -> list[dict[str, Any]]:
    """Preregistered or linked work: every submission that names an issue, a report or a paper,
    and every preregistration that has no submission yet; those that did not pass included."""
    rows: list[dict[str, Any]] = []
    for board in site.tracks.values():
        for item in board.items.values():
            about = item.about
            if about is None or not (about.preregistration or about.links):
                continue
            outcome = state_of(item.verdict).name
            if item.places:
                outcome = f"{result_of(board, item.places[0])}; {outcome}"
            links = [
                {"kind": str(x.get("kind", "link")), "url": str(x.get("url", ""))}
                for x in about.links[:6]
            ]
            rows.append(
                {
                    "item": item,
                    "date": item.verdict.date,
                    "links": links,
                    "issue": _issue(site, about.preregistration),
                    "outcome": outcome,
                }
            )
    rows += [
        {
            "item": None,
            "title": str(e.get("title", "")),
            "date": e.get("date"),
            "links": [],
            "issue": str(e.get("url", "")),
            "outcome": str(e.get("state", "registered")),
        }
        for e in site.experiments
    ]
    return sorted(rows, key=lambda r: r["date"] or "", reverse=True)[:300]


def _issue(site: Site, value: object) -> str | None:
    """The address of a preregistration, which is an issue's number or an address."""
    if value is None:
        return None
    shown = str(value).lstrip("#")
    if shown.isdigit():
        return f"{site.repository}/issues/{shown}" if site.repository else f"#{shown}"
    return shown


def models(site: Site) -> list[dict[str, Any]]:
    """Ranked points grouped by track and parameter count, with the best of each size."""
    groups: dict[tuple[str, int], list[tuple[Any, Item, Any]]] = {}
    for board in site.tracks.values():
        for item, place in board.places:
            size = number(place.values.get("parameters"))
            if size:
                groups.setdefault((board.track.id, int(size)), []).append((board, item, place))
    rows = []
    for (track, size), members in sorted(groups.items()):
        sign = 1 if members[0][0].track.quality.goal == "min" else -1
        board, item, place = min(members, key=lambda m: sign * m[2].entry.quality)
        rows.append(
            {
                "track": track,
                "size": text.magnitude(size),
                "count": len(members),
                "item": item,
                "quality": text.quantity(
                    board.track.quality.metric, place.entry.quality, board.track
                ),
                "cost": text.quantity(board.track.cost.metric, place.entry.shown_cost, board.track),
            }
        )
    return rows[:400]


def _groups(site: Site) -> list[dict[str, Any]]:
    return [
        {"track": b.track, "shown": list(b.items.values())[:500], "total": len(b.items)}
        for b in site.tracks.values()
    ]
