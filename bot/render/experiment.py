"""A preregistered experiment in words: the line on the pull request, the summary in the issue."""

from __future__ import annotations

from bot.compute.experiment import RULES, compare, differences, moment
from bot.model.experiment import Comparison, Plan, Row
from bot.model.report import Report
from bot.model.verdict import Verdict
from bot.render import details, numbers
from bot.render.groups import sentence

OUTCOMES = {
    True: "the result confirms the hypothesis",
    False: "the result does not confirm the hypothesis",
    None: "whether the hypothesis holds is for people to judge",
}
MARKS = {True: "as planned", False: "differs", None: ""}
HOLDS = {True: "holds", False: "does not hold", None: ""}


def outcome(plan: Plan, comparison: Comparison, ended: bool) -> str:
    """What came of the hypothesis, and how the plan was kept, in one sentence."""
    if comparison.confirmed is None and not ended:
        first = "runs are still to come" if plan.conditions else OUTCOMES[None]
    else:
        first = OUTCOMES[comparison.confirmed]
    other = [row.what[:1].lower() + row.what[1:] for row in differences(comparison)]
    if other:
        return f"{first}; not as planned: {numbers.listed(other)}"
    return f"{first}; run as planned" if ended else f"{first}; as planned so far"


def rows(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """Everything that was compared: what, planned, done, and a word for it."""
    plain = [(r.what, r.planned, r.done, MARKS[r.kept]) for r in comparison.rows]
    return plain + [_result(r) for r in comparison.results]


def _result(row: Row) -> tuple[str, str, str, str]:
    return row.what, row.planned, row.done, HOLDS[row.kept]


def view(plan: Plan, verdict: Verdict, ended: bool) -> dict[str, object]:
    """What the templates see of an experiment: values alone."""
    found = compare(plan, verdict, ended)
    return {
        "issue": plan.issue,
        "title": plan.title,
        "hypothesis": plan.hypothesis,
        "outcome": sentence(outcome(plan, found, ended)),
        "confirmed": found.confirmed,
        "rows": rows(found),
        "unread": plan.unread,
        "statistics": list(details.statistics(verdict)),
    }


def of_report(report: Report) -> list[dict[str, object]]:
    """The experiments behind the submissions of a pull request that is open."""
    return [
        {"submission": v.submission, **view(report.plans[v.submission], v, False)}
        for v in report.verdicts
        if v.submission in report.plans
    ]


def registered(plan: Plan) -> dict[str, object]:
    """What was read of a plan, for the answer in its issue."""
    conditions = [f"{c.metric} {c.sign} {c.value:.12g}" for c in plan.conditions]
    return {
        "issue": plan.issue,
        "at": moment(plan.opened_at),
        "edited": moment(plan.edited_at),
        "track": plan.track,
        "runs": plan.runs,
        "rule": RULES[plan.stop] if plan.stop else "by no rule that could be read",
        "conditions": conditions,
        "sha": plan.sha256,
        "unread": plan.unread,
    }
