"""Better than what stands: the record, the baseline arm, and whether that arm is the right one."""

from __future__ import annotations

import dataclasses as dc
import statistics
from collections.abc import Iterator, Sequence

from bot.compute.arms import pairwise_rule
from bot.compute.baselines import code_of, ran, relation
from bot.compute.case_statistics import points_of
from bot.compute.ratios import chained
from bot.compute.significance import reaches
from bot.model.case import Case
from bot.model.run import Run
from bot.model.submission import entry_path, same_entry
from bot.model.summary import Pairwise, Sample, Summary
from bot.model.track import TIME_METRICS
from bot.model.verdict import Finding
from bot.registry import Level
from bot.render.numbers import apart, figure, p_is
from bot.rules.about import ratio
from bot.rules.statistics import for_points, found_in, summaries


def not_better_than_record(case: Case) -> Iterator[Finding]:
    """The mean cost is better than the record's. A note: results that are not records are welcome.

    It applies to tracks with a target. If the ratio to a baseline ranks, costs from two machines
    cannot be compared; nor can a time that beat a baseline arm on its own machine.
    """
    record = case.context.standing.record_cost
    ranked = case.track.objective in ("target", "best")
    if record is None or not ranked or case.context.standing.record is None:
        return
    margin = case.track.significance.margin or 0.0
    for point, s in summaries(case):
        m = s.cost.moments
        if m is None or _better(m.mean, record, case, margin) or _timed_faster(case, s, margin):
            continue
        close = f"; a record is better by at least {margin:g}" if margin else ""
        unit = f" {case.track.cost.unit}" if case.track.cost.unit else ""
        yield found_in(
            case,
            "not-better-than-record",
            point,
            f"{apart(m.mean, record)}{unit} is not better than the "
            f"{apart(record, m.mean)}{unit} of the record {case.context.standing.record}{close}",
            claimed=m.mean,
            expected=record,
            ratio=ratio(m.mean, record),
            fix="nothing to do: results that are not records are welcome.",
        )


def _timed_faster(case: Case, s: Summary, margin: float) -> bool:
    """Whether a time beats the baseline arm's, which decides: the record is of another machine."""
    comparison = s.baseline.comparison if s.baseline else None
    timed = case.track.cost.metric in TIME_METRICS
    return timed and comparison is not None and _better(comparison.difference, 0.0, case, margin)


def improvement_not_significant(case: Case) -> Iterator[Finding]:
    """The cost is lower than the baseline arm's, and that is proved.

    Time and FLOPs by Welch's one-sided test with at least three runs in each arm, or by the paired
    test if the runs of the two arms took turns on one machine; steps by the pairwise rule, which
    converts steps to loss. A time is never tested against a time from another session: the machines
    differ by more than most gains. Without a baseline arm a time below the record's is a possible
    record until the two are timed side by side; a track whose machine is always the same one sets
    `"improvement-not-significant" = "note"` under `[levels]` and asks for no arm.
    """
    if case.track.objective == "pareto":
        return
    for point, s in summaries(case):
        yield from _not_timed_together(case, s, point)
        shown_over = _improvement(case, s)
        if shown_over is None or shown_over[1]:
            continue
        against, _, p, how = shown_over
        alpha = case.track.significance.alpha_each
        level = None if p is not None else Level.NOTE
        shown = f"{how} needs at least 3 runs in each arm"
        if p is not None:
            shown = f"{how} gives {p_is(p, alpha)}, needed below {figure(alpha)}"
        expected = f"p < {figure(alpha)}"
        if isinstance(how, Pairwise):
            # The rule asks for its threshold, and p at the threshold is not a round number.
            threshold = case.track.significance.threshold or 0.0
            expected = f"at least {figure(threshold)}"
            shown = f"the pairwise rule gives {apart(how.statistic, threshold)}, needed {expected}"
        shown += for_points(s.baseline.p_holm if s.baseline else None)
        yield found_in(
            case,
            "improvement-not-significant",
            point,
            f"not shown to beat {against} in {case.track.in_sentence(s.cost_metric)}: {shown}",
            level=level,
            claimed=p,
            expected=expected,
            fix="add runs to both arms, taking turns on one machine.",
        )


def _not_timed_together(case: Case, s: Summary, point: str | None) -> Iterator[Finding]:
    """A time below the record's without a baseline arm: a possible record, to be timed again."""
    standing, ours = case.context.standing, s.cost.moments
    record = standing.record_cost
    if s.baseline is not None or record is None or ours is None or case.context.merged:
        return  # of a merged entry a maintainer has weighed it
    timed = case.track.objective == "target" and case.track.cost.metric in TIME_METRICS
    if not timed or not s.passes or not _better(ours.mean, record, case):
        return
    ours_s, record_s = apart(ours.mean, record), apart(record, ours.mean)
    asked = case.track.levels.get("improvement-not-significant") != Level.NOTE
    yield found_in(
        case,
        "improvement-not-significant",
        point,
        f"a possible record: {ours_s} s against {record_s} s of {standing.record}, but the two "
        "were not timed on one machine"
        if asked
        else f"{ours_s} s against {record_s} s of {standing.record}, each timed in its own session",
        level=Level.WARNING,
        claimed=ours.mean,
        expected=record,
        fix="add runs of the record as the baseline arm, taking turns with yours on one machine, "
        "or ask a maintainer to time both."
        if asked
        else "nothing to do: this track accepts times of different sessions.",
    )


def _stale(
    case: Case,
    message: str,
    current: str | None,
    claimed: str,
    expected: str,
    pointer: str | None = None,
) -> Finding:
    return found_in(
        case,
        "baseline-stale",
        None,
        message,
        claimed=claimed,
        expected=expected,
        pointer=pointer,
        fix=f"run {current} as the baseline arm.",
    )


def baseline_stale(case: Case) -> Iterator[Finding]:
    """The baseline arm is what the gain should be measured against: the record, or the baseline.

    A gain over an older one may be a gain that others have already made, and a gain over more runs
    of the same code is luck. It is recognised by the source hash and the configuration of the two
    arms, by `based_on`, and by the source hash of the record or baseline, if that is known.

    If an arm ran an older baseline of the track, a finding says so: its ratio is converted by the
    ratios of the baselines between, or if nothing relates the two, the baseline has to be run. A
    reproduction or a challenge may run the baseline that the entry ran, and is told the same.
    """
    if case.track.objective == "pareto" or not case.runs("baseline"):
        return
    at_baseline = case.track.objective == "baseline"
    found = list(_older_baseline(case) if at_baseline else _older_record(case))
    if case.submission.reply is not None:
        yield from (item for item in found if item.level is Level.NOTE)
        return
    yield from found
    if found:
        return
    standing = case.context.standing
    current = standing.baseline if at_baseline else standing.record
    for point in points_of(case):
        why, level = _one_experiment(case.runs("candidate", point), case.runs("baseline", point))
        if why is not None and not (case.brought_over and level is Level.NOTE):
            name = current or ("the record" if case.track.objective == "target" else "the baseline")
            yield found_in(
                case,
                "baseline-stale",
                point,
                why,
                level=level,
                fix=f"run {name} as the baseline arm, and bring logs with its source.",
            )


def _older_record(case: Case) -> Iterator[Finding]:
    """An arm that is not of the record, by what the submission says and by its code."""
    current, based_on = case.context.standing.record, case.submission.based_on
    if current is not None and based_on and not same_entry(based_on, current, case.track.id):
        message = f"it is based on {based_on}, and {current} stands now"
        yield _stale(case, message, current, based_on, current, "/based_on")
    else:
        yield from _other_code(case, current, case.context.standing.record_code)


def _other_code(case: Case, current: str | None, wanted: frozenset[str]) -> Iterator[Finding]:
    code = code_of(case.runs("baseline"))
    if wanted and code and not code & wanted:
        message = f"the source of the baseline runs is not that of {current}"
        yield _stale(case, message, current, min(code), min(wanted))


_SAYS = {
    "code": "by the code or the configuration of its runs",
    "author": "as `based_on` says",
    "record": "it stood when these runs were first shown",
    "clock": "it stood when these runs began",
}


def _older_baseline(case: Case) -> Iterator[Finding]:
    """An arm that ran an older baseline than the one that stands, and what becomes of its ratio."""
    arm, known = ran(case), case.track.baselines
    current = _standing_baseline(case)
    if case.context.merged:
        return
    if arm is None or current is None or (arm.id == current and arm.by != "code"):
        standing = case.context.standing
        yield from _other_code(case, standing.baseline, standing.baseline_code)
        return
    named = entry_path(case.submission.based_on, case.track.id, {b.submission for b in known})
    if named is not None and arm.by == "code" and named not in _paths(case, arm.id):
        message = f"the runs of the baseline arm are those of {arm.id}, and it is based on {named}"
        yield _stale(case, message, arm.id, named, arm.id, "/based_on")
    if arm.id == current:
        return
    links = relation(known, arm.id, current)
    message = f"you ran the old baseline {arm.id} ({_SAYS[arm.by]}), and {current} stands now"
    if links is None:
        message += "; nothing relates the two, so the ratio has no place on the board"
        yield _stale(case, message, current, arm.id, current)
        return
    factor = figure(chained(links).ratio, 4)
    yield dc.replace(
        _stale(
            case, f"{message}; the ratio is converted: times {factor}", current, arm.id, current
        ),
        level=Level.NOTE,
        fix=f"nothing to do. To be measured directly, run {current} as the baseline arm.",
    )


def _paths(case: Case, name: str) -> list[str]:
    return [b.submission for b in case.track.baselines if b.id == name]


def _standing_baseline(case: Case) -> str | None:
    """The id of the baseline that stands: that of the board, which leaves out a refuted one."""
    by_path = {b.submission: b.id for b in case.track.baselines}
    named = case.context.standing.baseline
    path = entry_path(named, case.track.id, by_path)
    return by_path[path] if path is not None else named or case.track.baseline_id


def _one_experiment(ours: Sequence[Run], theirs: Sequence[Run]) -> tuple[str | None, Level | None]:
    """Why two arms are runs of one experiment, or may be (a note); None where they are not. A
    change of the configuration alone is a change, where the configurations are known."""
    if not ours:
        return None, None
    settings = [{run.config.get("config_sha256") for run in arm} for arm in (ours, theirs)]
    known = None not in settings[0] | settings[1]
    shared = code_of(ours) & code_of(theirs)
    if shared and not (known and settings[0].isdisjoint(settings[1])):
        code = sorted(shared)[0][:12]
        return f"the baseline arm ran the same code as the candidate, {code}", None
    if known and not code_of(ours) | code_of(theirs) and settings[0] & settings[1]:
        return (
            "the two arms have the same configuration, and their code does not tell them apart",
            None,
        )
    if settings[1] == {None} and not any(run.code_sha256 for run in theirs):
        return "nothing in the baseline runs says what code they ran", Level.NOTE
    return None, None


_Shown = tuple[str, bool, float | None, str | Pairwise]


def _improvement(case: Case, s: Summary) -> _Shown | None:
    """(against whom, proved, p, by what test); None if there is nothing to prove."""
    b = s.baseline
    if b is not None and b.pairwise is not None:
        return "the baseline arm", bool(b.passes), b.pairwise.p, b.pairwise
    if b is not None and b.comparison is not None:
        test = "the paired test" if b.comparison.method == "paired" else "Welch's test"
        return "the baseline arm", bool(b.passes), b.p, test
    standing, ours = case.context.standing, s.cost.moments
    if standing.record is None or ours is None or not standing.record_costs:
        return None
    name = f"the record {standing.record}"
    costs, values = Sample(standing.record_costs), Sample(standing.record_values)
    pairwise = pairwise_rule(s.quality, s.cost, values, costs, case.track)
    if pairwise is None or not _better(ours.mean, statistics.fmean(costs.values), case):
        return None
    return name, pairwise.passes, pairwise.p, pairwise


def _better(ours: float, theirs: float, case: Case, margin: float = 0.0) -> bool:
    gain = theirs - ours if case.track.cost.goal == "min" else ours - theirs
    return gain > 0 and reaches(gain, margin)
