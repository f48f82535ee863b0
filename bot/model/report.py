"""The answer to a pull request before it is worded: its kind, its verdicts, where they would rank.

`speedrun verify` writes it as `report.json` (`schemas/pull.schema.json`); `publish`, `remember` and
`record` read it.
"""

from __future__ import annotations

import dataclasses as dc
import enum
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from bot.model.experiment import Plan
from bot.model.look import Look
from bot.model.serial import JsonObject, Shaped, fields_to_json, read_fields
from bot.model.verdict import Verdict, without_series
from bot.registry import Status

SCHEMA_VERSION = 1
MAX_VERDICTS = 50
_ORDER = list(Status)


class Kind(enum.StrEnum):
    """What a pull request is about; decides which answer it gets."""

    SUBMISSION = "submission"
    RULES = "rules"
    BASELINE = "baseline"
    CODE = "code"
    OTHER = "other"


@dc.dataclass(frozen=True, slots=True)
class Settings:
    """How a repository wants its bot: `.github/speedrun.toml` with its defaults."""

    login: str = "github-actions[bot]"
    check: str = "speedrun"
    reviewers: tuple[str, ...] = ()
    review_days: int = 3
    site: str = ""
    quiet: bool = False
    templates: Path | None = None
    runs_on: str = "ubuntu-24.04"
    pages: bool = True
    schedule: str = "41 3 * * *"
    api_url: str = ""


@dc.dataclass(frozen=True, slots=True)
class Place:
    """What the track adds to a verdict, worded by `bot.render.place` from our own numbers.

    `text` says where it stands ("3rd of 41, 0.8 s behind the record") or, if `ranks` is false, why
    it would not rank. `result` is in the track's unit; a row is (what, yours, needed, record).
    """

    text: str = ""
    result: str = ""
    rows: tuple[tuple[str, str, str, str], ...] = ()
    ranks: bool = True
    record: bool = False
    claimed: bool = False
    """Nobody else has shown yet what it gained over the baseline."""
    on_frontier: bool = False
    first_entry: bool = False
    personal_best: bool = False
    grant_hours: float = 0.0
    """GPU-hours that a maintainer may grant it by the track's `[compute_grant]`."""
    confirm: str = ""
    """How others confirm it, if it waits for that."""


@dc.dataclass(frozen=True, slots=True)
class Shown:
    """What a submission shows, to be remembered: keys of its runs, and for each run (step, loss,
    clock in seconds) at a few steps, rounded; the looks at which it was judged; and the id of the
    frozen baseline that its baseline arm ran."""

    submission: str
    runs: tuple[str, ...] = ()
    points: tuple[tuple[tuple[int, float, float | None], ...], ...] = ()
    looks: tuple[Look, ...] = ()
    against: str | None = None


@dc.dataclass(frozen=True, slots=True)
class Change:
    """One line of a rank difference: where an entry stood and would stand under changed rules."""

    track: str
    submission: str
    before: str
    after: str


@dc.dataclass(frozen=True, slots=True)
class Report(Shaped):
    """Everything that the answer to a pull request is made of."""

    repository: str
    pr: int
    head_sha: str
    base_sha: str
    kind: Kind
    author: str
    verdicts: tuple[Verdict, ...] = ()
    places: Mapping[str, Place] = dc.field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    unchanged: int = 0
    outside: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    shown: tuple[Shown, ...] = ()
    author_id: int | None = None
    intake: bool = False
    """Whether we opened the pull request for its author, who cannot push to its branch."""
    plans: Mapping[str, Plan] = dc.field(default_factory=dict)
    """Submission -> the experiment that its preregistration announces."""
    baseline: str = ""
    """TRACK/NAME of the baseline that it adds, if it changes nothing else."""

    @property
    def status(self) -> Status | None:
        """The worst status of the verdicts; None if there are none."""
        return min((v.status for v in self.verdicts), key=_ORDER.index, default=None)

    def to_json(self) -> JsonObject:
        """The report as JSON values; validation series stay out, they are in the snapshots."""
        slim = [without_series(verdict).to_json() for verdict in self.verdicts]
        return fields_to_json(self) | {"verdicts": slim, "schema_version": SCHEMA_VERSION}

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Self:
        """The inverse of `to_json`, for data that fits the schema."""
        return read_fields(cls, data)
