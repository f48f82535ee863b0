"""Runs that are averages of other runs, so that few trainings look like many.

    among(traces)            four runs of which two and two have one mean curve
    of_others(mine, theirs)  runs that are the mean of two runs of another entry

The mean of two curves is as smooth and as far from both as a third training would be, and no pair
of runs is alike. But of averages of pairs some two have the mean curve of some other two, and no
trainings do: over the 928 published logs two sums of two runs are never nearer than 0.0006, as a
root mean square over all validations, and rounding to four digits leaves 0.0001.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bot.compute.aligned import LEAST
from bot.model.trace import Trace

SUM_APART = 2e-4
"""Two sums of two curves that are nearer than this are of the same runs."""
MOST_RUNS = 100
_OFTEN = 0.8
"""Validations that so many runs have are compared."""
_ONE_APART = 4e-4
"""Sums that are further apart than this at one validation are not compared over the rest."""

_STRAY = 1e-4
"""What rounding leaves of the difference between two curves that are shifted by a constant."""


class Sum(NamedTuple):
    """Two runs, by number, and the sum of their curves."""

    curve: list[float]
    a: int
    b: int


def among(traces: Sequence[Trace]) -> tuple[Sum, Sum] | None:
    """Two pairs of four different runs with one mean curve, or None."""
    curves = _curves(traces[:MOST_RUNS])
    sums = _sums(curves)
    return next(
        (
            (one, other)
            for one, other in _near(sums, sums)
            if not {one.a, one.b} & {other.a, other.b} and _fluctuates(curves, one, other)
        ),
        None,
    )


def of_others(mine: Sequence[Trace], theirs: Sequence[Trace]) -> tuple[int, ...]:
    """The runs, by number, whose curve is the mean of two curves of another entry."""
    split = len(mine[:MOST_RUNS])
    curves = _curves([*mine[:MOST_RUNS], *theirs[:MOST_RUNS]])
    others = {i: curve for i, curve in curves.items() if i >= split}
    if not others:
        return ()
    ours = {i: curve for i, curve in curves.items() if i < split and _inside(curve, others)}
    twice = [Sum([2 * x for x in curve], i, i) for i, curve in ours.items()]
    return tuple(sorted({one.a for one, _ in _near(twice, _sums(others))}))


def _curves(traces: Sequence[Trace]) -> dict[int, list[float]]:
    """The losses of the runs, by number, at the steps that most of them have; {} for too few."""
    counted = Counter(step for trace in traces for step, _ in trace.losses)
    steps = sorted(step for step, n in counted.items() if n >= _OFTEN * len(traces))
    found = {}
    for number, trace in enumerate(traces):
        losses = dict(trace.losses)
        if len(steps) >= LEAST and all(step in losses for step in steps):
            found[number] = [losses[step] for step in steps]
    return found


def _inside(curve: Sequence[float], others: dict[int, list[float]]) -> bool:
    """Whether a curve lies between those of others, as a mean does; those of another program
    seldom do, and are not looked at."""
    return all(
        min(theirs) - SUM_APART <= mine <= max(theirs) + SUM_APART
        for mine, *theirs in zip(curve, *others.values(), strict=True)
    )


def _sums(curves: dict[int, list[float]]) -> list[Sum]:
    """The sums of two curves."""
    return [
        Sum([x + y for x, y in zip(curves[a], curves[b], strict=True)], a, b)
        for a, b in itertools.combinations(curves, 2)
    ]


def _near(some: Sequence[Sum], others: Sequence[Sum]) -> Iterator[tuple[Sum, Sum]]:
    """Pairs of sums that are nearer than trainings make them."""
    ordered = sorted(others, key=lambda item: item.curve[0])
    begin = 0
    for one in sorted(some, key=lambda item: item.curve[0]):
        while begin < len(ordered) and ordered[begin].curve[0] < one.curve[0] - _ONE_APART:
            begin += 1
        for other in itertools.islice(ordered, begin, None):
            if other.curve[0] > one.curve[0] + _ONE_APART:
                break
            if _apart(one.curve, other.curve) <= SUM_APART:
                yield one, other


def _fluctuates(curves: dict[int, list[float]], one: Sum, other: Sum) -> bool:
    """Whether the runs of two sums differ by more than a constant, as trainings do at most of their
    validations: curves that are shifted alike have equal sums, and `shape_apart` finds those."""
    return all(_stray(curves[one.a], curves[i]) > _STRAY for i in (one.b, other.a, other.b))


def _stray(a: Sequence[float], b: Sequence[float]) -> float:
    """By how much the difference of two curves strays from its median, at the usual validation."""
    apart = [x - y for x, y in zip(a, b, strict=True)]
    middle = statistics.median(apart)
    return statistics.median(abs(x - middle) for x in apart)


def _apart(a: Sequence[float], b: Sequence[float]) -> float:
    if any(abs(a[k] - b[k]) > _ONE_APART for k in (1, len(a) // 2, -1)):
        return math.inf
    return math.sqrt(statistics.fmean((x - y) ** 2 for x, y in zip(a, b, strict=True)))
