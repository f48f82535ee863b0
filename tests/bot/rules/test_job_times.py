"""A job that took twice what its training clock says, and one whose rest is accounted for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bot.evidence.log.training_log import read_log
from bot.evidence.log.whole import Span, moments_of
from bot.registry import Level
from tests.bot.rules.run_cases import a_case, found
from tests.bot.rules.second_cases import TOTAL, config, log, loss_at, offline, rows, said, told
from tests.bot.rules.test_settings import SECONDS
from tests.bot.rules.test_settings import told as told_of_results

HOUR = 3600.0
PACE = HOUR / TOTAL


def an_hour(head: str = "", tail: str = "", **more: Any) -> bytes:
    """A log whose training clock says one hour."""
    return log(head=head, tail=tail, pace=PACE, **more)


# (header, last line) of a job of two hours, and of one of 70 minutes
SPANS = [
    ("Start time: 2026-11-30 07:00:00", "End time: {:%Y-%m-%d %H:%M:%S}"),
    ("started at 2026-11-30T07:00:00+01:00", "finished at {:%Y-%m-%dT%H:%M:%S}+01:00"),
    ("started at 2026-11-30T08:00:00+01:00", "finished at {:%Y-%m-%dT%H:%M:%S}Z"),
    ("Mon Nov 30 07:00:00 UTC 2026", "{:%a %b %d %H:%M:%S} UTC 2026"),
    ("Mon Nov 30 07:00:00 2026", "{:%a %b %d %H:%M:%S %Y}"),
    ("start_time=1796022000.5", "end_time={epoch}.25"),
    ("began: 1796022000123", "ended: {epoch}123"),
    ("1796022000", "{epoch}"),
    ("job started 07:00:00", "job finished {:%H:%M:%S}"),
    ("[2026-11-30 07:00:00] starting the job", "[{:%Y-%m-%d %H:%M:%S}] all done"),
    ("# 2026-11-30 07:00:00", "# {:%Y-%m-%d %H:%M:%S}"),
    ("date: 30/11/2026 07:00:00", "date: {:%d/%m/%Y %H:%M:%S}"),
    ("", "started at 2026-11-30 07:00:00, finished at {:%Y-%m-%d %H:%M:%S}"),
    ("launched Nov 30 07:00:00", "exited {:%b %d %H:%M:%S}"),
]
CLOSING = [
    "total wall time {h} h", "Total wall time: {h} h", "wall clock: {hms}", "done in {m} min",
    "Finished after {s} s", "everything took {s} seconds", "resources_used.walltime=0{hms}",
    "Elapsed: 0{hms}", "real {s}.12", "real\t{m}m0.5s", "total_hours={h}", "duration: {h}h",
    "python train.py  9.1s user 9.0s system 99% cpu {hms}.00 total", "wall_time_s: {s}",
    "job lasted {m} min", "Training took {s} seconds", "Exited after {hms}",
    "total time: {m} min", "train.py ran; uptime {hms}",
]  # fmt: skip


def end_after(hours: float) -> dict[str, Any]:
    import datetime as dt

    end = dt.datetime(2026, 11, 30, 7) + dt.timedelta(hours=hours)
    seconds = round(hours * 3600)
    hms = f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    kept = {"h": f"{hours:.4g}", "m": seconds // 60, "s": seconds, "hms": hms}
    return {"end": end, "epoch": 1796022000 + seconds, **kept}


def written(line: str, hours: float) -> str:
    fields = end_after(hours)
    return line.format(fields["end"], **fields)


@pytest.mark.parametrize(("head", "tail"), SPANS, ids=[tail for _, tail in SPANS])
def test_begin_and_end_are_twice_as_far_apart(head: str, tail: str) -> None:
    ((text, level),) = said(an_hour(head, written(tail, 2)))
    assert level is Level.WARNING and "the training clock says 3,600 s" in text
    assert "the log from its stated begin to its end says the whole job took 7," in text
    for hours in (1.1, 1.6):
        assert said(an_hour(head, written(tail, hours))) == []


@pytest.mark.parametrize("tail", CLOSING)
def test_a_line_says_that_it_took_twice_as_long(tail: str) -> None:
    ((text, level),) = said(an_hour(tail=written(tail, 2)))
    assert level is Level.WARNING and "the training clock says 3,600 s" in text
    assert "7,200" in text or "7,199" in text
    assert said(an_hour(tail=written(tail, 1.5))) == []


def test_a_report_above_the_steps() -> None:
    assert len(said(an_hour("total wall time 2 h"))) == 1
    assert said(an_hour("max wall time 2 h")) == []
    assert said(an_hour("total wall time 70 min")) == []


@pytest.mark.parametrize(
    "account",
    [
        "compilation took 1800 s", "validation took 30 min in all", "waited 40 min for 32 nodes; "
        "idle for 40 min", "evaluation: 0:35:00",
    ],
)  # fmt: skip
def test_what_the_log_accounts_for(account: str) -> None:
    tail = "total wall time 2 h"
    assert len(said(an_hour("compilation took 90 s", tail))) == 1
    assert said(an_hour(account, tail)) == []
    assert said(an_hour(tail=f"{account}\n{tail}")) == []


def test_validations_whose_time_stands_on_their_lines() -> None:
    tail = "total wall time 2 h"
    assert said(an_hour(tail=tail, more=lambda step: " val_time:150s")) == []
    assert len(said(an_hour(tail=tail, more=lambda step: " val_time:5s"))) == 1


def test_stamps_of_the_lines_account_for_what_stands_between_them() -> None:
    import datetime as dt

    def stamp(step: int) -> str:
        # Training for 2000 of 3600 s and validations between them, as the stamps show.
        at = dt.datetime(2026, 11, 30, 7, 10) + dt.timedelta(seconds=step * PACE * 1.65)
        return f"[{at:%Y-%m-%d %H:%M:%S}] "

    head, tail = "started at 2026-11-30 07:00:00", "finished at 2026-11-30 08:55:00"
    whole = [t for t, _ in said(an_hour(head, tail, stamp=stamp)) if "whole job" in t]
    assert whole == []
    assert [t for t, _ in said(an_hour(head, tail)) if "whole job" in t] != []


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("Python 3.12.7 (main, Oct  8 2025, 00:20:25)", "finished at 2026-11-30 07:10:00"),
        ("time limit 12:00:00; started at 2026-11-30 07:00:00", ""),
        ("token expires 2027-11-30 07:00:00", "finished at 2026-11-30 07:10:00"),
        ("compilation started at 2026-11-29 07:00:00", "finished at 2026-11-30 08:10:00"),
        ("started at 2026-11-30 07:00:00", "validation finished at 2026-11-30 11:00:00"),
        ("started at 23:30:00", "finished at 00:40:00"),
        ("", "elapsed 00:10<05:00"),
        ("", "time per step 2 h"),
        ("", "estimated total time: 9 h"),
        ("", "record: total time 9 h"),
        ("", "checkpoint saved, done in 9000 s"),
    ],
)
def test_moments_and_times_of_something_else(head: str, tail: str) -> None:
    assert [t for t, _ in said(an_hour(head, tail)) if "job" in t] == []


def test_a_run_that_was_resumed_waited_in_between() -> None:
    text = an_hour("started at 2026-11-30 07:00:00").decode()
    first, last = text.split("step:700/")
    waiting = "resuming from checkpoint at step 600\nMon Nov 30 19:00:00 UTC 2026\nstep:700/"
    whole = f"{first}{waiting}{last}idle for 11 h\nfinished at 2026-11-30 19:40:00\n"
    (run,) = read_log(whole.encode(), "run.log")
    assert [t for t, _ in told(run) if "job" in t] == []


def test_the_runs_of_one_file_share_what_its_end_says() -> None:
    def both(hours: int) -> list[str]:
        text = an_hour() + an_hour(tail=f"total wall time {hours} h")
        case = a_case(read_log(text, "run.log"))
        return [f.message for f in found("witnesses-disagree", case) if "whole job" in f.message]

    assert both(2) == [] and both(3) == []
    (message,) = both(5)
    assert "18,000 s" in message


def test_on_wandb() -> None:
    def times(**values: Any) -> list[str]:
        def more(step: int) -> dict[str, float]:
            return {"train_time_s": step * PACE, "_runtime": 9 + step * PACE * 1.05}

        run = offline(rows(more), **config(**values))
        return [text for text, _ in told(run) if "whole job" in text]

    begin, ends = (
        "2026-11-30T07:00:00Z",
        {2: "2026-11-30T10:00:00+01:00", 1: "2026-11-30T08:10:00Z"},
    )
    assert len(times(started_at=begin, finished_at=ends[2])) == 1
    assert times(started_at=begin, finished_at=ends[1]) == []
    assert len(times(job_start_time=1796022000, job_end_time=1796022000 + 7200)) == 1
    assert len(times(total_wall_time_s=7200)) == 1
    assert times(total_wall_time_s=4200) == []
    assert times(max_wall_time_s=7200) == []
    assert times(started_at=begin) == []


def test_in_a_results_file() -> None:
    """On a training time of 460 s."""
    assert SECONDS == 460.0
    begin = "2026-11-30T07:00:00Z"
    (message,) = told_of_results(info={"started_at": begin, "finished_at": "2026-11-30T08:00:00Z"})
    assert "states 460 s" in message and "says 3,600 s" in message
    assert told_of_results(info={"started_at": begin, "finished_at": "2026-11-30T07:20:00Z"}) == []
    assert len(told_of_results(info={"wall_time_minutes": 60})) == 1
    assert told_of_results(info={"wall_time_minutes": 20, "walltime_limit_s": 9000}) == []


def test_moments_that_compare_with_nothing() -> None:
    span = Span()
    span.take(moments_of("started at 07:00:00"), after=False)
    span.take(moments_of("finished at 2026-11-30 09:00:00"), after=True)
    assert span.seconds() is None
    assert moments_of("25:61:61 started") == [] and moments_of("version 2026-13-41") == []


def uneven(step: int) -> float:
    """Seconds on a clock whose steps take 2 % more or less."""
    return PACE * (step + 2.0 * sum((n * 7919) % 41 - 20 for n in range(step // 100)) / 20)


def with_number(name: str, value: Callable[[int], float]) -> list[str]:
    lines = ["device: NVIDIA H100 80GB HBM3", "world_size: 8"]
    lines += [
        f"step:{s}/{TOTAL} val_loss:{loss_at(s):.4f} train_time:{1000 * uneven(s):.0f}ms "
        f"{name}:{value(s):.3f}"
        for s in range(0, TOTAL + 1, 100)
    ]
    return [text for text, _ in said("\n".join([*lines, ""]).encode())]


@pytest.mark.parametrize("name", ["since_launch", "clk", "age", "sec"])
def test_a_clock_under_any_name(name: str) -> None:
    (message,) = with_number(name, lambda s: 30 + 2 * uneven(s))
    assert f"`{name}` in the log's lines, which rises as the clock does" in message
    # The same clock, in milliseconds, and one that validations are in.
    assert with_number(name, lambda s: 1000 * uneven(s)) == []
    assert with_number(name, lambda s: 1.2 * uneven(s)) == []
    # What rises with the steps is no clock, nor what rises as it likes.
    assert with_number(name, lambda s: 2.7 * PACE * s + 0.1) == []
    assert with_number(name, lambda s: 2 * uneven(s) * (1 + (s % 700) / 9999)) == []


@pytest.mark.parametrize("name", ["energy_kj", "cost_usd", "gpu_hours"])
def test_what_rises_with_the_time_and_is_no_clock(name: str) -> None:
    assert with_number(name, lambda s: 2 * uneven(s)) == []


@pytest.mark.parametrize("every", [20, 350, 700, TOTAL])
def test_the_clients_own_clock_runs_twice_as_fast(every: int) -> None:
    def made(pace: float) -> list[str]:
        history = [
            {"_step": s, "step": s, "train_time_s": s * PACE, "_runtime": 30 + pace * s * PACE}
            | ({"val_loss": loss_at(s)} if s % max(every, 100) == 0 else {})
            for s in range(0, TOTAL + 1, every)
        ]
        return [text for text, _ in told(offline(history))]

    assert len(made(2.05)) == 1
    assert made(1.2) == []
