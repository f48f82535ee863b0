"""What a configuration says of precision, dimensions, tokens and parameters: each reading alone."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.compute import accelerators, accounting
from bot.compute.accounting import Transformer
from bot.compute.shapes import (
    larger_model,
    least_flops,
    parameters_of,
    peak_of,
    precision_of,
    transformer_of,
)
from bot.model.run import Run, Validation, Witness, WitnessKind

SIZES = {"layers": 2, "hidden": 64, "heads": 4, "vocab": 1000, "seq_len": 128}
SHAPE = Transformer(2, 64, 256, 4, 4, 16, 1000, 128, gated=False)


@pytest.mark.parametrize(
    ("config", "precision"),
    [
        ({}, "bf16"),
        ({"precision": None}, "bf16"),
        ({"precision": True}, "bf16"),
        ({"precision": ""}, "bf16"),
        ({"precision": 16}, "fp16"),
        ({"precision": "FP32-true"}, "fp32"),
        ({"dtype": "jnp.float32"}, "fp32"),
        ({"dtype": "jax.numpy.float16"}, "fp16"),
        ({"dtype": "torch.float64"}, "fp64"),
        ({"mp": "p=f32,c=bf16"}, "bf16"),
        ({"mp": "params=f32,compute=float16"}, "fp16"),
        ({"mp": "p=bf16,zinc=f32"}, "p_bf16_zinc_f32"),
        ({"precision": "x" * 41}, "x" * 40),
        ({"precision": "tf32", "amp_dtype": "bf16"}, "tf32"),  # the first that is known
        ({"precision": "fp16", "dtype": "fp8"}, "fp8"),  # the lowest
        ({"precision": "fp8", "dtype": "int4"}, "int4"),
        ({"model/precision": "fp16"}, "fp16"),
        ({"model.precision.note": "fp16"}, "bf16"),
        ({"my_dtype": "fp16"}, "bf16"),
        ({"use_fp8": "off"}, "bf16"),
        ({"use_fp8": " No "}, "bf16"),
        ({"use_fp8": 0}, "bf16"),
        ({"use_fp8": None}, "bf16"),
        ({"use_fp8": 1}, "fp8"),
        ({"mxfp8": True}, "fp8"),
        ({"use_nvfp4": True}, "nvfp4"),
        ({"fp8_available": True}, "bf16"),
        ({"optimizer_fp8": True}, "bf16"),
        ({"fp88": True}, "bf16"),
    ],
)
def test_the_precision_of_a_configuration(config: dict[str, Any], precision: str) -> None:
    assert precision_of(config) == precision


def chip(**peaks: float) -> accelerators.Accelerator:
    found = accelerators.find("H100")
    assert found is not None
    return dc.replace(found.accelerator, peaks=peaks)


@pytest.mark.parametrize(
    ("peaks", "config", "charged"),
    [
        ({"bf16": 2.0, "fp8": 4.0}, {"precision": "fp8", "peak_flops": 2.0}, 2.0),
        ({"bf16": 2.0, "fp8": 4.0}, {"precision": "fp8", "peak_flops": 1.9}, 4.0),
        ({"bf16": 2.0, "fp8": 4.0}, {"precision": "fp8", "peak_flops": 3}, 3.0),
        ({"bf16": 2.0, "fp8": 4.0}, {"precision": "fp8", "peak_flops": 4.1}, 4.0),
        ({"bf16": 2.0, "fp8": 4.0}, {"precision": "fp8", "peak_flops": "3"}, 4.0),
        ({"fp16": 2.0, "fp8": 4.0}, {"precision": "fp8", **SIZES}, 4.0),
        ({"fp8": 4.0}, {"precision": "fp8"}, None),
        ({"fp16": 2.0}, {"precision": "fp8"}, 2.0),
        ({"bf16": 2.0, "fp16": 3.0}, {}, 2.0),
        ({"fp16": 3.0, "fp32": 1.0}, {}, 3.0),
        ({"fp32": 1.0}, {}, 1.0),
        ({"bf16": 2.0, "fp8": 4.0}, {"precision": "int4"}, 4.0),
        ({}, {"precision": "int4"}, None),
        ({"bf16": 2.0, "fp8": 4.0}, {"precision": "bf16", "peak_flops": 3.0}, 2.0),
    ],
)
def test_the_peak_that_is_charged(
    peaks: dict[str, float], config: dict[str, Any], charged: float | None
) -> None:
    assert peak_of(chip(**peaks), config) == charged


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        ({}, SHAPE),
        ({"model.gated": True}, dc.replace(SHAPE, gated=True)),
        ({"gated": 1}, SHAPE),
        ({"gated": "no"}, SHAPE),
        ({"ungated": True}, SHAPE),
        ({"head_dim": 32}, dc.replace(SHAPE, head_dim=32)),
        ({"heads": 65}, dc.replace(SHAPE, heads=65, kv_heads=65, head_dim=1)),
        ({"kv_heads": 2}, dc.replace(SHAPE, kv_heads=2)),
        ({"d_ff": 100}, dc.replace(SHAPE, intermediate=100)),
        ({"vocab": None}, dc.replace(SHAPE, vocab=77)),
        ({"num_layers": 3}, dc.replace(SHAPE, layers=3)),
        ({"a/num_layers": 3, "b/num_layers": 4}, dc.replace(SHAPE, layers=3)),
        *(({name: None}, None) for name in SIZES if name != "vocab"),
    ],
)
def test_the_dimensions_of_a_configuration(
    changed: dict[str, Any], want: Transformer | None
) -> None:
    assert transformer_of(SIZES | changed, 77) == want


def test_without_a_vocabulary_there_are_no_dimensions() -> None:
    assert transformer_of({**SIZES, "vocab": None}) is None
    assert transformer_of(SIZES, 77) == SHAPE


def a_run(config: dict[str, Any] | None = None, **fields: Any) -> Run:
    return Run("log", "a.log", config=config or {}, **fields)


LEAST = "a model of a million parameters"


@pytest.mark.parametrize(
    ("tokens", "told"),
    [(None, False), (-1, False), (0, False), (0.5, True), (1, True), (1e20, True), (2e20, False)],
)
def test_tokens_that_can_be_take_flops(tokens: float | None, told: bool) -> None:
    found = least_flops(a_run(metrics={"tokens": tokens}))
    assert found == ((6e6 * (tokens or 0), LEAST) if told else None)


@pytest.mark.parametrize(
    ("config", "fields", "tokens"),
    [
        ({"tokens_per_step": 5}, {"last_step": 7}, 35),
        ({"batch_tokens": 5}, {"last_step": 7, "validation": (Validation(3, 1.0, None),)}, 15),
        ({"tokens_per_step": 5}, {"last_step": 7, "metrics": {"tokens": 11}}, 11),
        ({"tokens_per_step": 5}, {"last_step": 7, "metrics": {"tokens": 0}}, 35),
        ({"tokens_per_step": 5}, {}, None),
        ({}, {"last_step": 7}, None),
    ],
)
def test_tokens_are_stated_or_a_product(
    config: dict[str, Any], fields: dict[str, Any], tokens: int | None
) -> None:
    found = least_flops(a_run(config, **fields))
    assert (found and found[0]) == (None if tokens is None else 6e6 * tokens)


def test_the_least_is_of_the_model_that_is_known_best() -> None:
    metrics = {"tokens": 10}
    sized = accounting.model_flops(SHAPE, 10)
    both = {**SIZES, "n_params": 1234567}
    assert least_flops(a_run(both, metrics=metrics)) == (sized, "its stated dimensions")
    counted = least_flops(a_run({"n_params": 1234567}, metrics=metrics))
    assert counted == (6.0 * 1234567 * 10, "its 1,234,567 parameters")
    sparse = {**both, "model.num_experts": 2}
    assert least_flops(a_run(sparse, metrics=metrics)) == (6e7, LEAST)
    other = {**SIZES, "vocab": None}
    told = least_flops(a_run(other, metrics=metrics), 1000)
    assert told == (sized, "its stated dimensions")


def witness(quantity: str, value: float | str) -> Witness:
    return Witness(quantity, value, WitnessKind.PROGRAM, "a line")


@pytest.mark.parametrize(
    ("witnesses", "config", "parameters"),
    [
        ([witness("parameters", 7)], {"n_params": 9}, 7),
        ([witness("parameters", "7M"), witness("parameters", 8.0)], {}, 8.0),
        ([witness("parameters", "7M")], {"n_params": 9}, 9),
        ([witness("tokens", 7)], {"n_params": 9}, 9),
        ([witness("parameters", 0)], {"n_params": 9}, 0),
        ([], {}, None),
    ],
)
def test_parameters_are_witnessed_or_stated(
    witnesses: list[Witness], config: dict[str, Any], parameters: float | None
) -> None:
    assert parameters_of(a_run(config, witnesses=tuple(witnesses))) == parameters


GATED = dc.replace(SHAPE, gated=True)
COUNT = accounting.parameter_count(GATED)
EACH = 3 * accounting.forward_flops_per_token(GATED)


@pytest.mark.parametrize(
    ("stated", "larger"),
    [
        ({"n_params": COUNT * 3 // 2}, None),
        ({"n_params": COUNT * 3 // 2 + 1}, (COUNT * 3 // 2 + 1, COUNT, "parameters")),
        ({"flops_per_token": EACH * 3 // 2}, None),
        (
            {"flops_per_token": EACH * 3 // 2 + 1},
            (EACH * 3 // 2 + 1, EACH, "FLOPs a token"),
        ),
        ({"n_params": COUNT * 2, "flops_per_token": EACH * 2}, (COUNT * 2, COUNT, "parameters")),
        ({"n_params": COUNT * 2, "num_experts": 2}, None),
        ({"n_params": COUNT * 2, "layers": None}, None),
        ({"n_params": COUNT, "flops_per_token": EACH * 2}, (EACH * 2, EACH, "FLOPs a token")),
        ({}, None),
    ],
)
def test_a_stated_number_may_be_of_a_larger_model(
    stated: dict[str, Any], larger: tuple[float, float, str] | None
) -> None:
    assert COUNT % 2 == EACH % 2 == 0, "so that half as much again is a whole number"
    assert larger_model(a_run(SIZES | stated)) == larger
