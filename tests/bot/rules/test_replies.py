"""Reproductions and challenges: cases that trigger a rule, and near misses."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.judge import judge
from bot.model.case import Case, Standing, Target
from bot.model.run import SOURCE_READ
from bot.model.submission import Reply
from bot.model.summary import BaselineArm, Comparison, Sample, Summary
from bot.model.track import Reproduction
from bot.model.verdict import Finding
from bot.registry import Level, Status
from tests.bot.rules.run_cases import SMALL, a_case, found
from tests.bot.rules.test_arms import SINGLE, run

CLAIM = Summary(
    cost=Sample((52.0, 53.0, 52.5)),
    baseline=BaselineArm(
        cost=Sample((60.0, 60.1, 59.9)),
        comparison=Comparison("welch", -7.5, None, None, None, 0.875, (0.86, 0.89)),
    ),
)
TARGET = Target("submissions/single-gpu-fineweb/faster", CLAIM, frozenset({"ab" * 32}))


def reply(
    kind: str, seconds: float, pairs: int = 3, target: Target | None = TARGET, **changes: Any
) -> Case:
    """A reply whose candidate takes so long where the baseline takes 60 s."""
    ours = [run(n, seconds + n / 10) for n in range(pairs)]
    theirs = [run(n + 10, 60 + n / 10) for n in range(pairs)]
    raw = {kind: "single-gpu-fineweb/faster", "runs": []}
    made = a_case(
        [*ours, *theirs],
        arms=["candidate"] * pairs + ["baseline"] * pairs,
        track=changes.pop("track", SINGLE),
        submission={"reply": Reply(kind, "single-gpu-fineweb/faster"), "raw": raw},
        standing=Standing(known=True, target=target),
    )
    return dc.replace(made, **changes)


def of(rule: str, case: Case) -> list[Finding]:
    return list(found(rule, case))


def test_a_reply_to_nothing() -> None:
    (item,) = of("entry-unknown", reply("reproduces", 53.0, target=None))
    assert item.message == "single-gpu-fineweb has no entry single-gpu-fineweb/faster"
    assert (item.pointer, item.level) == ("/reproduces", Level.ERROR)
    assert of("entry-unknown", reply("reproduces", 53.0)) == []


def test_without_a_board_nobody_knows_the_entries() -> None:
    case = reply("reproduces", 53.0, target=None)
    context = dc.replace(case.context, standing=Standing())
    assert of("entry-unknown", dc.replace(case, context=context)) == []


def test_a_reply_does_one_of_the_two() -> None:
    case = reply("reproduces", 53.0)
    raw = {"reproduces": "single-gpu-fineweb/faster", "challenges": "single-gpu-fineweb/faster"}
    both = dc.replace(case.submission, reply=None, raw=raw)
    (item,) = of("entry-unknown", dc.replace(case, submission=both))
    assert item.message == "it both reproduces and challenges"


def test_only_ratios_are_reproduced() -> None:
    (item,) = of("entry-unknown", reply("reproduces", 53.0, track=SMALL))
    assert "nanogpt-small takes no reproductions" in item.message


@pytest.mark.parametrize(
    ("kind", "seconds", "by", "asks"),
    [
        ("challenges", 60.0, "another-person", True),
        ("challenges", 52.6, "another-person", False),  # it shows the gain after all
        ("reproduces", 60.0, "another-person", False),
        ("reproduces", 52.6, "maintainer", True),
    ],
)
def test_when_a_maintainer_decides(kind: str, seconds: float, by: str, asks: bool) -> None:
    track = dc.replace(SINGLE, reproduction=Reproduction(2, by, 0.05))
    items = of("maintainer-decides", reply(kind, seconds, track=track))
    assert bool(items) is asks
    if asks:
        assert "these runs of submissions/single-gpu-fineweb/faster take " in items[0].message
        assert "87.5 % was claimed" in items[0].message


def test_a_challenge_needs_as_many_pairs_as_the_entry() -> None:
    (item,) = of("too-few-runs", reply("challenges", 60.0, 2))
    assert item.message == (
        "2 runs of the entry and 2 runs of the baseline; a challenge needs at least 3 of each"
    )
    assert of("too-few-runs", reply("challenges", 60.0, 3)) == []
    assert of("too-few-runs", reply("reproduces", 60.0, 2)) == []


def test_too_few_pairs_ask_for_runs_on_a_loose_track_too() -> None:
    verdict = judge(reply("challenges", 60.0, 2))
    assert [f.rule for f in verdict.errors] == ["code-differs-from-submission", "too-few-runs"]


def test_a_reply_runs_the_code_of_the_entry() -> None:
    (item,) = of("code-differs-from-submission", reply("reproduces", 53.0))
    assert "that of submissions/single-gpu-fineweb/faster abababababab" in item.message
    code = frozenset(run(0).code_sha256.values())
    same = dc.replace(TARGET, code=code)
    assert of("code-differs-from-submission", reply("reproduces", 53.0, target=same)) == []
    unknown = dc.replace(TARGET, code=frozenset())
    assert of("code-differs-from-submission", reply("reproduces", 53.0, target=unknown)) == []


def test_other_settings_than_the_entry_s_are_told() -> None:
    known = dc.replace(TARGET, code=frozenset(), configs=frozenset({"cd" * 32}))
    theirs = reply("reproduces", 53.0, target=known)
    evidence = tuple(
        dc.replace(
            e, runs=tuple(dc.replace(r, config={"config_sha256": "ef" * 32}) for r in e.runs)
        )
        for e in theirs.evidence
    )
    theirs = dc.replace(theirs, evidence=evidence)
    (item,) = of("code-differs-from-submission", theirs)
    assert "configuration of each of the 3 runs has the hash efefef" in item.message, item.message
    assert item.level is Level.NOTE
    same = dc.replace(known, configs=frozenset({"ef" * 32}))
    context = dc.replace(theirs.context, standing=Standing(known=True, target=same))
    assert of("code-differs-from-submission", dc.replace(theirs, context=context)) == []


def test_what_a_reply_shows_is_no_fault_of_it() -> None:
    unknown = dc.replace(TARGET, code=frozenset())
    verdict = judge(reply("reproduces", 60.0, target=unknown))
    assert verdict.status is Status.VERIFIED, verdict.findings
    challenge = judge(reply("challenges", 60.0, target=unknown))
    assert challenge.status is Status.NEEDS_REVIEW
    assert [f.rule for f in challenge.findings if f.level is Level.WARNING] == [
        "maintainer-decides"
    ]


@pytest.mark.parametrize(("entry", "marks", "asks"), [
    (True, (), True), (True, (SOURCE_READ,), False), (False, (), False),
])  # fmt: skip
def test_a_hash_that_is_only_stated(entry: bool, marks: tuple[str, ...], asks: bool) -> None:
    case = reply("reproduces", 53.0, target=dc.replace(TARGET, source_read=entry))
    evidence = tuple(
        dc.replace(item, runs=tuple(dc.replace(r, client_marks=marks) for r in item.runs))
        for item in case.evidence
    )
    said = of("maintainer-decides", dc.replace(case, evidence=evidence))
    assert ["hold the code" in item.message for item in said] == [True] * asks
