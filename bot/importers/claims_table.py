"""`speedrun import table FILE --track ID`: the rows of a Markdown table, as claimed.

For a competition of which nothing but a table is public. What is kept of a row is its number, day,
people and the cells that begin with a number, as they are written; descriptions stay out. The rows
go to `tracks/ID.claimed.json`: the board shows them in the table's order, apart from the entries
that rank, and none of them is a record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bot.importers import Origin, SourceError, to_json
from bot.importers.records_table import MAX_README_BYTES, day_of, people_of

SCHEMA = "https://speedrun-bot.github.io/schemas/claimed.schema.json"
_VALUE = re.compile(r"\\?~?\s*[<>]?\s*\d[^|]*")
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*\s*$")
_BAR = re.compile(r"(?<!\\)\|")
_NUMBER, _PEOPLE, _DAY = ("#", "number", "rank"), ("contributors", "author", "authors"), ("date",)
_MOST = 40
"""Characters of a value; a longer cell is a sentence."""

Row = dict[str, str]


def read_claims(file: Path, heading: str | None, origin: Origin, path: str) -> bytes:
    """The file `ID.claimed.json` for the table of `file` under `heading`, or its only one that
    numbers its rows. Raises SourceError."""
    if not file.is_file() or file.stat().st_size > MAX_README_BYTES:
        raise SourceError(f"{file} is not a file of at most {MAX_README_BYTES:,} bytes")
    rows = _chosen(list(_tables(file.read_text(encoding="utf-8", errors="replace"))), heading, file)
    columns = [name for name in rows[0] if _is_value(name, [row[name] for row in rows])]
    if not columns:
        raise SourceError(f"no column of the table in {file} holds numbers")
    source = {"repository": origin.url, "file": path, "commit": origin.commit}
    return to_json(
        {
            "$schema": SCHEMA,
            "schema_version": 1,
            "source": {key: value for key, value in source.items() if value},
            "columns": columns,
            "rows": [_row(row, columns) for row in rows],
        }
    )


def _chosen(tables: Sequence[tuple[str, list[Row]]], heading: str | None, file: Path) -> list[Row]:
    """The one table that is meant."""
    fitting = [(h, r) for h, r in tables if r and _key(r[0], _NUMBER) is not None]
    if heading is not None:
        words = heading.lower()
        within = [(h, r) for h, r in fitting if words in h.lower()]
        fitting = [(h, r) for h, r in within if h.lower().startswith(words)] or within
    if len(fitting) == 1:
        return fitting[0][1]
    named = ", ".join(f'"{h}"' for h, _ in fitting[:8] or tables[:8]) or "none"
    wanted = "a table with a column #" if heading is None else f'a table with # under "{heading}"'
    raise SourceError(
        f"{file} has {len(fitting)} tables like that, expected one: {wanted}; name its heading "
        f"with --heading; headings: {named}"
    )


def _tables(text: str) -> Iterator[tuple[str, list[Row]]]:
    """(heading above it, rows) of every Markdown table; rows may lack the outer bars."""
    heading, head, before = "", None, ""
    rows: list[Row] = []
    for line in [*text.splitlines(), ""]:
        title = _HEADING.match(line)
        cells = [cell.strip() for cell in _BAR.split(line.strip().strip("|"))]
        if title:
            heading = title[1]
        if len(cells) > 1 and set("".join(cells)) <= set("-: ") and "-" in line:
            head = [cell.strip() for cell in _BAR.split(before.strip().strip("|"))]
        elif head is not None and len(cells) >= len(head) - 1 and len(cells) > 1:
            rows.append(dict(zip(head, [*cells, ""], strict=False)))
        elif head is not None:
            yield heading, rows
            head, rows = None, []
        before = line


def _key(row: Row, names: Sequence[str]) -> str | None:
    return next((name for name in row if name.lower() in names), None)


def _is_value(name: str, cells: Sequence[str]) -> bool:
    """Whether most cells of a column are short and begin with a number, so that it is one of
    measured values and neither a sentence nor a commit."""
    if name.lower() in (*_NUMBER, *_DAY, *_PEOPLE):
        return False
    fits = [_VALUE.fullmatch(cell) is not None and len(cell) <= _MOST for cell in cells]
    commits = [re.fullmatch(r"[0-9a-f]{7,40}", cell) is not None for cell in cells]
    return sum(fits) * 2 > len(fits) and not any(commits)


def _row(row: Row, columns: Sequence[str]) -> dict[str, Any]:
    number = re.match(r"\d{1,5}", row[_key(row, _NUMBER) or ""])
    values = {name: row[name].replace("\\", "") for name in columns if _VALUE.fullmatch(row[name])}
    people = [person["name"] for person in people_of(row.get(_key(row, _PEOPLE) or "", ""))]
    facts = {
        "number": int(number[0]) if number else None,
        "values": values,
        "date": day_of(row.get(_key(row, _DAY) or "", "")),
        "contributors": people,
    }
    return {key: value for key, value in facts.items() if value not in (None, [])}
