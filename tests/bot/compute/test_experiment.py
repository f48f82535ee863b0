"""A plan beside its runs: what was kept, what differs, and what is left to people."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.compute.experiment import compare, differences
from bot.model.experiment import Condition, Plan, Stop
from bot.model.run import RunRecord
from bot.model.summary import Decision, Sample, Summary
from bot.model.verdict import Point, Verdict, finding
from bot.registry import Grade, Status

PLAN = Plan(
    issue=7,
    title="Idea",
    author="example-user",
    opened_at="2026-11-01T08:00:00Z",
    edited_at=None,
    sha256="0" * 64,
    track="mini",
    conditions=(Condition("loss", "<", 3.28),),
    runs=4,
    stop=Stop.PLANNED,
    first_run="2026-11-03T08:00:00Z",
    first_run_by="W&B",
)


def _tested(n: int, passes: bool, loss: float) -> Summary:
    return Summary(quality=Sample((loss,) * n), decision=Decision("t", None, None, passes))


def verdict(*points: tuple[str, int, bool, float], **fields: Any) -> Verdict:
    """A verdict of points (name, runs that count, passes, loss)."""
    made = tuple(
        Point(name, loss, 1.0, {"loss": loss}, _tested(n, passes, loss))
        for name, n, passes, loss in points
    )
    return Verdict("submissions/mini/a", "mini", Status.VERIFIED, Grade.LOG, (), made, **fields)


FOUR = verdict(("", 4, True, 3.27))


def differing(plan: Plan, judged: Verdict, ended: bool = True) -> list[str]:
    return [row.what for row in differences(compare(plan, judged, ended))]


def test_everything_kept() -> None:
    found = compare(PLAN, FOUR, True)
    assert (found.kept, found.confirmed) == (True, True)
    assert [row.what for row in found.rows] == [
        "Registered",
        "Text of the issue",
        "Track",
        "Finished runs",
        "Stopping rule",
    ]


@pytest.mark.parametrize(
    "change, differ",
    [
        ({"first_run": "2026-11-01T08:00:00Z"}, []),
        ({"first_run": "2026-11-01T07:59:59Z"}, ["Registered"]),
        ({"edited_at": "2026-11-03T08:00:00Z"}, []),
        ({"edited_at": "2026-11-03T08:00:01Z"}, ["Text of the issue"]),
        ({"first_run": None, "edited_at": "2026-11-09T08:00:00Z"}, []),
        ({"track": "lab"}, ["Track"]),
        ({"track": ""}, []),
        ({"runs": None}, []),
        ({"stop": None}, []),
    ],
)
def test_what_differs(change: dict[str, Any], differ: list[str]) -> None:
    assert differing(dc.replace(PLAN, **change), FOUR) == differ


@pytest.mark.parametrize(
    "stop, runs, passes, ended, differ",
    [
        (Stop.PLANNED, 4, False, True, []),
        (Stop.PLANNED, 3, True, True, ["Finished runs", "Stopping rule"]),
        (Stop.PLANNED, 3, True, False, []),
        (Stop.PLANNED, 5, True, False, ["Finished runs", "Stopping rule"]),
        (Stop.PASSES, 3, True, True, []),
        (Stop.PASSES, 3, False, True, ["Stopping rule"]),
        (Stop.PASSES, 3, False, False, []),
        (Stop.PASSES, 5, True, True, ["Finished runs", "Stopping rule"]),
        (Stop.WORDS, 3, True, True, ["Finished runs"]),
        (Stop.WORDS, 4, True, True, []),
    ],
)
def test_runs_and_stopping_rule(
    stop: Stop, runs: int, passes: bool, ended: bool, differ: list[str]
) -> None:
    plan = dc.replace(PLAN, stop=stop)
    assert differing(plan, verdict(("", runs, passes, 3.27)), ended) == differ


def test_each_point_has_its_planned_runs() -> None:
    assert differing(PLAN, verdict(("130m", 4, True, 3.2), ("300m", 4, True, 3.1))) == []
    uneven = verdict(("130m", 4, True, 3.2), ("300m", 2, True, 3.1))
    assert differing(PLAN, uneven) == ["Finished runs", "Stopping rule"]
    assert compare(PLAN, uneven, True).rows[3].done == "2 to 4, by point"


@pytest.mark.parametrize("loss, confirmed", [(3.2799, True), (3.28, False), (3.29, False)])
def test_outcome(loss: float, confirmed: bool) -> None:
    assert compare(PLAN, verdict(("", 4, True, loss)), True).confirmed is confirmed


def test_outcome_needs_all_points_and_all_planned_runs() -> None:
    two = verdict(("130m", 4, True, 3.2), ("300m", 4, True, 3.3))
    assert compare(PLAN, two, True).confirmed is False
    few = verdict(("", 3, True, 3.2))
    assert compare(PLAN, few, False).confirmed is None
    assert compare(PLAN, few, True).confirmed is True


def test_nothing_foretold_or_not_measured_is_for_people() -> None:
    assert compare(dc.replace(PLAN, conditions=()), FOUR, True).confirmed is None
    other = dc.replace(PLAN, conditions=(Condition("bpb", "<", 1.0), *PLAN.conditions))
    found = compare(other, FOUR, True)
    assert found.confirmed is None and found.results[0].done == "not measured"


def test_runs_of_a_track_without_a_test_are_counted() -> None:
    runs = tuple(RunRecord(f"{n}.log", finished=n != 2) for n in range(4))
    judged = dc.replace(FOUR, points=(Point("", 3.2, 1.0, {"loss": 3.2}),), runs=runs)
    assert compare(PLAN, judged, True).rows[3].done == "3"


def test_runs_that_were_left_out_are_named() -> None:
    judged = dc.replace(FOUR, findings=(finding("unlisted-runs", "2 more runs"),))
    assert differing(PLAN, judged) == ["Runs left out"]
    assert differing(PLAN, dc.replace(FOUR, findings=(finding("mfu-unusual", "low"),))) == []


def test_nothing_was_read() -> None:
    assert differing(PLAN, verdict()) == ["Finished runs"]
    assert compare(PLAN, verdict(), True).confirmed is None


def test_the_outcome_waits_for_the_point_with_the_fewest_runs() -> None:
    uneven = verdict(("130m", 4, True, 3.2), ("300m", 3, True, 3.2))
    assert compare(PLAN, uneven, False).confirmed is None
    assert compare(PLAN, uneven, True).confirmed is True
