"""Looks: the only numbers of runs at which a growing submission is judged, each of them once.

A track shares alpha among its looks, so a worthless submission passes with at most alpha, as long
as each look is taken once. Runs that are replaced after a look, and a new pull request with some of
the runs of an earlier one, would take it again: `taken_by` finds that, from the looks that were
remembered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from bot.model.look import Look


def judged_at(n: int, looks: Sequence[int]) -> int:
    """How many of `n` runs are judged: all, or as many as the last look reached; 0 before it."""
    return n if not looks else max((look for look in looks if look <= n), default=0)


def digest_of(values: Iterable[float]) -> str:
    """Which runs were judged, by their losses to four decimals, whatever their order."""
    text = ",".join(f"{value:.4f}" for value in sorted(values))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def taken_by(earlier: Iterable[Look], runs: int, digest: str) -> Look | None:
    """The look that leaves none at `runs` runs: one at as many or more, with other runs.

    None if there is none, or if these very runs were judged before: that is the same look.
    """
    known = tuple(earlier)
    if any((look.runs, look.digest) == (runs, digest) for look in known):
        return None
    last = max(known, key=lambda look: look.runs, default=None)
    return last if last is not None and last.runs >= runs else None
