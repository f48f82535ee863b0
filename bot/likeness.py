"""Runs that are one training though their evidence differs: copies with a digit changed.

A log and the W&B history of one run differ in decimals; a log printed again may have another
clock. Two trainings of one script agree to four decimals at few of their validations: over all
pairs of the record history at 54 % at the most, at a run's own copies and forks at 86 % or more.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from bot.run import Run

TOLERANCE = 6e-5
"""Losses that differ by no more are the same number printed with other decimals."""
LEAST_POINTS = 4
"""Fewer validations in common tell nothing."""
SHARE = 0.7
_MAX_POINTS = 500
_BUCKET = 1e-4

Series = Sequence[tuple[int, float]]


def repeats(runs: Sequence[Run]) -> tuple[tuple[int, int], ...]:
    """Pairs (index of a run, index of the earlier run of which it is a copy), in order.

    A run is compared with those before it that are no copies themselves. The first validation of a
    training counts for nothing: before the first step all runs of a script are equal.
    """
    found = []
    known: dict[tuple[int, int], list[tuple[float, int]]] = {}
    steps: dict[int, frozenset[int]] = {}
    for index, run in enumerate(runs):
        series = _series(run)
        original = _original(series, known, steps)
        if original is not None:
            found.append((index, original))
            continue
        steps[index] = frozenset(step for step, _ in series)
        for step, loss in series:
            known.setdefault((step, _bucket(loss)), []).append((loss, index))
    return tuple(found)


def _series(run: Run) -> Series:
    points = ((v.step, v.loss) for v in run.validation if v.step > 0 and math.isfinite(v.loss))
    # Where an absurd number would overflow, there is nothing to compare.
    return [(step, loss) for step, loss in points if abs(loss) < 1e9][-_MAX_POINTS:]


def _bucket(loss: float) -> int:
    return math.floor(loss / _BUCKET)


def _original(
    series: Series,
    known: dict[tuple[int, int], list[tuple[float, int]]],
    steps: dict[int, frozenset[int]],
) -> int | None:
    equal: Counter[int] = Counter()
    for step, loss in series:
        middle = _bucket(loss)
        equal.update({
            index
            for bucket in (middle - 1, middle, middle + 1)
            for other, index in known.get((step, bucket), ())
            if abs(other - loss) <= TOLERANCE
        })
    own = [step for step, _ in series]
    return next((i for i in sorted(equal) if _alike(equal[i], own, steps[i])), None)


def _alike(equal: int, own: Iterable[int], other: frozenset[int]) -> bool:
    if equal < LEAST_POINTS:
        return False
    common = sum(step in other for step in own)
    # Four or five equal numbers of five may be chance where a model converges; all of them not.
    return equal == common or common > LEAST_POINTS + 1 and equal >= SHARE * common
