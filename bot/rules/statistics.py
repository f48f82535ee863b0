"""Statistics: does the mean reach the target, is it proved, are the reported numbers the runs'?

Every rule here works on `bot.compute.case_statistics.of_case`, one point of a submission at a
time. Runs that did not finish are left out of all of them, loudly. On an imported entry nothing
here blocks: its own board has decided, and the findings are shown.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator, Sequence
from typing import Any

from bot.compute import significance as sig
from bot.compute.case_statistics import has_unread, of_case, points_of
from bot.compute.summary import Sample, Summary, pairwise_rule
from bot.model.case import Case
from bot.model.run import TRAINER, Run
from bot.model.verdict import Finding, finding
from bot.registry import Level, default_level
from bot.rules.reported import wrong_claims


def target_missed(case: Case) -> Iterator[Finding]:
    """The mean over the finished runs reaches the track's target.

    The mean counts, not the best run: a single low loss is mostly luck. Train a little longer, or
    claim a later step, until the mean is at the target or better.
    """
    for point, s in _summaries(case):
        m, target = s.moments, s.target
        if m is None or target is None:
            continue
        if not _reached(s):
            side = "above" if s.goal == "min" else "below"
            yield _finding(
                case,
                "target-missed",
                point,
                f"the mean {s.metric} of {_runs(s.n)} is {m.mean:.6g}, {side} the target "
                f"{target:g}{_wide(case, s)}",
                expected=target,
                claimed=m.mean,
                ratio=_ratio(m.mean, target),
                fix="Train longer, or claim a later stop step, until the mean is there.",
            )


def target_not_significant(case: Case) -> Iterator[Finding]:
    """The runs prove that the true mean reaches the target, by the track's own test.

    One-sided: `t` is the one-sample t-test (sd with ddof = 1) with p < alpha; `z` takes sigma as
    known and asks for (target - mean) sqrt(n) at or above the track's threshold; `anytime` stays
    honest when one looks after each run. More runs at the same mean help; anybody may supply them.
    """
    for point, s in _summaries(case):
        if s.passes or s.n < _least_runs(case) or not _reached(s):
            continue
        d, need = s.decision, s.needed_runs
        wide = _wide(case, s)
        fix = (
            "Give runs of another experiment a point of their own."
            if wide
            else "More runs at this mean would not pass; a lower mean is needed."
            if need is None
            else f"Add {_runs(need)} at this mean{_gpu_hours(s)}; someone else may supply them."
        )
        yield _finding(
            case,
            "target-not-significant",
            point,
            f"{_runs(s.n)} with mean {s.metric} {_mean(s):.6g} do not prove that it reaches "
            f"{s.target:g}: {_evidence(case, s)}{wide}",
            claimed=d.p,
            expected=f"p < {s.alpha:g}",
            fix=fix,
        )


def too_few_runs(case: Case) -> Iterator[Finding]:
    """There are as many finished runs as the track asks for, and at least two where it asks for a
    test: one run has no spread, so nothing can be proved with it.

    Runs that did not finish and copies of a run do not count; the message names them.
    """
    least = _least_runs(case)
    for point, s in _summaries(case):
        if s.n >= least:
            continue
        out = f"; not counted: {_excluded(s)}" if s.excluded else ""
        hint = f" ({s.hint})" if s.hint else ""
        need = max(least - s.n, s.needed_runs or 0)
        yield _finding(
            case,
            "too-few-runs",
            point,
            f"finished runs that count: {s.n}, the track asks for {least} or more{out}{hint}",
            claimed=s.n,
            expected=least,
            fix=f"Add {_runs(need)}{_gpu_hours(s, need)}{_why_more(case, s, least - s.n)}; someone "
            "else may supply them.",
        )


def _why_more(case: Case, s: Summary, fewest: int) -> str:
    """Why more runs are asked for than the track's least number."""
    if (s.needed_runs or 0) <= fewest or s.target is None:
        return ""
    return (
        f": with {fewest} more a test is possible, that many prove a mean of {_mean(s):.6g} if "
        "the spread is the track's usual one"
    )


def reported_statistics_wrong(case: Case) -> Iterator[Finding]:
    """The reported mean, sd, n, p and time are those of the runs.

    Tolerances: a loss's mean or sd 6e-5, p 2 % or 6e-5, a time 0.06 s (a rounded table: half of
    its last digit and 0.05 s), n exactly, anything else 0.2 %. The message says what the number is
    where it can be told: a population sd, a standard error, a p without the square root of n, a
    two-sided p, the fastest run's time. Run `speedrun stats` and report what it prints.
    """
    for point, s in () if has_unread(case) else _summaries(case):
        for wrong in wrong_claims(case, point, s):
            yield _finding(
                case,
                "reported-statistics-wrong",
                point,
                wrong.message,
                pointer=wrong.pointer,
                claimed=wrong.claimed,
                expected=wrong.expected,
                ratio=_ratio(wrong.claimed, wrong.expected),
                fix=wrong.fix,
                level=wrong.level,
            )


def not_better_than_record(case: Case) -> Iterator[Finding]:
    """The mean cost is better than the record's. A note: results that are no record are welcome.

    For tracks with a target. Where the ratio to a baseline counts, costs of two machines say
    nothing about each other.
    """
    record = case.context.standing.record_cost
    if record is None or case.track.objective != "target" or case.context.standing.record is None:
        return
    for point, s in _summaries(case):
        m = s.cost.moments
        if m is None or _better(m.mean, record, case):
            continue
        unit = f" {case.track.cost.unit}" if case.track.cost.unit else ""
        yield _finding(
            case,
            "not-better-than-record",
            point,
            f"the {s.cost_metric} is {m.mean:.7g}{unit}, the record {case.context.standing.record} "
            f"has {record:.7g}{unit}",
            claimed=m.mean,
            expected=record,
            ratio=_ratio(m.mean, record),
            fix="Nothing needs doing: results that are no record are welcome.",
        )


def improvement_not_significant(case: Case) -> Iterator[Finding]:
    """The cost is lower than the baseline arm's (without one: the record's), and that is proved.

    Time and FLOPs by Welch's one-sided test, or the paired test where the runs of the two arms
    were interleaved on one machine; steps by the pairwise rule, which converts steps to loss. An
    arm of one run cannot be tested. Costs of another machine are a weak yardstick: bring a
    baseline arm from your own.
    """
    if case.track.objective == "pareto":
        return
    for point, s in _summaries(case):
        against, passes, p, how = _improvement(case, s)
        if against is None or passes:
            continue
        shown = f"p = {p:.3g}" if p is not None else "an arm of one run cannot be tested"
        level = None if p is not None else Level.NOTE
        yield _finding(
            case,
            "improvement-not-significant",
            point,
            f"that the {s.cost_metric} is better than that of {against} is not proved by "
            f"{how}: {shown}",
            level=level,
            claimed=p,
            expected=f"p < {s.alpha:g}",
            fix="Add runs to both arms, interleaved on one machine.",
        )


def baseline_stale(case: Case) -> Iterator[Finding]:
    """The baseline arm is what the gain should be measured against: the record, or the baseline.

    A gain over an older one may be a gain that others made already, and one over further runs of
    the same code is luck. Told by `based_on`, by the source hash of the baseline runs where that of
    the record or the baseline is known, and by the source hash and configuration of the two arms.
    """
    if case.track.objective == "pareto" or not case.runs("baseline"):
        return
    standing = case.context.standing
    current = standing.baseline if case.track.objective == "baseline" else standing.record
    based_on = case.submission.based_on
    if current is not None and based_on and not _same_entry(based_on, current):
        yield _finding(
            case,
            "baseline-stale",
            None,
            f"it is based on {based_on}, and {current} stands now",
            claimed=based_on,
            expected=current,
            pointer="/based_on",
            fix=f"Run {current} as the baseline arm.",
        )
        return
    wanted = standing.record_code
    if case.track.objective == "baseline":
        wanted = standing.baseline_code
    code = _code(case.runs("baseline"))
    if wanted and code and not code & wanted:
        yield _finding(
            case,
            "baseline-stale",
            None,
            f"the source of the baseline runs is not that of {current}",
            claimed=sorted(code)[0],
            expected=sorted(wanted)[0],
            fix=f"Run {current} as the baseline arm.",
        )
        return
    for point in points_of(case):
        why, level = _one_experiment(case.runs("candidate", point), case.runs("baseline", point))
        if why is not None and not (case.brought_over and level is Level.NOTE):
            name = current or ("the record" if case.track.objective == "target" else "the baseline")
            yield _finding(
                case,
                "baseline-stale",
                point,
                why,
                level=level,
                fix=f"Run {name} as the baseline arm, and bring logs with its source.",
            )


def _one_experiment(ours: Sequence[Run], theirs: Sequence[Run]) -> tuple[str | None, Level | None]:
    """Why two arms are runs of one experiment, or may be (a note); None where they are not. A
    change of the configuration alone is a change, where the configurations are known."""
    if not ours or not theirs:
        return None, None
    settings = [{run.config.get("config_sha256") for run in arm} for arm in (ours, theirs)]
    known = None not in settings[0] | settings[1]
    shared = _code(ours) & _code(theirs)
    if shared and not (known and settings[0].isdisjoint(settings[1])):
        code = sorted(shared)[0][:12]
        return f"the baseline arm ran the same code as the candidate, {code}", None
    if known and not _code(ours) | _code(theirs) and settings[0] & settings[1]:
        return "the two arms have the same configuration, and no code tells them apart", None
    if settings[1] == {None} and not any(run.code_sha256 for run in theirs):
        return "nothing in the baseline runs says what code they ran", Level.NOTE
    return None, None


def _code(runs: Sequence[Run]) -> frozenset[str]:
    """Source hashes of runs; the trainer's own, which all that use it share, is none."""
    return frozenset(
        digest for run in runs for name, digest in run.code_sha256.items() if name != TRAINER
    )


def depends_on_best_run(case: Case) -> Iterator[Finding]:
    """The test also passes without the best run. A note: such a result rests on one lucky run."""
    for point, s in _summaries(case):
        rest = s.without_best
        if s.passes and rest is not None and not rest.passes:
            p = "" if rest.p is None else f" (p = {rest.p:.3g})"
            yield _finding(
                case,
                "depends-on-best-run",
                point,
                f"without its best run the test is not passed{p}",
                claimed=s.decision.p,
                expected=rest.p,
                fix="One or two more runs settle it.",
            )


# ---- Shared ------------------------------------------------------------------------------------


def _summaries(case: Case) -> Iterator[tuple[str | None, Summary]]:
    for point in points_of(case):
        summary = of_case(case, point)
        if summary is not None:
            yield point, summary


def _finding(case: Case, name: str, point: str | None, message: str, **fields: Any) -> Finding:
    """A finding of this family; on an imported entry an error weighs as a warning."""
    level = fields.pop("level", None) or default_level(name)
    if case.brought_over and level is Level.ERROR:
        level = Level.WARNING
    where = f"point {point}: " if point is not None else ""
    file = case.folder.full("submission.json") if not case.folder.bare else case.folder.path
    made = finding(name, where + message, level, point=point, **fields)
    return dc.replace(made, file=file)


def _least_runs(case: Case) -> int:
    return case.track.significance.least_runs


def _reached(s: Summary) -> bool:
    m = s.moments
    if m is None or s.target is None:
        return False
    return sig.reaches(m.gain(s.target, s.goal).mean, 0.0)


def _mean(s: Summary) -> float:
    m = s.moments
    return m.mean if m else float("nan")


def _evidence(case: Case, s: Summary) -> str:
    """The statistic that falls short, in the terms of the track's test."""
    d = s.decision
    threshold = case.track.significance.threshold
    if d.test == "z" and threshold is not None and d.statistic is not None:
        return f"(target - mean) sqrt(n) is {d.statistic:.6g}, {threshold:g} is asked for"
    none = "they are all equal, and without a spread there is no p"
    return f"p = {d.p:.3g}" if d.p is not None else none


def _gpu_hours(s: Summary, runs: int | None = None) -> str:
    need = s.needed_runs if runs is None else runs
    m = s.time.moments
    if m is None or not need or not s.gpu_count:
        return ""
    hours = need * m.mean * s.gpu_count / 3600
    return f", about {hours:.0f} GPU-hours" if hours >= 10 else f", about {hours:.2g} GPU-hours"


def _wide(case: Case, s: Summary) -> str:
    """A spread that runs of one experiment do not have on this track, with the run far off."""
    usual, m = case.track.significance.pooled_sd, s.moments
    if not usual or m is None or m.sd is None or m.sd < 5 * usual:
        return ""
    far = max(s.quality.values, key=lambda value: abs(value - m.mean))
    return (
        f"; their sd {m.sd:.3g} is {m.sd / usual:.0f} times the usual one, as of runs of "
        f"several experiments, and one run has {far:.6g}"
    )


def _excluded(s: Summary) -> str:
    shown = "; ".join(f"{e.file} ({e.why})" for e in s.excluded[:5])
    more = len(s.excluded) - 5
    return shown + (f" and {more} more" if more > 0 else "")


def _improvement(case: Case, s: Summary) -> tuple[str | None, bool, float | None, str]:
    """(against whom, proved, p, by what test); None for whom where there is nothing to prove."""
    b = s.baseline
    if b is not None and b.pairwise is not None:
        return "the baseline arm", b.pairwise.passes, b.pairwise.p, "the pairwise rule"
    if b is not None and b.comparison is not None:
        test = "the paired test" if b.comparison.method == "paired" else "Welch's test"
        return "the baseline arm", bool(b.passes), b.comparison.p, test
    standing, ours = case.context.standing, s.cost.moments
    if standing.record is None or ours is None or not standing.record_costs:
        return None, False, None, ""
    name = f"the record {standing.record}"
    theirs = Sample(standing.record_costs)
    record_quality = Sample(standing.record_values)
    pairwise = pairwise_rule(s.quality, s.cost, record_quality, theirs, case.track)
    mean = theirs.moments.mean if theirs.moments else ours.mean
    if not _better(ours.mean, mean, case):
        return None, False, None, ""
    if pairwise is not None:
        return name, pairwise.passes, pairwise.p, "the pairwise rule"
    if case.track.cost.step is not None:
        return None, False, None, ""
    welch = sig.welch(s.cost.values, theirs.values, case.track.cost.goal)
    return name, welch.p is not None and welch.p < s.alpha, welch.p, "Welch's test"


def _better(ours: float, theirs: float, case: Case) -> bool:
    return ours < theirs if case.track.cost.goal == "min" else ours > theirs


def _same_entry(a: str, b: str) -> bool:
    """Whether two paths name one submission, with or without the folder before them."""
    short, long = sorted((a.strip("/"), b.strip("/")), key=len)
    return long == short or long.endswith("/" + short)


def _ratio(a: object, b: object) -> float | None:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and b:
        return a / b
    return None


def _runs(n: int) -> str:
    return "1 run" if n == 1 else f"{n} runs"
