"""A JSON file of another competition, which a track reads in place.

is_foreign(value, track, tracks)   whether a submission.json is theirs and not ours
fields_of(value, track)            metric -> number, by the track's pointers
claims_of(value, track)            the same as claims, to be compared with the evidence
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bot.model.submission import Claim
from bot.model.track import Track


def is_foreign(raw: Mapping[str, Any], track: Track | None, tracks: Mapping[str, Track]) -> bool:
    """Whether a submission.json is that of another competition. Ours states its schema, or lists
    runs with their sources; other keys may mean anything there. `track` is None where the folder
    does not tell it."""
    if track is None:
        only = next(iter(tracks.values())) if len(tracks) == 1 else None
        track = tracks.get(str(raw.get("track")), only)
    reads = track and (track.result_fields or any(m.pointers for m in track.metrics.values()))
    runs = raw.get("runs")
    listed = isinstance(runs, list) and any(isinstance(r, dict) and "source" in r for r in runs)
    return bool(reads and raw) and not listed and not {"schema_version", "$schema"} & set(raw)


def claims_of(value: Mapping[str, Any], track: Track) -> tuple[Claim, ...]:
    """What another competition's file states, as claims: beside logs it is the author's word."""
    stated = fields_of(value, track)
    return tuple(Claim(name, number, of_any=True) for name, number in stated.items())


def number(value: object) -> float | None:
    """A finite number; in a log with separators of thousands as well."""
    if isinstance(value, str):
        try:
            value = float(value.replace(",", "").replace("_", ""))
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def fields_of(value: object, track: Track) -> dict[str, float]:
    """Metric -> number of a JSON value, by the track's field map and its metrics' pointers."""
    pointers = [(name, pointer) for name, pointer in track.result_fields.items()]
    pointers += [(m.name, pointer) for m in track.metrics.values() for pointer in m.pointers]
    found: dict[str, float] = {}
    for name, pointer in pointers:
        value_at = number(_at(value, pointer))
        if name not in found and value_at is not None:
            found[name] = value_at
    return found


def _at(value: object, pointer: str) -> object:
    """What a JSON pointer (RFC 6901) leads to; None if it leads nowhere."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value
