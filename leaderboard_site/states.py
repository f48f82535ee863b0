"""What a verdict is called where people read it: one name, one colour, and why it needs a look."""

from __future__ import annotations

from typing import NamedTuple

from bot.model.verdict import Verdict
from bot.registry import STATUS_NAMES, Level, Status

MOST_RULES = 2
SPELLED = {"flops": "FLOPs", "mfu": "MFU", "json": "JSON"}


class State(NamedTuple):
    """`kind` is the CSS class; `rules` are the warnings that a maintainer has to weigh."""

    kind: str
    name: str
    rules: tuple[str, ...] = ()


def state_of(verdict: Verdict) -> State:
    """The state of a verdict, with the warnings that still ask for a review."""
    rules: tuple[str, ...] = ()
    if verdict.status is Status.NEEDS_REVIEW:
        rules = tuple(
            dict.fromkeys(
                f.rule
                for f in verdict.findings
                if f.level is Level.WARNING and f.rule not in verdict.accepted
            )
        )
    return State(str(verdict.status), STATUS_NAMES[verdict.status], rules)


def rule_words(rule: str) -> str:
    """A rule's public name as words: `token count mismatch`."""
    words = rule.split("-")
    return " ".join(SPELLED.get(word, word) for word in words)


def shown_rules(state: State) -> str:
    """The warnings in a few words: `too few runs and 2 more`."""
    named = ", ".join(map(rule_words, state.rules[:MOST_RULES]))
    left = len(state.rules) - MOST_RULES
    return f"{named} and {left} more" if left > 0 else named
