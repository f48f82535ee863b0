"""Runs whose curves are nearer than two trainings ever are: copies with noise of their own.

Two seeds of one script differ at every validation, and at the first ones most. The distance of two
runs is the root mean square of their losses' differences over all common validations, or over the
first half of them, where a fork with noise has its parent's curve. Measured on 1061 runs of the
record history (11,141 pairs within an entry, 360,000 across entries; copies and probes of one seed
aside): within an entry one pair is nearer than `NEAR`, at 0.00048, and never two; across two
entries never three; the median over the pairs of an entry is 0.0016 at the least.

A copy with noise of sd s is s from its original and 1.4 s from another copy. The differences of
seeds are largest at the first validations, and those of noise are not: over 1,646 draws of three to
five runs of one entry the median pair is at least 0.0023 apart at the first quarter. So copies are
found with noise of up to 0.0011 each, about what seeds differ by at the end; a single pair up to
0.0004. Across entries each run is matched to the nearest of many: of 4,130 pairs of entries none is
within 0.003 at the first quarter, run by run, so copies are found with noise of up to 0.0015.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bot.model.trace import Trace

NEAR = 8e-4
"""Two pairs so near in one entry, or three across two entries, are no coincidence."""
NEAREST = 4.5e-4
"""One pair so near is none."""
USUAL = 1.3e-3
"""The median over the pairs of three or more honest runs is at least this."""
_LEAST_POINTS, _LEAST_HALF, _LEAST_RUNS = 6, 4, 3
_EARLY, _FAR = 3, 6 * NEAR
"""Where none of the first validations is this near, nothing else is looked at."""
_PAIRS_WITHIN, _PAIRS_ACROSS = 2, 3
MOST_RUNS = 120
"""So many runs of an entry are compared with one another."""
_CADENCE = 0.7
_NEAR_EARLY, _ACROSS_EARLY = 1.8e-3, 2.2e-3
"""Over the first quarter the usual pair of three or more runs is further apart."""
_SHARES, _MATCHED = (0.5, 2.2), 0.8


class Near(NamedTuple):
    """Two near runs, by number, and their distance."""

    a: int
    b: int
    apart: float


def distance(a: Trace, b: Trace) -> float | None:
    """How far two runs are from each other; None where they share too few validations."""
    mine = dict(a.losses)
    pairs = [(mine[step], loss) for step, loss in b.losses if step in mine]
    if len(pairs) < _LEAST_POINTS:
        return None
    if all(abs(x - y) > _FAR for x, y in pairs[:_EARLY]):
        return math.inf
    squares = [(x - y) ** 2 for x, y in pairs]
    half = squares[: len(squares) // 2]
    early = statistics.fmean(half) if len(half) >= _LEAST_HALF else math.inf
    return math.sqrt(min(statistics.fmean(squares), early))


def quarters(a: Trace, b: Trace) -> tuple[float, float]:
    """How far two runs are from each other over the first and over the last quarter."""
    mine = dict(a.losses)
    squares = [(mine[step] - loss) ** 2 for step, loss in b.losses if step in mine]
    part = max(len(squares) // 4, 3)
    early, late = statistics.fmean(squares[:part]), statistics.fmean(squares[-part:])
    return math.sqrt(early), math.sqrt(late)


def _medians(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The median distance over the first quarter, and the median share of it over the last."""
    early = statistics.median(first for first, _ in ends)
    return early, statistics.median(last / max(first, 1e-9) for first, last in ends)


def within(traces: Sequence[Trace]) -> tuple[Near, ...]:
    """The pairs that make a group of runs too alike; () for runs as far apart as trainings are."""
    pairs = []
    for (i, a), (j, b) in itertools.combinations(enumerate(traces[:MOST_RUNS]), 2):
        apart = distance(a, b)
        if apart is not None:
            pairs.append(Near(i, j, apart))
    near = tuple(pair for pair in pairs if pair.apart <= NEAR)
    if len(near) >= _PAIRS_WITHIN or any(pair.apart <= NEAREST for pair in near):
        return near
    runs = {i for pair in pairs for i in pair[:2]}
    usual = statistics.median(p.apart for p in pairs) if len(runs) >= _LEAST_RUNS else math.inf
    if usual > USUAL and usual < math.inf:
        early, _ = _medians([quarters(traces[pair.a], traces[pair.b]) for pair in pairs])
        return tuple(pairs) if early < _NEAR_EARLY else ()
    return tuple(pairs) if usual <= USUAL else ()


def across(mine: Sequence[Trace], theirs: Sequence[Trace]) -> tuple[Near, ...]:
    """The runs of two entries that are too near, the nearest of each."""
    nearest = []
    for i, a in enumerate(mine[:MOST_RUNS]):
        apart = [(d, j) for j, b in enumerate(theirs) if (d := distance(a, b)) is not None]
        if apart and min(apart)[0] < math.inf:
            nearest.append(Near(i, min(apart)[1], min(apart)[0]))
    found = [pair for pair in nearest if pair.apart <= NEAR]
    matched = len({pair.b for pair in found})
    if matched >= _PAIRS_ACROSS or any(pair.apart <= NEAREST for pair in found):
        return tuple(found)
    least = max(_PAIRS_ACROSS, _MATCHED * len(mine[:MOST_RUNS]))
    if len({pair.b for pair in nearest}) < least:
        return ()
    early, share = _medians([quarters(mine[pair.a], theirs[pair.b]) for pair in nearest])
    low, high = _SHARES
    return tuple(nearest) if early < _ACROSS_EARLY and low <= share <= high else ()


def other_cadence(traces: Sequence[Trace]) -> Iterator[Near]:
    """Runs that end at one step and validate at others: parts of one run look like this. Over the
    record history no two runs of an entry do."""
    for (i, a), (j, b) in itertools.combinations(enumerate(traces[:MOST_RUNS]), 2):
        mine, theirs = {s for s, _ in a.losses}, {s for s, _ in b.losses}
        if min(len(mine), len(theirs)) >= _LEAST_HALF and max(mine) == max(theirs):
            shared = len(mine & theirs) / min(len(mine), len(theirs))
            if shared < _CADENCE:
                yield Near(i, j, shared)
