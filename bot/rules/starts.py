"""Runs that begin where training from scratch does not: their weights were trained before; and runs
that were trained on in between, which their losses alone show.

Part of the rule `history-gap`, in `bot.rules.evidence`.
"""

from __future__ import annotations

import bisect
import statistics
from collections.abc import Iterator, Sequence

from bot.compute.case_statistics import points_of
from bot.compute.falls import sudden_fall
from bot.model.case import Case
from bot.model.run import Run
from bot.model.track import LOSS_METRICS
from bot.model.verdict import Finding, finding
from bot.render.numbers import figure
from bot.rules.about import about, runs_of

Curve = Sequence[tuple[int, float]]

_LEAST_STEPS, _LEAST_POINTS = 50, 3
# Times its last value. Untrained, the loss is that of a guess among all tokens: 3 times and more in
# the runs at hand, 1.7 for a model of bytes that begins with their frequencies.
_AT_0 = 1.5
# Means over the first 2 % and 10 % of the steps are 1.5 and 1.2 times in the longest runs at hand.
_BY_SHARE = ((0.02, 1.25), (0.1, 1.12))
# Of the arm's after a tenth and a fifth of the steps: from entry to entry 0.94 and 0.96 at least.
_OF_THE_ARM = ((0.1, 0.88), (0.2, 0.92))
# Within fewer steps a shorter warm-up or a higher rate alone is that far ahead.
_LEAST_AFTER = 50
# A first loss, printed after so many steps at most, that is that of untrained weights: such a share
# of the arm's, times the end; beside an arm that prints none, so many times the end.
_FIRST_STEPS, _AS_HIGH, _UNTRAINED = 2, 0.9, 3.0
# What no training does: half of the whole fall at once, and three times as much as in the arm.
_AT_ONCE, _MORE_THAN_ARM = 0.5, 3.0
_FIX = (
    "train from random weights, or say in the README where the weights come from and what they cost"
)


def _is_asked(case: Case) -> bool:
    """Whether the losses of a case are to be those of one training."""
    return not case.brought_over and case.track.quality.metric in (*LOSS_METRICS, "bpb")


def trained_before(case: Case) -> Iterator[Finding]:
    """Runs whose loss begins near its end, or far below where that of the baseline arm is."""
    if not _is_asked(case):
        return
    for point in points_of(case):
        ours = [c for r in case.runs("candidate", point) for c in _curves(r)]
        theirs = [c for r in case.runs("baseline", point) for c in _curves(r)]
        told = next((text for curve in ours if (text := _too_low(curve)) is not None), None)
        told = told or _beside_the_arm(ours, theirs)
        if told is not None:
            yield finding("history-gap", told, file=case.folder.path, point=point, fix=_FIX)


def trained_between(case: Case) -> Iterator[Finding]:
    """Runs whose loss falls over one stretch as it does over no stretch around it."""
    if not _is_asked(case):
        return
    for item, run in runs_of(case):
        losses = [(v.step, v.loss) for v in run.validation] or run.history.get("bpb", ())
        fall = sudden_fall(losses, run.history.get("train_loss", ()))
        if fall is not None and run.source != "results":
            yield about(
                case,
                item,
                run,
                "history-gap",
                fall.words(),
                claimed=fall.fall,
                expected=fall.usual,
                fix="give the whole history, or say in the README what makes the loss fall there",
            )


def _curves(run: Run) -> Iterator[Curve]:
    """Validation and training losses of a run, each beside the last validation."""
    if run.source == "results":
        return
    for points in ([(v.step, v.loss) for v in run.validation], run.history.get("bpb", ())):
        if len(points) >= _LEAST_POINTS and points[-1][0] >= _LEAST_STEPS and points[-1][1] > 0:
            yield points
            training = sorted(run.history.get("train_loss", ()))
            if training and points is not run.history.get("bpb"):
                yield [*(p for p in training if p[0] < points[-1][0]), points[-1]]


def _too_low(curve: Curve) -> str | None:
    """Why a curve is not that of training from scratch, in words."""
    last, end = curve[-1]
    first = [loss for step, loss in curve if step == 0]
    if first and first[0] < _AT_0 * end:
        return (
            f"the loss is {figure(first[0], 4)} at step 0, {figure(first[0] / end, 3)} times the "
            f"{figure(end, 4)} at the end: untrained weights do not predict that well"
        )
    for share, least in _BY_SHARE:
        early = [loss for step, loss in curve if 0 < step <= share * last]
        if early and statistics.fmean(early) < least * end:
            return (
                f"the loss over the first {share:.0%} of the steps is "
                f"{figure(statistics.fmean(early), 4)}, {figure(statistics.fmean(early) / end, 3)} "
                f"times the {figure(end, 4)} at the end: training from scratch takes longer"
            )
    return None


def _beside_the_arm(ours: Sequence[Curve], theirs: Sequence[Curve]) -> str | None:
    """Why the curves of the candidate are not those of a run like the baseline arm, in words.

    One that begins as untrained weights do may be as fast as it likes, unless it falls at once.
    """
    if _untrained(ours, theirs):
        return next((text for c in ours if (text := _at_once(c, theirs)) is not None), None)
    for share, least in _OF_THE_ARM:
        mine, other = _after(share, ours), _after(share, theirs)
        if mine is not None and other is not None and mine < least * other:
            return (
                f"after {share:.0%} of the steps the loss is {figure(mine, 3)} times that of the "
                f"end, in the baseline arm {figure(other, 3)} times; without the loss of untrained "
                f"weights at step 0 it may be {least:g} of the arm's at least"
            )
    return None


def _untrained(ours: Sequence[Curve], theirs: Sequence[Curve]) -> bool:
    """Whether all losses that are printed at the begin are those of untrained weights."""
    mine, other = ([c[0][1] / c[-1][1] for c in arm if c[0][0] <= _FIRST_STEPS]
                   for arm in (ours, theirs))  # fmt: skip
    least = _AS_HIGH * statistics.fmean(other) if other else _UNTRAINED
    return bool(mine) and min(mine) >= least


def _at_once(curve: Curve, theirs: Sequence[Curve]) -> str | None:
    """Why a curve does not fall as training does right after its begin, in words."""
    (begin, first), (step, loss) = curve[:2]
    if begin > _FIRST_STEPS or step > _OF_THE_ARM[0][0] * curve[-1][0]:
        return None
    mine, arm = _fallen(curve, step), [_fallen(c, step) for c in theirs if c[0][0] <= _FIRST_STEPS]
    if not arm or mine < max(_AT_ONCE, _MORE_THAN_ARM * max(arm)):
        return None
    return (
        f"the loss falls from {figure(first, 4)} to {figure(loss, 4)} by step {step}, {mine:.0%} "
        f"of its whole fall, in the baseline arm {max(arm):.0%}; at most {_AT_ONCE:.0%}, or "
        f"{_MORE_THAN_ARM:g} times the arm's, is expected"
    )


def _fallen(curve: Curve, step: int) -> float:
    """The share of its fall that a curve has made by its first point at a step or after it."""
    first, end = curve[0][1], curve[-1][1]
    by = next((loss for at, loss in curve[1:] if at >= step), end)
    return (first - by) / (first - end) if first > end else 1.0


def _after(share: float, curves: Sequence[Curve]) -> float | None:
    """The loss after a share of the steps, times that of the end; the mean of all curves that have
    points before and after it, besides that of step 0, and are not too short."""
    found = []
    for curve in curves:
        at = share * curve[-1][0]
        place = bisect.bisect_left(curve, (at, 0.0))
        if at >= _LEAST_AFTER and place > 0 and curve[place - 1][0] > 0:
            (a, before), (b, after) = curve[place - 1], curve[place]
            found.append((before + (after - before) * (at - a) / (b - a)) / curve[-1][1])
    return statistics.fmean(found) if found else None
