"""Tables: a CSV file with a column for the step and one for a loss, such as loggers write."""

from __future__ import annotations

import csv
import dataclasses as dc
import re
from collections.abc import Iterator, Sequence

from bot.evidence.log import names as N
from bot.evidence.log.lines import no_number
from bot.evidence.log.names import Names, normal, number
from bot.evidence.log.problems import LogStep

_SEARCHED = 50
_MAX_LINE = 4000
_HEADING = re.compile(r"[^\W\d][^=:]{0,79}")


@dc.dataclass(slots=True)
class Row:
    """A row of the table: a step, or why it is not one. `number` is its line, from 1."""

    number: int
    step: LogStep | None = None
    cause: str = ""
    names: tuple[str, ...] = ()


def table_of(lines: Sequence[str], names: Names) -> Iterator[Row]:
    """The rows of a table whose head names a step and a loss; nothing where there is none."""
    for start, line in enumerate(lines[:_SEARCHED]):
        for mark in (",", "\t", ";", "|", None):
            head = _cells(line, mark) if len(line) <= _MAX_LINE else []
            if any("=" in cell for cell in head):
                continue  # values with their names are not the head of a table
            # W&B's export writes `run name - val_loss`.
            columns = [normal(cell.rpartition(" - ")[2]) for cell in head]
            meanings = [names.meaning(column) for column in columns]
            if N.EPOCH in meanings and N.LOSS in meanings and N.STEP not in meanings:
                yield Row(start + 1, cause="no-step")
                return
            if N.STEP in meanings and len(columns) > 1:
                if {N.LOSS, N.TRAIN, N.BPB} & set(meanings):
                    yield from _rows(lines, start, mark, columns, names)
                    return
                if any("loss" in c or c in ("value", "val", "valid") for c in columns):
                    yield Row(start + 1, cause="keys", names=tuple(columns))
                    return
    yield from _unknown(lines)


def _unknown(lines: Sequence[str]) -> Iterator[Row]:
    """A first line of headings over rows of numbers, none of them a step or a loss by its name."""
    for mark in (",", "\t", ";", "|"):
        head, *rows = ([_cells(line, mark) for line in lines[:4] if len(line) <= _MAX_LINE]) or [[]]
        alike = [row for row in rows if len(row) == len(head)]
        if len(head) < 2 or len(alike) < 2 or not all(_HEADING.fullmatch(cell) for cell in head):
            continue
        if all(
            cell == "" or number(cell.replace(",", ".")) is not None for r in alike for cell in r
        ):
            yield Row(1, cause="headings", names=tuple(head))
            return


def _cells(line: str, mark: str | None) -> list[str]:
    if mark is None:
        return line.split()
    if mark == "|":
        line = line.strip().strip("|")
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=mark), [])]
    except csv.Error:
        return []


def _rows(
    lines: Sequence[str], start: int, mark: str | None, columns: Sequence[str], names: Names
) -> Iterator[Row]:
    for number_, line in enumerate(lines[start + 1 :], start + 2):
        cells = _cells(line, mark) if len(line) <= _MAX_LINE else []
        if len(cells) == len(columns):
            row = _row(number_, dict(zip(columns, cells, strict=True)), names)
            if row is not None:
                yield row


def _row(line: int, cells: dict[str, str], names: Names) -> Row | None:
    values: dict[str, float] = {}
    step: float | None = None
    time, why, text = None, "", ""
    for name, cell in cells.items():
        meaning = names.meaning(name)
        value = number(cell)
        if meaning == N.STEP and step is None:
            step = value
        elif meaning == N.CLOCK and cell:
            time, told = names.clock(name, cell)
            why = "" if told is None else f"`{name}: {cell[:40]}` {told}"
        elif meaning == N.LOSS and cell and value is None:
            return Row(line, cause=no_number(cell))
        elif value is not None:
            values.setdefault(meaning or name, value)
            text = cell if meaning == N.LOSS else text
    if step is None or step != step or step < 0 or step != int(step):
        return None
    made = LogStep(int(step), None, time, values, text, False)
    made.clock_why = why
    return Row(line, made) if values or time is not None else None
