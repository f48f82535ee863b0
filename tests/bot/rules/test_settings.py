"""Settings of a results file that contradict what it counts, and those that do not."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.model.track import Track
from bot.registry import Level
from tests.bot.rules.run_cases import TRACKS, a_case, found, results_file

STEPS, BATCH, LENGTH, SECONDS = 6000, 512, 1024, 460.0
TOKENS = STEPS * BATCH * LENGTH
TRAIN: dict[str, Any] = {
    "num_train_steps": STEPS,
    "train_batch_size": BATCH,
    "learning_rate": 0.003,
    "warmup": 0.01,
    "decay": 1200,
    "steps_per_export": 10000,
    "int8": False,
    "initialize_from_hf": None,
    "profiler": {"num_steps": 25},
}


FINEWEB = TRACKS["fineweb-edu"]


def told(
    train: dict[str, Any] | None = None,
    info: dict[str, Any] | None = None,
    track: Track = FINEWEB,
) -> list[str]:
    """What is said of a file with these settings on eight chips."""
    stated = {
        "train_config": TRAIN | (train or {}),
        "model_config": {"seq_len": LENGTH},
        "total_tokens": TOKENS,
        "training_time": SECONDS,
        "model_flops": 0.4 * SECONDS * 8 * 989.5e12,
        "training_hardware_flops": SECONDS * 8 * 989.5e12,
    }
    document = results_file(stated | (info or {}))
    case = a_case(
        [],
        results=document,
        track=track,
        merged=True,
        submission={"imported": {"url": "https://example.org"}},
    )
    items = found("witnesses-disagree", case)
    assert all(item.level is Level.WARNING and item.fix and item.line for item in items)
    return [item.message for item in items]


CONTRADICTIONS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"warmup": 9000}, {"warmup": 600}),
    ({"decay_steps": 7000}, {"decay_steps": 6000}),
    ({"optimizer_config": {"warmup_steps": 6500}}, {"optimizer_config": {"weight_decay": 30.0}}),
    ({"num_inner_steps": 2}, {"num_inner_steps": 1}),
    ({"lr_scheduler": {"max_steps": 12000}}, {"lr_scheduler": {"max_steps": 6000}}),
    ({"max_steps": 3000}, {"max_steps": 6000}),
    ({"per_device_batch_size": 16, "gradient_accumulation_steps": 1},
     {"per_device_batch_size": 16, "gradient_accumulation_steps": 4}),
    ({"per_device_parallelism": 4, "train_batch_size": 36}, {"per_device_parallelism": 4}),
    ({"int8": True}, {"int8": False}),
    ({"mp": "p=f32,c=float8_e4m3"}, {"mp": "p=f32,c=bfloat16"}),
    ({"initialize_from_hf": "meta-llama/Llama-3.2-1B"}, {"initialize_from_hf": False}),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "right"), CONTRADICTIONS)
def test_a_setting_that_contradicts_the_file(wrong: dict[str, Any], right: dict[str, Any]) -> None:
    (message,) = told(wrong)
    assert f"{next(iter(wrong))}" in message
    assert told(right) == []


BESIDE: list[tuple[str, float, float]] = [
    ("step_time_s", 0.1, 0.08),
    ("dt_ms", 92.0, 76.0),
    ("tokens_per_second", TOKENS / SECONDS / 2, TOKENS / SECONDS),
    ("mfu", 0.2, 0.41),
    ("mfu", 80.0, 40.0),
]


@pytest.mark.parametrize(("name", "wrong", "right"), BESIDE)
def test_a_number_beside_time_tokens_and_flops(name: str, wrong: float, right: float) -> None:
    (message,) = told(info={name: wrong})
    assert name in message
    assert told(info={name: right}) == []


def test_what_a_maintainer_brought_over_is_not_asked() -> None:
    track = dc.replace(FINEWEB, imported=("submissions/nanogpt-small/*",))
    assert told({"warmup": 9000}, track=track) == []
