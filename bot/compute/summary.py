"""Statistics of a set of runs: what they show, whether it suffices, and what would.

    summary = summarise(runs, track)            one arm against the track's target
    summary = summarise(runs, track, baseline=others, step=2720, loss_key="val_ema_loss")
    summary.to_json()                           the answer of `speedrun stats --format json`

A run that did not finish is left out and named; so is a run that is listed twice. Which test
decides stands in the track; the others are always reported beside it.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bot.compute import significance as sig
from bot.compute.arms import compare_arms
from bot.compute.chance import Bar, outlook
from bot.compute.equal_loss import at_target
from bot.compute.looks import digest_of, judged_at, taken_by
from bot.compute.metrics import mean_of
from bot.compute.moderated import moderated_p, moderated_statistic
from bot.compute.selection import Kept, select
from bot.model.look import Look
from bot.model.run import Run
from bot.model.summary import (
    AtTarget,
    Chance,
    Decision,
    Moments,
    RunKey,
    Sample,
    Summary,
    WithoutBest,
)
from bot.model.track import LOSS_METRICS, STEP_METRICS, TIME_METRICS, Axis, Significance, Track


def summarise(
    runs: Iterable[Run],
    track: Track,
    *,
    baseline: Iterable[Run] = (),
    step: int | None = None,
    loss_key: str | None = None,
    pairs: Mapping[RunKey, str] | None = None,
    earlier: Sequence[Look] = (),
) -> Summary:
    """The statistics of `runs` on `track`, compared with the runs of `baseline` where given.

    `step` takes every run at that step (a run without a point there is excluded); `loss_key` takes
    another metric of the history in place of the loss; `pairs` gives the pair names of runs that
    were interleaved on one machine; `earlier` are the looks that were taken of this submission
    before. No usable run gives n = 0, which never passes.
    """
    selection = select(runs, track, step=step, loss_key=loss_key)
    kept, quality = selection.kept, Sample.of(k.quality for k in selection.kept)
    decision, others = _decision(kept, quality, track, earlier), tuple(baseline)
    return Summary(
        track=track.id,
        metric=loss_key or track.quality.metric,
        target=track.quality.target,
        goal=track.quality.goal,
        alpha=track.significance.alpha,
        level=_level(track.significance),
        kept=tuple((k.run.file, k.run.index) for k in kept),
        quality=quality,
        interval=sig.interval(quality.moments) if quality.moments else None,
        cost=Sample.of(k.cost for k in kept),
        cost_metric=track.cost.metric,
        cost_goal=track.cost.goal,
        at_target=_at_target(kept, track, selection.step) if loss_key is None else None,
        time=Sample.of(k.metrics["training_time_s"] for k in kept),
        metrics=mean_of(k.metrics for k in kept),
        step=selection.step,
        decision=decision,
        **_beside(_gain(quality, track.quality), track, decision.taken),
        without_best=_without_best(quality, track),
        excluded=selection.excluded,
        hint=selection.hint,
        gpu_count=next((k.run.hardware.count for k in kept if k.run.hardware.count), None),
        baseline=compare_arms(kept, others, track, step, loss_key, pairs or {}) if others else None,
    )


def _beside(gain: Moments | None, track: Track, look: Look | None) -> dict[str, Any]:
    """The tests beside the one that decides, and how many more runs it would take; looks up to
    `look` are taken."""
    rule, taken = track.significance, look.runs if look else 0
    if gain is None:
        names = ("p_t", "p_sigma", "p_pooled", "p_anytime", "p_moderated", "needed_runs")
        return {**dict.fromkeys(names), "chances": ()}
    pooled = _pooled(rule)
    guess = pooled[0] if pooled else rule.sigma
    return {
        "p_t": sig.t_p(gain),
        "p_sigma": sig.z_p(gain, rule.sigma) if rule.sigma else None,
        "p_pooled": sig.pooled_p(gain, *pooled) if pooled else None,
        "p_anytime": sig.anytime_p(gain, _anytime_sigma(track)),
        "p_moderated": _moderated(gain, rule),
        "needed_runs": sig.needed_runs(gain, lambda m: m.n > taken and _passes_at(m, track), guess),
        "chances": _chances(gain, track, taken),
    }


def _at_target(kept: Sequence[Kept], track: Track, step: int | None) -> AtTarget | None:
    """Cost at equal loss, on a track that ranks time or steps to a loss."""
    target, cost = track.quality.target, track.cost.metric
    if target is None or track.quality.metric not in LOSS_METRICS or not kept:
        return None
    if cost not in (*TIME_METRICS, *STEP_METRICS):
        return None
    curves: list[list[tuple[float, float]]] = []
    for k in kept:
        points = [v for v in k.run.validation if step is None or v.step <= step]
        if cost in STEP_METRICS:
            curves.append([(float(v.step), v.loss) for v in points])
        else:
            curves.append([(v.time_s, v.loss) for v in points if v.time_s is not None])
    return at_target(curves, target)


def _decision(
    kept: Sequence[Kept], quality: Sample, track: Track, earlier: Sequence[Look]
) -> Decision:
    """The track's test on the runs judged: at looks the first of them in order of time."""
    looks = track.significance.looks
    if not looks:
        return decide(_gain(quality, track.quality), track, quality.moments)
    judged = judged_at(len(kept), looks)
    if not judged:
        return dc.replace(decide(_gain(quality, track.quality), track, quality.moments), judged=0)
    first = sorted(kept, key=lambda k: k.run.created_at or "")[:judged]
    sample = Sample(tuple(k.quality for k in first))
    digest = digest_of(sample.values)
    taken = taken_by(earlier, judged, digest)
    if taken is not None:
        return Decision(track.significance.test, None, None, False, judged=judged, taken=taken)
    made = decide(_gain(sample, track.quality), track, sample.moments)
    return dc.replace(made, judged=judged, look=digest)


def _passes_at(gain: Moments, track: Track) -> bool:
    """Whether a submission of `gain.n` runs would be judged at all, and pass."""
    judged = judged_at(gain.n, track.significance.looks)
    return judged == gain.n and decide(gain, track).passes


def _moderated(gain: Moments, rule: Significance) -> float | None:
    return moderated_p(gain, *prior) if (prior := _prior(rule)) and gain.n > 1 else None


def _chances(gain: Moments, track: Track, taken: int) -> tuple[Chance, ...]:
    """How likely more runs are to pass; empty once the test is passed, or without a bar."""
    rule = track.significance
    if rule.test in ("none", "anytime") or (_passes_at(gain, track) and gain.n > taken):
        return ()
    known = (rule.sigma, float("inf")) if rule.test == "z" and rule.sigma else None
    if rule.test == "moderated":
        known = _prior(rule)
    if known is None and not gain.sd:
        known = _pooled(rule)

    def judged(n: int) -> bool:
        return n >= rule.least_runs and judged_at(n, rule.looks) == n and n > taken

    return outlook(gain, lambda n: _bar(n, rule), known, judged)


def _bar(n: int, rule: Significance) -> Bar:
    """The track's test at n runs as a bar on the mean gain."""
    alpha = rule.alpha_each
    if rule.test == "z":
        if rule.threshold is not None:
            return Bar(rule.threshold, 1.0, 0.0)
        return Bar(sig.normal_quantile(1 - alpha), (rule.sigma or 0.0) ** 2, 0.0)
    if rule.test == "moderated" and (shrunk := _prior(rule)):
        sd, usual = shrunk
        df = usual + n - 1
        return Bar(sig.t_quantile(1 - alpha, df), usual * sd**2 / df, (n - 1) / df)
    height = sig.t_quantile(1 - alpha, n - 1)
    pooled = _pooled(rule) if rule.guard else None
    if pooled is None:
        return Bar(height, 0.0, 1.0)
    sd, many = pooled
    alike = float("inf") if n <= _FEW else sig.alike_below(n, sd)
    return Bar(height, 0.0, 1.0, sig.t_quantile(1 - alpha, many) * sd, alike)


def decide(gain: Moments | None, track: Track, sample: Moments | None = None) -> Decision:
    """The track's test on gains over the target; `sample` gives t its sign in raw values.

    One run never passes a test: its p is None. `test = "none"` passes where the mean reaches the
    target, or where there is none.
    """
    rule = track.significance
    if gain is None or (gain.n == 1 and rule.test != "none"):
        any_run = sample is not None and rule.test == "none"
        return Decision(rule.test, None, None, any_run)
    if rule.test == "none":
        return Decision("none", None, None, gain.mean >= 0 and gain.n >= rule.min_runs)
    enough = gain.n >= rule.least_runs
    if rule.test == "z":
        return _decide_z(gain, track, enough)
    if rule.test == "anytime":
        p = sig.anytime_p(gain, rule.sigma)
        return Decision("anytime", sig.t_statistic(gain), p, _below(p, rule.alpha) and enough)
    statistic, p = sig.t_statistic(gain), sig.t_p(gain)
    if rule.test == "moderated" and (prior := _prior(rule)):
        statistic, p = moderated_statistic(gain, *prior), moderated_p(gain, *prior)
    if statistic is not None and track.quality.goal == "min":
        statistic = -statistic
    passes = _below(p, rule.alpha_each) and enough and not guarded(gain, rule)
    return Decision(rule.test, statistic, p, passes)


_FEW = 3


def guarded(gain: Moments, rule: Significance) -> bool:
    """Whether the t-test alone is not believed: few runs, or runs too alike, that do not pass with
    the pooled spread. p stays what it is."""
    pooled = _pooled(rule) if rule.guard and rule.test == "t" else None
    if pooled is None:
        return False
    doubtful = gain.n <= _FEW or sig.too_alike(gain.sd, gain.n, pooled[0])
    return doubtful and not sig.pooled_p(gain, *pooled) < rule.alpha_each


def _decide_z(gain: Moments, track: Track, enough: bool) -> Decision:
    """Known sigma: margin x sqrt(n) against the track's threshold, or p against alpha."""
    rule = track.significance
    p = sig.z_p(gain, rule.sigma) if rule.sigma else None
    margin = gain.mean * gain.n**0.5
    if rule.threshold is not None:
        passes = sig.reaches(margin, rule.threshold) and enough
        return Decision("z", margin, p, passes, rule.threshold)
    z = margin / rule.sigma if rule.sigma else None
    return Decision("z", z, p, _below(p, rule.alpha_each) and enough)


def _level(rule: Significance) -> float:
    if rule.test == "z" and rule.threshold is not None and rule.sigma:
        return sig.normal_tail((rule.threshold - sig.SLACK) / rule.sigma)
    return rule.alpha_each


def _pooled(rule: Significance) -> tuple[float, float] | None:
    """The pooled sd of a track and its degrees of freedom."""
    sd, df = rule.pooled_sd, rule.pooled_df
    return (sd, float(df)) if sd and df else None


def _prior(rule: Significance) -> tuple[float, float] | None:
    """The usual spread of the moderated test and its degrees of freedom."""
    return (rule.prior_sd, rule.prior_df) if rule.prior_sd and rule.prior_df else None


def _below(p: float | None, alpha: float) -> bool:
    return p is not None and p < alpha


def _anytime_sigma(track: Track) -> float | None:
    """The anytime test takes sigma as known only where the track's own test does."""
    rule = track.significance
    return rule.sigma if rule.test in ("z", "anytime") else None


def _gain(sample: Sample, axis: Axis) -> Moments | None:
    """The gains over the target; None without runs or without a target."""
    if sample.moments is None or axis.target is None:
        return None
    return sample.moments.gain(axis.target, axis.goal)


def _without_best(quality: Sample, track: Track) -> WithoutBest | None:
    """The decision without the best run; None where a test of the rest is not possible."""
    if len(quality.values) < 3 or track.significance.test == "none":
        return None
    best = min if track.quality.goal == "min" else max
    rest = list(quality.values)
    rest.remove(best(rest))
    sample = Sample(tuple(rest))
    decision = decide(_gain(sample, track.quality), track, sample.moments)
    return WithoutBest(decision.p, decision.passes)
