"""The table of accelerators and the names that find one."""

import json
import pathlib
import re

import pytest

from bot.compute.accelerators import all_accelerators, find, near_names, parse, peak_flops
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("name", "chip", "chips", "peak"),
    [
        ("a100", "a100-sxm", None, 312e12),
        ("A40", "a40", None, 149.7e12),
        ("h100", "h100-sxm", None, 989.5e12),
        ("NVIDIA H100 80GB HBM3", "h100-sxm", None, 989.5e12),
        ("NVIDIA H100 PCIe", "h100-pcie", None, 756.5e12),
        ("NVIDIA H100 NVL", "h100-nvl", None, 835e12),
        ("H200", "h200", None, 989.5e12),
        ("NVIDIA GH200 120GB", "gh200", None, 989.5e12),
        ("NVIDIA L4", "l4", None, 121e12),
        ("NVIDIA GeForce RTX 4090", "rtx-4090", None, 165.2e12),
        ("AMD Instinct MI300X", "mi300x", None, 1307.4e12),
        ("v4-128", "tpu-v4", 64, 275e12),
        ("v5litepod-64", "tpu-v5e", 64, 197e12),
        ("v5e-16", "tpu-v5e", 16, 197e12),
        ("v5p-32", "tpu-v5p", 16, 459e12),
        ("v5p-8", "tpu-v5p", 4, 459e12),
        ("v2-8", "tpu-v2", 4, 45e12),
        ("v3-32", "tpu-v3", 16, 123e12),
        ("v6e-8", "tpu-v6e", 8, 918e12),
        ("tpu7x-8", "tpu-v7x", 4, 2307e12),
        ("TPU v5 lite", "tpu-v5e", None, 197e12),
        ("TPU v5", "tpu-v5p", None, 459e12),
        ("TPU v6 lite", "tpu-v6e", None, 918e12),
        ("TPU7x", "tpu-v7x", None, 2307e12),
        ("8x H100", "h100-sxm", 8, 989.5e12),
        ("H100:8", "h100-sxm", 8, 989.5e12),
        ("h100 x4", "h100-sxm", 4, 989.5e12),
        ("2x v5p-32", "tpu-v5p", 32, 459e12),
    ],
)
def test_known_names(name: str, chip: str, chips: int | None, peak: float) -> None:
    device = find(name)
    assert device is not None
    assert (device.accelerator.id, device.chips) == (chip, chips)
    assert peak_flops(device.accelerator) == peak


@pytest.mark.parametrize(
    "name",
    ["", "auto", "cpu", "h1000", "v5-8", "RTX 4090 Laptop GPU", "H100-80", "x" * 300],
)
def test_unknown_names_are_not_guessed(name: str) -> None:
    assert find(name) is None


@pytest.mark.parametrize("name", ["v4-7", "v5p-0", "0x H100"])
def test_impossible_count_is_no_count(name: str) -> None:
    device = find(name)
    assert device is not None and device.chips is None


def test_no_bfloat16_before_ampere() -> None:
    for name in ("V100", "T4", "RTX 2080 Ti"):
        device = find(name)
        assert device is not None
        assert peak_flops(device.accelerator, "bf16") is None
        assert peak_flops(device.accelerator, "fp16")


def test_no_spelling_names_two_chips() -> None:
    owner: dict[str, str] = {}
    for chip in all_accelerators():
        for spelling in (chip.id, *chip.aliases, *chip.jax_kinds):
            key = re.sub(r"[^a-z0-9]+", "-", spelling.lower()).strip("-")
            assert owner.setdefault(key, chip.id) == chip.id, spelling


def test_rows_are_plausible() -> None:
    for chip in all_accelerators():
        assert chip.source and chip.aliases, chip.id
        assert chip.cores_per_chip in (1, 2) and chip.devices_per_chip in (1, 2), chip.id
        assert all(1e12 <= peak <= 1e16 for peak in chip.peaks.values()), chip.id
        if "fp8" in chip.peaks and "bf16" in chip.peaks:
            assert 1.9 < chip.peaks["fp8"] / chip.peaks["bf16"] < 2.1, chip.id


def test_every_required_family_is_there() -> None:
    wanted = (
        "V100 T4 A10 A40 A100 L4 L40S A4000 A6000 H100 H200 B200 GH200 MI250 MI300X MI355X"
        " v2 v3 v4 v5e v5p v6e v7x"
    ).split()
    assert [name for name in wanted if find(name) is None] == []
    assert all(find(f"Apple M{n} Max") for n in (1, 2, 3, 4))


def test_every_device_of_the_marin_board(golden: pathlib.Path) -> None:
    rows = json.loads((golden / "marin" / "truth.json").read_text(encoding="utf-8"))["files"]
    for row in rows:
        device = find(row["device"])
        if row["device_flops_table"] is None:
            assert device is None
            continue
        assert device is not None
        assert peak_flops(device.accelerator) == row["device_flops_table"]
        assert device.chips in (None, row["chips_used"])


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("NVIDIA H800", "h800-sxm"),
        ("NVIDIA H800 PCIe", "h800-pcie"),
        ("NVIDIA A800-SXM4-80GB", "a800-sxm"),
        ("AMD Instinct MI300X VF", "mi300x"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("NVIDIA GB10", "gb10"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None),
        ("Tesla V100-SXM2...", "v100-sxm"),
        ("NVIDIA H100 80G...", None),
        ("NVIDIA GeForce RTX 40...", None),
        ("...", None),
    ],
)
def test_devices_that_only_look_alike_are_told_apart(name: str, found: str | None) -> None:
    device = find(name)
    assert (device.accelerator.id if device else None) == found


@pytest.mark.parametrize("name", ["NVIDIA A100", "nvidia a100", "AMD MI300X"])
def test_a_name_may_begin_with_its_maker(name: str) -> None:
    device = find(name)
    assert device is not None and device == find(name.split()[1])


def test_the_nearest_names_of_an_unknown_device() -> None:
    assert "a100-sxm" in near_names("NVIDIA A100 SXM 81GB")
    assert near_names("abacus, wooden") == ()


@pytest.mark.parametrize("key", ["cores_per_chip", "devices_per_chip"])
@pytest.mark.parametrize(("count", "taken"), [(0, False), (1, True), (64, True), (65, False)])
def test_cores_and_devices_of_a_chip_are_counted(key: str, count: int, taken: bool) -> None:
    table = json.loads((ROOT / "schemas/accelerators.json").read_text("utf-8"))["accelerators"]
    data = json.dumps({"accelerators": [{**table[0], key: count}]}).encode()
    if taken:
        (accelerator,) = parse(data)
        assert getattr(accelerator, key) == count
    else:
        with pytest.raises(ValueError, match="whole numbers from 1 to 64"):
            parse(data)
