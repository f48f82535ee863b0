"""Findings that have one cause: said once, and only the cause decides the status.

`merge` runs before the status is computed. Findings of one rule that differ only in their run
become one; a finding that only follows from another is marked with it (`because`) and stays in
the list. A cause that weighs less never hides what weighs more.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterable, Mapping

from bot.model.verdict import Finding
from bot.registry import OURS, SHORTFALL, Level

_FIGURES = (
    "hardware-flops-mismatch",
    "device-peak-mismatch",
    "chip-count-mismatch",
    "model-flops-mismatch",
    "token-count-mismatch",
)
_UNREAD = (
    "json-invalid",
    "schema",
    "schema-version-unknown",
    "link-not-a-run",
    "host-not-allowed",
    "run-not-found-or-private",
    "project-not-public",
    "run-unfinished",
    "run-crashed",
    "history-gap",
    "clock-not-monotonic",
    "evidence-unavailable",
)
FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "mfu-impossible": _FIGURES,
    "mfu-unusual": _FIGURES,
    "device-peak-mismatch": ("hardware-flops-mismatch",),
    "chip-count-mismatch": ("hardware-flops-mismatch",),
    "model-flops-mismatch": ("token-count-mismatch",),
    "hardware-differs-from-run": ("arms-differ",),
    "too-few-runs": _UNREAD,
    "metric-missing": _UNREAD,
    "explanation-missing": ("json-invalid",),
    "author-not-contributor": ("json-invalid",),
    "code-differs-between-runs": ("json-invalid",),
    "seed-reused": ("json-invalid",),
}
"""Rule -> the rules that it may only follow from, the likeliest first."""

_OF_ONE_LIST = frozenset({"explanation-missing", "code-differs-between-runs", "seed-reused"})
"""What a list of runs that cannot be read makes look wrong: it says which arm a run is of."""
_OF_ONE_FILE = _OF_ONE_LIST | {"mfu-impossible", "mfu-unusual", *_FIGURES}
_OF_ONE_ACT = frozenset({"hardware-differs-from-run"})
"""What follows only if the same act settles both."""
_WEIGHT = {Level.ERROR: 2, Level.WARNING: 1, Level.NOTE: 0}


def merge(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings with what follows from another marked, in their order. That no run counts is
    left out if an error of the files says why."""
    found = tuple(findings)
    if any(_blocks(item) for item in found):
        found = tuple(f for f in found if f.rule != "too-few-runs" or f.claimed != 0)
    return tuple(_marked(item, found) for item in found)


def _marked(item: Finding, found: tuple[Finding, ...]) -> Finding:
    for rule in FOLLOWS.get(item.rule, ()):
        if any(cause.rule == rule and _explains(cause, item) for cause in found):
            return dc.replace(item, because=rule)
    return item


def _explains(cause: Finding, item: Finding) -> bool:
    if _WEIGHT[cause.level] < _WEIGHT[item.level]:
        return False
    if item.rule in _OF_ONE_ACT and cause.fix != item.fix:
        return False
    if item.rule == "metric-missing" and item.run and not _of_one_run(cause, item):
        return False
    if item.rule in _OF_ONE_FILE and cause.file != item.file:
        return False
    return None in (cause.point, item.point) or cause.point == item.point


def _of_one_run(cause: Finding, item: Finding) -> bool:
    """Whether both are about one run of the list."""
    return cause.run == item.run or f"{cause.pointer}/".startswith(f"{item.pointer}/")


def _blocks(item: Finding) -> bool:
    return item.level is Level.ERROR and item.rule not in SHORTFALL | OURS
