"""Root causes: the slip is told from the ratio, and nothing is claimed where none fits."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from bot.compute import accelerators, metrics
from bot.model.results import ResultsRun
from bot.parse.json_file import read_json
from bot.parse.results_json import read_results
from bot.registry import RELATIVE_TOLERANCE
from bot.rules.causes import (
    Cause,
    chip_cause,
    explain,
    flops_causes,
    is_no_slice,
    peak_cause,
    time_cause,
)
from tests.corpus.variants import GOOD


def run_of(name: str, **changes: Any) -> ResultsRun:
    value = json.loads((GOOD / f"{name}.json").read_text(encoding="utf-8"))
    info = value["runs"][0].get("run_info")
    if info is not None:
        info |= changes
    return read_results(read_json(json.dumps(value).encode(), "x"))[0]


def cause(run: ResultsRun, ratio: float) -> str:
    return flops_causes(run, metrics.devices_of(run), ratio, RELATIVE_TOLERANCE)[0]


@pytest.mark.parametrize(
    ("name", "ratio", "words"),
    [
        ("v2_cores", 2.0, "TPU cores were counted as chips (v5p-32 has 16 chips)"),
        ("v1_minutes", 1 / 60, "minutes were multiplied as if they were seconds"),
        ("v4", 60.0, "seconds were taken for minutes"),
        ("v4", 1000.0, "milliseconds"),
        ("v4", 1 / 3600, "hours"),
        ("v1_fp32", 1 / 960, "the fp32 peak of A100"),
        ("v1_fp32", 1 / 960, "minutes"),
        ("v4_h100", 2.0, "fp8 peak"),
        ("v4_h100", 0.5, "tf32 peak"),
        ("v2", 1 / 64, "one chip"),
        ("v2_cores", 2 / 60, "TPU cores"),
        ("v3", 2.0, "cores"),
    ],
)
def test_the_slip_is_named(name: str, ratio: float, words: str) -> None:
    assert words in cause(run_of(name), ratio)


@pytest.mark.parametrize("ratio", [1.37, 0.61, 7.3])
def test_nothing_is_claimed_where_nothing_fits(ratio: float) -> None:
    assert cause(run_of("v4"), ratio) == ""


def test_a_stated_number_of_chips_and_model_flops_in_the_wrong_place() -> None:
    run = run_of("v3", num_chips=48)
    assert "`num_chips` 48" in cause(run, 3.0)
    value = run_of("v4").number("model_flops")
    assert "this is the model FLOPs" in cause(run_of("v4", training_hardware_flops=value), 0.2)


@pytest.mark.parametrize(
    ("claimed", "words"),
    [
        (67e12, "fp32 peak"),
        (1.979e15, "fp8 peak"),
        (989.5, "TFLOP/s"),
        (1.1e14, ""),
    ],
)
def test_a_wrong_peak_is_recognised(claimed: float, words: str) -> None:
    found = peak_cause(claimed, metrics.devices_of(run_of("v4_h100")))
    assert words in found and bool(found) == bool(words)


def test_cores_as_chips_is_recognised() -> None:
    devices = metrics.devices_of(run_of("v3"))
    assert "cores" in chip_cause(32, devices) and chip_cause(20, devices) == ""


def devices(name: str | None, chips: int | None = 8, named: int | None = None) -> metrics.Devices:
    found = accelerators.find(name) if name else None
    chip = None if found is None else found.accelerator
    table = None if chip is None else chip.peaks["bf16"]
    return metrics.Devices(name, chip, named, chips, "bf16", table, table)


def stated(**info: Any) -> ResultsRun:
    """A results file that states nothing else."""
    document = {"runs": [{"run_info": info}], "speedrun": {"schema_version": 1}}
    return read_results(read_json(json.dumps(document).encode(), "x"))[0]


@pytest.mark.parametrize(
    ("device", "chips", "info", "ratio", "words"),
    [
        ("v5p", 16, {}, 2.0, "TPU cores were counted as chips (v5p has 16 chips)"),
        ("v5p", 16, {}, 0.5, "the peak of one core was used (a chip has 4.59e14 FLOP/s)"),
        ("H100", 8, {}, 0.125, "one chip was counted (H100 has 8)"),
        ("H100", 2, {}, 0.5, "one chip was counted (H100 has 2)"),
        ("XPU 9", 2, {}, 0.5, "one chip was counted (XPU 9 has 2)"),
        (None, 2, {}, 0.5, "one chip was counted (the hardware has 2)"),
        ("X" * 41, 2, {}, 0.5, f"one chip was counted ({'X' * 40}... has 2)"),
        ("X" * 40, 2, {}, 0.5, f"one chip was counted ({'X' * 40} has 2)"),
        ("H100", 8, {"num_chips": 24}, 3.0, "`num_chips` 24 was multiplied in (H100 has 8 chips)"),
        ("H100", 8, {"num_devices": 40}, 5.0,
         "`num_devices` 40 was multiplied in (H100 has 8 chips)"),
        ("H100", 8, {"resources": {"replicas": 3}}, 3.0,
         "`replicas` = 3 was multiplied in once too often"),
        ("H100", 8, {"resources": {"slice_count": 3}}, 1 / 3, "`slice_count` = 3 was left out"),
        ("H100", 8, {"resources": {"replicas": 1}}, 3.0, None),
        ("H100", 8, {}, 60.0, "seconds were taken for minutes"),
        ("H100", 8, {}, 3600.0, "seconds were taken for hours"),
        ("H100", 8, {}, 1 / 3600, "hours were multiplied as if they were seconds"),
        ("H100", 8, {}, 1 / 60, "minutes were multiplied as if they were seconds"),
        ("H100", 8, {}, 1000.0, "milliseconds were multiplied as if they were seconds"),
        ("H100", 8, {}, 0.001, "seconds were divided by 1000"),
        ("H100", 8, {}, 1e-18, "the figure is in exaFLOPs"),
        ("H100", 8, {}, 1e-15, "the figure is in petaFLOPs"),
        ("H100", 8, {}, 1e-12, "the figure is in teraFLOPs"),
        ("A100", 8, {}, 2.0, "the peak with sparsity was used (the dense one is 3.12e14)"),
        ("v4", 1, {}, 2.0, "TPU cores were counted as chips (v4 has 1 chips)"),
        ("H100", 1, {"device_flops": 3 * 989.5e12}, 3.0,
         "a peak of 2.968e15 instead of 9.895e14 FLOP/s was used"),
        ("H100", 8, {"device_flops": 0}, 3.0, None),
        ("H100", None, {}, 0.125, None),
        ("XPU 9", 8, {}, 3.0, None),
    ],
)  # fmt: skip
def test_one_slip_in_full_words(
    device: str | None, chips: int | None, info: dict[str, Any], ratio: float, words: str | None
) -> None:
    found, _ = flops_causes(stated(**info), devices(device, chips), ratio, RELATIVE_TOLERANCE)
    assert found == (f", because {words}" if words else "")


@pytest.mark.parametrize(
    ("chips", "fix"),
    [(1, "multiply by 1 chip"), (2, "multiply by 2 chips"), (16, "multiply by 16 chips")],
)
def test_the_remedy_counts_the_chips(chips: int, fix: str) -> None:
    assert flops_causes(stated(), devices("v5p", chips), 2.0, RELATIVE_TOLERANCE)[1] == fix


def test_a_figure_of_another_kind_is_told_before_any_factor() -> None:
    run = stated(training_hardware_flops=1e18, model_flops=1e18 * (1 + 9e-7))
    words, fix = flops_causes(run, devices("H100"), 60.0, RELATIVE_TOLERANCE)
    assert words == ", because this is the model FLOPs, not what the hardware could do"
    assert fix == "compute seconds x chips x peak FLOP/s of one chip"
    near = stated(training_hardware_flops=1e18, model_flops=1e18 * (1 + 1.5e-6))
    assert "minutes" in flops_causes(near, devices("H100"), 60.0, RELATIVE_TOLERANCE)[0]


SLIPS = [Cause(float(factor), f"x{factor}", f"by {factor}") for factor in (1, 3, 5, 7, 11)]


@pytest.mark.parametrize(
    ("ratio", "factors"),
    [(3, [3]), (15, [3, 5]), (105, [3, 5, 7]), (1155, []), (1, []), (2, []), (3.006, [3]),
     (3.007, [])],
)  # fmt: skip
def test_the_fewest_slips_at_most_three(ratio: float, factors: list[float]) -> None:
    assert [c.factor for c in explain(SLIPS, ratio, 0.002)] == factors


def test_two_slips_with_one_remedy_are_no_explanation() -> None:
    again = [Cause(3.0, "a", "one remedy"), Cause(5.0, "b", "one remedy")]
    assert explain(again, 15.0, 0.002) == ()


@pytest.mark.parametrize(
    ("key", "value", "ratio", "before", "told"),
    [
        ("training_time", 5.0, 60.0, 0.4,
         (", because `training_time` is in minutes", "write 300 in `training_time`")),
        ("training_time", 5.0, 3600.0, 0.4,
         (", because `training_time` is in hours", "write 18000 in `training_time`")),
        ("training_time", 5000.0, 0.001, 0.4,
         (", because `training_time` is in milliseconds", "write 5 in `training_time`")),
        ("training_time", 5.0, 60.59, 0.4,
         (", because `training_time` is in minutes", "write 300 in `training_time`")),
        ("training_time", 5.0, 60.7, 0.4, None),
        ("training_time", 5.0, 50.0, 0.4, None),
        ("training_time", 0, 60.0, 0.4, None),
        ("training_time", 5.0, 60.0, None, None),
        ("training_time", 5.0, 60.0, 0.01, None),  # unusual as it stands
        ("training_time", 5.0, 60.0, 0.8, None),
        ("training_time", 5.0, 1.2, 0.4, None),  # usual afterwards as well
    ],
)  # fmt: skip
def test_a_time_in_another_unit(
    key: str, value: float, ratio: float, before: float | None, told: tuple[str, str] | None
) -> None:
    assert time_cause(stated(**{key: value}), ratio, before, (0.05, 0.6)) == told


@pytest.mark.parametrize(
    ("claimed", "device", "chips", "words"),
    [
        (67e12, "H100", 8, ": 6.7e13 is its fp32 peak"),
        (1.979e15, "H100", 8, ": 1.979e15 is its fp8 peak"),
        (138e12, "v4", 8, ""),
        (137.5e12, "v4", 8, ": the figure is that of one core"),
        (550e12, "v4", 8, ": that is the figure with sparsity, twice the dense one"),
        (2.2e15, "v4", 8, ": the figure is that of all 8 chips together"),
        (2.2e15, "v4", None, ""),
        (275.0, "v4", 8, ": the figure is in TFLOP/s"),
        (275e3, "v4", 8, ": the figure is in GFLOP/s"),
        (0.275, "v4", 8, ": the figure is in PFLOP/s"),
        (67e12, "XPU 9", 8, ""),
    ],
)
def test_what_a_wrong_peak_is(claimed: float, device: str, chips: int | None, words: str) -> None:
    assert peak_cause(claimed, devices(device, chips)) == words


def test_without_a_peak_in_the_table_nothing_is_said_of_one() -> None:
    assert peak_cause(67e12, dataclasses.replace(devices("H100"), table=None)) == ""


@pytest.mark.parametrize(
    ("claimed", "device", "chips", "words"),
    [
        (32, "v5p", 16, ": TPU cores counted as chips, 2 to a chip"),
        (33, "v5p", 16, ""),
        (32, "v5p", None, ""),
        (32, "XPU 9", 16, ""),
    ],
)
def test_why_a_number_of_chips_is_another(
    claimed: float, device: str, chips: int | None, words: str
) -> None:
    assert chip_cause(claimed, devices(device, chips)) == words


@pytest.mark.parametrize(
    ("name", "named", "is_none"),
    [("v5p", None, False), ("v5p-32", 16, False), ("H100", None, False), (None, None, False)],
)
def test_a_slice_of_a_number_that_no_slice_has(
    name: str | None, named: int | None, is_none: bool
) -> None:
    assert is_no_slice(devices(name, named=named)) is is_none
    odd = dataclasses.replace(devices("v5p"), name="v5p-7 ")
    assert is_no_slice(odd) and not is_no_slice(dataclasses.replace(odd, name=None))
    assert not is_no_slice(dataclasses.replace(odd, accelerator=devices("H100").accelerator))
