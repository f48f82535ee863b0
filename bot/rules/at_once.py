"""Runs of one entry on the same GPUs at the same time, which cannot have had all of them each.

Part of the rule `duplicate-run`, in `bot.rules.copies`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from bot.model.case import Case
from bot.model.run import Run
from bot.model.values import parse_timestamp
from bot.rules.about import runs_of

_SHARE, _SLACK_S = 0.95, 2.0
"""Of two runs one after the other the clocks of the first may run on by a little."""


class AtOnce(NamedTuple):
    """Two runs that overlap: the earlier, the later, and how many seconds."""

    first: Run
    second: Run
    seconds: float


def at_once(case: Case) -> Iterator[AtOnce]:
    """Neighbours in time on the same GPUs of which the second begins before the first has ended."""
    placed: dict[float, list[tuple[float, float, Run]]] = {}
    for _, run in runs_of(case):
        boards, begin, length = _stated(run, "boards"), _begin(run), _length(run)
        if boards is not None and begin is not None and length is not None:
            placed.setdefault(boards, []).append((begin, length, run))
    for runs in placed.values():
        runs.sort(key=lambda item: item[0])
        for (begin, length, first), (later, _, second) in itertools.pairwise(runs):
            spare = begin + _SHARE * length - _SLACK_S - later
            if spare > 0 and first.file != second.file:
                yield AtOnce(first, second, begin + length - later)


def _stated(run: Run, quantity: str) -> float | None:
    values = (w.value for w in run.witnesses if w.quantity == quantity)
    return next((float(v) for v in values if isinstance(v, int | float)), None)


def _begin(run: Run) -> float | None:
    moment = parse_timestamp(run.created_at)
    return moment.timestamp() if moment is not None else _stated(run, "began_at")


def _length(run: Run) -> float | None:
    """How long a run lasted at the least: by the machine's clock, else by its own."""
    if "resumed" in run.client_marks:
        return None
    return run.runtime_s if run.runtime_s is not None else run.time_s
