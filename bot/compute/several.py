"""Several points of one submission: each claims to be significant, and with many one is so by luck.

Holm's procedure (1979, "A simple sequentially rejective multiple test procedure", Scandinavian
Journal of Statistics 6) keeps the chance of one false claim among all points at alpha.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence

from bot.model.summary import Summary


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """Each p-value times the number of those that are as great or greater, never falling, at most
    1: what is below alpha is what Holm's procedure rejects."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, greatest = [1.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        greatest = min(1.0, max(greatest, p_values[index] * (len(order) - rank)))
        adjusted[index] = greatest
    return adjusted


def corrected(found: Mapping[str | None, Summary | None]) -> dict[str | None, Summary | None]:
    """The statistics of all points of a submission, each decision corrected for their number.

    A point without a p claims nothing, and is not counted.
    """
    known = {name: s for name, s in found.items() if s is not None}
    out = dict(found)
    if len(known) < 2:
        return out
    tested = {name: p for name, s in known.items() if (p := s.decision.p) is not None}
    for name, p in zip(tested, holm_adjusted(list(tested.values())), strict=True):
        s = known[name]
        holds = s.decision.passes and p < s.level
        out[name] = dc.replace(s, decision=dc.replace(s.decision, passes=holds, p_holm=p))
    return _arms_corrected(out)


def _arms_corrected(found: dict[str | None, Summary | None]) -> dict[str | None, Summary | None]:
    """The same for the comparisons with the baseline arm."""
    tested: dict[str | None, float] = {}
    for name, s in found.items():
        if s is not None and s.baseline is not None and s.baseline.p is not None:
            tested[name] = s.baseline.p
    if len(tested) < 2:
        return found
    for name, p in zip(tested, holm_adjusted(list(tested.values())), strict=True):
        s = found[name]
        assert s is not None and s.baseline is not None
        holds = bool(s.baseline.passes) and p < s.level
        arm = dc.replace(s.baseline, passes=holds, p_holm=p)
        found[name] = dc.replace(s, baseline=arm)
    return found
