"""What people settled by commands, read back from our own answers.

The record of an acceptance, a confirmation or a refusal is our answer to the command: a comment
that only this bot can write, with the facts in its second line. An acceptance holds for one commit.
"""

from __future__ import annotations

import dataclasses as dc
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from bot.github.api.threads import REPLY
from bot.model.verdict import Verdict, with_accepted
from bot.registry import Level, catalogue

ACCEPT = "<!-- speedrun:accept "
ACTED = "<!-- speedrun:acted "
GRANT = "<!-- speedrun:grant "
GRANTED = "compute-grant"
"""Label of a pull request whose entry was granted compute."""
CONFIRM, DECLINE = "confirm", "decline"
NEVER_ACCEPTED = ("out-of-scope-change", "author-not-contributor", "duplicate-run", "copied-result")
"""Besides the whole family of text and schema: a waiver here would let somebody harm others."""


@dc.dataclass(frozen=True, slots=True)
class Waiver:
    """One acceptance."""

    rule: str
    sha: str
    by: str
    reason: str

    def marker(self) -> str:
        """The hidden line that records it."""
        return _line(ACCEPT, dc.asdict(self))


@dc.dataclass(frozen=True, slots=True)
class Acted:
    """Somebody said that runs are theirs, or that they are not: `runs`, `confirm`, `decline`."""

    by: str
    what: str

    def marker(self) -> str:
        """The hidden line that records it."""
        return _line(ACTED, dc.asdict(self))


@dc.dataclass(frozen=True, slots=True)
class Grant:
    """A maintainer granted GPU-hours to an entry."""

    entry: str
    hours: str
    by: str
    reason: str
    on: str

    def marker(self) -> str:
        """The hidden line that records it."""
        return _line(GRANT, dc.asdict(self))

    @property
    def amount(self) -> float:
        """The hours as a number; 0 for what was broken by hand."""
        return float(self.hours) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,2})?", self.hours) else 0.0


def read_grants(bodies: Iterable[str]) -> list[Grant]:
    """What was granted on a pull request, from the bodies of our own comments."""
    return [grant for grant in _read(bodies, GRANT, Grant) if grant.amount]


def _line(start: str, data: Mapping[str, str]) -> str:
    """A hidden line; no text in it can end the HTML comment."""
    text = json.dumps(data, sort_keys=True)
    for char in "<>-":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return f"{start}{text} -->"


def _read(bodies: Iterable[str], start: str, kind: type[Any]) -> Iterator[Any]:
    """The records of one kind; a record that an editor broke does not count."""
    for body in bodies:
        lines = body.split("\n", 2)
        if len(lines) < 2 or not lines[0].startswith(REPLY) or not lines[1].startswith(start):
            continue
        try:
            found = kind(**json.loads(lines[1].removeprefix(start).removesuffix(" -->")))
        except (ValueError, TypeError, RecursionError):
            continue
        if all(isinstance(text, str) for text in dc.astuple(found)):
            yield found


def acceptable(rule: str) -> bool:
    """Whether a maintainer may accept a finding of this rule at all."""
    return catalogue()[rule]["family"] != "text" and rule not in NEVER_ACCEPTED


def read_waivers(bodies: Iterable[str], sha: str) -> dict[str, Waiver]:
    """Rule -> acceptance for one commit, from the bodies of our own comments."""
    return {
        waiver.rule: waiver
        for waiver in _read(bodies, ACCEPT, Waiver)
        if waiver.rule in catalogue() and waiver.sha == sha and acceptable(waiver.rule)
    }


def read_acted(bodies: Iterable[str]) -> dict[str, str]:
    """Login in lower case -> what that person said last of the runs."""
    return {acted.by.lower(): acted.what for acted in _read(bodies, ACTED, Acted)}


def apply_waivers(
    verdict: Verdict, waivers: Mapping[str, Waiver], people: Collection[str] = ()
) -> Verdict:
    """The verdict with accepted findings as notes, and who accepted them.

    `people` are the submission's own, in lower case: nobody accepts what is theirs.
    """
    waivers = {rule: w for rule, w in waivers.items() if w.by.lower() not in people}
    rules = {f.rule for f in verdict.findings if f.level is not Level.NOTE} & set(waivers)
    if not rules:
        return verdict
    return with_accepted(
        verdict, {rule: f"{waivers[rule].reason} ({waivers[rule].by})" for rule in sorted(rules)}
    )
