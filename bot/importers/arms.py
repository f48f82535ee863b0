"""Which arm of a comparison a log belongs to: read from its subfolder, its file name, its runs.

Words in the path decide if they are clear (`baseline/`, `comparison_...`, `this_pr/`). Where a
folder holds several kinds of runs that no word tells apart, they are grouped by hardware and
length, the fastest group is taken for the record, and the doubt is reported.
"""

from __future__ import annotations

import dataclasses as dc
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from bot.model.run import Run

Arms = dict[str, tuple["LogFile", ...]]
Reasons = list[tuple[str, str]]

BASELINE = re.compile(
    r"(?:^|[^a-z])(?:baseline|comparison|control|original|prior|previous|reference)(?:[^a-z]|$)"
)
CANDIDATE = re.compile(
    r"(?:^|[^a-z])(?:this_pr|claimed|candidate|submission|combined|runs|record|new)(?:[^a-z]|$)"
)
OTHER = re.compile(
    r"(?:^|[^a-z])(?:ablations?|probes?|extra|extras|tuning|sweep|failed|debug|stdout|old)(?:[^a-z]|$)"
)
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\b(?=[a-z]*\d)[0-9a-f]{5,}\b|\d+")


@dc.dataclass(frozen=True, slots=True)
class LogFile:
    """One log of a record: its path inside the record's folder, its bytes, and its runs."""

    path: str
    data: bytes
    runs: tuple[Run, ...]

    @property
    def series(self) -> tuple[Any, ...]:
        """What makes two logs the same: the validation series of their runs."""
        return tuple(run.validation for run in self.runs)

    @property
    def hardware(self) -> tuple[str | None, int | None]:
        """Device and count of the first run."""
        return self.runs[0].hardware.device, self.runs[0].hardware.count

    @property
    def kind(self) -> tuple[Any, ...]:
        """What tells groups of one folder apart: devices, stated length, the words of the name."""
        words = _ID.sub("", PurePosixPath(self.path).stem.lower())
        return self.runs[0].hardware.count, self.runs[0].total_steps, words

    @property
    def cost(self) -> float:
        """Seconds at the last validation, steps if there is no clock."""
        costs = [float(run.step or 0) if run.time_s is None else run.time_s for run in self.runs]
        return sum(costs) / len(costs)


def sort_into_arms(
    logs: Sequence[LogFile], groups: Mapping[str, Any] | None, shown: str | None = None
) -> tuple[Arms, Reasons, list[str]]:
    """The logs of the candidate and the baseline, what is left out and why, and doubts.

    `groups` is the record's entry in a groups file: {"claimed": {"logs": [...]}, ...}; None or
    empty leaves it to the names. `shown` is the log that the official table links to, which is
    the record's, where there is such a table.
    """
    left_out: Reasons = []
    doubts: list[str] = []
    kept = _distinct(logs, left_out)
    if groups:
        arms = _by_groups(kept, groups, left_out, doubts)
    else:
        arms = _by_names(kept, shown, left_out, doubts)
    return arms, left_out, doubts


def _distinct(logs: Iterable[LogFile], left_out: Reasons) -> list[LogFile]:
    """Logs without second copies of one run, such as a console capture beside the full log.

    The copy with the deeper facts stays: one that names its hardware, then the shorter path.
    """
    ordered = sorted(logs, key=lambda g: (len(g.runs), g.hardware[0] is None, len(g.path), g.path))
    seen: dict[Any, str] = {}
    kept: list[LogFile] = []
    for log in ordered:
        copies = [seen[s] for s in log.series if s in seen]
        if len(copies) == len(log.series):
            left_out.append((log.path, f"its runs are those of {copies[0]}"))
            continue
        kept.append(log)
        for series in log.series:
            seen.setdefault(series, log.path)
    return sorted(kept, key=lambda g: g.path)


def _stem(path: str) -> str:
    return str(PurePosixPath(path).with_suffix(""))


def _by_groups(
    logs: Sequence[LogFile],
    groups: Mapping[str, Any],
    left_out: Reasons,
    doubts: list[str],
) -> Arms:
    """The arms that a groups file names. A name is a path, or a file name alone."""
    arm_of: dict[str, str] = {}
    for name, group in groups.items():
        arm = {"claimed": "candidate", "candidate": "candidate", "baseline": "baseline"}.get(name)
        names = group.get("logs", ()) if isinstance(group, Mapping) else ()
        arm_of |= {_stem(str(log)): arm or "" for log in names}
    chosen: dict[str, list[LogFile]] = {"candidate": [], "baseline": []}
    found = set()
    for log in logs:
        stem = _stem(log.path)
        key = stem if stem in arm_of else PurePosixPath(stem).name
        found.add(key)
        arm = arm_of.get(key)
        if arm:
            chosen[arm].append(log)
        else:
            left_out.append((log.path, "the groups file names no arm for it"))
    missing = sorted(key for key, arm in arm_of.items() if arm and key not in found)
    if missing:
        doubts.append(f"{len(missing)} logs of the groups file are not there, such as {missing[0]}")
    if not any(name in ("claimed", "candidate") for name in groups):
        named = ", ".join(f'"{name}"' for name in groups)
        doubts.append(f'the groups file has no "claimed" for it, only {named}')
    return {arm: tuple(items) for arm, items in chosen.items()}


def _by_names(
    logs: Sequence[LogFile], shown: str | None, left_out: Reasons, doubts: list[str]
) -> Arms:
    chosen: dict[str, list[LogFile]] = {"candidate": [], "baseline": []}
    unnamed: list[LogFile] = []
    for log in logs:
        arm = _arm_in(log.path)
        if arm == "other":
            left_out.append((log.path, "its folder or name says that it is not the record's"))
        elif arm is None:
            unnamed.append(log)
        else:
            chosen[arm].append(log)
    if not chosen["candidate"] and unnamed:
        chosen["candidate"] = _fastest(unnamed, shown, left_out, doubts)
    elif unnamed:
        why = "another folder of the record is named as its arm"
        left_out += [(log.path, why) for log in unnamed]
        doubts.append(
            f"{len(unnamed)} logs are in folders without a known name, such as {unnamed[0].path}"
        )
    chosen["baseline"] = _same_machine(chosen["baseline"], chosen["candidate"], left_out)
    return {arm: tuple(items) for arm, items in chosen.items()}


def _arm_in(path: str) -> str | None:
    """`candidate`, `baseline`, `other`, or None where no word of the path says; folders first."""
    *folders, file = _stem(path).lower().split("/")
    for part in (*folders, file):
        for arm, words in (("other", OTHER), ("baseline", BASELINE), ("candidate", CANDIDATE)):
            # `split_qk0-1480` and `baseline0-1480`: a number may follow the word.
            if words.search(re.sub(r"\d+", "-", part)):
                return arm
    return None


def _fastest(
    logs: Sequence[LogFile], shown: str | None, left_out: Reasons, doubts: list[str]
) -> list[LogFile]:
    """The group of unnamed logs that is taken for the record: the one of most devices, in the
    subfolder that the official table links to, of least cost."""
    kinds = _kinds(logs)
    if len(kinds) == 1:
        return list(logs)
    # A table often links to any log of the folder: only a subfolder that it names says something.
    hint = _stem(shown) if shown is not None and "/" in shown else None

    def order(key: tuple[Any, ...]) -> tuple[int, bool, float, str]:
        group = kinds[key]
        cost = sum(log.cost for log in group) / len(group)
        linked = any(_stem(log.path) == hint for log in group)
        return -(group[0].hardware[1] or 0), not linked, cost, str(key)

    best, *others = sorted(kinds, key=order)
    why = "another group of runs was taken for the record's"
    left_out += [(log.path, why) for key in others for log in kinds[key]]
    said = ", ".join(
        f"{len(kinds[k])} of {k[2] if k[2] is not None else '?'} steps on {k[1] or '?'} devices"
        for k in (best, *others)
    )
    doubts.append(f"no name tells its groups of logs apart ({said}); the first was taken")
    return kinds[best]


def _kinds(logs: Sequence[LogFile]) -> Mapping[tuple[Any, ...], list[LogFile]]:
    """The logs by folder and kind. The words of names, and then folders, count only where they
    group logs: not where each log has its own."""
    for keys in (
        [(str(PurePosixPath(log.path).parent), *log.kind) for log in logs],
        [(str(PurePosixPath(log.path).parent), *log.kind[:-1]) for log in logs],
        [("", *log.kind[:-1]) for log in logs],
    ):
        kinds: dict[tuple[Any, ...], list[LogFile]] = defaultdict(list)
        for key, log in zip(keys, logs, strict=True):
            kinds[key].append(log)
        if 2 * len(kinds) <= len(logs):
            break
    return kinds


def _same_machine(
    baseline: Iterable[LogFile], candidate: Sequence[LogFile], left_out: Reasons
) -> list[LogFile]:
    """The baseline's logs with as many devices as the candidate's."""
    counts = {log.hardware[1] for log in candidate}
    kept = []
    for log in baseline:
        if not counts or log.hardware[1] in counts:
            kept.append(log)
        else:
            left_out.append((log.path, "it ran on another number of devices than the record"))
    return kept
