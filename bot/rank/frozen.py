"""The baselines that a track ever froze, as its file lists them, and how they relate.

    [[baselines]]
    id = "faster"
    submission = "submissions/my-track/faster"
    frozen_on = 2026-02-03
    cost_metric = "training_time_s"
    costs = [620.0, 621.0]
    losses = [3.27, 3.275]
    after = "first"
    ratio = 0.885

    [[baselines.credits]]
    github = "example-user"
    roles = ["idea", "code"]
    submissions = ["submissions/my-track/faster"]

An entry is measured against the baseline of its day. `relation` puts it on the scale of the one
that stands now: its ratio times the ratios of the baselines between.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from collections.abc import Mapping
from typing import Any

from bot.model.track import Track, TrackError
from bot.rank.pareto import finite


@dc.dataclass(frozen=True, slots=True)
class Credit:
    """One person, what they contributed, and the submissions that say so."""

    github: str
    name: str | None
    roles: tuple[str, ...]
    submissions: tuple[str, ...]


@dc.dataclass(frozen=True, slots=True)
class Baseline:
    """One frozen baseline. `costs` and `losses` are those of single runs; `ratio` and `interval`
    are its progress over the baseline `after`, None for the first, or where nothing relates it."""

    id: str
    submission: str
    frozen_on: str
    cost_metric: str
    costs: tuple[float, ...]
    losses: tuple[float, ...]
    device: str | None = None
    count: int | None = None
    after: str | None = None
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    credits: tuple[Credit, ...] = ()


def history(track: Track) -> tuple[Baseline, ...]:
    """Every baseline of the track, oldest first. Raises TrackError for one that is incomplete."""
    listed = track.raw.get("baselines", ())
    try:
        return tuple(_baseline(item) for item in listed)
    except (KeyError, TypeError, ValueError) as error:
        raise TrackError(f"{track.path}: a table [[baselines]] is incomplete: {error}") from error


def _baseline(data: Mapping[str, Any]) -> Baseline:
    ratio, interval = data.get("ratio"), data.get("interval")
    if ratio is not None and not (finite(ratio) and ratio > 0):
        raise ValueError(f"ratio is {ratio!r}, expected a number above 0")
    return Baseline(
        id=str(data["id"]),
        submission=str(data["submission"]),
        frozen_on=_day(data["frozen_on"]),
        cost_metric=str(data["cost_metric"]),
        costs=_numbers(data["costs"]),
        losses=_numbers(data.get("losses", ())),
        device=data.get("device"),
        count=data.get("count"),
        after=data.get("after"),
        ratio=ratio,
        interval=None if interval is None else (float(interval[0]), float(interval[1])),
        credits=tuple(
            Credit(c["github"], c.get("name"), tuple(c["roles"]), tuple(c["submissions"]))
            for c in data.get("credits", ())
        ),
    )


def _day(value: Any) -> str:
    if not isinstance(value, dt.date):
        raise ValueError(f"frozen_on is {value!r}, expected a date")
    return value.isoformat()[:10]


def _numbers(values: Any) -> tuple[float, ...]:
    numbers = tuple(values)
    if not all(finite(value) for value in numbers):
        raise ValueError(f"{numbers!r} are not all numbers")
    return numbers


def measured_against(
    baselines: tuple[Baseline, ...], current: str, based_on: str | None, date: str | None
) -> str:
    """The id of the baseline that an entry was measured against.

    The one that it says it is based on; else the one that stood on its date; else `current`.
    """
    for item in baselines:
        if based_on in (item.id, item.submission, item.submission.removeprefix("submissions/")):
            return item.id
    if date is not None and any(b.id == current for b in baselines):
        before = [b for b in baselines if b.frozen_on <= date[:10]]
        return before[-1].id if before else baselines[0].id
    return current


def relation(baselines: tuple[Baseline, ...], own: str, current: str) -> float | None:
    """What a ratio to the baseline `own` is multiplied by to be one to `current`.

    None where some baseline between them was frozen without a ratio to the one before.
    """
    scale = _scale(baselines)
    if own == current:
        return 1.0
    mine, theirs = scale.get(own), scale.get(current)
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return None
    return mine[1] / theirs[1]


def _scale(baselines: tuple[Baseline, ...]) -> Mapping[str, tuple[str, float]]:
    """Id -> (first of its chain, cost relative to that first)."""
    scale: dict[str, tuple[str, float]] = {}
    for item in baselines:
        before = scale.get(item.after) if item.after is not None else None
        if before is None or item.ratio is None:
            scale[item.id] = (item.id, 1.0)
        else:
            scale[item.id] = (before[0], before[1] * item.ratio)
    return scale
