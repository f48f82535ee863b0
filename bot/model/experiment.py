"""A preregistered experiment: what an issue announced before the runs, and how it was kept.

`bot.parse.plan` reads a `Plan` from the issue, `bot.compute.experiment` compares it with a verdict.
"""

from __future__ import annotations

import dataclasses as dc
import enum

RATIO = "ratio"
"""What a condition calls the cost of the change over that of the baseline arm."""


class Stop(enum.StrEnum):
    """When an experiment ends."""

    PLANNED = "planned"
    """After the planned number of runs, whatever they show."""
    PASSES = "passes"
    """As soon as the track's test passes, at the planned number at the latest."""
    WORDS = "words"
    """As the author describes it: shown, and left to people."""


@dc.dataclass(frozen=True, slots=True)
class Condition:
    """One thing that the result must satisfy to confirm the hypothesis: `loss < 3.28`."""

    metric: str
    sign: str
    value: float


@dc.dataclass(frozen=True, slots=True)
class Plan:
    """An issue as it announces an experiment. Title, hypothesis and details are a stranger's text.

    `opened_at` and `edited_at` (the last edit of the text) are GitHub's clock, ISO 8601 in UTC;
    `sha256` stands for the text as it was read. `runs` is the planned number of finished runs of
    the change at each point. `unread` says what of the form could not be understood.
    """

    issue: int
    title: str
    author: str
    opened_at: str
    edited_at: str | None
    sha256: str
    track: str = ""
    hypothesis: str = ""
    conditions: tuple[Condition, ...] = ()
    runs: int | None = None
    stop: Stop | None = None
    details: str = ""
    unread: tuple[str, ...] = ()
    first_run: str | None = None
    """When the first run began, or was shown here first, ISO 8601 in UTC."""
    first_run_by: str = ""
    """Whose clock that is: `W&B` (the run's creation) or `GitHub` (shown here first)."""


@dc.dataclass(frozen=True, slots=True)
class Row:
    """One thing that was planned beside what was done; `kept` None where nothing was compared."""

    what: str
    planned: str
    done: str
    kept: bool | None


@dc.dataclass(frozen=True, slots=True)
class Comparison:
    """A plan beside its runs. `confirmed` says whether the result is the one that was foretold:
    None if the plan foretells nothing that can be computed, or its runs are not all there yet."""

    rows: tuple[Row, ...]
    results: tuple[Row, ...]
    confirmed: bool | None

    @property
    def kept(self) -> bool:
        """Whether nothing that was compared differs from the plan."""
        return all(row.kept is not False for row in self.rows)
