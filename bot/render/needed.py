"""How many more runs an entry needs, in which arm, and how they are added."""

from __future__ import annotations

from bot.model.verdict import Verdict
from bot.render import numbers


def needed(verdict: Verdict) -> int:
    """How many more runs the track asks for, at the present mean."""
    asked = [
        f.expected - f.claimed
        for f in verdict.findings
        if f.rule == "too-few-runs" and isinstance(f.expected, int) and isinstance(f.claimed, int)
    ]
    needs = [point.summary.needed_runs or 0 for point in verdict.points]
    return max(1, sum(short_arms(verdict) or ()), *asked, *needs)


def short_arms(verdict: Verdict) -> tuple[int, int] | None:
    """How many runs of the entry and of the baseline a track of two arms still asks for; None if
    no count is asked for."""
    least = [f.expected for f in verdict.findings if f.rule == "too-few-runs"]
    point = verdict.statistics
    if point is None or (verdict.reply is None and point.baseline is None):
        return None
    theirs = len(point.baseline.cost.values) if point.baseline else 0
    found = [(max(n - point.n, 0), max(n - theirs, 0)) for n in least if isinstance(n, int)]
    return max(found, default=None, key=sum)


def by_arm(arms: tuple[int, int]) -> str:
    """`2 more of the entry and 1 more of the baseline`."""
    named = zip(arms, ("the entry", "the baseline"), strict=True)
    return numbers.listed([f"{count} more of {what}" for count, what in named if count])


def add_arms(arms: tuple[int, int], on_pull: bool) -> str:
    """How runs of either arm are added."""
    if not on_pull:
        return 'List them in `submission.json`, those of the baseline with `"arm": "baseline"`.'
    line = "/runs add" + " LINK..." * bool(arms[0]) + " baseline LINK..." * bool(arms[1])
    return f"Comment `{line}` with the address of each W&B run."
