"""The order in which results enter, what each shows, and what takes a record: results by hand."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Sequence
from typing import Any

import pytest

from bot.compute.ratios import Link
from bot.model.official import OfficialRecord
from bot.rank.history import Dated, History, Shown, beats, progression

INTERVAL = (0.98 * math.exp(-0.03), 0.98 * math.exp(0.03))
WIDER = (0.97 * math.exp(-0.04), 0.97 * math.exp(0.04))


def result(name: str, cost: float, date: str | None = "2026-01-01", **more: Any) -> Dated:
    given: dict[str, Any] = {"point": "main", "quality": 3.27, "timed": True, **more}
    return Dated(date, name, cost=cost, quality_score=given["quality"], **given)


def row(number: int, cost: float, date: str | None = None, **more: Any) -> OfficialRecord:
    return OfficialRecord(number, cost, date, **more)


def line(*results: Dated, rows: Sequence[OfficialRecord] = (), **more: Any) -> History:
    return progression(results, False, rows, **more)


def steps(history: History) -> list[tuple[str, float, float | None, str | None]]:
    return [(s.submission, s.cost, s.previous, s.beat) for s in history.steps]


def shown(history: History, name: str) -> Shown:
    return history.shown[name, "main"]


# ---- The order ---------------------------------------------------------------------------------


def test_results_enter_by_date_and_the_worse_of_a_day_first() -> None:
    found = line(
        result("undated", 50, None),
        result("best", 80, "2026-01-02"),
        result("worse", 90, "2026-01-02"),
        result("first", 100, "2026-01-01"),
        result("late", 70, "2026-01-03"),
        result("slow", 95, "2026-01-03"),
    )
    assert [s.submission for s in found.steps] == ["first", "worse", "best", "late", "undated"]


def test_of_equal_costs_the_worse_quality_enters_first_and_then_the_name_decides() -> None:
    frontier = progression(
        [result("b", 9, quality=1.0), result("a", 9, quality=2.0), result("c", 9, quality=1.0)],
        True,
    )
    assert [s.submission for s in frontier.steps] == ["a", "b", "c"]
    assert frontier.steps[0].superseded_by == "b"
    points = progression([result("a", 9, point=p) for p in ("y", "x")], True)
    assert [s.point for s in points.steps] == ["x", "y"]


def test_more_may_be_better() -> None:
    rows = [result("a", 5, sign=-1), result("b", 7, "2026-01-02", sign=-1)]
    rows.append(result("c", 6, "2026-01-03", sign=-1))
    assert [s.submission for s in line(*rows, sign=-1).steps] == ["a", "b"]
    table = [row(1, 5, "2026-01-01"), row(2, 6, "2026-01-02")]
    later = line(result("c", 5.5, "2026-01-03", sign=-1), rows=table, sign=-1)
    assert steps(later) == []
    assert steps(line(result("c", 7, "2026-01-03", sign=-1), rows=table, sign=-1)) == [
        ("c", 7, 6, "#2")
    ]


def test_a_fixed_score_decides_in_place_of_the_cost() -> None:
    found = line(result("a", 100, fixed=0.9), result("b", 300, "2026-01-02", fixed=0.8))
    assert steps(found) == [("a", 100, None, None), ("b", 300, 100, "a")]
    same_day = line(result("a", 100, fixed=0.9), result("b", 300, fixed=0.8))
    assert [s.submission for s in same_day.steps] == ["a", "b"]


@pytest.mark.parametrize(
    ("score", "margin", "better"),
    [(9.0, 0.0, True), (10.0, 0.0, False), (9.0, 1.0, True), (9.1, 1.0, False), (11.0, -5, False)],
)
def test_a_record_is_beaten_by_a_margin(score: float, margin: float, better: bool) -> None:
    assert beats(score, 10.0, margin) is better
    found = line(result("a", 10.0), result("b", score, "2026-01-02"), margin=margin)
    assert (len(found.steps) == 2) is better


# ---- What a result shows -----------------------------------------------------------------------


def test_a_ratio_is_to_the_record_of_the_day_and_ratios_multiply() -> None:
    found = line(
        result("a", 100),
        result("b", 300, "2026-01-02", ratio=0.98, ratio_interval=INTERVAL),
        result("c", 500, "2026-01-03", ratio=0.97, ratio_interval=WIDER),
    )
    assert [(s.cost, s.clock, s.own) for s in found.steps] == [
        (100, "own", 100),
        (pytest.approx(98.0), "paired", 300),
        (pytest.approx(98 * 0.97), "paired", 500),
    ]
    assert found.steps[0].interval is None
    assert found.steps[1].interval == pytest.approx((98 * math.exp(-0.03), 98 * math.exp(0.03)))
    wide = math.hypot(0.03, 0.04)
    want = (95.06 * math.exp(-wide), 95.06 * math.exp(wide))
    assert found.steps[2].interval == pytest.approx(want)
    assert shown(found, "c").interval == pytest.approx(want)


def test_an_interval_needs_one_for_every_ratio() -> None:
    known, unknown = Link.of(0.98, INTERVAL), Link.of(0.98, None)
    assert Shown(98.0, "paired", (known,)).interval == pytest.approx(
        (98 * math.exp(-0.03), 98 * math.exp(0.03))
    )
    assert Shown(98.0, "paired", (known, unknown)).interval is None
    assert Shown(98.0, "paired").interval is None


def test_a_ratio_counts_for_times_and_where_there_is_something_to_multiply() -> None:
    alone = line(result("a", 100, ratio=0.5))
    assert (alone.steps[0].cost, alone.steps[0].clock) == (100, "own")
    steps_cost = line(result("a", 100), result("b", 90, "2026-01-02", ratio=0.5, timed=False))
    assert (steps_cost.steps[1].cost, steps_cost.steps[1].clock) == (90, "own")
    unknown = line(result("a", 100), result("b", 90, "2026-01-02", ratio=0.5, against="x"))
    assert (unknown.steps[1].cost, unknown.steps[1].clock) == (90, "own")


def test_a_ratio_is_to_the_first_point_of_the_entry_that_was_run() -> None:
    found = line(
        result("a", 200, point="first"),
        result("a", 100, point="second"),
        result("r", 10, "2026-01-02"),
        result("b", 90, "2026-01-03", ratio=0.5, against="a"),
    )
    assert shown(found, "b").cost == 100.0, "half of 200, and not of the record's 10"
    assert [s.submission for s in found.steps] == ["a", "a", "r"]


RETIMED = (("2026-01-05", 95.0), ("2026-01-09", 97.0))


@pytest.mark.parametrize(
    ("date", "previous"),
    [("2026-01-04", 100), ("2026-01-05", 95.0), ("2026-01-08", 95.0), ("2026-01-09", 97.0),
     (None, 97.0)],
)  # fmt: skip
def test_a_re_timing_counts_from_its_day_on(date: str | None, previous: float) -> None:
    found = line(result("a", 100, retimings=RETIMED), result("b", 50, date))
    assert steps(found) == [("a", 100, None, None), ("b", 50, previous, "a")]
    assert (shown(found, "a").cost, shown(found, "a").clock) == (97.0, "official")
    assert found.steps[0].retimings == RETIMED
    by_row = line(result("b", 50, date), rows=[row(1, 100, "2026-01-01", retimings=RETIMED)])
    assert steps(by_row) == [("b", 50, previous, "#1")]


@pytest.mark.parametrize(
    ("against", "date", "cost", "alone"),
    [
        (None, "2026-01-04", 98 * 0.97, False),
        (None, "2026-01-05", 95 * 0.97, True),  # an official time ends the chain
        ("b", "2026-01-05", 97 * 0.97, True),  # what it shows by now
    ],
)
def test_an_official_time_ends_a_chain_of_ratios(
    against: str | None, date: str, cost: float, alone: bool
) -> None:
    found = line(
        result("a", 100),
        result("b", 300, "2026-01-02", ratio=0.98, ratio_interval=INTERVAL, retimings=RETIMED),
        result("c", 500, date, ratio=0.97, ratio_interval=WIDER, against=against),
    )
    wide = 0.04 if alone else math.hypot(0.03, 0.04)
    assert shown(found, "c").cost == pytest.approx(cost)
    assert shown(found, "c").interval == pytest.approx(
        (cost * math.exp(-wide), cost * math.exp(wide))
    )
    assert shown(found, "b").interval is None


def test_a_re_timing_of_more_is_a_better_score() -> None:
    timed = (("2026-01-02", 9.0),)
    table = [row(1, 5, "2026-01-01", retimings=timed)]
    for cost, beaten in ((8, False), (10, True)):
        found = line(result("b", cost, "2026-01-03", sign=-1), rows=table, sign=-1)
        assert bool(found.steps) is beaten


# ---- The official table ------------------------------------------------------------------------


def test_rows_enter_in_the_order_of_the_table_before_results_of_their_day() -> None:
    found = line(
        result("early", 99, "2025-12-31"),
        result("same", 89, "2026-01-02"),
        result("late", 70, "2026-01-03"),
        result("undated", 60, None),
        rows=[row(1, 95, "2026-01-02"), row(2, 90), row(3, 80, "2025-01-01")],
    )
    assert steps(found) == [
        ("early", 99, None, None),
        ("late", 70, 80, "#3"),
        ("undated", 60, 70, "late"),
    ]
    assert found.steps[0].superseded_by == "#1"
    assert found.steps[0].superseded_on == "2026-01-02"
    assert (found.steps[1].superseded_by, found.steps[1].superseded_on) == ("undated", None)
    assert found.steps[2].superseded_by is None


def test_a_row_without_any_date_before_it_comes_first() -> None:
    found = line(result("a", 90, "2025-01-01"), rows=[row(1, 95), row(2, 85, "2026-01-01")])
    assert steps(found) == [("a", 90, 95, "#1")]


def test_a_row_on_file_shows_the_official_time_whatever_its_own_says() -> None:
    found = line(
        result("a", 300, "2026-01-01", retimings=(("2026-02-01", 1.0),)),
        result("b", 10, "2026-01-02", ratio=0.5),
        rows=[row(4, 100, "2026-01-01", submission="a"), row(5, 120, None, submission="b")],
    )
    assert steps(found) == [("a", 100, None, None), ("b", 120, 100, "a")], "the table says so"
    assert [(s.number, s.clock, s.own) for s in found.steps] == [
        (4, "official", 300),
        (5, "official", 10),
    ]
    assert shown(found, "a").cost == 1.0 and shown(found, "b").cost == 120
    retimed = row(4, 100, "2026-01-01", submission="a", retimings=(("2026-03-01", 2.0),))
    both = line(result("a", 300, retimings=(("2026-02-01", 1.0),)), rows=[retimed])
    assert shown(both, "a").cost == 2.0, "the table's re-timing counts before the track file's"


def test_a_row_of_another_cost_than_time_shows_its_own_cost() -> None:
    found = line(result("a", 3000, timed=False), rows=[row(1, 2999, submission="a")])
    assert (found.steps[0].cost, found.steps[0].clock) == (3000, "own")


def test_what_the_table_does_not_call_a_record_is_none() -> None:
    rows = [row(1, 100, "2026-01-01", submission="a"), row(2, 50, "2026-01-02", record=False)]
    rows.append(row(3, 40, "2026-01-03", submission="b", record=False))
    found = line(result("a", 100), result("b", 40, "2026-01-03"), rows=rows)
    assert steps(found) == [("a", 100, None, None)]
    assert shown(found, "b").clock == "official" and found.steps[0].superseded_by is None


def test_each_point_of_a_row_enters() -> None:
    found = line(
        result("a", 30, point="x"), result("a", 20, point="y"), rows=[row(1, 9, submission="a")]
    )
    assert [(s.point, s.number) for s in found.steps] == [("x", 1), ("y", 1)]


def test_what_follows_an_unread_row_does_not_end_the_step_before_again() -> None:
    rows = [row(1, 90, "2026-01-02"), row(2, 80, "2026-01-03")]
    found = line(result("a", 100), rows=rows)
    (step,) = found.steps
    assert (step.superseded_by, step.superseded_on) == ("#1", "2026-01-02")


# ---- The frontier ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("costs", "ended"),
    [
        ([(2, 2), (1, 3), (3, 1)], {}),
        ([(2, 2), (2, 2)], {}),  # equal points stay together
        ([(2, 2), (2, 3)], None),
        ([(2, 2), (3, 2)], None),
        ([(2, 2), (1, 2)], {0: "1"}),
        ([(2, 2), (2, 1)], {0: "1"}),
        ([(2, 2), (1, 3), (3, 1), (1, 1)], {0: "3", 1: "3", 2: "3"}),
        ([(2, 2), (2, 2), (1, 1)], {0: "2", 1: "2"}),
        ([(1, 4), (2, 3), (3, 2), (2, 1.5)], {1: "3", 2: "3"}),
        ([(3, 3), (1, 1), (0.5, 0.5)], {0: "1", 1: "2"}),
    ],
)
def test_each_result_on_the_frontier_is_a_step_until_one_dominates_it(
    costs: list[tuple[float, float]], ended: dict[int, str] | None
) -> None:
    """The last is dominated when it enters, if `ended` is None."""
    results = [
        dc.replace(result(str(n), x, f"2026-01-0{n + 1}"), quality=y, quality_score=y)
        for n, (x, y) in enumerate(costs)
    ]
    found = progression(results, True)
    assert len(found.steps) == len(costs) - (ended is None)
    for n, step in enumerate(found.steps):
        by = (ended or {}).get(n)
        assert (step.superseded_by, step.number) == (by, None)
        assert step.superseded_on == (None if by is None else f"2026-01-0{int(by) + 1}")
        assert (step.cost, step.quality, step.own, step.previous) == (*costs[n], costs[n][0], None)
    assert {s.clock for s in found.shown.values()} == {"own"} and len(found.shown) == len(costs)
