"""A run as a results file states it: every quantity by one name, in one unit, with its place.

`bot.parse.results_json` makes these of all the shapes that there are; `bot.compute.metrics`
recomputes from them.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping

from bot.model.document import Document, at


@dc.dataclass(frozen=True, slots=True)
class Stated:
    """A quantity as a file states it: where, what is written, and the number or text in it.

    `value` is None where what is written cannot be used. `tolerance` is the relative half-unit of
    the last printed digit where the number was written as text, else 0.
    """

    pointer: str
    raw: object
    value: object
    tolerance: float = 0.0


@dc.dataclass(frozen=True)
class ResultsRun:
    """One run of a results file, normalised.

    `pointer` leads to the run, `info` to the object with its configuration. `stated` maps names
    (`bpb`, `training_time_s`, `hardware_flops`, `tokens`, `parameters`, ...) to what is written;
    a quantity that is absent or null has no entry.
    """

    file: str
    index: int
    shape: str
    pointer: str
    info_pointer: str
    info: Mapping[str, object]
    stated: Mapping[str, Stated]
    document: Document

    def number(self, name: str) -> float | int | None:
        """A stated quantity that is a finite number, else None."""
        item = self.stated.get(name)
        value = None if item is None else item.value
        return value if isinstance(value, (int, float)) else None

    def text(self, name: str) -> str | None:
        """A stated text, else None."""
        item = self.stated.get(name)
        return item.value if item is not None and isinstance(item.value, str) else None

    def where(self, name: str) -> str:
        """The pointer of a quantity; where it is absent, of the object that should hold it."""
        item = self.stated.get(name)
        return self.info_pointer if item is None else item.pointer

    def line(self, name: str) -> int | None:
        """The line of `where(name)`."""
        return self.document.line(self.where(name))

    def section(self, name: str) -> Mapping[str, object]:
        """An object of the configuration (`model_config`, `train_config`, ...), else {}."""
        value = self.info.get(name)
        return value if isinstance(value, dict) else {}

    @property
    def outer(self) -> Mapping[str, object]:
        """The run's own object, of which `info` is a part."""
        value = at(self.document.value, self.pointer)
        return value if isinstance(value, dict) else {}

    @property
    def ours(self) -> Mapping[str, object]:
        """The `speedrun` object that the reference trainer adds, else {}."""
        file = self.document.value
        beside = file.get("speedrun") if self.index == 0 and isinstance(file, dict) else None
        value = self.info.get("speedrun", beside)
        return value if isinstance(value, dict) else {}

    def word(self, name: str) -> str | None:
        """A text of the trainer's object, else None."""
        value = self.ours.get(name)
        return value if isinstance(value, str) else None


def device_name(run: ResultsRun) -> str | None:
    """What the file calls its accelerator, or None."""
    return next((name for _, name in device_names(run)), None)


def device_names(run: ResultsRun) -> tuple[tuple[str, str], ...]:
    """Every name the file gives its accelerator, as (pointer, name); the first counts."""
    resources = run.section("resources")
    device = resources.get("device")
    hardware = run.section("hardware_config")
    old = run.section("train_config").get("resources")
    old = old if isinstance(old, dict) else {}
    if not isinstance(device, dict):
        device = {"type": device} if isinstance(device, str) else {}
    places = (
        ("resources", resources, "tpu_type"),
        ("resources", resources, "accelerator_type"),
        ("resources/device", device, "variant"),
        ("resources/device", device, "type"),
        ("hardware_config", hardware, "device_type"),
        ("train_config/resources", old, "tpu_type"),
        ("train_config/resources", old, "accelerator_type"),
        ("speedrun", run.ours, "device"),
        ("resources/device", device, "kind"),
    )
    return tuple(
        (f"{run.info_pointer}/{part}/{key}", name)
        for part, section, key in places
        if isinstance(name := section.get(key), str) and name
    )
