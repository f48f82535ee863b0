"""The history rows of an online run: all of them, or as few as are needed of a huge one.

W&B says how many rows it holds. What comes must be as many, each once: a server that repeats a
page or hands out a sample is found out, and that is no fault of the submitter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from bot.evidence.wandb.history import Row, all_names, flatten
from bot.model.track import Keys

# A row of 40 numbers is about 1 KB: at most some 200 MB go over the wire, and little is kept.
MAX_ROWS = 200_000
MAX_KEYS = 60


class NotComplete(Exception):
    """W&B did not hand out the whole history; the message is for people."""


class Rows(NamedTuple):
    """The rows, reduced to the track's keys, and problems found on the way."""

    rows: list[Row]
    problems: list[tuple[str, str]]


class Scanner(Protocol):
    """What reads rows: the client."""

    def scan(
        self, run: Any, keys: Sequence[str] | None, wanted: frozenset[str]
    ) -> Iterable[Mapping[str, Any]]:
        """The rows of a run, with at least the values of `wanted`."""


def read_rows(client: Scanner, run: Any, keys: Keys, present: frozenset[str]) -> Rows:
    """The rows of `run` with the track's keys. Raises NotComplete, and what the client raises."""
    names = (frozenset(all_names(keys)) | {"_step"}) & (present | {"_step"})
    # An object in a row lies under the first part of its keys.
    wanted = names | {name.partition(".")[0] for name in names}
    stated = int(run.historyLineCount or 0)
    if not present:
        return Rows([], [])
    if stated <= MAX_ROWS and len(present) <= MAX_KEYS:
        last = int(run.historyKeys.get("lastStep", -1))
        return _whole(client.scan(run, None, wanted), names, stated, last)
    counts = {key: _count(run.historyKeys["keys"][key]) for key in present & names}
    rows: list[Row] = []
    problems = []
    for group in _groups(keys, present):
        if max(counts.get(key, 0) for key in group) > MAX_ROWS:
            text = f"{group[0]} has {counts[group[0]]} points, only {MAX_ROWS} are read"
            problems.append(("metric-implausible", text))
            continue
        rows += [_reduced(row, names, True) for row in client.scan(run, group, wanted)]
    return Rows(_in_order(rows), problems)


def _whole(
    scanned: Iterable[Mapping[str, Any]], names: frozenset[str], stated: int, last: int
) -> Rows:
    """Every row once; identical repetitions are dropped, and the number must be right."""
    rows: list[Row] = []
    place: dict[Any, int] = {}
    nested = any("." in name for name in names)
    for read, row in enumerate(scanned):
        if read > 2 * MAX_ROWS:
            raise NotComplete("W&B sends more rows than it says it has")
        kept = _reduced(row, names, nested)
        step = row.get("_step")
        before = place.setdefault(step, len(rows))
        if before == len(rows) or rows[before] != kept:
            rows.append(kept)
    if stated > last + 1:
        text = f"the history has {stated} rows for {last + 1} steps: the run was rewound"
        return Rows(rows, [("clock-not-monotonic", f"{text}, or two runs share it")])
    if len(rows) < stated:
        text = f"W&B says that the history has {stated} rows and sent {len(rows)} different ones"
        raise NotComplete(text)
    return Rows(rows, [])


def _reduced(row: Mapping[str, Any], names: frozenset[str], nested: bool) -> Row:
    flat = flatten(row) if nested else row
    return {name: flat[name] for name in names if name in flat}


def _groups(keys: Keys, present: frozenset[str]) -> list[list[str]]:
    """Sets of keys to scan for: validation loss with its clock, and each other one alone."""

    def pick(*names: str) -> list[str]:
        return next(([n] for n in names if n in present), [])

    step = pick(*(name for name in keys.step if name != "_step"))
    clock = pick(*keys.time_s, *keys.time_ms)
    groups = []
    for name in (*pick(*keys.loss), *pick(*keys.bpb)):
        groups.append([name, *clock, *step, "_step"])
        groups.append([name, *step, "_step"])
    return groups or [[*clock, *step, "_step"]]


def _in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows of several scans merged on their step."""
    merged: dict[Any, dict[str, Any]] = {}
    for row in rows:
        merged.setdefault(row.get("_step"), {}).update(row)
    return [merged[step] for step in sorted(merged, key=lambda s: float(s or 0))]


def _count(key: Mapping[str, Any]) -> int:
    return sum(int(item.get("count", 0)) for item in key.get("typeCounts", ()))
