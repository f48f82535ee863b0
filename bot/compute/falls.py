"""Losses that fall from one point to the next by far more than around it: the run was trained on in
between, and its record leaves that out.

    sudden_fall(validations, batches)                anywhere in a run
    fall_across(validations, batches, step)          where it was resumed, which is asked more

Over 14,000 stretches of the record history, after the begin, a validation loss falls by at most 2.9
times as much a step as over the two stretches before and after it, and the mean of ten training
losses, some standard errors aside, by 0.5 times as much.
"""

from __future__ import annotations

import bisect
import itertools
import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from bot.compute.paces import Series

_BEGIN, _NEAR = 0.03, 2
_TIMES, _TIMES_RESUMED = 3.2, 2.2
_LEAST = 0.01
"""Of the loss: less may be the noise of one validation."""
_MANY, _ERRORS = 10, 7.0
_TIMES_OF_MANY, _TIMES_OF_MANY_RESUMED = 1.5, 0.8


class Fall(NamedTuple):
    """A loss that falls from one step to a later one, and by how much it does around it at most."""

    what: str
    begin: int
    end: int
    fall: float
    usual: float

    def words(self) -> str:
        """The fall in a sentence without its end."""
        return (
            f"the {self.what} falls by {self.fall:.3g} from step {self.begin} to step {self.end}, "
            f"and around there by at most {self.usual:.2g} in as many steps"
        )


def sudden_fall(validations: Series, batches: Series) -> Fall | None:
    """The first fall, after the begin of a run, that no training makes; `batches` are training
    losses."""
    points = sorted(dict(validations).items())
    for place in range(_NEAR, len(points) - 1):
        if points[place][0] >= _BEGIN * points[-1][0]:
            found = _fall(points, place, _TIMES)
            if found is not None:
                return found
    many = sorted(dict(batches).items())
    late = (n for n, (step, _) in enumerate(many) if step >= _BEGIN * many[-1][0])
    return _of_many(many, range(next(late, 0), len(many)), _TIMES_OF_MANY)


def fall_across(validations: Series, batches: Series, step: int) -> Fall | None:
    """The fall up to the first point from a step on, where a run was resumed, if it is more than
    training makes."""
    points, many = sorted(dict(validations).items()), sorted(dict(batches).items())
    place = bisect.bisect_left(points, (step, -math.inf)) - 1
    found = _fall(points, place, _TIMES_RESUMED) if _NEAR <= place < len(points) - 1 else None
    place = bisect.bisect_left(many, (step, -math.inf))
    return found or _of_many(many, range(place, place + 1), _TIMES_OF_MANY_RESUMED)


def _fall(points: Sequence[tuple[int, float]], place: int, times: float) -> Fall | None:
    """The fall after one of the points, where it is more than it may be by those around it."""
    (begin, first), (end, later) = points[place], points[place + 1]
    around = (points[place - _NEAR : place + 1], points[place + 1 : place + 2 + _NEAR])
    rates = [
        abs(a - b) / (t - s)
        for part in around
        for (s, a), (t, b) in itertools.pairwise(part)
        if t > s
    ]
    if not rates or end <= begin or later <= 0:
        return None
    usual = max(rates) * (end - begin)
    fall = first - later
    return (
        Fall("validation loss", begin, end, fall, usual)
        if fall > max(times * usual, _LEAST * later)
        else None
    )


def _of_many(points: Sequence[tuple[int, float]], places: range, times: float) -> Fall | None:
    """The first fall of the mean of several training losses at some places, where it is more than
    it may be by those before and after them."""
    sums = [0.0, *itertools.accumulate(loss for _, loss in points)]
    for place in range(max(places.start, 2 * _MANY), min(places.stop, len(points) - 2 * _MANY + 1)):
        at = [place + n * _MANY for n in (-2, -1, 0, 1, 2)]
        first, before, after, last = (
            (sums[b] - sums[a]) / _MANY for a, b in itertools.pairwise(at)
        )
        fall, usual = before - after, max(abs(first - before), abs(after - last))
        if fall <= max(times * usual, _LEAST * after):
            continue
        losses = [loss for _, loss in points[at[0] : at[-1]]]
        moves = [b - a for n, (a, b) in enumerate(itertools.pairwise(losses), 1) if n % _MANY]
        if fall - _ERRORS * statistics.pstdev(moves) / math.sqrt(_MANY) > times * usual:
            begin, end = points[place - 1][0], points[place][0]
            return Fall(f"mean of {_MANY} training losses", begin, end, fall, usual)
    return None
