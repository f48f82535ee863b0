"""What a track's page begins with: how the record, or the frontier, came to be what it is."""

from __future__ import annotations

import itertools
import math
import statistics as st
from collections.abc import Sequence
from typing import Any

from bot.render.numbers import DASH
from leaderboard_site import charts, text
from leaderboard_site.charts import Axis, Step
from leaderboard_site.formats import Format, change, p_format
from leaderboard_site.milestones import CLOCKS, Milestone, milestones, on_file
from leaderboard_site.model import Item, Place, TrackBoard
from leaderboard_site.pages.columns import probability_of
from leaderboard_site.pages.frontier_story import frontier_story
from leaderboard_site.seasons import season_words, seasons

NAMED = 6
"""Jumps that are named in the chart: the largest gains."""
LAST = 10
"""Records whose gains say what the next one may be."""
FAR = 0.5
"""Other results are drawn up to half the height of the records' line above or below it."""


def story(board: TrackBoard, base: str) -> dict[str, Any] | None:
    """Title, words, chart and table; None where there is no history to tell."""
    if board.track.objective == "pareto":
        return frontier_story(board, base)
    history = milestones(board)
    dated = [m for m in history if m.date]
    if len(dated) < 2:
        return None
    metric = score_metric(board)
    return {
        "title": finding(board, history),
        "words": _words(board, history),
        "brief": _brief(board, history),
        "svg": _steps_chart(board, dated, metric, base),
        "metric": board.track.label(metric),
        "unread": any(m.place is None for m in history),
        "others": _others_words(board, dated),
        "rows": _rows(board, history, metric, base),
        "unit": board.form(metric).unit,
        "file": "record",
    }


def score_metric(board: TrackBoard) -> str:
    """What the record is a record of."""
    return "ratio" if board.track.objective == "baseline" else board.track.cost.metric


def score_over_time(board: TrackBoard) -> tuple[str, list[tuple[int, float]]]:
    """A metric, and its best value by day: the record's, or a pareto board's best quality."""
    if board.track.objective == "pareto":
        return board.track.quality.metric, _best_so_far(board)
    history = [m for m in milestones(board) if text.ordinal_day(m.date) is not None]
    costs = (m.cost for m in history)
    return score_metric(board), list(zip(_days_in_order(history), costs, strict=True))


def _days_in_order(history: Sequence[Milestone]) -> list[int]:
    """The day of each record, none before the day of the one that it beat: some official tables
    date a record earlier than the record before it."""
    return list(itertools.accumulate((text.ordinal_day(m.date) or 0 for m in history), max))


def _best_so_far(board: TrackBoard) -> list[tuple[int, float]]:
    sign = board.track.quality.sign
    rows = sorted(
        (d, sign * p.entry.quality)
        for i, p in board.places
        if (d := text.ordinal_day(i.verdict.date)) is not None
    )
    out: list[tuple[int, float]] = []
    for day, value in rows:
        if not out or value < sign * out[-1][1]:
            out.append((day, sign * value))
    return out


def finding(board: TrackBoard, history: Sequence[Milestone]) -> str:
    """`From 45 min to 73.8 s in 25 months`."""
    metric = score_metric(board)
    first, last = history[0], history[-1]
    took = text.months(first.date, last.date)
    unit = "" if metric == "ratio" or metric.endswith("_s") else f" {board.track.cost.unit}"
    start, end = (
        board.words(metric, first.cost),
        board.words(metric, last.cost),
    )
    if start == end or not took:
        return f"The record: {end}{unit}".rstrip()
    if metric == "ratio":
        return f"From {start} to {end} of the baseline’s time in {took}"
    return f"From {start} to {end}{unit} in {took}".replace("  ", " ")


def _words(board: TrackBoard, history: Sequence[Milestone]) -> str:
    """What the chart says in sentences: how much, how much lately, how much the next must gain."""
    tested = board.track.significance.test != "none"
    season = season_words(seasons(board)) if tested else ""
    parts = (_brief(board, history), margin(board, history), season)
    return " ".join(p for p in parts if p)


def _brief(board: TrackBoard, history: Sequence[Milestone]) -> str:
    first, last = history[0].cost, history[-1].cost
    counted = text.plural(len(history), "record")
    if board.track.objective == "target" and last and first > last:
        counted += f", {less_words(board, first, last)}"
    return f"{counted}. {last_year(board, history)}".strip()


def less_words(board: TrackBoard, first: float, last: float) -> str:
    """How much better the last record is than the first: `36.6 times faster`, and of another cost
    `together −25.28 %`."""
    if board.track.cost.metric.endswith("_s"):
        return f"{first / last:.3g} times faster"
    return f"together {change((last - first) / first)}"


def file_words(board: TrackBoard) -> str:
    """How much of the official table is on file."""
    counted = on_file(board)
    if counted is None:
        return ""
    have, all_ = counted
    return f"{have} of {all_} official results are on file here."


def last_year(board: TrackBoard, history: Sequence[Milestone]) -> str:
    """What the twelve months before the newest record brought, as a sentence or nothing.

    Counted from the newest record, not from today, so that the same board makes the same page.
    """
    dated = [(d, m) for m in history if (d := text.ordinal_day(m.date)) is not None]
    if board.track.objective != "target" or not dated:
        return ""
    before = [m for d, m in dated if d <= dated[-1][0] - 365]
    since = len(dated) - len(before)
    if not before or not since:
        return ""
    then, now = before[-1].cost, history[-1].cost
    metric = board.track.cost.metric
    return (
        f"Its last twelve months: from {board.words(metric, then)}, "
        f"{text.plural(since, 'record')}, {change((now - then) / then)}."
    )


def margin(board: TrackBoard, history: Sequence[Milestone]) -> str:
    """What the last records gained: about what the next one has to."""
    gains = [abs(m.gain) for m in history[-LAST:] if m.gain is not None]
    if len(gains) < 3:
        return ""
    middle = 100 * st.median(gains)
    return (
        f"The last {len(gains)} records gained {100 * min(gains):.2f} to {100 * max(gains):.2f} %, "
        f"half of them at most {middle:.2f} %."
    )


def gain_words(milestone: Milestone) -> str:
    """The one gain of a record."""
    return DASH if milestone.gain is None else change(milestone.gain)


# ---- The record over time ------------------------------------------------------------------------


def _steps_chart(board: TrackBoard, dated: Sequence[Milestone], metric: str, base: str) -> str:
    jumps = sorted(dated[1:], key=lambda m: -abs(m.gain or 0))[:NAMED]
    named = {id(m) for m in (*jumps, dated[0], dated[-1])}
    steps = [
        Step(
            day,
            m.cost,
            point_words(board, m, metric),
            address(board, m, base),
            _short(m) if id(m) in named else "",
            m.place is not None,
        )
        for day, m in zip(_days_in_order(dated), dated, strict=True)
    ]
    title = board.track.label(metric)
    return charts.record_steps(
        steps,
        Axis(metric, title),
        label=f"{title} of the record over time",
        others=others_near(board, dated)[0],
        lower_is_better=board.track.cost.goal == "min",
    )


def others_near(
    board: TrackBoard, dated: Sequence[Milestone]
) -> tuple[list[tuple[int, float]], int]:
    """The results that held no record, and how many more are so far from the records that to draw
    them would flatten the line."""
    metric = score_metric(board)
    found = [
        (day, shown)
        for item, place in board.places
        if item.path not in board.holders
        and (day := text.ordinal_day(item.verdict.date))
        and (shown := _score(place, metric)) is not None
    ]
    low, high = min(m.cost for m in dated), max(m.cost for m in dated)
    room = (high / low) ** FAR if low > 0 else math.inf
    near = [(day, shown) for day, shown in found if low / room <= shown <= high * room]
    return near, len(found) - len(near)


def _others_words(board: TrackBoard, dated: Sequence[Milestone]) -> str:
    near, far = others_near(board, dated)
    beyond = f"{far} far from the records {'is' if far == 1 else 'are'} not drawn" if far else ""
    if not near:
        return f"other entries: {beyond}" if beyond else ""
    return f"other entries ({beyond})" if beyond else "other entries"


def _score(place: Place, metric: str) -> float | None:
    """What the track places by: the ratio to the baseline, else the cost."""
    if metric != "ratio":
        return place.entry.shown_cost
    return place.entry.progress.ratio if place.entry.progress else None


def point_words(board: TrackBoard, milestone: Milestone, metric: str) -> str:
    """What a point of the chart says."""
    number = f"#{milestone.number} " if milestone.number is not None else ""
    name = milestone.title if milestone.item else f"by {milestone.people}"
    gain = f" ({gain_words(milestone)})" if milestone.gain is not None else ""
    shown = board.words(metric, milestone.cost)
    why = f"; {milestone.why}" if milestone.place is None else ""
    return f"{number}{name}, {text.day(milestone.date)}: {shown}{gain}{why}"


def address(board: TrackBoard, milestone: Milestone, base: str) -> str:
    """Where a point leads: the entry's page, or what the official table links."""
    if milestone.item is not None:
        return base + milestone.item.url
    table, row = board.track.official, milestone.official
    if row is not None and row.pull_requests:
        return f"{table.repository}/pull/{row.pull_requests[0]}"
    if row is not None and row.log:
        return f"{table.repository}/blob/{table.commit}/{row.log}"
    return table.source


def _short(milestone: Milestone) -> str:
    if milestone.item is None:
        names = milestone.official.contributors if milestone.official else ()
        return text.clean(" ".join((f"#{milestone.number}", *names[:1])), 24)
    return text.clean(milestone.title, 24)


def _rows(
    board: TrackBoard, history: Sequence[Milestone], metric: str, base: str
) -> list[dict[str, Any]]:
    """The records as a table, newest first: each column in one unit, the board's."""
    form = board.form(metric)
    aligned = p_format(_p_of(m) for m in history)
    return [_row(board, m, form, aligned, base) for m in reversed(history)]


def _p_of(milestone: Milestone) -> float | None:
    return probability_of(milestone.place) if milestone.place else None


def _row(
    board: TrackBoard, m: Milestone, form: Format, aligned: Format, base: str
) -> dict[str, Any]:
    n = m.place.entry.point.summary.n if m.place else 0
    own = m.own if m.clock != "own" and m.place else None
    return {
        "number": m.number,
        "date": text.day(m.date),
        "href": address(board, m, base),
        "outside": m.item is None,
        "name": m.title if m.item else f"{board.track.source.rpartition('/')[2]} #{m.number}",
        "folder": m.item.label if m.item and m.item.label != m.item.title else "",
        "people": m.people,
        "cost": form.show(m.cost),
        "clock": CLOCKS[m.clock],
        "own": form.show(own) if own is not None else "",
        "again": _again(m, form),
        "gain": gain_words(m).removesuffix(" %"),
        "p": aligned.show(_p_of(m)),
        "n": n or DASH,
        "unproved": unproved(board, m.item, m.place),
        "item": m.item,
        "why": m.why,
        "stood": "stands" if m.stands else _days(m.days),
    }


def _again(milestone: Milestone, form: Format) -> str:
    timed = milestone.official.retimings if milestone.official else ()
    timed = milestone.step.retimings if milestone.step else timed
    words = [f"{form.show(cost)} on {text.day(day)}" for day, cost in timed]
    return f"re-timed {', '.join(words)}" if words else ""


def _days(days: int | None) -> str:
    return DASH if days is None else text.plural(days, "day")


def unproved(board: TrackBoard, item: Item | None, place: Place | None) -> str:
    """A mark for a record that rests on one run although the track's rules ask for a test."""
    if item is None or place is None:
        return ""
    day = text.date_of(item.verdict.date)
    test = board.track.on(day).significance
    n = place.entry.point.summary.n
    if test.test == "none" or n != 1:
        return ""
    return f"one run on file: p < {test.alpha:g} is not shown here"
