"""The official record table of a competition that began elsewhere, as facts.

`tracks/<id>.records.json` lists every record that the maintainers recognised, with the time that
they measured, whether or not its evidence is on file here. Numbers in it decide where clocks of
different machines cannot be compared.

`tracks/<id>.claimed.json` lists the rows of a table without evidence: they are shown as claimed, in
the table's order, and none of them ranks or is a record.
"""

from __future__ import annotations

import dataclasses as dc
import functools as ft
from collections.abc import Mapping


@dc.dataclass(frozen=True, slots=True)
class OfficialRecord:
    """One row of the table.

    `record` is False for a result that the table lists without calling it a record; `submission`
    is the path of the entry on file, None where there is none; `retimings` are (date, cost).
    """

    number: int
    cost: float
    date: str | None = None
    resolution: float | None = None
    submission: str | None = None
    contributors: tuple[str, ...] = ()
    pull_requests: tuple[int, ...] = ()
    log: str | None = None
    record: bool = True
    retimings: tuple[tuple[str, float], ...] = ()

    @property
    def shown_cost(self) -> float:
        """The cost after the latest re-timing."""
        return self.retimings[-1][1] if self.retimings else self.cost


@dc.dataclass(frozen=True)
class OfficialTable:
    """All rows in order of number, and where they come from."""

    records: tuple[OfficialRecord, ...] = ()
    repository: str = ""
    file: str = ""
    commit: str = ""

    @ft.cached_property
    def by_submission(self) -> Mapping[str, OfficialRecord]:
        """The rows whose entry is on file."""
        return {r.submission: r for r in self.records if r.submission is not None}

    @property
    def source(self) -> str:
        """The address of the table at its commit."""
        return f"{self.repository}/blob/{self.commit}/{self.file}"


@dc.dataclass(frozen=True, slots=True)
class ClaimedRow:
    """One row of a table, its values as written."""

    values: Mapping[str, str]
    number: int | None = None
    date: str | None = None
    contributors: tuple[str, ...] = ()


@dc.dataclass(frozen=True, slots=True)
class ClaimedTable:
    """Results that are claimed elsewhere, in the order of their table; `source` is its address."""

    columns: tuple[str, ...] = ()
    rows: tuple[ClaimedRow, ...] = ()
    source: str = ""
