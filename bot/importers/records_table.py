"""The record tables of a modded-nanogpt README: number, time, date, log, people of each record.

    | # | Record time | Description | Date | Log | Contributors |

A table is one whose head names a date and a log; rows may lack the outer bars. Descriptions are
not read.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

MAX_README_BYTES = 5_000_000
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_TIME = re.compile(r"(\d+(?:\.(\d+))?)\s*(minute|min|second|sec|hour)")
_STEPS = re.compile(r"(\d{2,7})")
_EVIDENCE = re.compile(r"(\d+\.\d+)\s*\(n=(\d{1,5})\)")
_NUMBER = re.compile(r"\s*#?\s*(\d{1,5})\s*$")
_PERSON = re.compile(
    r"\[@([\w.-]+)\]\(https?://(github\.com/[\w-]+|[^()\s]*)\)|(?<![\w/@.])@([\w-]+(?:\.[\w-]+)*)"
)
_PULL = re.compile(r"github\.com/[\w.-]+/[\w.-]+/pull/(\d{1,7})")
_AGAIN = re.compile(r"re-?timing|not a new record|with new timing", re.IGNORECASE)
_SECONDS = {"minute": 60.0, "min": 60.0, "second": 1.0, "sec": 1.0, "hour": 3600.0}


def read_tables(readme: Path, base: PurePosixPath) -> Mapping[str, Mapping[str, Any]]:
    """Path of a log or record folder -> facts, from one README; {} if there is none.

    `base` is the README's folder in the repository: links are relative to it. Facts are those of a
    groups file: number or retimes, date, time_s with time_resolution_s, or steps with claims;
    contributors as {"name"} and, where the table links it, {"github"}; pull_requests.
    """
    return {path: row.facts for row in read_rows(readme, base) for path in row.paths}


class Row(NamedTuple):
    """One row: its facts, the paths of its logs in the repository, and the table it stands in."""

    facts: Mapping[str, Any]
    paths: tuple[str, ...]
    table: int


def read_rows(readme: Path, base: PurePosixPath) -> Iterator[Row]:
    """Every row of a README's record tables; none if there is no README of a usable size."""
    if not readme.is_file() or readme.is_symlink() or readme.stat().st_size > MAX_README_BYTES:
        return
    text = readme.read_text(encoding="utf-8", errors="replace")
    for table, row in _rows(text):
        links = (k for k in _LINK.findall(row["log"]) if "://" not in k)
        joined = (_joined(base, link.partition("#")[0]) for link in links)
        yield Row(_facts(row), tuple(path for path in joined if path is not None), table)


def _rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of every table that names a date and a log, by the words of its head, with the line
    of that head."""
    head: list[str] | None = None
    began = 0
    for at_line, line in enumerate(text.splitlines()):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        names = [cell.lower() for cell in cells]
        if "date" in names and "log" in names:
            head, began = names, at_line
        elif head is None or len(cells) < len(head) - 1:
            head = head if set(line.strip()) <= set("|-: ") and line.strip() else None
        elif not set("".join(cells)) <= set("-: "):
            # Bars inside a description would shift the rest: the last columns count from the end.
            extra = len(cells) - len(head)
            at = head.index("date") if extra > 0 else len(head)
            merged = cells[:at] + cells[at + extra :] if extra > 0 else cells
            yield began, dict(zip(head, merged, strict=False))


def _joined(base: PurePosixPath, link: str) -> str | None:
    """`link` from `base` on, None if it leaves the repository."""
    parts: list[str] = []
    for part in (base / link).parts:
        if part == ".." and not parts or part == "/":
            return None
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _facts(row: Mapping[str, str]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    number = _NUMBER.match(row.get("#", ""))
    again = _AGAIN.search(" ".join(row.values()))
    if number:
        facts["retimes" if again else "number"] = int(number[1])
    date = day_of(row["date"])
    if date is not None:
        facts["date"] = date
    steps = next((row[name] for name in row if name.startswith("steps")), None)
    if steps is not None:
        facts |= _step_facts(steps, row.get("evidence", ""))
    elif time := _TIME.search(row.get("record time", "")):
        unit = _SECONDS[time[3]]
        facts["time_s"] = round(float(time[1]) * unit, 6)
        facts["time_resolution_s"] = round(0.5 * 10.0 ** -len(time[2] or "") * unit, 6)
    people = [] if again else list(people_of(row.get("contributors", "")))
    if people:
        facts["contributors"] = people
    pulls = [int(n) for n in dict.fromkeys(_PULL.findall(" ".join(row.values())))]
    return facts | ({"pull_requests": pulls} if pulls else {})


def _step_facts(steps: str, evidence: str) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if match := _STEPS.search(steps):
        facts["steps"] = int(match[1])
    if match := _EVIDENCE.search(evidence):
        facts["claims"] = {"loss": {"mean": float(match[1]), "n": int(match[2])}}
    return facts


def day_of(text: str) -> str | None:
    """The day that a cell states, as YYYY-MM-DD; None if it states none."""
    for form in ("%m/%d/%y", "%Y/%m/%d", "%Y-%m-%d", "%m/%d/%Y", "%b %d %Y", "%d %b %Y"):
        try:
            return dt.datetime.strptime(text.strip(), form).date().isoformat()
        except ValueError:
            continue
    return None


def people_of(text: str) -> Iterator[dict[str, str]]:
    """Everybody named; a login is only what the table itself links to."""
    for linked, address, bare in _PERSON.findall(text):
        person = {"name": linked or bare}
        if address.startswith("github.com/"):
            person["github"] = address.removeprefix("github.com/")
        yield person
