"""Stalls of timed runs: time that stretches of one clock take beyond what the same stretches take
elsewhere.

    stalls_of([clock, ...], beside=[...], usual_s=None)      one `Stall` a run, of 0 s without one

A clock is a series of (step, seconds). Runs of one arm are compared at the same steps, since a
schedule of lengths or batches makes the later steps of all of them slower. A run alone is compared
with those beside it, the candidate's, whose schedule may be another.
"""

from __future__ import annotations

import bisect
import itertools
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from bot.compute.paces import Series

_STRETCHES = 24
_LEAST_STRETCHES = 3
_SLOW, _OTHER_SHAPE = 1.2, 2.0
"""Times the same stretch of the other runs, of which the real runs at hand are within 1.1; times
that of another arm's, whose schedule may differ."""
_MOST_ALIKE = 3.0
"""Times the usual pace of a run that has nothing beside it."""


class Stall(NamedTuple):
    """`lost_s` over the usual time in the slow stretches of a run, of `total_s` on its clock; the
    slowest lies between two steps and takes `times` as long as elsewhere."""

    lost_s: float
    total_s: float
    begin: int = 0
    end: int = 0
    times: float = 1.0


def stalls_of(
    clocks: Sequence[Series], beside: Sequence[Series] = (), usual_s: float | None = None
) -> list[Stall]:
    """The stall of each run of an arm. `usual_s` is what a step is known to take on average."""
    sound = [_sound(clock) for clock in clocks]
    grid = _grid([clock for clock in sound if clock])
    if len(grid) <= _LEAST_STRETCHES:
        return [Stall(0.0, 0.0) for _ in clocks]
    paces = [_paces(clock, grid) if clock else [] for clock in sound]
    usual = _usual([found for found in paces if found], grid, usual_s)
    other = _shape([_paces(c, grid) for c in map(_sound, beside) if c and c[-1][0] >= grid[-1]])
    return [_stall(found, usual, other, grid) for found in paces]


def _sound(clock: Series) -> Series:
    """The points in order of their steps; none of a clock that falls, or stands at the end."""
    points = sorted(dict(clock).items())
    falls = any(b[1] < a[1] for a, b in itertools.pairwise(points))
    return [] if falls or len(points) <= _LEAST_STRETCHES else points


def _grid(clocks: Sequence[Series]) -> list[int]:
    """Steps that cut all clocks into stretches, no finer than the coarsest clock."""
    if not clocks:
        return []
    begin, end = max(c[0][0] for c in clocks), min(c[-1][0] for c in clocks)
    coarsest = min(clocks, key=len)
    steps = [s for s, _ in coarsest if begin <= s <= end]
    apart = max(1, -(-(len(steps) - 1) // _STRETCHES))
    return list(dict.fromkeys([*steps[::apart], *steps[-1:]]))


def _paces(clock: Series, grid: Sequence[int]) -> list[float]:
    """Seconds a step in each stretch of the grid."""
    steps = [s for s, _ in clock]

    def at(step: int) -> float:
        place = min(max(bisect.bisect_left(steps, step), 1), len(steps) - 1)
        (a, before), (b, after) = clock[place - 1], clock[place]
        return before + (after - before) * (step - a) / (b - a)

    return [(at(b) - at(a)) / (b - a) for a, b in itertools.pairwise(grid)]


def _usual(
    paces: Sequence[Sequence[float]], grid: Sequence[int], usual_s: float | None
) -> list[float]:
    """What each stretch usually takes a step: the lower median of the runs, and as much less as a
    known time of the whole says."""
    if len(paces) == 1:
        return []
    found = [statistics.median_low(column) for column in zip(*paces, strict=True)]
    lengths = [b - a for a, b in itertools.pairwise(grid)]
    mean = sum(p * n for p, n in zip(found, lengths, strict=True)) / sum(lengths)
    less = min(1.0, usual_s / mean) if usual_s and mean > 0 else 1.0
    return [less * pace for pace in found]


def _shape(paces: Sequence[Sequence[float]]) -> list[float]:
    return [statistics.median_low(column) for column in zip(*paces, strict=True)] if paces else []


def _stall(
    found: Sequence[float], usual: Sequence[float], other: Sequence[float], grid: Sequence[int]
) -> Stall:
    if not found:
        return Stall(0.0, 0.0)
    lengths = [b - a for a, b in itertools.pairwise(grid)]
    total = sum(p * n for p, n in zip(found, lengths, strict=True))
    expected = [(list(usual), _SLOW)] if usual else []
    if other and min(other) > 0:
        ratio = statistics.median_low(a / b for a, b in zip(found, other, strict=True))
        expected.append(([ratio * pace for pace in other], _OTHER_SHAPE))
    elif not usual:
        expected.append(([statistics.median_low(found)] * len(found), _MOST_ALIKE))
    made = [_beyond(found, paces, most, grid, lengths, total) for paces, most in expected]
    return max(made, key=lambda stall: stall.lost_s)


def _beyond(
    found: Sequence[float], paces: Sequence[float], most: float, grid: Sequence[int],
    lengths: Sequence[int], total: float,
) -> Stall:  # fmt: skip
    slow = [
        (mine / max(pace, 1e-12), n)
        for n, (mine, pace) in enumerate(zip(found, paces, strict=True))
        # The first stretch holds compilation, and a run may be the one that fills the cache.
        if n > 0 and mine > most * pace
    ]
    if not slow:
        return Stall(0.0, total)
    lost = sum((found[n] - paces[n]) * lengths[n] for _, n in slow)
    times, n = max(slow)
    return Stall(lost, total, grid[n], grid[n + 1], times)
