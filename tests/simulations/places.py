"""Rank intervals and costs at equal loss."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from bot.compute.equal_loss import at_target
from bot.compute.places import rank_intervals
from bot.model.summary import Moments
from tests.simulations.common import Result, generator, slack_of


def ranks(repetitions: int) -> Iterator[Result]:
    """Boards of 12 entries: are all true ranks in their intervals at once? First five runs each of
    entries that differ; then the hardest case, equal entries of unequal spreads and sizes, of which
    none may be called better."""
    rng = generator("ranks")
    inside = entries = 0
    for _ in range(repetitions):
        true = np.sort(70 + rng.normal(0.0, 0.5, 12))
        draws = rng.normal(true[:, None], 0.3, (12, 5))
        found = rank_intervals([Moments.of(row.tolist()) for row in draws])
        inside += all(low <= i + 1 <= high for i, (low, high) in enumerate(found))
        entries += 1
    name = "rank intervals hold all 12 true ranks of a board at once"
    yield Result(name, inside / entries, 0.95, False)
    rng = generator("equal ranks")
    whole = 0
    for _ in range(repetitions):
        sizes, spreads = rng.integers(2, 11, 12), 0.1 * 5 ** rng.random(12)
        costs = [rng.normal(70.0, sd, n).tolist() for sd, n in zip(spreads, sizes, strict=True)]
        whole += set(rank_intervals([Moments.of(c) for c in costs])) == {(1, 12)}
    name = "12 equal entries of 2 to 10 runs, spreads up to 5 times: none better"
    yield Result(name, whole / repetitions, 0.95, False, slack_of(0.95, repetitions))


def _run(rng: np.random.Generator, steps: int, noise: float) -> list[tuple[float, float]]:
    """One run of a recipe whose loss falls as a power of the step, validated every 125 steps."""
    offset = rng.normal(0.0, noise)
    clock = 0.05 * (1 + rng.normal(0.0, 0.002))
    at = [steps - 250, steps - 125, steps]
    return [(clock * s, 2.6 + 25.0 * s**-0.5 + offset + rng.normal(0.0, 1e-4)) for s in at]


def stops(repetitions: int) -> Iterator[Result]:
    """Two recipes that differ only in their stop agree at the target within two se."""
    rng = generator("stops")
    agree = 0
    target = 2.6 + 25.0 * 1400**-0.5
    for _ in range(repetitions):
        one = at_target([_run(rng, 1400, 0.0013) for _ in range(8)], target)
        other = at_target([_run(rng, 1475, 0.0013) for _ in range(8)], target)
        assert one and other and one.standard_error and other.standard_error
        error = math.hypot(one.standard_error, other.standard_error)
        agree += abs(one.mean - other.mean) <= 2 * error
    share = agree / repetitions
    yield Result("costs at equal loss agree within 2 se", share, 0.95, False)
