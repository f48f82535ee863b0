"""A board as plain data: what `bot.rank.ranking` makes of the verdicts of one track."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from typing import Literal

from bot.model.track import Track
from bot.model.verdict import Point, Verdict
from bot.registry import Grade

Clock = Literal["own", "paired", "official"]
StateName = Literal["claimed", "confirmed", "challenged", "refuted"]


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
    interval: tuple[float, float] | None = None
    """The 95 % interval of `cost` where ratios gave it, since the last time that stood alone."""

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
    pairs: int = 0
    """Pairs of runs behind the ratio: those of the entry and of its replies."""
    measured_interval: tuple[float, float] | None = None
    """The 95 % interval of `measured`."""


@dc.dataclass(frozen=True, slots=True)
class Answered:
    """A reproduction or a challenge of an entry, and what its runs say.

    `ratio` and `interval` are to the entry's own baseline. `counts` says that they confirm an entry
    on this track, else `why` says why not. `holds` is for a challenge: its runs dispute the entry,
    else `undisputed` says why not.
    """

    submission: str
    kind: str
    people: tuple[str, ...]
    device: str | None
    pairs: int
    ratio: float | None
    interval: tuple[float, float] | None
    counts: bool
    why: str = ""
    holds: bool = False
    accepted: bool = False
    reason: str = ""
    """Why a maintainer accepted it, and who."""
    undisputed: str = ""
    gains: bool = False
    """Whether its own runs show a gain; a single pair, which has no spread, by its ratio."""


@dc.dataclass(frozen=True, slots=True)
class State:
    """What the community made of an entry: claimed, confirmed, challenged or refuted.

    `replies` is what it rests on, and `refuted` names the entries that it builds on and that are
    refuted.
    """

    name: StateName = "claimed"
    replies: tuple[Answered, ...] = ()
    refuted: tuple[str, ...] = ()

    @property
    def confirming(self) -> tuple[Answered, ...]:
        """The replies that show the gain of a confirmed entry; all that count, where they show it
        together alone."""
        if self.name != "confirmed":
            return ()
        counted = tuple(a for a in self.replies if a.counts)
        return tuple(a for a in counted if a.gains) or counted


@dc.dataclass(frozen=True, slots=True)
class Entry:
    """One ranked point of a submission.

    `quality` and `cost` are what its own runs give; `shown_cost` is the cost that places go by, and
    `clock` where that comes from: its own runs, the ratio to a baseline arm, or the official timing
    (see `bot.rank.history`). `tied` says
    that another entry has the same score. `band` is the hardest quality band reached, and
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
    ranks: tuple[int, int] | None = None
    """The best and the worst rank that the entry may truly have (95 %, all entries at once)."""
    frontier_chance: float | None = None
    """How likely it truly is on a pareto frontier; None where no spread is known."""
    clock: Clock = "own"
    state: State = State()

    @property
    def submission(self) -> str:
        """The submission's path."""
        return self.verdict.submission

    @property
    def grade(self) -> Grade:
        """The grade of its evidence: what others confirmed is `reproduced`."""
        return Grade.REPRODUCED if self.state.name == "confirmed" else self.verdict.evidence


@dc.dataclass(frozen=True, slots=True)
class Unranked:
    """A submission, or one point of it, that does not rank, and why in one sentence."""

    verdict: Verdict
    point: Point | None
    why: str
    state: State = State()


@dc.dataclass(frozen=True, slots=True)
class Board:
    """One track's board. `frontier` is in order of cost; outside `pareto` it is place 1 alone."""

    track: Track
    entries: tuple[Entry, ...]
    frontier: tuple[Entry, ...]
    records: tuple[RecordStep, ...]
    unranked: tuple[Unranked, ...]
    states: Mapping[str, State] = dc.field(default_factory=dict)
    """By path of the entry, on a `baseline` track."""
    declared: Track | None = None
    """The track as its file says, where its baseline is refuted and `track` has an earlier one."""

    @property
    def base(self) -> Track:
        """The track to rank the same verdicts by again."""
        return self.declared or self.track

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
    record). `bot.render.place` words it.
    """

    place: int
    of: int
    tied: bool
    on_frontier: bool
    record: bool
    gap: float | None
    entry: Entry
    verified_ahead: int = 0
    """How many other verified entries have a better place."""
