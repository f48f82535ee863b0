"""The record tables of a source as `tracks/ID.records.json`: every row, on file or not, as facts.

A README may hold several tables; a table is that of the track whose logs its rows link to. Rows are
taken as `bot.importers.records_table` reads them: number, cost, date, people, pull requests.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from bot.importers import Imported, Origin
from bot.importers.records_table import Row, read_rows
from bot.parse.records_json import SCHEMA_VERSION

SCHEMA = "https://speedrun-bot.github.io/schemas/records.schema.json"


def official_tables(
    readmes: Iterable[tuple[Path, PurePosixPath]],
    tracks: Mapping[str, str],
    made: Sequence[Imported],
    origin: Origin,
) -> Iterator[tuple[str, bytes]]:
    """(track, file) for each table of a README that names numbers and costs.

    `readmes` are files with their folders in the source, `tracks` maps a folder of the source's
    records to our track. Without a commit there is none: facts are of a table at a commit.
    """
    if origin.commit is None:
        return
    named = _named(made)
    for path, base in readmes:
        tables: dict[int, list[Row]] = {}
        for row in read_rows(path, base):
            tables.setdefault(row.table, []).append(row)
        for rows in tables.values():
            track = _track(rows, tracks)
            records = list(_records(rows, named.get(track or "", {})))
            if track is not None and records:
                source = {"repository": origin.url, "file": str(base / "README.md")}
                source["commit"] = origin.commit
                data = {"$schema": SCHEMA, "schema_version": SCHEMA_VERSION}
                whole = {**data, "source": source, "records": records}
                yield track, (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode()


def _named(made: Sequence[Imported]) -> Mapping[str, Mapping[int, str]]:
    """Track -> number in its table -> name of the submission that was made of it."""
    found: dict[str, dict[int, str]] = {}
    for item in made:
        track, _, name = item.path.partition("/")
        number = json.loads(item.files["submission.json"])["imported"].get("number")
        if isinstance(number, int):
            found.setdefault(track, {})[number] = name
    return found


def _track(rows: Sequence[Row], tracks: Mapping[str, str]) -> str | None:
    """The track that most of the rows' logs belong to."""
    counted = Counter(
        track
        for row in rows
        for path in row.paths
        for folder, track in tracks.items()
        if folder in PurePosixPath(path).parts
    )
    return counted.most_common(1)[0][0] if counted else None


def _records(rows: Sequence[Row], named: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    """The rows in order of number, each number once; later timings stand with their record."""
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        facts = row.facts
        cost, number = facts.get("time_s", facts.get("steps")), facts.get("number")
        if cost and isinstance(number, int) and number not in found:
            found[number] = _record(row, cost, named.get(number))
    for row in rows:
        first = found.get(row.facts.get("retimes", 0))
        cost, date = row.facts.get("time_s"), row.facts.get("date")
        if first is not None and cost and date:
            first.setdefault("retimings", []).append({"date": date, "cost": cost})
    best: float | None = None
    for number in sorted(found):
        record = found[number]
        counted = "resolution" not in record
        if counted and best is not None and record["cost"] >= best:
            # A table of steps lists results too that beat nothing.
            record["record"] = False
        best = record["cost"] if best is None else min(best, record["cost"])
        yield record


def _record(row: Row, cost: float, submission: str | None) -> dict[str, Any]:
    facts = row.facts
    people = [person["name"] for person in facts.get("contributors", ())]
    stated = {
        "number": facts["number"],
        "date": facts.get("date"),
        "cost": cost,
        "resolution": facts.get("time_resolution_s"),
        "contributors": people,
        "pull_requests": facts.get("pull_requests"),
        "log": row.paths[0] if row.paths else None,
        "submission": submission,
    }
    return {k: v for k, v in stated.items() if v is not None and v != []}
