"""What an experiment announced beside what was run. Pure: no judgement, only the difference.

The experiment has ended when its pull request is merged; until then missing runs may still come.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator

from bot.compute.ratios import measured
from bot.model.experiment import RATIO, Comparison, Condition, Plan, Row, Stop
from bot.model.values import finite, parse_timestamp
from bot.model.verdict import Point, Verdict

SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
RULES = {
    Stop.PLANNED: "after the planned runs, whatever they show",
    Stop.PASSES: "when the test passes, after the planned runs at the latest",
    Stop.WORDS: "in the author's words",
}


def compare(plan: Plan, verdict: Verdict, ended: bool) -> Comparison:
    """The plan beside the runs of a submission; `ended` when no further run can come."""
    counts = tuple(_finished(point, verdict) for point in verdict.points)
    rows = tuple(
        row
        for row in (
            _registered(plan),
            _text(plan),
            _track(plan, verdict),
            _runs(plan, counts, ended),
            _stop(plan, verdict, counts, ended),
            _elsewhere(verdict),
        )
        if row is not None
    )
    results = tuple(_result(c, p, verdict) for c in plan.conditions for p in verdict.points)
    return Comparison(rows, results, _confirmed(plan, results, counts, ended))


def moment(text: str | None) -> str:
    """A time as `2026-11-28 12:01 UTC`; empty if it is not a time."""
    found = parse_timestamp(text)
    return f"{found:%Y-%m-%d %H:%M} UTC" if found else ""


def _registered(plan: Plan) -> Row:
    before = _before(plan.opened_at, plan.first_run)
    return Row("Registered", f"{moment(plan.opened_at)} by {plan.author}", _first(plan), before)


def _text(plan: Plan) -> Row:
    if plan.edited_at is None:
        return Row("Text of the issue", "as opened", "never edited", True)
    return Row(
        "Text of the issue",
        f"last edited {moment(plan.edited_at)}",
        _first(plan),
        _before(plan.edited_at, plan.first_run),
    )


def _first(plan: Plan) -> str:
    """When the first run began, and who says so."""
    when = moment(plan.first_run)
    if not when:
        return "the time of the first run is unknown"
    return f"first run {when}" if plan.first_run_by == "W&B" else f"first run shown {when}"


def _before(a: str | None, b: str | None) -> bool | None:
    first, second = parse_timestamp(a), parse_timestamp(b)
    return None if first is None or second is None else first <= second


def _track(plan: Plan, verdict: Verdict) -> Row | None:
    return (
        Row("Track", plan.track, verdict.track, plan.track == verdict.track) if plan.track else None
    )


def _finished(point: Point, verdict: Verdict) -> int:
    """How many runs of the change count at a point."""
    if point.statistics is not None:
        return point.statistics.n
    alone = len(verdict.points) == 1
    return sum(
        run.arm == "candidate"
        and run.finished is not False
        and (alone or run.point in (None, point.name))
        for run in verdict.runs
    )


def _runs(plan: Plan, counts: tuple[int, ...], ended: bool) -> Row | None:
    if plan.runs is None:
        return None
    low, high = (min(counts), max(counts)) if counts else (0, 0)
    done = f"{low}" if low == high else f"{low} to {high}, by point"
    if low < plan.runs and plan.stop is Stop.PASSES:
        return Row("Finished runs", f"at most {plan.runs}", done, high <= plan.runs)
    if low < plan.runs and high <= plan.runs and not ended:
        return Row("Finished runs", f"{plan.runs}", f"{done} so far", None)
    return Row("Finished runs", f"{plan.runs}", done, low == high == plan.runs)


def _stop(plan: Plan, verdict: Verdict, counts: tuple[int, ...], ended: bool) -> Row | None:
    """Whether the experiment stopped where it said that it would."""
    if plan.stop is None:
        return None
    planned = RULES[plan.stop]
    if plan.stop is Stop.WORDS or plan.runs is None or not counts:
        return Row("Stopping rule", planned, "for people to judge", None)
    more, short = max(counts) > plan.runs, min(counts) < plan.runs
    passed = plan.stop is Stop.PASSES and all(_passes(point) for point in verdict.points)
    if more:
        return Row("Stopping rule", planned, "went on after the planned runs", False)
    if not short:
        return Row("Stopping rule", planned, "stopped at the planned runs", True)
    if passed:
        return Row("Stopping rule", planned, f"stopped at {min(counts)}, the test passes", True)
    if not ended:
        return Row("Stopping rule", planned, "not at its end yet", None)
    return Row("Stopping rule", planned, f"stopped at {min(counts)}, before the end", False)


def _passes(point: Point) -> bool:
    return point.summary.passes


def _elsewhere(verdict: Verdict) -> Row | None:
    """Runs of the same kind in the same project that the submission does not list."""
    unlisted = sum(f.rule == "unlisted-runs" for f in verdict.findings)
    if not unlisted:
        return None
    return Row("Runs left out", "none", "see `unlisted-runs`", False)


def _result(condition: Condition, point: Point, verdict: Verdict) -> Row:
    value = _value(condition.metric, point)
    where = f" at {point.name}" if len(verdict.points) > 1 else ""
    planned = f"{condition.sign} {condition.value:.12g}"
    if not finite(value):
        return Row(f"{condition.metric}{where}", planned, "not measured", None)
    holds = SIGNS[condition.sign](value, condition.value)
    return Row(f"{condition.metric}{where}", planned, f"{value:.8g}", holds)


def _value(metric: str, point: Point) -> float | int | None:
    """A metric of the change's runs, or the ratio of their cost to that of the baseline arm."""
    if metric != RATIO:
        return point.metrics.get(metric)
    found = measured(point.statistics)
    return found.ratio if found else None


def _confirmed(
    plan: Plan, results: tuple[Row, ...], counts: tuple[int, ...], ended: bool
) -> bool | None:
    kept = [row.kept for row in results]
    if not kept or None in kept:
        return None
    waiting = not ended and plan.stop is Stop.PLANNED and min(counts) < (plan.runs or 0)
    return None if waiting else all(kept)


def differences(comparison: Comparison) -> Iterator[Row]:
    """What was not done as planned."""
    return (row for row in comparison.rows if row.kept is False)
