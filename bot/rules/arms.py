"""Statistics: the two arms were run alike, and the baseline arm is as fast as the baseline is.

A ratio to a baseline arm is worth what the arm is worth: a slow one makes any code look fast.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from bot.compute import accelerators
from bot.compute.case_statistics import of_case, points_of
from bot.model.case import Case
from bot.model.run import Run
from bot.model.submission import entry_path
from bot.model.summary import BaselineArm as Arm
from bot.model.summary import Summary
from bot.model.track import LOSS_METRICS, Baseline
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.numbers import figure
from bot.render.untrusted import plain
from bot.rules.about import SAME_MACHINE

_SOFTWARE = ("torch", "pytorch", "jax", "cuda")
# Losses of repetitions differ by a tenth of this; who trains on pays for it in time.
_TRAINED_ON = 0.005
# Four standard deviations of the frozen runs, and what two machines of one name differ by.
_SPREADS, _LEAST = 4.0, 0.05


def arms_differ(case: Case) -> Iterator[Finding]:
    """The two arms differ in the code under test and in nothing else.

    Both run on one kind of device, and both stop by one rule: a baseline that trains on after the
    target takes longer for nothing. Another precision or another version of the framework is a
    warning: where it is the improvement itself, say so in the README.
    """
    if case.track.objective == "pareto":
        return
    for point in points_of(case):
        ours, theirs = case.runs("candidate", point), case.runs("baseline", point)
        if not ours or not theirs:
            continue
        for level, message, fix in _differences(case, point, ours, theirs):
            yield _about(case, "arms-differ", point, message, fix, level)


def _differences(
    case: Case, point: str | None, ours: Sequence[Run], theirs: Sequence[Run]
) -> Iterator[tuple[Level | None, str, str]]:
    devices = [{machine_of(run) for run in arm} - {None} for arm in (ours, theirs)]
    if all(devices) and devices[0].isdisjoint(devices[1]):
        names = (plain(", ".join(sorted(map(str, d))), 120) for d in devices)
        text = "the candidate ran on {}, the baseline arm on {}".format(*names)
        yield None, text, SAME_MACHINE
    traits = {"precision": [{str(r.config["precision"]) for r in arm if "precision" in r.config}
                            for arm in (ours, theirs)]}  # fmt: skip
    for name in _SOFTWARE:
        versions = [{_release(r.software[name]) for r in a if name in r.software}
                    for a in (ours, theirs)]  # fmt: skip
        traits[name] = versions
    for name, (mine, other) in traits.items():
        if mine and other and mine != other:
            shown = (plain(", ".join(sorted(found)), 60) for found in (mine, other))
            text = "{} is {} in the candidate and {} in the baseline arm".format(name, *shown)
            fix = "Use the same in both arms, or say in the README that it is the improvement."
            yield Level.WARNING, text, fix
    summary = of_case(case, point)
    longer = None if summary is None else _trained_on(case, summary)
    if longer is not None:
        yield None, longer, "Run the baseline to the end of its own recipe and no longer."


def _trained_on(case: Case, summary: Summary) -> str | None:
    """A baseline arm that ends at a better loss than the baseline did when it was frozen, or where
    that is unknown than the candidate, in words."""
    arm, mine = summary.baseline, summary.moments
    theirs = None if arm is None else arm.quality
    if mine is None or theirs is None or case.track.cost.step is not None:
        return None
    target = summary.target
    if target is not None and mine.gain(target, summary.goal).mean < 0:
        return None  # a candidate that misses the target stopped early by itself
    frozen = [
        b.losses for b in _ran(case) if b.losses and case.track.quality.metric in LOSS_METRICS
    ]
    usual = statistics.fmean(frozen[-1]) if frozen else mine.mean
    lead = usual - theirs.mean if summary.goal == "min" else theirs.mean - usual
    if lead <= _TRAINED_ON * abs(usual):
        return None
    other = "frozen baseline ended" if frozen else "candidate stopped"
    return (
        f"the baseline arm trained on to {summary.metric} {figure(theirs.mean, 5)}, the {other} at "
        f"{figure(usual, 5)}"
    )


def baseline_slower_than_frozen(case: Case) -> Iterator[Finding]:
    """The baseline arm takes as long as the frozen baseline took on the same hardware.

    Beyond the spread of the frozen runs something else was slow: another program on the machine, a
    changed baseline, another machine of the same name. The ratio is shown with its interval, and
    such an entry makes no new baseline. Run both arms again on an idle machine, taking turns.
    """
    if case.track.objective != "baseline" or case.track.cost.goal != "min":
        return
    for point in points_of(case):
        summary = of_case(case, point)
        arm = None if summary is None else summary.baseline
        if arm is None or not arm.cost.values:
            continue
        why = _slower(case, arm, case.runs("baseline", point))
        if why is not None:
            fix = "Run both arms again on an idle machine, taking turns."
            yield _about(case, "baseline-slower-than-frozen", point, why, fix)


def _slower(case: Case, arm: Arm, runs: Sequence[Run]) -> str | None:
    machines = {(machine_of(run), run.hardware.count) for run in runs}
    same = [b for b in _ran(case) if _fits(b, case, machines)]
    if not same or len(machines) > 1:
        return None
    frozen = same[-1].costs
    usual, mean = statistics.fmean(frozen), statistics.fmean(arm.cost.values)
    spread = statistics.stdev(frozen) if len(frozen) > 1 else 0.0
    if mean <= usual + max(_SPREADS * spread, _LEAST * usual):
        return None
    unit = f" {case.track.cost.unit}" if case.track.cost.unit else ""
    values = arm.cost.values
    span = f" ({figure(min(values), 4)} to {figure(max(values), 4)})" if len(values) > 1 else ""
    return (
        f"the baseline arm takes {figure(mean, 5)}{unit}{span}, {figure(mean / usual, 3)} times "
        f"the {figure(usual, 5)}{unit} of the frozen baseline on the same hardware"
    )


def _ran(case: Case) -> Sequence[Baseline]:
    """The frozen baselines that the arm may be runs of: the one that the submission names, else
    those of its day."""
    every = case.track.baselines
    named = entry_path(case.submission.based_on, case.track.id, {b.submission for b in every})
    if named is not None:
        return [b for b in every if b.submission == named]
    day = case.judged_on
    return [b for b in every if day is None or b.frozen_on <= day.isoformat()] or every[:1]


def _fits(frozen: Baseline, case: Case, machines: set[tuple[str | None, int | None]]) -> bool:
    place = _device(frozen.device), frozen.count
    known = place[0] is not None and place in machines
    return known and frozen.cost_metric == case.track.cost.metric and bool(frozen.costs)


def machine_of(run: Run) -> str | None:
    """The kind of device that a run used, by one name for all its spellings."""
    return _device(run.hardware.device)


def _device(name: str | None) -> str | None:
    found = accelerators.find(name) if name else None
    return (name.strip().lower() or None if name else None) if found is None else (
        found.accelerator.id
    )  # fmt: skip


def _release(version: str) -> str:
    """The release of a version, without its patch and its build: `2.4` of `2.4.1+cu121`."""
    return ".".join(version.partition("+")[0].split(".")[:2])


def _about(
    case: Case,
    name: str,
    point: str | None,
    message: str,
    fix: str,
    level: Level | None = None,
) -> Finding:
    file = case.list_file or plain(case.folder.path, 200)
    pointer = "/runs" if case.list_file else None
    return finding(name, message, level, file=file, pointer=pointer, point=point, fix=fix)
