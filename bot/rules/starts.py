"""Runs that begin where training from scratch does not: their weights were trained before.

Part of the rule `history-gap`, in `bot.rules.evidence`.
"""

from __future__ import annotations

import bisect
import statistics
from collections.abc import Iterator, Sequence

from bot.compute.case_statistics import points_of
from bot.model.case import Case
from bot.model.run import Run
from bot.model.track import LOSS_METRICS
from bot.model.verdict import Finding, finding
from bot.render.numbers import figure
from bot.render.untrusted import plain

Curve = Sequence[tuple[int, float]]

_LEAST_STEPS, _LEAST_POINTS = 50, 3
# Times its last value. Untrained, the loss is that of a guess among all tokens: 3 times and more in
# the runs at hand, 1.7 for a model of bytes that begins with their frequencies.
_AT_0 = 1.5
# Means over the first 2 % and 10 % of the steps are 1.5 and 1.2 times in the longest runs at hand.
_BY_SHARE = ((0.02, 1.25), (0.1, 1.12))
# Of the arm's after a tenth and a fifth of the steps: from entry to entry 0.94 and 0.96 at least.
_OF_THE_ARM = ((0.1, 0.88), (0.2, 0.92))
_FIX = (
    "train from random weights, or say in the README where the weights come from and what they cost"
)


def trained_before(case: Case) -> Iterator[Finding]:
    """Runs whose loss begins near its end, or far below where that of the baseline arm is."""
    if case.brought_over or case.track.quality.metric not in (*LOSS_METRICS, "bpb"):
        return
    for point in points_of(case):
        ours = [c for r in case.runs("candidate", point) for c in _curves(r)]
        theirs = [c for r in case.runs("baseline", point) for c in _curves(r)]
        told = next((text for curve in ours if (text := _too_low(curve)) is not None), None)
        told = told or _beside_the_arm(ours, theirs)
        if told is not None:
            yield finding(
                "history-gap", told, file=plain(case.folder.path, 200), point=point, fix=_FIX
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
    """Why the curves of the candidate are not those of a run like the baseline arm, in words."""
    for share, least in _OF_THE_ARM:
        mine, other = _after(share, ours), _after(share, theirs)
        if mine is not None and other is not None and mine < least * other:
            return (
                f"after {share:.0%} of the steps the loss is {figure(mine, 3)} times that of the "
                f"end, in the baseline arm {figure(other, 3)} times"
            )
    return None


def _after(share: float, curves: Sequence[Curve]) -> float | None:
    """The loss after a share of the steps, times that of the end; the mean of all curves that have
    points before and after it, besides that of step 0."""
    found = []
    for curve in curves:
        at = share * curve[-1][0]
        place = bisect.bisect_left(curve, (at, 0.0))
        if place > 0 and curve[place - 1][0] > 0:
            (a, before), (b, after) = curve[place - 1], curve[place]
            found.append((before + (after - before) * (at - a) / (b - a)) / curve[-1][1])
    return statistics.fmean(found) if found else None
