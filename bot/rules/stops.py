"""Stops that may have been chosen among the validations of a run: it states no length, or it is
taken at a step before the end that it states.

Part of the rule `witnesses-disagree`, in `bot.rules.witnesses`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from bot.compute.case_statistics import loss_key_of, of_case, points_of
from bot.compute.selection import with_loss_key
from bot.compute.significance import normal_quantile, normal_tail
from bot.evidence.counters import plans
from bot.evidence.epochs import states_plan
from bot.model.case import Case
from bot.model.run import Run
from bot.model.summary import Summary
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.numbers import count, figure, probability

_STATE_IT = "state the planned number of steps in the log, as in `step:100/1000`"
_CLAIM_LATER = "claim a later step, or say in the README how the step was chosen before the runs"
_NEAR = 4.0
"""A stop was to choose from where the mean is within so many standard errors of the target."""
_LEAST_TREND = 3
_ALLOWED = 2.0
"""Times the level: who stops where the test first passes has p just below it, and the validations
before that one, on a loss that falls as it usually does, make up to 1.5 looks."""
_LEAST_LATER = 2


def chosen_stops(case: Case) -> Iterator[Finding]:
    """Points whose runs state no length and end at different steps, or prove the target at one of
    several validations near it and not at all of them together. Where the track takes all runs at
    one step, so do stops before the stated end that the validations around them do not bear out."""
    if case.brought_over or case.track.finish != "steps":
        return
    for point in points_of(case):
        runs = [r for r in case.runs("candidate", point) if r.step is not None]
        if len(runs) < 2 or any(r.source == "results" for r in runs):
            continue
        if any(r.total_steps or plans(r.config) or states_plan(r.config) for r in runs):
            told, fix = _before_the_end(case, point, runs), _CLAIM_LATER
        else:
            told, fix = _without_length(case, point, runs), _STATE_IT
        if told is not None:
            yield finding(
                "witnesses-disagree",
                told,
                Level.WARNING,
                file=case.folder.path,
                point=point,
                fix=fix,
            )


def _without_length(case: Case, point: str | None, runs: Sequence[Run]) -> str | None:
    steps = sorted({r.step for r in runs if r.step is not None})
    if len(steps) > 1:
        return f"the runs end at steps {steps[0]:,} to {steps[-1]:,}, and none states its length"
    found = _passing(case, point)
    if found is None:
        return None
    summary, error = found
    means = _means(case, runs)
    near = [s for s, mean in means.items() if _gain(summary, mean) >= -_NEAR * error]
    p = summary.decision.p
    if p is None or len(near) < 2 or p * len(near) < summary.level:
        return None
    return (
        f"no run states its length, and {len(near)} of its validations are near the target or "
        f"beyond: p = {figure(p, 2)} at the last, but {figure(min(1.0, p * len(near)), 2)} if "
        "the stop was picked among them"
    )


def _before_the_end(case: Case, point: str | None, runs: Sequence[Run]) -> str | None:
    """A stop before the end that later validations do not confirm, or that is one of many at which
    the loss hardly falls any more, so that one of them passes by chance."""
    found = _passing(case, point)
    if found is None:
        return None
    summary, error = found
    step, end = summary.step, max(max(r.total_steps or 0, r.step or 0) for r in runs)
    if step is None or end <= step or error <= 0:
        return None
    means = _means(case, runs)
    tested = summary.decision.test != "none"
    needed = normal_quantile(1 - summary.level) * error if tested else 0.0
    later = [mean for s, mean in means.items() if s > step]
    fail = sum(_gain(summary, mean) < needed for mean in later)
    if len(later) >= _LEAST_LATER and 2 * fail > len(later):
        return (
            f"{'the test passes' if tested else 'the mean reaches the target'} at step {step:,}, "
            f"but not at {fail} of the {count(len(later), 'validation')} after it"
        )
    p, looks = summary.decision.p, _looks(summary, means, step, error)
    if p is None or p * looks < _ALLOWED * summary.level:
        return None
    return (
        f"the result is taken at step {step:,} of {end:,}, where the loss hardly falls: p = "
        f"{probability(p)} there, but {probability(min(1.0, p * looks))} if that step was picked "
        "among the validations before it"
    )


def _looks(summary: Summary, means: Mapping[int, float], step: int, error: float) -> float:
    """How many validations up to a stop could have passed by chance as well as it did, each by how
    far the trend of the mean is from its value at the stop."""
    before = [s for s in means if s <= step]
    near = [s for s in before if _gain(summary, means[s]) >= -_NEAR * error]
    if len(near) < _LEAST_TREND:
        return 1.0
    trend = statistics.linear_regression(near, [_gain(summary, means[s]) for s in near]).slope
    bound = normal_quantile(1 - summary.level)
    falls = [normal_tail(bound + max(trend, 0.0) * (step - s) / error) for s in near]
    return sum(falls) / summary.level


def _passing(case: Case, point: str | None) -> tuple[Summary, float] | None:
    """The statistics of a point that passes against a target, and the error of its mean."""
    summary = of_case(case, point)
    if summary is None or summary.target is None or summary.moments is None or not summary.passes:
        return None
    sigma = case.track.significance.sigma if case.track.significance.test == "z" else None
    return summary, (sigma or summary.moments.sd or 0.0) / summary.n**0.5


def _gain(summary: Summary, mean: float) -> float:
    assert summary.target is not None
    return summary.target - mean if summary.goal == "min" else mean - summary.target


def _means(case: Case, runs: Sequence[Run]) -> dict[int, float]:
    """The mean at each validation that all runs have, in order of the steps."""
    key = loss_key_of(case)
    read = runs if key is None else [with_loss_key(run, key) for run in runs]
    losses = [{v.step: v.loss for v in run.validation} for run in read]
    shared = sorted(set.intersection(*(set(found) for found in losses)))
    return {s: statistics.fmean(found[s] for found in losses) for s in shared}
