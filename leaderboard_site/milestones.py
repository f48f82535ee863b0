"""The whole history of a record: what is on file, and what the official table lists besides.

`bot.rank.history` says which entries were records and what they beat; the rows of the official
table whose evidence is not on file stand between them here, so that a gap is seen as a gap.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence

from bot.model.board import Clock, RecordStep
from bot.model.official import OfficialRecord
from bot.model.values import by_date
from leaderboard_site import text
from leaderboard_site.model import Item, Place, TrackBoard

CLOCKS: dict[Clock, str] = {
    "official": "official timing",
    "paired": "ratio on one machine",
    "own": "its own runs",
}


@dc.dataclass(frozen=True, slots=True)
class Milestone:
    """One record. `place` is None for one whose evidence is not on file or does not rank; `why`
    says which. `cost` is what decided, by `clock`; `own` is the cost that its runs on file give."""

    date: str | None
    cost: float
    number: int | None
    clock: Clock
    previous: float | None = None
    own: float | None = None
    item: Item | None = None
    place: Place | None = None
    official: OfficialRecord | None = None
    step: RecordStep | None = None
    why: str = ""
    until: str | None = None
    stands: bool = True

    @property
    def gain(self) -> float | None:
        """The change over the record before, as a share of it."""
        return (self.cost - self.previous) / self.previous if self.previous else None

    @property
    def title(self) -> str:
        """What to call it."""
        return self.item.title if self.item else f"Record {self.number}"

    @property
    def people(self) -> str:
        """Who made it, as the table or the entry says."""
        if self.item is not None:
            return self.item.people
        names = self.official.contributors if self.official else ()
        return text.some(names) or "not stated"

    @property
    def days(self) -> int | None:
        """For how many days it stood, None while it stands or without dates."""
        start, end = text.ordinal_day(self.date), text.ordinal_day(self.until)
        return None if start is None or end is None else end - start


def milestones(board: TrackBoard) -> list[Milestone]:
    """Every record in order of time; empty on a pareto track."""
    if board.track.objective == "pareto":
        return []
    steps = {s.number: s for s in board.board.records if s.number is not None}
    rows = board.track.official.records if board.track.objective == "target" else ()
    queue: list[tuple[tuple[str, int, int], Milestone]] = []
    day = ""
    for row in rows:
        day = max(day, row.date or "")
        if row.record:
            queue.append(((day, 0, row.number), _official(board, row, steps)))
    for index, step in enumerate(s for s in board.board.records if s.number is None):
        queue.append(((by_date(step.date), 1, index), _own(board, step)))
    return _joined([m for _, m in sorted(queue, key=lambda pair: pair[0])])


def _official(board: TrackBoard, row: OfficialRecord, steps: dict[int, RecordStep]) -> Milestone:
    step = steps.get(row.number)
    if step is not None:
        return dc.replace(_own(board, step), official=row)
    item = board.items.get(row.submission or "")
    why = "its evidence is not on file"
    if item is not None:
        why = item.unranked[0] if item.unranked else "it does not rank"
    return Milestone(row.date, row.cost, row.number, "official", item=item, official=row, why=why)


def _own(board: TrackBoard, step: RecordStep) -> Milestone:
    item = board.items[step.submission]
    place = next(p for p in item.places if p.point == step.point)
    cost = step.cost
    if board.track.objective == "baseline" and place.entry.progress:
        cost = place.entry.progress.ratio
    return Milestone(
        step.date, cost, step.number, step.clock, own=step.own, item=item, place=place, step=step
    )


def _joined(ordered: Sequence[Milestone]) -> list[Milestone]:
    """Each with what it beat, and until when it stood."""
    out = []
    for index, item in enumerate(ordered):
        before = ordered[index - 1] if index else None
        after = ordered[index + 1] if index + 1 < len(ordered) else None
        out.append(
            dc.replace(
                item,
                previous=_shown(before, item.date) if before else None,
                until=after.date if after else None,
                stands=after is None,
            )
        )
    return out


def _shown(milestone: Milestone, date: str | None) -> float:
    """What a record showed on `date`, after the re-timings until then."""
    cost = milestone.cost
    timed = milestone.official.retimings if milestone.official else ()
    timed = milestone.step.retimings if milestone.step else timed
    for day, value in timed:
        if date is None or day <= date:
            cost = value
    return cost


def on_file(board: TrackBoard) -> tuple[int, int] | None:
    """How many rows of the official table are on file, and of how many; None without a table."""
    records = board.track.official.records
    if not records:
        return None
    return sum(1 for r in records if r.submission in board.items), len(records)
