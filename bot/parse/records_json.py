"""The tables beside a track file, as plain data: the official records of `<id>.records.json`, and
what is claimed elsewhere, `<id>.claimed.json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from bot.model.official import ClaimedTable, OfficialRecord, OfficialTable
from bot.model.serial import read

SCHEMA_VERSION = 1
_Table = TypeVar("_Table")


def read_official(path: Path, track: str) -> OfficialTable:
    """The table beside a track file; empty where there is none. Raises ValueError in one sentence
    that names the file."""
    return _read(path, lambda data: _table(data, track)) or OfficialTable()


def read_claimed(path: Path) -> ClaimedTable:
    """The claimed rows beside a track file; empty where there are none. Raises ValueError in one
    sentence that names the file."""
    return _read(path, _claimed) or ClaimedTable()


def _read(path: Path, make: Callable[[Mapping[str, Any]], _Table]) -> _Table | None:
    if not path.is_file():
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema_version"] != SCHEMA_VERSION:
            raise ValueError(
                f"schema_version is {data['schema_version']}, we know {SCHEMA_VERSION}"
            )
        return make(data)
    except KeyError as error:
        raise ValueError(f"{path}: the key {error} is missing") from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from error


def _claimed(data: Mapping[str, Any]) -> ClaimedTable:
    source = data["source"]
    address = str(source["repository"])
    if "commit" in source:
        address = f"{address}/blob/{source['commit']}/{source['file']}"
    values = [{k: str(v) for k, v in row["values"].items()} for row in data["rows"]]
    rows = [{**row, "values": v} for row, v in zip(data["rows"], values, strict=True)]
    return read(ClaimedTable, {"columns": data["columns"], "rows": rows, "source": address})


def _table(data: Mapping[str, Any], track: str) -> OfficialTable:
    records = sorted((_record(row, track) for row in data["records"]), key=lambda r: r.number)
    numbers = [r.number for r in records]
    twice = next((n for n in numbers if numbers.count(n) > 1), None)
    if twice is not None:
        raise ValueError(f"record number {twice} appears twice; list a re-timing under `retimings`")
    source = data["source"]
    return OfficialTable(
        tuple(records), str(source["repository"]), str(source["file"]), str(source["commit"])
    )


def _record(row: Mapping[str, Any], track: str) -> OfficialRecord:
    name = row.get("submission")
    again = sorted([r["date"], r["cost"]] for r in row.get("retimings", ()))
    path = f"submissions/{track}/{name}" if name else None
    return read(OfficialRecord, {**row, "submission": path, "retimings": again})
