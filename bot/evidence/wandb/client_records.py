"""What W&B's client wrote of a run beside its history: how busy the devices were, which artifacts
the run used, and the console.

    seen = ClientRecords()
    seen.take(record)                        # of an offline file
    seen.problems(run)                       # (rule, message), as in Run.problems
    told_otherwise(console, run)             # what a console says that the history does not

All of it is the client's own or the program's second word; nothing here is shown but numbers.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterator
from typing import Any

from bot.evidence import warm
from bot.evidence.log.training_log import read_log
from bot.model.run import Run
from bot.registry import LOSS_TOLERANCE
from bot.render.untrusted import plain

KINDS = frozenset({"stats", "use_artifact", "output", "output_raw"})
_AT_WORK = re.compile(r"gpu\.(process\.)?(\d{1,4})\.gpu")
_BUSY = 50.0
"""Per cent of the time, as a median, from which a device is at work."""
_MOST_DEVICES, _MOST_READINGS, _MOST_ARTIFACTS, _MOST_CONSOLE = 1024, 100_000, 100, 4_000_000
_LEAST_READINGS = 3
_SHARE, _MOMENT_S = 0.02, 1.0


class ClientRecords:
    """Collects the records of one offline file, bounded."""

    def __init__(self) -> None:
        self._loads: dict[tuple[bool, int], list[float]] = {}
        self._readings = 0
        self._models: list[str] = []
        self._console: list[str] = []
        self._console_size = 0

    def take(self, record: Any) -> None:
        """Add a record of one of the `KINDS`."""
        kind = record.WhichOneof("record_type")
        if kind == "stats":
            for item in record.stats.item:
                self._load(item.key, item.value_json)
        elif kind == "use_artifact":
            used = record.use_artifact
            if used.type.lower() == "model" and len(self._models) < _MOST_ARTIFACTS:
                self._models.append(used.name)
        elif kind in ("output", "output_raw"):
            line = getattr(record, kind).line
            if self._console_size + len(line) <= _MOST_CONSOLE:
                self._console_size += len(line)
                self._console.append(line if kind == "output_raw" else f"{line}\n")

    def _load(self, key: str, value: str) -> None:
        found = _AT_WORK.fullmatch(key)
        if found is None or self._readings >= _MOST_READINGS:
            return
        device = found[1] is not None, int(found[2])
        if device in self._loads or len(self._loads) < _MOST_DEVICES:
            try:
                load = float(json.loads(value))
            except (ValueError, TypeError, RecursionError):
                return
            self._readings += 1
            if math.isfinite(load):
                self._loads.setdefault(device, []).append(load)

    def busy(self) -> int:
        """How many devices of the machine worked for most of the time: those of the run's process
        where the client tells them apart, else all."""
        of_process = any(own for own, _ in self._loads)
        return sum(
            len(loads) >= _LEAST_READINGS and statistics.median(loads) >= _BUSY
            for (own, _), loads in self._loads.items()
            if own == of_process
        )

    def problems(self, run: Run) -> Iterator[tuple[str, str]]:
        """What these records contradict of the run."""
        busy, stated = self.busy(), run.hardware.count
        if stated is not None and busy > stated:
            yield (
                "history-gap",
                f"W&B's client measured {busy} GPUs at work on this machine, but the run states "
                f"{stated}; if another job used the others, say so in the README",
            )
        if self._models and "resumed" not in run.client_marks:
            name = plain(self._models[0].rpartition("/")[2], 60)
            yield "history-gap", f"by W&B's record of a model that it used, {name}, {_BUILDS}"
        console = "".join(self._console).encode()
        if console and (told := told_otherwise(console, run)) is not None:
            yield "history-gap", f"the console of the run {told}"


_BUILDS = f"the run {warm.SAYS}"


def told_otherwise(console: bytes, run: Run) -> str | None:
    """What a console or an attached log says of a validation that the history does not: another
    loss, to the digits that it prints, or another clock. None if they agree or it shows none."""
    runs = read_log(console, run.file)
    if len(runs) != 1:
        return None
    history = {v.step: v for v in run.validation}
    for point in runs[0].validation:
        own = history.get(point.step)
        if own is None:
            continue
        if abs(own.loss - point.loss) > max(LOSS_TOLERANCE, _half_digit(point.loss)):
            return f"has the loss {point.loss:g} at step {point.step}, the history {own.loss:.6g}"
        if own.time_s is None or point.time_s is None:
            continue
        if abs(own.time_s - point.time_s) > max(_SHARE * own.time_s, _MOMENT_S):
            return (
                f"has the training clock at {point.time_s:.2f} s at step {point.step}, the history "
                f"at {own.time_s:.2f} s"
            )
    return None


def _half_digit(value: float) -> float:
    """Half of the last digit of a number as it was printed."""
    _, _, digits = repr(value).partition(".")
    return 0.5 * 10.0 ** -len(digits) * 1.001 if digits.isdigit() else LOSS_TOLERANCE
