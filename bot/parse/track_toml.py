"""Track files: from the TOML that a maintainer edits to a `Track`.

`load_tracks(root)` reads `tracks/*.toml`; a mistake raises `TrackError`, whose message names the
file, the line, the key and what is expected (`bot.parse.track_schema` finds it).
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.model.known import KnownPrograms
from bot.model.track import (
    FINISHES,
    OBJECTIVES,
    TESTS,
    Axis,
    ComputeGrant,
    DatedRule,
    Keys,
    Metric,
    Reproduction,
    Retiming,
    Significance,
    Track,
    TrackError,
)
from bot.model.values import positive
from bot.parse.baselines_json import read_folder, with_baselines
from bot.parse.programs_json import read_programs
from bot.parse.records_json import read_claimed, read_official
from bot.parse.track_schema import problems_in
from bot.parse.track_sense import SOURCES, kind_of, names


def load_track(path: Path) -> Track:
    """Read one track file. Raises TrackError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TrackError(f"{path}: cannot be read: {error.strerror}") from error
    track = read_track(data, str(path))
    try:
        official = read_official(path.with_suffix(".records.json"), track.id)
        claimed = read_claimed(path.with_suffix(".claimed.json"))
    except ValueError as error:
        raise TrackError(str(error)) from error
    track = _with_programs(dc.replace(track, official=official, claimed=claimed), path.parent)
    return with_baselines(track, read_folder(path.parent / "baselines" / path.stem))


def _with_programs(track: Track, folder: Path) -> Track:
    """The track with the programs that it accepts: today's, whatever day it judges by."""
    if track.programs is None:
        return track
    try:
        known = read_programs(folder, track.programs.file)
    except ValueError as error:
        raise TrackError(str(error)) from error
    earlier = tuple((day, dc.replace(t, programs=known)) for day, t in track.earlier)
    return dc.replace(track, programs=known, earlier=earlier)


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
        track = _parse(data, path)
        return dc.replace(track, earlier=_earlier(data, track.rules, path))
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
    own = _own_metrics(data)
    finish = data.get("finish", {}).get("by", "steps")
    if finish not in FINISHES:
        raise ValueError(f"finish.by is {finish!r}, expected one of {FINISHES}")
    baseline = data.get("baseline", {})
    return Track(
        id=data["id"],
        title=data["title"],
        objective=data["objective"],
        quality=_axis(data["quality"], own),
        # Ranked by quality alone: what others pay in cost is paid in quality here.
        cost=_axis(data["quality" if data["objective"] == "best" else "cost"], own),
        significance=_significance(data.get("significance", {})),
        **_hardware(data.get("hardware", {})),
        **_data(data.get("data", {})),
        **_evidence(data.get("evidence", {}), own),
        **_rules(data),
        baseline_id=baseline.get("id"),
        promote_at=baseline.get("promote_at"),
        globs=tuple(data.get("submissions", {}).get("globs", ())),
        imported=tuple(data.get("submissions", {}).get("imported", ())),
        description=data.get("description", ""),
        clock=data.get("clock", ""),
        source=data.get("source", ""),
        retimings=_retimings(data, path),
        metrics=own,
        finish=finish,
        compute_grant=ComputeGrant(**data["compute_grant"]) if "compute_grant" in data else None,
        log_patterns=tuple(data.get("log", {}).get("patterns", ())),
        result_fields=data.get("results", {}).get("fields", {}),
        raw=data,
        path=path,
    )


def _hardware(data: Mapping[str, Any]) -> dict[str, Any]:
    names = _names(data.get("accelerator", "any"))
    return {
        "accelerators": () if "any" in names else names,
        "accelerator_count": data.get("count"),
    }


def _data(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "train_fingerprint": data.get("train"),
        "validation_fingerprint": data.get("validation"),
        "data_corpus": data.get("corpus"),
        "data_config": data.get("config"),
        "data_submitted": bool(data.get("submitted", False)),
        "data_verified": frozenset(v["train"] for v in data.get("verified", ())),
        "vocab_size": positive(data.get("vocab_size")),
        "validation_tokens": positive(data.get("validation_tokens")),
        "batch_tokens": positive(data.get("batch_tokens")),
        "bytes_per_token": data.get("bytes_per_token"),
    }


def _evidence(data: Mapping[str, Any], own: Mapping[str, Metric]) -> dict[str, Any]:
    keys = {k: _names(v) for k, v in data.get("keys", {}).items()}
    return {
        "accepts": tuple(data.get("accepts", ("wandb", "log", "results"))),
        "code_required": bool(data.get("code_required", False)),
        "programs": KnownPrograms(data["programs"]) if "programs" in data else None,
        "keys": Keys(**keys, own=tuple((m.name, m.keys) for m in own.values() if m.keys)),
    }


def _rules(data: Mapping[str, Any]) -> dict[str, Any]:
    rules = (DatedRule(r["date"], r["text"], r.get("before", {})) for r in data.get("rules", ()))
    return {
        "recipe": {
            f"{section}.{key}": value
            for section, settings in data.get("recipe", {}).items()
            for key, value in settings.items()
        },
        "common_stop_step": bool(data.get("common_stop_step", False)),
        "levels": data.get("levels", {}),
        "rules": tuple(rules),
        "limits": data.get("limits", {}),
        "reproduction": Reproduction(**data["reproduction"]) if "reproduction" in data else None,
    }


def _own_metrics(data: Mapping[str, Any]) -> dict[str, Metric]:
    axes = (data["quality"], data.get("cost", {}))
    goals = {axis["metric"]: axis["goal"] for axis in axes if "goal" in axis}
    return {name: _metric(name, item, goals) for name, item in data.get("metrics", {}).items()}


def _metric(name: str, data: Mapping[str, Any], goals: Mapping[str, str]) -> Metric:
    sources = names(data["from"])
    by_kind = {kind: tuple(s for s in sources if kind_of(s) == kind) for kind in SOURCES}
    return Metric(
        name,
        str(data["label"]),
        str(data.get("unit", "")),
        data.get("goal", goals.get(name, "min")),
        data.get("digits"),
        by_kind["wandb"],
        by_kind["log"],
        by_kind["results"],
    )


def _earlier(
    data: Mapping[str, Any], rules: tuple[DatedRule, ...], path: str
) -> tuple[tuple[dt.date, Track], ...]:
    """The track before each of its dated changes, undone from the latest to the first."""
    earlier: list[tuple[dt.date, Track]] = []
    for rule in sorted(rules, key=lambda r: r.date, reverse=True):
        data = _merge(data, rule.before)
        earlier.append((rule.date, _parse(data, path)))
    return tuple(reversed(earlier))


def _retimings(data: Mapping[str, Any], path: str) -> tuple[Retiming, ...]:
    """Written as `[[retimings]] submission = "...", of = "...", date = 2025-05-24`."""
    try:
        return tuple(
            Retiming(str(r["submission"]), str(r["of"]), str(r["date"]))
            for r in data.get("retimings", ())
        )
    except (KeyError, TypeError) as error:
        raise TrackError(
            f"{path}: a re-timing needs submission, of and date, not {error}"
        ) from error


def _significance(data: Mapping[str, Any]) -> Significance:
    made = Significance(**{**data, "looks": tuple(data.get("looks", ()))})
    if made.test not in TESTS:
        raise ValueError(f"test is {made.test!r}, expected one of {TESTS}")
    if made.test == "moderated" and not (made.prior_sd and made.prior_df):
        raise ValueError("the moderated test needs prior_sd and prior_df, both above 0")
    if made.looks and made.test in ("none", "anytime"):
        raise ValueError(f"looks have no meaning with test = {made.test!r}; delete them")
    if any(a >= b for a, b in zip((1, *made.looks), made.looks, strict=False)):
        raise ValueError(f"looks are {list(made.looks)}, expected numbers of runs that rise from 2")
    return made


def _axis(data: Mapping[str, Any], own: Mapping[str, Metric]) -> Axis:
    """An axis; which way is better is said of a metric once, here or in its own table."""
    metric = own.get(data["metric"])
    goal = data.get("goal", metric.goal if metric is not None else "min")
    axis = Axis(**{**data, "goal": goal, "bands": tuple(data.get("bands", ()))})
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
