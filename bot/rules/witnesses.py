"""Evidence: every source that states a quantity of a run states the same, or nobody can tell.

A row of a history is written by the training program, `_runtime` by W&B's client, the time of the
first and the last sign of life by W&B's servers: see `bot.model.run.WitnessKind`.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator

from bot.compute.baselines import converted
from bot.compute.case_statistics import of_case, points_of
from bot.compute.witnesses import grade_of, weakest
from bot.evidence.second import longest_job
from bot.model.case import Case, RunEvidence
from bot.model.run import Run
from bot.model.track import TIME_METRICS
from bot.model.values import parse_timestamp
from bot.model.verdict import Finding, finding
from bot.registry import Grade, Level
from bot.render.numbers import figure
from bot.render.untrusted import plain
from bot.rules.about import about, listed_in, per_message, ratio, read_problems, runs_of
from bot.rules.arms import AGAIN, without_frozen
from bot.rules.contradicted import contradicted
from bot.rules.manifest import unverified_data
from bot.rules.program import sizes_in_code
from bot.rules.settings import settings_contradict
from bot.rules.stops import chosen_stops
from bot.rules.unlisted import drawn_seeds, told_otherwise

# The clock of a run may begin a little before its client does, and W&B rounds to seconds; a run of
# a few seconds has no more to spare than a longer one.
_SLACK, _SLACK_S, _SHARE = 1.02, 5.0, 0.05
_ROUNDING_S = 0.5
# Validation stands still in the training clock: over the real runs at hand it takes under a third.
_SLOW, _LEAST_POINTS, _LEAST_S = 0.5, 4, 10.0
_SLOW_IN_ALL = 0.1

FLOOR_S = 2e-4
"""No training step of any model on any machine takes less."""
_TENTH = 0.1


def witnesses_disagree(case: Case) -> Iterator[Finding]:
    """All sources of a quantity say the same.

    The training clock cannot count more time than passed on the machine (W&B's `_runtime`) or
    between the first and the last sign of life on W&B's servers. A clock that runs at less than
    half the pace of `_runtime` between validations is reported to a maintainer; one long pause is
    not. So is every second statement of a run that contradicts what ranks: durations of steps,
    clocks and time stamps beside the training clock, other counters of steps, a longer plan, more
    devices, a higher loss, bits per byte that do not go with the loss, more memory than the card
    has, more trials than runs are listed. Both values are named. Log what the run did, and let
    nothing be edited.
    """
    yield from read_problems(case, "witnesses-disagree")
    yield from per_message(_disagree(case))
    yield from chosen_stops(case)
    yield from settings_contradict(case)
    yield from sizes_in_code(case)
    yield from drawn_seeds(case)
    yield from per_message(told_otherwise(case))


def _disagree(case: Case) -> Iterator[Finding]:
    for item, run in runs_of(case):
        timed = [*_too_much_time(case, item, run)] or [*_slow_clock(case, item, run)]
        yield from timed
        yield from contradicted(case, item, run, untimed=not timed)


def _too_much_time(case: Case, item: RunEvidence, run: Run) -> Iterator[Finding]:
    """A training time longer than the machine's or the servers' own."""
    time = run.metrics.get("training_time_s")
    if time is None:
        return
    created, seen = parse_timestamp(run.created_at), parse_timestamp(run.heartbeat_at)
    service = None if created is None or seen is None else (seen - created).total_seconds()
    if "offline" in run.client_marks or "resumed" in run.client_marks:
        service = None  # the servers saw none of it, or only its last part from its beginning on
    whole = "the time from first to last sign of life on W&B"
    limits = (("W&B's `_runtime`", run.runtime_s), (whole, service))
    for source, limit in limits:
        if limit is not None and _too_much(time, limit):
            yield about(
                case,
                item,
                run,
                "witnesses-disagree",
                f"the training clock says {figure(time)} s, but {source} is {figure(limit)} s",
                claimed=time,
                expected=limit,
                ratio=ratio(time, limit),
                fix="log the training clock as the run goes on, and do not edit it",
            )
            return
    yield from _too_fast_between(case, item, run)


def _too_much(time: float, limit: float) -> bool:
    return time > _SLACK * limit + min(_SLACK_S, _ROUNDING_S + _SHARE * time)


def _too_fast_between(case: Case, item: RunEvidence, run: Run) -> Iterator[Finding]:
    """A clock that counts more than `_runtime` from one validation to a later one.

    W&B's client stamps a row when the next one begins, so `_runtime` of a validation may be late by
    what passes until the next validation.
    """
    timed = _timed(run)
    begin, most = None, math.inf  # the validation that leaves the least to those after it
    for now, later in itertools.pairwise(timed):
        spare = now[1] - _SLACK * now[2] + (later[1] - now[1])
        if spare < most:
            begin, most = now, spare
        assert begin is not None
        if later[1] - _SLACK * later[2] - most <= _ROUNDING_S:
            continue
        counted, passed = later[1] - begin[1], later[2] - begin[2]
        yield about(
            case,
            item,
            run,
            "witnesses-disagree",
            f"from step {begin[0]} to {later[0]} the training clock counts {figure(counted)} s, "
            f"but W&B's `_runtime` {figure(passed)} s",
            claimed=counted,
            expected=passed,
            fix="log the training clock as the run goes on, and do not edit it",
        )
        return


def _timed(run: Run) -> list[tuple[int, float, float]]:
    """(step, training clock, `_runtime`) of the validations that have both."""
    machine = dict(run.runtimes)
    return [
        (v.step, v.time_s, machine[v.step])
        for v in run.validation
        if v.step in machine and v.time_s is not None
    ]


def _slow_clock(case: Case, item: RunEvidence, run: Run) -> Iterator[Finding]:
    """A training clock that runs slower than the machine's between most validations."""
    timed = [(clock, runtime) for _, clock, runtime in _timed(run)]
    if len(timed) < _LEAST_POINTS or timed[-1][1] - timed[0][1] < _LEAST_S:
        pace, most = _pace_of_all(run, timed), 1.0
    else:
        most = _SLOW
        pairs = zip(timed, timed[1:], strict=False)
        paces = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in pairs if b[1] > a[1]]
        pace = statistics.median(paces) if len(paces) >= _LEAST_POINTS - 1 else 1.0
    if 0 <= pace < most:
        yield about(
            case,
            item,
            run,
            "witnesses-disagree",
            f"between validations the training clock counts {figure(pace, 2)} s of each second "
            "of W&B's `_runtime`",
            level=Level.WARNING,
            claimed=pace,
            expected=1.0,
            fix="say in the README what the clock leaves out besides validation",
        )


def _pace_of_all(run: Run, timed: list[tuple[float, float]]) -> float:
    """The pace from the first row whose clock counts any time, else from the first validation,
    else from the start; 1 unless hardly any of the time was training, or far less than of a job
    with its start. What passes before the first row that is timed is start-up and compilation."""
    machine = dict(run.runtimes)
    rows = [(t, machine[s]) for s, t in run.history.get("time_s", ()) if s in machine and t > 0]
    timed = rows if len(rows) > 1 and rows[0][0] < rows[-1][0] / 2 else timed
    (begin, began), (time, runtime) = (0.0, 0.0), (run.time_s, run.runtime_s)
    if len(timed) > 1:
        (begin, began), (time, runtime) = timed[0], timed[-1]
    if time is None or runtime is None or runtime - began < _LEAST_S:
        return 1.0
    share = (time - begin) / (runtime - began)
    long = runtime - began > longest_job(time - begin)
    return share if long or share < _SLOW_IN_ALL else 1.0


def key_mapped(case: Case) -> Iterator[Finding]:
    """Quantities under names of the submission's own are looked at by a maintainer.

    `keys` in submission.json says what the author's logs or W&B histories call a quantity. Nobody
    but the author knows what such a name measures, so a maintainer compares it with the code.
    """
    told = ", ".join(
        f"{quantity} from `{plain(name, 60)}`"
        for quantity, name in sorted(case.submission.keys.items())
    )
    if told and not case.brought_over:
        yield finding(
            "key-mapped",
            f"the submission says what its runs call a quantity: {told}",
            file=case.folder.full("submission.json"),
            pointer="/keys",
            fix="say in the README what each of them measures, and where the code logs it",
        )


def clock_implausible(case: Case) -> Iterator[Finding]:
    """The time is one that such a training can take.

    A training step takes more than 0.2 ms on any machine, and more than the track's limit where it
    states one: below that the unit is wrong. On a track with a target, a time under a tenth of the
    record is a warning: a maintainer looks before anybody is congratulated.
    """
    if case.track.cost.metric not in TIME_METRICS and case.track.cost.metric != "hardware_flops":
        return
    yield from per_message(_too_short_steps(case))
    record, metric = case.context.standing.record_cost, case.track.cost.metric
    if case.track.objective != "target" or metric not in TIME_METRICS or record is None:
        return
    for point in points_of(case):
        summary = of_case(case, point)
        cost = None if summary is None else summary.cost.moments
        if cost is not None and cost.mean < _TENTH * record and not case.brought_over:
            yield finding(
                "clock-implausible",
                f"the time is {figure(cost.mean)} s, under a tenth of the record's "
                f"{figure(record)} s",
                Level.WARNING,
                file=case.folder.path,
                point=point,
                claimed=cost.mean,
                expected=record,
                fix="check the unit of the clock, and say in the README what makes it so fast.",
            )


def _too_short_steps(case: Case) -> Iterator[Finding]:
    for item, run in runs_of(case):
        steps, time = run.step or 0, run.time_s
        told = any(rule == "metric-implausible" for rule, _ in run.problems)
        if told or run.source == "results" or time is None or steps < 2 or time <= 0:
            continue
        if time / steps < FLOOR_S:
            yield about(
                case,
                item,
                run,
                "clock-implausible",
                f"{steps} steps in {figure(time)} s are {figure(time / steps * 1e6, 3)} "
                "microseconds a step",
                level=Level.ERROR,
                claimed=time,
                fix="log the time in the unit that the key or the suffix names: `ms` means "
                "milliseconds, `s` seconds.",
            )


def uncorroborated(case: Case) -> Iterator[Finding]:
    """What would hold a record rests on more than its author's word.

    A results file states what somebody wrote. It ranks, marked as self-reported; where it would
    hold the record or stand on the frontier, a maintainer looks first. Link the W&B run, or add the
    log, of each run. So does a ratio that would make a new baseline, on hardware that no frozen
    baseline ran on: only the entry itself says how long the baseline takes there. On a track with
    `[reproduction]` these are notes: there an entry stays claimed until others have run it again.

    That submitted training data hold none of the validation text is the author's word too, until a
    maintainer has run `speedrun data verify` on the shards and recorded it in the track file.
    """
    yield from unverified_data(case)
    level, waits = _until_reproduced(case)
    for point, why, busy in without_frozen(case):
        leads = f", and the ratio would {'be the best' if busy else 'make a new baseline'}"
        yield finding(
            "uncorroborated",
            why + (leads if busy else waits or leads),
            None if busy else level,
            file=listed_in(case),
            point=point,
            fix=AGAIN
            if busy
            else "nothing to do."
            if waits
            else "ask for runs of the baseline on the same hardware, or for a maintainer to look.",
        )
    told = case.context.standing.known
    if not told or case.folder.bare or case.brought_over or case.context.merged:
        return
    yield from _alone(case)


def _until_reproduced(case: Case) -> tuple[Level | None, str]:
    """The level of what only the entry itself says, and what makes it certain, where the track's
    `[reproduction]` does."""
    rule = case.track.reproduction
    if case.track.objective != "baseline" or rule is None:
        return None, ""
    return Level.NOTE, f"; it stays claimed until {rule.asks} confirm it"


def _alone(case: Case) -> Iterator[Finding]:
    """Points that only the author's word says would lead."""
    level, waits = _until_reproduced(case)
    for point in points_of(case):
        runs = (*case.runs("candidate", point), *case.runs("baseline", point))
        if not runs or weakest([grade_of(run) for run in runs]) is not Grade.SELF_REPORTED:
            continue
        if _would_lead(case, point):
            pareto = case.track.objective == "pareto"
            leads = f", and would {'be on the frontier' if pareto else 'hold the record'}"
            yield finding(
                "uncorroborated",
                "the numbers rest on the author's word alone" + (waits or leads),
                level,
                file=case.folder.path,
                point=point,
                fix="link the W&B run, or add the log, of each run.",
            )


def _would_lead(case: Case, point: str | None) -> bool:
    """Whether a point would hold the record, or stand on the frontier."""
    summary = of_case(case, point)
    means = {} if summary is None else summary.metrics
    cost = means.get(case.track.cost.metric)
    quality = means.get(case.track.quality.metric)
    if cost is None or quality is None:
        return False
    standing, costs = case.context.standing, case.track.cost.sign
    arm = None if summary is None else summary.baseline
    if arm is not None and arm.ratio is not None and standing.record_ratio is not None:
        # Costs of two machines do not compare.
        ratio = converted(case, arm.ratio)
        return ratio is not None and costs * (ratio - standing.record_ratio) < 0
    if case.track.objective != "pareto":
        record = standing.record_cost
        return record is None or costs * (cost - record) < 0
    sign = case.track.quality.sign
    return not any(
        costs * (c - cost) <= 0
        and sign * (q - quality) <= 0
        and (costs * (c - cost) < 0 or sign * (q - quality) < 0)
        for c, q in standing.frontier
    )
