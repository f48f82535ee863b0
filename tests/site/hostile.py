"""A synthetic board on which every text of a submission attacks the page that shows it."""

from __future__ import annotations

import dataclasses as dc

from bot.github.pull_request.recorded import Merge
from bot.model.experiment import Condition, Plan
from bot.model.submission import Contributor, Submission
from bot.model.verdict import Finding, Verdict
from bot.parse.steps import Step
from bot.registry import Grade, Level, Status
from leaderboard_site.model import Grant, Pending, Site, make_board
from tests.site.synthetic import PARETO, pareto_verdict

ATTACKS = (
    "<script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    '"><svg onload=window.pwned=1>',
    "javascript:window.pwned=1",
    "\u202egnp.exe\u2066 reversed \u2069",
    "x" * 10_000,
    "🏆🚀 " * 40,
    "שלום עולם مرحبا بالعالم",
    "[click](javascript:window.pwned=1) <iframe src='https://evil.example'></iframe>",
    "{{ config.site_name }} {% include '/etc/passwd' %} ]]> --> </style></title></textarea>",
)


def hostile_site() -> Site:
    """Entries whose every text attacks; none of it may run, load or reorder anything."""
    found, texts, extras = [], {}, {}
    for i, attack in enumerate(ATTACKS):
        base = pareto_verdict(i, 99)
        path = f"submissions/pareto/hostile-{i}"
        finding = Finding(
            "schema",
            Level.WARNING,
            attack,
            file=f"{attack[:40]}.json",
            line=3,
            pointer=attack[:60],
            claimed=attack,
            expected=attack,
            fix=attack,
        )
        record = dc.replace(base.runs[0], file=attack, run_id=attack[:200], hardware=attack)
        verdict = Verdict(
            path,
            "pareto",
            Status.NEEDS_REVIEW,
            Grade.SELF_REPORTED,
            (finding,),
            base.points,
            (record,),
            attack,
            attack,
            base.date,
            {"schema": attack},
        )
        texts[path] = Submission(
            path,
            "pareto",
            f"hostile-{i}",
            attack,
            attack,
            (Contributor(attack, attack, attack, attack, ("idea",)),),
            attack,
            attack,
            code_repository=attack,
            code_commit=attack,
            links=({"kind": attack, "url": attack},),
            imported={"url": attack, "commit": attack},
        )
        extras[path] = {
            "readme": f"# {attack}\n\n{attack}\n\n<b onclick='window.pwned=1'>b</b>",
            "code": {"train.py": attack},
            "steps": (Step(attack, attack, (attack,), attack, attack),),
            "merge": Merge(i, attack, attack, hostile_plan(attack)),
        }
        found.append(verdict)
    board = make_board(PARETO, found, texts, extras)
    pulls = tuple(
        Pending(i, attack, attack, attack, attack, (attack,), attack, attack, attack)
        for i, attack in enumerate(ATTACKS)
    )
    tests = tuple({k: a for k in ("title", "date", "url", "state")} for a in ATTACKS)
    wanted = tuple(
        dc.replace(pull, status=Status.NEEDS_RUNS, number=100 + pull.number) for pull in pulls
    )
    grants = tuple(
        Grant(v.submission, 9.0, a, a, a, a) for v, a in zip(found, ATTACKS, strict=True)
    )
    url = "https://example.github.io/speedrun/"
    return Site({"pareto": board}, url, None, pulls + wanted, ATTACKS[0], tests, grants)


def hostile_plan(attack: str) -> Plan:
    """A plan whose every text attacks."""
    conditions = (Condition(attack, "<", 1.0),)
    words = {"title": attack, "author": attack, "sha256": attack, "track": attack}
    plan = Plan(issue=1, opened_at=attack, edited_at=attack, **words)
    return dc.replace(plan, hypothesis=attack, conditions=conditions, details=attack, runs=3)
