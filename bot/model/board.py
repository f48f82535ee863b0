"""A board as plain data: what `bot.rank.ranking` makes of the verdicts of one track."""

from __future__ import annotations

import dataclasses as dc
from typing import Literal

from bot.model.track import Axis, Track
from bot.model.verdict import Point, Verdict
from bot.registry import Status

Clock = Literal["own", "paired", "official"]


@dc.dataclass(frozen=True, slots=True)
class RecordStep:
    """One record, or one point that joined the frontier.

    `cost` is what it showed when it entered, and `clock` where that comes from; `own` is the cost
    that its own runs give. `previous` is the cost that it beat as shown at the time, None for the
    first and on a frontier; `beat` is whose that was: a submission, or `#5` for a row of the
    official table that is not on file. `superseded_by` names in the same way what took its place
    and `superseded_on` when; None while it stands. `retimings` are (date, cost): what the record
    showed from then on. `number` is that of the official table.
    """

    date: str | None
    submission: str
    point: str
    cost: float
    quality: float
    previous: float | None = None
    superseded_by: str | None = None
    superseded_on: str | None = None
    retimings: tuple[tuple[str, float], ...] = ()
    own: float | None = None
    clock: Clock = "own"
    beat: str | None = None
    number: int | None = None

    @property
    def gain(self) -> float | None:
        """The change over the record that it beat, as a share of it: the one gain of a record."""
        return (self.cost - self.previous) / self.previous if self.previous else None


@dc.dataclass(frozen=True, slots=True)
class Progress:
    """Cost over that of the current baseline; under 1 is progress for `min`.

    `measured` is the ratio to the baseline arm of the same machine, and `against` the baseline
    that it ran: where that is an older one, `ratio` is `measured` times the ratios between.
    `interval` is the 95 % interval of `ratio`, None where one of the arms has a single run.
    `promotes` says that the current baseline is beaten by the track's `promote_at`: a new one is
    due.
    """

    ratio: float
    interval: tuple[float, float] | None
    promotes: bool
    measured: float
    against: str | None = None


@dc.dataclass(frozen=True, slots=True)
class Entry:
    """One ranked point of a submission.

    `quality` and `cost` are what its own runs give; `shown_cost` is the cost that places go by, and
    `clock` where that comes from: its own runs, the ratio to a baseline arm, or the official timing
    (see `bot.rank.history`). `tied` says
    that another entry shares the place. `band` is the hardest quality band reached, and
    `band_place` the place by cost among all entries that reach it; None where there is no band.
    """

    verdict: Verdict
    point: Point
    place: int
    tied: bool
    quality: float
    cost: float
    shown_cost: float
    on_frontier: bool
    band: float | None = None
    band_place: int | None = None
    progress: Progress | None = None
    clock: Clock = "own"

    @property
    def submission(self) -> str:
        """The submission's path."""
        return self.verdict.submission


@dc.dataclass(frozen=True, slots=True)
class Unranked:
    """A submission, or one point of it, that does not rank, and why in one sentence."""

    verdict: Verdict
    point: Point | None
    why: str


@dc.dataclass(frozen=True, slots=True)
class Board:
    """One track's board. `frontier` is in order of cost; outside `pareto` it is place 1 alone."""

    track: Track
    entries: tuple[Entry, ...]
    frontier: tuple[Entry, ...]
    records: tuple[RecordStep, ...]
    unranked: tuple[Unranked, ...]

    @property
    def record(self) -> Entry | None:
        """The entry that holds the record (target and baseline tracks), None on an empty board."""
        if self.track.objective == "pareto" or not self.entries:
            return None
        holder = self.records[-1] if self.records else None
        for entry in self.entries:
            if holder and (entry.submission, entry.point.name) == (holder.submission, holder.point):
                return entry
        return self.entries[0]


@dc.dataclass(frozen=True, slots=True)
class Placement:
    """Where a verdict would stand: `place` of `of` entries, itself included.

    `gap` is its cost minus the record's (negative where it is better, None where there is no
    record); `text` says all of it in one line.
    """

    place: int
    of: int
    tied: bool
    on_frontier: bool
    record: bool
    gap: float | None
    entry: Entry
    text: str


def describe_place(
    entry: Entry, of: int, gap: float | None, track: Track, status: Status = Status.VERIFIED
) -> str:
    """One line: `would be place 3 of 41, 0.8 s behind the record`."""
    start = "with enough runs it would be" if status is Status.NEEDS_RUNS else "would be"
    if track.objective == "pareto":
        return f"{start} {_pareto_words(entry, of, track)}"
    parts = [f"{start} {'a shared ' if entry.tied else ''}place {entry.place} of {of}"]
    if entry.progress:
        metric = _plain(track.cost.metric)
        parts.append(f"{entry.progress.ratio:.4g} times the {metric} of the baseline")
    elif gap is not None:
        better = gap < 0 if track.cost.goal == "min" else gap > 0
        side = "better than" if better else "behind"
        size = f"{_amount(gap, track.cost)} {side}" if gap else "level with"
        parts.append(f"{size} the record")
    return ", ".join(parts)


def _pareto_words(entry: Entry, of: int, track: Track) -> str:
    if entry.on_frontier:
        among = f"among {of} entries" if of > 1 else "the only entry"
        words = f"on the frontier, {among}"
    else:
        words = f"place {entry.place} of {of}: {entry.place - 1} are no worse on both axes"
    if entry.band is not None:
        words += f"; place {entry.band_place} by {_plain(track.cost.metric)} among those that"
        words += f" reach {entry.band:g} {track.quality.unit}".rstrip()
    return words


def _amount(gap: float, axis: Axis) -> str:
    gap = abs(gap)
    digits = f"{gap:.0f}" if gap >= 100 else f"{gap:.1f}" if gap >= 0.1 else f"{gap:.2g}"
    return f"{digits} {axis.unit}".rstrip() if gap < 1e6 else f"{gap:.3g} {axis.unit}".rstrip()


def _plain(metric: str) -> str:
    """A metric's name in words: `training_time_s` -> `training time`."""
    return metric.removesuffix("_s").replace("_", " ")
