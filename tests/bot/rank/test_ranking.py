"""Each rule of placing by an example."""

import dataclasses as dc
import json
import math
import tomllib
from pathlib import Path

import pytest

from bot.compute.significance import welch
from bot.model.run import RunRecord
from bot.model.summary import BaselineArm, Comparison, Sample, Summary
from bot.model.track import Axis, Retiming, Significance, Track, TrackError
from bot.model.verdict import Point, Verdict
from bot.parse.track_toml import parse_track
from bot.rank.ranking import frontier, place_of, rank, standing, why_not
from bot.registry import Grade, Status

DATA = Path(__file__).parents[1] / "data"
PARETO = Track(
    id="t",
    title="",
    objective="pareto",
    quality=Axis("bpb", "bits/byte", bands=(3.0, 1.5)),
    cost=Axis("hardware_flops", "FLOP"),
)
TARGET = Track(
    id="t",
    title="",
    objective="target",
    quality=Axis("loss", target=3.28),
    cost=Axis("training_time_s", "s"),
    significance=Significance("t", alpha=0.01),
)
BASELINE = dc.replace(
    TARGET, objective="baseline", promote_at=0.9, significance=Significance(), baseline_id="first"
)
STEPS = dc.replace(
    TARGET,
    cost=Axis("steps", "steps", step=0.0045),
    significance=Significance("z", alpha=0.001, sigma=0.0013, threshold=0.004),
)


def verdict(name, quality, cost, *, date=None, status=Status.VERIFIED, statistics=None):
    point = Point("default", quality, cost, {}, statistics)
    return Verdict(f"submissions/t/{name}", "t", status, Grade.LOG, (), (point,), date=date)


def timed(name, times, loss=3.27, **fields):
    statistics = Summary(cost=Sample(tuple(times)))
    return verdict(name, loss, sum(times) / len(times), statistics=statistics, **fields)


def names(entries):
    return [entry.submission.rpartition("/")[2] for entry in entries]


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (Status.REJECTED, "needs changes"),
        (Status.UNVERIFIABLE, "not checked yet"),
        (Status.NEEDS_RUNS, "needs more runs"),
    ],
)
def test_what_is_not_accepted_does_not_rank(status, why):
    board = rank([verdict("a", 1.0, 1.0, status=status)], PARETO)
    assert board.entries == ()
    assert why in board.unranked[0].why


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, True])
def test_no_number_does_not_rank(value):
    board = rank([verdict("a", value, 1.0), verdict("b", 1.0, value)], PARETO)
    assert board.entries == ()
    named = zip(board.unranked, ("bits per byte", "hardware FLOPs"), strict=True)
    assert all(name in unranked.why for unranked, name in named)


def test_a_missed_target_does_not_rank():
    board = rank([verdict("a", 3.2801, 100.0), verdict("b", 3.28, 101.0)], TARGET)
    assert names(board.entries) == ["b"]
    assert "misses the target" in board.unranked[0].why


def test_verdicts_of_other_tracks_are_not_on_the_board():
    other = dc.replace(verdict("a", 1.0, 1.0), track="other")
    board = rank([other], PARETO)
    assert board.entries == board.unranked == ()


def test_each_point_ranks():
    suite = dc.replace(
        verdict("a", 0, 0), points=(Point("130m", 2.0, 1.0, {}), Point("300m", 1.0, 3.0, {}))
    )
    board = rank([suite, verdict("b", 2.5, 2.0)], PARETO)
    assert [(e.point.name, e.place) for e in board.entries] == [
        ("130m", 1),
        ("300m", 1),
        ("default", 2),
    ]


def test_places_go_by_the_mean_with_the_ranks_that_may_be_true():
    a, b = [100.0, 100.2, 99.9, 100.1], [100.1, 100.3, 99.9, 100.2]
    c = [101.0, 101.2, 100.9, 101.1]
    assert welch(a, b).p > 0.05 > 2 * 3 * welch(a, c).p
    board = rank([timed("c", c), timed("b", b), timed("a", a)], TARGET)
    assert [(e.submission[-1], e.place, e.tied, e.ranks) for e in board.entries] == [
        ("a", 1, False, (1, 2)),
        ("b", 2, False, (1, 2)),
        ("c", 3, False, (3, 3)),
    ]


def test_a_single_run_ahead_has_the_first_place_and_any_rank():
    many = [100.001, 100.002, 100.003]
    board = rank([timed("one", [100.0]), timed("many", many)], TARGET)
    assert [(e.submission[-3:], e.place, e.ranks) for e in board.entries] == [
        ("one", 1, (1, 2)),
        ("any", 2, (1, 2)),
    ]


def test_single_runs_tie_only_when_equal():
    board = rank([timed("a", [100.0]), timed("b", [100.0]), timed("c", [100.1])], TARGET)
    assert [e.place for e in board.entries] == [1, 1, 3]


def test_steps_are_told_apart_by_the_pairwise_rule():
    """25 steps are worth 0.001125, 1.2 standard errors of 0.0013 sqrt(1/4 + 1/4); 250 steps 12."""
    four = Summary(quality=Sample((3.278,) * 4))
    rows = [verdict(f"s{s}", 3.278, s, statistics=four) for s in (3000, 3025, 3275)]
    entries = rank(rows, STEPS).entries
    assert [e.place for e in entries] == [1, 2, 3]
    assert [e.ranks for e in entries] == [(1, 2), (1, 2), (3, 3)]


def test_place_and_gap_of_a_verdict_that_is_not_merged():
    board = rank([timed("a", [100.0, 100.1]), timed("b", [102.0, 102.1])], TARGET)
    placement = place_of(board, timed("c", [100.9, 100.95]))
    assert (placement.place, placement.of) == (2, 3)
    assert placement.gap == pytest.approx(0.875)


def test_a_new_record_has_a_gap_below_zero():
    board = rank([timed("a", [100.0, 100.1])], TARGET)
    placement = place_of(board, timed("c", [98.0, 98.1], date="2026-01-01"))
    assert placement.record and placement.gap == pytest.approx(-2.0)


def test_its_own_earlier_entry_does_not_count():
    board = rank([timed("a", [100.0]), timed("b", [105.0])], TARGET)
    placement = place_of(board, timed("a", [103.0]))
    assert (placement.place, placement.of) == (1, 2)
    assert placement.gap == pytest.approx(-2.0)


def test_what_needs_runs_is_placed_as_if_it_had_them():
    board = rank([timed("a", [100.0])], TARGET)
    placement = place_of(board, timed("b", [101.0], status=Status.NEEDS_RUNS))
    assert (placement.place, placement.of) == (2, 2)
    assert place_of(board, timed("c", [99.0], status=Status.REJECTED)) is None


def test_standing_is_without_the_submission_itself():
    board = rank([timed("a", [100.0, 101.0]), timed("b", [105.0, 106.0])], TARGET)
    assert standing(board).record_costs == (100.0, 101.0)
    assert standing(board, "submissions/t/a").record == "submissions/t/b"
    assert standing(board, "submissions/t/a").record_cost == 105.5
    assert standing(rank([], TARGET)).record is None


def test_standing_knows_losses_and_code_of_the_record():
    statistics = Summary(quality=Sample((3.27, 3.28)), cost=Sample((100.0, 101.0)))
    holder = dc.replace(
        verdict("a", 3.275, 100.5, statistics=statistics),
        runs=(
            RunRecord("a.log", code_sha256={"train.py": "ab"}),
            RunRecord("b.log", code_sha256={"train.py": "cd"}, arm="baseline"),
        ),
    )
    found = standing(rank([holder], TARGET))
    assert found.record_values == (3.27, 3.28)
    assert found.record_code == frozenset({"ab"})


def test_baseline_ratio_ranks_any_hardware():
    def arm(ratio, low, high):
        compared = Comparison("welch", 0.0, None, None, None, ratio, (low, high))
        return Summary(baseline=BaselineArm(comparison=compared))

    slow_card = verdict("slow", 3.27, 900.0, statistics=arm(0.88, 0.86, 0.9))
    fast_card = verdict("fast", 3.27, 100.0, statistics=arm(0.97, 0.96, 0.98))
    board = rank([fast_card, slow_card, verdict("alone", 3.27, 50.0)], BASELINE)
    assert names(board.entries) == ["slow", "fast"]
    assert [e.progress.promotes for e in board.entries] == [True, False]
    assert board.entries[0].progress.interval == (0.86, 0.9)
    assert "no baseline arm" in board.unranked[0].why


def test_a_verdict_that_holds_and_has_no_place_says_why():
    board = rank([], BASELINE)
    alone = verdict("alone", 3.27, 50.0)
    assert place_of(board, alone) is None
    assert why_not(board, alone) == (
        "it has no baseline arm; run the baseline in turn with it on the same "
        "machine (`--interleave baseline` of the trainer)"
    )
    unopened = why_not(rank([], dc.replace(BASELINE, baseline_id=None)), alone)
    assert unopened is not None and "no baseline is frozen, so the track is not open" in unopened
    assert "types `git pull` and `speedrun baseline freeze t alone` once it is merged" in unopened
    missed = verdict("slow", 3.3, 50.0)
    assert why_not(rank([], TARGET), missed) == ("its validation loss 3.3 misses the target 3.28")
    assert why_not(board, dc.replace(alone, status=Status.REJECTED)) is None
    assert why_not(rank([], TARGET), verdict("good", 3.27, 50.0)) is None


def test_a_verdict_with_one_point_that_ranks_has_a_place():
    good = verdict("two", 3.27, 50.0)
    missed = dc.replace(good.points[0], name="late", quality=3.3)
    assert why_not(rank([], TARGET), dc.replace(good, points=(missed, *good.points))) is None


def test_ratios_have_intervals_and_no_ranks():
    compared = Comparison("welch", 0.0, None, None, None, 0.9, (0.89, 0.91))
    arm = Summary(cost=Sample((100.0, 101.0)), baseline=BaselineArm(comparison=compared))
    rows = [verdict(name, 3.27, 100.5, statistics=arm) for name in ("a", "b")]
    assert [e.ranks for e in rank(rows, BASELINE).entries] == [None, None]


def test_a_record_by_its_ratio_is_tested_at_what_it_shows():
    """Its own clocks are of another machine than those of the record it beat."""
    compared = Comparison("welch", 0.0, None, None, None, 0.98, None)
    times = Sample((104.0, 104.2))
    arm = Summary(cost=times, baseline=BaselineArm(comparison=compared))
    later = verdict("b", 3.27, 104.1, statistics=arm, date="2025-02-01")
    board = rank([timed("a", [100.0, 100.0], date="2025-01-01"), later], TARGET)
    assert standing(board).record == "submissions/t/b"
    assert standing(board).record_costs == pytest.approx((98.0,))


def test_an_official_re_timing_changes_the_time_and_is_no_record():
    again = Retiming("submissions/t/again", "submissions/t/a", "2025-02-01")
    track = dc.replace(TARGET, retimings=(again,))
    board = rank(
        [
            timed("a", [100.0], date="2025-01-01"),
            timed("again", [104.0], date="2025-02-01"),
            timed("b", [102.0], date="2025-03-01"),
        ],
        track,
    )
    assert names(board.entries) == ["b", "a"]
    assert [e.shown_cost for e in board.entries] == [102.0, 104.0]
    assert [(s.submission[-1], s.cost, s.previous) for s in board.records] == [
        ("a", 100.0, None),
        ("b", 102.0, 104.0),
    ]
    assert board.records[0].retimings == (("2025-02-01", 104.0),)
    assert "re-timing of submissions/t/a" in board.unranked[0].why


def test_each_point_shows_its_own_re_timing():
    """The second point was timed again too, a third was not."""
    again = Retiming("submissions/t/again", "submissions/t/a", "2025-02-01")
    track = dc.replace(TARGET, retimings=(again,))

    def of(name, date, **costs):
        points = tuple(Point(k, 3.27, cost, {}) for k, cost in costs.items())
        return dc.replace(verdict(name, 3.27, 1.0, date=date), points=points)

    first = of("a", "2025-01-01", small=100.0, large=300.0, huge=900.0)
    board = rank([first, of("again", "2025-02-01", large=310.0, small=104.0)], track)
    shown = {e.point.name: e.shown_cost for e in board.entries}
    assert shown == {"small": 104.0, "large": 310.0, "huge": 900.0}


def test_a_re_timing_without_a_date_is_refused():
    data = tomllib.loads((DATA.parents[2] / "tracks/nanogpt-small.toml").read_text())
    with pytest.raises(TrackError, match="t.toml: a re-timing needs"):
        parse_track({**data, "retimings": [{"submission": "a", "of": "b"}]}, "t.toml")


def test_record_is_the_last_step_of_the_progression():
    board = rank(
        [timed("a", [100.0], date="2025-01-01"), timed("b", [99.0], date="2025-02-01")], TARGET
    )
    assert names([board.record]) == ["b"]
    assert board.records[0].superseded_on == "2025-02-01"
    assert rank([verdict("a", 1, 1)], PARETO).record is None


@pytest.mark.parametrize("axis", ["model_flops", "training_hardware_flops"])
def test_frontier_of_a_live_board(axis):
    """96 rows of a public board, and its right frontier, worked out apart from this program."""
    data = json.loads((DATA / "marin_board.json").read_text())
    rows = [r for r in data["rows"] if r[axis] is not None]
    found = frontier([(r[axis], r["bpb"]) for r in rows])
    expected = data["frontier"][axis]
    assert {rows[i]["name"] for i in found} == {n for p in expected for n in p["names"]}
    points = {(p["x"], p["bpb"]) for p in expected}
    assert {(rows[i][axis], rows[i]["bpb"]) for i in found} == points
