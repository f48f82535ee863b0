"""What a maintainer accepted, read back from our own comments and applied to a verdict.

The record of an acceptance is our answer to `/accept`: a comment that only this bot can write, with
rule, commit and reason in its second line. It holds for that commit alone.
"""

from __future__ import annotations

import dataclasses as dc
import json
from collections.abc import Iterable, Mapping

from bot.github.api.threads import REPLY
from bot.model.verdict import Verdict, with_findings
from bot.registry import Level, catalogue

ACCEPT = "<!-- speedrun:accept "
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
        """The hidden line that records it; no text in it can end the HTML comment."""
        text = json.dumps(dc.asdict(self), sort_keys=True)
        for char in "<>-":
            text = text.replace(char, f"\\u{ord(char):04x}")
        return f"{ACCEPT}{text} -->"


def acceptable(rule: str) -> bool:
    """Whether a maintainer may accept a finding of this rule at all."""
    return catalogue()[rule]["family"] != "text" and rule not in NEVER_ACCEPTED


def read_waivers(bodies: Iterable[str], sha: str) -> dict[str, Waiver]:
    """Rule -> acceptance for one commit, from the bodies of our own comments."""
    found: dict[str, Waiver] = {}
    for body in bodies:
        lines = body.split("\n", 2)
        if len(lines) < 2 or not lines[0].startswith(REPLY) or not lines[1].startswith(ACCEPT):
            continue
        waiver = _read(lines[1])
        known = waiver is not None and waiver.sha == sha and waiver.rule in catalogue()
        if waiver is not None and known and acceptable(waiver.rule):
            found[waiver.rule] = waiver
    return found


def _read(line: str) -> Waiver | None:
    """One recorded acceptance; None for one that somebody with the right to broke by editing."""
    try:
        waiver = Waiver(**json.loads(line.removeprefix(ACCEPT).removesuffix(" -->")))
    except (ValueError, TypeError, RecursionError):
        return None
    return waiver if all(isinstance(text, str) for text in dc.astuple(waiver)) else None


def apply_waivers(verdict: Verdict, waivers: Mapping[str, Waiver]) -> Verdict:
    """The verdict with accepted findings as notes, and who accepted them."""
    rules = {f.rule for f in verdict.findings if f.level is not Level.NOTE} & set(waivers)
    if not rules:
        return verdict
    findings = tuple(
        dc.replace(f, level=Level.NOTE) if f.rule in rules else f for f in verdict.findings
    )
    accepted = {rule: f"{waivers[rule].reason} ({waivers[rule].by})" for rule in sorted(rules)}
    return dc.replace(with_findings(verdict, findings), accepted={**verdict.accepted, **accepted})
