"""Baseline arms that stood still for a while: a stall in one of its runs makes the ratio better.

Part of the rule `arms-differ`, in `bot.rules.arms`. A stall of the candidate harms its author
alone.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence

from bot.compute.case_statistics import of_case, points_of
from bot.compute.paces import Series
from bot.compute.stalls import Stall, stalls_of
from bot.model.case import Case
from bot.model.run import Run
from bot.model.track import TIME_METRICS
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.numbers import figure
from bot.rules.about import listed_in, short_name
from bot.rules.frozen import fits, frozen_of, machine_of

_LEAST_GAIN = 0.01
"""Of the time of the arm so much more was lost than of the candidate's."""


def stalled(case: Case) -> Iterator[Finding]:
    """Arms of a `baseline` track whose runs stood still, or were slow, over some stretches."""
    track = case.track
    if track.objective != "baseline" or track.cost.metric not in TIME_METRICS or case.brought_over:
        return
    for point in points_of(case):
        ours, theirs = _counted(case, point, "candidate"), _counted(case, point, "baseline")
        clocks, beside = ([_clock(run) for run in arm] for arm in (theirs, ours))
        found = stalls_of(clocks, beside, _frozen_step(case, theirs))
        gain = _share(found) - _share(stalls_of(beside, clocks))
        if gain < _LEAST_GAIN:
            continue
        run, worst = max(zip(theirs, found, strict=True), key=lambda item: item[1].lost_s)
        yield finding(
            "arms-differ",
            f"the baseline arm was slow for a while: from step {worst.begin:,} to {worst.end:,} "
            f"{short_name(run.file)} takes {figure(worst.times, 3)} times as long as other runs do "
            f"there, and such stretches make the arm {figure(100 * gain, 2)} % slower",
            Level.WARNING,
            file=listed_in(case),
            pointer="/runs" if case.list_file else None,
            point=point,
            fix="run both arms again on an idle machine, taking turns.",
        )


def _counted(case: Case, point: str | None, arm: str) -> list[Run]:
    """The runs of an arm that count in the ratio."""
    summary = of_case(case, point)
    if summary is None:
        return []
    theirs = summary.baseline.excluded if summary.baseline else ()
    out = {(item.file, item.run) for item in (*summary.excluded, *theirs)}
    return [run for run in case.runs(arm, point) if (run.file, run.index) not in out]


def _clock(run: Run) -> Series:
    """The clock of a run at its rows and its validations, up to the last of them; the sum of its
    steps where it has nothing but these."""
    end = run.step or 0
    points = {v.step: v.time_s for v in run.validation if v.time_s is not None}
    rows = {step: value for step, value in run.history.get("time_s", ()) if step <= end}
    if len(points) < 2 and not rows and len(run.step_times_s) == end:
        return list(enumerate(itertools.accumulate(run.step_times_s), 1))
    return sorted({**rows, **points}.items())


def _share(found: Sequence[Stall]) -> float:
    """The share of the time of an arm that its slow stretches lost, of what it takes without."""
    lost, total = sum(s.lost_s for s in found), sum(s.total_s for s in found)
    return lost / (total - lost) if total > lost else 0.0


def _frozen_step(case: Case, runs: Sequence[Run]) -> float | None:
    """Seconds of a step of the frozen baseline on the same machine, where it took as many."""
    machines = {(machine_of(run), run.hardware.count) for run in runs}
    steps = {run.step for run in runs}
    for frozen in reversed(frozen_of(case)):
        taken = None if frozen.code is None else frozen.code.settings.get("train.steps")
        same = frozen.cost_metric == case.track.cost.metric and frozen.costs
        if same and len(machines) == 1 and fits(frozen, machines) and steps == {taken}:
            return statistics.fmean(frozen.costs) / float(taken or 1)
    return None
