"""Where an entry stands, in words and in the track's unit."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.compute.significance import welch
from bot.model.board import Clock, Entry, Placement, Progress
from bot.model.summary import BaselineArm, Decision, Excluded, Sample, Summary
from bot.model.track import Axis, Baseline, Significance, Track
from bot.model.verdict import Point, Verdict
from bot.registry import Grade, Status
from bot.render.place import place

TIMED = Track(
    "timed",
    "Timed",
    "target",
    Axis("loss", "nats/token", "min", target=3.28),
    Axis("training_time_s", "s", "min"),
    Significance("t", alpha=0.01),
)
PARETO = dc.replace(
    TIMED,
    objective="pareto",
    quality=Axis("bpb", "bits/byte", "min"),
    cost=Axis("hardware_flops", "FLOP", "min"),
    significance=Significance(),
)
STATISTICS = Summary(quality=Sample((3.2774,) * 8), decision=Decision("t", None, 0.000004, True))


def placed(track: Track, **fields: Any) -> Placement:
    point = Point("main", 3.2774, 76.09, {}, STATISTICS)
    verdict = Verdict("s", track.id, Status.VERIFIED, Grade.LOG, (), (point,))
    entry = Entry(verdict, point, 1, False, 3.2774, 76.09, 76.09, True)
    entry = dc.replace(entry, progress=fields.pop("progress", None))
    rest: dict[str, Any] = {"place": 2, "of": 41, "tied": False, "on_frontier": False}
    rest |= {"record": False, "gap": 0.8} | fields
    return Placement(**rest, entry=entry)


def text(track: Track, status: Status = Status.VERIFIED, **fields: Any) -> str:
    found = placed(track, **fields)
    verdict = dc.replace(found.entry.verdict, status=status)
    return place(verdict, track, found).text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "2nd of 41, 0.8 s behind the record"),
        ({"gap": 0.0}, "2nd of 41, level with the record"),
        ({"tied": True, "place": 3}, "shared 3rd of 41, 0.8 s behind the record"),
        ({"record": True, "gap": -1.25}, "a new record by 1.2 s"),
        ({"gap": -1.25}, "2nd of 41, 1.2 s ahead of the record"),
        ({"gap": None, "place": 1, "of": 1}, "the first entry"),
        ({"place": 1}, "1st of 41 on the board, 0.8 s behind the official record"),
    ],
)
def test_beside_the_record(fields: dict[str, Any], words: str) -> None:
    assert text(TIMED, **fields) == words


def test_what_a_maintainer_must_weigh_is_a_possible_record() -> None:
    said = text(TIMED, Status.NEEDS_REVIEW, record=True, gap=-1.25)
    assert said == "a possible record by 1.2 s"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"on_frontier": True, "of": 3}, "on the frontier of 3 entries"),
        ({"on_frontier": True, "of": 1}, "on the frontier, the only entry"),
        ({"place": 2, "of": 3}, "2nd of 3; 1 entry is at least as good on both axes"),
        ({"place": 3, "of": 3}, "3rd of 3; 2 entries are at least as good on both axes"),
    ],
)
def test_beside_the_frontier(fields: dict[str, Any], words: str) -> None:
    assert text(PARETO, **fields) == words


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (0.93, "7 % less training time than the baseline"),
        (1.2, "20 % more training time than the baseline"),
        (1.0, "the same training time as the baseline"),
    ],
)
def test_beside_the_baseline(ratio: float, words: str) -> None:
    found = placed(TIMED, progress=Progress(ratio, None, False, ratio))
    assert place(found.entry.verdict, TIMED, found).result == words


@pytest.mark.parametrize(
    ("against", "words"),
    [
        ("first", "5 % less training time than the old baseline first, 11.8 % more than second, "
         "which stands now"),
        ("second", "11.8 % more training time than the baseline"),
        (None, "11.8 % more training time than the baseline"),
    ],
)  # fmt: skip
def test_what_ran_an_old_baseline_says_so(against: str | None, words: str) -> None:
    found = placed(TIMED, progress=Progress(1.118, None, False, 0.95, against))
    track = dc.replace(TIMED, baseline_id="second")
    assert place(found.entry.verdict, track, found).result == words


@pytest.mark.parametrize(
    ("against", "words"),
    [
        ("first", "20 % less training time than the old baseline first, 60 % more than second, "
         "which stands now"),
        ("apart", "20 % less training time than the old baseline apart"),
        ("second", "20 % less training time than the baseline"),
    ],
)  # fmt: skip
def test_a_reply_names_the_baseline_that_it_ran(against: str, words: str) -> None:
    first = Baseline(
        "first", "submissions/timed/first", "2026-01-01", "training_time_s", (9.0,), ()
    )
    second = dc.replace(first, id="second", after="first", ratio=0.5, frozen_on="2026-02-01")
    apart = dc.replace(first, id="apart", frozen_on="2026-01-02")
    track = dc.replace(
        TIMED, objective="baseline", baseline_id="second", baselines=(first, apart, second)
    )
    arm = BaselineArm(cost=Sample((10.0, 10.0)), comparison=welch((8.0, 8.0), (10.0, 10.0)))
    point = Point(
        "main", 3.27, 8.0, {}, dc.replace(STATISTICS, cost=Sample((8.0, 8.0)), baseline=arm)
    )
    verdict = Verdict("s", "timed", Status.VERIFIED, Grade.LOG, (), (point,), against=against)
    said = place(verdict, track, None, reply="a reproduction: `x` stays claimed")
    assert said.result == words
    assert "Ratio to the baseline" in [row[0] for row in said.rows]


def test_an_interval_stands_beside_its_ratio() -> None:
    """A ratio whose interval holds 1 is not progress that anybody has seen."""
    found = placed(TIMED, progress=Progress(0.88, (0.62, 1.249), False, 0.88))
    said = place(found.entry.verdict, TIMED, found, record_cost=8.94)
    assert said.result == "12 % less training time than the baseline, within the noise"
    assert ("Training time", "76.09 s", "", "") in said.rows
    assert said.rows[-1] == ("Ratio to the baseline", "0.88 (0.62 to 1.25)", "", "")
    clear = placed(TIMED, progress=Progress(0.88, (0.86, 0.9), False, 0.88))
    words = place(clear.entry.verdict, TIMED, clear).result
    assert words == "12 % less training time than the baseline"


def test_the_rows_say_yours_needed_and_record() -> None:
    found = placed(TIMED)
    rows = place(found.entry.verdict, TIMED, found, record_cost=77.34).rows
    assert rows == (
        ("Validation loss, mean of 8 runs", "3.2774", "below 3.28", ""),
        ("p-value", "0.000004", "below 0.01", ""),
        ("Training time", "76.09 s", "", "77.34 s"),
    )


def test_a_place_in_a_band_says_what_is_compared() -> None:
    found = placed(PARETO, on_frontier=True)
    found = dc.replace(found, entry=dc.replace(found.entry, band=1.5264, band_place=3))
    rows = place(found.entry.verdict, PARETO, found).rows
    assert rows[-1] == ("Place by hardware FLOPs at 1.5264 bits/byte or better", "3rd", "", "")


@pytest.mark.parametrize(
    ("clock", "where"),
    [("paired", " scaled to the record's clock"), ("official", " by official timing")],
)
def test_a_time_by_another_clock_is_what_stands_beside_the_record(clock: Clock, where: str) -> None:
    """Its own runs took longer than the record did, and it is a record all the same."""
    found = placed(TIMED, record=True, gap=-1.25)
    found = dc.replace(found, entry=dc.replace(found.entry, clock=clock, shown_cost=70.5))
    said = place(found.entry.verdict, TIMED, found, record_cost=71.75)
    assert (said.result, said.text) == (f"70.50 s{where}", "a new record by 1.2 s")
    assert said.rows[-2:] == (
        ("Training time of these runs", "76.09 s", "", ""),
        (f"Training time{where}", "70.50 s", "", "71.75 s"),
    )


@pytest.mark.parametrize(
    ("n", "excluded", "label"),
    [
        (7, 1, "Validation loss, mean of 7 of 8 runs"),
        (8, 0, "Validation loss, mean of 8 runs"),
        (1, 1, "Validation loss, 1 of 2 runs"),
        (1, 0, "Validation loss"),
    ],
)
def test_a_mean_says_how_many_of_the_runs_count(n: int, excluded: int, label: str) -> None:
    out = tuple(Excluded(f"{i}.log", 0, "it did not finish") for i in range(excluded))
    point = Point("main", 3.2774, 76.0, {}, Summary(quality=Sample((3.2774,) * n), excluded=out))
    found = Verdict("s", "timed", Status.VERIFIED, Grade.LOG, (), (point,))
    assert place(found, TIMED, None).rows[0][0] == label


def test_a_known_sigma_shows_its_statistic() -> None:
    track = dc.replace(TIMED, significance=Significance("z", threshold=0.004))
    found = placed(track)
    of_z = dc.replace(STATISTICS, decision=Decision("z", 0.0040001, 0.000004, True))
    point = dc.replace(found.entry.point, statistics=of_z)
    found = dc.replace(found, entry=dc.replace(found.entry, point=point))
    rows = place(found.entry.verdict, track, found).rows
    assert ("(target - mean) × √n", "0.0040001", "at least 0.004", "") in rows


def test_what_does_not_rank_keeps_its_result_and_says_why() -> None:
    verdict = placed(TIMED).entry.verdict
    said = place(verdict, TIMED, None, why_not="it has no baseline arm")
    assert (said.text, said.ranks, said.result) == ("it has no baseline arm", False, "76.09 s")
