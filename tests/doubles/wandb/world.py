"""What the W&B double stores: runs, their history, their files, and who may see which project."""

from __future__ import annotations

import bisect
import dataclasses as dc
import datetime as dt
import json
import math
import re
import threading
from collections.abc import Iterable, Mapping
from typing import Any

Path = tuple[str, str, str]


def now() -> str:
    """The time as W&B writes it: UTC, seconds, no zone."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")


def earlier() -> str:
    """Two hours before now, as W&B writes it."""
    return (dt.datetime.now(dt.UTC) - dt.timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%S")


def wire(value: Any) -> Any:
    """JSON values as W&B sends them: non-finite numbers travel as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, Mapping):
        return {key: wire(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [wire(item) for item in value]
    return value


def flattened(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A row as W&B stores it: nested objects by dotted keys, media left whole."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping) and "_type" not in value:
            flat |= flattened(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


@dc.dataclass
class StoredRun:
    """One run on the server. `exports` are parquet files of its history; rows from step
    `live_from` on are not exported yet. `line_count` and `stated_keys` are said instead of what it
    holds."""

    entity: str
    project: str
    id: str
    state: str = "finished"
    display_name: str = ""
    group: str | None = None
    notes: str | None = None
    config: dict[str, Any] = dc.field(default_factory=dict)
    summary: dict[str, Any] = dc.field(default_factory=dict)
    files: dict[str, bytes] = dc.field(default_factory=dict)
    file_sizes: dict[str, int] = dc.field(default_factory=dict)
    artifacts: dict[str, dict[str, bytes]] = dc.field(default_factory=dict)
    tags: list[str] = dc.field(default_factory=list)
    sweep: str | None = None
    user: str = "example-user"
    created_at: str = dc.field(default_factory=earlier)
    heartbeat_at: str = dc.field(default_factory=now)
    exports: list[bytes] = dc.field(default_factory=list)
    live_from: int = 0
    line_count: int | None = None
    stated_keys: dict[str, Any] | None = None
    console: list[str] = dc.field(default_factory=list)
    rows: list[dict[str, Any]] = dc.field(default_factory=list)
    _steps: list[int] = dc.field(default_factory=list)
    _counts: dict[str, int] = dc.field(default_factory=dict)

    def log(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append history rows; each has `_step`, or takes the next number."""
        for given in rows:
            row = flattened(given)
            row.setdefault("_step", len(self.rows))
            self.rows.append(row)
            self._steps.append(int(row["_step"]))
            for key in row:
                self._counts[key] = self._counts.get(key, 0) + 1

    def replace_history(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Forget the history and log `rows` in its place."""
        for part in (self.rows, self._steps, self._counts):
            part.clear()
        self.log(rows)

    def mark(self, feature: int) -> None:
        """Note a feature of the client's telemetry: 5 resumed, 71 forked, 72 rewound."""
        own = self.config.setdefault("_wandb", {})
        own.setdefault("t", {}).setdefault("3", []).append(feature)

    def rewind(self, step: int) -> None:
        """Forget what was logged after `step`, as a rewind does."""
        self.mark(72)
        self.replace_history([row for row in self.rows if row["_step"] <= step])

    def texts(self, low: int, high: int) -> list[str]:
        """The rows of steps [low, high) as JSON texts, in the order logged."""
        if self._steps == sorted(self._steps):
            first, last = (bisect.bisect_left(self._steps, n) for n in (low, high))
            found = self.rows[first:last]
        else:
            pairs = zip(self._steps, self.rows, strict=True)
            found = [row for step, row in pairs if low <= step < high]
        return [json.dumps(wire(row)) for row in found]

    def history_keys(self) -> dict[str, Any] | None:
        """The `historyKeys` object: every key with its count, and the last step."""
        if self.stated_keys is not None or not self.rows:
            return self.stated_keys
        keys = {
            key: {
                "typeCounts": [{"type": "number", "count": count}],
                "monotonic": key == "_step",
                "previousValue": None,
            }
            for key, count in self._counts.items()
        }
        return {"sets": [], "lastStep": max(self._steps), "keys": keys}

    @property
    def lines(self) -> int:
        """How many history rows the server says there are."""
        return len(self.rows) if self.line_count is None else self.line_count


class World:
    """Everything the server knows. `access` maps a project to `public` (the default),
    `restricted` (the key's account reads it, the public does not) or `private`."""

    def __init__(self) -> None:
        self.runs: dict[Path, StoredRun] = {}
        self.access: dict[tuple[str, str], str] = {}
        self.lock = threading.RLock()

    def may_read(self, entity: str, project: str, anonymous: bool) -> bool:
        """Whether the project exists and whoever asks may read it."""
        access = self.access.get((entity, project), "public")
        exists = any(path[:2] == (entity, project) for path in self.runs)
        return exists and (access == "public" or (access == "restricted" and not anonymous))

    def select(self, entity: str, project: str, filters: Mapping[str, Any]) -> list[StoredRun]:
        """The runs of a project that pass W&B's Mongo-style filters, oldest first."""
        return [
            run
            for path, run in self.runs.items()
            if path[:2] == (entity, project) and matches(run, filters)
        ]


def matches(run: StoredRun, filters: Mapping[str, Any]) -> bool:
    """Whether `run` passes the filters; an operator we do not know raises KeyError."""
    for key, condition in filters.items():
        if key in ("$and", "$or"):
            test = all if key == "$and" else any
            if not test(matches(run, item) for item in condition):
                return False
            continue
        value = _field(run, key)
        operators = condition if isinstance(condition, dict) else {"$eq": condition}
        if not all(_compare(name, value, other) for name, other in operators.items()):
            return False
    return True


def _field(run: StoredRun, key: str) -> Any:
    if key.startswith("config."):
        return run.config.get(key.removeprefix("config.").removesuffix(".value"))
    if key.startswith("summary_metrics."):
        return run.summary.get(key.removeprefix("summary_metrics."))
    names = {"state": run.state, "name": run.id, "displayName": run.display_name}
    names["sweep"] = run.sweep or ""
    return names[key]


def _compare(operator: str, value: Any, other: Any) -> bool:
    compare = {
        "$eq": lambda: value == other,
        "$ne": lambda: value != other,
        "$gt": lambda: value is not None and value > other,
        "$gte": lambda: value is not None and value >= other,
        "$lt": lambda: value is not None and value < other,
        "$lte": lambda: value is not None and value <= other,
        "$in": lambda: value in other,
        "$nin": lambda: value not in other,
        "$exists": lambda: (value is not None) == other,
        "$regex": lambda: re.search(other, str(value)) is not None,
    }
    return bool(compare[operator]())
