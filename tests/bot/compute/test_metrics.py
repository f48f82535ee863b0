"""Recomputed numbers against the independently computed ones, and devices of every shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.compute import metrics
from bot.model.results import ResultsRun
from bot.model.run import Hardware, Run, Validation
from bot.model.values import positive
from bot.parse.json_file import read_json
from bot.parse.results_json import read_results
from tests.bot.rules.run_cases import TRACKS, a_run
from tests.corpus.variants import GOOD

VOCAB = 128256
EXPECTED = json.loads((GOOD / "expected.json").read_text(encoding="utf-8"))


def read(name: str) -> ResultsRun:
    return read_results(read_json((GOOD / f"{name}.json").read_bytes(), name))[0]


def with_info(**info: Any) -> ResultsRun:
    return read_results(read_json(json.dumps({"runs": [{"run_info": info}]}).encode(), "x"))[0]


@pytest.mark.parametrize("name", EXPECTED)
def test_real_files(name: str) -> None:
    ours, right = metrics.of_results(read(name), VOCAB), EXPECTED[name]["metrics"]
    for metric in ("hardware_flops", "chips", "tokens"):
        assert ours[metric] == pytest.approx(right[metric], rel=1e-12)
    assert ours["mfu"] == pytest.approx(right["mfu"], rel=1e-2 if name == "v0" else 1e-12)
    if right["model_flops"] is not None:
        assert ours["model_flops"] == right["model_flops"], "to the bit"


@pytest.mark.parametrize(
    ("resources", "chips", "peak"),
    [
        ({"tpu_type": "v4-128", "slice_count": 1}, 64, 275e12),
        ({"tpu_type": "v5p-32", "slice_count": 2}, 32, 459e12),
        ({"tpu_type": "v5litepod-64"}, 64, 197e12),
        ({"tpu_type": "v6e-8"}, 8, 918e12),
        ({"accelerator_type": "H100", "gpu_count": 8}, 8, 989.5e12),
        ({"device": {"count": 2, "type": "A100"}}, 2, 312e12),
        (
            {"device": {"kind": "tpu", "variant": "v5p-8", "topology": None}, "replicas": 4},
            4,
            459e12,
        ),
        ({"device": {"topology": None, "type": "v5p-64"}}, 32, 459e12),
        ({"device": {"count": 3, "kind": "gpu", "variant": "unheard-of"}}, 3, None),
        ({"device": "8x H100"}, 8, 989.5e12),
        ({"tpu_type": "v5p-7"}, None, 459e12),
        ({}, None, None),
    ],
)
def test_devices(resources: dict[str, Any], chips: int | None, peak: float | None) -> None:
    devices = metrics.devices_of(with_info(resources=resources))
    assert (devices.chips, devices.peak) == (chips, peak)


def test_the_peak_of_fp8_follows_the_products_that_a_file_describes() -> None:
    """GPT-2 124M: 190,513,152 of 285,106,176 FLOPs a token are in fp8, the rest in bf16."""
    model = {
        "hidden_dim": 768,
        "intermediate_dim": 3072,
        "num_layers": 12,
        "num_heads": 6,
        "max_seq_len": 1024,
        "vocab_size": 50304,
    }
    info = {"resources": {"accelerator_type": "H200", "gpu_count": 1}, "model_config": model}
    mixed = metrics.devices_of(with_info(**info, speedrun={"precision": "fp8"}))
    least_s = 190_513_152 / 1979e12 + (285_106_176 - 190_513_152) / 989.5e12
    assert mixed.precision == "fp8" and mixed.peak == pytest.approx(285_106_176 / least_s)
    assert metrics.devices_of(with_info(**info, speedrun={"precision": "bf16"})).peak == 989.5e12
    # Where the file does not say what was computed, all of it counts at the peak of fp8.
    bare = {**info, "model_config": {}, "speedrun": {"precision": "fp8"}}
    assert metrics.devices_of(with_info(**bare)).peak == 1979e12


def test_a_peak_is_self_declared_only_for_an_unknown_device() -> None:
    unknown = {"device": {"count": 1, "type": "unheard-of"}, "device_flops_override": 5e13}
    assert metrics.devices_of(with_info(resources=unknown)).peak == 5e13
    known = {"accelerator_type": "H100", "gpu_count": 1, "device_flops_override": 5e13}
    assert metrics.devices_of(with_info(resources=known)).peak == 989.5e12


def test_hosts_of_a_gpu_job_multiply_only_where_the_chips_say_so() -> None:
    resources = {"device": {"count": 8, "type": "H100"}, "replicas": 2}
    assert metrics.devices_of(with_info(resources=resources, num_chips=16)).chips == 16
    assert metrics.devices_of(with_info(resources=resources, num_chips=24)).chips == 8


def test_the_length_that_counts() -> None:
    run = with_info(
        model_config={"max_seq_len": 4096, "seq_len": 2048},
        train_config={"train_seq_len": 1024, "train_batch_size": 2, "num_train_steps": 3},
    )
    assert [length for _, length in metrics.lengths_of(run)] == [1024, 4096, 2048]
    assert metrics.tokens_of(run) == 2 * 3 * 1024
    assert metrics.tokens_of(with_info(train_config={"train_batch_size": [1, 2]})) is None


@pytest.mark.parametrize(
    ("model", "novel"),
    [
        ({"use_gated_deltanet": True}, True),
        ({"num_experts": 8}, True),
        ({"num_experts": 0}, False),
        ({"use_gated_attention": "elementwise"}, False),
        ({"use_sliding_window": True}, True),
        ({"use_sliding_window": False, "sliding_window": 4096}, False),
        ({"new": "none"}, False),
    ],
)
def test_novel_architectures(model: dict[str, Any], novel: bool) -> None:
    assert bool(metrics.novelties_of(with_info(model_config=model))) is novel


def test_means_are_exact_for_one_run_and_none_where_a_run_lacks_the_metric() -> None:
    assert metrics.mean_of([{"a": 0.1, "b": None}]) == {"a": 0.1, "b": None}
    assert metrics.mean_of([{"a": 1.0, "b": 2}, {"a": 2.0, "b": None}]) == {"a": 1.5, "b": None}
    assert metrics.mean_of([{"a": 3}, {"a": 3}]) == {"a": 3}
    assert metrics.mean_of([{"chips": 1}, {"chips": 8}]) == {"chips": None}
    assert metrics.mean_of([{"chips": 8}, {"chips": 8}]) == {"chips": 8}
    assert set(metrics.mean_of([]).values()) == {None}


@pytest.mark.parametrize("value", [10**50, -1, 0, 1.5, True, "8", None, [1], float("inf")])
def test_counts_must_be_plain_numbers(value: Any) -> None:
    assert positive(value) is None


def test_absurd_dimensions_give_none_and_no_overflow() -> None:
    big = {
        key: 10**15
        for key in (
            "num_layers",
            "hidden_dim",
            "intermediate_dim",
            "num_heads",
            "max_seq_len",
            "vocab_size",
        )
    }
    run = with_info(
        model_config={**big, "activation_function": "silu"},
        training_time=1e300,
        train_config={"train_batch_size": 10**15, "num_train_steps": 10**15},
        resources={"tpu_type": "v5p-32"},
        total_tokens=10**15,
    )
    values = metrics.of_results(run, VOCAB)
    assert values["mfu"] is None or values["mfu"] > 1


# ---- what a run reached -------------------------------------------------------------------------

STEPS = TRACKS["nanogpt-optimization"]
CURVE = (Validation(100, 3.4, 10.0), Validation(200, 3.3, 20.0))
H100 = Hardware("NVIDIA H100 80GB HBM3", 8)


def reached(step: int | None = None, **fields: Any) -> dict[str, float | int | None]:
    made = Run("log", "a.log", **{"validation": CURVE, "hardware": H100} | fields)
    return metrics.of_run(made, STEPS, step)


def test_a_run_is_taken_at_its_end() -> None:
    found = reached(metrics={"loss": 2.9, "training_time_s": 5.0})
    assert (found["loss"], found["steps"], found["training_time_s"]) == (3.3, 200, 20.0)


def test_at_a_step_nothing_is_filled_in_from_the_end() -> None:
    found = reached(100, metrics={"hardware_flops": 1e20, "tokens": 5, "bpb": 1.1})
    assert (found["loss"], found["steps"], found["training_time_s"]) == (3.4, 100, 10.0)
    assert found["hardware_flops"] == pytest.approx(10.0 * 8 * 989e12, rel=1e-3)
    assert (found["tokens"], found["bpb"]) == (None, None)


def test_a_metric_at_a_step_is_that_of_the_history() -> None:
    assert reached(100, history={"bpb": ((100, 1.2), (200, 1.1))})["bpb"] == 1.2


@pytest.mark.parametrize(("clock", "time"), [(-1.0, None), (0.0, None), (1e50, None), (0.1, 0.1)])
def test_what_no_clock_shows_is_no_time(clock: float, time: float | None) -> None:
    made = Run("log", "a.log", validation=(Validation(9, 3.3, clock),))
    assert metrics.of_run(made, STEPS)["training_time_s"] == time


def test_no_clock_at_the_end_is_no_time() -> None:
    made = Run(
        "log", "a.log", validation=(Validation(9, 3.3, None),), metrics={"training_time_s": 5}
    )
    assert metrics.of_run(made, STEPS)["training_time_s"] is None


@pytest.mark.parametrize(("step", "time"), [(0, 0.0), (100, None)])
def test_a_clock_of_zero_is_a_time_at_step_zero_alone(step: int, time: float | None) -> None:
    points = tuple(Validation(s, 4 - s / 1000, 0.0 if s <= 100 else s * 0.1) for s in (0, 100, 200))
    assert reached(step, validation=points)["training_time_s"] == time


@pytest.mark.parametrize(("stated", "peak"), [(2e14, 2e14), (-2e14, None), (0, None)])
def test_the_peak_of_an_unknown_device_is_the_stated_one(stated: float, peak: float | None) -> None:
    resources = {"device": {"count": 3, "kind": "gpu", "variant": "unheard-of"}}
    found = metrics.devices_of(with_info(resources=resources, device_flops=stated))
    assert found.peak == peak


MODEL = {"num_layers": 2, "hidden_dim": 64, "intermediate_dim": 256, "num_heads": 4}
MODEL |= {"vocab_size": 1000, "seq_len": 128, "max_seq_len": 128}


@pytest.mark.parametrize("missing", ["num_layers", "hidden_dim", "intermediate_dim", "num_heads"])
def test_dimensions_are_complete_or_none(missing: str) -> None:
    assert metrics.transformer_of(with_info(model_config=MODEL), None) is not None
    some = {key: value for key, value in MODEL.items() if key != missing}
    assert metrics.transformer_of(with_info(model_config=some), None) is None


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("input_embedding_norm", "embedding_norm"),
        ("use_qk_norm", "qk_norm"),
        ("tie_word_embeddings", "tied"),
        ("use_gated_attention", "attention_gate"),
        ("use_layer_norm_weight", "norm_weights"),
    ],
)
def test_each_setting_of_the_model_is_read(key: str, name: str) -> None:
    for value in (True, False):
        found = metrics.transformer_of(with_info(model_config={**MODEL, key: value}), None)
        assert getattr(found, name) is value


def test_the_name_of_a_device_may_say_how_many() -> None:
    run = a_run(hardware=Hardware("8x H100", None))
    assert metrics.of_run(run, TRACKS["nanogpt-small"])["chips"] == 8
