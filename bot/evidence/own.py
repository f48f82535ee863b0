"""What a track reads in its own way: other step lines, metrics of its own, foreign JSON.

    data = step_lines(data, track)          a log with the track's patterns in the usual form
    values = values_in(data, track)         metric -> value, by the track's patterns
    run = foreign_run(value, file, track)   a run of a JSON file of another format

Patterns are RE2, so that a hostile log costs time linear in its size.
"""

from __future__ import annotations

import functools as ft
import math
from collections.abc import Mapping
from typing import Any

from bot.evidence.log.text import decode
from bot.model.run import Run, Validation
from bot.model.track import Track
from bot.parse.track_sense import compiled

_MAX_LINE = 4000
_PARTS = (("train_time", "time_ms", "ms"), ("train_time", "time_s", "s"))


@ft.lru_cache(maxsize=64)
def _pattern(text: str) -> Any:
    return compiled(text)


def step_lines(data: bytes, track: Track) -> bytes:
    """The log with each line that a pattern of the track matches written as a usual step line."""
    if not track.log_patterns:
        return data
    text, _ = decode(data)
    lines = (_step_line(line[:_MAX_LINE], track) for line in text.split("\n"))
    return "\n".join(lines).encode()


def _step_line(line: str, track: Track) -> str:
    for text in track.log_patterns:
        match = _pattern(text).search(line)
        if match is None:
            continue
        found = match.groupdict()
        total = f"/{found['total']}" if found.get("total") else ""
        parts = [f"step:{found['step']}{total}", f"val_loss:{found['loss']}"]
        if found.get("train_loss"):
            parts.append(f"train_loss:{found['train_loss']}")
        parts += [f"{key}:{found[n]}{unit}" for key, n, unit in _PARTS if found.get(n)]
        return " ".join(parts)
    return line


def values_in(data: bytes, track: Track) -> dict[str, float]:
    """The track's own metrics that a log states: of each the last match of its first pattern that
    matches anywhere."""
    wanted = {name: m.patterns for name, m in track.metrics.items() if m.patterns}
    if not wanted:
        return {}
    text, _ = decode(data)
    lines = [line[:_MAX_LINE] for line in text.split("\n")]
    found: dict[str, float] = {}
    for name, patterns in wanted.items():
        values = (_last(pattern, lines) for pattern in patterns)
        value = next((v for v in values if v is not None), None)
        if value is not None:
            found[name] = value
    return found


def _last(pattern: str, lines: list[str]) -> float | None:
    search = _pattern(pattern).search
    for line in reversed(lines):
        match = search(line)
        if match is not None:
            return _number(match.group(1))
    return None


def _number(value: object) -> float | None:
    """A finite number; in a log with separators of thousands as well."""
    if isinstance(value, str):
        try:
            value = float(value.replace(",", "").replace("_", ""))
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def fields_of(value: object, track: Track) -> dict[str, float]:
    """Metric -> number of a JSON value, by the track's field map and its metrics' pointers."""
    pointers = [(name, pointer) for name, pointer in track.result_fields.items()]
    pointers += [(m.name, pointer) for m in track.metrics.values() for pointer in m.pointers]
    found: dict[str, float] = {}
    for name, pointer in pointers:
        number = _number(_at(value, pointer))
        if name not in found and number is not None:
            found[name] = number
    return found


def _at(value: object, pointer: str) -> object:
    """What a JSON pointer (RFC 6901) leads to; None if it leads nowhere."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def foreign_run(value: object, file: str, track: Track) -> Run | None:
    """The run that a JSON file of another format describes; None if it states nothing asked for."""
    found = fields_of(value, track)
    if not found:
        return None
    loss, seconds = found.get("loss", found.get("val_loss")), found.get("training_time_s")
    steps = int(found.get("steps", 0))
    curve = () if loss is None else (Validation(steps, loss, seconds),)
    metrics: Mapping[str, float | int | None] = {**found}
    return Run(source="results", file=file, validation=curve, finished=True, metrics=metrics)
