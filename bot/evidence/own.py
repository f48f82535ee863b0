"""What a track reads in its own way: other step lines, metrics of its own, foreign JSON.

    data = step_lines(data, track)          a log with the track's patterns in the usual form
    values = values_in(data, track, (0,))   metric -> value of each run, by the track's patterns
    run = foreign_run(value, file, track)   a run of a JSON file of another format

Patterns are RE2, so that a hostile log costs time linear in its size.
"""

from __future__ import annotations

import functools as ft
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bot.evidence.log.text import decode
from bot.model.run import Run, Validation
from bot.model.track import Track
from bot.parse.foreign_json import fields_of, number
from bot.parse.track_sense import compiled

_STEP = re.compile(r"\b(?:step|iter|s):?\s{0,3}\d", re.IGNORECASE)
_MAX_LINE = 4000
_LOSSES = (("val_loss", "loss"), ("train_loss", "train_loss"))
_SECONDS = {"time_ms": 1e-3, "time_s": 1.0, "time_min": 60.0, "time_h": 3600.0}


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
        parts = [f"step:{found['step']}{total}"]
        parts += [f"{key}:{found[n]}" for key, n in _LOSSES if found.get(n)]
        clocks = ((n, number(found[n])) for n in _SECONDS if found.get(n))
        parts += [f"train_time:{v * _SECONDS[n]:.9g}s" for n, v in clocks if v is not None]
        return " ".join(parts)
    return line


def values_in(data: bytes, track: Track, starts: Sequence[int]) -> list[dict[str, float]]:
    """The track's own metrics that a log states of each run, whose first lines are `starts`: of
    each metric the last match, up to the next run, of its first pattern that matches anywhere in
    the log. So no run is scored by a lesser line than another."""
    text, _ = decode(data)
    lines = [line[:_MAX_LINE] for line in text.split("\n")]
    bounds = itertools.pairwise([0, *starts[1:], len(lines)])
    parts = [lines[a:b] for a, b in bounds]
    found: list[dict[str, float]] = [{} for _ in parts]
    for name, metric in track.metrics.items():
        scored = ([_last(pattern, part) for part in parts] for pattern in metric.patterns)
        values = next((v for v in scored if any(x is not None for x in v)), [])
        for own, value in zip(found, values, strict=False):
            if value is not None:
                own[name] = value
    return found


def _last(pattern: str, lines: list[str]) -> float | None:
    """The value of the last line that a pattern matches; None where a later line begins like it
    and states no number, as a `nan` after it does."""
    search, at = _pattern(pattern).search, len(lines)
    for at in range(len(lines) - 1, -1, -1):
        if (match := search(lines[at])) is not None:
            begin = lines[at][: match.start(1)]
            again = len(begin) > 2 and any(line.startswith(begin) for line in lines[at + 1 :])
            return None if again else number(match.group(1))
    return None


def twice(data: bytes, track: Track) -> tuple[str, ...]:
    """The track's own metrics that a log states twice with two values and no step between them: of
    one state of the weights, in words."""
    text, _ = decode(data)
    lines = [line[:_MAX_LINE] for line in text.split("\n")]
    found = []
    for name, metric in track.metrics.items():
        for pattern in metric.patterns:
            search, told = _pattern(pattern).search, list[str]()
            for line in lines:
                if (match := search(line)) is not None:
                    told.append(match.group(1))
                elif _STEP.search(line) and len(set(told)) < 2:
                    told.clear()
            if len(set(told)) > 1:
                found.append(f"{name} is stated as {told[0][:20]} and as {told[-1][:20]}")
                break
    return tuple(found)


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
