"""Counts, cut names, other cards and tables that are refused: each at its bound."""

from __future__ import annotations

import dataclasses as dc
import json
from typing import Any

import pytest

from bot.compute import accelerators
from bot.compute.accelerators import (
    Accelerator,
    find,
    near_names,
    other_card,
    parse,
    peak_flops,
    using,
    usual_precision,
)

GB = 2**30
CHIP = Accelerator(
    "card-one", "V", "Card One", "gpu", "Ampere", ("Card 1", "One 40GB"), (), 1, 40 * GB,
    {"bf16": 1e14, "fp16": 2e14, "fp32": 3e13}, "a data sheet",
)  # fmt: skip
OTHER = dc.replace(CHIP, id="card-two", aliases=("Card 2",), architecture="Hopper")
OPEN = dc.replace(CHIP, id="card-open", aliases=("Open",), memory_bytes=None)
SLICE = dc.replace(CHIP, id="tpu-x", aliases=("x",), kind="tpu", cores_per_chip=2)
ONE_CORE = dc.replace(SLICE, id="tpu-y", aliases=("y",), cores_per_chip=1)
TABLE = (CHIP, OTHER, OPEN, SLICE, ONE_CORE)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (None, None),
        ("", None),
        ("card one", ("card-one", None)),
        ("NVIDIA Card 1", ("card-one", None)),
        ("Card 1" + " " * 194, ("card-one", None)),
        ("Card 1" + " " * 195, None),
        ("x-2", ("tpu-x", 1)),
        ("y-1", ("tpu-y", 1)),
        ("y-3", ("tpu-y", 3)),
        ("x-3", ("tpu-x", None)),
        ("x-0", ("tpu-x", None)),
        ("x-1000000", ("tpu-x", 500_000)),
        ("x-1000002", ("tpu-x", None)),
        ("x-10000000", None),
        ("card-one-2", None),
        ("1x Card 1", ("card-one", 1)),
        ("3 * Card 1", ("card-one", 3)),
        ("Card 1: 3", ("card-one", 3)),
        ("Card 1 x3", ("card-one", 3)),
        ("0x Card 1", ("card-one", None)),
        ("1x x-2", ("tpu-x", 1)),
        ("3x x-4", ("tpu-x", 6)),
        ("3x x-3", ("tpu-x", None)),
        ("999999x Card 1", ("card-one", 999_999)),
        ("1000000x Card 1", None),
        ("card-t...", ("card-two", None)),
        ("card-...", None),
        ("card-one\u2026", ("card-one", None)),
        ("NVIDIA card one...", None),
    ],
)
def test_what_a_name_stands_for(name: str | None, found: tuple[str, int | None] | None) -> None:
    with using(TABLE):
        device = find(name)
    assert (device and (device.accelerator.id, device.chips)) == found


def test_another_table_is_in_force_for_a_while_only() -> None:
    with using(TABLE):
        assert accelerators.all_accelerators() == TABLE and find("H100") is None
        with using((OTHER,)):
            assert find("card one") is None and find("card two") is not None
        assert find("card one") is not None
    assert find("card one") is None and find("H100") is not None


@pytest.mark.parametrize(
    ("name", "memory", "architecture", "said"),
    [
        ("card one", 40 * GB, "", None),
        ("card one", 34 * GB, "", None),  # 0.85 of it
        ("card one", 33.9 * GB, "", "its memory is 34 GiB, but a card one has 40"),
        ("card one", 46 * GB, "", None),  # 1.15 of it
        ("card one", 46.1 * GB, "", "its memory is 46 GiB, but a card one has 40"),
        ("card one", 0, "", None),
        ("card one", -1, "", None),
        ("card one", 1, "", "its memory is 0 GiB, but a card one has 40"),
        ("One 40GB", 68 * GB, "", "its memory is 68 GiB, but a One 40GB has 40"),
        ("card open", 1 * GB, "", None),
        ("card one", 40 * GB, "Hopper", "it is of Hopper, and a card one of Ampere"),
        ("card open", 0, "hopper", "it is of hopper, and a card open of Ampere"),
        ("card one", 40 * GB, "ampere", None),
        ("card one", 40 * GB, "Elsewhere", None),
        ("card-t...", 80 * GB, "Ampere", None),
        ("unheard-of", 80 * GB, "Hopper", None),
    ],
)
def test_a_card_of_another_memory_or_architecture(
    name: str, memory: float, architecture: str, said: str | None
) -> None:
    with using(TABLE):
        assert other_card(name, memory, architecture) == said


def test_a_name_may_state_another_memory_than_the_table() -> None:
    both = dc.replace(CHIP, aliases=("Card 80GB", "Card 80 G", "Card 12345 GB"))
    with using((both,)):
        for name in ("Card 80GB", "Card 80 G"):
            assert other_card(name, 80 * GB) is None and other_card(name, 40 * GB) is None
            assert other_card(name, 60 * GB) is not None
        assert other_card("Card 12345 GB", 12345 * GB) is not None


def test_a_long_name_is_cut_in_the_sentence() -> None:
    with using((dc.replace(CHIP, aliases=("c" * 61,)),)):
        said = other_card("c" * 61, 1.0)
    assert said is not None and "c" * 60 in said and "c" * 61 not in said


def test_at_most_three_near_names_are_told_the_nearest_first() -> None:
    many = tuple(dc.replace(CHIP, id=f"card-{n}", aliases=(f"Gadget {n}",)) for n in range(5))
    with using(many):
        assert near_names("gadget 1") == ("card-1", "card-4", "card-3")
        assert near_names("nvidia gadget 1")[0] == "card-1" and near_names("zzz") == ()


@pytest.mark.parametrize(
    ("peaks", "name"),
    [({"bf16": 1.0, "fp16": 2.0}, "bf16"), ({"fp16": 2.0}, "fp16"), ({"fp32": 1.0}, "fp32")],
)
def test_what_a_chip_trains_in(peaks: dict[str, float], name: str) -> None:
    assert usual_precision(dc.replace(CHIP, peaks=peaks)) == name
    assert peak_flops(CHIP) == 1e14 and peak_flops(CHIP, "fp8") is None


ROW = dc.asdict(CHIP)


def table(*rows: dict[str, Any]) -> bytes:
    return json.dumps({"accelerators": rows}).encode()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"peaks": {"bf16": 0.5}}, None),
        ({"peaks": {"bf16": 9.9e20}}, None),
        ({"peaks": {"bf16": 1e21}}, "a peak must be a positive number"),
        ({"peaks": {"bf16": 0}}, "a peak must be a positive number"),
        ({"peaks": {"bf16": 1e14, "fp8": -1}}, "a peak must be a positive number"),
        ({"cores_per_chip": 1.0}, "whole numbers from 1 to 64"),
        ({"cores_per_chip": True}, "whole numbers from 1 to 64"),
        ({"devices_per_chip": 2.0}, "whole numbers from 1 to 64"),
        ({"aliases": None}, "not a table of accelerators"),
        ({"new": 1}, "not a table of accelerators"),
    ],
)
def test_a_table_is_sound_or_refused(change: dict[str, Any], says: str | None) -> None:
    if says is None:
        (found,) = parse(table(ROW | change))
        assert found.peaks == change["peaks"]
        return
    with pytest.raises(ValueError, match=says):
        parse(table(ROW | change))


def test_two_chips_of_one_name_are_refused() -> None:
    other = dc.asdict(OTHER)
    assert len(parse(table(ROW, other))) == 2
    with pytest.raises(ValueError, match="card-one and card-two share the name 'card-1'"):
        parse(table(ROW, other | {"aliases": ["CARD_1"]}))
    with pytest.raises(ValueError, match="NaN is not a number"):
        parse(b'{"accelerators": [NaN]}')
    with pytest.raises(ValueError, match="not a table of accelerators"):
        parse(b"[]")
