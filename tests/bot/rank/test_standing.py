"""What a board says to a pull request: the standing, the place it would have, and why none."""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Any

import pytest

from bot.model.run import TRAINER, RunRecord
from bot.model.submission import Reply
from bot.model.summary import Summary
from bot.model.track import Axis
from bot.model.verdict import Verdict
from bot.rank.ranking import place_of, rank, standing, why_not
from bot.registry import Status
from tests.bot.rank.test_ranking_decisions import (
    PARETO,
    RATIOS,
    TARGET,
    a_point,
    by_ratio,
    made,
    of,
    official,
    runs,
)

A = "submissions/t/a"


@pytest.mark.parametrize(
    ("rows", "cost", "costs"),
    [
        ([(90.0, None, True)], 90.0, (90.0,)),
        ([(100.5, None, True)], 100.0, (99.0, 101.0)),
        ([(90.0, None, True), (80.0, None, False)], 90.0, (90.0,)),
        ([(90.0, None, False)], 100.0, (99.0, 101.0)),
        ([(100.0, None, True)], 100.0, (99.0, 101.0)),
        ([], 100.0, (99.0, 101.0)),
    ],
)
def test_the_record_to_beat_may_be_one_that_is_not_on_file(
    rows: Any, cost: float, costs: tuple[float, ...]
) -> None:
    found = standing(rank([runs("a", 99.0, 101.0)], official(*rows)))
    assert (found.record, found.record_cost, found.record_costs) == (A, cost, costs)
    assert found.known
    if rows and cost == 90.0:
        assert standing(rank([runs("a", 99.0, 101.0)], official(*rows)), A).record_cost == 90.0


def test_the_official_record_of_a_submission_is_not_its_rival() -> None:
    track = official((90.0, A, True))
    board = rank([runs("a", 99.0, 101.0), of("b", 3.27, 95.0)], track)
    assert standing(board, A).record_cost == 95.0
    assert standing(board, "submissions/t/b").record_cost == 90.0
    empty = standing(rank([], track))
    assert (empty.record, empty.record_cost, empty.record_costs) == (None, 90.0, (90.0,))
    assert standing(rank([], track), A).record_cost is None
    ratios = dc.replace(RATIOS, official=track.official)
    assert standing(rank([by_ratio("a", 0.95)], ratios)).record_cost == 104.0
    more = dc.replace(track, cost=Axis("speed", goal="max"))
    assert standing(rank([of("a", 3.27, 100.0)], more)).record_cost == 100.0
    assert standing(rank([of("a", 3.27, 80.0)], more)).record_cost == 90.0


def test_the_standing_of_a_frontier_is_without_the_submission() -> None:
    board = rank([of("a", 1.0, 3.0), of("b", 2.0, 2.0), of("c", 3.0, 2.5)], PARETO)
    found = standing(board)
    assert found.known and set(found.frontier) == {(2.0, 2.0), (3.0, 1.0)}
    assert (found.record, found.record_cost) == (None, None)
    assert set(standing(board, "submissions/t/b").frontier) == {(3.0, 1.0), (2.5, 3.0)}


def coded(name: str, **fields: Any) -> Verdict:
    return dc.replace(
        by_ratio(name, 0.95, (0.94, 0.96), **fields),
        runs=(
            RunRecord("a.log", code_sha256={"a.py": name, TRAINER: "t"}, config_sha256="c"),
            RunRecord("b.log", code_sha256={"a.py": "x"}, config_sha256="d", arm="baseline"),
            RunRecord("c.log"),
        ),
    )


def test_the_standing_on_a_track_of_ratios() -> None:
    rows = [coded("b1"), coded("e"), by_ratio("f", 0.97)]
    found = standing(rank(rows, RATIOS))
    assert found.record_ratio == 0.95 and found.baseline == "submissions/t/b1"
    assert found.baseline_costs == (103.0, 105.0) and found.baseline_code == {"b1"}
    assert found.record_code == {"e"} and found.record_values == (3.27,)
    left = standing(rank(rows, RATIOS), "submissions/t/e")
    assert left.record == "submissions/t/f" and left.record_ratio == 0.97
    bare = standing(rank([], RATIOS))
    assert (bare.baseline, bare.baseline_costs, bare.baseline_code) == ("b1", (), frozenset())
    assert (bare.record_values, bare.record_code, bare.record_ratio) == ((), frozenset(), None)


def test_the_costs_of_a_record_without_single_runs_are_what_it_shows() -> None:
    assert standing(rank([of("a", 3.27, 100.0)], TARGET)).record_costs == (100.0,)
    assert standing(rank([runs("a", 99.0, math.inf, 101.0)], TARGET)).record is None


@pytest.mark.parametrize(
    ("entry", "without", "path"),
    [
        ("e", None, "submissions/t/e"),
        ("submissions/t/e", "submissions/t/x", "submissions/t/e"),
        ("e", "submissions/t/e", None),
        ("r", None, None),
        ("missed", None, "submissions/t/missed"),
        ("nobody", None, None),
    ],
)
def test_a_reply_names_an_entry_and_no_other_reply(
    entry: str, without: str | None, path: str | None
) -> None:
    answer = by_ratio("r", 0.95, reply=Reply("reproduces", "e"))
    board = rank([coded("e"), of("missed", 3.27, 1.0), answer], RATIOS)
    found = standing(board, without, Reply("reproduces", entry)).target
    assert (found.path if found else None) == path
    assert standing(board).target is None
    if found is not None and path == "submissions/t/e":
        assert found.code == {"e"} and found.configs == {"c"}
        assert found.statistics == coded("e").points[0].statistics


def test_a_target_without_points_has_no_statistics() -> None:
    found = standing(rank([made("e")], RATIOS), None, Reply("reproduces", "e")).target
    assert found is not None and found.statistics is None
    two = made("e", a_point(3.27, 1.0, "x", Summary("first")), a_point(3.27, 1.0, "y"))
    found = standing(rank([two], RATIOS), None, Reply("reproduces", "e")).target
    assert found is not None and found.statistics == Summary("first")


def test_of_several_points_the_best_place_is_told() -> None:
    board = rank([of("a", 1.0, 3.0)], dc.replace(PARETO, quality=Axis("bpb", bands=(2.0, 3.0))))
    cheap, banded = a_point(9.0, 1.0, "a"), a_point(2.5, 2.0, "b")
    found = place_of(board, made("x", cheap, banded))
    assert found is not None and (found.place, found.of, found.entry.point.name) == (1, 3, "b")
    assert not found.record and found.gap is None and found.on_frontier and found.tied
    behind = place_of(board, made("x", a_point(1.0, 4.0, "b"), a_point(1.0, 3.5, "a")))
    assert behind is not None and (behind.place, behind.entry.point.name) == (2, "a")
    assert not behind.tied and not behind.on_frontier


def test_where_a_verdict_would_stand() -> None:
    board = rank([of("a", 3.27, 100.0), of("missed", 3.3, 1.0)], TARGET)
    ahead = place_of(board, of("x", 3.27, 90.0, date="2026-02-01"))
    assert ahead is not None and ahead.record and ahead.gap == -10.0
    assert (ahead.place, ahead.verified_ahead) == (1, 0)
    behind = place_of(board, of("x", 3.27, 110.0, date="2026-02-01"))
    assert behind is not None and not behind.record and behind.verified_ahead == 1
    alone = place_of(rank([], TARGET), of("x", 3.27, 90.0))
    assert alone is not None and alone.gap is None and alone.record
    few = of("x", 3.27, 90.0, status=Status.NEEDS_RUNS)
    assert place_of(board, few) is not None
    assert place_of(board, of("x", 3.3, 90.0)) is None


def test_why_a_verdict_has_no_place() -> None:
    board = rank([of("a", 3.27, 100.0)], TARGET)
    both = made("x", a_point(3.3, 1.0, "p"), a_point(3.4, 1.0, "q"))
    assert "3.3 misses" in (why_not(board, both) or "")
    assert why_not(board, made("x", a_point(3.3, 1.0, "p"), a_point(3.2, 1.0, "q"))) is None
    assert why_not(board, made("x", a_point(3.3, 1.0), status=Status.REJECTED)) is None
