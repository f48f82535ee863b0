"""What a copy of a run keeps, whatever its file: its losses by step, and its clocks there."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Iterable, Iterator, Sequence

_MAX_POINTS = 500
# A clock that is a multiple of this may be that of any run, and so may one that beats as evenly
# as no machine does.
_COARSE_MS = 10
_EVEN_MS = 2.0


@dc.dataclass(frozen=True, slots=True)
class Trace:
    """What a copy of a run keeps: its validation losses by step, and its clocks there.

    The first validation of a training counts for nothing: before the first step all runs of a
    script are equal. `clocks` are whole milliseconds, those that are not multiples of ten.
    """

    losses: tuple[tuple[int, float], ...]
    clocks: frozenset[int] = frozenset()
    times: tuple[tuple[int, float], ...] = ()
    """The clock at each validation that has one, in seconds."""

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
            tuple((step, t / 1000) for step, t in times),
        )

    def keys(self) -> Iterator[str]:
        """Texts of which two alike traces share at least one; others may share some too."""
        for (a, x), (b, y) in zip(self.losses, self.losses[1:], strict=False):
            yield f"losses:{a}:{x:.4f}:{b}:{y:.4f}"
        for clock in sorted(self.clocks):
            yield f"clock:{clock}"


def _uneven(times: Sequence[tuple[int, float]]) -> bool:
    """Whether clocks in milliseconds stray from a straight line."""
    (first, begin), (last, end) = times[0] if times else (0, 0.0), times[-1] if times else (0, 0.0)
    rate = (end - begin) / (last - first) if last > first else 0.0
    return any(abs(t - begin - rate * (step - first)) > _EVEN_MS for step, t in times)
