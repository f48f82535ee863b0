"""From what a W&B source says to a `Run`: one way for runs read online and for offline files."""

from __future__ import annotations

import bisect
import dataclasses as dc
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bot.compute import accelerators
from bot.compute.shapes import peak_of
from bot.evidence import machine, warm
from bot.evidence.amounts import leaves_out
from bot.evidence.counters import seed_of
from bot.evidence.log.names import normal
from bot.evidence.log.near import map_line
from bot.evidence.log.problems import LogStep, begins_late, problems_of
from bot.evidence.mixtures import misplaced_in
from bot.evidence.second import STEP_ENDS, last_part
from bot.evidence.wandb.command_line import stated_by
from bot.evidence.wandb.history import (
    NOT_FINITE,
    Columns,
    Raw,
    Row,
    flatten,
    number,
    setting,
    stated_code,
)
from bot.evidence.wandb.second import run_witnesses, used_devices
from bot.model.run import (
    DIGEST,
    FROM_LOG,
    SOURCE_READ,
    SUMMED,
    Hardware,
    Run,
    Validation,
    Witness,
    WitnessKind,
)
from bot.model.track import Keys
from bot.render.untrusted import plain

_MOST_NAMES = 8
_KIND = "device_kind"
"""What JAX calls the name of a device."""
_LIKELY = re.compile(r"val|eval|dev|held|test|bpb")


_AS_READ = (
    *("source", "file", "run_id", "name", "entity", "project", "state", "tags"),
    *("created_at", "finished_at", "heartbeat_at", "program"),
)


def build_run(raw: Raw, columns: Columns, keys: Keys) -> Run:
    """The run that `raw` and its history describe."""
    total = columns.total or _total(raw.config, keys)
    points = _validation(columns)
    runtimes = dict(columns.runtime)
    hardware = _hardware(raw)
    run = Run(
        **{name: getattr(raw, name) for name in _AS_READ},
        validation=points,
        history=_history(columns),
        total_steps=total,
        last_step=columns.last_step,
        finished=_finished(total, columns.last_step),
        hardware=hardware,
        software=dict(raw.software),
        # The digest of a configuration is computed, and never one that it states of itself.
        config={n: v for n, v in raw.config.items() if n != DIGEST} | dict(raw.arguments),
        code_sha256=stated_code(raw.config) or dict(raw.code_sha256),
        seed=_seed(raw.config),
        nonce=_text(setting(raw.config, "nonce")),
        data_fingerprint=_text(setting(raw.config, "data_fingerprint")),
        summary_values=_summary(raw.summary, keys),
        problems=_problems(raw, columns, total),
        runtime_s=max(runtimes.values(), default=None),
        runtimes=tuple((v.step, runtimes[v.step]) for v in points if v.step in runtimes),
        branch_point=raw.marks.branch_point,
        nodes=raw.marks.nodes,
        client_marks=tuple(_marks(raw, columns)),
    )
    witnesses = (
        *raw.witnesses,
        *machine.stated(flatten(raw.config)),
        *_devices(raw, hardware),
        *run_witnesses(raw, columns, keys, hardware.count),
    )
    return dc.replace(run, witnesses=witnesses, metrics=final_metrics(run))


def _marks(raw: Raw, columns: Columns) -> Iterator[str]:
    yield from raw.marks.words
    if raw.from_log:
        yield FROM_LOG
    if raw.source_read:
        yield SOURCE_READ
    if columns.summed and raw.source == "wandb-offline":
        yield SUMMED


def _validation(columns: Columns) -> tuple[Validation, ...]:
    clock = _clock_at(columns)
    losses = {step: loss for step, loss in columns.loss if math.isfinite(loss)}
    return tuple(Validation(step, losses[step], clock.get(step)) for step in sorted(losses))


def _clock_at(columns: Columns) -> dict[int, float]:
    """The clock at each step that has one. A sum of durations stands still until the next one."""
    clock = {step: value for step, value in columns.clock if math.isfinite(value)}
    if columns.summed and len(clock) == len({step for step, _ in columns.clock}):
        known = sorted(clock)
        for step, _ in columns.loss:
            place = bisect.bisect_right(known, step) - 1
            if place >= 0 and step - known[place] <= 1:
                clock.setdefault(step, clock[known[place]])
    return clock


def _problems(raw: Raw, columns: Columns, total: int | None) -> tuple[tuple[str, str], ...]:
    """What was found while reading, and what is wrong with the history itself."""
    clock = _clock_at(columns)
    steps = [
        LogStep(step, total, clock.get(step), {"val_loss": loss}, str(loss), False)
        for step, loss in columns.loss
    ]
    late = begins_late(columns.steps, total)
    found = [*raw.problems, *_falls(columns)]
    found += [] if late is None else [("history-gap", f"the history {late}")]
    found += problems_of(steps)
    last = max((step for step, _ in columns.loss), default=None)
    timed = {step for step, _ in columns.clock}
    told = any(rule == "metric-missing" for rule, _ in found)
    if last is not None and timed and last not in clock and not told:
        text = f"the last validation, at step {last}, has no clock in its row, so the time is"
        found.append(("metric-missing", f"{text} missing; log both together"))
    branch = raw.marks.branch_point
    if branch is not None:
        text = f"the run was forked from {plain(branch.run_id or 'another run', 60)}"
        at = "" if branch.step is None else f" at step {branch.step}"
        found.append(("history-gap", f"{text}{at}: what stands before is that run's"))
    if "rewound" in raw.marks.words:
        found.append(("history-gap", "the run was rewound: a part of it was trained again"))
    settings = stated_by(raw)
    found += _of_settings(settings)
    other = warm.setting_of(settings, raw.run_id, raw.marks.words)
    if other is not None:
        found.append(("history-gap", f"by its configuration the run {warm.SAYS}: {other}"))
    label = warm.label_of((raw.name, *raw.tags, *raw.labels), raw.notes, raw.marks.words)
    if label is not None:
        found.append(("history-gap", f"by its name, tags or notes the run {warm.SAYS}: {label}"))
    return tuple(dict.fromkeys(found))


def _seed(config: Mapping[str, Any]) -> int | None:
    """The seed of the training, at the top of the configuration or in the trainer's part of it."""
    top = _integer(setting(config, "seed"))
    settings = flatten(config)
    nested = (seed for name in settings if (seed := seed_of(name, settings[name])) is not None)
    return top if top is not None else next(nested, None)


def _of_settings(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Validation text named as training data, and two seeds of the training."""
    for name, does in itertools.islice(misplaced_in(settings), 1):
        text = warm.in_words(name, settings[name])
        yield "train-validation-overlap", f"the configuration names what it {does}: {text}"
    part = next((n for n, v in settings.items() if leaves_out(n, v)), None)
    if part is not None:
        text = warm.in_words(part, settings[part])
        yield "history-gap", f"the configuration leaves out a part of the validation text: {text}"
    seeds = {
        name: value for name in settings if (value := seed_of(name, settings[name])) is not None
    }
    if len(set(seeds.values())) > 1:
        told = ", ".join(f"{plain(name, 40)} {value}" for name, value in seeds.items())
        yield "history-gap", f"the configuration states several seeds of the training: {told}"


def unread(rows: Sequence[Row], columns: Columns, keys: Keys, present: Iterable[str]) -> str | None:
    """Why a history shows no validation, or counts its steps by rows: the names that it has, and
    the line that maps one of them. None where nothing is amiss."""
    names = sorted(name for name in present if not name.startswith("_"))
    if not columns.loss and not columns.bpb and names:
        texts = [n for n in (*keys.loss, *keys.bpb) if any(_is_text(row.get(n)) for row in rows)]
        if texts:
            return f"`{plain(texts[0], 60)}` is text in the history; log it as a number"
        likely = sorted(names, key=lambda n: not _LIKELY.search(n.lower()))[:_MOST_NAMES]
        wanted = ", ".join(dict.fromkeys((*keys.loss, *keys.bpb)))
        told = map_line([plain(name, 60) for name in likely])
        return f"the history has no validation loss under the names {wanted}; {told}"
    other = [
        n
        for n in names
        if normal(n).rpartition("_")[2] in STEP_ENDS
        and n not in keys.step
        and any(row.get(n) not in (None, row.get("_step")) for row in rows)
    ]
    if columns.loss and other and not any(n in names for n in keys.step):
        shown = plain(other[0], 60)
        return (
            f"the steps are counted by rows (`_step`), and the history has `{shown}` besides; "
            f'add "keys": {{"step": "{shown}"}} to submission.json'
        )
    return None


def step_names(present: Iterable[str]) -> frozenset[str]:
    """The keys of a history that may hold the step."""
    found = (n for n in present if normal(n).rpartition("_")[2] in STEP_ENDS or n in STEP_ENDS)
    return frozenset(found)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value not in NOT_FINITE


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
    clock, quality = run.history.get("time_s", ()), run.history.get("bpb", ())
    timed = clock and (not quality or clock[-1][0] >= quality[-1][0] - 1)
    if not run.validation and timed:
        seconds = found["training_time_s"] = clock[-1][1]
    device = accelerators.find(run.hardware.device)
    peak = None if device is None else peak_of(device.accelerator, flatten(run.config))
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
        **columns.own,
    }
    kept = {
        name: {step: value for step, value in column if math.isfinite(value)}
        for name, column in named.items()
    }
    return {name: tuple(sorted(values.items())) for name, values in kept.items() if values}


def _falls(columns: Columns) -> list[tuple[str, str]]:
    """Steps that run backwards (a run that was rewound), and a clock that does between points.

    Each column is looked at by itself: a validation may be logged late, under its own step.
    """
    columns_of_steps = [column for column in (columns.loss, columns.train_loss) if column]
    for column in columns_of_steps or [columns.clock]:
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


def _hardware(raw: Raw) -> Hardware:
    """The hardware that the client saw, with as many devices as the run used of it.

    The client sees the devices of its machine, all of them: a run may use one of eight, and one
    over several machines uses more than its first shows. Older clients leave the machine out of
    offline files, but JAX programs name it themselves, and Levanter does so in the summary.
    """
    stated = {
        name: value
        for name, value in flatten(raw.summary).items()
        if last_part(name) in (_KIND, "num_devices")
    } | flatten(raw.config)
    name = raw.hardware.device or _named_device(raw.config, stated)
    chips = _integer(setting(raw.config, "chips")) or _integer(setting(raw.config, "world_size"))
    used = chips or used_devices(stated, name, raw.hardware.count)
    if raw.hardware.device:
        return dc.replace(raw.hardware, count=used or _seen(raw) or raw.hardware.count)
    return Hardware(name, used) if name else Hardware()


def _named_device(config: Mapping[str, Any], stated: Mapping[str, Any]) -> str | None:
    """The first name of an accelerator that the program states, else whatever it calls a device."""
    kinds = (value for name, value in stated.items() if last_part(name) == _KIND)
    names = [text for v in (setting(config, "device"), *kinds) if (text := _text(v))]
    known = (name for name in names if accelerators.find(name) is not None)
    return next(known, names[0] if names else None)


def _seen(raw: Raw) -> int | None:
    """The devices that the client saw, over all machines that wrote or that its scheduler names."""
    one, nodes = raw.hardware.count, raw.marks.nodes or 1
    return raw.marks.devices or (one * nodes if one else None)


def _devices(raw: Raw, hardware: Hardware) -> list[Witness]:
    """Who says how many devices there are."""
    seen = _seen(raw)
    if not seen or not hardware.count or hardware.count == seen:
        return []
    said = "the run's configuration"
    return [
        Witness("chips", seen, WitnessKind.MACHINE, "W&B's record of the machines"),
        Witness("chips", hardware.count, WitnessKind.PROGRAM, said),
    ]


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
