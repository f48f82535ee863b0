"""Runs that state no length: where they end may have been chosen among their validations.

Part of the rule `witnesses-disagree`, in `bot.rules.witnesses`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from bot.compute.case_statistics import of_case, points_of
from bot.evidence.counters import plans
from bot.model.case import Case
from bot.model.run import Run
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.numbers import figure
from bot.render.untrusted import plain

_FIX = "state the planned number of steps in the log, as in `step:100/1000`"
_NEAR = 4.0
"""A stop was to choose from where the mean is within so many standard errors of the target."""


def chosen_stops(case: Case) -> Iterator[Finding]:
    """Points whose runs state no length and end at different steps, or prove the target at one of
    several validations near it and not at all of them together."""
    if case.brought_over or case.track.finish != "steps" or case.track.common_stop_step:
        return
    for point in points_of(case):
        runs = [r for r in case.runs("candidate", point) if r.step is not None]
        if len(runs) < 2 or any(
            r.source == "results" or r.total_steps or plans(r.config) for r in runs
        ):
            continue
        steps = sorted({r.step for r in runs if r.step is not None})
        told = None
        if len(steps) > 1:
            told = (
                f"the runs end at steps {steps[0]:,} to {steps[-1]:,}, and none states its length"
            )
        else:
            told = _chosen(case, point, runs)
        if told is not None:
            yield finding(
                "witnesses-disagree",
                told,
                Level.WARNING,
                file=plain(case.folder.path, 200),
                point=point,
                fix=_FIX,
            )


def _chosen(case: Case, point: str | None, runs: Sequence[Run]) -> str | None:
    """That the test passes at one of several validations that the runs might have ended at."""
    summary, rule = of_case(case, point), case.track.significance
    if summary is None or summary.target is None or summary.moments is None or not summary.passes:
        return None
    p, error = summary.decision.p, (summary.moments.sd or rule.sigma or 0.0) / len(runs) ** 0.5
    means = [
        statistics.fmean(v.loss for v in points)
        for points in zip(*(r.validation for r in runs), strict=False)
        if len({v.step for v in points}) == 1
    ]
    sign = 1 if summary.goal == "min" else -1
    near = sum(sign * (mean - summary.target) <= _NEAR * error for mean in means)
    if p is None or near < 2 or p * near < rule.alpha_each:
        return None
    return (
        f"no run states its length, and {near} of its validations are near the target or beyond: "
        f"p = {figure(p, 2)} at the last, {figure(min(1.0, p * near), 2)} for a stop that is "
        "chosen among them"
    )
