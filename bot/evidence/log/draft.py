"""One run of a log while it is read: which lines belong to it, and what it goes on from."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator

from bot.evidence.log.header import Header
from bot.evidence.log.problems import LogStep, trained_twice
from bot.evidence.log.statements import Statements


@dc.dataclass(slots=True)
class Draft:
    """One run while it is read. `key` is the prefix of its process ("" without one)."""

    header: Header
    key: str
    total: int | None = None
    steps: list[LogStep] = dc.field(default_factory=list)
    last_validation: LogStep | None = None
    cut: bool = False
    said: Statements = dc.field(default_factory=Statements)
    lines: tuple[int, int] = (0, 0)
    """The first and the last line of the file that belong to it."""
    again: list[tuple[str, str]] = dc.field(default_factory=list)
    """The problem of each part that was trained twice."""
    resumed: list[int] = dc.field(default_factory=list)
    """The first step of each part that goes on with the run."""

    def begins_anew(self, line: LogStep) -> bool:
        """Whether `line` cannot belong to this run, so that it opens the next."""
        if not self.steps:
            return False
        if None not in (line.total, self.total) and line.total != self.total:
            return True
        last, seen = self.steps[-1], self.last_validation
        if not line.is_validation or seen is None:
            return line.step < last.step - (1 if line.is_validation else 0)
        if line.step == seen.step and line.step >= last.step - 1:
            return line.loss != seen.loss and (line.step == 0 or line.clock_before(seen))
        # A validation may be printed after training lines of later steps, but not twice.
        return line.step <= seen.step

    def add(self, line: LogStep) -> None:
        """Take a line of this run; a repetition of the last validation is dropped."""
        seen = self.last_validation
        if line.is_validation:
            if seen is not None and (line.step, line.loss) == (seen.step, seen.loss):
                return
            self.last_validation, self.said.losses = line, []
        self.total = line.total if line.total is not None else self.total
        if self.said.goes_on and self.steps:
            self.resumed.append(line.step)
        self.said.goes_on, self.said.span.end = False, None
        self.steps.append(line)

    def points(self, name: str = "val_loss") -> Iterator[tuple[int, float | None]]:
        """Step and loss of the lines that have it."""
        return ((s.step, s.values[name]) for s in self.steps if name in s.values)

    def continues(self, before: Draft) -> bool:
        """Whether this is the run `before`, resumed from a checkpoint with its clock carried on."""
        first = self.steps[0]
        if (self.key, self.total) != (before.key, before.total) or first.clock_s is None:
            return False
        earlier = [s for s in before.steps if s.step < first.step]
        clocks = [s.clock_s for s in earlier if s.clock_s is not None]
        end = before.steps[-1].step
        further = first.step - 1 <= end < self.steps[-1].step and first.step > before.steps[0].step
        return further and bool(clocks) and 0 < max(clocks) <= first.clock_s

    def is_late(self, before: Draft) -> bool:
        """Whether this is the run `before`, whose first validation stands behind training lines of
        later steps: its training lines go on where they stopped, at the same distance."""
        first, further = self.steps[0], next((s for s in self.steps if not s.is_validation), None)
        if before.last_validation is not None or not first.is_validation or further is None:
            return False
        if (self.key, self.total) != (before.key, before.total):
            return False
        steps = [first.step, *(s.step for s in before.steps)]
        clock = before.steps[-1].clock_s
        on = clock is None or (further.clock_s is not None and further.clock_s >= clock)
        return on and further.step - steps[-1] == steps[-1] - steps[-2]

    def resume(self, before: Draft) -> None:
        """Put the steps of `before` that this one went on from in front of its own."""
        first, late = self.steps[0].step, self.is_late(before)
        training = before.points("train_loss"), self.points("train_loss")
        again = None if late else trained_twice(before.points(), self.points(), training)
        self.again = [*before.again, *([] if again is None else [again])]
        self.resumed = [*before.resumed, *([] if late else [first]), *self.resumed]
        self.steps[:0] = [s for s in before.steps if late or s.step < first]
        self.header, self.lines = before.header, (before.lines[0], self.lines[1])
        self.said.began, self.said.warm = before.said.began, before.said.warm
        self.said.span.begin = before.said.span.begin
