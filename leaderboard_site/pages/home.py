"""The home page: what this is, who leads each track, one chart, what is new, how to join."""

from __future__ import annotations

from typing import Any

from leaderboard_site import text
from leaderboard_site.model import Item, Place, Site, TrackBoard
from leaderboard_site.pages.environment import page, render
from leaderboard_site.pages.plots import against, quality_chart
from leaderboard_site.pages.track import result_of

NEWEST = 10


def home_page(site: Site) -> str:
    """The Markdown file of the home page."""
    boards = sorted(site.tracks.values(), key=lambda b: not b.board.entries)
    chosen = next((b for b in boards if b.track.objective == "pareto" and b.board.entries), None)
    chart = None
    if chosen:
        track = chosen.track
        chart = {
            "title": f"{text.label(track.quality.metric)} for the compute spent",
            "words": "The line joins the entries that nothing beats on both axes. Lower and "
            "further left is better; every ringed point leads to its runs.",
            "svg": quality_chart(chosen, against(chosen, track.cost.metric), ""),
            "track": track,
            "count": len(chosen.board.entries),
        }
    body = render(
        "home.html", base="", cards=[_card(b) for b in boards], chart=chart, newest=newest(site)
    )
    return page(
        "Leaderboards",
        "Open competition in training language models with less compute: every "
        "number recomputed from evidence, submissions by pull request.",
        body,
    )


def _card(board: TrackBoard) -> dict[str, Any]:
    track = board.track
    leader = _leader(board)
    if leader is None:
        return {"track": track, "best": None}
    item, place = leader
    stats = place.entry.point.statistics or {}
    people = "" if item.people in ("imported", "not stated") else item.people
    count = text.plural(len(board.board.entries), "entry", "entries")
    if track.objective == "pareto":
        big = text.quantity(track.quality.metric, place.entry.quality)
        unit = f"{track.quality.unit}, best so far"
        line = f"{text.plural(len(board.board.frontier), 'entry', 'entries')} on the frontier of "
        line += str(len(board.board.entries))
    elif track.objective == "baseline" and place.entry.progress:
        big, unit = f"{place.entry.progress.ratio:.4f}", "of the baseline’s time"
        line = f"{count}; {text.in_sentence(track.quality.metric)} {place.entry.quality:.4f}"
    else:
        big, unit = text.quantity(track.cost.metric, place.entry.shown_cost), ""
        unit = "" if big[-1:].isalpha() else track.cost.unit
        parts = [count, f"mean {place.entry.quality:.4f}"]
        if stats.get("n"):
            parts.append(f"n = {stats['n']}")
        if stats.get("p") is not None:
            parts.append(f"p = {text.probability(stats['p'])}")
        line = ", ".join(parts)
    return {
        "track": track,
        "best": place,
        "item": item,
        "big": big,
        "unit": unit,
        "line": line,
        "by": people,
    }


def _leader(board: TrackBoard) -> tuple[Item, Place] | None:
    """The record holder; on a pareto track the frontier's end of best quality."""
    if board.record:
        return board.record
    if not board.board.frontier:
        return None
    sign = 1 if board.track.quality.goal == "min" else -1
    best = min(board.board.frontier, key=lambda e: sign * e.quality)
    item = board.items[best.submission]
    return item, next(p for p in item.places if p.point == best.point.name)


def newest(site: Site) -> list[dict[str, Any]]:
    """The newest ranked submissions of all tracks."""
    rows = [
        (item.verdict.date or "", item.path, board, item)
        for board in site.tracks.values()
        for item in board.newest
        if item.places
    ]
    rows.sort(key=lambda r: r[:2], reverse=True)
    return [
        {"item": item, "track": board.track, "result": result_of(board, item.places[0])}
        for _, _, board, item in rows[:NEWEST]
    ]
