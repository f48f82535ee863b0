"""`report.json`: what `verify` found, as `publish`, `remember` and `record` read it.

The file crosses from a job that reads strangers' data into one that may write, so reading it is
strict: a schema of known keys, types and sizes, and the pull request and commit that the event
names. Nothing in it is trusted to be harmless text; the templates show strings in code spans.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bot import files as disk
from bot.model.report import Report
from bot.parse.schemas import first_problem

MAX_BYTES = 4_000_000


class ReportError(ValueError):
    """The file is not a report, or not the one that is meant; the message says which."""


def write_report(report: Report, path: Path) -> None:
    """Write `report.json`, keys sorted, so that the same report is the same bytes."""
    text = json.dumps(report.to_json(), indent=1, sort_keys=True, allow_nan=False)
    disk.write(path, text + "\n")


def read_report(path: Path, *, repository: str, pr: int, head_sha: str | None = None) -> Report:
    """The report at `path`, refused unless it is the one for this pull request and commit."""
    if path.is_symlink() or not path.is_file():
        raise ReportError(f"{path.name}: not a regular file, expected the report of `verify`")
    if path.stat().st_size > MAX_BYTES:
        raise ReportError(f"{path.name}: larger than {MAX_BYTES} bytes, which no report has")
    report = parse_report(path.read_bytes())
    for name, found, meant in (
        ("repository", report.repository, repository),
        ("pr", report.pr, pr),
        ("head_sha", report.head_sha, head_sha or report.head_sha),
    ):
        if found != meant:
            raise ReportError(f"{path.name}: {name} is {found!r}, expected {meant!r}")
    return report


def parse_report(data: bytes) -> Report:
    """A report from bytes. Raises ReportError."""
    try:
        value = _strict(data)
        problem = first_problem(value, "pull")
        if problem:
            raise ValueError(problem)
        return Report.from_json(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise ReportError(f"not a report: {str(error)[:200]}") from error


def _strict(data: bytes) -> Any:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not a number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError("a key occurs twice")
        return dict(pairs)

    return json.loads(data.decode("utf-8"), parse_constant=refuse, object_pairs_hook=unique)
