"""The second numbers of the step lines of a log, as series."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from bot.compute.paces import Series
from bot.evidence.log.problems import LogStep


def series_of(steps: Sequence[LogStep]) -> Mapping[str, Series]:
    """The second numbers of the step lines by name; time stamps of the lines as one clock."""
    found: dict[str, list[tuple[int, float]]] = {}
    first = next((s.stamp for s in steps if s.stamp is not None), None)
    for s in steps:
        for name, value in (*s.values.items(), *s.clocks.items()):
            if name != "val_loss" and math.isfinite(value):
                found.setdefault(name, []).append((s.step, value))
        if s.stamp is not None and first is not None:
            found.setdefault("_timestamp", []).append((s.step, (s.stamp - first).total_seconds()))
    return {f"{n}_timestamp" if _is_of_day(x) else n: x for n, x in found.items()}


def _is_of_day(series: Series) -> bool:
    """Whether all numbers are seconds since 1970 of this time."""
    return all(1.4e9 < value < 2.4e9 for _, value in series)


def usual_distance(points: Sequence[LogStep]) -> int:
    """The usual distance of validations."""
    apart = sorted(b.step - a.step for a, b in zip(points, points[1:], strict=False))
    return max(apart[len(apart) // 2] if apart else 0, 1)
