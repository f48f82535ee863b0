"""Where the rules on clocks and on the author's word begin to speak: each limit from both sides."""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Any

import pytest

from bot.model.case import Case, Standing
from bot.model.run import Validation
from bot.registry import Level
from tests.bot.rules.run_cases import PATH, SMALL, TRACKS, a_case, a_run, found

Points = tuple[tuple[float, float], ...]


def clocked(points: Points, runtime_s: float | None = None, **changes: Any) -> Case:
    """A run with (training clock, `_runtime`) at its validations."""
    validation = tuple(Validation(n + 1, 3.3 - n / 100, t) for n, (t, _) in enumerate(points))
    runtimes = tuple((n + 1, seen) for n, (_, seen) in enumerate(points))
    fields = {
        "validation": validation,
        "runtimes": runtimes,
        "runtime_s": points[-1][1] if runtime_s is None else runtime_s,
        "metrics": {"training_time_s": points[-1][0]},
    }
    return a_case([a_run(0, **fields | changes)])


def paces(points: Points, **changes: Any) -> list[Any]:
    """What is claimed of the pace of a slow clock."""
    findings = found("witnesses-disagree", clocked(points, **changes))
    assert all("of each second of W&B's `_runtime`" in f.message for f in findings)
    return [f.claimed for f in findings]


@pytest.mark.parametrize(
    ("time", "limit", "longer"),
    [
        # 2 % and 0.5 s + 5 %, at most 5 s, are to spare
        (60.0, 55.4, False),
        (60.0, 55.3, True),
        (600.0, 584.0, False),
        (600.0, 583.0, True),
        (4.5, 3.74, False),
        (4.5, 3.69, True),
    ],
)
def test_a_clock_may_be_a_little_ahead_of_the_machine(
    time: float, limit: float, longer: bool
) -> None:
    findings = found("witnesses-disagree", clocked(((time, limit),)))
    assert [f.level for f in findings] == [Level.ERROR] * longer


@pytest.mark.parametrize("marks", [("offline",), ("resumed",), ()])
def test_servers_saw_only_a_part_of_some_runs(marks: tuple[str, ...]) -> None:
    seen = {"created_at": "2026-01-01T00:00:00Z", "heartbeat_at": "2026-01-01T00:00:03Z"}
    case = a_case([a_run(0, client_marks=marks, **seen)])
    messages = [f.message for f in found("witnesses-disagree", case)]
    said = "the training clock says 60 s, but the time from first to last sign of life on W&B "
    said += "is 3 s (r0)"
    assert messages == ([] if marks else [said])


def test_a_run_with_one_time_stamp_is_not_compared_with_it() -> None:
    for stamp in ({"created_at": "2026-01-01T00:00:00Z"}, {"heartbeat_at": "2026-01-01T00:00:00Z"}):
        assert not found("witnesses-disagree", a_case([a_run(0, **stamp)]))


def test_where_a_clock_is_ahead_both_counts_are_told() -> None:
    points = ((10.0, 30.0), (20.0, 40.0), (60.0, 45.0), (61.0, 80.0))
    (item,) = found("witnesses-disagree", clocked(points))
    assert item.message == (
        "from step 1 to 3 the training clock counts 50 s, but W&B's `_runtime` 15 s (r0)"
    )
    assert (item.claimed, item.expected, item.level) == (50.0, 15.0, Level.ERROR)


SLOW = ((0.0, 100.0), (1.0, 102.5), (2.0, 105.0), (3.0, 107.5), (4.0, 110.0))


@pytest.mark.parametrize(
    ("points", "pace"),
    [
        (SLOW, 0.4),
        # half the pace of the machine is enough
        (tuple((t * 1.25, seen) for t, seen in SLOW), None),
        (((0.0, 0.0), (4.0, 10.0), (8.0, 20.0), (12.0, 30.0)), 0.4),
        # with three validations, only a clock that nearly stands still is reported
        (((0.0, 0.0), (4.0, 10.0), (8.0, 20.0)), None),
        (((0.0, 0.0), (0.4, 10.0), (0.8, 20.0)), 0.04),
        # nor within less than ten seconds
        ((*SLOW[:4], (4.0, 109.75)), None),
        # validations of one moment make no pace: two are left of three, then three of four
        (((0.0, 0.0), (4.0, 10.0), (4.1, 10.0), (8.0, 20.0)), None),
        (((0.0, 0.0), (4.0, 10.0), (4.1, 10.0), (8.1, 20.0), (12.1, 30.0)), 0.4),
    ],
)
def test_the_pace_of_most_validations_decides(points: Points, pace: float | None) -> None:
    runtime = points[-1][1]
    assert paces(points, runtime_s=runtime) == ([] if pace is None else [pytest.approx(pace)])


@pytest.mark.parametrize(
    ("rows", "pace"),
    [
        # from the first row that is timed: 31 s of 620 s, 57 s of 1140 s
        (((29.0, 660.0), (60.0, 1280.0)), 0.05),
        (((0.0, 2.0), (3.0, 140.0), (60.0, 1280.0)), 0.05),
        (((0.5, 90.0), (60.0, 1280.0)), 0.05),
        # not from a row in the second half, nor from one alone: 60 s of 1280 s
        (((30.0, 680.0), (60.0, 1280.0)), 0.046875),
        (((60.0, 1280.0),), 0.046875),
    ],
)
def test_the_pace_of_all_begins_where_the_clock_does(rows: Points, pace: float) -> None:
    history = {"time_s": tuple((n, t) for n, (t, _) in enumerate(rows, 1))}
    runtimes = tuple((n, seen) for n, (_, seen) in enumerate(rows, 1))
    last = (Validation(len(rows), 3.277, 60.0),)
    made = paces(((60.0, 1280.0),), validation=last, history=history, runtimes=runtimes)
    assert made == [pytest.approx(pace, rel=1e-2)]


@pytest.mark.parametrize(
    ("time", "runtime", "slow"),
    [(60.0, 600.0, False), (60.0, 601.0, True), (0.5, 10.0, True), (0.5, 9.9, False)],
)
def test_one_validation_tells_of_a_clock_that_all_but_stands_still(
    time: float, runtime: float, slow: bool
) -> None:
    assert paces(((time, runtime),)) == [pytest.approx(time / runtime)] * slow


def untold(**changes: Any) -> Case:
    """1000 steps in 0.051 s."""
    fields = {"validation": (Validation(1000, 3.277, 0.051),), "metrics": {}}
    return a_case([a_run(0, **fields | changes)])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "1000 steps in 0.051 s are 51 microseconds a step (r0)"),
        ({"validation": (Validation(1000, 3.277, 0.2),)}, None),
        ({"validation": (Validation(1000, 3.277, 0.0),)}, None),
        ({"source": "results"}, None),
        ({"problems": (("metric-implausible", "told"),)}, None),
        ({"validation": (Validation(2, 3.277, 1e-4),), "total_steps": 2, "last_step": 2},
         "2 steps in 0.0001 s are 50 microseconds a step (r0)"),
        ({"validation": (Validation(1, 3.277, 1e-4),), "total_steps": 1, "last_step": 1}, None),
    ],
)  # fmt: skip
def test_a_step_takes_a_fifth_of_a_millisecond(changes: dict[str, Any], told: str | None) -> None:
    messages = [f.message for f in found("clock-implausible", untold(**changes))]
    assert messages == ([] if told is None else [told])


def test_steps_are_timed_on_tracks_that_count_flops_too() -> None:
    flops = next(t for t in TRACKS.values() if t.cost.metric == "hardware_flops")
    steps = next(t for t in TRACKS.values() if t.cost.metric == "steps")
    assert found("clock-implausible", dc.replace(untold(), track=flops))
    assert not found("clock-implausible", dc.replace(untold(), track=steps))


@pytest.mark.parametrize(("seconds", "told"), [(5.9, True), (6.0, False)])
def test_a_tenth_of_the_record_is_looked_at(seconds: float, told: bool) -> None:
    run = a_run(0, validation=(Validation(1000, 3.277, seconds),), metrics={})
    standing = Standing(record="submissions/nanogpt-small/best", record_cost=60.0)
    case = a_case([run], standing=standing)
    messages = [f.message for f in found("clock-implausible", case)]
    assert messages == ["the time is 5.9 s, under a tenth of the record's 60 s"] * told
    table = dc.replace(SMALL, imported=(PATH,))
    brought = {"imported": {"url": "x"}}
    case = a_case([run], standing=standing, track=table, merged=True, submission=brought)
    assert not found("clock-implausible", case)


def test_what_a_key_is_called_is_told_unless_it_was_brought_over() -> None:
    keys = {"keys": {"loss": "my_loss", "steps": "it"}}
    (item,) = found("key-mapped", a_case(submission=keys))
    assert item.message == (
        "the submission says what its runs call a quantity: loss from `my_loss`, steps from `it`"
    )
    table = dc.replace(SMALL, imported=(PATH,))
    told = keys | {"imported": {"url": "x"}}
    assert not found("key-mapped", a_case(submission=told, track=table, merged=True))


# ------------------------------------------------------------- the author's word, and what it leads

FRONTIER = ", and would be on the frontier"


@pytest.mark.parametrize(
    ("frontier", "leads"),
    [
        ((), True),
        (((1e18, 0.65),), True),
        (((1e18, 0.6),), False),
        (((9e17, 0.65),), False),
        (((9e17, 0.6),), False),
        (((9e17, 0.7),), True),
        (((2e18, 0.6),), True),
        (((9e17, 0.7), (2e18, 0.6)), True),
        (((9e17, 0.7), (9e17, 0.6)), False),
    ],
)
def test_what_nothing_beats_would_be_on_the_frontier(
    frontier: tuple[tuple[float, float], ...], leads: bool
) -> None:
    """A results file of 0.65 bits per byte at 1e18 FLOPs."""
    run = a_run(0, source="results", validation=(Validation(1000, 3.2, 60.0),),
                metrics={"bpb": 0.65, "hardware_flops": 1e18})  # fmt: skip
    standing = Standing(frontier=frontier, known=True)
    case = a_case([run], track=TRACKS["fineweb-edu"], standing=standing)
    messages = [f.message for f in found("uncorroborated", case)]
    assert messages == [f"the numbers rest on the author's word alone{FRONTIER}"] * leads


@pytest.mark.parametrize(
    ("record", "leads"), [(None, True), (61.0, True), (60.0, False), (59.0, False)]
)
@pytest.mark.parametrize(("sources"), [("results", "results"), ("results", "wandb")])
def test_a_shorter_time_would_hold_the_record(
    record: float | None, leads: bool, sources: tuple[str, str]
) -> None:
    runs = [a_run(n, source=source) for n, source in enumerate(sources)]
    case = a_case(runs, standing=Standing(record_cost=record, known=True))
    said = "the numbers rest on the author's word alone, and would hold the record"
    findings = found("uncorroborated", case)
    assert [f.message for f in findings] == [said] * leads
    assert all(f.fix == "link the W&B run, or add the log, of each run." for f in findings)


def test_runs_that_were_read_need_nobody_else() -> None:
    assert not found("uncorroborated", a_case(standing=Standing(known=True)))


@pytest.mark.parametrize(
    ("best", "record", "leads"),
    [
        (0.51, None, True),
        (0.5, None, False),
        (0.49, None, False),
        # Costs of two machines do not compare where the ratios do.
        (0.51, 20.0, True),
        (0.49, 40.0, False),
        # Without a best ratio the cost decides.
        (None, 31.0, True),
        (None, 30.0, False),
    ],
)
def test_a_smaller_ratio_to_the_baseline_would_hold_the_record(
    best: float | None, record: float | None, leads: bool
) -> None:
    """Half of the baseline's 60 s, by results files alone."""
    track = dc.replace(TRACKS["single-gpu"], baselines=(), reproduction=None)
    arms = ("candidate", "candidate", "baseline", "baseline")
    runs = [
        a_run(n, source="results", validation=(Validation(1000, 3.2 + n / 1000, seconds),))
        for n, seconds in enumerate([30.0, 30.0, 60.0, 60.0])
    ]
    standing = Standing(record_ratio=best, record_cost=record, known=True)
    case = a_case(runs, track=track, arms=arms, standing=standing)
    said = [f.message for f in found("uncorroborated", case) if "word alone" in f.message]
    assert ["hold the record" in message for message in said] == [True] * leads
    asked = dc.replace(track, reproduction=TRACKS["single-gpu"].reproduction)
    waits = found("uncorroborated", dc.replace(case, track=asked))
    waiting = [f for f in waits if "word alone" in f.message]
    assert [f.level for f in waiting] == [Level.NOTE] * leads
    assert all("stays claimed until 3 pairs of runs" in f.message for f in waiting)
    new = next(f for f in found("uncorroborated", case) if "no frozen baseline" in f.message)
    later = next(f for f in waits if "no frozen baseline" in f.message)
    assert new.message.endswith("takes there, and the ratio would make a new baseline")
    assert new.level is Level.WARNING and (new.fix or "").startswith("ask for runs")
    assert later.message.endswith(
        "; it stays claimed until 3 pairs of runs by another person confirm it"
    )
    assert later.level is Level.NOTE and later.fix == "nothing to do."


@pytest.mark.parametrize(
    "point", [Validation(1000, 3.2, None), Validation(1000, math.nan, 60.0)], ids=["time", "loss"]
)
def test_what_lacks_a_number_leads_nothing(point: Validation) -> None:
    runs = [a_run(n, source="results", metrics={}, validation=(point,)) for n in range(2)]
    assert not found("uncorroborated", a_case(runs, standing=Standing(known=True)))


@pytest.mark.parametrize("other", [{"merged": True}, {"standing": Standing(record_cost=61.0)}])
def test_nothing_waits_where_no_board_is_at_hand_or_all_is_merged(other: dict[str, Any]) -> None:
    runs = [a_run(n, source="results") for n in range(2)]
    known: dict[str, Any] = {"standing": Standing(record_cost=61.0, known=True)}
    assert found("uncorroborated", a_case(runs, **known))
    assert not found("uncorroborated", a_case(runs, **known | other))
