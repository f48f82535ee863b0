"""Devices of results files: their peak, their number and their name, from both sides."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.model.verdict import Finding
from bot.registry import Level
from tests.bot.rules.run_cases import PATH, TRACKS, a_case, a_run, found, results_file
from tests.bot.rules.test_text_and_accounting import findings
from tests.corpus.variants import put

FLOPS = TRACKS["fineweb-edu"]
INFO = "/runs/0/run_info"


def told(rule: str, ours: dict[str, Any] | None = None, **info: Any) -> list[Finding]:
    case = a_case((), results=results_file(info, **(ours or {})), track=FLOPS)
    items = list(found(rule, case))
    assert all(f.file == f"{PATH}/speedrun_results.json" and f.line is not None for f in items)
    return items


def kind(name: str, **more: Any) -> dict[str, Any]:
    return {"resources": {"device": {"kind": name}, **more}}


# ---- the peak -----------------------------------------------------------------------------------

PEAK = 989.5e12
ALONE, WITH = "write 9.895e14", "write 9.895e14 and compute hardware FLOPs with it"


def peaks(**info: Any) -> list[tuple[Any, Any, str | None]]:
    items = told("device-peak-mismatch", **{**kind("H100"), **info})
    assert all(f.write == f.expected == PEAK for f in items)
    assert [f.ratio for f in items] == [float(str(f.claimed)) / PEAK for f in items]
    return [(f.claimed, (f.pointer or "").removeprefix(f"{INFO}/"), f.fix) for f in items]


@pytest.mark.parametrize(
    ("share", "right"),
    [(0.9979, False), (0.9981, True), (1.0019, True), (1.0021, False), (0.0, True), (-1.0, True),
     (1 / PEAK, False)],
)  # fmt: skip
def test_a_peak_may_be_off_by_two_in_a_thousand(share: float, right: bool) -> None:
    assert peaks(device_flops=share * PEAK) == (
        [] if right else [(share * PEAK, "device_flops", ALONE)]
    )


@pytest.mark.parametrize(
    ("info", "fix"),
    [
        ({}, ALONE),  # the hardware FLOPs are right
        ({"training_hardware_flops": 1e15}, WITH),
        ({"training_hardware_flops": None}, WITH),
        ({"training_time": None}, WITH),
    ],
)
def test_hardware_flops_that_are_right_stay(info: dict[str, Any], fix: str) -> None:
    assert [told_fix for _, _, told_fix in peaks(device_flops=5e14, **info)] == [fix]


@pytest.mark.parametrize("override", [True, "1e15", None, PEAK, 1e15])
def test_a_peak_that_overrides_is_compared_too(override: Any) -> None:
    wrong = override == 1e15 and override is not True
    place = (1e15, "resources/device_flops_override", ALONE)
    assert peaks(**kind("H100", device_flops_override=override)) == [place] * wrong


def test_without_a_known_device_there_is_no_peak_to_compare_with() -> None:
    assert not told("device-peak-mismatch", device_flops=1.0, **kind("A board"))
    assert not told("device-peak-mismatch", device_flops=1.0)


# ---- the number ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slice_", "chips", "right"),
    [("v5p-32", 16, None), ("v5p-32", 32, 16), ("v5p-32", 1, 16), ("v5p-32", 0, None),
     ("v5p-32", None, None), ("v6e-8", 8, None), ("v6e-8", 4, 8)],
)  # fmt: skip
def test_a_slice_has_the_chips_that_its_name_says(
    slice_: str, chips: int | None, right: int | None
) -> None:
    info = {"resources": {"tpu_type": slice_}, "num_chips": chips, "num_devices": 16}
    items = told("chip-count-mismatch", **info)
    wanted = (chips, right, right, f"write {right}", f"{INFO}/num_chips")
    assert [(f.claimed, f.expected, f.write, f.fix, f.pointer) for f in items] == (
        [wanted] if right else []
    )
    for item in items:
        assert item.ratio == (chips or 0) / (right or 1)
        assert item.message.startswith(f'`num_chips` is {chips}; "{slice_}" has {right} chips')


def test_a_number_of_cores_that_no_slice_has() -> None:
    (item,) = told("chip-count-mismatch", resources={"tpu_type": "v5p-31"}, num_chips=16)
    assert item.message == (
        'there is no slice "v5p-31": the number in its name counts cores, two per chip'
    )
    assert (item.claimed, item.pointer) == ("v5p-31", f"{INFO}/resources")


def test_old_files_state_their_devices() -> None:
    def wrong(count: int) -> list[tuple[Any, Any]]:
        change = put(run_related_info__hardware_config__num_devices=count)
        items = (f for f in findings("v0", change) if f.rule == "chip-count-mismatch")
        return [(f.claimed, f.expected) for f in items]

    assert wrong(64) == [] and wrong(128) == [(128, 64)] and wrong(32) == [(32, 64)]


@pytest.mark.parametrize(
    ("info", "devices", "level"),
    [
        (kind("H100"), 8, None),
        (kind("H100"), 9, Level.ERROR),  # it looks cheaper than it was
        (kind("H100"), 16, Level.ERROR),
        (kind("H100"), 7, Level.WARNING),
        (kind("H100"), 1, Level.WARNING),
        (kind("H100"), 0, None),
        (kind("H100"), -8, None),
        (kind("H100"), None, None),
        (kind("mi250x"), 16, None),  # which shows two devices a chip
        (kind("mi250x"), 8, None),
        (kind("mi250x"), 17, Level.ERROR),
        (kind("mi250x"), 15, Level.WARNING),
        (kind("A board"), 8, None),
        (kind("A board"), 16, Level.WARNING),
        ({}, 4, Level.WARNING),
        ({"resources": {"tpu_type": "v6e-8"}}, 16, None),
        ({"num_chips": None}, 4, None),
    ],
)
def test_the_number_of_gpus_is_that_of_the_chips(
    info: dict[str, Any], devices: int | None, level: Level | None
) -> None:
    items = told("chip-count-mismatch", **{"num_devices": devices, **info})
    assert [f.level for f in items] == [level] * (level is not None)
    for item in items:
        assert (item.claimed, item.expected) == (devices, 8)
        assert item.ratio == (devices or 0) / 8 and item.pointer == f"{INFO}/num_devices"
        assert item.message == (
            f"`num_devices` is {devices}, but hardware FLOPs are counted for 8 chips"
        )


# ---- the name -----------------------------------------------------------------------------------

SELF = "its peak of 9.895e14 FLOP/s is self-declared and cannot be checked"
NAME_IT = "name the accelerator, such as H100 SXM, A100, v5p-32 or v6e-8"


@pytest.mark.parametrize(
    ("info", "message", "claimed", "fix"),
    [
        (kind("H100"), None, None, None),
        ({}, f"no accelerator is named, {SELF}", None, NAME_IT),
        ({"device_flops": None}, "no accelerator is named, no peak is stated", None, NAME_IT),
        (kind("A board"), f'the accelerator "A board" is not known, {SELF}', "A board", NAME_IT),
        (kind("A100-SXM4-81GB"), f'the accelerator "A100-SXM4-81GB" is not known, {SELF}',
         "A100-SXM4-81GB", f'{NAME_IT}; perhaps "A100-SXM4-80GB"'),
        (kind("h100 sxx"), f'the accelerator "h100 sxx" is not known, {SELF}', "h100 sxx",
         f'{NAME_IT}; perhaps "H100 SXM"'),
    ],
)  # fmt: skip
def test_the_accelerator_is_known(
    info: dict[str, Any], message: str | None, claimed: str | None, fix: str | None
) -> None:
    items = told("device-unknown", **info)
    assert [(f.message, f.claimed, f.fix) for f in items] == (
        [] if message is None else [(message, claimed, fix)]
    )
    assert all(f.pointer == f"{INFO}/resources" for f in items)


@pytest.mark.parametrize(
    ("resources", "claimed"),
    [
        ({"device": {"variant": "H100", "kind": "H100 SXM5"}}, None),
        ({"device": {"variant": "H100", "kind": "A100"}}, "A100"),
        ({"device": {"variant": "H100", "type": "A board", "kind": "A100"}}, "A100"),
        ({"device": {"variant": "H100", "type": "V100", "kind": "A100"}}, "V100"),
        ({"tpu_type": "v5p-32", "accelerator_type": "v5p-32"}, None),
        ({"tpu_type": "v5p-32", "accelerator_type": "v5p-64"}, "v5p-64"),
        ({"tpu_type": "v5p-32", "device": {"kind": "TPU v5p"}}, None),  # without a number
        ({"tpu_type": "v5p-32", "device": {"kind": "v6e-16"}}, "v6e-16"),
    ],
)
def test_a_file_names_one_accelerator(resources: dict[str, Any], claimed: str | None) -> None:
    first = resources.get("tpu_type", "H100")
    items = told("device-unknown", resources=resources)
    assert [(f.claimed, f.expected) for f in items] == [(claimed, first)] * (claimed is not None)
    for item in items:
        assert item.message == (
            f'two accelerators are named, "{first}" and "{claimed}"; "{first}" is used'
        )


# ---- the precision ------------------------------------------------------------------------------

WORDS = '"int3" is not known'


@pytest.mark.parametrize(
    ("precision", "says"),
    [
        (None, None),
        ("bf16", None),
        ("fp16", None),  # of the same peak
        ("fp32", 'the precision "fp32" is self-declared, and its peak is 14.8 times lower than'),
        ("int3", 'the precision "int3" is not known, so its peak cannot be checked'),
    ],
)
def test_a_precision_that_makes_a_run_look_cheaper(precision: Any, says: str | None) -> None:
    info = {**kind("H100"), "device_flops": None}
    items = told("device-unknown", {"precision": precision}, **info)
    assert [f.message.startswith(str(says)) for f in items] == [True] * (says is not None)
    for item in items:
        assert not item.message.endswith(")")  # of no run, so none is named
        assert (item.claimed, item.pointer) == (precision, f"{INFO}/speedrun/precision")
    file = results_file(info, precision=precision)
    for track, ranks in (
        (TRACKS["nanogpt-small"], False),
        (dc.replace(FLOPS, cost=dc.replace(FLOPS.cost, metric="tokens")), False),
        (dc.replace(TRACKS["nanogpt-small"],
                    quality=dc.replace(FLOPS.quality, metric="hardware_flops")), True),
    ):  # fmt: skip
        again = found("device-unknown", a_case((), results=file, track=track))
        assert len(again) == (ranks and says is not None)


def test_the_precision_of_a_run_is_known_where_flops_rank() -> None:
    runs = [a_run(n, config={"precision": p}) for n, p in enumerate(("bf16", "int3"))]
    (item,) = found("device-unknown", a_case(runs, track=FLOPS))
    assert item.message == (
        'the precision "int3" is not known; the highest peak of the device is charged (r1)'
    )
    assert (item.level, item.claimed) == (Level.WARNING, "int3")
    assert (item.fix or "").startswith("write one of bf16, fp16, ")
    assert not found("device-unknown", a_case(runs, track=TRACKS["nanogpt-small"]))
