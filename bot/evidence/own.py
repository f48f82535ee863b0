"""What a track reads in its own way: other step lines, metrics of its own, foreign JSON.

    data = step_lines(data, track)          a log with the track's patterns in the usual form
    own, told = own_metrics(data, track, reading)     the track's metrics in each run
    run = foreign_run(value, file, track)   a run of a JSON file of another format

Patterns are RE2, so that a hostile log costs time linear in its size.
"""

from __future__ import annotations

import functools as ft
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bot.evidence.log.text import decode
from bot.model.run import Run, Validation
from bot.model.track import Track
from bot.parse.foreign_json import fields_of, number
from bot.parse.track_sense import compiled

if TYPE_CHECKING:
    from bot.evidence.log.training_log import Reading

_COUNTED = re.compile(
    r"(?<![a-z])(step|iter|iteration|epoch|s)s?\b['\"]?[\s:=#\[(]{0,4}(\d{1,9})", re.IGNORECASE
)
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


class Own(NamedTuple):
    """The track's own metrics in one run of a log: what each is at the end, and each step's."""

    values: dict[str, float]
    history: dict[str, tuple[tuple[int, float], ...]]


class _Mark(NamedTuple):
    """A place: a step, and what the lines since count by themselves, such as `epoch 3`."""

    step: int
    counted: str = ""


class _Part(NamedTuple):
    """The lines of one run, and where each stands: the step that it reports, or follows."""

    lines: list[str]
    marks: list[_Mark | None]


def own_metrics(data: bytes, track: Track, reading: Reading) -> tuple[list[Own], tuple[str, ...]]:
    """The track's own metrics that a log states of each run, and what it says against itself.

    A metric is read by its first pattern that matches anywhere in the log, so no run is scored by a
    lesser line than another; its value is that of the last match. Two values of one metric with no
    step between them are of one state of the weights, and are told in words.
    """
    parts = _parts(data, reading)
    found, told = [Own({}, {}) for _ in parts], []
    for name, metric in track.metrics.items():
        scored = ([_last(pattern, part.lines) for part in parts] for pattern in metric.patterns)
        values = next((v for v in scored if any(x is not None for x in v)), [])
        for own, value in zip(found, values, strict=False):
            if value is not None:
                own.values[name] = value
        for pattern in metric.patterns:
            series = [_matches(pattern, part) for part in parts]
            two = next((both for s in series if (both := _two_values(s)) is not None), None)
            if two is not None:
                text = f"{name} is stated as {two[0][:20]} and as {two[1][:20]}"
                told.append(f"{text}, with no step between")
                break
            for own, matches in zip(found, series, strict=True):
                steps = {mark.step: number(text) for mark, text in matches if mark is not None}
                if name in own.values and steps:
                    points = ((step, v) for step, v in sorted(steps.items()) if v is not None)
                    own.history.setdefault(name, tuple(points))
    return found, tuple(told)


def _parts(data: bytes, reading: Reading) -> list[_Part]:
    """The lines of each run. A line that is not a step of a run that was read stands at the step
    before it, unless it counts by itself, as `epoch 3` does."""
    text, _ = decode(data)
    lines = [line[:_MAX_LINE] for line in text.split("\n")]
    read = {s.line - 1: s.step for steps in reading.steps for s in steps}
    marks: list[_Mark | None] = []
    mark: _Mark | None = None
    for at, line in enumerate(lines):
        if at in read:
            mark = _Mark(read[at])
        elif (counted := _COUNTED.search(line)) is not None:
            step = int(counted[2]) if not read else None if mark is None else mark.step
            mark = mark if step is None else _Mark(step, " ".join(counted.groups()))
        marks.append(mark)
    starts = reading.starts or (0,)
    bounds = itertools.pairwise([0, *starts[1:], len(lines)])
    return [_Part(lines[a:b], marks[a:b]) for a, b in bounds]


def _matches(pattern: str, part: _Part) -> list[tuple[_Mark | None, str]]:
    """Every value that a pattern finds, as printed, with the place at which it stands."""
    search = _pattern(pattern).search
    found = ((mark, search(line)) for line, mark in zip(part.lines, part.marks, strict=True))
    return [(mark, match.group(1)) for mark, match in found if match is not None]


def _two_values(
    matches: Sequence[tuple[_Mark | None, str]],
) -> tuple[str, str] | None:
    """Two different values that stand at one place."""
    for _, same in itertools.groupby(matches, key=lambda match: match[0]):
        texts = list(dict.fromkeys(text for _, text in same))
        if len(texts) > 1:
            return texts[0], texts[-1]
    return None


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
