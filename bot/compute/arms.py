"""The baseline arm: what the candidate is compared with, run on the same machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.compute import significance as sig
from bot.compute.ratios import promotes
from bot.compute.selection import Kept, select
from bot.model.run import Run
from bot.model.summary import BaselineArm, Comparison, Pairwise, RunKey, Sample
from bot.model.track import Track


def compare_arms(
    kept: Sequence[Kept],
    baseline: Sequence[Run],
    track: Track,
    step: int | None,
    loss_key: str | None,
    pairs: Mapping[RunKey, str],
) -> BaselineArm:
    # A baseline that stops at another step, or that logs no such metric, is taken at its own.
    own_step = _shared_end(baseline) if track.common_stop_step else step
    shared = loss_key if any(loss_key in run.history for run in baseline) else None
    other = select(baseline, track, step=own_step, loss_key=shared)
    theirs = Sample.of(k.cost for k in other.kept)
    ours = Sample.of(k.cost for k in kept)
    quality = Sample(tuple(k.quality for k in other.kept))
    comparison = None
    if ours.values and theirs.values:
        comparison = _paired(kept, other.kept, track, pairs) or sig.welch(
            ours.values, theirs.values, track.cost.goal
        )
    pairwise = pairwise_rule(Sample(tuple(k.quality for k in kept)), ours, quality, theirs, track)
    fewest, due = min(len(ours.values), len(theirs.values)), track.promote_at
    return BaselineArm(
        quality=quality.moments,
        cost=theirs,
        comparison=comparison,
        pairwise=pairwise,
        passes=pairwise.passes if pairwise else _passes(comparison, fewest, track),
        excluded=other.excluded,
        promote_at=due,
        promotes=None
        if comparison is None or comparison.ratio is None or due is None
        else promotes(comparison.ratio_interval, due),
    )


def _passes(comparison: Comparison | None, fewest: int, track: Track) -> bool | None:
    """Whether the cost is proved to be better; None where it cannot be tested."""
    if comparison is None or comparison.p is None:
        return None
    # Two runs an arm say nothing about a session's spread; pairs cancel what both share.
    if comparison.method != "paired" and fewest < 3:
        return None
    return comparison.p < track.significance.alpha_each


def _shared_end(runs: Sequence[Run]) -> int | None:
    """The step at which all runs end, also where that is short of the stated total; else None."""
    ends = {run.step for run in runs}
    return ends.pop() if len(ends) == 1 else None


def _paired(
    ours: Sequence[Kept], theirs: Sequence[Kept], track: Track, pairs: Mapping[RunKey, str]
) -> Comparison | None:
    """The paired test, where every run of both arms is one half of a pair; else None."""
    arms = []
    for arm in (ours, theirs):
        named = {pairs.get((k.run.file, k.run.index)): k.cost for k in arm}
        if None in named or len(named) != len(arm):
            return None
        arms.append(named)
    if len(arms[0]) < 2 or set(arms[0]) != set(arms[1]):
        return None
    a, b = ([arm[name] or 0.0 for name in sorted(map(str, arm))] for arm in arms)
    return sig.paired(a, b, track.cost.goal) if min(*a, *b) > 0 else None


def pairwise_rule(
    quality: Sample, steps: Sample, base_quality: Sample, base_steps: Sample, track: Track
) -> Pairwise | None:
    """The pairwise rule of a track whose cost is steps with a worth in loss; else None."""
    worth, rule = track.cost.step, track.significance
    if worth is None or rule.threshold is None:
        return None
    a, b = quality.moments, base_quality.moments
    if a is None or b is None or not steps.values or not base_steps.values:
        return None
    saved = max(base_steps.values) - max(steps.values)
    scale = (1 / a.n + 1 / b.n) ** 0.5
    statistic = (b.mean - a.mean + worth / 100 * saved) / scale
    p = sig.normal_tail(statistic / rule.sigma) if rule.sigma else None
    return Pairwise(statistic, p, sig.reaches(statistic, rule.threshold), saved)
