"""The frozen baselines that an arm may be runs of, and the machines that they ran on."""

from __future__ import annotations

from collections.abc import Sequence

from bot.compute import accelerators
from bot.compute.baselines import ran
from bot.model.case import Case
from bot.model.run import Run
from bot.model.track import Baseline


def frozen_of(case: Case) -> Sequence[Baseline]:
    """The frozen baselines that the arm may be runs of: the one that is known, else all up to the
    one that stood then."""
    every, found = case.track.baselines, ran(case)
    index = next((n for n, b in enumerate(every) if found and b.id == found.id), None)
    if found is None or index is None:
        return every
    return every[index : index + 1] if found.known else every[: index + 1]


def fits(frozen: Baseline, machines: set[tuple[str | None, int | None]]) -> bool:
    place = _device(frozen.device), frozen.count
    return place[0] is not None and place in machines


def machine_of(run: Run) -> str | None:
    """The kind of device that a run used, by one name for all its spellings."""
    return _device(run.hardware.device)


def _device(name: str | None) -> str | None:
    found = accelerators.find(name)
    return (name.strip().lower() or None if name else None) if found is None else (
        found.accelerator.id
    )  # fmt: skip
