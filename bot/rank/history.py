"""The record over time: who held it, from when, and what took it; and which clock says so.

Clocks of different machines do not compare. Where a cost is a time, a result shows

- the official time, if the maintainers' table (`tracks/<id>.records.json`) or a re-timing of the
  track file states one: they timed it beside the others;
- else the time of what it was measured against, times the ratio of its two arms, which ran on one
  machine;
- else the time of its own machine.

Along a chain of ratios the log variances add: `interval` is that of the product since the last
time that was official or a machine's own, which it takes as it stands.

Places and records go by the shown cost, and `clock` says which of the three it is. A result enters
on its date. Of several on one date the worse enters first, so that each of them that beat the
record of the day before is kept. Results without a date enter last. The rows of the official table
enter in its order, those whose evidence is not on file too: the next record had to beat them. An
official re-timing changes what the record shows from its date on, and is not a new record.
"""

from __future__ import annotations

import bisect
import dataclasses as dc
from collections.abc import Iterable, Mapping, Sequence

from bot.compute.ratios import Link, chained
from bot.compute.significance import reaches
from bot.model.board import Clock, RecordStep
from bot.model.official import OfficialRecord
from bot.model.values import by_date

Key = tuple[str, str]
"""Submission and point."""


@dc.dataclass(frozen=True, slots=True)
class Dated:
    """A result as the progression needs it; the smaller of two scores is the better.

    `retimings` are (date, cost) in order of time. `ratio` is that of the candidate's mean cost to
    its baseline arm's, and `against` the submission that the arm ran (None: the record of the day);
    both count where `timed` says that the cost is a time. `fixed` is a score other than the
    cost (a ratio to a frozen baseline); None if the cost itself is compared, by `sign`.
    """

    date: str | None
    submission: str
    point: str
    cost: float
    quality: float
    quality_score: float
    sign: int = 1
    fixed: float | None = None
    retimings: tuple[tuple[str, float], ...] = ()
    timed: bool = False
    ratio: float | None = None
    ratio_interval: tuple[float, float] | None = None
    against: str | None = None

    @property
    def key(self) -> Key:
        """What identifies the result."""
        return self.submission, self.point

    @property
    def own_score(self) -> float:
        """The score of its own clock."""
        return self.sign * self.cost if self.fixed is None else self.fixed

    @property
    def order(self) -> tuple[str, float, float, Key]:
        """The order of entering."""
        return by_date(self.date), -self.own_score, -self.quality_score, self.key


@dc.dataclass(frozen=True, slots=True)
class Shown:
    """The cost that a result goes by, which clock gave it, and by which ratios if by any."""

    cost: float
    clock: Clock
    links: tuple[Link, ...] = ()

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval that the ratios give the cost; None without ratios."""
        if not self.links:
            return None
        whole = chained(self.links)
        start, bounds = self.cost / whole.ratio, whole.interval
        return None if bounds is None else (start * bounds[0], start * bounds[1])


@dc.dataclass(frozen=True, slots=True)
class History:
    """The steps in order of time, and what each result shows now."""

    steps: tuple[RecordStep, ...]
    shown: Mapping[Key, Shown]


@dc.dataclass(frozen=True, slots=True)
class _Holder:
    """Who holds the record while the history is read: a result, or a row without one."""

    name: str
    cost: float
    score: float
    retimings: tuple[tuple[str, float], ...] = ()
    sign: int = 1
    links: tuple[Link, ...] = ()

    def on(self, date: str | None) -> tuple[float, float]:
        """Cost and score that it shows on `date` (None: now)."""
        cost, score = self.cost, self.score
        for day, timed in self.retimings:
            if date is None or day <= date:
                cost, score = timed, self.sign * timed
        return cost, score


def progression(
    results: Iterable[Dated],
    pareto: bool,
    official: Sequence[OfficialRecord] = (),
    sign: int = 1,
    margin: float = 0.0,
) -> History:
    """The records in order of time: the best score so far, or every step of the frontier.

    `sign` turns the cost of a row of the table into a score: 1 where less is better, else -1. A
    record is beaten by at least `margin`.
    """
    ordered = sorted(results, key=lambda r: r.order)
    if pareto:
        shown = {r.key: Shown(r.cost, "own") for r in ordered}
        return History(_frontier_steps(ordered), shown)
    return _Progress(sign, margin).read(ordered, official)


def beats(score: float, record: float, margin: float = 0.0) -> bool:
    """Whether a score is better (smaller) than the record's by at least `margin`."""
    return score < record and reaches(record - score, margin)


class _Progress:
    """Reads the results in order and keeps who holds the record."""

    def __init__(self, sign: int, margin: float) -> None:
        self.sign, self.margin = sign, margin
        self.steps: list[RecordStep] = []
        self.shown: dict[Key, Shown] = {}
        self.latest: dict[str, Shown] = {}
        self.holder: _Holder | None = None

    def read(self, ordered: Sequence[Dated], official: Sequence[OfficialRecord]) -> History:
        for row, result in _events(ordered, official):
            if result is None:
                if row is not None and row.record:
                    score = self.sign * row.cost
                    unread = _Holder(f"#{row.number}", row.cost, score, row.retimings, self.sign)
                    self._pass_to(unread, row.date)
                continue
            self._enter(result, row)
        return History(tuple(self.steps), self.shown)

    def _enter(self, result: Dated, row: OfficialRecord | None) -> None:
        entered = self._entered(result, row)
        retimings = row.retimings if row and row.retimings else result.retimings
        latest = retimings[-1][1] if retimings else entered.cost
        clock: Clock = "official" if retimings else entered.clock
        shown = Shown(latest, clock, () if retimings else entered.links)
        self.shown[result.key] = shown
        self.latest.setdefault(result.submission, shown)
        score = self.sign * entered.cost if result.fixed is None else result.fixed
        previous = self.holder.on(result.date) if self.holder else None
        if row is not None:
            if not row.record:
                return
        elif previous is not None and not beats(score, previous[1], self.margin):
            return
        step = RecordStep(
            date=result.date,
            submission=result.submission,
            point=result.point,
            cost=entered.cost,
            quality=result.quality,
            previous=previous[0] if previous else None,
            retimings=retimings,
            own=result.cost,
            clock=entered.clock,
            beat=self.holder.name if self.holder else None,
            number=row.number if row else None,
            interval=entered.interval,
        )
        links = entered.links
        holder = _Holder(result.submission, entered.cost, score, retimings, self.sign, links)
        self._pass_to(holder, result.date)
        self.steps.append(step)

    def _entered(self, result: Dated, row: OfficialRecord | None) -> Shown:
        """What a result shows on the day it enters."""
        if not result.timed:
            return Shown(result.cost, "own")
        if row is not None:
            return Shown(row.cost, "official")
        if result.ratio is not None:
            base = self._base(result.against, result.date)
            if base is not None:
                link = Link.of(result.ratio, result.ratio_interval)
                return Shown(base.cost * result.ratio, "paired", (*base.links, link))
        return Shown(result.cost, "own")

    def _base(self, submission: str | None, date: str | None) -> Shown | None:
        """What the entry of a baseline arm shows; without a name it is the record of the day."""
        if submission is not None:
            return self.latest.get(submission)
        if self.holder is None:
            return None
        cost = self.holder.on(date)[0]
        # An official timing that counts by then ends the chain.
        links = self.holder.links if cost == self.holder.cost else ()
        return Shown(cost, "own", links)

    def _pass_to(self, holder: _Holder, date: str | None) -> None:
        """Give the record to `holder`; the last step that stood has ended."""
        if self.steps and self.steps[-1].superseded_by is None:
            self.steps[-1] = dc.replace(
                self.steps[-1], superseded_by=holder.name, superseded_on=date
            )
        self.holder = holder


def _events(
    ordered: Sequence[Dated], official: Sequence[OfficialRecord]
) -> list[tuple[OfficialRecord | None, Dated | None]]:
    """Rows of the table and results, each once, in the order in which they enter."""
    mine = {r.submission: r for r in official if r.submission is not None}
    results: dict[str, list[Dated]] = {}
    for result in ordered:
        if result.submission in mine:
            results.setdefault(result.submission, []).append(result)
    day = ""
    queue: list[tuple[tuple[str, bool, int], OfficialRecord | None, Dated | None]] = []
    for row in official:
        # A row without a date came between its neighbours, and the table's order is the order.
        day = max(day, row.date or "")
        at = (day, False, row.number)
        found = results.get(row.submission or "")
        queue += [(at, row, result) for result in found or (None,)]
    for index, result in enumerate(r for r in ordered if r.submission not in mine):
        queue.append(((by_date(result.date), True, index), None, result))
    return [(row, result) for _, row, result in sorted(queue, key=lambda item: item[0])]


def _frontier_steps(ordered: Sequence[Dated]) -> tuple[RecordStep, ...]:
    """Every result that was on the frontier when it entered; O(n log n) comparisons."""
    steps: list[RecordStep] = []
    # The frontier so far: scores rising, quality scores falling, and the steps at each corner.
    xs: list[float] = []
    corners: list[tuple[float, list[int]]] = []
    for result in ordered:
        x, y = result.own_score, result.quality_score
        at = bisect.bisect_right(xs, x)
        if at and xs[at - 1] == x and corners[at - 1][0] == y:
            corners[at - 1][1].append(len(steps))
            steps.append(_joined(result))
            continue
        if at and corners[at - 1][0] <= y:
            continue
        start = bisect.bisect_left(xs, x)
        end = start
        while end < len(corners) and corners[end][0] >= y:
            for index in corners[end][1]:
                steps[index] = dc.replace(
                    steps[index], superseded_by=result.submission, superseded_on=result.date
                )
            end += 1
        xs[start:end] = [x]
        corners[start:end] = [(y, [len(steps)])]
        steps.append(_joined(result))
    return tuple(steps)


def _joined(result: Dated) -> RecordStep:
    return RecordStep(
        result.date, result.submission, result.point, result.cost, result.quality, own=result.cost
    )
