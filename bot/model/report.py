"""The answer to a pull request before it is worded: its kind, its verdicts, where they would rank.

`speedrun verify` writes it as `report.json` (`schemas/pull.schema.json`); `publish`, `remember` and
`record` read it.
"""

from __future__ import annotations

import dataclasses as dc
import enum
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.model.experiment import Plan
from bot.model.look import Look
from bot.model.verdict import Verdict, verdict_from_json
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
    on_frontier: bool = False
    first_entry: bool = False
    personal_best: bool = False


@dc.dataclass(frozen=True, slots=True)
class Shown:
    """What a submission shows, to be remembered: keys of its runs, and for each run (step, loss,
    clock in seconds) at a few steps, rounded; and the looks at which it was judged."""

    submission: str
    runs: tuple[str, ...] = ()
    points: tuple[tuple[tuple[int, float, float | None], ...], ...] = ()
    looks: tuple[Look, ...] = ()


@dc.dataclass(frozen=True, slots=True)
class Change:
    """One line of a rank difference: where an entry stood and would stand under changed rules."""

    track: str
    submission: str
    before: str
    after: str


@dc.dataclass(frozen=True, slots=True)
class Report:
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
    plans: Mapping[str, Plan] = dc.field(default_factory=dict)
    """Submission -> the experiment that its preregistration announces."""

    @property
    def status(self) -> Status | None:
        """The worst status of the verdicts; None if there are none."""
        return min((v.status for v in self.verdicts), key=_ORDER.index, default=None)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values; validation series stay out, they are in the snapshots."""
        data = {f.name: getattr(self, f.name) for f in dc.fields(self)}
        data["schema_version"] = SCHEMA_VERSION
        data["kind"] = str(self.kind)
        data["verdicts"] = [_slim(v.to_json()) for v in self.verdicts]
        data["places"] = {name: dc.asdict(place) for name, place in self.places.items()}
        data["changes"] = [dc.asdict(change) for change in self.changes]
        data["shown"] = [dc.asdict(item) for item in self.shown]
        data["plans"] = {name: plan.to_json() for name, plan in self.plans.items()}
        return data


def _slim(verdict: dict[str, Any]) -> dict[str, Any]:
    runs = [{k: v for k, v in run.items() if k != "val"} for run in verdict["runs"]]
    return {**verdict, "runs": runs}


def _place(data: Mapping[str, Any]) -> Place:
    return Place(**{**data, "rows": tuple((a, b, c, d) for a, b, c, d in data.get("rows", ()))})


def report_from_json(data: Mapping[str, Any]) -> Report:
    """The inverse of `Report.to_json`, for data that fits the schema."""
    fields = {f.name: data[f.name] for f in dc.fields(Report) if f.name in data}
    return Report(
        **{
            **fields,
            "kind": Kind(data["kind"]),
            "verdicts": tuple(verdict_from_json(v) for v in data["verdicts"]),
            "places": {name: _place(place) for name, place in data.get("places", {}).items()},
            "changes": tuple(Change(**change) for change in data.get("changes", ())),
            "shown": tuple(_shown(item) for item in data.get("shown", ())),
            "plans": {k: Plan.from_json(v) for k, v in data.get("plans", {}).items()},
            **{k: tuple(data.get(k, ())) for k in ("outside", "problems", "advice")},
        }
    )


def _shown(item: Mapping[str, Any]) -> Shown:
    points = tuple(tuple((a, b, c) for a, b, c in run) for run in item["points"])
    looks = tuple(Look(**look) for look in item.get("looks", ()))
    return Shown(item["submission"], tuple(item["runs"]), points, looks)
