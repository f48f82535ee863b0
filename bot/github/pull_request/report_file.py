"""`report.json`: what `verify` found, as `publish` and `record` read it.

The file crosses from a job that reads strangers' data into one that may write, so reading it is
strict: known keys, types and sizes, and the pull request and commit that the event names. Nothing
in it is trusted to be harmless text; the templates show strings in code spans.
"""

from __future__ import annotations

import dataclasses as dc
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot import files as disk
from bot.github.pull_request.classify import Kind
from bot.model.verdict import Verdict, verdict_from_json
from bot.registry import Status

SCHEMA_VERSION = 1
MAX_BYTES = 4_000_000
MAX_VERDICTS = 50
_SHA = re.compile(r"[0-9a-f]{40}")
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_PATH = re.compile(r"[^\x00-\x1f\x7f]{1,400}")
_TRACK = re.compile(r"[^\x00-\x1f\x7f]{0,64}")
"""Empty where a pull request could not be read so far."""
ORDER = list(Status)


class ReportError(ValueError):
    """The file is no report, or not the one that is meant; the message says which."""


@dc.dataclass(frozen=True, slots=True)
class Place:
    """Where a submission would stand. `text` is made by our ranking from numbers."""

    text: str
    record: bool = False
    on_frontier: bool = False
    first_entry: bool = False
    personal_best: bool = False


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

    @property
    def status(self) -> Status | None:
        """The worst status of the verdicts; None where there are none."""
        statuses = [v.status for v in self.verdicts]
        return min(statuses, key=ORDER.index) if statuses else None

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values; validation series stay out, they are in the snapshots."""
        data = {f.name: getattr(self, f.name) for f in dc.fields(self)}
        data["schema_version"] = SCHEMA_VERSION
        data["kind"] = str(self.kind)
        data["verdicts"] = [_slim(v.to_json()) for v in self.verdicts]
        data["places"] = {name: dc.asdict(place) for name, place in self.places.items()}
        data["changes"] = [dc.asdict(change) for change in self.changes]
        return data


def _slim(verdict: dict[str, Any]) -> dict[str, Any]:
    runs = [{k: v for k, v in run.items() if k != "val"} for run in verdict["runs"]]
    return {**verdict, "runs": runs}


def write_report(report: Report, path: Path) -> None:
    """Write `report.json`, keys sorted, so that the same report is the same bytes."""
    text = json.dumps(report.to_json(), indent=1, sort_keys=True, allow_nan=False)
    disk.write(path, text + "\n")


def read_report(path: Path, *, repository: str, pr: int, head_sha: str | None = None) -> Report:
    """The report at `path`, refused unless it is the one for this pull request and commit."""
    if path.is_symlink() or not path.is_file():
        raise ReportError(f"{path.name}: not a regular file, expected the report of `verify`")
    if path.stat().st_size > MAX_BYTES:
        raise ReportError(f"{path.name}: larger than {MAX_BYTES} bytes, no report is")
    report = parse_report(path.read_bytes())
    for name, found, meant in (
        ("repository", report.repository, repository),
        ("pr", report.pr, pr),
        ("head_sha", report.head_sha, head_sha or report.head_sha),
    ):
        if found != meant:
            raise ReportError(f"{path.name}: {name} is {found!r}, expected {meant!r}")
    return report


def _strict(data: bytes) -> Any:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not a number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError("a key occurs twice")
        return dict(pairs)

    return json.loads(data.decode("utf-8"), parse_constant=refuse, object_pairs_hook=unique)


def parse_report(data: bytes) -> Report:
    """A report from bytes. Raises ReportError."""
    try:
        value = _strict(data)
        if not isinstance(value, dict):
            raise ValueError("not an object")
        if value.pop("schema_version", None) != SCHEMA_VERSION:
            raise ValueError(f"schema_version is not {SCHEMA_VERSION}")
        return _report(value)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ReportError(f"not a report: {str(error)[:200]}") from error


def _report(value: dict[str, Any]) -> Report:
    unknown = set(value) - {f.name for f in dc.fields(Report)}
    if unknown:
        raise ValueError(f"unknown key {sorted(unknown)[0]!r}")
    verdicts = tuple(_verdict(v) for v in value["verdicts"])
    if len(verdicts) > MAX_VERDICTS:
        raise ValueError(f"more than {MAX_VERDICTS} verdicts")
    return Report(
        repository=_text(value["repository"], _REPOSITORY),
        pr=_number(value["pr"]),
        head_sha=_text(value["head_sha"], _SHA),
        base_sha=_text(value["base_sha"], _SHA),
        kind=Kind(value["kind"]),
        author=_text(value["author"], _PATH),
        verdicts=verdicts,
        places={_text(k, _PATH): Place(**_flat(p)) for k, p in value.get("places", {}).items()},
        changes=tuple(Change(**_flat(c)) for c in value.get("changes", ())),
        unchanged=_number(value.get("unchanged", 0)),
        outside=tuple(_text(p, _PATH) for p in value.get("outside", ())),
        problems=tuple(_text(p, None) for p in value.get("problems", ())),
        advice=tuple(_text(p, None) for p in value.get("advice", ())),
    )


def _verdict(value: Any) -> Verdict:
    verdict = verdict_from_json(value)
    _text(verdict.submission, _PATH)
    _text(verdict.track, _TRACK)
    for finding in verdict.findings:
        _text(finding.rule, re.compile(r"[a-z0-9-]{1,64}"))
        _text(finding.message, None)
        if finding.file is not None:
            _text(finding.file, None)
        if finding.line is not None:
            _number(finding.line)
    return verdict


def _text(value: Any, pattern: re.Pattern[str] | None) -> str:
    if not isinstance(value, str) or (pattern and not pattern.fullmatch(value)):
        raise ValueError(f"{str(value)[:60]!r} is not the text expected here")
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise ValueError(f"{str(value)[:60]!r} is not a count")
    return value


def _flat(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(v, str | bool) for v in value.values()):
        raise ValueError("a place or a change holds something other than text")
    return value
