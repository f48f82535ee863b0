"""The baseline arm: what the candidate is compared with, run on the same machine."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence
from typing import Any

from bot.compute import significance as sig
from bot.compute.ratios import promotes
from bot.compute.selection import Excluded, Kept, RunKey, select
from bot.compute.significance import Comparison, Sample
from bot.model.run import Run
from bot.model.track import Track


@dc.dataclass(frozen=True, slots=True)
class Pairwise:
    """The rule for two results that stop at different steps.

    `statistic` = (baseline mean - mean + worth x steps saved) / sqrt(1/n + 1/m), `worth` in loss
    a step; `passes` where it reaches the track's threshold, `p` with the known sigma.
    """

    statistic: float
    p: float | None
    passes: bool
    steps_saved: float


@dc.dataclass(frozen=True, slots=True)
class Baseline:
    """The comparison with the baseline arm, in the track's cost and in quality."""

    quality: Sample
    cost: Sample
    comparison: Comparison | None
    pairwise: Pairwise | None
    passes: bool | None
    """Whether the improvement is proved at the track's alpha; None where it cannot be tested."""
    excluded: tuple[Excluded, ...]
    promote_at: float | None = None
    """The ratio at which the track makes a new baseline."""
    p_holm: float | None = None
    """p corrected for the number of points of the submission (Holm); None for one point."""

    @property
    def p(self) -> float | None:
        """The p that decides; None where the arms cannot be tested."""
        if self.pairwise is not None:
            return self.pairwise.p
        return (
            self.comparison.p if self.comparison is not None and self.passes is not None else None
        )

    @property
    def promotes(self) -> bool | None:
        """Whether the whole interval of the ratio lies beyond the track's threshold, so that a new
        baseline is due; None if the track has no threshold or the arms have no ratio."""
        c = self.comparison
        if c is None or c.ratio is None or self.promote_at is None:
            return None
        return promotes(c.ratio_interval, self.promote_at)

    def to_json(self) -> dict[str, Any]:
        """The comparison flat, with the arm's own numbers."""
        c = self.comparison
        quality = self.quality.moments
        return {
            "n": len(self.quality.values),
            "mean": quality.mean if quality else None,
            "sd": quality.sd if quality else None,
            "cost": self.cost.to_json(),
            "method": c.method if c else None,
            "difference": c.difference if c else None,
            "statistic": c.statistic if c else None,
            "df": c.df if c else None,
            "p": c.p if c else None,
            "p_holm": self.p_holm,
            "ratio": c.ratio if c else None,
            "ratio_interval": list(c.ratio_interval) if c and c.ratio_interval else None,
            "pairwise": dc.asdict(self.pairwise) if self.pairwise else None,
            "passes": self.passes,
            "promote_at": self.promote_at,
            "promotes": self.promotes,
            "excluded": [e.to_json() for e in self.excluded],
        }


def compare_arms(
    kept: Sequence[Kept],
    baseline: Sequence[Run],
    track: Track,
    step: int | None,
    loss_key: str | None,
    pairs: Mapping[RunKey, str],
) -> Baseline:
    # A baseline that stops at another step, or that logs no such metric, is taken at its own.
    own_step = _shared_end(baseline) if track.common_stop_step else step
    shared = loss_key if any(loss_key in run.history for run in baseline) else None
    other = select(baseline, track, step=own_step, loss_key=shared)
    theirs = Sample(tuple(k.cost for k in other.kept if k.cost is not None))
    ours = Sample(tuple(k.cost for k in kept if k.cost is not None))
    quality = Sample(tuple(k.quality for k in other.kept))
    comparison = None
    if ours.values and theirs.values:
        comparison = _paired(kept, other.kept, track, pairs) or sig.welch(
            ours.values, theirs.values, track.cost.goal
        )
    pairwise = pairwise_rule(Sample(tuple(k.quality for k in kept)), ours, quality, theirs, track)
    passes = None
    if pairwise is not None:
        passes = pairwise.passes
    elif comparison is not None and comparison.p is not None:
        # Two runs an arm say nothing about a session's spread; pairs cancel what both share.
        if comparison.method == "paired" or min(len(ours.values), len(theirs.values)) >= 3:
            passes = comparison.p < track.significance.alpha_each
    due = track.promote_at
    return Baseline(quality, theirs, comparison, pairwise, passes, other.excluded, due)


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
    names = sorted(str(name) for name in arms[0])
    values = [[arm[name] for name in names] for arm in arms]
    a = [v for v in values[0] if v is not None and v > 0]
    b = [v for v in values[1] if v is not None and v > 0]
    return sig.paired(a, b, track.cost.goal) if len(a) == len(b) == len(names) else None


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
