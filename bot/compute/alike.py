"""Runs whose curves are nearer than two trainings ever are: copies with noise of their own.

Two seeds of one script differ at every validation, and at the first ones most. Their points are
paired by `bot.compute.aligned`, so that a copy is found although its steps were shifted or counted
anew, rows were left out, or it was drawn through the points of its original. The distance of two
runs is the root mean square of their losses' differences over the whole curve, or over its first
half, where a fork with noise has its parent's curve; over the nearer four fifths, which a copy has
whose first part was replaced (`body`); and over these with a constant factor taken out (`shape`).

Measured on the 928 published logs (999 runs once copies are left out): of 10,966 pairs of runs
within an entry one is within `NEAR`, at 0.00048, the least `body` is 0.00025, the least `shape`
0.00012; of 486,000 pairs across entries 0.00067, 0.00036 and 0.00020. Over the same pairs no two
clocks go with each other to 1.7 ms from validation to validation, or to 0.000055 of the stretch.
So no pair is called a copy, no whole entry, no two of 8,372 pairs of entries, and 1 of 1,380 random
draws of two to ten runs of one entry.

A copy with noise of sd s is s from its original and 1.4 s from another copy. The differences of
seeds are largest at the first validations, and those of noise are not: over 1,646 draws of three to
five runs of one entry the median pair is at least 0.0023 apart at the first quarter. So copies are
found with noise of up to 0.0011 each, about what seeds differ by at the end; a single pair up to
0.0004. Across entries each run is matched to the nearest of many: copies are found with noise of up
to 0.0015; with a factor, or a first part of their own, up to 0.0004.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bot.compute.aligned import Pairs, body_apart, clocks_apart, pairings, shape_apart
from bot.model.trace import Trace
from bot.model.track import LOSS_METRICS, Track

NEAR = 8e-4
"""Two pairs so near in one entry, or three across two entries, are not a coincidence; of many runs,
which make many more pairs, one more for each `_PAIRS_A_MATCH`, and one that is nearer still for
each `_PAIRS_A_TWIN`."""
NEAREST = 4.5e-4
"""A single pair this near does not show copying."""
USUAL = 1.3e-3
"""The median over the pairs of three or more honest runs is at least this."""
_LEAST_HALF, _LEAST_RUNS = 4, 3
_EARLY, _FAR, _OTHER_FORM = 3, 6 * NEAR, 0.006
"""Where none of the first validations is this near, and the ratio of both losses is not the same
to this share over the run, nothing else is looked at."""
_PAIRS_WITHIN, _PAIRS_ACROSS, _PAIRS_A_MATCH, _PAIRS_A_TWIN = 2, 3, 120, 2000
MOST_RUNS = 120
"""So many runs of an entry are compared with one another."""
_CADENCE = 0.7
_NEAR_EARLY = 1.8e-3
"""Over the first quarter the usual pair of three or more runs is further apart."""
_SHARES, _MATCHED = (0.5, 2.2), 0.8
_SD = 1.3e-3
"""Between the last losses of the record history's seeds."""
_CLOCK_S, _CLOCK_SHARE = 9e-4, 5e-5
"""What rounding to milliseconds leaves between the clock of a run and a multiple of it."""


def spread_of(track: Track) -> float:
    """By how much the runs of a track differ beside those of the record history, where it says so:
    those of a larger model differ less."""
    stated = track.significance.sigma or track.significance.pooled_sd
    return min(1.0, stated / _SD) if stated and track.quality.metric in LOSS_METRICS else 1.0


class Near(NamedTuple):
    """Two near runs, by number, and their distance."""

    a: int
    b: int
    apart: float


class Apart(NamedTuple):
    """How far two runs are from each other, as root mean squares: by equal steps, `nats` over the
    whole curve or its first half, whichever is less, and over the first and the last quarter; over
    the nearer four fifths (`body`), and over these with a constant factor taken out (`shape`)."""

    nats: float
    early: float
    late: float
    body: float
    shape: float


def apart(a: Trace, b: Trace) -> Apart | None:
    """How far two runs are from each other, by the pairing of their points that brings them
    nearest; None where they are far, or share too few validations."""
    found = [item for way in pairings(a, b) if (item := _of_pairs(*way)) is not None]
    if not found:
        return None
    nearest = min(found)
    body, shape = (min(item[k] for item in found) for k in (3, 4))
    return nearest._replace(body=body, shape=shape)


def _of_pairs(pairs: Pairs, by_step: bool) -> Apart | None:
    far = all(abs(x - y) > _FAR for _, x, y in pairs[:_EARLY])
    places = (len(pairs) // 3, 2 * len(pairs) // 3, len(pairs) - 1)
    ratios = [pairs[i][1] / (pairs[i][2] or 1.0) for i in places]
    other = max(ratios) - min(ratios) > _OTHER_FORM
    if far and other:
        return None
    squares = [(x - y) ** 2 for _, x, y in pairs]
    half, part = squares[: len(squares) // 2], max(len(squares) // 4, 3)
    early = statistics.fmean(half) if len(half) >= _LEAST_HALF else math.inf
    nats = math.inf if far else math.sqrt(min(statistics.fmean(squares), early))
    first, last = (math.sqrt(statistics.fmean(s)) for s in (squares[:part], squares[-part:]))
    # By a share of the run two scripts of one family may come near; their fluctuations never do.
    nats, first = (nats, first) if by_step else (math.inf, math.inf)
    body, shape = (math.inf, math.inf) if other else (body_apart(pairs), shape_apart(pairs))
    return Apart(nats, first, last, body, shape)


class _Limits(NamedTuple):
    """Below these a pair (`one`), or the usual pair of a group, is nearer than trainings are."""

    one: float
    within: float
    across: float


_BODY, _SHAPE = _Limits(1.8e-4, 3.5e-4, 3.8e-4), _Limits(8e-5, 2.5e-4, 2.8e-4)
_LIMITS = {"body": _BODY, "shape": _SHAPE}


def _one(found: Apart, spread: float) -> bool:
    """Whether a single pair is not a coincidence."""
    near = (found.nats / NEAREST, found.body / _BODY.one, found.shape / _SHAPE.one)
    return min(near) <= spread


def _usual(pairs: Sequence[tuple[Near, Apart]], kind: str) -> float:
    return statistics.median(float(getattr(found, kind)) for _, found in pairs)


def _falls(pairs: Sequence[tuple[Near, Apart]]) -> tuple[float, float]:
    """The median distance over the first quarter, and the median share of it over the last."""
    shares = [found.late / max(found.early, 1e-9) for _, found in pairs]
    return _usual(pairs, "early"), statistics.median(shares)


def within(traces: Sequence[Trace], spread: float = 1.0) -> tuple[Near, ...]:
    """The pairs that make a group of runs too alike; () for runs as far apart as trainings are.
    `spread` says by how much the runs of the track differ, beside those of the record history."""
    numbered = enumerate(traces[:MOST_RUNS])
    pairs, count = list[tuple[Near, Apart]](), 0
    for (i, a), (j, b) in itertools.combinations(numbered, 2):
        count += 1
        found = apart(a, b)
        if found is not None:
            pairs.append((Near(i, j, min(found.nats, found.body, found.shape)), found))
    near = tuple(p for p, found in pairs if found.nats <= NEAR * spread or _one(found, spread))
    alone = sum(_one(found, spread) for _, found in pairs)
    least = _PAIRS_WITHIN + round(count / _PAIRS_A_MATCH)
    if len(near) >= least or alone > round(count / _PAIRS_A_TWIN):
        return near
    if len(pairs) < _LEAST_RUNS or len(pairs) < count / 2:
        return ()
    close = _usual(pairs, "nats") <= USUAL * spread or _falls(pairs)[0] < _NEAR_EARLY * spread
    close |= any(_usual(pairs, k) <= limit.within * spread for k, limit in _LIMITS.items())
    return tuple(pair for pair, _ in pairs) if close else ()


def across(mine: Sequence[Trace], theirs: Sequence[Trace], spread: float = 1.0) -> tuple[Near, ...]:
    """The runs of two entries that are too near, the nearest of each."""
    found = [
        (Near(i, j, min(item.nats, item.body, item.shape)), item)
        for i, a in enumerate(mine[:MOST_RUNS])
        for j, b in enumerate(theirs)
        if (item := apart(a, b)) is not None
    ]
    nearest = _nearest(found, "nats")
    near = [pair for pair, item in nearest if item.nats <= NEAR * spread]
    single = [pair for pair, item in found if _one(item, spread)]
    if single or len({pair.b for pair in near}) >= _PAIRS_ACROSS:
        return tuple({pair.a: pair for pair in (*near, *single)}.values())
    least = max(_PAIRS_ACROSS, _MATCHED * len(mine[:MOST_RUNS]))
    low, high = _SHARES
    for kind in ("nats", *_LIMITS):
        pairs = _nearest(found, kind)
        if len({pair.b for pair, _ in pairs}) < least:
            continue
        if kind == "nats":
            early, share = _falls(pairs)
            close = early < _NEAR_EARLY * spread and low <= share <= high
        else:
            close = _usual(pairs, kind) <= _LIMITS[kind].across * spread
        if close:
            return tuple(pair for pair, _ in pairs)
    return ()


def _nearest(found: Sequence[tuple[Near, Apart]], kind: str) -> list[tuple[Near, Apart]]:
    """The nearest one of the other entry to each run, where there is one."""
    best: dict[int, tuple[Near, Apart]] = {}
    for pair, item in found:
        before = best.get(pair.a)
        if getattr(item, kind) < (math.inf if before is None else getattr(before[1], kind)):
            best[pair.a] = pair, item
    return list(best.values())


def of_one_clock(mine: Sequence[Trace], theirs: Sequence[Trace]) -> Iterator[Near]:
    """Runs whose clock is that of another run, as it is or times a constant."""
    for (i, a), (j, b) in itertools.product(enumerate(mine[:MOST_RUNS]), enumerate(theirs)):
        if a is not b and a.clocks and b.clocks:
            seconds, share = clocks_apart(a, b)
            if seconds <= _CLOCK_S and share <= _CLOCK_SHARE:
                yield Near(i, j, seconds)


def other_cadence(traces: Sequence[Trace]) -> Iterator[Near]:
    """Runs that end at one step and validate at others: parts of one run look like this. Over the
    record history no two runs of an entry do."""
    for (i, a), (j, b) in itertools.combinations(enumerate(traces[:MOST_RUNS]), 2):
        mine, theirs = {s for s, _ in a.losses}, {s for s, _ in b.losses}
        if min(len(mine), len(theirs)) >= _LEAST_HALF and max(mine) == max(theirs):
            shared = len(mine & theirs) / min(len(mine), len(theirs))
            if shared < _CADENCE:
                yield Near(i, j, shared)
