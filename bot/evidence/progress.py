"""A progress bar on standard error, where somebody is looking."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


class Progress:
    """Counts to `total`. `shown` None means: only on a terminal. Writes nothing otherwise."""

    def __init__(self, what: str, total: int, shown: bool | None = None) -> None:
        self._what = what
        self._total = total
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if self._shown and self._total > 1:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn())
            console = Console(stderr=True)
            more = (MofNCompleteColumn(), TimeElapsedColumn())
            self._bar = Bar(*columns, *more, console=console, transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._what, total=self._total)
        return self

    def advance(self) -> None:
        """One more is done."""
        if self._bar is not None:
            self._bar.advance(self._task)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
