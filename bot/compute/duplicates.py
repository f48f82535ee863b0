"""Runs that are one training though their evidence differs: copies with a digit changed.

A log and the W&B history of one run differ in decimals; a log printed again may have another
clock. Two trainings of one script agree to four decimals at few of their validations: over all
pairs of the record history at 54 % at the most, at a run's own copies and forks at 86 % or more.
Clocks to the millisecond agree less still, at 33 % and at three validations at the most, wherever
in the run they stand: a copy with other losses or other steps has them too.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from bot.model.run import Run

TOLERANCE = 6e-5
"""Losses that differ by no more are the same number printed with other decimals."""
LEAST_POINTS = 4
"""Fewer validations in common tell nothing."""
SHARE = 0.7
_MAX_POINTS = 500
MOST_RUNS = 400
"""So many runs are compared with one another: each with each, that is 80,000 pairs."""
_BUCKET = 1e-4
# A clock that is a multiple of this may be that of any run, and so may one that beats as evenly
# as no machine does.
_COARSE_MS = 10
_EVEN_MS = 2.0

Series = Sequence[tuple[int, float]]


@dc.dataclass(frozen=True, slots=True)
class Trace:
    """What a copy of a run keeps: its validation losses by step, and its clocks there.

    The first validation of a training counts for nothing: before the first step all runs of a
    script are equal. `clocks` are whole milliseconds, those that are not multiples of ten.
    """

    losses: tuple[tuple[int, float], ...]
    clocks: frozenset[int] = frozenset()

    @classmethod
    def of(cls, points: Iterable[tuple[int, float, float | None]]) -> Trace:
        """The trace of (step, loss, clock in seconds) points."""
        # Where an absurd number would overflow, there is nothing to compare.
        kept = [p for p in points if p[0] > 0 and math.isfinite(p[1]) and abs(p[1]) < 1e9]
        kept = kept[-_MAX_POINTS:]
        times = [(step, t * 1000) for step, _, t in kept if t is not None and 0 < t < 1e9]
        clocks = (round(t) for _, t in times) if _uneven(times) else ()
        return cls(
            tuple((step, loss) for step, loss, _ in kept),
            frozenset(clock for clock in clocks if clock % _COARSE_MS),
        )

    def keys(self) -> Iterator[str]:
        """Texts of which two alike traces share at least one; others may share some too."""
        for (a, x), (b, y) in zip(self.losses, self.losses[1:], strict=False):
            yield f"losses:{a}:{x:.4f}:{b}:{y:.4f}"
        for clock in sorted(self.clocks):
            yield f"clock:{clock}"


class Known:
    """Traces that were seen, by number, to find the one of which another is a copy."""

    def __init__(self) -> None:
        self._losses: dict[tuple[int, int], list[tuple[float, int]]] = {}
        self._clocks: dict[int, list[int]] = {}
        self._traces: dict[int, tuple[frozenset[int], int]] = {}

    def add(self, index: int, trace: Trace) -> None:
        """Remember a trace under a number."""
        steps = frozenset(step for step, _ in trace.losses)
        self._traces[index] = steps, len(trace.clocks)
        for step, loss in trace.losses:
            self._losses.setdefault((step, _bucket(loss)), []).append((loss, index))
        for clock in trace.clocks:
            self._clocks.setdefault(clock, []).append(index)

    def original(self, trace: Trace) -> int | None:
        """The lowest number of a trace of which this one is a copy, or None."""
        found = {*self._by_losses(trace), *self._by_clocks(trace)}
        return min(found, default=None)

    def _by_losses(self, trace: Trace) -> Iterator[int]:
        equal: Counter[int] = Counter()
        for step, loss in trace.losses:
            middle = _bucket(loss)
            equal.update(
                {
                    index
                    for bucket in (middle - 1, middle, middle + 1)
                    for other, index in self._losses.get((step, bucket), ())
                    if abs(other - loss) <= TOLERANCE
                }
            )
        own = frozenset(step for step, _ in trace.losses)
        return (i for i, n in equal.items() if _alike(n, own, self._traces[i][0]))

    def _by_clocks(self, trace: Trace) -> Iterator[int]:
        equal = Counter(i for clock in trace.clocks for i in self._clocks.get(clock, ()))
        return (
            i
            for i, n in equal.items()
            if n >= LEAST_POINTS and n >= SHARE * min(len(trace.clocks), self._traces[i][1])
        )


def trace_of(run: Run) -> Trace:
    """The trace of a run of any source."""
    return Trace.of(run.validation)


def repeats(runs: Sequence[Run]) -> tuple[tuple[int, int], ...]:
    """Pairs (index of a run, index of the earlier run of which it is a copy), in order.

    A run is compared with those before it that are no copies themselves.
    """
    found = []
    known = Known()
    for index, run in enumerate(runs):
        trace = trace_of(run)
        original = known.original(trace)
        if original is not None:
            found.append((index, original))
        else:
            known.add(index, trace)
    return tuple(found)


def _uneven(times: Sequence[tuple[int, float]]) -> bool:
    """Whether clocks in milliseconds stray from a straight line."""
    (first, begin), (last, end) = times[0] if times else (0, 0.0), times[-1] if times else (0, 0.0)
    rate = (end - begin) / (last - first) if last > first else 0.0
    return any(abs(t - begin - rate * (step - first)) > _EVEN_MS for step, t in times)


def _bucket(loss: float) -> int:
    return math.floor(loss / _BUCKET)


def _alike(equal: int, own: frozenset[int], other: frozenset[int]) -> bool:
    if equal < LEAST_POINTS:
        return False
    common = len(own & other)
    # Four or five equal numbers of five may be chance where a model converges; all of them not.
    return equal == common or common > LEAST_POINTS + 1 and equal >= SHARE * common
