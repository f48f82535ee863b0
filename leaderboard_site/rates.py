"""What a chip hour costs, as stated in `rates.toml`."""

from __future__ import annotations

import functools as ft
import tomllib
from collections.abc import Mapping
from pathlib import Path

from bot.compute.accelerators import find


def rates() -> Mapping[str, float]:
    """Dollars a chip hour by accelerator id, as stated in `rates.toml`."""
    return _rates()[0]


@ft.lru_cache(maxsize=4096)
def rate_of(device: str | None) -> float | None:
    """Dollars a chip hour of a device, None for one that has no rate or is unknown."""
    found = find(device) if device else None
    return rates().get(found.accelerator.id) if found else None


def rates_note() -> str:
    """Where the rates come from."""
    return _rates()[1]


@ft.cache
def _rates() -> tuple[Mapping[str, float], str]:
    data = tomllib.loads((Path(__file__).parent / "rates.toml").read_text(encoding="utf-8"))
    return data["dollars_per_chip_hour"], data["note"]
