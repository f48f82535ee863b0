"""The home page: what this is, who leads each track, one chart, what is new, how to join."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.compute.baselines import relation
from bot.compute.ratios import chained
from leaderboard_site import text
from leaderboard_site.about import about, of_language, starter
from leaderboard_site.charts import sparkline
from leaderboard_site.milestones import Milestone, milestones, on_file
from leaderboard_site.model import Item, Place, Site, TrackBoard
from leaderboard_site.pages.environment import page, render
from leaderboard_site.pages.results import by_board, heads, results
from leaderboard_site.pages.story import (
    file_words,
    gain_words,
    score_over_time,
    story,
    unproved,
)
from leaderboard_site.pages.track import three_commands

NEWEST = 10


def home_page(site: Site) -> str:
    """The Markdown file of the home page."""
    boards = site.boards
    longest = sorted(boards, key=lambda b: -len(b.board.records))
    chart = next((c for b in longest if (c := _chart(b))), None)
    body = render(
        "home.html",
        base="",
        cards=[_card(b) for b in boards if b.board.entries],
        waiting=[b for b in boards if b.is_open and not b.board.entries],
        closed=[b for b in boards if not b.is_open],
        chart=chart,
        newest=newest(site),
        about=about(site),
        of_language=of_language(site),
        starter=_starter(site),
        install=site.install,
    )
    return page(
        "Leaderboards",
        f"Open competition: {about(site)}. Numbers recomputed from evidence, submissions by "
        "pull request.",
        body,
    )


def _starter(site: Site) -> list[str]:
    """The commands that train the starter file, on a track of this competition."""
    named = starter(site)
    board = site.tracks.get(named)
    if board is not None and board.is_open and (commands := three_commands(board)):
        return [c.replace("my-idea", "NAME").removesuffix(" --seeds 3") for c in commands[:2]]
    return [f"speedrun new {named}/NAME --starter jax"] if named else []


def _chart(board: TrackBoard) -> dict[str, Any] | None:
    """The one chart of the home page: the longest story."""
    told = story(board, "")
    if told is None or len(board.board.entries) < 4:
        return None
    count = len(board.board.entries)
    return {
        "title": told["title"],
        "words": f"{told['brief']} {file_words(board)}".strip(),
        "svg": told["svg"],
        "track": board.track,
        "count": count,
        "file": told["file"],
    }


def _card(board: TrackBoard) -> dict[str, Any]:
    track = board.track
    leader = _leader(board)
    if leader is None:
        return {"track": track, "best": None}
    item, place = leader
    people = "" if item.people in ("imported", "not stated") else item.people
    big, unit = _big(board, place)
    history = milestones(board)
    return {
        "track": track,
        "best": place,
        "item": item,
        "big": big,
        "unit": unit,
        "lines": [x for x in (_last_words(history), _count_words(board, history)) if x],
        "by": people,
        "spark": _spark(board),
        "unproved": unproved(board, item, place) if track.objective == "target" else "",
    }


def _big(board: TrackBoard, place: Place) -> tuple[str, str]:
    """The number of a card, and what stands behind it."""
    track, entry = board.track, place.entry
    if track.objective == "pareto":
        quality = board.words(track.quality.metric, entry.quality)
        return quality, f"{track.quality.unit}, best so far"
    if track.objective == "baseline" and entry.progress:
        return _progress(board, entry.progress.ratio)
    shown = board.words(track.cost.metric, entry.shown_cost)
    return shown, "" if shown[-1:].isalpha() else track.cost.unit


def _progress(board: TrackBoard, ratio: float) -> tuple[str, str]:
    """A ratio to the first baseline, once there were several; else to the one there is."""
    track = board.track
    cost = track.in_sentence(track.cost.metric)
    now = track.baseline_id or ""
    first = next((b.id for b in track.baselines), now)
    since = relation(track.baselines, now, first)
    if not since:
        return board.words("ratio", ratio), f"of the baseline’s {cost}"
    return board.words("ratio", ratio * chained(since).ratio), f"of the first baseline’s {cost}"


def _last_words(history: Sequence[Milestone]) -> str:
    """The last gain and when: of the newest record, on file or not."""
    last = history[-1] if history else None
    if last is None or last.gain is None:
        return ""
    if last.place is None:
        shown = f"Official record #{last.number} is not on file"
        return f"{shown}: {gain_words(last)} on {text.day(last.date)}"
    return f"{gain_words(last)} on {text.day(last.date)}"


def _count_words(board: TrackBoard, history: Sequence[Milestone]) -> str:
    counted = on_file(board)
    if counted:
        return f"{counted[0]} of {counted[1]} official results on file"
    count = text.plural(len(board.board.entries), "entry", "entries")
    if board.track.objective == "pareto":
        return f"{len(board.board.frontier)} of {count} on the frontier"
    return count


def _spark(board: TrackBoard) -> str:
    """The record over time without axes; of a pareto board the best quality over time."""
    metric, points = score_over_time(board)
    if len(points) < 3:
        return ""
    first, last = (board.words(metric, p[1]) for p in (points[0], points[-1]))
    return sparkline(points, f"From {first} to {last}")


def _leader(board: TrackBoard) -> tuple[Item, Place] | None:
    """The record holder; on a pareto track the frontier's end of best quality."""
    if board.record:
        return board.record
    if not board.board.frontier:
        return None
    sign = board.track.quality.sign
    best = min(board.board.frontier, key=lambda e: sign * e.quality)
    item = board.items[best.submission]
    return item, next(p for p in item.places if p.point == best.point.name)


def newest(site: Site) -> list[dict[str, Any]]:
    """The newest ranked submissions of all tracks, board by board, that with the newest first."""
    rows = [
        (item.verdict.date or "", item.path, board, item)
        for board in site.tracks.values()
        for item in board.newest
        if item.places and not item.baseline
    ]
    rows.sort(key=lambda r: r[:2], reverse=True)
    return [
        {"track": board.track, "heads": heads(board),
         "rows": [{"item": item, "results": results(board, item)} for item in items]}
        for board, items in by_board((board, item) for _, _, board, item in rows[:NEWEST])
    ]  # fmt: skip
