"""Logs that somebody changed: none of them makes a better result than the runs had."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import pytest

from bot.evidence.log.training_log import read_log
from bot.model.verdict import Verdict
from bot.registry import Status
from tests.bot.test_log_submissions import Logs, judged, log, logs, rules

LAST = r"(step:400/400 val_loss:)[\d.]+"


def each(change: Callable[[str], str]) -> Logs:
    return {name: change(text) for name, text in logs().items()}


def clock(change: Callable[[int], str]) -> Callable[[str], str]:
    """Each clock of a log, in milliseconds, as `change` writes it."""
    return lambda text: re.sub(
        r"train_time:(\d+)ms", lambda m: f"train_time:{change(int(m[1]))}", text
    )


def without_steps(*steps: int) -> Callable[[str], str]:
    gone = tuple(f"step:{step}/" for step in steps)
    return lambda text: "".join(line for line in text.splitlines(True) if not line.startswith(gone))


def last(text: str) -> str:
    """The last line of a log again, with a better loss and a later clock."""
    return text.splitlines()[-1].replace(":3.27", ":3.17").replace(":90000", ":90225") + "\n"


def late(text: str) -> str:
    """The second half of a run, with a clock that begins there."""
    return without_steps(0, 50, 100, 150)(clock(lambda t: f"{max(t - 45000, 0)}ms")(text))


@pytest.mark.parametrize(
    ("change", "rule", "status"),
    [
        (lambda t: re.sub(LAST, r"\1-3.27", t), "metric-implausible", Status.REJECTED),
        (lambda t: re.sub(LAST, r"\g<1>0.0", t), "metric-implausible", Status.REJECTED),
        (lambda t: re.sub(LAST, r"\g<1>1e-500", t), "metric-implausible", Status.REJECTED),
        (lambda t: t.replace(":3.27", ":1.27"), "metric-implausible", Status.NEEDS_REVIEW),
        (clock(lambda t: "0ms"), "clock-not-monotonic", Status.REJECTED),
        (clock(lambda t: f"{t - 10**7}ms"), "clock-not-monotonic", Status.REJECTED),
        (clock(lambda t: f"{min(t, 78750)}ms"), "clock-not-monotonic", Status.REJECTED),
        (clock(lambda t: f"{min(t, 45000)}ms"), "clock-not-monotonic", Status.REJECTED),
        (clock(lambda t: f"{t // 2}ms"), "summary-differs-from-history", Status.NEEDS_REVIEW),
        (clock(lambda t: f"{t}s"), "summary-differs-from-history", Status.NEEDS_REVIEW),
        (clock(lambda t: f"{t / 1000}ms"), "summary-differs-from-history", Status.NEEDS_REVIEW),
        (
            clock(lambda t: f"{t // 2}ms train_time:{t}ms"),
            "summary-differs-from-history",
            Status.NEEDS_REVIEW,
        ),
        (late, "clock-not-monotonic", Status.REJECTED),
        (without_steps(*range(0, 400, 50)), "history-gap", Status.NEEDS_REVIEW),
        (
            lambda t: t + last(t).replace("step:400", "step:401"),
            "history-gap",
            Status.NEEDS_REVIEW,
        ),
        (
            lambda t: t + last(t),
            "history-gap",
            Status.NEEDS_REVIEW,
        ),
    ],
)
def test_a_changed_log_is_found(change: Callable[[str], str], rule: str, status: Status) -> None:
    verdict = judged(each(change))
    assert rule in rules(verdict)
    assert verdict.status is status


@pytest.mark.parametrize("change", [clock(lambda t: f"{t * 1000 // 1000}ms"), lambda t: t])
def test_an_unchanged_log_is_not(change: Callable[[str], str]) -> None:
    assert judged(each(change)).status is Status.VERIFIED


@pytest.mark.parametrize(
    ("paces", "told"),
    [
        ([1, 1, 0.25, 1, 0.25, 1, 0.25, 1], True),  # stretches that the clock hardly counts
        ([0.02, 1, 1, 1, 1, 1, 1, 1], True),  # a clock that begins after the first stretch
        ([0.46, 0.46, 0.5, 1, 1, 1, 1, 1], False),  # a batch that grows makes early steps cheaper
        ([1, 1, 1, 9, 1, 1, 1, 1], False),  # one stretch stalled
    ],
)
@pytest.mark.parametrize("begin", [0, 50])
def test_a_clock_that_leaves_stretches_out(paces: list[float], told: bool, begin: int) -> None:
    clocks = list(itertools.accumulate([0.0, *(11.25 * pace for pace in paces)]))
    lines = [
        f"step:{50 * i}/400 val_loss:{10.8 - i / 3:.4f} train_time:{clock:.3f}s"
        for i, clock in enumerate(clocks)
    ]
    (run,) = read_log("\n".join([*lines[begin // 50 :], ""]).encode(), "run.log")
    assert bool(run.problems) is told


@pytest.mark.parametrize(("total", "told"), [(50, True), (1500, False)])
def test_ten_steps_without_a_clock_are_few_or_many(total: int, told: bool) -> None:
    stops = [0, 10, *range(total // 10, total + 1, total // 10)]
    lines = [
        f"step:{step}/{total} val_loss:{9 - step / total:.4f} train_time:{max(step - 10, 0)}.004s"
        for step in sorted(set(stops))
    ]
    (run,) = read_log("\n".join([*lines, ""]).encode(), "run.log")
    assert bool(run.problems) is told


def test_a_clock_in_whole_seconds_may_stand_still_for_a_moment() -> None:
    lines = [f"step:{s}/40 val_loss:{9 - s / 10} train_time:{s // 4}s" for s in range(0, 41, 2)]
    (run,) = read_log("\n".join([*lines, ""]).encode(), "run.log")
    assert run.problems == ()


def test_an_average_since_the_last_validation_is_an_average_too() -> None:
    lines = ["step:0/300 val_loss:9.0 train_time:0ms step_avg:nanms"]
    for step, seconds, average in ((100, 20.0, 200), (200, 30.0, 100), (300, 40.0, 100)):
        lines.append(
            f"step:{step}/300 val_loss:{9 - step / 60} train_time:{seconds}s step_avg:{average}ms"
        )
    (run,) = read_log("\n".join([*lines, ""]).encode(), "run.log")
    assert run.problems == ()


def test_digits_of_other_scripts_are_no_numbers() -> None:
    text = "step:400/400 val_loss:3.27 train_time:9s\n"
    for old, new in (("3.27", "٣.٢٧"), ("400/", "٤٠٠/"), ("9s", "٩s")):
        runs = read_log(text.replace(old, new).encode(), "run.log")
        assert all(run.time_s is None or run.loss is None for run in runs)


BASE = log("3.2771", 1)


def copies(change: Callable[[str, int], str]) -> Verdict:
    """A submission of five copies of one log, each changed in its own way."""
    made = {f"logs/{i}.log": change(BASE, i).replace("seed=1", f"seed={i}") for i in range(5)}
    return judged(made)


@pytest.mark.parametrize(
    "change",
    [
        lambda t, i: t,
        lambda t, i: re.sub(r":(\d+)ms step", lambda m: f":{int(m[1]) + i}ms step", t),
        lambda t, i: t.replace("3.2771", f"3.277{i}"),
        lambda t, i: re.sub(r"(val_loss:\d+\.\d{4})", rf"\g<1>{i}", t),
        lambda t, i: re.sub(r"(step:0/400 val_loss:)[\d.]+", rf"\g<1>10.8{i}", t),
        lambda t, i: without_steps(50 * (i + 1))(t),
        lambda t, i: t.replace("step:", f"rank{i}: step:"),
    ],
)
def test_copies_of_a_run_count_once(change: Callable[[str, int], str]) -> None:
    verdict = copies(change)
    assert verdict.status in (Status.REJECTED, Status.NEEDS_RUNS)
    assert verdict.statistics is not None and verdict.statistics.n == 1
    assert len(verdict.statistics.excluded) == 4


def test_two_runs_with_equal_losses_prove_nothing() -> None:
    verdict = judged({f"logs/{i}.log": log("3.2799", i) for i in (1, 2)})
    assert (verdict.status, rules(verdict)) == (Status.NEEDS_RUNS, {"target-not-significant"})
    assert verdict.statistics is not None and verdict.statistics.p is None
    assert verdict.statistics.needed_runs > 0


def test_no_control_characters_come_out_of_a_log() -> None:
    text = BASE.replace("NVIDIA H100", "NVIDIA \x1b[31mH100")
    (run,) = read_log(text.encode(), "run.log")
    assert run.hardware.device is not None and run.hardware.device.isprintable()


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t[t.index("step:") :],
        lambda t: t.replace("H100 80GB HBM3", "X900 Ultra"),
    ],
)
def test_hardware_that_cannot_be_checked_is_looked_at(change: Callable[[str], str]) -> None:
    verdict = judged(each(change))
    assert rules(verdict) == {"hardware-differs-from-run"}
    assert verdict.status is Status.NEEDS_REVIEW


def other_loss(name: str) -> Callable[[str], str]:
    """Runs that miss the target and print a better number under another name."""
    return lambda text: re.sub(
        r"val_loss:([\d.]+)", lambda m: f"val_loss:{float(m[1]) + 0.1:.4f} {name}:{m[1]}", text
    )


def test_a_loss_of_the_submissions_own_naming_is_not_taken_unseen() -> None:
    own = judged(each(other_loss("fake_loss")), claims={"fake_loss": 3.277})
    assert own.status is Status.REJECTED
    assert rules(own) == {"target-missed", "claim-differs-from-run"}
    ema = judged(each(other_loss("val_ema_loss")), claims={"val_ema_loss": 3.27706})
    assert (ema.status, rules(ema)) == (Status.NEEDS_REVIEW, {"claim-differs-from-run"})


def test_runs_without_a_clock_do_not_hide_behind_those_that_have_one() -> None:
    files = logs()
    files["logs/0.log"] = re.sub(r" train_time:\d+ms step_avg:\d+ms", "", files["logs/0.log"])
    verdict = judged(files)
    assert (verdict.status, rules(verdict)) == (Status.REJECTED, {"metric-missing"})
