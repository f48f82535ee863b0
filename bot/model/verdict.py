"""The verdict on one submission: findings, recomputed numbers, and a status.

Everything here is plain data. `bot.rules` makes findings, `bot.verify` makes verdicts,
`bot.render.terminal` turns them into words, and `bot.rank.ranking` into a board.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterable, Mapping
from typing import Self, TypedDict, Unpack

from bot.model.run import RunRecord, Witness, WitnessKind
from bot.model.serial import JsonObject, Shaped, fields_to_json, read, read_fields, to_json
from bot.model.submission import REPLIES, Reply
from bot.model.summary import Summary
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
    claimed: object = None
    expected: object = None
    ratio: float | None = None
    fix: str | None = None
    run: str | None = None
    point: str | None = None
    write: str | float | None = None
    suggestion: str | None = None
    because: str | None = None


class FindingFields(TypedDict, total=False):
    """What a finding may hold beside its rule, level and message."""

    file: str | None
    line: int | None
    pointer: str | None
    claimed: object
    expected: object
    ratio: float | None
    fix: str | None
    run: str | None
    point: str | None
    write: str | float | None


def finding(
    name: str, message: str, level: Level | None = None, **fields: Unpack[FindingFields]
) -> Finding:
    """A finding of the rule `name` at its default level, unless `level` is given."""
    return Finding(name, default_level(name) if level is None else level, message, **fields)


MAIN = "main"
"""The name of the point of a submission that declares none."""


@dc.dataclass(frozen=True, slots=True)
class Point(Shaped):
    """One ranked point of a submission: its recomputed numbers and their statistics.

    `metrics` maps metric names (`hardware_flops`, `chips`, `peak_flops`, `tokens`, `model_flops`,
    `mfu`, `parameters`, `training_time_s`, `bpb`, `loss`, `steps`, ...) to numbers or None.
    `quality` and `cost` are the values that the track ranks by, None if they do not exist.
    `statistics` is None for a single run where the track asks for no test.
    """

    name: str
    quality: float | None
    cost: float | None
    metrics: Mapping[str, float | int | None]
    statistics: Summary | None = None
    rests_on: Mapping[str, tuple[Witness, ...]] = dc.field(default_factory=dict)
    """Quantity -> who states it: what each number rests on."""

    @property
    def summary(self) -> Summary:
        """The statistics; those of no run if the track asks for no test."""
        return self.statistics or _NO_RUNS

    def to_json(self) -> JsonObject:
        """The point as JSON values; a witness stands under its quantity."""
        rests_on = {
            quantity: to_json([_Statement(w.kind, w.source, w.value) for w in found])
            for quantity, found in self.rests_on.items()
        }
        return fields_to_json(self) | {"rests_on": rests_on}

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Self:
        """The inverse of `to_json`."""
        stated = read(_Stated, {"by": data.get("rests_on", {})})
        rests_on = {
            quantity: tuple(Witness(quantity, w.value, w.kind, w.source) for w in found)
            for quantity, found in stated.by.items()
        }
        return dc.replace(read_fields(cls, {**data, "rests_on": {}}), rests_on=rests_on)


_NO_RUNS = Summary()


@dc.dataclass(frozen=True, slots=True)
class _Statement:
    """A witness as it is written."""

    kind: WitnessKind
    source: str
    value: float | str


@dc.dataclass(frozen=True, slots=True)
class _Stated:
    by: Mapping[str, tuple[_Statement, ...]]


@dc.dataclass(frozen=True, slots=True)
class Verdict(Shaped):
    """The answer to one submission. Pure data: the same inputs give the same verdict.

    `runs` holds one allow-listed record a run (see `bot.model.run.RunRecord`); `note` is a
    sentence that qualifies the status ("withdrawn: ..."), or None; `accepted` lists
    rules that a maintainer accepted, with the reason.
    """

    submission: str
    track: str
    status: Status
    evidence: Grade
    findings: tuple[Finding, ...]
    points: tuple[Point, ...]
    runs: tuple[RunRecord, ...] = ()
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
    against: str | None = None
    """On a `baseline` track the id of the frozen baseline that its baseline arm ran."""

    @property
    def metrics(self) -> Mapping[str, float | int | None]:
        """The recomputed metrics of the first point; empty where nothing could be computed."""
        return self.points[0].metrics if self.points else {}

    @property
    def statistics(self) -> Summary | None:
        """The statistics of the first point."""
        return self.points[0].statistics if self.points else None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that block."""
        return tuple(f for f in self.findings if f.level is Level.ERROR)

    def to_json(self) -> JsonObject:
        """The verdict in the shape of `schemas/verdict.schema.json`."""
        reply = {self.reply.kind: self.reply.entry} if self.reply else {}
        return {name: to_json(getattr(self, name)) for name in _WRITTEN} | reply

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Self:
        """The inverse of `to_json`."""
        replies = ({"kind": kind, "entry": data[kind]} for kind in REPLIES if data.get(kind))
        return read_fields(cls, {**data, "reply": next(replies, None)})


_WRITTEN = (
    *("submission", "track", "status", "evidence", "title", "date", "note", "findings", "metrics"),
    *("points", "runs", "statistics", "accepted", "based_on", "people"),
    "against",
)


def without_series(verdict: Verdict) -> Verdict:
    """The verdict without the validation points of its runs, which only charts need."""
    return dc.replace(verdict, runs=tuple(dc.replace(run, val=()) for run in verdict.runs))


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
