"""A plan beside its runs: what was kept, what differs, and what is left to people."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.compute.experiment import RULES, compare, differences, moment
from bot.model.experiment import RATIO, Condition, Plan, Row, Stop
from bot.model.run import RunRecord
from bot.model.summary import BaselineArm, Comparison, Decision, Sample, Summary
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


def row(plan: Plan, judged: Verdict, what: str, ended: bool = True) -> Row:
    return next(r for r in compare(plan, judged, ended).rows if r.what == what)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("2026-11-28T12:01:59Z", "2026-11-28 12:01 UTC"), ("soon", ""), (None, "")],
)
def test_a_moment_in_words(text: str | None, shown: str) -> None:
    assert moment(text) == shown


@pytest.mark.parametrize(
    ("change", "done", "kept"),
    [
        ({}, "first run 2026-11-03 08:00 UTC", True),
        ({"first_run_by": "GitHub"}, "first run shown 2026-11-03 08:00 UTC", True),
        ({"first_run": None}, "the time of the first run is unknown", None),
        ({"opened_at": "?"}, "first run 2026-11-03 08:00 UTC", None),
    ],
)
def test_when_the_first_run_began(change: dict[str, Any], done: str, kept: bool | None) -> None:
    found = row(dc.replace(PLAN, **change), FOUR, "Registered")
    assert (found.done, found.kept) == (done, kept)


def test_an_edit_is_told_with_its_time() -> None:
    assert row(PLAN, FOUR, "Text of the issue").done == "never edited"
    edited = dc.replace(PLAN, edited_at="2026-11-02T09:30:00Z")
    found = row(edited, FOUR, "Text of the issue")
    assert found.planned == "last edited 2026-11-02 09:30 UTC" and found.kept is True
    assert found.done == "first run 2026-11-03 08:00 UTC"


def of(*counts: int) -> Verdict:
    return verdict(*((f"p{n}", count, True, 3.2) for n, count in enumerate(counts)))


@pytest.mark.parametrize(
    ("stop", "counts", "ended", "told"),
    [
        (Stop.PLANNED, (4,), False, ("4", "4", True)),
        (Stop.PLANNED, (3,), False, ("4", "3 so far", None)),
        (Stop.PLANNED, (3,), True, ("4", "3", False)),
        (Stop.PLANNED, (5,), False, ("4", "5", False)),
        (Stop.PLANNED, (3, 4), False, ("4", "3 to 4, by point so far", None)),
        (Stop.PLANNED, (3, 5), False, ("4", "3 to 5, by point", False)),
        (Stop.PLANNED, (4, 5), True, ("4", "4 to 5, by point", False)),
        (Stop.PASSES, (3,), True, ("at most 4", "3", True)),
        (Stop.PASSES, (3, 4), True, ("at most 4", "3 to 4, by point", True)),
        (Stop.PASSES, (3, 5), True, ("at most 4", "3 to 5, by point", False)),
        (Stop.PASSES, (4,), True, ("4", "4", True)),
        (Stop.PASSES, (5,), True, ("4", "5", False)),
        (Stop.WORDS, (3,), False, ("4", "3 so far", None)),
        (None, (), False, ("4", "0 so far", None)),
        (None, (), True, ("4", "0", False)),
    ],
)
def test_how_many_runs_finished(
    stop: Stop | None, counts: tuple[int, ...], ended: bool, told: tuple[str, str, bool | None]
) -> None:
    found = row(dc.replace(PLAN, stop=stop), of(*counts), "Finished runs", ended)
    assert (found.planned, found.done, found.kept) == told


@pytest.mark.parametrize(
    ("stop", "points", "ended", "done", "kept"),
    [
        (Stop.PLANNED, ((4, True),), False, "stopped at the planned runs", True),
        (Stop.PLANNED, ((4, True), (5, True)), True, "went on after the planned runs", False),
        (Stop.PLANNED, ((3, True), (5, True)), True, "went on after the planned runs", False),
        (Stop.PLANNED, ((3, True),), False, "not at its end yet", None),
        (Stop.PLANNED, ((4, True), (3, True)), True, "stopped at 3, before the end", False),
        (Stop.PASSES, ((3, True), (2, True)), False, "stopped at 2, the test passes", True),
        (Stop.PASSES, ((3, True), (2, False)), True, "stopped at 2, before the end", False),
        (Stop.PASSES, ((3, False), (2, True)), False, "not at its end yet", None),
        (Stop.WORDS, ((3, True),), True, "for people to judge", None),
        (Stop.PLANNED, (), True, "for people to judge", None),
    ],
)
def test_where_an_experiment_stopped(
    stop: Stop, points: tuple[tuple[int, bool], ...], ended: bool, done: str, kept: bool | None
) -> None:
    judged = verdict(*((f"p{n}", count, ok, 3.2) for n, (count, ok) in enumerate(points)))
    found = row(dc.replace(PLAN, stop=stop), judged, "Stopping rule", ended)
    assert (found.planned, found.done, found.kept) == (RULES[stop], done, kept)
    unknown = dc.replace(PLAN, stop=stop, runs=None)
    assert row(unknown, judged, "Stopping rule", ended).done == "for people to judge"


RECORDS = (
    RunRecord("0.log", finished=True, point="a"),
    RunRecord("1.log", point="a"),
    RunRecord("2.log", point="b"),
    RunRecord("3.log"),
    RunRecord("4.log", finished=False, point="a"),
    RunRecord("5.log", arm="baseline", point="a"),
)


@pytest.mark.parametrize(
    ("names", "done"),
    [(("a",), "4"), (("a", "b"), "2 to 3, by point"), (("b", "c"), "1 to 2, by point")],
)
def test_runs_without_statistics_are_counted_by_point(names: tuple[str, ...], done: str) -> None:
    points = tuple(Point(name, 3.2, 1.0, {"loss": 3.2}) for name in names)
    judged = dc.replace(FOUR, points=points, runs=RECORDS)
    assert row(PLAN, judged, "Finished runs").done == done


@pytest.mark.parametrize(
    ("sign", "value", "holds"),
    [("<", 3.27, False), ("<", 3.28, True), ("<=", 3.27, True), (">", 3.27, False),
     (">", 3.26, True), (">=", 3.27, True), (">=", 3.28, False)],
)  # fmt: skip
def test_a_condition_at_its_bound(sign: str, value: float, holds: bool) -> None:
    plan = dc.replace(PLAN, conditions=(Condition("loss", sign, value),))
    assert compare(plan, FOUR, True).results == (Row("loss", f"{sign} {value:g}", "3.27", holds),)


def test_a_result_names_its_point_if_there_are_several() -> None:
    found = compare(PLAN, of(4, 4), True).results
    assert [r.what for r in found] == ["loss at p0", "loss at p1"]


def test_the_ratio_is_that_of_the_two_arms() -> None:
    plan = dc.replace(PLAN, conditions=(Condition(RATIO, "<", 0.9),))
    assert compare(plan, FOUR, True).results[0].done == "not measured"
    test = Comparison("welch", 0.0, None, None, None, 0.875, None)
    arm = BaselineArm(cost=Sample((8.0,)), comparison=test)
    both = Summary(quality=Sample((3.27,) * 4), cost=Sample((7.0,)), baseline=arm)
    judged = dc.replace(FOUR, points=(Point("", 3.27, 7.0, {}, both),))
    found = compare(plan, judged, True)
    assert found.results == (Row(RATIO, "< 0.9", "0.875", True),) and found.confirmed is True


@pytest.mark.parametrize(
    ("change", "count", "ended", "confirmed"),
    [
        ({}, 3, False, None),
        ({}, 4, False, True),
        ({}, 3, True, True),
        ({"stop": Stop.PASSES}, 3, False, True),
        ({"runs": None}, 3, False, True),
        ({"runs": None}, 0, False, True),
    ],
)
def test_the_outcome_waits_for_the_planned_runs_alone(
    change: dict[str, Any], count: int, ended: bool, confirmed: bool | None
) -> None:
    assert compare(dc.replace(PLAN, **change), of(count), ended).confirmed is confirmed
