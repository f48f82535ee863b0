"""Rules: one check each, a small function over a `Case` that yields findings.

    @rule("mfu-impossible")
    def mfu_impossible(case: Case) -> Iterator[Finding]:
        '''One line that says what is checked.

        Then why, and how to satisfy it. This docstring is the rule's page on the site.
        '''
        yield finding("mfu-impossible", "...", claimed=..., expected=..., fix=...)

The default level of each rule, and its family, stand in `schemas/rules.json`; a track may change a
level. `run_rules` applies all of them. Rule modules are imported on first use.
"""

from __future__ import annotations

import dataclasses as dc
import importlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from bot.model.case import Case
from bot.model.verdict import Finding
from bot.registry import Level, catalogue

MODULES = ("text", "accounting", "evidence", "provenance", "statistics")

MAX_PER_RULE = 25
"""So many findings of one rule and level are told; who has more has one cause to mend."""

Check = Callable[[Case], Iterator[Finding]]
_checks: dict[str, Check] = {}


def rule(name: str) -> Callable[[Check], Check]:
    """Register a check under its public name."""

    def register(check: Check) -> Check:
        if name in _checks:
            raise ValueError(f"rule {name} is defined twice")
        _checks[name] = check
        return check

    return register


def load_rules() -> Mapping[str, Check]:
    """Every rule by name, in the catalogue's order."""
    for module in MODULES:
        importlib.import_module(f"bot.rules.{module}")
    return {name: _checks[name] for name in catalogue() if name in _checks}


def run_rules(case: Case) -> tuple[Finding, ...]:
    """All findings on a case, errors first, each rule in the catalogue's order.

    A track's `levels` may lower or raise a rule, or switch it off, by its name.
    """
    found = []
    for name, check in load_rules().items():
        level = case.track.levels.get(name)
        if level == "off":
            continue
        told: Counter[Level] = Counter()
        for item in check(case):
            # Apart by level: a flood of warnings must not keep an error from being told.
            told[item.level] += 1
            if told[item.level] <= MAX_PER_RULE:
                found.append(item if level is None else dc.replace(item, level=Level(level)))
            elif item.level is Level.ERROR:
                break
    order = list(Level)
    return tuple(sorted(found, key=lambda f: order.index(f.level)))
