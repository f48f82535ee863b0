"""From W&B records to a `Run`: one way for runs read online and for offline files.

The reader of either source fills a `Raw`; `build_run` finds the track's quantities in its history
rows (never in its summary) and looks for the same problems as in training logs.
"""

from __future__ import annotations

import dataclasses as dc
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bot.compute import accelerators
from bot.evidence.log.problems import LogStep, problems_of
from bot.model.run import Hardware, Run, Validation
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
_HEX64 = re.compile(r"[0-9a-f]{64}")
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

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
    created_at: str | None = None
    finished_at: str | None = None
    hardware: Hardware = Hardware()
    software: Mapping[str, str] = dc.field(default_factory=dict)
    code_sha256: Mapping[str, str] = dc.field(default_factory=dict)
    problems: list[tuple[str, str]] = dc.field(default_factory=list)


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
    names = (name for f in dc.fields(keys) for name in getattr(keys, f.name))
    return tuple(dict.fromkeys(names))


def number(value: Any) -> float | None:
    """A history value as a float: W&B sends NaN and infinities as text. None where it is none."""
    if isinstance(value, str):
        return _NOT_FINITE.get(value)
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


def read_columns(rows: Iterable[Row], keys: Keys, present: frozenset[str] | None = None) -> Columns:
    """Sort history rows into columns. `present` limits the keys to those that the run has."""

    def pick(names: Sequence[str]) -> str | None:
        return next((n for n in names if present is None or n in present), None)

    rows = list(rows) if present is None else rows
    if present is None:
        present = frozenset(key for row in rows for key in row)
    columns = Columns()
    wanted = [
        (columns.loss, pick(keys.loss), 1.0),
        (columns.bpb, pick(keys.bpb), 1.0),
        (columns.train_loss, pick(keys.train_loss), 1.0),
        (columns.tokens, pick(keys.tokens), 1.0),
    ]
    seconds = pick(keys.time_s)
    clock = seconds or pick(keys.time_ms)
    wanted.append((columns.clock, clock, 1.0 if seconds else 1000.0))
    if clock is None:
        wanted.append((columns.durations, pick(keys.step_time_s), 1.0))
    total = pick(keys.total_steps)
    used_keys = [(column, key, divisor) for column, key, divisor in wanted if key is not None]
    steps = tuple(name for name in keys.step if name in present and name != "_step")
    for row in rows:
        step = step_of(row, steps)
        if step is None:
            continue
        used = False
        for column, key, divisor in used_keys:
            value = row.get(key)
            if type(value) is not float:  # the common case, and there are millions of them
                value = number(value)
            if value is not None:
                column.append((step, value / divisor))
                used = True
        if total is not None and (stated := number(row.get(total))) and math.isfinite(stated):
            columns.total = int(stated)
        if used:
            columns.last_step = max(step, columns.last_step or 0)
    if columns.durations:
        columns.clock = _clock_of(columns.durations)
    return columns


def _clock_of(durations: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """The clock of steps that were timed one by one. A duration that is no number stays one."""
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


def build_run(raw: Raw, columns: Columns, keys: Keys) -> Run:
    """The run that `raw` and its history describe."""
    clock = dict(columns.clock)
    total = columns.total or _total(raw.config, keys)
    steps = [
        LogStep(step, total, _finite(clock.get(step)), {"val_loss": loss}, str(loss), False)
        for step, loss in columns.loss
    ]
    points = {
        step: Validation(step, loss, _finite(clock.get(step)))
        for step, loss in columns.loss
        if math.isfinite(loss)
    }
    run = Run(
        source=raw.source,
        file=raw.file,
        run_id=raw.run_id,
        name=raw.name,
        entity=raw.entity,
        project=raw.project,
        validation=tuple(points[step] for step in sorted(points)),
        history=_history(columns),
        total_steps=total,
        last_step=columns.last_step,
        finished=_finished(total, columns.last_step),
        state=raw.state,
        hardware=raw.hardware if raw.hardware.device else _hardware(raw.config),
        software=dict(raw.software),
        config=dict(raw.config),
        tags=raw.tags,
        code_sha256=_code(raw),
        seed=_integer(setting(raw.config, "seed")),
        nonce=_text(setting(raw.config, "nonce")),
        data_fingerprint=_text(setting(raw.config, "data_fingerprint")),
        created_at=raw.created_at,
        finished_at=raw.finished_at,
        summary_values=_summary(raw.summary, keys),
        problems=(*raw.problems, *_falls(columns), *problems_of(steps)),
    )
    return dc.replace(run, metrics=final_metrics(run))


def setting(config: Mapping[str, Any], name: str) -> Any:
    """A fact that the trainer wrote to the configuration, at its top or under `speedrun`."""
    own = config.get("speedrun")
    inner = own.get(name) if isinstance(own, Mapping) else None
    for key in (name, f"speedrun.{name}", f"speedrun/{name}"):
        if key in config:
            return config[key]
    return inner


def final_metrics(run: Run) -> dict[str, float | int | None]:
    """The final values of a run, with hardware FLOPs where its device is known."""
    found: dict[str, float | int | None] = {
        "loss": run.loss,
        "training_time_s": run.time_s,
        "steps": run.step if run.step is not None else run.last_step,
    }
    for name in ("bpb", "tokens"):
        series = run.history.get(name, ())
        if series:
            found[name] = series[-1][1]
    seconds = run.time_s
    if seconds is None and run.history.get("time_s"):
        seconds = found["training_time_s"] = run.history["time_s"][-1][1]
    device = accelerators.find(run.hardware.device) if run.hardware.device else None
    peak = None if device is None else accelerators.peak_flops(device.accelerator)
    if seconds is not None and peak is not None and run.hardware.count:
        found["chips"] = run.hardware.count
        found["peak_flops"] = peak
        found["hardware_flops"] = seconds * run.hardware.count * peak
    return {name: value for name, value in found.items() if value is not None}


def _history(columns: Columns) -> dict[str, tuple[tuple[int, float], ...]]:
    named = {
        "bpb": columns.bpb,
        "train_loss": columns.train_loss,
        "time_s": columns.clock,
        "tokens": columns.tokens,
    }
    kept = {
        name: {step: value for step, value in column if math.isfinite(value)}
        for name, column in named.items()
    }
    return {name: tuple(sorted(values.items())) for name, values in kept.items() if values}


def _falls(columns: Columns) -> list[tuple[str, str]]:
    """Steps that run backwards (a run that was rewound), and a clock that does between points."""
    for column in (columns.loss, columns.train_loss, columns.clock):
        for (step, _), (later, _) in zip(column, column[1:], strict=False):
            if later < step:
                text = f"the history falls back from step {step} to step {later}: it was rewound"
                return [("clock-not-monotonic", f"{text} or holds two runs")]
    for (step, value), (_, later_value) in zip(columns.clock, columns.clock[1:], strict=False):
        if later_value < value - 0.5 and not columns.loss:
            text = f"the clock falls from {value:.3f} s to {later_value:.3f} s after step {step}"
            return [("clock-not-monotonic", text)]
    return []


def _finished(total: int | None, last: int | None) -> bool | None:
    """Whether the stated end was reached; the last step may be counted from 0."""
    if total is None:
        return None
    return last is not None and last >= total - 1


def _total(config: Mapping[str, Any], keys: Keys) -> int | None:
    for name in keys.total_steps:
        value = _integer(setting(flatten(config), name))
        if value is not None and value > 0:
            return value
    return None


def _code(raw: Raw) -> dict[str, str]:
    """Hashes that the trainer wrote to the configuration, else those of attached sources."""
    found = {}
    for key, value in raw.config.items():
        for name in ("code_sha256", "speedrun.code_sha256"):
            if key == name or key.startswith(f"{name}."):
                if isinstance(value, str) and _HEX64.fullmatch(value.lower()):
                    found[key[len(name) + 1 :] or "source"] = value.lower()
    return found or dict(raw.code_sha256)


def _hardware(config: Mapping[str, Any]) -> Hardware:
    """The hardware that the trainer wrote to the configuration."""
    count = _integer(setting(config, "chips")) or _integer(setting(config, "world_size"))
    device = _text(setting(config, "device"))
    return Hardware(device, count) if device else Hardware()


def _summary(summary: Mapping[str, Any], keys: Keys) -> dict[str, float]:
    flat = flatten(summary)
    found: dict[str, float] = {}
    for quantity in ("loss", "bpb", "time_s", "time_ms"):
        name = next((n for n in getattr(keys, quantity) if n in flat), None)
        value = None if name is None else number(flat[name])
        if value is not None and math.isfinite(value):
            if quantity == "time_ms":
                found.setdefault("time_s", value / 1000.0)
            else:
                found[quantity] = value
    return found


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _integer(value: Any) -> int | None:
    value = number(value)
    whole = value is not None and math.isfinite(value) and value == int(value)
    return int(value) if whole and value is not None else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= 200 else None
