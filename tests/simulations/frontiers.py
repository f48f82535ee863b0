"""Noisy frontiers: how many entries do not belong there, and whether the chance says so."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bot.rank.frontier_chance import Spread, chances
from bot.rank.pareto import frontier
from tests.simulations.common import Result, generator

ENTRIES, NOISE = 40, 0.005


def simulate(repetitions: int) -> Iterator[Result]:
    """Boards of 40 entries of one run each, above a law by 0.02 on average; noise of 0.005.

    The draws add the noise a second time, so the chance is cautious: it may fall short of the
    share of entries that belong on the frontier, and must not exceed it.
    """
    rng = generator("frontiers")
    shown: list[tuple[float, bool]] = []
    for board in range(repetitions):
        cost = 10 ** rng.uniform(18, 21, ENTRIES)
        true = 0.7 + 0.4 * (cost / 1e19) ** -0.15 + rng.exponential(0.02, ENTRIES)
        seen = true + rng.normal(0.0, NOISE, ENTRIES)
        belong = set(frontier(list(zip(cost, true, strict=True))))
        drawn = [
            Spread(f"{board} {i}", c, y, 0.0, NOISE)
            for i, (c, y) in enumerate(zip(cost, seen, strict=True))
        ]
        likely = chances(drawn)
        for i in frontier(list(zip(cost, seen, strict=True))):
            chance_of = likely[i]
            assert chance_of is not None
            shown.append((chance_of, i in belong))
    chance, holds = np.array([c for c, _ in shown]), np.array([h for _, h in shown])
    yield Result("noisy frontier: entries that do not belong there", 1 - holds.mean(), 0.14, True)
    over = 0.0
    for low in np.arange(0.0, 1.0, 0.1):
        inside = (chance >= low) & (chance < low + 0.1)
        if inside.sum() >= 200:
            over = max(over, float(chance[inside].mean() - holds[inside].mean()))
    yield Result("chance of being on a frontier, overstated by at most", over, 0.02, True)
    half = (chance >= 0.45) & (chance < 0.55)
    yield Result(
        "entries with a chance of a half that belong there", holds[half].mean(), 0.5, False
    )
