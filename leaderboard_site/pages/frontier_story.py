"""How the frontier of a pareto board came to be what it is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from bot.rank.pareto import frontier
from leaderboard_site import charts, text
from leaderboard_site.charts import Axis, Dot, Past
from leaderboard_site.model import Item, Place, TrackBoard
from leaderboard_site.pages.columns import title_of

DAYS = 5
"""Frontiers that are drawn over one another."""


def frontier_story(board: TrackBoard, base: str) -> dict[str, Any] | None:
    rows = sorted(
        ((d, i, p) for i, p in board.places if (d := text.ordinal_day(i.verdict.date))),
        key=lambda r: (r[0], r[1].path),
    )
    if len(rows) < 8 or rows[0][0] == rows[-1][0]:
        return None
    past = _pasts(board, rows)
    if len(past) < 2:
        return None
    track = board.track
    now = [
        Dot(e.shown_cost, e.quality, _front_words(board, i, p), base + i.url, "frontier")
        for i, p in board.places
        if (e := p.entry).on_frontier
    ]
    quality = track.label(track.quality.metric)
    svg = charts.frontiers(
        past,
        sorted(now),
        Axis(track.cost.metric, track.label(track.cost.metric)),
        Axis(track.quality.metric, quality),
        label=f"The frontier of {track.in_sentence(track.quality.metric)} over time",
    )
    words = f"Each line is the frontier as it stood on a day: the best {quality} for the cost. "
    words += f"{text.plural(len(now), 'entry', 'entries')} of {len(board.places)} form it now."
    title = _frontier_finding(board, past)
    return {
        "title": title,
        "words": words,
        "brief": words,
        "svg": svg,
        "rows": [],
        "file": "frontier",
        "others": "",
    }


def _pasts(board: TrackBoard, rows: Sequence[tuple[int, Item, Place]]) -> list[Past]:
    """Frontiers at even steps of the entries' order in time, the last of them today's."""
    track = board.track
    cuts = [max(3, round(len(rows) * (i + 1) / DAYS)) for i in range(DAYS)]
    out: list[Past] = []
    for cut in dict.fromkeys(cuts):
        pairs = [(p.entry.shown_cost, p.entry.quality) for _, _, p in rows[:cut]]
        best = sorted({pairs[i] for i in frontier(pairs, track.cost.goal, track.quality.goal)})
        day = dt.date.fromordinal(rows[cut - 1][0])
        if not out or list(out[-1].points) != best:
            out.append(Past(best, f"{day:%b %Y}"))
    return out


def _frontier_finding(board: TrackBoard, past: Sequence[Past]) -> str:
    """What one cost bought at first and buys now: a cost of the first frontier, the nearest to its
    middle where anything changed."""
    track = board.track
    metric, quality = track.quality.metric, track.label(track.quality.metric)
    first = past[0].points
    pick = min if track.quality.goal == "min" else max
    for cost, _ in sorted(first, key=lambda p: abs(first.index(p) - len(first) // 2)):
        then = pick(q for c, q in first if c <= cost)
        now = pick(q for c, q in past[-1].points if c <= cost)
        if now != then:
            unit = " FLOPs" if track.cost.metric.endswith("flops") else ""
            return (
                f"{quality} for {board.words(track.cost.metric, cost)}{unit}: from "
                f"{board.words(metric, then)} to {board.words(metric, now)} since {past[0].label}"
            )
    return f"{quality} for the cost, {past[0].label} to {past[-1].label}"


def _front_words(board: TrackBoard, item: Item, place: Place) -> str:
    track = board.track
    quality = board.words(track.quality.metric, place.entry.quality)
    cost = board.words(track.cost.metric, place.entry.shown_cost)
    return f"{title_of(item, place)}: {quality} at {cost}"
