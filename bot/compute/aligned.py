"""Two validation curves point by point, though the steps, losses or clocks of one were changed.

    pairings(a, b)        the losses of both in pairs, in each way that they may belong together
    shape_apart(a, b)     how far apart the curves are once a constant factor is taken out
    clocks_apart(a, b)    the same of their clocks, in seconds
    trained_again(a, b)   whether one program with one seed ran twice, each time on its own clock

A copy whose steps were shifted or counted anew, of which rows were left out or replaced, whose
losses or clocks were multiplied, or that was drawn through the points of its original keeps the
fluctuations of each validation; two trainings never share these.
"""

from __future__ import annotations

import bisect
import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bot.compute.independence import decimals, equal_to
from bot.model.trace import Trace

Points = Sequence[tuple[float, float]]
Pairs = list[tuple[float, float, float]]

LEAST = 6
"""Fewer pairs tell nothing."""
_NEAR_STEP, _NEAR_SHARE = 3.0, 0.006
_WHOLE = 0.8
_EVEN = 16
_KEPT = 0.8
"""A copy may have a part of its own: the worst fifth of the points does not count."""
_MOST_GAP = 0.15
_BEGIN, _END = 0.35, 0.9
_SHORT = 2
"""So few validations of the shortest runs, which make no other key of a run, are compared too."""
_OWN_CLOCK, _UNITS = 1e-3, 2
"""Clocks of their own differ at the usual stretch by this share of it, and by more than two units
of the last digit."""
_USUAL_LOSS = 3.3
"""Distances are given as of a loss of this size, so that they compare."""


class Pairing(NamedTuple):
    """The losses of two runs in pairs; `by_step` where they belong to one step, or nearly so."""

    pairs: Pairs
    by_step: bool


def pairings(a: Trace, b: Trace) -> Iterator[Pairing]:
    """The losses of two runs in pairs, each with its step: at equal steps; where those are few, in
    order from either end, at the nearest step, and on the line between two points, by the step and
    by its share of the run. Pairs of a part of the run alone tell nothing."""
    mine, theirs = a.losses, b.losses
    if min(len(mine), len(theirs)) < LEAST:
        return
    losses = dict(mine)
    equal: Pairs = [(step, losses[step], loss) for step, loss in theirs if step in losses]
    ways = [Pairing(equal, True)]
    if len(equal) < len(mine) or len(mine) != len(theirs):
        for found in (_in_order(mine, theirs), _in_order(mine[::-1], theirs[::-1])[::-1]):
            ways.append(Pairing(found, False))
    if len(equal) < _WHOLE * min(len(mine), len(theirs)):
        for factor in dict.fromkeys((1.0, theirs[-1][0] / mine[-1][0])):
            scaled = [(step * factor, loss) for step, loss in mine]
            between = [(step, x, y) for step, y, x in _between(theirs, scaled)]
            ways.append(Pairing(_nearest(scaled, theirs), factor == 1))
            ways += [Pairing(_between(scaled, theirs), False), Pairing(between, False)]
    yield from (way for way in ways if _covers(way.pairs, theirs))


def _covers(pairs: Pairs, curve: Points) -> bool:
    """Whether pairs are enough, and from all of a run."""
    last = curve[-1][0]
    return len(pairs) >= LEAST and pairs[0][0] <= _BEGIN * last and pairs[-1][0] >= _END * last


def _in_order(mine: Points, theirs: Points) -> Pairs:
    return [(step, x, y) for (_, x), (step, y) in zip(mine, theirs, strict=False)]


def _nearest(mine: Points, theirs: Points) -> Pairs:
    """Each point of one curve with the nearest of the other, where one is near."""
    places = [step for step, _ in mine]
    allowed = max(_NEAR_STEP, _NEAR_SHARE * places[-1])
    found: Pairs = []
    for step, loss in theirs:
        at = bisect.bisect_left(places, step)
        around = [i for i in (at - 1, at) if 0 <= i < len(places)]
        best = min(around, key=lambda i: abs(places[i] - step))
        if abs(places[best] - step) <= allowed:
            found.append((step, mine[best][1], loss))
    return found


def _between(mine: Points, theirs: Points) -> Pairs:
    """Each point of one curve with the other curve's line there."""
    places = [step for step, _ in mine]
    most = _MOST_GAP * places[-1]
    found: Pairs = []
    for step, loss in theirs:
        at = bisect.bisect_left(places, step)
        if at < len(places) and places[at] == step:
            found.append((step, mine[at][1], loss))
        elif 0 < at < len(places) and places[at] - places[at - 1] <= most:
            (begin, x), (end, y) = mine[at - 1], mine[at]
            found.append((step, x + (y - x) * (step - begin) / (end - begin), loss))
    return found


def evenly(pairs: Pairs) -> Pairs:
    """Pairs spread evenly over the steps: validations at the end may be close together, and then
    they all say the same."""
    places, last = [step for step, _, _ in pairs], pairs[-1][0]
    chosen = {
        min(range(len(places)), key=lambda i: abs(places[i] - last * k / _EVEN))
        if len(places) <= _EVEN
        else min(bisect.bisect_left(places, last * k / _EVEN), len(places) - 1)
        for k in range(1, _EVEN + 1)
    }
    return [pairs[i] for i in sorted(chosen)]


def body_apart(pairs: Pairs) -> float:
    """How far apart paired losses are, as the root mean square of the nearer four fifths of evenly
    spread ones; infinite where they are too few."""
    kept = evenly(pairs)
    return _root([x - y for _, x, y in kept]) if len(kept) >= LEAST else math.inf


def shape_apart(pairs: Pairs) -> float:
    """The same with a constant factor taken out."""
    kept = evenly(pairs)
    if len(kept) < LEAST or any(x <= 0 or y <= 0 for _, x, y in kept):
        return math.inf
    ratios = [math.log(x / y) for _, x, y in kept]
    factor = statistics.median(ratios)
    return _USUAL_LOSS * _root([r - factor for r in ratios])


def clocks_apart(a: Trace, b: Trace) -> tuple[float, float]:
    """How far apart the clocks of two runs are from one validation to the next with a constant
    factor taken out: in seconds, and as a share of the stretch; infinite where they are too few."""
    for x, y in _stretches(a, b):
        if len(x) >= LEAST and min(*x, *y) > 0:
            factor = statistics.median(s / t for s, t in zip(x, y, strict=True))
            apart = [s - factor * t for s, t in zip(x, y, strict=True)]
            usual = statistics.median(x)
            return _root(apart), _root(apart) / usual
    return math.inf, math.inf


def _all_equal(pairs: Sequence[tuple[float, float]]) -> bool:
    """Whether both of each pair are one number, as the side with fewer decimals is printed."""
    digits = min(decimals(side) for side in zip(*pairs, strict=True))
    return all(equal_to(x, y, digits) for x, y in pairs)


def trained_again(a: Trace, b: Trace) -> bool:
    """Whether two runs have every loss in common to the last digit, and clocks that are neither
    equal nor multiples: a machine that repeats itself shows this for one program and seed."""
    losses = dict(a.losses)
    common = [(losses[step], loss) for step, loss in b.losses if step in losses]
    least = max(_SHORT, _KEPT * min(len(a.losses), len(b.losses)))
    if len(common) < least or not all(t.clocks or len(t.times) == _SHORT for t in (a, b)):
        return False
    # The last few alone have no more decimals than all, and most pairs of runs differ there.
    if not (_all_equal(common[-LEAST:]) and _all_equal(common)):
        return False
    unit = 10.0 ** -min(decimals([t for _, t in side.times]) for side in (a, b))
    for x, y in _stretches(a, b):
        if len(x) >= _SHORT and min(*x, *y) > 0:
            factor = statistics.median(s / t for s, t in zip(x, y, strict=True))
            off = statistics.median(abs(s - factor * t) for s, t in zip(x, y, strict=True))
            return off > max(_OWN_CLOCK * statistics.median(x), _UNITS * unit)
    return False


def _stretches(a: Trace, b: Trace) -> Iterator[tuple[list[float], list[float]]]:
    """The stretches of two clocks, where both have as many, or between equal steps."""
    if len(a.times) == len(b.times):
        yield _lengths(a.times), _lengths(b.times)
        return
    steps = {step for step, _ in a.times} & {step for step, _ in b.times}
    sides = ([p for p in side.times if p[0] in steps] for side in (a, b))
    first, second = sides
    yield _lengths(first), _lengths(second)


def _lengths(times: Sequence[tuple[int, float]]) -> list[float]:
    clocks = [0.0, *(clock for _, clock in times)]
    return [later - clock for clock, later in itertools.pairwise(clocks)]


def _root(apart: Sequence[float]) -> float:
    """The root mean square of the smaller four fifths."""
    kept = sorted(map(abs, apart))[: math.ceil(_KEPT * len(apart))]
    return math.sqrt(statistics.fmean(x * x for x in kept))
