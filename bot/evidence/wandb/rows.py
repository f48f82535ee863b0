"""The history rows of an online run: all of them, or as few as are needed of a huge one.

W&B says how many rows it holds, and how many of each key. What comes must be as many, each once: a
server that repeats a page, hands out a sample or leaves a part out is found out, and that is no
fault of the submitter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from bot.evidence.wandb.history import RUNTIME, Row, all_names, flatten
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


def keys_of(run: Any) -> Mapping[str, Any]:
    """The keys of a listed run's history with what W&B says of each; {} where it says nothing."""
    stated = run.historyKeys if isinstance(run.historyKeys, Mapping) else {}
    keys = stated.get("keys")
    return keys if isinstance(keys, Mapping) else {}


def last_of(run: Any) -> int:
    """The last step of a listed run's history, -1 where W&B says nothing."""
    stated = run.historyKeys if isinstance(run.historyKeys, Mapping) else {}
    last = stated.get("lastStep")
    return max(int(last), -1) if isinstance(last, int | float) else -1


def read_rows(client: Scanner, run: Any, keys: Keys, also: frozenset[str] = frozenset()) -> Rows:
    """The rows of `run` with the track's keys, and those of `also` where all are read at once.

    Raises NotComplete, and what the client raises.
    """
    present = frozenset(keys_of(run))
    names = (frozenset(all_names(keys)) | {"_step", RUNTIME} | also) & (present | {"_step"})
    # An object in a row lies under the first part of its keys.
    wanted = names | {name.partition(".")[0] for name in names}
    stated = int(run.historyLineCount or 0)
    if not present:
        if stated:
            raise NotComplete(f"W&B says that the history has {stated} rows and names no key")
        return Rows([], [])
    if stated <= MAX_ROWS and len(present) <= MAX_KEYS:
        return _whole(client.scan(run, None, wanted), names, stated, last_of(run))
    rows: list[Row] = []
    problems: list[tuple[str, str]] = []
    for group in _groups(keys, present):
        rows += _scanned(client, run, group, names, problems)
    return Rows(_in_order(rows), problems)


def _scanned(
    client: Scanner, run: Any, group: list[str], names: frozenset[str],
    problems: list[tuple[str, str]],
) -> list[Row]:  # fmt: skip
    """The rows that have every key of a group. Those of its first key alone must be all there are.

    An exported history has rows with nulls besides, which are left out.
    """
    first, counts = group[0], {key: _count(keys_of(run).get(key)) for key in group}
    if max(counts.values()) > MAX_ROWS:
        text = f"{first} has {counts[first]} points, only {MAX_ROWS} are read"
        problems.append(("metric-implausible", text))
        return []
    wanted = frozenset(group) | {name.partition(".")[0] for name in group}
    found = (_reduced(row, names, True) for row in client.scan(run, group, wanted))
    rows = [row for row in found if all(row.get(key) is not None for key in group)]
    steps = {row.get("_step") for row in rows}
    if group == [first, "_step"] and len(steps) < counts[first]:
        text = f"W&B says that {first} has {counts[first]} points and sent {len(steps)} of them"
        raise NotComplete(text)
    return rows


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
    """Sets of keys to scan for: each quality alone, which must be complete, and with its clock."""

    def pick(*names: str) -> list[str]:
        return next(([n] for n in names if n in present), [])

    step = pick(*(name for name in keys.step if name != "_step"))
    clock = pick(*keys.time_s, *keys.time_ms)
    runtime = [RUNTIME] if RUNTIME in present else []
    groups = []
    for name in (*pick(*keys.loss), *pick(*keys.bpb)):
        groups.append([name, "_step"])
        for more in (step, clock, runtime):
            if more:
                groups.append([name, *more, "_step"])
    return groups or [[*clock, *step, "_step"]]


def _in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows of several scans merged on their step."""
    merged: dict[Any, dict[str, Any]] = {}
    for row in rows:
        merged.setdefault(row.get("_step"), {}).update(row)
    return [merged[step] for step in sorted(merged, key=lambda s: float(s or 0))]


def _count(key: object) -> int:
    """How many points W&B says that a key has; 0 where it says nothing."""
    types = key.get("typeCounts") if isinstance(key, Mapping) else None
    counts = [item.get("count") for item in types or () if isinstance(item, Mapping)]
    return sum(int(n) for n in counts if isinstance(n, int | float))
