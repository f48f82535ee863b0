"""Root causes: the slip is told from the ratio, and nothing is claimed where none fits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.compute import metrics
from bot.model.results import ResultsRun
from bot.parse.json_file import read_json
from bot.parse.results_json import read_results
from bot.registry import RELATIVE_TOLERANCE
from bot.rules.causes import chip_cause, flops_causes, peak_cause
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
