"""The verdict on one submission: findings, recomputed numbers, and a status.

Everything here is plain data. `bot.rules` makes findings, `bot.verify` makes verdicts,
`bot.render.terminal` turns them into words, and `bot.rank.ranking` into a board.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterable, Mapping
from typing import Any

from bot.model.run import RunRecord, Witness, WitnessKind
from bot.model.submission import REPLIES, Reply
from bot.registry import (
    EXIT_CODES,
    EXIT_PRECEDENCE,
    OURS,
    SHORTFALL,
    Grade,
    Level,
    Status,
    default_level,
)

SCHEMA_VERSION = 2
"""Of what `check --format json` writes; 2 since there is the status `consistent`."""
READABLE_VERSIONS = (1, 2)


@dc.dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found. Text from a submission in it is data from a stranger.

    `file` is relative to the repository root where there is one; `pointer` is a JSON pointer
    (RFC 6901) into that file; `line` counts from 1; `ratio` is claimed / expected. `point` names
    the point of the submission concerned, `run` the run (its link or file) where there is one.
    `write` is the exact value to put at `pointer`, `suggestion` the whole line with it; `because`
    names the rule whose finding this one only follows from, so that it decides nothing itself.
    """

    rule: str
    level: Level
    message: str
    file: str | None = None
    line: int | None = None
    pointer: str | None = None
    claimed: Any = None
    expected: Any = None
    ratio: float | None = None
    fix: str | None = None
    run: str | None = None
    point: str | None = None
    write: Any = None
    suggestion: str | None = None
    because: str | None = None


def finding(name: str, message: str, level: Level | None = None, **fields: Any) -> Finding:
    """A finding of the rule `name` at its default level, unless `level` is given."""
    return Finding(name, default_level(name) if level is None else level, message, **fields)


MAIN = "main"
"""The name of the point of a submission that declares none."""


@dc.dataclass(frozen=True, slots=True)
class Point:
    """One ranked point of a submission: its recomputed numbers and their statistics.

    `metrics` maps metric names (`hardware_flops`, `chips`, `peak_flops`, `tokens`, `model_flops`,
    `mfu`, `parameters`, `training_time_s`, `bpb`, `loss`, `steps`, ...) to numbers or None.
    `quality` and `cost` are the values that the track ranks by, None if they do not exist.
    `statistics` is `bot.compute.summary.Summary.to_json()`, or None if the track asks for no test.
    """

    name: str
    quality: float | None
    cost: float | None
    metrics: Mapping[str, float | int | None]
    statistics: Mapping[str, Any] | None = None
    rests_on: Mapping[str, tuple[Witness, ...]] = dc.field(default_factory=dict)
    """Quantity -> who states it: what each number rests on."""

    def to_json(self) -> dict[str, Any]:
        """The point as JSON values."""
        return {
            **{name: getattr(self, name) for name in _POINT},
            "rests_on": {
                quantity: [
                    {"kind": str(w.kind), "source": w.source, "value": w.value} for w in witnesses
                ]
                for quantity, witnesses in self.rests_on.items()
            },
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Point:
        """The inverse of `to_json`."""
        rests_on = {
            quantity: tuple(
                Witness(quantity, w["value"], WitnessKind(w["kind"]), w["source"]) for w in items
            )
            for quantity, items in data.get("rests_on", {}).items()
        }
        return cls(**{**data, "rests_on": rests_on})


@dc.dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one submission. Pure data: the same inputs give the same verdict.

    `runs` holds one allow-listed record a run (see `bot.model.run.RunRecord`); `note` is a
    sentence that qualifies the status ("recorded, not yet reproduced"), or None; `accepted` lists
    rules that a maintainer accepted, with the reason.
    """

    submission: str
    track: str
    status: Status
    evidence: Grade
    findings: tuple[Finding, ...]
    points: tuple[Point, ...]
    runs: tuple[RunRecord, ...] = ()
    statistics: Mapping[str, Any] | None = None
    note: str | None = None
    title: str | None = None
    date: str | None = None
    """When the result was obtained or submitted, ISO 8601 UTC, for the record progression."""
    accepted: Mapping[str, str] = dc.field(default_factory=dict)
    based_on: str | None = None
    """What the submission says it builds on: on a `baseline` track the baseline it ran."""
    reply: Reply | None = None
    """The entry that it reproduces or challenges; such a submission does not rank."""
    people: tuple[str, ...] = ()
    """Logins of its contributors."""

    @property
    def metrics(self) -> Mapping[str, float | int | None]:
        """The recomputed metrics of the first point; empty where nothing could be computed."""
        return self.points[0].metrics if self.points else {}

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that block."""
        return tuple(f for f in self.findings if f.level is Level.ERROR)

    def to_json(self) -> dict[str, Any]:
        """The verdict in the shape of `schemas/verdict.schema.json`."""
        return {
            "submission": self.submission,
            "track": self.track,
            "status": str(self.status),
            "evidence": str(self.evidence),
            "title": self.title,
            "date": self.date,
            "note": self.note,
            "findings": [finding_to_json(f) for f in self.findings],
            "metrics": dict(self.metrics),
            "points": [p.to_json() for p in self.points],
            "runs": [run.to_json() for run in self.runs],
            "statistics": None if self.statistics is None else dict(self.statistics),
            "accepted": dict(self.accepted),
            "based_on": self.based_on,
            **{
                kind: self.reply.entry for kind in REPLIES if self.reply and self.reply.kind == kind
            },
            "people": list(self.people),
        }


def finding_to_json(finding: Finding) -> dict[str, Any]:
    """One finding as JSON values."""
    return {name: getattr(finding, name) for name in _FINDING} | {"level": str(finding.level)}


_FINDING = tuple(f.name for f in dc.fields(Finding))
_POINT = tuple(f.name for f in dc.fields(Point))


def verdict_from_json(data: Mapping[str, Any]) -> Verdict:
    """The inverse of `Verdict.to_json`. Raises KeyError, TypeError or ValueError otherwise."""
    return Verdict(
        submission=data["submission"],
        track=data["track"],
        status=Status(data["status"]),
        evidence=Grade(data["evidence"]),
        findings=tuple(Finding(**{**f, "level": Level(f["level"])}) for f in data["findings"]),
        points=tuple(Point.from_json(p) for p in data["points"]),
        runs=tuple(map(RunRecord.from_json, data.get("runs", ()))),
        statistics=data.get("statistics"),
        note=data.get("note"),
        title=data.get("title"),
        date=data.get("date"),
        accepted=data.get("accepted", {}),
        based_on=data.get("based_on"),
        reply=next((Reply(kind, data[kind]) for kind in REPLIES if data.get(kind)), None),
        people=tuple(data.get("people", ())),
    )


def status_of(findings: Iterable[Finding], evidence: Grade) -> Status:
    """The status that findings and the grade of the evidence lead to.

    Errors of the submission reject; else errors on our side make it unverifiable; else errors that
    more runs can satisfy make it needs-runs; else warnings ask for a review. What nothing but the
    author's word supports is consistent at most. What only follows from another finding is settled
    with it and decides nothing.
    """
    findings = tuple(f for f in findings if f.because is None)
    errors = {f.rule for f in findings if f.level is Level.ERROR}
    if errors - OURS - SHORTFALL:
        return Status.REJECTED
    if errors & OURS:
        return Status.UNVERIFIABLE
    if errors:
        return Status.NEEDS_RUNS
    if any(f.level is Level.WARNING for f in findings):
        return Status.NEEDS_REVIEW
    return Status.CONSISTENT if evidence is Grade.SELF_REPORTED else Status.VERIFIED


def with_findings(verdict: Verdict, findings: Iterable[Finding]) -> Verdict:
    """The verdict with other findings, and the status that follows from them."""
    found = tuple(findings)
    return dc.replace(verdict, findings=found, status=status_of(found, verdict.evidence))


def with_accepted(verdict: Verdict, accepted: Mapping[str, str]) -> Verdict:
    """The verdict with the findings that maintainers accepted as notes; rule -> who and why."""
    rules = {f.rule for f in verdict.findings if f.level is not Level.NOTE} & set(accepted)
    found = tuple(
        dc.replace(f, level=Level.NOTE) if f.rule in rules else f for f in verdict.findings
    )
    return dc.replace(with_findings(verdict, found), accepted={**verdict.accepted, **accepted})


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """The exit status of a command over several verdicts; 2 for none."""
    codes = {EXIT_CODES[v.status] for v in verdicts} or {2}
    return next(code for code in EXIT_PRECEDENCE if code in codes)
