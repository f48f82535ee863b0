"""Several points of one submission: each claims to be significant, and with many one is so by luck.

Holm's procedure (1979, "A simple sequentially rejective multiple test procedure", Scandinavian
Journal of Statistics 6) keeps the chance of one false claim among all points at alpha.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator, Mapping, Sequence

from bot.model.summary import Summary


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """Each p-value times the number of those that are as great or greater, never falling, at most
    1: what is below alpha is what Holm's procedure rejects."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, greatest = list(p_values), 0.0
    for rank, index in enumerate(order):
        greatest = min(1.0, max(greatest, p_values[index] * (len(order) - rank)))
        adjusted[index] = greatest
    return adjusted


def corrected(found: Mapping[str | None, Summary | None]) -> dict[str | None, Summary | None]:
    """The statistics of all points of a submission, each decision corrected for their number, and
    so are the comparisons with the baseline arm, on their own."""
    known = {name: s for name, s in found.items() if s is not None}
    for name, p in _adjusted({name: s.decision.p for name, s in known.items()}):
        s = known[name]
        holds = s.decision.passes and p < s.level
        known[name] = dc.replace(s, decision=dc.replace(s.decision, passes=holds, p_holm=p))
    arms = {name: s.baseline for name, s in known.items() if s.baseline is not None}
    for name, p in _adjusted({name: arm.p for name, arm in arms.items()}):
        arm, s = arms[name], known[name]
        holds = bool(arm.passes) and p < s.level
        known[name] = dc.replace(s, baseline=dc.replace(arm, passes=holds, p_holm=p))
    return {**found, **known}


def _adjusted(found: Mapping[str | None, float | None]) -> Iterator[tuple[str | None, float]]:
    """(point, its adjusted p) of those with a p: without one a point claims nothing and is not
    counted, and a claim alone stands as it is."""
    tested = {name: p for name, p in found.items() if p is not None}
    if len(tested) > 1:
        yield from zip(tested, holm_adjusted(list(tested.values())), strict=True)
