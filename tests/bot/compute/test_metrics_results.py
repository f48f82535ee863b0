"""What is recomputed of a results file: each decision by the smallest files on both sides of it."""

from __future__ import annotations

import dataclasses as dc
import json
import math
from typing import Any

import pytest

from bot.compute import metrics
from bot.compute.accelerators import using
from bot.compute.accounting import Transformer
from bot.model.results import ResultsRun
from bot.model.run import Hardware, Validation
from bot.parse.json_file import read_json
from bot.parse.results_json import read_results
from tests.bot.compute.test_metrics import with_info

H100 = {"accelerator_type": "H100"}
UNHEARD = {"accelerator_type": "unheard-of"}
WIDTHS = {"num_layers": 2, "hidden_dim": 64, "intermediate_dim": 256, "num_heads": 4}
MODEL = {**WIDTHS, "vocab_size": 1000, "seq_len": 128}
TRAIN = {"train_batch_size": 8, "num_train_steps": 10}
FORWARD = 2 * (4 * 64 * 256 + 2 * 64 * (64 + 2 * 64) + 2 * 64 * 64 + 4 * 128 * 64 + 3 * 128 * 4)
FORWARD += 2 * 64 * 1000
FLOPS = float(3 * FORWARD * 8 * 10 * 128)
PARAMETERS = 2 * (2 * 64 * 256 + 64 * 64 * 4 + 2 * 64) + 2 * 1000 * 64 + 64


def old(stats: dict[str, Any] | None = None, **info: Any) -> ResultsRun:
    """A run of the oldest shapes."""
    run = {"run_related_info": info, "run_stats": stats or {}}
    return read_results(read_json(json.dumps({"runs": [run]}).encode(), "x"))[0]


def computed(**info: Any) -> dict[str, float | int | None]:
    return metrics.of_results(with_info(**{"model_config": MODEL, "train_config": TRAIN} | info))


@pytest.mark.parametrize(
    ("resources", "info", "named", "chips"),
    [
        ({"tpu_type": "v5p-32", "replicas": 2}, {"num_chips": 32}, 16, 16),
        ({"tpu_type": "v5p"}, {"num_chips": 7}, None, 7),
        ({"tpu_type": "v5p"}, {"num_devices": 7}, None, None),
        ({**H100, "gpu_count": 4, "chip_count": 5, "device": {"count": 6}}, {}, 4, 4),
        ({**H100, "chip_count": 5, "device": {"count": 6}}, {}, 6, 6),
        ({"accelerator_type": "7x H100", "chip_count": 5}, {}, 5, 5),
        ({**H100, "gpu_count": 0, "chip_count": 5}, {}, 5, 5),
        ({**H100, "gpu_count": 4}, {"num_chips": 4}, 4, 4),
        ({**H100, "gpu_count": 4, "replicas": 3}, {"num_chips": 12}, 4, 12),
        ({**H100, "gpu_count": 4, "replicas": 3}, {"num_chips": 8}, 4, 4),
        ({**UNHEARD, "gpu_count": 4, "replicas": 3}, {"num_chips": 12}, 4, 12),
        (H100, {"num_devices": 9}, None, None),
    ],
)
def test_the_chips_of_a_run(
    resources: dict[str, Any], info: dict[str, Any], named: int | None, chips: int | None
) -> None:
    found = metrics.devices_of(with_info(resources=resources, **info))
    assert (found.named, found.chips) == (named, chips)


@pytest.mark.parametrize(
    ("kind", "named", "chips"),
    [("unheard-of", 3, 3), ("H100", 3, 3), ("v5p", None, 3), ("v5p-32", 16, 16)],
)
def test_the_oldest_shapes_count_devices(kind: str, named: int | None, chips: int) -> None:
    run = old(hardware_config={"device_type": kind, "num_devices": 3})
    assert run.shape == "V1"
    found = metrics.devices_of(run)
    assert (found.named, found.chips) == (named, chips)


@pytest.mark.parametrize(
    ("stated", "peak"),
    [
        ({}, None),
        ({"device_flops": 1}, 1.0),
        ({"device_flops": 0}, None),
        ({"override": 5e13}, 5e13),
        ({"override": True}, None),
        ({"override": "5e13"}, None),
        ({"override": 0}, None),
        ({"device_flops": 2e14, "override": 5e13}, 2e14),
    ],
)
def test_the_peak_that_a_file_declares(stated: dict[str, Any], peak: float | None) -> None:
    resources = UNHEARD | {"device_flops_override": stated.pop("override", None)}
    found = metrics.devices_of(with_info(resources=resources, **stated))
    assert (found.table, found.peak) == (None, peak)
    known = metrics.devices_of(with_info(resources={**resources, **H100}, **stated))
    assert known.table == known.peak == 989.5e12


@pytest.mark.parametrize(
    ("device", "precision", "charged", "peak"),
    [
        ("H100", None, "bf16", 989.5e12),
        ("H100", "fp8", "fp8", 1979e12),
        ("H100", "int4", "bf16", 989.5e12),
        ("A100", "fp8", "bf16", 312e12),
        ("V100", None, "fp16", 125e12),
        ("V100", "fp8", "fp16", 125e12),
        ("V100", "fp32", "fp32", 15.7e12),
        ("unheard-of", "int4", "int4", None),
    ],
)
def test_the_precision_that_is_charged(
    device: str, precision: str | None, charged: str, peak: float | None
) -> None:
    resources = {"accelerator_type": device}
    found = metrics.devices_of(with_info(resources=resources, speedrun={"precision": precision}))
    assert (found.precision, found.table) == (charged, peak)


def test_a_chip_of_fp32_alone_is_charged_that() -> None:
    known = metrics.devices_of(with_info(resources=H100)).accelerator
    assert known is not None
    with using((dc.replace(known, peaks={"fp32": 5e12}),)):
        found = metrics.devices_of(with_info(resources=H100))
    assert (found.precision, found.table) == ("fp32", 5e12)


@pytest.mark.parametrize("missing", ["train_batch_size", "num_train_steps", "seq_len"])
def test_tokens_are_a_product_of_three(missing: str) -> None:
    both = {**TRAIN, "seq_len": 128}
    assert metrics.tokens_of(with_info(train_config=both)) == 8 * 10 * 128
    without = {key: value for key, value in both.items() if key != missing}
    assert metrics.tokens_of(with_info(train_config=without)) is None
    stated = with_info(train_config=without, total_tokens=77)
    assert metrics.of_results(stated)["tokens"] == 77
    assert metrics.of_results(with_info(train_config=both, total_tokens=77))["tokens"] == 10240


def test_each_length_has_its_place() -> None:
    run = with_info(train_config={"train_seq_len": 2, "seq_len": 4}, model_config={"seq_len": 3})
    at = "/runs/0/run_info"
    want = [("train_config/train_seq_len", 2), ("train_config/seq_len", 4)]
    want.append(("model_config/seq_len", 3))
    assert metrics.lengths_of(run) == tuple((f"{at}/{key}", n) for key, n in want)


def test_every_setting_that_is_on_and_not_covered_is_a_novelty() -> None:
    nothing: list[Any] = [None, False, 0, "", "none", "None", [], {}]
    off = {f"off{n}": value for n, value in enumerate(nothing)}
    new = {"b": 1, "a": "x", "use_sliding_window": True, "c": [0], "rope": {"theta": 1}}
    found = metrics.novelties_of(with_info(model_config=off | new))
    assert found == ("a", "b", "c", "use_sliding_window")


SHAPE = Transformer(2, 64, 256, 4, 4, 16, 1000, 128, gated=False)
UNEVEN = dc.replace(SHAPE, head_dim=32, kv_heads=5)


@pytest.mark.parametrize(
    ("changed", "vocab", "want"),
    [
        ({}, 5, SHAPE),
        ({"head_dim": 32}, None, dc.replace(SHAPE, head_dim=32)),
        ({"head_dim": 32, "num_heads": 5}, None, dc.replace(UNEVEN, heads=5)),
        ({"num_heads": 5}, None, None),
        ({"num_kv_heads": 2}, None, dc.replace(SHAPE, kv_heads=2)),
        ({"vocab_size": None}, 5, dc.replace(SHAPE, vocab=5)),
        ({"vocab_size": None}, None, None),
        ({"seq_len": None}, None, None),
        ({"seq_len": None, "vocab_size": None}, None, None),
        ({"activation_function": "silu"}, None, dc.replace(SHAPE, gated=True)),
        ({"hybrid_norm": True}, None, dc.replace(SHAPE, norms_per_layer=4)),
        ({"hybrid_norm": False}, None, SHAPE),
        ({"tie_word_embeddings": 1, "use_qk_norm": 1, "use_layer_norm_weight": 0}, None, SHAPE),
        ({"use_gated_attention": "headwise"}, None, dc.replace(SHAPE, attention_gate=True)),
    ],
)  # fmt: skip
def test_the_dimensions_of_a_model(
    changed: dict[str, Any], vocab: int | None, want: Transformer | None
) -> None:
    assert metrics.transformer_of(with_info(model_config=MODEL | changed), vocab) == want


def test_the_vocabulary_is_that_of_the_model_then_of_the_file_then_of_the_track() -> None:
    for stated, want in ((1000, 1000), (None, 50)):
        model = {**MODEL, "vocab_size": stated}
        run = with_info(model_config=model, speedrun={"vocab_size": 50})
        shape = metrics.transformer_of(run, 5)
        assert shape is not None and shape.vocab == want


@pytest.mark.parametrize(
    ("tokens", "flops"),
    [(None, False), (-1, False), (0, False), (1, True), (0.5, True), (10**50, True), (2e50, False)],
)
def test_model_flops_are_for_a_number_of_tokens_that_can_be(
    tokens: float | None, flops: bool
) -> None:
    found = metrics.model_flops_of(with_info(model_config=MODEL), None, tokens)
    want = None if tokens is None or not flops else 3.0 * FORWARD * int(tokens)
    assert found == want


def test_the_oldest_shapes_take_six_times_parameters_times_tokens() -> None:
    assert metrics.model_flops_of(old(num_parameters=7), None, 100) == 4200.0
    assert metrics.model_flops_of(old({"final_flops_estimate": 1}, num_parameters=7), None, 1) == 42
    assert metrics.model_flops_of(old(model_config=MODEL), None, 100) is None
    assert metrics.model_flops_of(with_info(model_size=7), None, 100) is None


@pytest.mark.parametrize(
    ("model", "claimed", "flops"),
    [
        ({}, None, FLOPS),
        ({}, 1.0, FLOPS),
        ({"new": 1}, None, FLOPS),
        ({"new": 1}, 1e9, 1e9),
        ({"new": 1}, FLOPS * 1.0019, FLOPS),
        ({"new": 1}, FLOPS * 1.0021, FLOPS * 1.0021),
        ({"new": 1}, 0, None),
        ({"num_layers": None}, 1e9, 1e9),
        ({"num_layers": None}, 0, None),
        ({"num_layers": None}, None, None),
    ],
)
def test_a_claim_counts_where_the_formula_may_not_cover_the_model(
    model: dict[str, Any], claimed: float | None, flops: float | None
) -> None:
    assert computed(model_config=MODEL | model, model_flops=claimed)["model_flops"] == flops


@pytest.mark.parametrize(
    ("model", "parameters"), [({}, PARAMETERS), ({"new": 1}, 7), ({"num_layers": None}, 7)]
)
def test_parameters_are_counted_or_stated(model: dict[str, Any], parameters: int) -> None:
    assert computed(model_config=MODEL | model, model_size=7)["parameters"] == parameters


@pytest.mark.parametrize(
    ("changed", "flops"),
    [
        ({}, 60.0 * 8 * 989.5e12),
        ({"training_time": 0}, None),
        ({"training_time": None}, None),
        ({"resources": H100}, None),
        ({"resources": {**UNHEARD, "gpu_count": 8}}, None),
        ({"training_time": 1e300}, None),
    ],
)
def test_hardware_flops_take_time_chips_and_peak(
    changed: dict[str, Any], flops: float | None
) -> None:
    found = computed(**{"training_time": 60, "resources": {**H100, "gpu_count": 8}} | changed)
    assert found["hardware_flops"] == flops
    assert found["mfu"] == (None if flops is None else FLOPS / flops)


def test_one_second_and_less_is_a_time() -> None:
    assert computed(training_time=0.5)["training_time_s"] == 0.5
    assert computed(training_time=-1)["training_time_s"] is None
    no_model = computed(training_time=1, resources={**H100, "gpu_count": 1}, model_config={})
    assert no_model["hardware_flops"] == 989.5e12 and no_model["mfu"] is None


# ---- As a run ----------------------------------------------------------------------------------


def test_a_run_of_a_results_file_is_like_any_other() -> None:
    ours = {"seed": 3.0, "nonce": "ab", "data_fingerprint": "f", "run_id": "r", "code_sha256": "c"}
    info = {"eval/loss": 3.5, "training_time": 60, "speedrun": ours, "train_config": TRAIN}
    info |= {"resources": {**H100, "gpu_count": 8}}
    info |= {"run_completion_timestamp": "2026-01-02 03:04:05 UTC"}
    run = metrics.as_run(with_info(**info))
    assert run.validation == (Validation(10, 3.5, 60.0),)
    assert (run.source, run.file, run.index, run.finished) == ("results", "x", 0, True)
    assert (run.total_steps, run.last_step, run.hardware) == (10, 10, Hardware("H100", 8))
    assert (run.seed, run.nonce, run.data_fingerprint, run.run_id) == (3, "ab", "f", "r")
    assert run.finished_at == "2026-01-02T03:04:05+00:00"
    assert run.code_sha256 == {"main.py": "c"}
    assert run.metrics["hardware_flops"] == 60.0 * 8 * 989.5e12


def test_what_a_results_file_does_not_state_is_missing_in_its_run() -> None:
    run = metrics.as_run(with_info())
    assert (run.validation, run.total_steps, run.hardware) == ((), None, Hardware())
    assert (run.finished_at, run.seed, run.code_sha256) == (None, None, {})
    assert metrics.as_run(with_info(loss=3.5)).validation == (Validation(0, 3.5, None),)
    hashes = {"code_sha256": {"a.py": "1", "b.py": 2}}
    assert metrics.as_run(with_info(speedrun=hashes)).code_sha256 == {"a.py": "1"}


def test_the_name_of_a_device_is_cut_at_100_characters() -> None:
    for length, want in ((100, "q" * 100), (101, "q" * 100 + "...")):
        run = metrics.as_run(with_info(resources={"accelerator_type": "q" * length}))
        assert run.hardware.device == want


def test_a_share_that_overflows_is_none() -> None:
    assert metrics.finite(math.inf) is None and metrics.finite(1e308) == 1e308
