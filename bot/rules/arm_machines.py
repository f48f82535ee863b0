"""Whether the two arms of a comparison ran on one machine, and on one that was as idle.

    other_machine(ours, theirs)     "system Darwin in the candidate and Linux in the baseline arm"
    busier(ours, theirs)            "the machine was busy when the baseline arm ran: load ..."

Part of the rule `arms-differ`. What the runs state of their machines is in `bot.evidence.machine`.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence

from bot.model.run import MACHINE, Run
from bot.render.numbers import figure
from bot.render.untrusted import plain

_Values = list[float | str]
_SHOWN = 4
_ENOUGH = 3
"""Facts that describe a machine."""
_RELEASE = re.compile(r"\d{1,4}\.\d{1,4}")
_TITLES = {
    "system": "system", "arch": "architecture", "kernel": "kernel", "python": "python",
    "torch": "torch", "jax": "jax", "jaxlib": "jaxlib", "cpus": "CPU cores:",
    "threads": "CPU threads:", "memory": "GiB of memory:", "disk": "GiB of disk:",
    "gpus": "GPUs of the machine:", "driver": "GPU driver",
    "power": "power limit of a GPU in W:",
}  # fmt: skip
# The kernel's own share of the memory differs from one start to the next.
_ROUGHLY, _SHARE = frozenset(("memory", "disk")), 0.05
_UNSHOWN = {"cpu": "the processors are of two models", "host": "each arm ran on a host of its own"}
_LOADS = {"load": "load average", "processes": "number of running processes", "gpu_use": "GPU use"}
# A training is a load too, and what ran before it is still counted.
_TIMES, _MORE = 2.0, {"load": 2.0, "processes": 2.0, "gpu_use": 50.0}


def other_machine(
    ours: Sequence[Run], theirs: Sequence[Run], told: frozenset[str] = frozenset()
) -> str | None:
    """What tells the machines of two arms apart, in words; None without anything. `told` are the
    versions whose difference was named already."""
    mine, other = _facts(ours), _facts(theirs)
    found = list(_apart(mine, other, told))
    if {run.source for run in ours} == {run.source for run in theirs}:
        found += _silent(ours, theirs)
    if not found:
        return None
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return "; ".join(found[:_SHOWN]) + more


def _apart(
    mine: Mapping[str, _Values], other: Mapping[str, _Values], told: frozenset[str]
) -> Iterator[str]:
    for name, title in _TITLES.items():
        a, b = mine.get(name, []), other.get(name, [])
        if a and b and name not in told and (_unlike(name, a, b) or _unlike(name, b, a)):
            yield f"{title} {_show(a)} in the candidate and {_show(b)} in the baseline arm"
    if (a := mine.get("cpu", [])) and (b := other.get("cpu", [])):
        if _unlike("cpu", a, b) or _unlike("cpu", b, a):
            yield _UNSHOWN["cpu"]
    # A container is a host by its name: only where several runs share theirs does it say much.
    hosts = mine.get("host", []), other.get("host", [])
    if all(len(set(arm)) == 1 for arm in hosts) and max(map(len, hosts)) > 1:
        if hosts[0][0] != hosts[1][0]:
            yield _UNSHOWN["host"]


def _silent(ours: Sequence[Run], theirs: Sequence[Run]) -> list[str]:
    """That every run of one arm says what machine it was on, and none of the other."""
    for arm, other, says, lacks in (
        (ours, theirs, "candidate", "baseline arm"),
        (theirs, ours, "baseline arm", "candidate"),
    ):
        if all(len(_TITLES.keys() & _facts([r]).keys()) >= _ENOUGH for r in arm):
            if not _facts(other):
                return [
                    f"the runs of the {says} describe their machine, those of the {lacks} do not"
                ]
    return []


def _unlike(name: str, values: _Values, others: _Values) -> bool:
    """Whether half of the runs of an arm or more have a value that none of the other has."""
    return sum(not any(_same(name, v, w) for w in others) for v in values) >= len(values) / 2


def _same(name: str, one: float | str, other: float | str) -> bool:
    if name in _ROUGHLY and isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= _SHARE * max(abs(one), abs(other))
    return one == other


def busier(ours: Sequence[Run], theirs: Sequence[Run]) -> str | None:
    """That the machine was busy in every run of the baseline arm and in none of the candidate, as
    their logs state it, in words."""
    mine, other = _facts(ours), _facts(theirs)
    told = []
    for name, title in _LOADS.items():
        a, b = (
            [v for v in arm.get(name, ()) if isinstance(v, int | float)] for arm in (mine, other)
        )
        if a and b and min(b) > _TIMES * max(a) + _MORE[name]:
            usual, busy = figure(statistics.median(a), 3), figure(statistics.median(b), 3)
            told.append(f"{title} {busy}, {usual} in the candidate")
    if not told:
        return None
    return f"the machine was busy when the baseline arm ran: {'; '.join(told)}"


def _facts(arm: Sequence[Run]) -> Mapping[str, _Values]:
    """What the runs of an arm state of their machine, by fact, each run once."""
    found: dict[str, _Values] = {}
    for run in arm:
        of_run: dict[str, float | str] = {}
        for witness in run.witnesses:
            if witness.quantity.startswith(MACHINE):
                of_run.setdefault(witness.quantity.removeprefix(MACHINE), witness.value)
        of_run |= {"driver": run.hardware.driver} if run.hardware.driver else {}
        if match := _RELEASE.search(run.software.get("python", "")):
            of_run.setdefault("python", match[0])
        for name, value in of_run.items():
            found.setdefault(name, []).append(value)
    return found


def _show(values: _Values) -> str:
    shown = {v if isinstance(v, str) else figure(v, 4) for v in values}
    return plain(", ".join(sorted(shown)[:_SHOWN]), 60)
