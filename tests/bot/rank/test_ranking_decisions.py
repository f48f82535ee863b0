"""What a board says beside the places: bands, ranks, clocks, the standing and where a PR is."""

from __future__ import annotations

import dataclasses as dc
import math
import tomllib
from typing import Any

import pytest

from bot.model.board import Board
from bot.model.official import OfficialRecord, OfficialTable
from bot.model.summary import BaselineArm, Comparison, Sample, Summary
from bot.model.track import Axis, Significance, Track
from bot.model.verdict import Point, Verdict
from bot.parse.track_toml import parse_track
from bot.rank.ranking import in_band, rank
from bot.registry import Grade, Status
from tests.track_texts import time_to_loss

TARGET = parse_track(tomllib.loads(time_to_loss("t", "T", significance='test = "none"')), "t.toml")
PARETO = Track("t", "T", "pareto", Axis("bpb"), Axis("hardware_flops"))
MOST = Track("t", "T", "pareto", Axis("score", goal="max"), Axis("speed", goal="max"))
RATIOS = dc.replace(TARGET, objective="baseline", baseline_id="b1", promote_at=0.9)
STEPS = dc.replace(
    TARGET,
    cost=Axis("steps", step=0.01),
    significance=Significance("z", sigma=0.001),
)


def a_point(quality: float, cost: float, name: str = "main", stats: Summary | None = None) -> Point:
    return Point(name, quality, cost, {}, stats)


def made(name: str, *points: Point, **fields: Any) -> Verdict:
    given: dict[str, Any] = {"date": "2026-01-01", **fields}
    path = f"submissions/t/{name}"
    return dc.replace(Verdict(path, "t", Status.VERIFIED, Grade.LOG, (), points), **given)


def of(name: str, quality: float, cost: float, **fields: Any) -> Verdict:
    return made(name, a_point(quality, cost), **fields)


def runs(name: str, *costs: float, **fields: Any) -> Verdict:
    stats = Summary(cost=Sample(costs))
    return made(name, a_point(3.27, math.fsum(costs) / len(costs), stats=stats), **fields)


def by_ratio(
    name: str, ratio: Any, interval: Any = None, cost: float = 104.0, **more: Any
) -> Verdict:
    arm = BaselineArm(comparison=Comparison("welch", 0, None, None, None, ratio, interval))
    stats = Summary(cost=Sample((cost - 1, cost + 1)), baseline=arm)
    return made(name, a_point(3.27, cost, stats=stats), **more)


def seen(board: Board) -> list[tuple[str, int, bool, bool]]:
    return [(e.submission[14:], e.place, e.tied, e.on_frontier) for e in board.entries]


def official(*rows: tuple[float, str | None, bool]) -> Track:
    table = tuple(
        OfficialRecord(n, cost, "2026-01-01", submission=name, record=record)
        for n, (cost, name, record) in enumerate(rows, 1)
    )
    return dc.replace(TARGET, official=OfficialTable(records=table))


# ---- Places ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("track", "sign"), [(PARETO, 1), (MOST, -1)])
def test_the_frontier_shares_the_first_place(track: Track, sign: int) -> None:
    rows = {"a": (1.0, 3.0), "b": (2.0, 2.0), "c": (3.0, 2.5), "d": (3.0, 2.6), "e": (9.0, 9.0)}
    board = rank([of(n, sign * q, sign * c) for n, (q, c) in rows.items()], track)
    assert seen(board) == [
        ("b", 1, True, True),
        ("a", 1, True, True),
        ("c", 2, False, False),
        ("d", 3, False, False),
        ("e", 5, False, False),
    ]
    ahead = sorted(board.frontier, key=lambda e: e.shown_cost)
    assert list(board.frontier) == ahead and len(ahead) == 2


def test_only_equal_costs_share_a_place() -> None:
    board = rank([of(n, 3.27, c) for n, c in zip("dcba", (9, 7, 7, 5), strict=True)], TARGET)
    assert seen(board) == [
        ("a", 1, False, True),
        ("b", 2, True, False),
        ("c", 2, True, False),
        ("d", 4, False, False),
    ]
    first = rank([of(n, 3.27, c) for n, c in zip("abc", (5, 5, 7), strict=True)], TARGET)
    assert [(e.place, e.tied) for e in first.entries] == [(1, True), (1, True), (3, False)]
    more = dc.replace(TARGET, cost=Axis("speed", goal="max"))
    assert [e.submission[-1] for e in rank([of("a", 3.2, 5), of("b", 3.2, 7)], more).entries] == [
        "b",
        "a",
    ]


def test_what_does_not_rank_is_in_order_of_name_and_point() -> None:
    missed = made("b", a_point(3.3, 1, "z"), a_point(3.3, 1, "y"))
    board = rank([missed, of("c", 3.3, 1), made("a")], TARGET)
    found = [(u.verdict.submission[-1], u.point and u.point.name) for u in board.unranked]
    assert found == [("a", None), ("b", "y"), ("b", "z"), ("c", "main")]
    assert board.declared is None and board.base is board.track


# ---- Ranks that may be true --------------------------------------------------------------------

FAR = 1000.0


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ((100.0, 100.1, 100.2), True),
        ((100.0, 100.1), False),  # two runs tell nothing
        ((100.0,), False),
    ],
)
def test_entries_of_three_runs_are_told_apart(first: tuple[float, ...], told: bool) -> None:
    board = rank([runs("a", *first), runs("b", FAR, FAR + 0.1, FAR + 0.2)], TARGET)
    assert [e.ranks for e in board.entries] == ([(1, 1), (2, 2)] if told else [(1, 2), (1, 2)])


def test_a_spread_is_that_of_the_clock_that_is_shown() -> None:
    """Official times of 100 and 101 s; own clocks ten times as slow, with a spread of 6 s."""
    slow = (1000.0, 994.0, 1006.0, 1000.0)
    rows = OfficialTable(records=tuple(
        OfficialRecord(n, cost, "2026-01-01", submission=f"submissions/t/{name}", record=True)
        for n, cost, name in ((1, 101.0, "b"), (2, 100.0, "a"))
    ))  # fmt: skip
    board = rank([runs("a", *slow), runs("b", *slow)], dc.replace(TARGET, official=rows))
    assert [(e.shown_cost, e.clock) for e in board.entries] == [
        (100.0, "official"),
        (101.0, "official"),
    ]
    # 0.49 s in place of 4.9 s: t = 1 / (0.49 sqrt(2 / 4)) = 2.9, p = 0.014 one-sided.
    assert [e.ranks for e in board.entries] == [(1, 1), (2, 2)]


def test_free_runs_have_no_spread() -> None:
    board = rank([runs("a", 0.0, 0.0, 0.0), runs("b", 1.0, 1.1, 1.2)], TARGET)
    assert [e.ranks for e in board.entries] == [(1, 2), (1, 2)]


@pytest.mark.parametrize(("steps", "told"), [(25, False), (40, True), (-40, True)])
def test_steps_and_losses_are_on_one_scale(steps: int, told: bool) -> None:
    """100 steps are 0.01; of four runs each 0.001 sqrt(1/4 + 1/4) = 0.0007: 3.5 and 5.7 of it.

    The loss takes 0.0014 of that away: 1.6 and 3.7 of it.
    """
    four = Summary(quality=Sample((3.27,) * 4))
    loss = 3.27 - math.copysign(0.0014, steps)
    rows = [made("a", a_point(3.27, 3000, stats=four))]
    rows.append(made("b", a_point(loss, 3000 + steps, stats=four)))
    ranks = [e.ranks for e in rank(rows, STEPS).entries]
    assert ranks == ([(1, 1), (2, 2)] if told else [(1, 2), (1, 2)])


@pytest.mark.parametrize(("steps", "told"), [(27.8, True), (27.6, False)])
def test_steps_are_worth_what_the_track_says(steps: float, told: bool) -> None:
    """1.96 x 0.001 sqrt(2) = 0.002772 between single runs, which 27.72 steps are worth."""
    board = rank([of("a", 3.27, 3000), of("b", 3.27, 3000 + steps)], STEPS)
    assert [e.ranks for e in board.entries] == ([(1, 1), (2, 2)] if told else [(1, 2), (1, 2)])


def test_steps_have_ranks_by_the_known_spread_alone() -> None:
    rows = [of("a", 3.27, 3000), of("b", 3.27, 3040)]
    # One run each: 0.004 / (0.001 sqrt(2)) = 2.8 of it, p = 0.0047.
    assert [e.ranks for e in rank(rows, STEPS).entries] == [(1, 1), (2, 2)]
    unknown = dc.replace(STEPS, significance=Significance("t"))
    assert [e.ranks for e in rank(rows, unknown).entries] == [None, None]
    assert rank([], STEPS).entries == ()
    steps = [of(f"a{n}", 3.27, 3000 + n) for n in range(2)]
    assert [e.ranks for e in rank(steps, STEPS).entries] == [(1, 2), (1, 2)]


# ---- Bands -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [1, -1])
def test_an_entry_is_in_the_hardest_band_that_it_reaches(sign: int) -> None:
    goal = "min" if sign == 1 else "max"
    axes = Axis("q", goal=goal, bands=(sign * 1.0, sign * 2.0)), Axis("c", goal=goal)
    track = Track("t", "T", "pareto", *axes)
    rows = {"a": (1.0, 9.0), "b": (1.5, 5.0), "c": (2.0, 4.0), "d": (0.9, 9.0), "e": (2.1, 1.0)}
    board = rank([of(n, sign * q, sign * c) for n, (q, c) in rows.items()], track)
    found = {e.submission[-1]: (e.band, e.band_place) for e in board.entries}
    hard, easy = sign * 1.0, sign * 2.0
    assert found == {
        "a": (hard, 1),
        "b": (easy, 2),
        "c": (easy, 1),
        "d": (hard, 1),
        "e": (None, None),
    }
    inside = in_band(board, easy)
    order = [("c", 1), ("b", 2), ("a", 3), ("d", 3)]
    assert [(e.submission[-1], e.band_place) for e in inside] == order


# ---- Clocks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [(0.98, 98.0), (None, 104.0), (0.0, 104.0), (-0.5, 104.0), (math.inf, 104.0), (math.nan, 104)],
)
def test_a_time_is_that_of_the_record_times_the_ratio(ratio: float | None, shown: float) -> None:
    board = rank([runs("a", 100.0, 100.0), by_ratio("b", ratio, date="2026-02-01")], TARGET)
    costs = {e.submission[-1]: e.shown_cost for e in board.entries}
    assert costs == {"a": 100.0, "b": pytest.approx(shown)}


@pytest.mark.parametrize(
    ("interval", "told"),
    [((0.97, 0.99), True), (None, False), ((0.97, math.inf), False), ((math.nan, 0.99), False)],
)
def test_a_record_by_its_ratio_has_the_interval_of_the_ratio(interval: Any, told: bool) -> None:
    record = by_ratio("b", math.sqrt(0.97 * 0.99), interval, date="2026-02-01")
    step = rank([runs("a", 100.0, 100.0), record], TARGET).records[-1]
    assert step.submission == "submissions/t/b"
    assert step.interval == (pytest.approx((97.0, 99.0)) if told else None)


@pytest.mark.parametrize("named", ["a", "t/a", "submissions/t/a"])
def test_a_ratio_is_to_what_the_entry_is_based_on(named: str) -> None:
    rows = [runs("a", 100.0, 100.0), runs("r", 50.0, 50.0, date="2026-01-15")]
    later = by_ratio("b", 0.5, date="2026-02-01", based_on=named)
    board = rank([*rows, later], TARGET)
    assert {e.submission[-1]: e.shown_cost for e in board.entries}["b"] == 50.0
    nothing = dc.replace(later, based_on="elsewhere")
    assert {e.submission[-1]: e.shown_cost for e in rank([*rows, nothing], TARGET).entries} == {
        "a": 100.0,
        "r": 50.0,
        "b": 25.0,
    }


def test_ratios_move_times_on_a_target_track_alone() -> None:
    steps = dc.replace(TARGET, cost=Axis("steps"))
    rows = [runs("a", 100.0, 100.0), by_ratio("b", 0.98, date="2026-02-01")]
    assert sorted(e.shown_cost for e in rank(rows, steps).entries) == [100.0, 104.0]
    pareto = dc.replace(TARGET, objective="pareto")
    assert sorted(e.shown_cost for e in rank(rows, pareto).entries) == [100.0, 104.0]
    ratios = [by_ratio("a", 0.95), by_ratio("b", 0.9, cost=200.0, date="2026-02-01")]
    table = official((1.0, None, True)).official
    board = rank(ratios, dc.replace(RATIOS, official=table))
    assert [e.shown_cost for e in board.entries] == [200.0, 104.0]
    assert [s.submission[-1] for s in board.records] == ["a", "b"], "and no table counts"


def test_what_a_frontier_has_is_no_record_once_it_is_dominated() -> None:
    late = of("b", 2.0, 4.0, date="2026-02-01")
    assert [s.submission[-1] for s in rank([of("a", 1.0, 3.0), late], PARETO).records] == ["a"]


@pytest.mark.parametrize(("cost", "record"), [(99.0, "b"), (99.5, "a")])
def test_a_record_is_beaten_by_the_margin(cost: float, record: str) -> None:
    track = dc.replace(TARGET, significance=Significance("none", margin=1.0))
    board = rank([of("a", 3.27, 100.0), of("b", 3.27, cost, date="2026-02-01")], track)
    assert board.records[-1].submission[-1] == record
