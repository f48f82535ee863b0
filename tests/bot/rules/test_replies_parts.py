"""What a maintainer is told of a reply: which ratio, what was claimed, and what it misses."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.model.case import Case
from bot.model.run import SOURCE_READ
from bot.model.track import Baseline, Reproduction
from bot.model.verdict import Finding
from tests.bot.rules.run_cases import found
from tests.bot.rules.test_arms import SINGLE, run
from tests.bot.rules.test_replies import TARGET, reply

ASKING = dc.replace(SINGLE, reproduction=Reproduction(2, "maintainer", 0.05))
TAKE = f"these runs of {TARGET.path} take"
DECIDES = "; a maintainer decides whether they count"


def asked(case: Case) -> list[Finding]:
    return list(found("maintainer-decides", case))


def test_only_a_reply_to_an_entry_that_is_there_waits() -> None:
    case = reply("reproduces", 57.0, track=ASKING)
    assert asked(dc.replace(case, submission=dc.replace(case.submission, reply=None))) == []
    assert asked(reply("challenges", 60.0, target=None, track=ASKING)) == []
    assert len(asked(reply("challenges", 60.0, track=dc.replace(SINGLE, reproduction=None)))) == 1
    assert asked(reply("reproduces", 60.0, track=dc.replace(SINGLE, reproduction=None))) == []


def test_what_was_claimed_stands_beside_what_was_found() -> None:
    (item,) = asked(reply("reproduces", 57.0, track=ASKING))
    assert item.message == f"{TAKE} 95 % of the baseline's cost, 87.5 % was claimed{DECIDES}"
    assert item.claimed == pytest.approx(0.95, abs=0.001)
    assert (item.expected, item.pointer) == (0.875, "/reproduces")
    (item,) = asked(reply("reproduces", 57.0, track=ASKING, target=dc.replace(
        TARGET, statistics=None)))  # fmt: skip
    assert (item.message, item.expected) == (f"{TAKE} 95 % of the baseline's cost{DECIDES}", None)


def with_runs(case: Case, change: Any) -> Case:
    """The case with the candidate's n-th run changed."""
    items = [
        dc.replace(item, runs=tuple(change(n, r) for r in item.runs)) if n < 3 else item
        for n, item in enumerate(case.evidence)
    ]
    return dc.replace(case, evidence=tuple(items))


def test_runs_that_miss_the_target_are_told() -> None:
    slow = with_runs(
        reply("reproduces", 57.0, track=ASKING), lambda n, r: run(n, 57 + n / 10, 3.4 + n / 500)
    )
    (item,) = asked(slow)
    assert ", 87.5 % was claimed, and they miss the target; a maintainer" in item.message


@pytest.mark.parametrize(("marked", "asks"), [((), True), ((0,), True), ((0, 1, 2), False)])
def test_every_run_holds_its_code(marked: tuple[int, ...], asks: bool) -> None:
    case = reply("reproduces", 53.0, target=dc.replace(TARGET, source_read=True))
    case = with_runs(
        case, lambda n, r: dc.replace(r, client_marks=(SOURCE_READ,) if n in marked else ())
    )
    assert len(asked(case)) == asks


def frozen(name: str, after: str | None, ratio: float | None) -> Baseline:
    return Baseline(name, f"submissions/{name}", "2026-01-01", "training_time_s", (), (),
                    after=after, ratio=ratio)  # fmt: skip


@pytest.mark.parametrize(
    ("after", "theirs", "share"),
    [
        ("a", "b", "95 %"),
        ("a", "a", "85.5 %"),  # b takes 90 % of a
        ("a", None, "95 %"),
        (None, "a", None),  # nothing relates the two
        (None, "b", "95 %"),
    ],
)
def test_the_ratio_is_to_the_baseline_of_the_entry(
    after: str | None, theirs: str | None, share: str | None
) -> None:
    baselines = (frozen("a", None, None), frozen("b", after, 0.9 if after else None))
    track = dc.replace(ASKING, baselines=baselines)
    case = reply("reproduces", 57.0, track=track, target=dc.replace(TARGET, against=theirs))
    case = dc.replace(case, context=dc.replace(case.context, against="b"))
    assert [f.message.partition(" of the baseline")[0] for f in asked(case)] == (
        [f"{TAKE} {share}"] if share else []
    )


def test_a_track_without_a_frozen_baseline_relates_nothing() -> None:
    track = dc.replace(ASKING, baselines=(), baseline_id=None)
    case = reply("reproduces", 57.0, track=track, target=dc.replace(TARGET, against="a"))
    assert [TAKE + " 95 %" in item.message for item in asked(case)] == [True]


def test_only_the_first_point_replies() -> None:
    case = reply("reproduces", 57.0, track=ASKING)
    twice = []
    for point in ("a", "b"):
        for item in case.evidence[:3]:
            spec = dc.replace(item.spec, point=point)
            twice.append(dc.replace(item, spec=spec))
    about = dc.replace(case.submission, points=("a", "b"))
    both = dc.replace(case, submission=about, evidence=(*twice, *case.evidence[3:]))
    assert len(asked(both)) == 1
