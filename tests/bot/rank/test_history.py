"""The record over time by comparable clocks: official, paired, own; one gain a record."""

from __future__ import annotations

import dataclasses as dc
import json
import math
from pathlib import Path

import pytest

from bot.model.official import OfficialRecord, OfficialTable
from bot.model.summary import BaselineArm, Comparison, Summary
from bot.model.track import Axis, Significance, Track, TrackError
from bot.model.verdict import Point, Verdict
from bot.parse.track_toml import load_track
from bot.rank.ranking import place_of, rank, standing
from bot.registry import Grade, Status
from tests.plain_tracks import plain_text

TRACK = Track(
    id="t",
    title="",
    objective="target",
    quality=Axis("loss", target=3.28),
    cost=Axis("training_time_s", "s"),
    significance=Significance("t", alpha=0.01),
)


def entry(name, cost, date, *, ratio=None, half=None, based_on=None, metric="training_time_s"):
    bounds = None if half is None else (ratio * math.exp(-half), ratio * math.exp(half))
    compared = Comparison("welch", 0.0, None, None, None, ratio, bounds)
    statistics = Summary(baseline=BaselineArm(comparison=compared)) if ratio is not None else None
    point = Point("default", 3.27, cost, {metric: cost}, statistics)
    path = f"submissions/t/{name}"
    return Verdict(
        path, "t", Status.VERIFIED, Grade.LOG, (), (point,), date=date, based_on=based_on
    )


def row(number, cost, date, name=None, **fields):
    submission = f"submissions/t/{name}" if name else None
    return OfficialRecord(number, cost, date, submission=submission, **fields)


def official(*rows):
    return dc.replace(TRACK, official=OfficialTable(rows))


def chain(board):
    return [(s.submission[-1], s.cost, s.clock, s.beat, s.previous) for s in board.records]


def test_a_ratio_on_one_machine_beats_clocks_of_two() -> None:
    verdicts = [entry("a", 100.0, "2025-01-01"), entry("b", 104.0, "2025-02-01", ratio=0.98)]
    board = rank(verdicts, TRACK)
    assert chain(board) == [
        ("a", 100.0, "own", None, None),
        ("b", pytest.approx(98.0), "paired", "submissions/t/a", 100.0),
    ]
    assert board.records[-1].own == 104.0
    assert board.records[-1].gain == pytest.approx(-0.02)
    assert [e.submission[-1] for e in board.entries] == ["b", "a"]
    assert [e.clock for e in board.entries] == ["paired", "own"]


def test_a_ratio_above_one_is_no_record_however_fast_its_machine() -> None:
    verdicts = [entry("a", 100.0, "2025-01-01"), entry("b", 90.0, "2025-02-01", ratio=1.01)]
    board = rank(verdicts, TRACK)
    assert [s.submission[-1] for s in board.records] == ["a"]
    assert [e.shown_cost for e in board.entries] == [100.0, pytest.approx(101.0)]


def test_the_spreads_of_a_chain_of_ratios_add() -> None:
    """Half intervals of 0.3 % and 0.4 %: the product has 0.5 %, not 0.7 % and not 0.4 %."""
    verdicts = [
        entry("a", 100.0, "2025-01-01"),
        entry("b", 99.0, "2025-02-01", ratio=0.98, half=0.003),
        entry("c", 99.0, "2025-03-01", ratio=0.97, half=0.004),
    ]
    first, second, third = rank(verdicts, TRACK).records
    assert first.interval is None and second.interval is not None and third.interval is not None
    low, high = math.exp(-0.003), math.exp(0.003)
    assert second.interval == pytest.approx((98.0 * low, 98.0 * high))
    low, high = math.exp(-0.005), math.exp(0.005)
    assert third.cost == pytest.approx(100 * 0.98 * 0.97)
    assert third.interval == pytest.approx((third.cost * low, third.cost * high))
    # An official timing ends the chain.
    again = rank([*verdicts[:2]], official(row(1, 98.0, "2025-02-01", "b")))
    assert again.records[-1].interval is None


@pytest.mark.parametrize(("goal", "order"), [("min", "ba"), ("max", "ab")])
def test_of_one_day_the_better_one_is_the_later_record(goal: str, order: str) -> None:
    track = dc.replace(TRACK, cost=Axis("training_time_s", "s", goal))
    verdicts = [entry("a", 100.0, "2025-01-01"), entry("b", 104.0, "2025-01-01")]
    assert [s.submission[-1] for s in rank(verdicts, track).records] == list(order)


def test_without_an_arm_its_own_clock_counts() -> None:
    board = rank([entry("a", 100.0, "2025-01-01"), entry("b", 99.0, "2025-02-01")], TRACK)
    assert chain(board)[1] == ("b", 99.0, "own", "submissions/t/a", 100.0)


@pytest.mark.parametrize("name", ["a", "t/a", "submissions/t/a"])
def test_the_arm_is_what_the_entry_says_that_it_builds_on(name: str) -> None:
    verdicts = [
        entry("a", 100.0, "2025-01-01"),
        entry("b", 80.0, "2025-02-01"),
        entry("c", 120.0, "2025-03-01", ratio=0.9, based_on=name),
    ]
    board = rank(verdicts, TRACK)
    shown = {e.submission[-1]: e.shown_cost for e in board.entries}
    assert shown["c"] == pytest.approx(90.0)
    assert [s.submission[-1] for s in board.records] == ["a", "b"]


def test_steps_are_the_same_on_every_machine() -> None:
    track = dc.replace(TRACK, cost=Axis("steps", "steps"))
    verdicts = [
        entry("a", 100.0, "2025-01-01", metric="steps"),
        entry("b", 98.0, "2025-02-01", ratio=1.2, metric="steps"),
    ]
    assert chain(rank(verdicts, track))[1] == ("b", 98.0, "own", "submissions/t/a", 100.0)


def test_the_official_time_decides_and_both_clocks_stay() -> None:
    track = official(row(1, 100.0, "2025-01-01", "a"), row(2, 99.0, "2025-02-01", "b"))
    verdicts = [
        entry("a", 97.0, "2025-01-01"),
        entry("b", 105.0, "2025-02-01", ratio=0.97),
    ]
    board = rank(verdicts, track)
    assert chain(board)[1] == ("b", 99.0, "official", "submissions/t/a", 100.0)
    assert (board.records[1].own, board.records[1].number) == (105.0, 2)
    assert [(e.cost, e.shown_cost) for e in board.entries] == [(105.0, 99.0), (97.0, 100.0)]


def test_a_record_that_is_not_on_file_had_to_be_beaten_too() -> None:
    track = official(
        row(1, 100.0, "2025-01-01", "a"), row(2, 90.0, "2025-01-10"), row(3, 89.0, None, "c")
    )
    verdicts = [
        entry("a", 100.0, "2025-01-01"),
        entry("c", 88.0, "2025-02-01"),
        entry("d", 89.5, "2025-01-15"),
    ]
    board = rank(verdicts, track)
    assert chain(board) == [
        ("a", 100.0, "official", None, None),
        ("c", 89.0, "official", "#2", 90.0),
    ]
    assert board.records[0].superseded_by == "#2"
    assert board.records[0].superseded_on == "2025-01-10"


def test_a_new_entry_takes_the_record_from_the_table() -> None:
    track = official(row(1, 100.0, "2025-01-01", "a"), row(2, 90.0, "2025-01-10"))
    verdicts = [
        entry("a", 100.0, "2025-01-01"),
        entry("n", 95.0, "2025-03-01", ratio=0.99),
        entry("m", 91.0, "2025-02-01"),
    ]
    board = rank(verdicts, track)
    assert chain(board)[1:] == [("n", pytest.approx(89.1), "paired", "#2", 90.0)]


def test_the_record_to_beat_is_the_official_one_where_it_is_not_on_file() -> None:
    track = official(row(1, 100.0, "2025-01-01", "a"), row(2, 90.0, "2025-01-10"))
    board = rank([entry("a", 101.0, "2025-01-01")], track)
    assert (standing(board).record_cost, standing(board).record_costs) == (90.0, (90.0,))
    between = place_of(board, entry("n", 95.0, "2025-03-01"))
    assert between is not None and not between.record and between.gap == pytest.approx(5.0)
    better = place_of(board, entry("m", 89.0, "2025-03-01"))
    assert better is not None and better.record and better.gap == pytest.approx(-1.0)


def test_the_record_to_beat_is_the_holder_where_the_table_ends_on_file() -> None:
    track = official(row(1, 90.0, "2025-01-10"), row(2, 80.0, "2025-02-01", "a"))
    board = rank([entry("a", 101.0, "2025-02-01")], track)
    assert standing(board).record_cost == 80.0


def test_rows_that_were_no_record_make_no_step() -> None:
    track = official(
        row(1, 100.0, "2025-01-01", "a"),
        row(2, 99.0, "2025-01-02", "b", record=False),
        row(3, 98.0, "2025-01-03", "c"),
    )
    verdicts = [entry(n, 97.0, f"2025-01-0{i}") for i, n in enumerate("abc", 1)]
    assert [s.number for s in rank(verdicts, track).records] == [1, 3]


def test_a_re_timing_in_the_table_moves_the_bar() -> None:
    again = (("2025-02-01", 104.0),)
    track = official(row(1, 100.0, "2025-01-01", "a", retimings=again))
    verdicts = [entry("a", 100.0, "2025-01-01"), entry("b", 102.0, "2025-03-01")]
    board = rank(verdicts, track)
    assert chain(board)[1] == ("b", 102.0, "own", "submissions/t/a", 104.0)
    assert {e.submission[-1]: e.shown_cost for e in board.entries} == {"a": 104.0, "b": 102.0}


def track_file(folder: Path, records: object) -> Path:
    (folder / "tracks").mkdir()
    text = plain_text("nanogpt-small")
    (folder / "tracks" / "nanogpt-small.toml").write_text(text, encoding="utf-8")
    (folder / "tracks" / "nanogpt-small.records.json").write_text(json.dumps(records))
    return folder / "tracks" / "nanogpt-small.toml"


SOURCE = {"repository": "https://github.com/o/r", "file": "README.md", "commit": "abc"}


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ({"schema_version": 2}, "schema_version is 2, we know 1"),
        ({"schema_version": 1, "source": SOURCE}, "the key 'records' is missing"),
        (
            {
                "schema_version": 1,
                "source": SOURCE,
                "records": [{"number": 1, "cost": 2}, {"number": 1, "cost": 3}],
            },
            "number 1 appears twice",
        ),
        ({"schema_version": 1, "source": SOURCE, "records": [{"number": 1}]}, "'cost' is missing"),
        ([], "records.json"),
    ],
)
def test_a_broken_table_is_one_sentence_that_names_the_file(
    tmp_path: Path, records: object, words: str
) -> None:
    path = track_file(tmp_path, records)
    with pytest.raises(TrackError, match="nanogpt-small.records.json") as error:
        load_track(path)
    assert words in str(error.value)


def test_a_table_is_read_beside_its_track(tmp_path: Path) -> None:
    path = track_file(
        tmp_path,
        {
            "schema_version": 1,
            "source": SOURCE,
            "records": [{"number": 2, "cost": 9.5, "submission": "x"}, {"number": 1, "cost": 10}],
        },
    )
    table = load_track(path).official
    assert [r.number for r in table.records] == [1, 2]
    assert table.by_submission["submissions/nanogpt-small/x"].cost == 9.5
    assert table.source == "https://github.com/o/r/blob/abc/README.md"
