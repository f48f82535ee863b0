"""Runs that are possible and odd: together they look better than such runs do. Warnings all, of
the rule `metric-implausible`; used by `bot.rules.values`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator

from bot.compute.case_statistics import of_case, points_of
from bot.compute.metrics import of_run
from bot.model.case import Case
from bot.model.track import Baseline
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.numbers import figure, probability
from bot.rules.about import about, per_message, runs_of

_FAR = 0.75
_TOO_ALIKE = 10
# A baseline arm whose loss is this far from the target, where no frozen baseline says better.
_MISSED, _OVERTRAINED = 1.02, 0.9
# Entropy of English text: about 0.6 bits a byte for the best models known.
_LEAST_BITS = {"bits/byte": 0.6, "nats/byte": 0.6 * math.log(2)}
_POSITIVE = frozenset(
    "bits/byte nats/byte nats/token bits/token bytes kb mb gb kib mib gib s ms min h steps tokens"
    " flop flops parameters".split()
)
# Six standard deviations of the frozen runs, and half a per cent where they hardly differ.
_SPREADS, _LEAST = 6.0, 0.005


def odd_runs(case: Case) -> Iterator[Finding]:
    """Everything that is odd about the runs of a case."""
    yield from per_message(_out_of_range(case))
    yield from _beyond_target(case)
    yield from _too_alike(case)
    if case.track.objective == "baseline":
        yield from _odd_baseline(case)


def _out_of_range(case: Case) -> Iterator[Finding]:
    """Values that no run has: sizes, times and losses at or below 0, text predicted better than any
    model does. What a results file states itself has its own finding."""
    track = case.track
    names = dict.fromkeys((track.quality.metric, track.cost.metric, *track.limits))
    for item, run in runs_of(case):
        values = {} if any(r.file == run.file for r in case.results) else of_run(run, track)
        for name in names:
            value, unit = values.get(name), _unit_of(case, name)
            impossible = value is not None and value <= 0 and unit in _POSITIVE
            if value is None or not impossible and value >= _LEAST_BITS.get(unit, value):
                continue
            why = "; no model is known to reach that on English text"
            yield about(
                case,
                item,
                run,
                "metric-implausible",
                f"{name} is {figure(value)} {unit}{', expected above 0' if impossible else why}",
                level=Level.ERROR if impossible else Level.WARNING,
                claimed=value,
                fix="check the units, and that no validation text was trained on",
            )


def _unit_of(case: Case, name: str) -> str:
    """The unit of a metric, of a track's own as the track states it."""
    own = case.track.metrics.get(name)
    axes = (case.track.quality, case.track.cost)
    stated = own.unit if own else next((axis.unit for axis in axes if axis.metric == name), None)
    return (stated or "").lower() or ("bits/byte" if name == "bpb" else "")


def _beyond_target(case: Case) -> Iterator[Finding]:
    """Runs of a race to a target that end where nobody would have run to."""
    target = case.track.quality.target
    if target is None or case.track.quality.goal != "min" or target <= 0:
        return
    for point in points_of(case):
        summary = of_case(case, point)
        values = () if summary is None else summary.quality.values
        if values and min(values) < _FAR * target:
            yield finding(
                "metric-implausible",
                f"a run ends at {case.track.quality.metric} "
                f"{figure(min(values))}, far below the target {figure(target)}",
                Level.WARNING,
                file=case.folder.path,
                point=point,
                claimed=min(values),
                expected=target,
                fix="check the validation code, or stop when the target is reached",
            )


def _too_alike(case: Case) -> Iterator[Finding]:
    """Runs whose own spread proves what the track's usual spread is far from proving.

    Over the record history p by the pooled sd was at most six times alpha where the t-test passed.
    """
    rule = case.track.significance
    for point in points_of(case) if rule.test == "t" else ():
        summary = of_case(case, point)
        if summary is None or not summary.passes or summary.p_pooled is None:
            continue
        moments = summary.moments
        if moments is not None and moments.sd and summary.p_pooled > _TOO_ALIKE * rule.alpha:
            yield finding(
                "metric-implausible",
                f"the standard deviation of the {moments.n} runs is {figure(moments.sd, 2)}, "
                f"unusually small for this track; with the usual {figure(rule.pooled_sd, 2)}, p "
                f"would be {probability(summary.p_pooled)} instead of "
                f"{probability(summary.decision.p)}",
                Level.WARNING,
                file=case.folder.path,
                point=point,
                claimed=moments.sd,
                expected=rule.pooled_sd,
                fix="list all runs, or add a few",
            )


def _odd_baseline(case: Case) -> Iterator[Finding]:
    """A baseline arm that is not what the baseline was, though nothing says what code it ran: a
    ratio to a slower run is not progress."""
    for point in points_of(case):
        summary = of_case(case, point)
        arm = None if summary is None else summary.baseline
        if arm is None or arm.quality is None:
            continue
        known = [b for b in case.track.baselines if len(b.losses) > 1]
        why = _other_loss(case, arm.quality.mean, known)
        if why is not None:
            yield finding(
                "metric-implausible",
                f"the baseline arm {why}",
                Level.WARNING,
                file=case.folder.path,
                point=point,
                fix="run the unchanged baseline to its end on this machine",
            )


def _other_loss(case: Case, mean: float, known: list[Baseline]) -> str | None:
    axis = case.track.quality
    if known:
        if any(
            abs(mean - statistics.fmean(b.losses))
            <= max(_SPREADS * statistics.stdev(b.losses), _LEAST * abs(mean))
            for b in known
        ):
            return None
        usual = " or ".join(f"{figure(statistics.fmean(b.losses), 5)}" for b in known[-3:])
        return f"ends at {axis.metric} {figure(mean, 5)}, the baseline at {usual}"
    target = axis.target
    if target is None or axis.goal != "min" or target <= 0:
        return None
    if mean > _MISSED * target:
        return f"ends at {axis.metric} {figure(mean, 5)} and misses the target {figure(target)}"
    if mean < _OVERTRAINED * target:
        return f"ends at {axis.metric} {figure(mean, 5)}, far beyond the target {figure(target)}"
    return None
