"""Results files: the five shapes of Marin's `speedrun_results.json`, and the trainer's, as runs.

`read_results` turns a document into one `ResultsRun` a run, whatever the shape: every quantity by
one name, in one unit, with the JSON pointer that it came from. Nothing is recomputed here; see
`bot.compute.metrics`. The shapes (`runs` is a list of them):

- V0, V1: `run_related_info` {hardware_config, model_config, ...} and `run_stats`, minutes;
- V2 to V4: `run_info`, seconds; V3 adds chips and the peak, V4 FLOPs per token;
- ours: V4 with a `speedrun` object (schema_version, seed, nonce, fingerprint, ...).
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import math
import re
from collections.abc import Mapping
from typing import Any

from bot.model.run import Hardware, Run, Validation
from bot.parse.json_file import Document, at
from bot.parse.json_scan import escape
from bot.render.untrusted import plain

MAX_RUNS = 500
"""A results file with more runs is refused by the rule `schema`."""
BPB_KEY = "eval/paloma/c4_en/bpb"

NEW_KEYS: Mapping[str, tuple[str, ...]] = {
    "bpb": (BPB_KEY, "eval/bpb", "bpb"),
    "loss": ("eval/loss", "eval/paloma/c4_en/loss", "val_loss", "loss"),
    "training_time_s": ("training_time",),
    "hardware_flops": ("training_hardware_flops",),
    "model_flops": ("model_flops",),
    "flops_per_token": ("model_flops_per_token",),
    "parameters": ("model_size",),
    "tokens": ("total_tokens",),
    "chips": ("num_chips",),
    "devices": ("num_devices",),
    "peak_flops": ("device_flops",),
    "timestamp": ("run_completion_timestamp",),
    "link": ("wandb_run_link",),
    "dataset": ("tokenized_dataset",),
}
"""Quantity -> keys of `run_info` tried in order."""

OLD_KEYS: Mapping[str, tuple[str, ...]] = {
    "bpb": ("run_stats/eval~1paloma~1c4_en~1bpb",),
    "minutes": ("run_stats/training_time_in_minutes",),
    "hardware_flops": ("run_stats/total_training_flops", "run_stats/final_flops_estimate"),
    "estimate": ("run_stats/pre_run_flops_estimate",),
    "parameters": ("run_related_info/num_parameters",),
    "tokens": ("run_related_info/total_tokens",),
    "devices": ("run_related_info/hardware_config/num_devices",),
    "peak_flops": ("run_related_info/hardware_config/device_flops",),
    "timestamp": ("run_related_info/run_completion_timestamp",),
    "link": ("run_related_info/wandb_run_link", "run_related_info/wandb_run_id"),
    "dataset": ("run_related_info/tokenized_dataset",),
}
"""Quantity -> pointers below the run of the two oldest shapes."""

_TEXTS = frozenset({"timestamp", "link", "dataset"})
_NOT_FINITE = frozenset({"nan", "inf", "infinity", "+inf", "-inf", "+infinity", "-infinity"})
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?) ?(UTC|GMT|[zZ]|[+-]\d\d:?\d\d)?",
    re.ASCII,
)


@dc.dataclass(frozen=True, slots=True)
class Stated:
    """A quantity as a file states it: where, what is written, and the number or text in it.

    `value` is None where what is written cannot be used. `tolerance` is the relative half-unit of
    the last printed digit where the number was written as text, else 0.
    """

    pointer: str
    raw: Any
    value: Any
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
    info: Mapping[str, Any]
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

    def section(self, name: str) -> Mapping[str, Any]:
        """An object of the configuration (`model_config`, `train_config`, ...), else {}."""
        value = self.info.get(name)
        return value if isinstance(value, dict) else {}

    @property
    def ours(self) -> Mapping[str, Any]:
        """The `speedrun` object that the reference trainer adds, else {}."""
        outer = self.document.value.get("speedrun") if self.index == 0 else None
        value = self.info.get("speedrun", outer)
        return value if isinstance(value, dict) else {}

    def to_run(self, metrics: Mapping[str, float | int | None] | None = None) -> Run:
        """The run as every other source gives it, with `metrics` as recomputed by
        `bot.compute.metrics.of_results`, or else what can be read without a track."""
        if metrics is None:
            from bot.compute import metrics as recompute

            metrics = recompute.of_results(self)
        loss, seconds = metrics.get("loss"), metrics.get("training_time_s")
        steps = whole(self.section("train_config").get("num_train_steps"))
        curve = (Validation(steps or 0, float(loss), seconds),) if loss is not None else ()
        when = parse_timestamp(self.text("timestamp"))
        return Run(
            source="results",
            file=self.file,
            index=self.index,
            validation=curve,
            run_id=self._word("run_id"),
            total_steps=steps,
            last_step=steps,
            finished=True,
            hardware=Hardware(_shown(device_name(self)), whole(metrics.get("chips"))),
            seed=whole(self.ours.get("seed")),
            nonce=self._word("nonce"),
            data_fingerprint=self._word("data_fingerprint"),
            code_sha256=_hashes(self.ours.get("code_sha256")),
            finished_at=None if when is None else when.isoformat(),
            metrics=metrics,
        )

    def _word(self, name: str) -> str | None:
        value = self.ours.get(name)
        return value if isinstance(value, str) else None


def read_results(document: Document) -> tuple[ResultsRun, ...]:
    """Every run that can be made out in a document; () where there is none."""
    value = document.value
    runs = value.get("runs") if isinstance(value, dict) else None
    if not isinstance(runs, list) or len(runs) > MAX_RUNS:
        return ()
    read = (_read_run(run, i, document) for i, run in enumerate(runs))
    return tuple(run for run in read if run is not None)


def is_results(value: Any) -> bool:
    """Whether a JSON value means to be a results file: an object with `runs` of our shapes."""
    runs = value.get("runs") if isinstance(value, dict) else None
    return isinstance(runs, list) and any(
        isinstance(run, dict) and ("run_info" in run or "run_related_info" in run) for run in runs
    )


def _read_run(run: Any, index: int, document: Document) -> ResultsRun | None:
    pointer = f"/runs/{index}"
    if not isinstance(run, dict):
        return None
    if isinstance(run.get("run_info"), dict):
        info, where = run["run_info"], f"{pointer}/run_info"
        stated = {
            name: _state(name, info[key], f"{where}/{escape(key)}")
            for name, keys in NEW_KEYS.items()
            for key in [_first(info, keys)]
            if key is not None
        }
        shape = "V4" if "flops_per_token" in stated else "V3" if "chips" in stated else "V2"
        return ResultsRun(document.file, index, shape, pointer, where, info, stated, document)
    if isinstance(run.get("run_related_info"), dict):
        info, where = run["run_related_info"], f"{pointer}/run_related_info"
        stated = _state_old(run, pointer)
        stats = run.get("run_stats")
        shape = "V0" if isinstance(stats, dict) and "final_flops_estimate" in stats else "V1"
        return ResultsRun(document.file, index, shape, pointer, where, info, stated, document)
    return None


def _first(info: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if info.get(key) is not None), None)


def _state_old(run: Mapping[str, Any], pointer: str) -> dict[str, Stated]:
    stated = {}
    for name, paths in OLD_KEYS.items():
        for path in paths:
            try:
                raw = at(run, f"/{path}")
            except KeyError:
                continue
            if raw is not None:
                stated[name] = _state(name, raw, f"{pointer}/{path}")
                break
    minutes = stated.pop("minutes", None)
    if minutes is not None:
        seconds = None if minutes.value is None else minutes.value * 60
        stated["training_time_s"] = dc.replace(minutes, value=seconds)
    return stated


def _state(name: str, raw: Any, pointer: str) -> Stated:
    if name in _TEXTS:
        return Stated(pointer, raw, raw if isinstance(raw, str) else None)
    if isinstance(raw, bool) or not isinstance(raw, (int, float, str)):
        return Stated(pointer, raw, None)
    if not isinstance(raw, str):
        return Stated(pointer, raw, raw)
    # Only the oldest shape writes its two estimates as text.
    if not pointer.endswith("_flops_estimate") or not re.fullmatch(
        r"[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", raw
    ):
        return Stated(pointer, raw, None)
    value = float(raw)
    digits = len(raw.lower().partition("e")[0].replace(".", "").lstrip("0"))
    usable = math.isfinite(value)
    return Stated(pointer, raw, value if usable else None, 0.5 * 10.0 ** (1 - max(1, digits)))


def is_not_finite(raw: Any) -> bool:
    """Whether a value is NaN or an infinity, also as the text that W&B makes of one."""
    if isinstance(raw, float):
        return not math.isfinite(raw)
    return isinstance(raw, str) and raw.strip().lower() in _NOT_FINITE


def whole(value: Any) -> int | None:
    """A whole number, also one written as 4.0; None for anything else, true and false included."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if math.isfinite(value) and value == int(value) else None


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


def parse_timestamp(text: str | None) -> dt.datetime | None:
    """A completion time such as `2025-06-28 21:52:29 UTC` or ISO 8601, in UTC; None for others.

    Without a zone it is read as UTC.
    """
    match = _TIMESTAMP.fullmatch(text.strip()) if text is not None else None
    if match is None:
        return None
    day, time, zone = match.groups()
    offset = "+00:00" if zone is None or zone.upper() in ("UTC", "GMT", "Z") else zone
    try:
        moment = dt.datetime.fromisoformat(f"{day}T{time.replace(',', '.')}{offset}")
        return moment.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None


def has_zone(text: str) -> bool:
    """Whether a timestamp that `parse_timestamp` reads names its time zone."""
    match = _TIMESTAMP.fullmatch(text.strip())
    return match is not None and match.group(3) is not None


def _shown(name: str | None) -> str | None:
    return None if name is None else plain(name, 100)


def _hashes(value: Any) -> dict[str, str]:
    if isinstance(value, str):
        return {"main.py": value}
    if not isinstance(value, dict):
        return {}
    return {str(name): digest for name, digest in value.items() if isinstance(digest, str)}
