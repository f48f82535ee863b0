"""What each kind of setting is held against, and how far it may be off."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.rules.settings import flat, settings_contradict
from tests.bot.rules.run_cases import TRACKS, a_case, results_file

EDU = TRACKS["fineweb-edu"]
STEPS, BATCH, LENGTH, SECONDS = 6000, 512, 1024, 460.0
TOKENS = STEPS * BATCH * LENGTH
FLOPS = SECONDS * 8 * 989.5e12


def found(train: Any = None, info: Any = None, track: Any = EDU, **ours: Any) -> list[Any]:
    """What a file of 6000 steps of 512 x 1024 tokens, in 460 s on 8 chips, contradicts."""
    stated = {
        "train_config": {"num_train_steps": STEPS, "train_batch_size": BATCH} | (train or {}),
        "model_config": {"seq_len": LENGTH},
        "total_tokens": TOKENS,
        "training_time": SECONDS,
        "model_flops": 0.4 * FLOPS,
        "training_hardware_flops": FLOPS,
    }
    case = a_case((), results=results_file(stated | (info or {}), **ours), track=track)
    return list(settings_contradict(case))


def told(*about: Any, **ours: Any) -> list[str]:
    return [item.message for item in found(*about, **ours)]


COUNTS = "but the file counts 6,000 steps"


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        # A hundredth and two steps more are the same length.
        ("max_steps", 6062, None),
        ("max_steps", 6063, f"is 6,063, {COUNTS}"),
        ("warmup_steps", 6062, None),
        ("warmup_steps", 6063, f"is 6,063, {COUNTS}"),
        ("warmup_ratio", 7000, None),
        ("cooldown", 0.2, None),
        ("something", 7000, None),
        ("num_inner_steps", 2, f"makes 12,000, {COUNTS}"),
        ("lr_scheduler.max_steps", 12000, f"sets out for 12,000, {COUNTS}"),
        ("max_steps", 3000, f"plans 3,000, {COUNTS}"),
        ("eval.max_steps", 7000, None),
        ("limit_val_batches", 0.5, "validates on 0.5 of the validation text"),
        ("limit_val_batches", 1.0, None),
        ("int8", True, "says int8, but FLOPs are charged at the peak of bf16"),
        ("precision", "float8_e4m3", "says fp8, but FLOPs are charged at the peak of bf16"),
        ("precision", "float32", None),
        ("num_gpus", 16, "makes 16 devices, but the file counts 8"),
        ("num_gpus", 9, "makes 9 devices, but the file counts 8"),
        ("num_gpus", 8, None),
        ("num_gpus", 4, None),
    ],
)
def test_a_setting_of_the_training(setting: str, value: Any, says: str | None) -> None:
    section, _, name = setting.rpartition(".")
    settings = {section: {name: value}} if section else {name: value}
    assert told(settings) == ([f"`train_config.{setting}` {says}"] if says else [])


def test_without_a_number_of_steps_no_length_is_compared() -> None:
    assert told({"num_train_steps": None, "max_steps": 9000}) == []


@pytest.mark.parametrize(
    ("key", "value", "more", "says"),
    [
        # The stated time is 85 % of what another clock makes it at the least.
        ("step_time_s", 0.0901, {}, None),
        ("step_time_s", 0.0902, {}, "the file states 460 s, but `{}` makes it 541.2 s"),
        ("step_time_s", 0.0902, {"training_time": None}, None),
        ("dt_ms", 92.0, {}, "the file states 460 s, but `{}` makes it 552 s"),
        ("step_time", 9.0, {}, None),  # in no known unit
        ("tokens_per_second", TOKENS / 540, {}, None),
        ("tokens_per_second", TOKENS / 542, {}, "the file states 460 s, but `{}` makes it 542 s"),
        ("tokens_per_second", 1.0, {"total_tokens": None}, None),
        ("elapsed_s", 1.0, {}, None),
        # A tenth of the share of the peak.
        ("mfu", 0.4399, {}, None),
        ("mfu", 0.4401, {}, "`{}` is 0.44, model FLOPs are 0.4 of the hardware FLOPs"),
        ("mfu", 0.45, {}, "`{}` is 0.45, model FLOPs are 0.4 of the hardware FLOPs"),
        ("mfu", 0.3599, {}, "`{}` is 0.36, model FLOPs are 0.4 of the hardware FLOPs"),
        ("mfu", 43.99, {}, None),
        ("mfu", 44.01, {}, "`{}` is 0.44, model FLOPs are 0.4 of the hardware FLOPs"),
        ("mfu", 1.0, {}, "`{}` is 1, model FLOPs are 0.4 of the hardware FLOPs"),
        ("mfu", 1.5, {}, "`{}` is 0.015, model FLOPs are 0.4 of the hardware FLOPs"),
        ("mfu", 0.9, {"model_flops": None}, None),
        ("mfu", 0.9, {"training_hardware_flops": None}, None),
        ("mfu", 0.9, {"training_hardware_flops": 0}, None),
        ("mfu", 0.9, {"training_hardware_flops": -1.0}, None),
        ("mfu", 0.9, {"model_flops": 0.5, "training_hardware_flops": 1},
         "`{}` is 0.9, model FLOPs are 0.5 of the hardware FLOPs"),
        ("mfu_target", 0.9, {}, None),
    ],
)  # fmt: skip
def test_a_number_beside_the_results(
    key: str, value: float, more: dict[str, Any], says: str | None
) -> None:
    expected = [says.format(f"run_info.{key}")] if says else []
    assert told(None, {key: value, **more}) == expected


def sized(**fields: Any) -> Any:
    return dc.replace(EDU, **fields)


@pytest.mark.parametrize(
    ("train", "track", "says"),
    [
        ({"val_tokens": 999}, EDU, None),
        ({"val_tokens": 1000}, sized(validation_tokens=1000), None),
        ({"val_tokens": 999}, sized(validation_tokens=1000),
         "`train_config.val_tokens` validates on 999 tokens, but the track on 1,000"),
        # 512 x 1024 tokens are 524,288: a hundredth is rounding.
        ({}, sized(batch_tokens=524_288), None),
        ({}, sized(batch_tokens=519_098), None),
        ({}, sized(batch_tokens=518_000),
         "`train_config.train_batch_size` makes 524,288 tokens a step, but the track's batch is "
         "518,000"),
        ({}, sized(batch_tokens=530_000),
         "`train_config.train_batch_size` makes 524,288 tokens a step, but the track's batch is "
         "530,000"),
        ({"train_batch_size": None}, sized(batch_tokens=530_000), None),
        # A batch may be that of one device: 8 of 64 are the track's.
        ({"train_batch_size": 64}, sized(batch_tokens=524_288), None),
    ],
)  # fmt: skip
def test_what_the_track_fixes(train: dict[str, Any], track: Any, says: str | None) -> None:
    assert told(train, None, track) == ([says] if says else [])


V3: dict[str, Any] = {"resources": {"device": {"variant": "v3-8"}}}
"""Four chips of two devices each."""


def each(size: float, batch: int, **more: Any) -> dict[str, Any]:
    return {"per_device_parallelism": size, "train_batch_size": batch, **more}


PARTS = (
    "`train_config.per_device_parallelism` of {} makes {} devices of a batch of {}, but the file "
)


@pytest.mark.parametrize(
    ("train", "info", "says"),
    [
        (each(4, 32), {}, None),
        (each(4, 64), {}, None),  # sixteen parts, two for each device
        (each(4, 36), {}, f"{PARTS.format(4, 9, 36)}counts 8"),
        (each(4, 20), {}, None),  # fewer than were used
        (each(4.5, 81), {}, None),
        (each(7, 64), {}, None),
        # With a stated number of passes there are no others.
        (each(4, 64, grad_accum=1), {}, f"{PARTS.format(4, 16, 64)}counts 8"),
        (each(4, 64, grad_accum=2), {}, None),
        (each(4, 32), V3, None),
        (each(4, 48), V3, None),
        (each(4, 40), V3, f"{PARTS.format(4, 10, 40)}counts 4"),
        (each(4, 32, grad_accum=1), V3, None),
        (each(4, 16, grad_accum=1), V3, None),
        (each(4, 48, grad_accum=1), V3, f"{PARTS.format(4, 12, 48)}counts 4"),
        ({"per_device_batch_size": 16, "grad_accum": 1}, {},
         "`train_config.per_device_batch_size` of 16 makes 32 devices of a batch of 512, but the "
         "file counts 8"),
        ({"num_devices": 8}, V3, None),
        ({"num_devices": 9}, V3,
         "`train_config.num_devices` makes 9 devices, but the file counts 4"),
        (each(4, 36), {"num_chips": None, "num_devices": None}, None),
    ],
)  # fmt: skip
def test_the_devices_that_a_batch_makes(
    train: dict[str, Any], info: dict[str, Any], says: str | None
) -> None:
    assert told(train, info) == ([says] if says else [])


def test_a_precision_that_the_file_charges_is_none_below_it() -> None:
    assert told({"precision": "fp8"}, precision="fp8") == []
    (text,) = told({"int4": True}, precision="fp8")
    assert text == "`train_config.int4` says int4, but FLOPs are charged at the peak of fp8"


def test_weights_that_were_trained_before() -> None:
    (item,) = found({"initialize_from_hf": "a/b"})
    assert "initialize_from_hf" in item.message
    assert item.pointer == "/runs/0/run_info/train_config/initialize_from_hf"


def test_where_a_setting_stands() -> None:
    (inside,) = found({"max_steps": 9000})
    assert inside.pointer == "/runs/0/run_info/train_config/max_steps"
    (beside,) = found(None, {"mfu": 0.9})
    assert beside.pointer == "/runs/0/run_info/mfu"
    assert (beside.claimed, beside.expected) == (0.9, pytest.approx(0.4))
    (dotted,) = found({"my.warmup": 9000})
    assert dotted.pointer == "/runs/0/run_info"
    assert inside.line == beside.line == dotted.line == 1


def nest(times: int) -> Any:
    return {"a": nest(times - 1)} if times else 1


@pytest.mark.parametrize(
    ("value", "settings"),
    [
        ({"a": {"b": 1, "c": "x"}, "d": 0.5}, [("a.b", 1), ("a.c", "x"), ("d", 0.5)]),
        ({"a": None, "b": [1], "c": True}, [("c", True)]),
        (nest(6), [("a.a.a.a.a.a", 1)]),
        (nest(7), []),
    ],
)
def test_settings_by_their_dotted_names(value: Any, settings: Any) -> None:
    assert list(flat(value)) == settings


@pytest.mark.parametrize(("fillers", "is_told"), [(397, True), (398, False)])
def test_four_hundred_settings_are_read(fillers: int, is_told: bool) -> None:
    """Besides the steps and the batch."""
    train = {f"x{n}": "y" for n in range(fillers)} | {"max_steps": 9000}
    assert len(told(train)) == is_told


def test_of_one_setting_one_thing_is_said() -> None:
    (text,) = told({"max_steps": 12000})
    assert text == f"`train_config.max_steps` is 12,000, {COUNTS}"
    assert len(told({"max_steps": 9000, "warmup_steps": 9000})) == 2
