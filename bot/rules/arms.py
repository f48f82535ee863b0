"""Statistics: the two arms were run alike, and the baseline arm is as fast as the baseline is.

A ratio to a baseline arm is worth what the arm is worth: a slow one makes any code look fast.
"""

from __future__ import annotations

import dataclasses as dc
import math
import statistics
from collections.abc import Iterator, Sequence

from bot.compute import accelerators
from bot.compute.baselines import mixed, ran, says_arm
from bot.compute.case_statistics import of_case, points_of
from bot.model.case import Case
from bot.model.run import Run
from bot.model.summary import BaselineArm as Arm
from bot.model.summary import Moments, Summary
from bot.model.track import LOSS_METRICS, TIME_METRICS, Baseline
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.numbers import figure
from bot.render.untrusted import plain
from bot.rules.about import SAME_MACHINE, listed_in
from bot.rules.arm_baseline import another
from bot.rules.arm_clocks import clocks_differ
from bot.rules.arm_machines import busier, other_machine
from bot.rules.arm_settings import unequal
from bot.rules.frozen import fits, frozen_of, machine_of
from bot.rules.stalled import stalled
from bot.rules.statistics import summaries

_EQUAL = "use the same in both arms, or say in the README that it is the improvement"
_FROZEN = "run the frozen baseline as it is, or say in the README why the arm is another program"
_SOFTWARE = ("torch", "pytorch", "jax", "cuda")
# Means of repetitions differ by a tenth of these, and who trains on pays for it in time: 0.15 % of
# the loss are some 4 % of the time near the target.
_TRAINED_ON, _A_LITTLE_ON = 0.005, 0.0015
# Three standard errors of the two means, and what two machines of one name differ by.
_SPREADS, _LEAST = 3.0, 0.05
AGAIN = "run both arms again on an idle machine, taking turns."
# Machines that are called by one generic name, as `cpu`, differ by less; one that was busy by more.
_BUSY = 2.0
# Of the peaks of two kinds of device one training uses shares that differ by less, as a rule.
_OTHER_SHARE = 1.5


def arms_differ(case: Case) -> Iterator[Finding]:
    """The two arms differ in the code under test and in nothing else.

    Both run on one kind of device, and both stop by one rule: a baseline that trains on after the
    target takes longer for nothing. Another precision, another version of the framework, and other
    settings of validation, data, parallelism, compilation, logging or saving are warnings: if that
    is the improvement itself, say so in the README. So is another machine, by its system,
    processor, memory or Python, one that was busy while the baseline arm ran, and a stretch over
    which that arm alone is slow. The baseline arm is of one baseline, with the code and the
    settings that were frozen: other ones are warnings. A run whose entry names no arm counts in
    that whose code or configuration it has.
    """
    if case.track.objective == "pareto":
        return
    for point in points_of(case):
        ours, theirs = case.runs("candidate", point), case.runs("baseline", point)
        if not ours or not theirs:
            continue
        for level, message, fix in _differences(case, point, ours, theirs):
            yield _about(case, "arms-differ", point, message, fix, level)
    if several := mixed(case):
        message = f"the runs of the baseline arm are of several baselines: {', '.join(several)}"
        fix = "list the runs of one alone; those of the others make a submission of their own."
        yield _about(case, "arms-differ", None, message, fix)
    yield from stalled(case)
    yield from _moved(case)


def _moved(case: Case) -> Iterator[Finding]:
    """Runs that were recognised as the baseline's, though the list does not say so."""
    for item in case.evidence:
        if item.spec.arm == "baseline" and not says_arm(case.submission, item):
            name = plain(item.spec.target)
            message = f"{name} ran the baseline, so it counts in the baseline arm"
            fix = 'write `"arm": "baseline"` in its entry of `runs`.'
            found = _about(case, "arms-differ", item.spec.point, message, fix, Level.NOTE)
            yield dc.replace(found, pointer=item.spec.pointer)


def _differences(
    case: Case, point: str | None, ours: Sequence[Run], theirs: Sequence[Run]
) -> Iterator[tuple[Level | None, str, str]]:
    devices = [{machine_of(run) for run in arm} - {None} for arm in (ours, theirs)]
    if all(devices) and devices[0].isdisjoint(devices[1]):
        names = (plain(", ".join(sorted(map(str, d)))) for d in devices)
        text = "the candidate ran on {}, the baseline arm on {}".format(*names)
        yield None, text, SAME_MACHINE
    traits = {"precision": [{str(r.config["precision"]) for r in arm if "precision" in r.config}
                            for arm in (ours, theirs)]}  # fmt: skip
    for name in _SOFTWARE:
        versions = [{_release(r.software[name]) for r in a if name in r.software}
                    for a in (ours, theirs)]  # fmt: skip
        traits[name] = versions
    for name, (mine, other) in traits.items():
        if case.track.objective == "baseline" and bool(mine) != bool(other):
            told, silent = ("candidate", "baseline arm") if mine else ("baseline arm", "candidate")
            value = plain(", ".join(sorted(mine or other)))
            text = f"{name} is {value} in the {told}, and the {silent} does not state it"
            yield Level.WARNING, text, "log it in both arms, or say in the README what they used."
        if mine and other and mine != other:
            shown = (plain(", ".join(sorted(found))) for found in (mine, other))
            text = "{} is {} in the candidate and {} in the baseline arm".format(name, *shown)
            yield Level.WARNING, text, _EQUAL
    named = frozenset(name for name, (a, b) in traits.items() if a != b)
    yield from _not_alike(case, point, ours, theirs, named)
    clocks = clocks_differ(ours, theirs)
    if clocks is not None:
        yield Level.WARNING, clocks, "stop both clocks for the same work, such as validation."
    summary = of_case(case, point)
    longer = None if summary is None else _trained_on(case, summary, theirs)
    if longer is not None:
        yield longer


def _not_alike(
    case: Case, point: str | None, ours: Sequence[Run], theirs: Sequence[Run], told: frozenset[str]
) -> Iterator[tuple[Level | None, str, str]]:
    """Machines and settings that differ, and code and settings that are not those frozen; `told`
    are the versions that were named already."""
    if (machine := other_machine(ours, theirs, told)) is not None:
        yield Level.WARNING, f"the arms ran on machines that differ: {machine}", SAME_MACHINE
    if (busy := _busy(case, point, ours, theirs)) is not None:
        yield Level.WARNING, busy, AGAIN
    settings = unequal(ours, theirs) if case.track.objective == "baseline" else None
    if settings is not None:
        yield Level.WARNING, settings, _EQUAL
    for text in another(case, ours, theirs):
        yield Level.WARNING, text, _FROZEN


def _busy(case: Case, point: str | None, ours: Sequence[Run], theirs: Sequence[Run]) -> str | None:
    """That other work slowed the baseline arm down, in words, where the ratio depends on it: the
    arm took longer than the frozen baseline did there, or nothing says how long that takes."""
    busy = busier(ours, theirs) if case.track.objective == "baseline" else None
    summary = None if busy is None else of_case(case, point)
    arm = None if summary is None else summary.baseline
    if arm is None or not arm.cost.values:
        return None
    machines = {(machine_of(run), run.hardware.count) for run in theirs}
    if any(fits(b, machines) and b.costs for b in frozen_of(case)):
        return busy if _slower(case, arm, theirs)[1] is not None else None
    # The first of two runs alone is on a machine that nothing has used.
    return busy if min(len(ours), len(theirs)) > 1 else None


def _trained_on(
    case: Case, summary: Summary, runs: Sequence[Run]
) -> tuple[Level | None, str, str] | None:
    """A baseline arm that ends at a better loss than the baseline did when it was frozen, or where
    that is unknown than the candidate: how much that weighs, in words, and the fix. After as many
    steps as the frozen baseline took it did not train on: that is chance, or other work a step."""
    arm, mine = summary.baseline, summary.moments
    theirs = None if arm is None else arm.quality
    if mine is None or theirs is None or case.track.cost.step is not None:
        return None
    target = summary.target
    if target is not None and mine.gain(target, summary.goal).mean < 0:
        return None  # a candidate that misses the target stopped early by itself
    of_losses = case.track.quality.metric in LOSS_METRICS
    frozen = [b for b in frozen_of(case) if b.losses and of_losses][-1:]
    known = [Moments.of(b.losses) for b in frozen] or [mine]
    usual = known[0].mean
    lead = usual - theirs.mean if summary.goal == "min" else theirs.mean - usual
    # So small a model as the tutorial's ends 1 % apart by its first weights alone.
    most = max(_TRAINED_ON * abs(usual), _SPREADS * ((known[0].sd if frozen else None) or 0.0))
    if lead <= max(_A_LITTLE_ON * abs(usual), min(_SPREADS * _error(known[0], theirs), most)):
        return None
    ends = f"{summary.metric} {figure(theirs.mean, 5)}"
    steps = {b.code.settings.get("train.steps") for b in frozen if b.code is not None}
    if steps and steps == {run.step for run in runs}:
        text = f"the baseline arm ends at {ends} after as many steps as the frozen baseline, which "
        text += f"ended at {figure(usual, 5)}"
        return Level.WARNING, text, "run the baseline as it is, or add runs to both arms."
    other = "frozen baseline ended" if frozen else "candidate stopped"
    text = f"the baseline arm trained on to {ends}, the {other} at {figure(usual, 5)}"
    fix = "run the baseline to the end of its own recipe and no longer."
    return None if lead > most else Level.WARNING, text, fix


def _error(one: Moments, other: Moments) -> float:
    """The standard error of the difference of two means, by the spread within both: an arm of one
    run, or of two that happen to agree, scatters as the other does."""
    freedom = one.n + other.n - 2
    squares = sum((m.n - 1) * (m.sd or 0.0) ** 2 for m in (one, other))
    return math.sqrt(squares / max(freedom, 1) * (1 / one.n + 1 / other.n))


def baseline_slower_than_frozen(case: Case) -> Iterator[Finding]:
    """The baseline arm takes as long as the frozen baseline took on the same hardware.

    If it takes longer, beyond the spread of the frozen runs, something else was slow: another
    program on the machine, a changed baseline, another machine of the same name. On hardware that
    no frozen baseline ran on, the peaks of both devices say roughly what to expect. The ratio is
    shown with its interval, and such an entry makes no new baseline; if the hardware is the same it
    has no place either until a maintainer accepts it. On a track with a target and one kind of
    machine, runs of the record are compared with the record's time in the same way. Run both arms
    again on an idle machine, taking turns.
    """
    if case.track.cost.goal != "min":
        return
    yield from _slower_than_record(case)
    if case.track.objective != "baseline":
        return
    for point, summary in summaries(case):
        arm = summary.baseline
        if arm is None or not arm.cost.values:
            continue
        why, usual = _slower(case, arm, case.runs("baseline", point))
        if why is not None:
            fix = AGAIN + _older(case, arm)
            item = _about(case, "baseline-slower-than-frozen", point, why, fix)
            taken = None if usual is None else statistics.fmean(arm.cost.values)
            yield dc.replace(item, claimed=taken, expected=usual)


def _slower_than_record(case: Case) -> Iterator[Finding]:
    """An arm of a track with a target that takes longer than the record did: what is shown of the
    candidate is its ratio to the arm times the record's clock."""
    record, track = case.context.standing.record_cost, case.track
    timed = track.objective == "target" and track.cost.metric in TIME_METRICS
    if not timed or not track.accelerators or record is None or case.brought_over:
        return
    for point, summary in summaries(case):
        found = None if summary.baseline is None else summary.baseline.cost.moments
        if found is None:
            continue
        error = (found.sd or 0.0) / found.n**0.5
        if found.mean > record + max(_SPREADS * error, _LEAST * record):
            message = f"the baseline arm takes {figure(found.mean, 5)}{_unit(case)}, "
            message += f"{figure(found.mean / record, 3)} times the {figure(record, 5)}"
            message += f"{_unit(case)} of the record on the same hardware"
            item = _about(case, "baseline-slower-than-frozen", point, message, AGAIN)
            yield dc.replace(item, claimed=found.mean, expected=record)


def _slower(case: Case, arm: Arm, runs: Sequence[Run]) -> tuple[str | None, float | None]:
    """Why an arm is too slow, and what the same hardware took, None where it is other hardware."""
    machines = {(machine_of(run), run.hardware.count) for run in runs}
    frozen = [b for b in frozen_of(case) if b.cost_metric == case.track.cost.metric and b.costs]
    same = [b for b in frozen if fits(b, machines)]
    mean = statistics.fmean(arm.cost.values)
    if not same or len(machines) > 1:
        return _on_other_hardware(case, frozen, runs[0], mean), None
    usual = statistics.fmean(costs := same[-1].costs)
    spread = statistics.stdev(costs) if len(costs) > 1 else 0.0
    error = spread * (1 / len(costs) + 1 / len(arm.cost.values)) ** 0.5
    if mean <= usual + max(_SPREADS * error, _LEAST * usual):
        return None, None
    values = arm.cost.values
    span = f" ({figure(min(values), 4)} to {figure(max(values), 4)})" if len(values) > 1 else ""
    here, there = _precision(runs[0]), _frozen_precision(same[-1])
    used, other = (f" in {here}", f" in {there}") if here and there and here != there else ("", "")
    return (
        f"the baseline arm takes {figure(mean, 5)}{_unit(case)}{span}{used}, "
        f"{figure(mean / usual, 3)} times the {figure(usual, 5)}{_unit(case)} of the frozen "
        f"baseline{other} on the same hardware"
    ), usual


def _older(case: Case, arm: Arm) -> str:
    """What to write if an older baseline takes as long as the arm did."""
    mean, runs = statistics.fmean(arm.cost.values), case.runs("baseline")
    machines = {(machine_of(run), run.hardware.count) for run in runs}
    for old in case.track.baselines:
        comparable = old.costs and old.cost_metric == case.track.cost.metric
        if not comparable or not fits(old, machines):
            continue
        if abs(mean / statistics.fmean(old.costs) - 1) <= _LEAST:
            return f' If you ran {old.id}, write `"based_on": "{old.id}"`: the ratio is converted.'
    return ""


def _on_other_hardware(case: Case, known: Sequence[Baseline], run: Run, mean: float) -> str | None:
    """An arm on hardware that no frozen baseline ran on, by the peaks of both devices."""
    here = _speed(run.hardware.device, run.hardware.count)
    for frozen in known[-1:]:
        usual, there = statistics.fmean(frozen.costs), _speed(frozen.device, frozen.count)
        if here and there and mean > _OTHER_SHARE * (expected := usual * there[0] / here[0]):
            used = f" in {_precision(run)}" if _precision(run) else ""
            return (
                f"the baseline arm takes {figure(mean, 4)}{_unit(case)} on {_place(run)}{used}; by "
                f"the peaks of both devices ({here[1]} here, {there[1]} there) the frozen "
                f"baseline's {figure(usual, 4)}{_unit(case)} on {plain(frozen.device or '', 60)} "
                f"make {figure(expected, 4)}{_unit(case)} of it"
            )
    return None


def without_frozen(case: Case) -> Iterator[tuple[str | None, str, bool]]:
    """The points whose ratio would make a new baseline though nothing says how long the baseline
    takes on that hardware, or would be the best on a machine that may have been busy: the point,
    what is unknown in words, and whether the machine was busy. Part of the rule
    `uncorroborated`."""
    found = ran(case)
    if found is None or found.id != case.track.baseline_id or case.context.merged:
        return  # what is measured against an older one makes no new baseline
    for point, summary in summaries(case):
        arm, runs = summary.baseline, case.runs("baseline", point)
        if arm is None or arm.ratio is None:
            continue
        due, best = case.track.promote_at, case.context.standing.record_ratio
        promotes = due is not None and arm.ratio <= due
        leads = promotes if best is None else arm.ratio < best
        machines = {(machine_of(run), run.hardware.count) for run in runs}
        if len(machines) > 1 or not any(fits(b, machines) and b.costs for b in frozen_of(case)):
            if promotes:
                why = (
                    f"no frozen baseline ran on {_place(runs[0])}, so nothing says how long it "
                    "takes there"
                )
                yield point, why, False
        elif leads and _speed(runs[0].hardware.device, None) is None:
            usual, mean = _slower(case, arm, runs)[1], statistics.fmean(arm.cost.values)
            if usual is not None and mean >= _BUSY * usual:
                name, unit = plain(runs[0].hardware.device or ""), _unit(case)
                why = (
                    f"the machine may have been busy: the baseline arm takes {figure(mean, 4)}"
                    f"{unit}, {figure(mean / usual, 3)} times the frozen baseline's "
                    f"{figure(usual, 4)}{unit}; machines of all speeds are called {name}, but "
                    f"{_BUSY:g} times is much"
                )
                yield point, why, True


def _speed(device: str | None, count: int | None) -> tuple[float, str] | None:
    """The peak of all devices together and its precision; None where it is not known."""
    if (found := accelerators.find(device)) is None:
        return None
    precision = accelerators.usual_precision(found.accelerator)
    peak = accelerators.peak_flops(found.accelerator, precision)
    return None if peak is None else (peak * (count or 1), precision)


def _precision(run: Run) -> str:
    return plain(str(run.config.get("precision") or ""), 20)


def _frozen_precision(frozen: Baseline) -> str:
    """What the runs of a frozen baseline computed in; empty where nothing says it."""
    stated = frozen.code and frozen.code.settings.get("train.precision")
    if stated != "auto" or (found := accelerators.find(frozen.device)) is None:
        return str(stated or "") if stated != "auto" else ""
    return accelerators.usual_precision(found.accelerator)


def _place(run: Run) -> str:
    device = plain(run.hardware.device or "a device that is not named")
    return f"{run.hardware.count or 'an unknown number of'} x {device}"


def _unit(case: Case) -> str:
    return f" {case.track.cost.unit}" if case.track.cost.unit else ""


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
    file = listed_in(case)
    pointer = "/runs" if case.list_file else None
    return finding(name, message, level, file=file, pointer=pointer, point=point, fix=fix)
