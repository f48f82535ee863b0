"""What tells which baseline an arm ran, each witness alone; which arm a run is of; chains."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from typing import Any

import pytest

from bot.compute.baselines import (
    Ran,
    alike,
    config_of,
    converted,
    mixed,
    of_baseline,
    ran,
    recognised,
    relation,
    says_arm,
    told_apart,
)
from bot.model.case import PullRequest, RunEvidence
from bot.model.run import Run
from bot.model.submission import RunSpec
from bot.model.track import BaselineCode
from tests.bot.compute.test_baselines import CHAIN, ONE, case, frozen, one

EARLY, BETWEEN, LATE = "2026-01-05T00:00:00Z", "2026-02-01T13:00:00Z", "2026-02-09T00:00:00Z"


def moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def pull(opened: str | None) -> PullRequest:
    fields: dict[str, Any] = {"opened_at": None if opened is None else moment(opened)}
    return PullRequest(number=1, author="example-user", **fields)


@pytest.mark.parametrize(
    ("begun", "fields", "expected"),
    [
        ([None], {}, Ran("b3")),
        ([EARLY], {}, Ran("b1", "clock")),
        ([EARLY, BETWEEN], {}, Ran("b2", "clock")),  # the last of them
        ([EARLY, None], {}, Ran("b3")),  # of one nobody knows
        ([None], {"first_seen": moment(BETWEEN)}, Ran("b2", "clock")),
        ([None], {"pull_request": pull(BETWEEN)}, Ran("b2", "clock")),
        ([None], {"pull_request": pull(None)}, Ran("b3")),
        ([None], {"first_seen": moment(LATE), "pull_request": pull(EARLY)}, Ran("b3", "clock")),
        ([LATE], {"first_seen": moment(BETWEEN)}, Ran("b2", "clock")),  # the earlier of both
        ([BETWEEN], {"received": LATE}, Ran("b2", "clock")),
        ([BETWEEN], {"received": EARLY}, Ran("b1", "clock")),
    ],
)
def test_the_clock_tells_which_baseline_stood(
    begun: list[str | None], fields: dict[str, Any], expected: Ran
) -> None:
    made = case(*(one(n, at=at) for n, at in enumerate(begun)), **fields)
    assert ran(made) == expected


@pytest.mark.parametrize(
    ("imported", "merged", "mine", "expected"),
    [
        ({"date": "2026-01-05"}, True, True, Ran("b1", "clock")),
        ({"date": "2026-01-05"}, False, True, Ran("b3")),
        ({"date": "2026-01-05"}, True, False, Ran("b3")),
        ({"date": 7}, True, True, Ran("b3")),
        ({}, True, True, Ran("b3")),
    ],
)
def test_the_date_of_an_imported_entry_counts_where_maintainers_brought_it(
    imported: dict[str, Any], merged: bool, mine: bool, expected: Ran
) -> None:
    """`parse_timestamp` reads a day with a time."""
    stated = {k: f"{v} 00:00:00" if isinstance(v, str) else v for k, v in imported.items()}
    made = case(one(1), merged=merged, submission={"imported": stated})
    track = dc.replace(ONE, imported=("submissions/nanogpt-small/*",) if mine else ())
    assert ran(dc.replace(made, track=track)) == expected


def test_who_says_it_is_known_or_not() -> None:
    known = {by: Ran("b1", by).known for by in ("code", "author", "record", "clock", "")}
    assert known == {"code": True, "author": True, "record": False, "clock": False, "": False}


def test_an_arm_is_of_a_baseline_on_a_track_that_has_one() -> None:
    made = case(one(1, "c1"))
    assert ran(dc.replace(made, track=dc.replace(ONE, objective="target"))) is None
    empty = dc.replace(ONE, baselines=(), baseline_id="said")
    dated = case(one(1), received=EARLY)
    assert ran(dc.replace(dated, track=empty)) == Ran("said")
    assert mixed(case(one(1))) == () == mixed(case())


@pytest.mark.parametrize(
    ("track", "code", "ratio"),
    [
        (ONE, "c1", 0.5 / 0.72),
        (ONE, "c2", 0.5),
        (dc.replace(ONE, baselines=CHAIN, baseline_id="b4"), "c1", None),
        (dc.replace(ONE, objective="target"), "c1", 0.5),
        (dc.replace(ONE, baseline_id=None), "c1", 0.5),
    ],
)
def test_a_ratio_is_turned_into_one_to_the_baseline_that_stands(
    track: Any, code: str, ratio: float | None
) -> None:
    found = converted(dc.replace(case(one(1, code)), track=track), 0.5)
    assert found is None if ratio is None else found == pytest.approx(ratio)


# ---- By code and configuration -------------------------------------------------------------------

BARE = frozen("bare", "2026-05-01", configs=("k1",))
CODED = frozen("coded", "2026-05-01", code=BaselineCode("train.py", "c7"))


@pytest.mark.parametrize(
    ("run", "ids"),
    [
        (one(1, "c1"), {"b1"}),
        (one(1, "c1", "other"), {"b1"}),
        (one(1, "c2"), {"b2", "b3"}),
        (one(1, "c2", "k3"), {"b3"}),
        (one(1, "c2", "k1"), {"b2", "b3"}),
        (one(1, "c7"), {"coded"}),
        (one(1, "c8", "k1"), {"bare"}),  # it names no code
        (one(1, "", "k1"), {"b1", "bare"}),
        (one(1, "c8", "k2"), set()),
        (one(1), set()),
    ],
)
def test_a_run_is_recognised_by_its_code_then_by_its_configuration(run: Run, ids: set[str]) -> None:
    assert recognised(run, (*CHAIN, BARE, CODED)) == ids


def test_a_configuration_has_a_hash_that_is_a_text() -> None:
    assert config_of(one(1, config="k")) == "k" and config_of(one(1)) is None
    assert config_of(dc.replace(one(1), config={"config_sha256": 7})) is None


@pytest.mark.parametrize(
    ("mine", "theirs", "same"),
    [
        (("a", "k"), ("a", "k"), True),
        (("a", "k"), ("a", "l"), False),
        (("a", "k"), ("a", ""), True),
        (("a", ""), ("a", "l"), True),
        (("a", ""), ("b", ""), False),
        (("a", "k"), ("b", "k"), False),
        (("a", "k"), ("", "k"), True),
        (("", "k"), ("b", "k"), True),
        (("", "k"), ("", "k"), True),
        (("", "k"), ("", ""), False),
        (("", ""), ("b", "l"), False),
        (("", ""), ("", ""), False),
    ],
)
def test_two_runs_are_of_one_code_and_configuration(
    mine: tuple[str, str], theirs: tuple[str, str], same: bool
) -> None:
    assert alike(one(1, *mine), one(2, *theirs)) is same


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (one(5, "c1"), True),  # a frozen baseline's
        (one(5, "own"), True),  # the listed arm's
        (one(5, "new"), False),  # the candidate's
        (one(5, "elsewhere"), False),
        (one(5), False),
    ],
)
def test_a_run_that_is_not_listed_is_of_the_baseline_arm(run: Run, told: bool) -> None:
    assert of_baseline(case(one(1, "own")), run) is told


def test_what_both_arms_ran_is_of_neither() -> None:
    assert not of_baseline(case(one(1, "new")), one(5, "new"))


# ---- What the list says --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "pointer", "says"),
    [
        ([{}], "/runs/0", False),
        ([{"arm": None}], "/runs/0", True),
        ([{}, {"arm": "candidate"}], "/runs/1", True),
        ([{}], "/runs/1", True),
        ([{}], "/runs/x", True),
        ([{}], "", True),
        ({"0": {}}, "/runs/0", True),
        ("ab", "/runs/0", True),
        (None, "/runs/0", True),
        (["link"], "/runs/0", True),
    ],
)
def test_whether_the_list_says_the_arm(listed: Any, pointer: str, says: bool) -> None:
    made = dc.replace(case().submission, raw={"runs": listed})
    evidence = RunEvidence(RunSpec("wandb", "a", pointer=pointer))
    assert says_arm(made, evidence) is says


def told(*items: tuple[str | None, tuple[Run, ...]], objective: str = "baseline") -> Any:
    entries = [{"arm": arm} if arm else {} for arm, _ in items]
    evidence = tuple(
        RunEvidence(RunSpec("wandb", str(n), arm or "candidate", pointer=f"/runs/{n}"), runs)
        for n, (arm, runs) in enumerate(items)
    )
    made = dc.replace(case().submission, raw={"runs": entries})
    found = told_apart(evidence, made, dc.replace(ONE, objective=objective))
    return None if found is evidence else [item.spec.arm for item in found]


NEW, THEIRS = (one(1, "new"),), (one(2, "c1"),)


def test_runs_of_the_baseline_are_moved_where_a_candidate_is_left() -> None:
    assert told((None, NEW), (None, THEIRS)) == ["candidate", "baseline"]
    assert told((None, NEW), (None, THEIRS), objective="target") is None
    assert told(("candidate", NEW), ("candidate", THEIRS)) is None
    assert told((None, THEIRS), (None, ())) is None, "no run would be left as the candidate"
    assert told((None, NEW), (None, (*THEIRS, *NEW))) == ["candidate", "candidate"]
    assert told((None, NEW), (None, ()), (None, THEIRS)) == ["candidate", "candidate", "baseline"]


# ---- Chains --------------------------------------------------------------------------------------


def test_chains_meet_at_what_they_share() -> None:
    """Two lines from one baseline: 0.9 and 0.8 of it, and 0.7 of the first."""
    forked = (
        frozen("a", "2026-01-01"),
        frozen("b", "2026-01-02", after="a", ratio=0.9),
        frozen("c", "2026-01-03", after="a", ratio=0.8),
        frozen("d", "2026-01-04", after="b", ratio=0.7),
        frozen("e", "2026-01-05", after="nobody", ratio=0.5),
        frozen("f", "2026-01-06", after="d"),
        frozen("g", "2026-01-07", after="f", ratio=0.6),
    )

    def between(own: str, current: str) -> list[float] | None:
        found = relation(forked, own, current)
        return None if found is None else [round(link.ratio, 9) for link in found]

    assert between("d", "b") == [0.7] and between("b", "d") == [round(1 / 0.7, 9)]
    assert between("d", "c") == [0.9, 0.7, 1.25]
    assert between("a", "d") == [round(1 / 0.9, 9), round(1 / 0.7, 9)]
    assert between("e", "a") is None, "it is after one that nobody knows"
    assert between("f", "d") is None and between("g", "f") == [0.6], "frozen without a ratio"
    assert between("nobody", "nobody") == [] and between("a", "nobody") is None
