"""What a run is charged by its precision, and what its tokens take at the least."""

from __future__ import annotations

from typing import Any

import pytest

from bot.compute import accelerators, accounting, metrics
from bot.compute.shapes import least_flops, peak_of, precision_of, transformer_of
from bot.evidence.log.training_log import read_log
from bot.evidence.wandb.offline import read_offline
from bot.model.run import Run
from bot.registry import Level
from tests.bot.rules.run_cases import TRACKS, a_case, a_run, found, results_file
from tests.doubles.wandb.offline_file import offline_file

H100 = accelerators.find("H100 SXM")
MODEL = {
    "model.layers": 12, "model.hidden": 768, "model.heads": 6, "model.intermediate": 3072,
    "model.vocab": 50304, "model.seq_len": 1024,
}  # fmt: skip
SHAPE = accounting.Transformer(12, 768, 3072, 6, 6, 128, 50304, 1024, gated=False)
BF16, FP8 = 989.5e12, 1979e12


def peak(**config: Any) -> float | None:
    assert H100 is not None
    return peak_of(H100.accelerator, config)


def test_fp8_is_charged_product_by_product() -> None:
    mixed = accounting.peak_flops(SHAPE, "fp8", {"bf16": BF16, "fp8": FP8})
    assert mixed is not None and BF16 < mixed < FP8
    assert peak(precision="fp8", **MODEL) == mixed
    assert peak(precision="float8", **MODEL) == mixed
    assert peak(precision="fp8") == FP8, "without dimensions as if all of it ran in fp8"
    assert peak(precision="fp8", peak_flops=1.4e15) == 1.4e15
    assert peak(precision="fp8", peak_flops=1e14) == FP8, "a stated peak lies between the two"


@pytest.mark.parametrize("precision", ["bf16", "bf16-mixed", "fp32", "p=f32,c=bf16", None])
def test_nothing_is_charged_less_than_bf16(precision: Any) -> None:
    assert peak(precision=precision) == BF16


@pytest.mark.parametrize(
    ("config", "charged"),
    [
        ({"precision": "int4"}, None), ({"precision": "nonsense"}, None), ({"precision": 8}, None),
        ({"train.mixed_precision": "mxfp4"}, None), ({"use_int4": True}, None),
        ({"use_fp8": True}, FP8), ({"model.fp8_recipe": "delayed"}, FP8),
        ({"mp": "p=f32,c=float8_e4m3fn"}, FP8), ({"precision": "bf16", "float8": 1}, FP8),
        ({"use_fp8": False}, BF16), ({"fp8_supported": True}, BF16), ({"fp8": "none"}, BF16),
        ({"dtype": "torch.bfloat16"}, BF16), ({"adam_int8": True}, BF16), ({"note": "int4"}, BF16),
    ],
)  # fmt: skip
def test_a_precision_is_read_under_every_name(
    config: dict[str, Any], charged: float | None
) -> None:
    assert H100 is not None
    assert peak(**config) == (charged or max(H100.accelerator.peaks.values()))


@pytest.mark.parametrize(("precision", "told"), [("int4", True), ("f99", True), ("f32", False)])
def test_an_unknown_precision_is_told_where_the_work_of_chips_ranks(
    precision: str, told: bool
) -> None:
    pareto = TRACKS["fineweb-edu"]
    run = a_run(config={"train": {"mixed_precision": precision}})
    for case in (
        a_case([run], track=pareto),
        a_case([], track=pareto, results=results_file({"speedrun": {"precision": precision}})),
    ):
        said = [f for f in found("device-unknown", case) if "is not known" in f.message]
        assert [f.level for f in said if precision in f.message] == [Level.WARNING] * told
    assert not [f for f in found("device-unknown", a_case([run])) if precision in f.message]


def test_a_chip_without_fp8_or_bf16_is_charged_its_own() -> None:
    for name, expected in (("A100 SXM", 312e12), ("V100 SXM2", 125e12)):
        device = accelerators.find(name)
        assert device is not None
        assert peak_of(device.accelerator, {"precision": "fp8"}) == expected
    assert precision_of({}) == "bf16"


def test_the_dimensions_have_many_names() -> None:
    assert transformer_of(MODEL) == SHAPE
    nano = {"n_layer": 12, "n_embd": 768, "n_head": 6, "vocab_size": 50304, "block_size": 1024}
    assert transformer_of(nano) == SHAPE
    assert transformer_of({k: v for k, v in nano.items() if k != "n_head"}) is None


def test_a_log_and_a_history_name_the_precision() -> None:
    line = "step:{0}/100 val_loss:3.2{0} train_time:{0}0ms\n"
    text = "device: NVIDIA H100 80GB HBM3\nworld_size: 8\npeak: 1400.0 TFLOP/s fp8 (table)\n"
    (run,) = read_log((text + line.format(50) + line.format(100)).encode(), "run.log")
    assert metrics.of_run(run, TRACKS["nanogpt-small"])["peak_flops"] == 1.4e15
    plain = text.replace("1400.0 TFLOP/s fp8", "989.5 TFLOP/s bf16")
    (run,) = read_log((plain + line.format(50) + line.format(100)).encode(), "run.log")
    assert metrics.of_run(run, TRACKS["nanogpt-small"])["peak_flops"] == BF16
    for precision, expected in (("fp8", peak(precision="fp8", **MODEL)), ("bf16", BF16)):
        offline = wandb_run(precision=precision)
        assert offline.metrics["peak_flops"] == expected
        assert offline.metrics["hardware_flops"] == pytest.approx(200 * 8 * (expected or 0))


def wandb_run(seconds: float = 1.0, **config: Any) -> Run:
    """200 steps of 524,288 tokens on 8 H100."""
    rows = [
        {"_step": s, "_runtime": 9 + 1.1 * s * seconds, "throughput/duration": seconds,
         "throughput/total_tokens": (s + 1) * 524_288.0}
        for s in range(200)
    ]  # fmt: skip
    rows[-1]["eval/paloma/c4_en/bpb"] = 1.2
    model = {name.removeprefix("model."): value for name, value in MODEL.items()}
    data = offline_file(rows, config={"model": model, "total_steps": 200} | config)
    return read_offline(data, "run.wandb", TRACKS["fineweb-edu"].keys)


def shares(run: Run) -> list[tuple[str, Level]]:
    case = a_case([run], track=TRACKS["fineweb-edu"])
    rules = ("mfu-impossible", "mfu-unusual")
    return [(i.rule, i.level) for name in rules for i in found(name, case)]


def test_a_run_computes_no_more_than_its_chips_can() -> None:
    least = least_flops(wandb_run())
    assert least is not None and least[0] == accounting.model_flops(SHAPE, 200 * 524_288)
    busy = least[0] / (200 * 8 * BF16)
    assert shares(wandb_run(busy / 1.1)) == [("mfu-impossible", Level.ERROR)]
    assert shares(wandb_run(busy / 0.9)) == [("mfu-unusual", Level.WARNING)]
    assert shares(wandb_run(busy / 0.6)) == []


def test_without_dimensions_parameters_count_and_the_least_model() -> None:
    bare = {"tokens": 1e9, "training_time_s": 60.0}
    run = a_run(config={"parameter_count": 124_000_000}, metrics=bare)
    assert least_flops(run) == (6 * 124e6 * 1e9, "its 124,000,000 parameters")
    assert least_flops(a_run(metrics=bare)) == (6e15, "a model of a million parameters")
    sparse = a_run(config={"parameter_count": 7e9, "num_experts": 64}, metrics=bare)
    assert least_flops(sparse) == (6e15, "a model of a million parameters")
    assert least_flops(a_run()) is None
