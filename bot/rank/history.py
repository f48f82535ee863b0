"""The record over time: who held it, from when, and what took it.

A result enters on its date. Of several on one date the worse enters first, so that each of them
that beat the record of the day before is kept. Results without a date enter last. An official
re-timing changes what the record shows from its date on, and is no new record.
"""

from __future__ import annotations

import bisect
import dataclasses as dc
from collections.abc import Iterable, Sequence

Key = tuple[str, str]
"""Submission and point."""


@dc.dataclass(frozen=True, slots=True)
class Dated:
    """A result as the progression needs it; the smaller of two scores is the better.

    `retimings` are (date, cost, score) in order of time.
    """

    date: str | None
    submission: str
    point: str
    cost: float
    quality: float
    score: float
    quality_score: float
    retimings: tuple[tuple[str, float, float], ...] = ()

    @property
    def key(self) -> Key:
        """What identifies the result."""
        return self.submission, self.point

    @property
    def order(self) -> tuple[bool, str, float, float, Key]:
        """The order of entering."""
        return self.date is None, self.date or "", -self.score, -self.quality_score, self.key


@dc.dataclass(frozen=True, slots=True)
class RecordStep:
    """One record, or one point that joined the frontier.

    `previous` is the cost that it beat as shown at the time, None for the first and on a frontier.
    `superseded_by` is the submission that took its place and `superseded_on` when; None while it
    stands. `retimings` are (date, cost): what the record showed from then on.
    """

    date: str | None
    submission: str
    point: str
    cost: float
    quality: float
    previous: float | None = None
    superseded_by: str | None = None
    superseded_on: str | None = None
    retimings: tuple[tuple[str, float], ...] = ()


def progression(results: Iterable[Dated], pareto: bool) -> tuple[RecordStep, ...]:
    """The records in order of time: the best score so far, or every step of the frontier."""
    ordered = sorted(results, key=lambda r: r.order)
    return _frontier_steps(ordered) if pareto else _record_steps(ordered)


def _step(result: Dated, previous: float | None = None) -> RecordStep:
    return RecordStep(
        result.date,
        result.submission,
        result.point,
        result.cost,
        result.quality,
        previous,
        retimings=tuple((date, cost) for date, cost, _ in result.retimings),
    )


def _record_steps(ordered: Sequence[Dated]) -> tuple[RecordStep, ...]:
    steps: list[RecordStep] = []
    holder: Dated | None = None
    for result in ordered:
        if holder is None:
            steps.append(_step(result))
        else:
            score, cost = _shown(holder, result.date)
            if result.score >= score:
                continue
            steps[-1] = dc.replace(
                steps[-1], superseded_by=result.submission, superseded_on=result.date
            )
            steps.append(_step(result, cost))
        holder = result
    return tuple(steps)


def _shown(result: Dated, date: str | None) -> tuple[float, float]:
    """Score and cost that a record shows on `date` (None: now)."""
    score, cost = result.score, result.cost
    for day, timed, timed_score in result.retimings:
        if date is None or day <= date:
            score, cost = timed_score, timed
    return score, cost


def _frontier_steps(ordered: Sequence[Dated]) -> tuple[RecordStep, ...]:
    """Every result that was on the frontier when it entered; O(n log n) comparisons."""
    steps: list[RecordStep] = []
    # The frontier so far: scores rising, quality scores falling, and the steps at each corner.
    xs: list[float] = []
    corners: list[tuple[float, list[int]]] = []
    for result in ordered:
        x, y = result.score, result.quality_score
        at = bisect.bisect_right(xs, x)
        if at and xs[at - 1] == x and corners[at - 1][0] == y:
            corners[at - 1][1].append(len(steps))
            steps.append(_step(result))
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
        steps.append(_step(result))
    return tuple(steps)
