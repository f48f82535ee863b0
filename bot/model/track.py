"""A track: one competition, described by one TOML file that a maintainer edits.

`load_tracks(root)` reads `tracks/*.toml`; a mistake in a track raises `TrackError`, whose message
names the file, the key and what is expected.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.parse.track_toml import problems_in

OBJECTIVES = ("pareto", "target", "baseline")
TESTS = ("t", "z", "anytime", "none")


class TrackError(ValueError):
    """A track file that cannot be used. The message is one sentence for the maintainer."""


@dc.dataclass(frozen=True, slots=True)
class Axis:
    """A metric that ranks: `goal` is `min` or `max`; `target` and `bands` are for quality only."""

    metric: str
    unit: str = ""
    goal: str = "min"
    target: float | None = None
    bands: tuple[float, ...] = ()
    step: float | None = None
    """For a step-count cost: loss units that 100 steps are worth (the pairwise rule), if any."""


@dc.dataclass(frozen=True, slots=True)
class Significance:
    """How a target or an improvement is proved. `sigma` is a known sd; `threshold` is the z rule's
    bound on (target - mean) sqrt(n)."""

    test: str = "none"
    alpha: float = 0.01
    sigma: float | None = None
    threshold: float | None = None
    min_runs: int = 1
    pooled_sd: float | None = None
    pooled_df: int | None = None


@dc.dataclass(frozen=True, slots=True)
class Keys:
    """Which history key of a W&B run means what; each a tuple of names tried in order."""

    loss: tuple[str, ...] = ()
    bpb: tuple[str, ...] = ()
    train_loss: tuple[str, ...] = ()
    time_s: tuple[str, ...] = ()
    time_ms: tuple[str, ...] = ()
    step_time_s: tuple[str, ...] = ()
    """Duration of each step, for runs that log no clock: their sum is the training time."""
    step: tuple[str, ...] = ("_step",)
    total_steps: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()


@dc.dataclass(frozen=True, slots=True)
class DatedRule:
    """A change of the track's rules: from `date` on, `changes` replaces keys of the track file."""

    date: dt.date
    text: str
    changes: Mapping[str, Any] = dc.field(default_factory=dict)


@dc.dataclass(frozen=True, slots=True)
class Track:
    """One competition. See `schemas/track.schema.json` for the file."""

    id: str
    title: str
    objective: str
    quality: Axis
    cost: Axis
    significance: Significance = Significance()
    accelerators: tuple[str, ...] = ()
    """Allowed accelerator ids; empty means any hardware."""
    accelerator_count: int | None = None
    train_fingerprint: str | None = None
    validation_fingerprint: str | None = None
    baseline_id: str | None = None
    promote_at: float | None = None
    """Cost ratio to the baseline at or under which a new baseline is due, such as 0.9."""
    accepts: tuple[str, ...] = ("wandb", "log", "results")
    code_required: bool = False
    keys: Keys = Keys()
    globs: tuple[str, ...] = ()
    common_stop_step: bool = False
    levels: Mapping[str, str] = dc.field(default_factory=dict)
    """Rule name -> level where this track departs from the default ("error" ... or "off")."""
    rules: tuple[DatedRule, ...] = ()
    description: str = ""
    clock: str = ""
    source: str = ""
    raw: Mapping[str, Any] = dc.field(default_factory=dict)
    path: str = ""

    def on(self, date: dt.date | None) -> Track:
        """The track as its rules stood on `date` (None: as they stand now)."""
        if date is None:
            return self
        data = dict(self.raw)
        for rule in sorted(self.rules, key=lambda r: r.date, reverse=True):
            if rule.date > date:
                data = _merge(data, rule.changes.get("before", {}))
        return parse_track(data, self.path)


def load_track(path: Path) -> Track:
    """Read one track file. Raises TrackError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TrackError(f"{path}: cannot be read: {error.strerror}") from error
    return read_track(data, str(path))


def read_track(data: bytes, path: str) -> Track:
    """A track from the bytes of its file. Raises TrackError with the line and what to write."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TrackError(
            f"{path}: line {line}: byte 0x{data[error.start]:02x} is not UTF-8; "
            "save the file as UTF-8"
        ) from error
    if text.startswith("\ufeff"):
        raise TrackError(f"{path}: line 1: begins with a byte order mark; save it as plain UTF-8")
    try:
        parsed = tomllib.loads(text)
        problem = next(problems_in(parsed, text), None)
    except (ValueError, RecursionError) as error:
        raise TrackError(f"{path}: not readable as TOML: {error}") from error
    if problem is not None:
        raise TrackError(f"{path}: {problem}")
    return parse_track(parsed, path)


def load_tracks(root: Path) -> dict[str, Track]:
    """All tracks of `root`, by id, in order of file name. Raises TrackError."""
    tracks: dict[str, Track] = {}
    for path in sorted((root / "tracks").glob("*.toml")):
        track = load_track(path)
        if track.id != path.stem:
            raise TrackError(f'{path}: id is "{track.id}", expected "{path.stem}" as the file name')
        tracks[track.id] = track
    return tracks


def parse_track(data: Mapping[str, Any], path: str) -> Track:
    """A track from the parsed TOML. Raises TrackError naming the key that is wrong."""
    try:
        return _parse(data, path)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, TrackError):
            raise
        what = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
        raise TrackError(f"{path}: {what}") from error


def _parse(data: Mapping[str, Any], path: str) -> Track:
    if data["schema_version"] != 1:
        raise TrackError(f"{path}: schema_version is {data['schema_version']}, we know 1")
    if data["objective"] not in OBJECTIVES:
        raise TrackError(
            f"{path}: objective is {data['objective']!r}, expected one of {OBJECTIVES}"
        )
    significance = Significance(**data.get("significance", {}))
    if significance.test not in TESTS:
        raise TrackError(f"{path}: test is {significance.test!r}, expected one of {TESTS}")
    hardware = data.get("hardware", {})
    accelerator = hardware.get("accelerator", "any")
    names = [accelerator] if isinstance(accelerator, str) else accelerator
    evidence = data.get("evidence", {})
    fingerprints = data.get("data", {})
    baseline = data.get("baseline", {})
    return Track(
        id=data["id"],
        title=data["title"],
        objective=data["objective"],
        quality=_axis(data["quality"]),
        cost=_axis(data["cost"]),
        significance=significance,
        accelerators=() if "any" in names else tuple(names),
        accelerator_count=hardware.get("count"),
        train_fingerprint=fingerprints.get("train"),
        validation_fingerprint=fingerprints.get("validation"),
        baseline_id=baseline.get("id"),
        promote_at=baseline.get("promote_at"),
        accepts=tuple(evidence.get("accepts", ("wandb", "log", "results"))),
        code_required=bool(evidence.get("code_required", False)),
        keys=Keys(**{k: _names(v) for k, v in evidence.get("keys", {}).items()}),
        globs=tuple(data.get("submissions", {}).get("globs", ())),
        common_stop_step=bool(data.get("common_stop_step", False)),
        levels=data.get("levels", {}),
        rules=tuple(
            DatedRule(
                r["date"], r["text"], {k: v for k, v in r.items() if k not in ("date", "text")}
            )
            for r in data.get("rules", ())
        ),
        description=data.get("description", ""),
        clock=data.get("clock", ""),
        source=data.get("source", ""),
        raw=data,
        path=path,
    )


def _axis(data: Mapping[str, Any]) -> Axis:
    axis = Axis(**{**data, "bands": tuple(data.get("bands", ()))})
    if axis.goal not in ("min", "max"):
        raise ValueError(f"goal of {axis.metric} is {axis.goal!r}, expected min or max")
    return axis


def _names(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merge(merged[key], value) if both else value
    return merged
