"""How fast one clock of a run goes by another one, and what training time the other makes of it.

    implied_by_clock(clock, other, validations)     a second clock that runs on, as in `elapsed`
    implied_by_durations(clock, durations, units)   times of single steps, as in `dt`

Series are (step, seconds). Where a run stalled, both clocks are left out. What is implied is the
training time that the run would have if the other clock is right.
"""

from __future__ import annotations

import bisect
import math
import statistics
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

Series = Sequence[tuple[int, float]]

LEAST_INTERVALS = 3
_STALL = 5.0
"""A stretch that takes so many times the usual is a stall, or a validation."""
_COUNTED = 0.5
"""Of a stall this share on the other clock makes it a slow step of both."""
_RESOLUTIONS = 10
"""A second clock is compared once it has advanced by this many of its smallest units."""


_LEAST_PACE = 1e-6


class Implied(NamedTuple):
    """The training time that a second clock implies. `bare`: no validation lies between the points
    compared, so both clocks must agree."""

    seconds: float
    bare: bool


def implied_by_clock(
    clock: Series, other: Series, validations: Collection[int], units: Sequence[float] = (1.0,)
) -> Implied | None:
    """The training time by a clock that runs on, in the unit that fits best; None where too little
    of it is there."""
    total = max(clock)[1] if clock else 0.0
    found = [
        (implied, abs(math.log(implied.seconds / total)))
        for unit in units
        if total > 0 and (implied := _implied(clock, other, validations, unit)) is not None
    ]
    return min(found, key=lambda item: item[1])[0] if found else None


def _implied(
    clock: Series, other: Series, validations: Collection[int], scale: float
) -> Implied | None:
    mine, theirs = dict(clock), {step: value * scale for step, value in other}
    both = [(s, mine[s], theirs[s]) for s in sorted(mine.keys() & theirs.keys())]
    total = max(clock)[1]
    unit = scale if all(t == int(t) for _, t in other) else 0.001
    pairs = list(zip(both, both[1:], strict=False))
    stops = sorted(validations)
    bare = [pair for pair in pairs if not within(stops, pair[0][0], pair[1][0])]
    for chosen in (bare, pairs):
        pace = _pace([(b[1] - a[1], b[2] - a[2]) for a, b in chosen], unit)
        if pace is not None:
            return Implied(total / max(pace, _LEAST_PACE), chosen is bare)
    return None


def implied_by_jitter(clock: Series, other: Series, units: Sequence[float]) -> float | None:
    """The training time by a number of any name that is a clock: it rises unevenly, and where the
    training clock does. None for every other, and for one of no unit of time."""
    mine, theirs = dict(clock), dict(other)
    both = [(s, mine[s], theirs[s]) for s in sorted(mine.keys() & theirs.keys())]
    deltas = [(b[1] - a[1], b[2] - a[2], b[0] - a[0]) for a, b in zip(both, both[1:], strict=False)]
    if len(deltas) < _LEAST_UNEVEN or any(a <= 0 or b <= 0 for a, b, _ in deltas):
        return None
    ratio = statistics.median(b / a for a, b, _ in deltas)
    pace = statistics.median(a / n for a, _, n in deltas)
    apart = statistics.median(abs(b / a / ratio - 1) for a, b, _ in deltas)
    uneven = statistics.median(abs(a / n / pace - 1) for a, _, n in deltas)
    if uneven < _UNEVEN or apart > _OF_UNEVEN * uneven:
        return None
    times = min((ratio * unit for unit in units), key=lambda x: abs(math.log(x)))
    near = 1 / _MOST_TIMES <= times <= _MOST_TIMES
    return max(clock)[1] * times if near else None


_LEAST_UNEVEN, _UNEVEN, _OF_UNEVEN, _MOST_TIMES = 8, 2.5e-3, 0.3, 4.0


def within(stops: Sequence[int], begin: int, end: int) -> bool:
    """Whether one of some steps, in order, lies between two others or at one of them."""
    place = bisect.bisect_left(stops, begin)
    return place < len(stops) and stops[place] <= end


def _pace(deltas: Sequence[tuple[float, float]], unit: float) -> float | None:
    """Seconds of the first clock for each of the second, stalls left out."""
    if len(deltas) < LEAST_INTERVALS:
        return None
    usual = max(statistics.median(b for _, b in deltas), unit)
    kept = [
        (a, b)
        for n, (a, b) in enumerate(deltas)
        if a >= 0 and 0 <= b and (b <= _STALL * usual or _counted_too(deltas, n))
    ]
    mine, theirs = sum(a for a, _ in kept), sum(b for _, b in kept)
    if len(kept) < LEAST_INTERVALS or max(mine, theirs) < _RESOLUTIONS * unit:
        return None
    return mine / max(theirs, unit)


def _counted_too(deltas: Sequence[tuple[float, float]], n: int) -> bool:
    """Whether the first clock counts what the second one stalled for, in the same stretch or in one
    beside it: a slow step on a busy machine. W&B's client stamps a row when the next one begins, so
    its clock has each step a row early."""
    near = (a for a, _ in deltas[max(n - 1, 0) : n + 2])
    return max(near) >= _COUNTED * deltas[n][1]


def implied_by_durations(clock: Series, durations: Series, units: Sequence[float]) -> float | None:
    """The training time by the durations of steps, in the unit that fits best; None where they are
    too few. Of each stretch of the clock the median of its steps counts, or of all."""
    timed = sorted(dict(clock).items())
    steps = [(s, d) for s, d in sorted(dict(durations).items()) if d > 0]
    if len(timed) < 2 or not steps or timed[-1][1] <= 0:
        return None
    stretches = list(_stretches(timed, steps))
    usual = statistics.median(a / n for a, n, _ in stretches)
    each = statistics.median(d for _, _, d in stretches)
    kept = [(a, n * d) for a, n, d in stretches if a <= _STALL * usual * n and d <= _STALL * each]
    mine, theirs = sum(a for a, _ in kept), sum(b for _, b in kept)
    if mine <= 0:
        return None
    # The unit is that of the name; without one it is the one that makes both agree best.
    unit = min(units, key=lambda u: max(theirs * u / mine, mine / (theirs * u)))
    return timed[-1][1] * theirs * unit / mine


def _stretches(timed: Series, steps: Series) -> Iterator[tuple[float, int, float]]:
    """(seconds by the clock, steps, usual duration) from one reading of the clock to the next."""
    everywhere = statistics.median(d for _, d in steps)
    places = [s for s, _ in steps]
    for (begin, clock), (end, later) in zip(timed, timed[1:], strict=False):
        inside = steps[bisect.bisect_right(places, begin) : bisect.bisect_right(places, end)]
        duration = statistics.median(d for _, d in inside) if inside else everywhere
        yield later - clock, end - begin, duration
