"""A progress line on standard error for what takes long: counts and the time left.

Drawn after two seconds and on a terminal only; nothing is written otherwise.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, TextIO, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

PATIENCE_S = 2.0
Item = TypeVar("Item")


class Progress:
    """Counts to `total`. `shown` None means: only on a terminal."""

    def __init__(
        self,
        what: str,
        total: int,
        shown: bool | None = None,
        *,
        after_s: float = PATIENCE_S,
        out: TextIO | None = None,
    ) -> None:
        self._what, self._total, self._done = what, total, 0
        self._out = out or sys.stderr
        self._bar: Bar | None = None
        self._lock = threading.Lock()
        wanted = self._out.isatty() if shown is None else shown
        self._timer = threading.Timer(after_s, self._draw) if wanted and total > 1 else None

    def __enter__(self) -> Progress:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def _draw(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        console = Console(file=self._out, force_terminal=True)
        with self._lock:
            if self._timer is None:
                return
            self._bar = Bar(*columns, TimeRemainingColumn(), console=console, transient=True)
            self._bar.add_task(self._what, total=self._total, completed=self._done)
            self._bar.start()

    def advance(self, count: int = 1) -> None:
        """So many more are done."""
        with self._lock:
            self._done += count
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], completed=self._done)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._bar is not None:
                self._bar.stop()


def counted(what: str, items: Sequence[Item]) -> Iterator[Item]:
    """The items one by one, with a progress line beside them."""
    with Progress(what, len(items)) as progress:
        for item in items:
            yield item
            progress.advance()
