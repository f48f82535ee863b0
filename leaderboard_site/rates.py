"""What a chip hour costs, as stated in `rates.toml`, and what a point cost by it."""

from __future__ import annotations

import functools as ft
import tomllib
from collections.abc import Mapping
from pathlib import Path

from bot.compute.accelerators import find
from bot.model.submission import Submission
from bot.model.values import finite
from bot.model.verdict import Point, Verdict

HOUR = 3600.0


def rates() -> Mapping[str, float]:
    """Dollars a chip hour by accelerator id, as stated in `rates.toml`."""
    return _rates()[0]


@ft.lru_cache(maxsize=4096)
def rate_of(device: str | None) -> float | None:
    """Dollars a chip hour of a device, None for one that has no rate or is unknown."""
    found = find(device)
    return rates().get(found.accelerator.id) if found else None


def device_of(verdict: Verdict, about: Submission | None = None) -> str | None:
    """The device that the runs, or else the submission, name."""
    for run in verdict.runs:
        if run.hardware:
            return run.hardware
    return about.accelerator if about else None


def values_of(point: Point, verdict: Verdict, about: Submission | None) -> dict[str, float | None]:
    """The recomputed metrics of a point, with chip hours and dollars derived from them."""
    values: dict[str, float | None] = dict(point.metrics)
    chips, seconds = values.get("chips"), values.get("training_time_s")
    if chips is None and about and about.accelerator_count:
        chips = about.accelerator_count
    hours = chips * seconds / HOUR if finite(chips) and finite(seconds) else None
    rate = rate_of(device_of(verdict, about))
    values["chip_hours"] = hours
    values["cost_usd"] = hours * rate if hours is not None and rate is not None else None
    return values


def rates_note() -> str:
    """Where the rates come from."""
    return _rates()[1]


@ft.cache
def _rates() -> tuple[Mapping[str, float], str]:
    data = tomllib.loads((Path(__file__).parent / "rates.toml").read_text(encoding="utf-8"))
    return data["dollars_per_chip_hour"], data["note"]
