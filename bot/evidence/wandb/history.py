"""From W&B records to a `Run`: one way for runs read online and for offline files.

The reader of either source fills a `Raw` and sorts the history rows into `Columns` by the track's
keys; `bot.evidence.wandb.build` makes the run of them. The summary is never read for numbers.
"""

from __future__ import annotations

import dataclasses as dc
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bot.evidence.wandb.marks import Marks
from bot.model.run import Hardware, Stated, Witness
from bot.model.track import Keys

# Tried where a track does not name its keys.
DEFAULTS = Keys(
    loss=("val_loss", "val/loss", "eval/loss", "validation/loss"),
    bpb=("eval/paloma/c4_en/bpb", "val_bpb", "val/bpb"),
    train_loss=("train_loss", "train/loss"),
    time_s=("train_time_s", "training_time_s", "time/train_s"),
    time_ms=("train_time_ms", "train_time"),
    total_steps=("total_steps", "num_iterations", "train_steps"),
    tokens=("tokens", "train_tokens", "throughput/total_tokens"),
)
_CLOCKS = ("time_s", "time_ms", "step_time_s")
RUNTIME = "_runtime"
"""Seconds since the run began, by the clock of W&B's client."""
NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

_HEX64 = re.compile(r"[0-9a-f]{64}")

Row = Mapping[str, Any]


@dc.dataclass(slots=True)
class Raw:
    """What a W&B source says of one run, before the track's keys are applied."""

    source: str
    file: str
    run_id: str | None = None
    name: str | None = None
    entity: str | None = None
    project: str | None = None
    state: str | None = None
    config: Mapping[str, Any] = dc.field(default_factory=dict)
    summary: Mapping[str, Any] = dc.field(default_factory=dict)
    tags: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    """The group and the kind of job that the author gave the run."""
    notes: str | None = None
    created_at: str | None = None
    finished_at: str | None = None
    hardware: Hardware = Hardware()
    software: Mapping[str, str] = dc.field(default_factory=dict)
    code_sha256: Mapping[str, str] = dc.field(default_factory=dict)
    problems: list[tuple[str, str]] = dc.field(default_factory=list)
    heartbeat_at: str | None = None
    marks: Marks = Marks()
    witnesses: list[Witness] = dc.field(default_factory=list)
    arguments: Mapping[str, object] = dc.field(default_factory=dict)
    """Those of the command, by names that begin with `_argv.`."""
    source_read: bool = False
    """Whether the hash of the code is that of a source at hand."""
    program: tuple[Stated, ...] = ()
    """What the source saved with the run states."""
    from_log: bool = False
    """Whether numbers of the history were filled in from an attached log."""
    console: bytes | None = None
    """The console, where it is compared with the history."""


def with_defaults(keys: Keys) -> Keys:
    """The track's keys, with our guesses for the quantities that it does not name.

    A track that names a clock gets no guess for another one: they differ by 1000, or by a step.
    """
    given = {f.name: getattr(keys, f.name) for f in dc.fields(keys)}
    clock = any(given[name] for name in _CLOCKS)
    return Keys(
        **{
            name: value or (() if clock and name in _CLOCKS else getattr(DEFAULTS, name))
            for name, value in given.items()
        }
    )


def all_names(keys: Keys) -> tuple[str, ...]:
    """Every history key that may matter, each once."""
    names = [name for f in dc.fields(keys) if f.name != "own" for name in getattr(keys, f.name)]
    names += [name for _, own in keys.own for name in own]
    return tuple(dict.fromkeys(names))


def number(value: Any) -> float | None:
    """A history value as a float: W&B sends NaN and infinities as text. None if not a number."""
    if isinstance(value, str):
        return NOT_FINITE.get(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def flatten(row: Row, prefix: str = "") -> dict[str, Any]:
    """A row with nested objects as dotted keys, `{"a": {"b": 1}}` as `{"a.b": 1}`."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping) and "_type" not in value:
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


@dc.dataclass(slots=True)
class Columns:
    """The track's quantities, each as (step, value) in the order logged; values may be NaN."""

    loss: list[tuple[int, float]] = dc.field(default_factory=list)
    bpb: list[tuple[int, float]] = dc.field(default_factory=list)
    train_loss: list[tuple[int, float]] = dc.field(default_factory=list)
    clock: list[tuple[int, float]] = dc.field(default_factory=list)
    tokens: list[tuple[int, float]] = dc.field(default_factory=list)
    durations: list[tuple[int, float]] = dc.field(default_factory=list)
    total: int | None = None
    last_step: int | None = None
    runtime: list[tuple[int, float]] = dc.field(default_factory=list)
    steps: list[int] = dc.field(default_factory=list)
    """The steps of all rows, in the order logged."""
    own: dict[str, list[tuple[int, float]]] = dc.field(default_factory=dict)
    """The track's own metrics, by name."""
    names: frozenset[str] = frozenset()
    """Every name that the history has."""
    others: dict[str, Sequence[tuple[int, float]]] = dc.field(default_factory=dict)
    """Series that state again what the track reads: see `bot.evidence.wandb.second`."""
    summed: bool = False
    """Whether the clock is the sum of durations, so that it stands between two of them."""


_Pick = Callable[[Sequence[str]], str | None]
_Series = list[tuple[int, float]]


def _wanted(columns: Columns, keys: Keys, pick: _Pick) -> list[tuple[_Series, str | None, float]]:
    """Each column to fill, the key that fills it, and what its values are divided by."""
    wanted = [
        (columns.loss, pick(keys.loss), 1.0),
        (columns.bpb, pick(keys.bpb), 1.0),
        (columns.train_loss, pick(keys.train_loss), 1.0),
        (columns.tokens, pick(keys.tokens), 1.0),
        (columns.runtime, pick((RUNTIME,)), 1.0),
    ]
    for metric, names in keys.own:
        wanted.append((columns.own.setdefault(metric, []), pick(names), 1.0))
    seconds = pick(keys.time_s)
    clock = seconds or pick(keys.time_ms)
    wanted.append((columns.clock, clock, 1.0 if seconds else 1000.0))
    if clock is None:
        wanted.append((columns.durations, pick(keys.step_time_s), 1.0))
    return wanted


def read_columns(rows: Iterable[Row], keys: Keys, present: frozenset[str] | None = None) -> Columns:
    """Sort history rows into columns. `present` limits the keys to those that the run has."""

    def pick(names: Sequence[str]) -> str | None:
        return next((n for n in names if present is None or n in present), None)

    rows = list(rows) if present is None else rows
    if present is None:
        present = frozenset(key for row in rows for key in row)
    columns = Columns(names=present)
    used_keys = [(column, key, unit) for column, key, unit in _wanted(columns, keys, pick) if key]
    total = pick(keys.total_steps)
    steps = tuple(name for name in keys.step if name in present and name != "_step")
    for row in rows:
        step = step_of(row, steps)
        if step is None:
            continue
        columns.steps.append(step)
        used = False
        for column, key, divisor in used_keys:
            value = row.get(key)
            if type(value) is not float:  # the common case, and there are millions of them
                value = number(value)
            if value is not None:
                column.append((step, value / divisor))
                used = used or column is not columns.runtime
        if total is not None and (stated := number(row.get(total))) and math.isfinite(stated):
            columns.total = int(stated)
        if used:
            columns.last_step = max(step, columns.last_step or 0)
    if columns.durations:
        columns.clock, columns.summed = _clock_of(columns.durations), True
    return columns


def _clock_of(durations: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """The clock of steps that were timed one by one. A duration that is not a number stays one."""
    seconds = 0.0
    clock = []
    for step, duration in durations:
        seconds += duration if duration >= 0 else math.nan
        clock.append((step, seconds))
    return clock


def step_of(row: Row, names: Sequence[str]) -> int | None:
    """The step of a row by the track's keys, else W&B's own."""
    for name in (*names, "_step"):
        value = row.get(name)
        if type(value) is int:
            return value
        value = number(value)
        if value is not None and math.isfinite(value):
            return int(value)
    return None


def stated_code(config: Mapping[str, Any]) -> dict[str, str]:
    """Hashes of source files that the trainer wrote to the configuration, by name."""
    found = {}
    for key, value in config.items():
        for name in ("code_sha256", "speedrun.code_sha256"):
            if key == name or key.startswith(f"{name}."):
                if isinstance(value, str) and _HEX64.fullmatch(value.lower()):
                    found[key[len(name) + 1 :] or "source"] = value.lower()
    return found


def setting(config: Mapping[str, Any], name: str) -> Any:
    """A fact that the trainer wrote to the configuration, at its top or under `speedrun`."""
    own = config.get("speedrun")
    inner = own.get(name) if isinstance(own, Mapping) else None
    for key in (name, f"speedrun.{name}", f"speedrun/{name}"):
        if key in config:
            return config[key]
    return inner
