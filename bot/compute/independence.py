"""Whether two runs are independent trainings: forks of one run, and one run in two forms, are not.

Likeness is judged at the coarser precision that the two are printed with. A fork shares its first
part to the last digit; a log with three decimals and the W&B history of the same run agree at
every step that both show.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.model.run import Run, Validation

PREFIX = 3
"""So many points from the beginning, equal in step, loss and clock, are not a coincidence."""
_MANY = 8
"""So many losses of three decimals, all equal, are one run whose clocks cannot be compared."""
_MOST_DECIMALS = 7
_LEAST_LOSS, _LEAST_CLOCK = 3, 2
"""Decimals below which equal numbers say nothing."""
_ROUNDED = 1.1e-3
"""So far a recorded number may be from what a run shows: its last digit is a thousandth."""


def decimals(values: Sequence[float]) -> int:
    """The fewest decimals that write all of these numbers."""
    digits = 0
    for value in values:
        near = 1e-9 * max(1.0, abs(value))
        while digits < _MOST_DECIMALS and not abs(value - round(value, digits)) < near:
            digits += 1
    return digits


def dependent(a: Run, b: Run) -> bool:
    """Whether two runs are one training, or one is a fork of the other."""
    mine = {v.step: v for v in b.validation if v.step > 0}
    pairs = [(v, mine[v.step]) for v in a.validation if v.step in mine]
    if len(pairs) < PREFIX:
        return False
    digits = min(decimals([v.loss for v in side]) for side in zip(*pairs, strict=True))
    if digits < _LEAST_LOSS:
        return False
    losses = [equal_to(v.loss, w.loss, digits) for v, w in pairs]
    clocks = _clocks(pairs)
    if clocks is not None:
        return all(losses[:PREFIX]) and all(clocks[:PREFIX])
    # With four decimals `bot.compute.duplicates` tells them apart.
    return digits == _LEAST_LOSS and len(pairs) >= _MANY and all(losses)


def _clocks(pairs: Sequence[tuple[Validation, Validation]]) -> list[bool] | None:
    """Whether the clocks of two runs are equal, point by point; None where they cannot be told."""
    sides = [[v.time_s for v in side if v.time_s is not None] for side in zip(*pairs, strict=True)]
    if min(map(len, sides)) < len(pairs):
        return None
    digits = min(map(decimals, sides))
    if digits < _LEAST_CLOCK:
        return None
    return [equal_to(v, w, digits) for v, w in zip(*sides, strict=True)]


def equal_to(a: float, b: float, digits: int) -> bool:
    """Whether two numbers are one number that was written with so many decimals."""
    # Half a unit of the last digit for the one that was rounded, and a little for its rounding.
    return abs(a - b) <= 0.5001 * 10.0**-digits


def same_points(run: Sequence[Validation], points: Sequence[Validation]) -> bool:
    """Whether a run shows recorded points, whose loss and clock were rounded: all of a few, and
    most of many, since some of a copy may have been changed."""
    mine = {v.step: v for v in run}
    pairs = [(mine[p.step], p) for p in points if p.step in mine and p.step > 0]
    same = sum(
        abs(v.loss - p.loss) <= _ROUNDED
        and (v.time_s is None or p.time_s is None or abs(v.time_s - p.time_s) <= _ROUNDED)
        for v, p in pairs
    )
    return len(pairs) >= PREFIX and same >= (len(pairs) if len(pairs) < _MANY else 0.7 * len(pairs))
