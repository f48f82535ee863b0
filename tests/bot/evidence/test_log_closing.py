"""What a log says at its end: how long it took, and its usual step."""

from __future__ import annotations

import pytest

from bot.evidence.log.closing import took, usual


@pytest.mark.parametrize(
    ("line", "kind", "seconds"),
    [
        ("total_training_time: 95.0s", "training_time_s", 95.0),
        ("Total wall time: 3h12m", "job_time_s", 11520.0),
        ("JobRuntime: 00:02:10", "job_time_s", 130.0),
        ("Elapsed (wall clock) time (h:mm:ss or m:ss): 2:10.5", "job_time_s", 130.5),
        ("real\t2m10.500s", "job_time_s", 130.5),
        ("wandb:   _runtime 130.5", "job_time_s", 130.5),
        ("{'train_runtime': 130.5, 'epoch': 1.0}", "loop_time_s", 130.5),
        ("Training took 130.5 seconds", "loop_time_s", 130.5),
        ("Finished training in 2m10.5s.", "loop_time_s", 130.5),
        ("training completed in 2 min 10 s", "loop_time_s", 130.0),
        ("1,400 steps in 130.5 s", "loop_time_s", 130.5),
        ("the job took 130.5s", "job_time_s", 130.5),
    ],
)
def test_how_long_it_took(line: str, kind: str, seconds: float) -> None:
    assert [(k, s) for k, _, s in took(line)] == [(kind, seconds)]


@pytest.mark.parametrize(
    "line",
    [
        "Compilation of the training step took 30.5 s",
        "training data loaded in 3.2 s",
        "saving the run took 2 s",
        "evaluation took 12 s",
        "training took a while",
        "run 3 in 5 days",
        "real time 3 s",
        "training for 130 steps",
    ],
)
def test_what_took_something_else(line: str) -> None:
    assert list(took(line)) == []


@pytest.mark.parametrize(
    ("line", "rates"),
    [
        ("average step time: 49.9 ms", {"average_step_time_ms": 49.9}),
        ("mean time per step 49.9ms", {"mean_time_per_step_ms": 49.9}),
        ("average throughput: 19.8 it/s", {"it/s": 19.8}),
        ("overall 1,234,567 tokens/s", {"tokens/s": 1234567.0}),
        ("step time: 49.9 ms", {}),
        ("average validation step time: 49.9 ms", {}),
        ("average gap: 49.9 ms", {}),
    ],
)
def test_the_usual_step(line: str, rates: dict[str, float]) -> None:
    assert dict(usual(line)) == rates
