"""Updates that share a step, devices by the batch, and a model by its parameters."""

from __future__ import annotations

from typing import Any

import pytest

from bot.evidence.log.training_log import read_log
from bot.model.run import Run
from tests.bot.rules.run_cases import TRACKS
from tests.bot.rules.second_cases import PARETO, TOTAL, config, log, loss_at, offline, rows, told

STEPS = TRACKS["nanogpt-optimization"]


def twice(loss: float, **settings: Any) -> list[Run]:
    """A log and a history that show two training losses a step, the second `loss` higher."""
    lines = list[str]()
    history = list[dict[str, Any]]()
    for step in range(0, TOTAL + 1, 20):
        for n in range(2):
            text = f"step:{step}/{TOTAL} train_loss:{loss_at(step) + n * loss:.4f}"
            lines.append(f"{text} train_time:{step * 50}ms")
            history.append(
                {
                    "_step": len(history),
                    "step": step,
                    "_runtime": 9 + step * 0.06,
                    "train_loss": loss_at(step) + n * loss,
                    "train_time_s": step * 0.05,
                }
            )
        if step % 100 == 0:
            lines.append(
                f"step:{step}/{TOTAL} val_loss:{loss_at(step):.4f} train_time:{step * 50}ms"
            )
            history[-1]["val_loss"] = loss_at(step)
    head = ["device: NVIDIA H100 80GB HBM3", "world_size: 8"]
    head += [f"{name}: {value}" for name, value in settings.items()]
    (run,) = read_log("\n".join([*head, *lines, ""]).encode(), "run.log")
    return [run, offline(history, STEPS, **config(**settings))]


@pytest.mark.parametrize(
    ("loss", "settings", "is_told"),
    [
        (0.02, {}, True),
        (0.0, {}, False),
        (0.02, {"gradient_accumulation_steps": 2}, False),
    ],
)
def test_two_training_losses_in_one_step(
    loss: float, settings: dict[str, Any], is_told: bool
) -> None:
    for run in twice(loss, **settings):
        said = [text for text, _ in told(run, STEPS) if "2 training losses a step" in text]
        assert ["they are 2,800 updates" in text for text in said] == [True] * is_told
    assert not any("updates" in text for text, _ in told(twice(loss, **settings)[0]))


@pytest.mark.parametrize(
    ("times", "settings", "is_told"),
    [
        (2, {}, True),
        (1.5, {}, True),
        (1.5, {}, True),
        (1, {}, False),
        (32, {}, False),
        (2, {"grad_accum_steps": 2}, False),
    ],
)
def test_rows_that_the_program_numbers(
    times: float, settings: dict[str, Any], is_told: bool
) -> None:
    made = [row | {"_step": int(row["_step"] * times)} for row in rows()]
    said = [text for text, _ in told(offline(made, STEPS, **config(**settings)), STEPS)]
    assert [
        f"by `_step` in the history they are {1400 * times:,.0f} updates" in t for t in said
    ] == [True] * is_told


# ---- devices by the batch ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "is_told"),
    [
        ({"train_batch_size": 256, "per_device_train_batch_size": 8}, True),
        ({"train_batch_size": 256, "train_micro_batch_size_per_gpu": 8}, True),
        ({"total_batch_size": 524_288, "device_batch_size": 16, "max_seq_len": 1024}, True),
        ({"train_batch_size": 64, "per_device_train_batch_size": 8}, False),
        ({"train_batch_size": 8, "per_device_train_batch_size": 8}, False),
        ({"train_batch_size": 256, "per_device_eval_batch_size": 8}, False),
    ],
)
def test_a_batch_that_takes_more_devices(settings: dict[str, Any], is_told: bool) -> None:
    passes = {"gradient_accumulation_steps": 1}
    head = " ".join(f"{name}={value}" for name, value in (settings | passes).items())
    for run in (offline(rows(), **config(**settings, **passes)), read_log(log(head=head), "a")[0]):
        said = [text for text, _ in told(run) if "is counted with 8 devices" in text]
        assert ["says 32" in text for text in said] == [True] * is_told
    assert told(offline(rows(), **config(**settings))) == [], "passes are not stated"


# ---- another model than its dimensions say -------------------------------------------------------


@pytest.mark.parametrize(
    ("states", "says"),
    [
        ({"parameter_count": 354_000_000}, " parameters, its dimensions make "),
        ({"flops_per_token": 2_400_000_000}, "FLOPs a token"),
        ({"parameter_count": 124_000_000}, None),
        ({"parameter_count": 163_000_000}, None),
        ({"parameter_count": 354_000_000, "num_experts": 8}, None),
        ({"flops_per_token": 850_000_000}, None),
    ],
)
def test_a_model_that_is_larger_than_its_dimensions(
    states: dict[str, Any], says: str | None
) -> None:
    shape = {"n_layer": 12, "n_embd": 768, "n_head": 12, "block_size": 1024, "vocab_size": 50304}
    run = offline(rows(), PARETO, **config(**shape, **states))
    told_of = [text for text, _ in told(run, PARETO) if "its dimensions make" in text]
    assert [says in text for text in told_of if says] == [True] * (says is not None)
    assert says is not None or told_of == []
    assert not [text for text, _ in told(run) if "dimensions" in text], "where time ranks"


@pytest.mark.parametrize(("size", "is_told"), [(32, True), (8, False), (4, False)])
def test_data_parallelism_over_more_devices(size: int, is_told: bool) -> None:
    said = [text for text, _ in told(offline(rows(), **config(data_parallel_size=size)))]
    assert ["`data_parallel_size` in the configuration says 32" in text for text in said] == [
        True
    ] * is_told


def counted_rows(twice: Any, beside: Any = lambda step: False) -> list[str]:
    """What is said of a log with a training loss every step, a second one where `twice` says so;
    `beside` says where a validation states a training loss of its own."""
    lines = ["device: NVIDIA H100 80GB HBM3", "world_size: 8"]
    for step in range(0, 401):
        clock = f"train_time:{step * 50}ms"
        for n in range(2 if twice(step) else 1):
            lines.append(f"step:{step}/400 train_loss:{loss_at(step) + n * 0.02:.4f} {clock}")
        if step % 100 == 0 or beside(step):
            more = f" train_loss:{loss_at(step) - 0.05:.4f}"
            lines.append(f"step:{step}/400 val_loss:{loss_at(step):.4f}{more} {clock}")
    (run,) = read_log("\n".join([*lines, ""]).encode(), "run.log")
    return [text for text, _ in told(run, STEPS) if "training losses a step" in text]


def test_a_training_loss_more_in_every_fourth_step() -> None:
    (said,) = counted_rows(lambda step: step % 4 == 1)
    assert "by 1.25 training losses a step in the log's lines they are 50" in said
    assert counted_rows(lambda step: step % 4 == 1 and step < 200) == []
    assert counted_rows(lambda step: step % 12 == 1) == []
    assert counted_rows(lambda step: False, beside=lambda step: step % 4 == 0) == []


def test_rows_of_which_every_fourth_counts_twice() -> None:
    made = [row | {"_step": n * 5 // 4, "step": n} for n, row in enumerate(rows())]
    said = [text for text, _ in told(offline(made, STEPS), STEPS)]
    assert any("by `_step` in the history they are" in text for text in said)
    late = [row | {"_step": n + (n > 60), "step": n} for n, row in enumerate(rows())]
    assert not any("`_step`" in text for text, _ in told(offline(late, STEPS), STEPS))
