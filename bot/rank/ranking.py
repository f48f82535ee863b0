"""Ranking: what the verdicts of one track make of a board.

    board = rank(verdicts, track)
    board.entries            every ranked point, best first, with places and ties
    board.frontier           the entries that nothing beats
    board.records            who held the record, in order of time
    board.unranked           what does not rank, and why
    place_of(board, verdict) where a verdict that is not merged yet would stand
    why_not(board, verdict)  why a verdict that holds would have no place all the same

Only verdicts that are `verified` or `needs-review` rank, and only points whose quality and cost
are finite numbers. A place counts from 1:

- `pareto`: one more than the number of entries that dominate it, so the whole frontier shares
  place 1; within a quality band (`Entry.band`, `in_band`) entries are placed by cost.
- `target`: by cost among the entries that reach the target; by comparable clocks where the cost is
  a time (`bot.rank.history`).
- `baseline`: by the cost ratio to the baseline arm of the same machine.

Places go by the mean, and only equal scores share one: "not significantly different" is not
"equal", and not transitive. Beside a place on a `target` board stand the ranks that the entry may
truly have, given the spread of its runs (`bot.compute.places`).

The result depends on nothing but its arguments, and not on the order of `verdicts`.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections import Counter
from collections.abc import Iterable, Sequence

from bot.compute.places import MOST, rank_intervals, rank_intervals_known
from bot.model.board import Board, Entry, Placement, Progress, RecordStep, Unranked
from bot.model.case import Standing, Target
from bot.model.run import TRAINER
from bot.model.submission import Reply, entry_path
from bot.model.summary import Moments
from bot.model.track import TIME_METRICS, Track
from bot.model.values import finite
from bot.model.verdict import Point, Verdict
from bot.rank.admission import Retimings, Row, admit, retimings_of
from bot.rank.frontier_chance import chances, drawn
from bot.rank.grants import verified_ahead
from bot.rank.history import Dated, History, progression
from bot.rank.pareto import dominators, frontier
from bot.rank.states import logs_code, settle
from bot.registry import Status

__all__ = [
    "Board",
    "Entry",
    "Placement",
    "Progress",
    "RecordStep",
    "Unranked",
    "frontier",
    "in_band",
    "place_of",
    "rank",
    "standing",
    "why_not",
]


def rank(verdicts: Iterable[Verdict], track: Track) -> Board:
    """The board of `track`. Verdicts of other tracks are left out silently; O(n log n)."""
    verdicts = [v for v in verdicts if v.track == track.id]
    rows: list[Row] = []
    unranked: list[Unranked] = []
    retimings = retimings_of(verdicts, track)
    settled = settle(verdicts, track)
    declared, track = track, settled.track
    for verdict in verdicts:
        for item in admit(verdict, settled, retimings):
            if isinstance(item, Row):
                rows.append(item)
            else:
                unranked.append(item)
    found = _history(rows, track, retimings)
    rows = [_shown(row, found, track) for row in rows]
    entries = _pareto(rows, track) if track.objective == "pareto" else _line(rows, track)
    if track.quality.bands:
        entries = _banded(entries, track)
    return Board(
        track=track,
        entries=entries,
        frontier=tuple(sorted((e for e in entries if e.on_frontier), key=_by_cost)),
        records=found.steps,
        unranked=tuple(
            sorted(unranked, key=lambda u: (u.verdict.submission, u.point.name if u.point else ""))
        ),
        states=settled.states,
        declared=None if declared is track else declared,
    )


# ---- Places -----------------------------------------------------------------------------------


def _by_cost(entry: Entry) -> tuple[float, float, str, str]:
    return entry.shown_cost, entry.quality, entry.submission, entry.point.name


def _entry(row: Row, place: int, tied: bool, on_frontier: bool) -> Entry:
    return Entry(
        row.verdict,
        row.point,
        place,
        tied,
        row.quality,
        row.cost,
        row.shown,
        on_frontier,
        progress=row.progress,
        clock=row.clock,
        state=row.state,
    )


def _pareto(rows: Sequence[Row], track: Track) -> tuple[Entry, ...]:
    pairs = [(row.shown, row.quality) for row in rows]
    counts = dominators(pairs, track.cost.goal, track.quality.goal)
    places = [1 + (count or 0) for count in counts]
    shared = Counter(places)
    order = sorted(range(len(rows)), key=lambda i: (places[i], rows[i].score, *rows[i].key))
    likely = chances([drawn(row, track) for row in rows])
    return tuple(
        dc.replace(
            _entry(rows[i], places[i], shared[places[i]] > 1, places[i] == 1),
            frontier_chance=likely[i],
        )
        for i in order
    )


def _line(rows: Sequence[Row], track: Track) -> tuple[Entry, ...]:
    """Places by score; only equal scores share one. Beside each the ranks it may truly have."""
    ordered = sorted(rows, key=lambda r: (r.score, *r.key))
    places: list[int] = []
    for index, row in enumerate(ordered):
        equal = index > 0 and row.score == ordered[index - 1].score
        places.append(places[-1] if equal else index + 1)
    shared = Counter(places)
    ranks = _ranks(ordered[:MOST], track)
    return tuple(
        dc.replace(_entry(row, place, shared[place] > 1, place == 1), ranks=ranks.get(index))
        for index, (row, place) in enumerate(zip(ordered, places, strict=True))
    )


def _ranks(rows: Sequence[Row], track: Track) -> dict[int, tuple[int, int]]:
    """The possible ranks of the rows that can be tested against each other, by their index.

    On a `baseline` track scores are ratios, whose intervals are shown instead.
    """
    rule, worth = track.significance, track.cost.step
    if track.objective == "baseline":
        return {}
    if worth is not None:
        # The steps track's pairwise rule: loss and steps on one scale, `worth` for 100 steps.
        if not rule.sigma:
            return {}
        scores = [row.quality + worth / 100 * row.cost for row in rows]
        runs = [row.point.summary.n or 1 for row in rows]
        found = rank_intervals_known(scores, runs, rule.sigma)
    else:
        found = rank_intervals([_spread(row) for row in rows], goal=track.cost.goal)
    return dict(enumerate(found))


def _spread(row: Row) -> Moments:
    """The costs of the runs behind a row, on the clock that is shown."""
    values = _values(row.point)
    if not values or not row.cost:
        return Moments(1, row.shown, None)
    own = Moments.of(values)
    return Moments(own.n, row.shown, own.sd and own.sd * abs(row.shown / row.cost))


def _values(point: Point) -> tuple[float, ...]:
    """The costs of single runs, as the statistics of a point list them."""
    return tuple(v for v in point.summary.cost.values if finite(v))


# ---- Quality bands ----------------------------------------------------------------------------


def in_band(board: Board, band: float) -> tuple[Entry, ...]:
    """The entries that reach `band`, cheapest first, with `band` and `band_place` set for it."""
    return _in_band(board.entries, band, board.track)


def _in_band(entries: Iterable[Entry], band: float, track: Track) -> tuple[Entry, ...]:
    sign = track.cost.sign
    inside = sorted(
        (e for e in entries if track.quality.reaches(e.quality, band)),
        key=lambda e: (sign * e.shown_cost, e.submission, e.point.name),
    )
    placed: list[Entry] = []
    for index, entry in enumerate(inside):
        equal = index > 0 and entry.shown_cost == placed[-1].shown_cost
        place = placed[-1].band_place if equal else index + 1
        placed.append(dc.replace(entry, band=band, band_place=place))
    return tuple(placed)


def _banded(entries: tuple[Entry, ...], track: Track) -> tuple[Entry, ...]:
    """The entries with the hardest band that each reaches, and its place there."""
    best: dict[tuple[str, str], Entry] = {}
    for band in sorted(track.quality.bands, reverse=track.quality.goal == "min"):
        best |= {(e.submission, e.point.name): e for e in _in_band(entries, band, track)}
    return tuple(best.get((e.submission, e.point.name), e) for e in entries)


# ---- The record over time, and where a verdict would stand --------------------------------------


def _history(rows: Iterable[Row], track: Track, retimings: Retimings) -> History:
    """The record over time, and the cost that each row goes by."""
    sign = track.cost.sign
    official = track.official.records if track.objective == "target" else ()
    entries = {row.verdict.submission for row in rows}
    dated = [_dated(row, track, sign, entries, retimings) for row in rows]
    return progression(
        dated, track.objective == "pareto", official, sign, track.significance.margin or 0.0
    )


def _dated(
    row: Row,
    track: Track,
    sign: int,
    entries: set[str],
    retimings: Retimings,
) -> Dated:
    arm = row.point.summary.baseline
    ratio, bounds = (arm.ratio, arm.ratio_interval) if arm else (None, None)
    return Dated(
        date=row.verdict.date,
        submission=row.verdict.submission,
        point=row.point.name,
        cost=row.cost,
        quality=row.quality,
        quality_score=track.quality.sign * row.quality,
        sign=sign,
        fixed=row.score if row.progress else None,
        retimings=retimings.get(row.key, ()),
        timed=track.objective == "target" and track.cost.metric in TIME_METRICS,
        ratio=ratio if ratio is not None and finite(ratio) and ratio > 0 else None,
        ratio_interval=bounds,
        against=entry_path(row.verdict.based_on, track.id, entries),
    )


def _shown(row: Row, found: History, track: Track) -> Row:
    """The row with the cost that places go by."""
    shown = found.shown[row.key]
    score = row.score if row.progress else track.cost.sign * shown.cost
    return dc.replace(row, shown=shown.cost, score=score, clock=shown.clock)


def standing(board: Board, without: str | None = None, reply: Reply | None = None) -> Standing:
    """The record and the baseline of a board, as if the submission `without` were not on it, and
    the entry that `reply` names.

    The costs are those of single runs where the statistics of an entry list them. On a `pareto`
    board there is no single record: both are empty.
    """
    if board.track.objective == "pareto":
        rest = [e for e in board.entries if e.submission != without]
        pairs = [(e.shown_cost, e.quality) for e in rest]
        best = frontier(pairs, board.track.cost.goal, board.track.quality.goal)
        return Standing(frontier=tuple(pairs[i] for i in best), known=True)
    others = [e for e in board.entries if e.submission != without]
    holder = board.record
    if holder is None or holder.submission == without:
        holder = others[0] if others else None
    base = next((e for e in others if board.track.is_baseline(e.submission)), None)
    unread = _unread_record(board, holder, without)
    costs = _run_costs(holder) if holder else ()
    return Standing(
        known=True,
        record=holder.submission if holder else None,
        record_cost=unread or (holder.shown_cost if holder else None),
        record_costs=(unread,) if unread else costs,
        record_ratio=next((e.progress.ratio for e in others if e.progress), None),
        baseline=base.submission if base else board.track.baseline_id,
        baseline_costs=_run_costs(base) if base else (),
        record_values=_run_values(holder) if holder else (),
        record_code=_run_code(holder.verdict) if holder else frozenset(),
        baseline_code=_run_code(base.verdict) if base else frozenset(),
        target=_target(board, without, reply),
    )


def _target(board: Board, without: str | None, reply: Reply | None) -> Target | None:
    """The entry that a reply names; a reply never names another reply."""
    verdicts = [e.verdict for e in board.entries] + [u.verdict for u in board.unranked]
    known = {v.submission: v for v in verdicts if v.reply is None and v.submission != without}
    path = entry_path(reply.entry if reply else None, board.track.id, known)
    if path is None:
        return None
    found = known[path]
    statistics = found.points[0].statistics if found.points else None
    own = [run.config_sha256 for run in found.runs if run.arm == "candidate"]
    configs = frozenset(digest for digest in own if digest)
    code = _run_code(found)
    return Target(path, statistics, code, found.against, configs, logs_code(found))


def _unread_record(board: Board, holder: Entry | None, without: str | None) -> float | None:
    """The cost of the official record where it is better than the holder's and not on file: a new
    entry has to beat it all the same."""
    track = board.track
    rows = [r for r in track.official.records if r.record]
    if track.objective != "target" or not rows:
        return None
    if without is not None and rows[-1].submission == without:
        return None
    cost = rows[-1].shown_cost
    sign = track.cost.sign
    return cost if holder is None or sign * cost < sign * holder.shown_cost else None


def _run_costs(entry: Entry) -> tuple[float, ...]:
    values = _values(entry.point)
    return values if values and entry.shown_cost == entry.cost else (entry.shown_cost,)


def _run_values(entry: Entry) -> tuple[float, ...]:
    values = tuple(v for v in entry.point.summary.quality.values if finite(v))
    return values or (entry.quality,)


def _run_code(verdict: Verdict) -> frozenset[str]:
    """Source hashes of a verdict's own runs, less the trainer's of itself."""
    return frozenset(
        digest
        for run in verdict.runs
        if run.arm == "candidate"
        for name, digest in run.code_sha256.items()
        if name != TRAINER
    )


def place_of(board: Board, verdict: Verdict) -> Placement | None:
    """Where `verdict` would stand on `board`, without its own earlier entry; its best point.

    None when it cannot rank: rejected, unverifiable, or without the metrics. A verdict that only
    needs more runs is placed as if it had them.
    """
    others = {e.submission: e.verdict for e in board.entries}
    others |= {u.verdict.submission: u.verdict for u in board.unranked}
    others.pop(verdict.submission, None)
    placed_as = verdict
    if verdict.status is Status.NEEDS_RUNS:
        placed_as = dc.replace(verdict, status=Status.NEEDS_REVIEW)
    after = rank([*others.values(), placed_as], board.base)
    mine = [e for e in after.entries if e.submission == verdict.submission]
    if not mine:
        return None
    entry = min(mine, key=lambda e: (e.place, e.band_place or math.inf, e.point.name))
    before = standing(board, verdict.submission)
    gap = None if before.record_cost is None else entry.shown_cost - before.record_cost
    return Placement(
        place=entry.place,
        of=len(after.entries),
        tied=entry.tied,
        on_frontier=entry.on_frontier,
        record=after.record == entry,
        gap=gap,
        entry=entry,
        verified_ahead=verified_ahead(after.entries, entry),
    )


def why_not(board: Board, verdict: Verdict) -> str | None:
    """Why `verdict` would have no place although it passes; None if it has one, or if its findings
    say enough."""
    if not verdict.status.counts:
        return None
    entries = [e.verdict for e in board.entries] + [u.verdict for u in board.unranked]
    items = list(admit(verdict, settle([*entries, verdict], board.base), {}))
    reasons = [item.why for item in items if isinstance(item, Unranked)]
    return reasons[0] if len(reasons) == len(items) else None
