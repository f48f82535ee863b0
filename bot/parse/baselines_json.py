"""Frozen baselines: the files `tracks/baselines/<track>/<name>.json`, which the bot alone writes.

People edit the track file and the bot writes here, so neither overwrites the other. The baseline
that stands is the last of the chain; all before it are kept, each with the board of its day.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bot.model.serial import fields_to_json, read
from bot.model.track import Baseline, Track, TrackError
from bot.model.values import finite

FOLDER = "tracks/baselines"
SCHEMA_VERSION = 1


def path_of(track: str, name: str) -> str:
    """Where a baseline lies, relative to the root; names may have several components."""
    return f"{FOLDER}/{track}/{name.replace('/', '.')}.json"


def with_baselines(track: Track, files: Iterable[tuple[str, bytes]]) -> Track:
    """The track with the baselines of (path, content); the last one stands. Raises TrackError."""
    found = _ordered(_read(path, data) for path, data in files)
    if not found:
        return track
    earlier = tuple(
        (day, dc.replace(t, baselines=found, baseline_id=found[-1].id)) for day, t in track.earlier
    )
    return dc.replace(track, baselines=found, baseline_id=found[-1].id, earlier=earlier)


def read_folder(folder: Path) -> list[tuple[str, bytes]]:
    """(path, content) of the files of one track; none where there is no folder."""
    try:
        return [(str(p), p.read_bytes()) for p in sorted(folder.glob("*.json")) if p.is_file()]
    except OSError as error:
        raise TrackError(f"{folder}: cannot be read: {error.strerror}") from error


def to_text(baseline: Baseline) -> str:
    """A baseline as its file."""
    data = {"schema_version": SCHEMA_VERSION, **fields_to_json(baseline)}
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _read(path: str, data: bytes) -> Baseline:
    """One file. Its schema, `schemas/baseline.schema.json`, is not asked: that costs a second."""
    try:
        return _baseline(json.loads(data))
    except KeyError as error:
        raise TrackError(f"{path}: the key {error} is missing") from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise TrackError(f"{path}: not a frozen baseline: {error}") from error


def _baseline(raw: Mapping[str, Any]) -> Baseline:
    if raw["schema_version"] != SCHEMA_VERSION:
        raise ValueError(f"schema_version is {raw['schema_version']}, we know {SCHEMA_VERSION}")
    made = read(Baseline, {"losses": [], **raw})
    numbers = (*made.costs, *made.losses, *(made.interval or ()))
    if not all(map(finite, numbers)):
        raise ValueError(f"costs, losses and interval are {numbers!r}, expected finite numbers")
    if made.ratio is not None and not (finite(made.ratio) and made.ratio > 0):
        raise ValueError(f"ratio is {made.ratio!r}, expected a number above 0")
    day = dt.date.fromisoformat(made.frozen_on).isoformat()
    return dc.replace(made, frozen_on=day)


def _ordered(items: Iterable[Baseline]) -> tuple[Baseline, ...]:
    """In order of time; of one day each after the one that it names."""
    found = {item.id: item for item in items}

    def depth(item: Baseline) -> int:
        seen, count = {item.id}, 0
        while item.after in found and item.after not in seen:
            item, count = found[item.after], count + 1
            seen.add(item.id)
        return count

    return tuple(sorted(found.values(), key=lambda b: (b.frozen_on, depth(b), b.id)))
