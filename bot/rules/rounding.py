"""Losses that are printed with so few digits that their rounding decides the test.

Part of the rule `target-not-significant`, in `bot.rules.statistics`.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.compute.independence import decimals
from bot.compute.summary import decide
from bot.model.case import Case
from bot.model.run import Run
from bot.model.summary import Moments, Summary
from bot.render.numbers import figure, probability

_ENOUGH = 4
"""With so many decimals a loss is as good as known."""
_FEWER = 2
"""A last loss with so many decimals less than the others may be rounded by hand."""
_RUNS_A_CHANCE = 8
"""One run, and one more of each so many, may end at such a loss by chance: near a target of two
decimals each does so with a chance of up to 3 %."""


def rounding_decides(case: Case, s: Summary, point: str | None) -> str | None:
    """That a passing test fails if each loss is higher by what its rounding allows, in words."""
    if (
        case.brought_over
        or s.target is None
        or not s.passes
        or s.metric != case.track.quality.metric
    ):
        return None
    runs = [r for r in case.runs("candidate", point) if (r.file, r.index) in s.kept]
    halves = half_units(runs)
    if len(halves) != len(s.quality.values) or not any(halves):
        return None
    sign = 1 if s.goal == "min" else -1
    values = [v + sign * h for v, h in zip(s.quality.values, halves, strict=True)]
    moments = Moments.of(values)
    decision = decide(moments.gain(s.target, s.goal), case.track, moments)
    if decision.passes:
        return None
    p = "" if decision.p is None else f", p = {probability(decision.p)}"
    worse = "higher" if s.goal == "min" else "lower"
    return (
        f"the last losses are rounded: each may be {figure(max(halves))} {worse}, and then the "
        f"test does not pass (mean {figure(moments.mean, 5)}{p})"
    )


def half_units(runs: Sequence[Run]) -> list[float]:
    """Half of the last digit of each run's last loss, 0 where it is one of enough digits. Zeros at
    the end are not printed by every program, so a few last losses of fewer digits are nothing."""
    losses = [[v.loss for v in run.validation] for run in runs]
    shown = [decimals(points) if points else _ENOUGH for points in losses]
    last = [decimals(points[-1:]) if points else _ENOUGH for points in losses]
    fewer = [a <= b - _FEWER and a < _ENOUGH for a, b in zip(last, shown, strict=True)]
    many = sum(fewer) > 1 + len(fewer) // _RUNS_A_CHANCE
    found = [a if many and less else b for a, b, less in zip(last, shown, fewer, strict=True)]
    return [0.5 * 10.0**-digits if digits < _ENOUGH else 0.0 for digits in found]
