"""`tracks/<id>.records.json`, the official record table, from a file to plain data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.model.official import OfficialRecord, OfficialTable

SCHEMA_VERSION = 1


def read_official(path: Path, track: str) -> OfficialTable:
    """The table beside a track file; empty where there is none. Raises ValueError in one sentence
    that names the file."""
    if not path.is_file():
        return OfficialTable()
    try:
        return _table(json.loads(path.read_text(encoding="utf-8")), track)
    except KeyError as error:
        raise ValueError(f"{path}: the key {error} is missing") from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from error


def _table(data: Mapping[str, Any], track: str) -> OfficialTable:
    if data["schema_version"] != SCHEMA_VERSION:
        raise ValueError(f"schema_version is {data['schema_version']}, we know {SCHEMA_VERSION}")
    records = sorted((_record(row, track) for row in data["records"]), key=lambda r: r.number)
    numbers = [r.number for r in records]
    twice = next((n for n in numbers if numbers.count(n) > 1), None)
    if twice is not None:
        raise ValueError(f"number {twice} stands twice; a re-timing belongs under `retimings`")
    source = data["source"]
    return OfficialTable(
        tuple(records), str(source["repository"]), str(source["file"]), str(source["commit"])
    )


def _record(row: Mapping[str, Any], track: str) -> OfficialRecord:
    name = row.get("submission")
    return OfficialRecord(
        number=int(row["number"]),
        cost=float(row["cost"]),
        date=row.get("date"),
        resolution=row.get("resolution"),
        submission=f"submissions/{track}/{name}" if name else None,
        contributors=tuple(str(c) for c in row.get("contributors", ())),
        pull_requests=tuple(int(n) for n in row.get("pull_requests", ())),
        log=row.get("log"),
        record=bool(row.get("record", True)),
        retimings=tuple(
            sorted((str(r["date"]), float(r["cost"])) for r in row.get("retimings", ()))
        ),
    )
