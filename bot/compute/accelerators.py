"""Accelerators: peak FLOP/s, cores per chip, and the names that devices go by.

The numbers lie in `schemas/accelerators.json`, each with its source. `find` accepts what people,
drivers and clouds write: `H100`, `NVIDIA H100 80GB HBM3`, `8x A100-80G`, `v5p-32`, `TPU v5 lite`.
A name that is not known gives None; nothing is guessed.
"""

import contextlib
import difflib
import functools
import json
import pathlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

# A wheel ships the folder inside the package, a checkout has it beside the package.
_PACKAGE = pathlib.Path(__file__).parents[1]
_SCHEMAS = next(d for d in (_PACKAGE / "schemas", _PACKAGE.parent / "schemas") if d.is_dir())

_MAX_CORES = 1_000_000


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One kind of chip. `peaks` maps a precision (`bf16`, `fp16`, `tf32`, `fp32`, `fp8`, `int8`)
    to dense operations per second of one whole chip; `memory_bytes` is None where it varies."""

    id: str
    vendor: str
    name: str
    kind: Literal["gpu", "tpu", "apple"]
    architecture: str
    aliases: tuple[str, ...]
    jax_kinds: tuple[str, ...]
    cores_per_chip: int
    memory_bytes: int | None
    peaks: Mapping[str, float]
    source: str
    devices_per_chip: int = 1
    """How many devices JAX (or ROCm) shows for one chip: 2 on TPU v2, v3, v7x and MI250."""


@dataclass(frozen=True, slots=True)
class Device:
    """What a name stands for: the chip, and how many of them where the name says so."""

    accelerator: Accelerator
    chips: int | None


def other_card(name: str, memory: float, architecture: str = "") -> str | None:
    """That a device of another memory or architecture than its name's was seen, in words; drivers
    keep up to an eighth of the memory back."""
    found = find(name)
    if found is None or is_cut(name):
        return None
    card, other = found.accelerator, architecture.lower()
    known = {a.architecture.lower() for a in all_accelerators()}
    if other in known and other != card.architecture.lower():
        return f"it is of {architecture}, and a {name[:60]} of {card.architecture}"
    if card.memory_bytes is None or memory <= 0:
        return None
    named = [int(text) * 2**30 for text in re.findall(r"\b(\d{1,4})\s?GB?\b", name)]
    if any(0.85 * fits <= memory <= 1.15 * fits for fits in (card.memory_bytes, *named)):
        return None
    has = card.memory_bytes / 2**30
    return f"its memory is {memory / 2**30:.0f} GiB, but a {name[:60]} has {has:.0f}"


def all_accelerators() -> tuple[Accelerator, ...]:
    """Every known accelerator, in the order of the table."""
    return _load()


def find(name: str | None) -> Device | None:
    """Look a device name up; None for an unknown one.

    `v4-N`, `v5p-N`, `v2-N`, `v3-N` and `tpu7x-N` count cores, two to a chip, so `v5p-32` has 16
    chips; `v5litepod-N`, `v5e-N` and `v6e-N` count chips. `8x NAME` and `NAME:8` count chips of
    a GPU and slices of a TPU. A count that cannot be (an odd number of cores, 0) gives None chips.
    A name that was cut off (`Tesla V100-SXM2...`) counts where only one device begins so.
    """
    if name is None or len(name) > 200:
        return None
    words = _normal(name)
    known = _names()
    direct = known.get(words) or (None if is_cut(name) else known.get(_VENDOR.sub("", words)))
    if direct is not None:
        return Device(direct, None)
    if is_cut(name):
        likely = {a.id: a for spelling, a in _names().items() if spelling.startswith(words)}
        return Device(likely.popitem()[1], None) if len(likely) == 1 else None
    return _find_slice(words) or _find_counted(name)


_VENDOR = re.compile(r"^(?:nvidia|amd|google|intel)-")


def near_names(name: str) -> tuple[str, ...]:
    """Up to three known accelerators that a name may mean."""
    words = _VENDOR.sub("", _normal(name))
    near = difflib.get_close_matches(words, _names(), 9, 0.5)
    return tuple(dict.fromkeys(_names()[spelling].id for spelling in near))[:3]


def is_cut(name: str) -> bool:
    """Whether a name was cut off, as a narrow table does; it may stand for several devices."""
    return name.rstrip().endswith(("...", "\u2026"))


def peak_flops(accelerator: Accelerator, precision: str = "bf16") -> float | None:
    """Dense peak of one chip in FLOP/s at `precision`; None where the chip does not have it."""
    return accelerator.peaks.get(precision)


def usual_precision(accelerator: Accelerator) -> str:
    """The precision that a chip trains in: bf16, which chips before Ampere do not have."""
    return next((name for name in ("bf16", "fp16") if name in accelerator.peaks), "fp32")


def _normal(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _find_slice(words: str) -> Device | None:
    """A TPU slice in cloud spelling: the last number counts cores, of which v5e and v6e have one a
    chip."""
    match = re.fullmatch(r"(.+)-([0-9]{1,7})", words)
    if match is None:
        return None
    accelerator = _names().get(match.group(1))
    if accelerator is None or accelerator.kind != "tpu":
        return None
    number = int(match.group(2))
    chips, odd = divmod(number, accelerator.cores_per_chip)
    return Device(accelerator, chips if 0 < number <= _MAX_CORES and not odd else None)


def _find_counted(name: str) -> Device | None:
    """`8x H100`, `8xH100`, `H100:8` and `H100 x8`, and slices such as `2x v5p-32`."""
    front = re.fullmatch(r"\s*([0-9]{1,6})\s*[x*]\s*(\S.*)", name, re.IGNORECASE)
    back = re.fullmatch(r"(.*\S)\s*(?::|\sx|\*)\s*([0-9]{1,6})\s*", name, re.IGNORECASE)
    if front is not None:
        count, rest = int(front.group(1)), front.group(2)
    elif back is not None:
        count, rest = int(back.group(2)), back.group(1)
    else:
        return None
    words = _normal(rest)
    named = _names().get(words)
    device = Device(named, 1) if named is not None else _find_slice(words)
    if device is None:
        return None
    return Device(device.accelerator, count * (device.chips or 0) or None)


def parse(data: bytes) -> tuple[Accelerator, ...]:
    """A table from bytes, as a proposal brings them. Raises ValueError in one sentence."""
    try:
        rows = json.loads(data.decode("utf-8"), parse_constant=_refuse)["accelerators"]
        table = tuple(_checked(_accelerator(row)) for row in rows)
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not a table of accelerators: {str(error)[:100]}") from error
    owner: dict[str, str] = {}
    for accelerator in table:
        for spelling in _spellings(accelerator):
            if owner.setdefault(spelling, accelerator.id) != accelerator.id:
                both = f"{owner[spelling]} and {accelerator.id}"
                raise ValueError(f"{both} share the name {spelling!r}: give each its own")
    return table


@contextlib.contextmanager
def using(table: tuple[Accelerator, ...]) -> Iterator[None]:
    """Another table in force, for the whole process: to see what a change of it would do."""
    global _instead
    before = _instead
    try:
        _instead = table
        _forget()
        yield
    finally:
        _instead = before
        _forget()


_instead: tuple[Accelerator, ...] | None = None


def _forget() -> None:
    _load.cache_clear()
    _names.cache_clear()


@functools.cache
def _load() -> tuple[Accelerator, ...]:
    if _instead is not None:
        return _instead
    table: dict[str, Any] = json.loads((_SCHEMAS / "accelerators.json").read_text(encoding="utf-8"))
    return tuple(_accelerator(row) for row in table["accelerators"])


def _accelerator(row: dict[str, Any]) -> Accelerator:
    peaks = {precision: float(value) for precision, value in row["peaks"].items()}
    lists = {key: tuple(row[key]) for key in ("aliases", "jax_kinds")}
    return Accelerator(**{**row, **lists, "peaks": peaks})


def _checked(accelerator: Accelerator) -> Accelerator:
    counts = (accelerator.cores_per_chip, accelerator.devices_per_chip)
    if not all(type(count) is int and 0 < count <= 64 for count in counts):
        raise ValueError(
            f"{accelerator.id}: cores and devices per chip must be whole numbers from 1 to 64"
        )
    if not all(0 < peak < 1e21 for peak in accelerator.peaks.values()):
        raise ValueError(f"{accelerator.id}: a peak must be a positive number of FLOP/s below 1e21")
    return accelerator


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a number")


def _spellings(accelerator: Accelerator) -> set[str]:
    return {
        _normal(name) for name in (accelerator.id, *accelerator.aliases, *accelerator.jax_kinds)
    }


@functools.cache
def _names() -> dict[str, Accelerator]:
    """Every normalised spelling; the table's test makes sure that no two chips share one."""
    return {
        spelling: accelerator for accelerator in _load() for spelling in _spellings(accelerator)
    }
