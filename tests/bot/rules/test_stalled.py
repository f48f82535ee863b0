"""A baseline arm that stood still for a while, at log, W&B and results file; and near misses."""

from __future__ import annotations

import dataclasses as dc
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bot.compute.stalls import stalls_of
from bot.evidence.log.training_log import read_log
from bot.evidence.wandb.offline import read_offline
from bot.model.case import Case
from bot.model.run import Run, Validation
from bot.model.track import Baseline, BaselineCode
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL, TRACKS, a_case, found
from tests.doubles.wandb.offline_file import offline_file

STEPS, EVERY = 2000, 100
SINGLE = dc.replace(TRACKS["single-gpu-fineweb"], baselines=(), baseline_id="first")
Pace = Callable[[int], float]


def steady(each: float) -> Pace:
    """Seconds of each stretch of 100 steps, which rise by half as the context grows."""
    return lambda step: each * (1.5 if step > STEPS / 2 else 1.0)


def stalled_at(step: int, seconds: float, each: float = 10.0) -> Pace:
    return lambda at: steady(each)(at) + (seconds if at == step else 0.0)


def points(pace: Pace) -> list[tuple[int, float, float]]:
    """Step, loss and clock of the validations."""
    steps = range(0, STEPS + 1, EVERY)
    clock = itertools.accumulate(pace(s) if s else 0.0 for s in steps)
    return [(s, 3.27 + 4 * (1 - s / STEPS) ** 2, t) for s, t in zip(steps, clock, strict=True)]


def in_log(n: int, pace: Pace) -> Run:
    lines = ["device: NVIDIA H100 80GB HBM3", "world_size: 1"]
    lines += [
        f"step:{s}/{STEPS} val_loss:{loss + n / 999:.4f} train_time:{1000 * t:.0f}ms"
        for s, loss, t in points(pace)
    ]
    (run,) = read_log("\n".join([*lines, ""]).encode(), f"logs/{n}.log")
    return run


def on_wandb(n: int, pace: Pace) -> Run:
    rows = [
        {"_step": s, "step": s, "val_loss": loss + n / 999, "train_time_s": t, "_runtime": 20 + t}
        for s, loss, t in points(pace)
    ]
    data = offline_file(rows, config={"total_steps": STEPS})
    return read_offline(data, f"logs/{n}.wandb", SINGLE.keys)


def in_results(n: int, pace: Pace) -> Run:
    """A run of a results file: the durations of its steps, and one validation."""
    each = [pace(-(-step // EVERY) * EVERY) / EVERY for step in range(1, STEPS + 1)]
    last = Validation(STEPS, 3.27 + n / 999, sum(each))
    return Run(
        "results", f"r{n}.json", validation=(last,), step_times_s=tuple(each),
        total_steps=STEPS, last_step=STEPS, finished=True,
    )  # fmt: skip


READERS = [in_log, on_wandb, in_results]


def case_of(read: Any, ours: Sequence[Pace], theirs: Sequence[Pace], track: Any = SINGLE) -> Case:
    runs = [read(n, pace) for n, pace in enumerate([*ours, *theirs])]
    names = ["candidate"] * len(ours) + ["baseline"] * len(theirs)
    return a_case(runs, arms=names, track=track)


def told(case: Case) -> list[str]:
    items = [f for f in found("arms-differ", case) if "slow for a while" in f.message]
    assert all(item.level is Level.WARNING for item in items)
    return [item.message for item in items]


FAST, BASE = steady(9.0), steady(10.0)


@pytest.mark.parametrize("read", READERS)
def test_a_stall_in_one_of_the_baseline_runs(read: Any) -> None:
    hung = stalled_at(1400, 30.0)
    (message,) = told(case_of(read, [FAST, FAST], [BASE, hung]))
    # 15 s are usual there, and the two runs take 500 s without the stall.
    assert "takes 3 times as long as other runs do there" in message or read is in_results
    assert "make the arm 6 % slower" in message
    assert told(case_of(read, [FAST, FAST], [BASE, BASE])) == []


@pytest.mark.parametrize("read", READERS)
def test_one_baseline_run_is_slow_throughout(read: Any) -> None:
    (message,) = told(case_of(read, [FAST, FAST], [BASE, steady(13.0)]))
    assert "1.3 times as long" in message
    # Machines differ by a few per cent from run to run.
    assert told(case_of(read, [FAST, FAST], [BASE, steady(10.8)])) == []


@pytest.mark.parametrize("read", READERS)
def test_a_baseline_arm_of_one_run_is_compared_with_the_candidate(read: Any) -> None:
    assert len(told(case_of(read, [FAST], [stalled_at(1400, 30.0)]))) == 1
    # The steps grow longer in the baseline, and not in the candidate: that is another schedule.
    assert told(case_of(read, [lambda step: 9.0], [BASE])) == []


def test_all_baseline_runs_stalled_together() -> None:
    hung = stalled_at(1400, 30.0)
    assert len(told(case_of(in_log, [FAST, FAST], [hung, hung]))) == 1


@pytest.mark.parametrize("read", READERS)
def test_a_stall_of_the_candidate_harms_its_author_alone(read: Any) -> None:
    assert told(case_of(read, [FAST, stalled_at(1400, 30.0, 9.0)], [BASE, BASE])) == []


def test_what_stalls_both_arms_alike_makes_no_ratio_better() -> None:
    first = stalled_at(100, 60.0)  # as the first run of each arm compiles
    both = case_of(in_log, [stalled_at(100, 60.0, 9.0), FAST], [first, BASE])
    assert told(both) == []
    hung = stalled_at(1400, 30.0), stalled_at(1400, 30.0, 9.0)
    assert told(case_of(in_log, [FAST, hung[1]], [BASE, hung[0]])) == []


def test_a_stall_that_hardly_moves_the_mean() -> None:
    assert told(case_of(in_log, [FAST] * 4, [BASE, BASE, BASE, stalled_at(1400, 8.0)])) == []


def test_only_where_a_ratio_of_times_ranks() -> None:
    case = case_of(in_log, [FAST, FAST], [BASE, stalled_at(1400, 30.0)])
    assert told(case)
    assert told(dc.replace(case, track=SMALL)) == []


def test_the_pace_of_the_frozen_baseline_on_the_same_machine() -> None:
    """Both runs are slow over different halves: by the frozen time each of them is."""
    early: Pace = lambda s: BASE(s) * (1.4 if 100 < s <= 1000 else 1.0)  # noqa: E731
    late: Pace = lambda s: BASE(s) * (1.4 if s > 100 else 1.0)  # noqa: E731
    code = BaselineCode("main.py", "0" * 64, {"train.steps": STEPS})
    frozen = Baseline(
        "first", "submissions/single-gpu-fineweb/first", "2026-01-01", "training_time_s",
        (250.0, 251.0), (3.277, 3.278), device="H100 SXM", count=1, code=code,
    )  # fmt: skip
    track = dc.replace(SINGLE, baselines=(frozen,))

    def gain(track: Any) -> float:
        (message,) = told(case_of(in_log, [FAST, FAST], [early, late], track))
        return float(message.rpartition("make the arm ")[2].partition(" %")[0])

    assert gain(track) > gain(SINGLE) + 3


def test_clocks_that_cannot_be_compared() -> None:
    falls = [(0, 0.0), (1, 5.0), (2, 4.0), (3, 9.0), (4, 12.0)]
    even = [(s, float(s)) for s in range(5)]
    assert [s.lost_s for s in stalls_of([falls, even])] == [0.0, 0.0]
    assert stalls_of([]) == []
    assert stalls_of([even[:2]])[0].total_s == 0.0
