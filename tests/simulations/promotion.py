"""A season of tries with an equal program: how often does noise make a new baseline?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bot.compute.ratios import promotes as is_due
from bot.compute.significance import welch
from tests.simulations.common import Result, generator, slack_of

PROMOTE_AT, TRIES = 0.9, 20


def promotes(candidate: list[float], baseline: list[float]) -> bool:
    """Whether the program calls a new baseline due."""
    comparison = welch(candidate, baseline)
    return is_due(comparison.ratio_interval, PROMOTE_AT)


def simulate(repetitions: int) -> Iterator[Result]:
    """Seasons of 20 tries of an equal program under noise of 5 %, and a true gain of 15 %."""
    for n in (2, 3, 4):
        rng = generator(f"promotion {n}")
        seasons = max(repetitions // TRIES, 100)
        draws = 30 * np.exp(rng.normal(0.0, 0.05, (seasons, TRIES, 2, n)))
        share = float(
            np.mean([any(promotes(a.tolist(), b.tolist()) for a, b in season) for season in draws])
        )
        name = f"equal program promoted in a season of 20 tries, {n} runs an arm"
        yield Result(name, share, 0.02, True, slack_of(0.02, seasons) if seasons < 2000 else 0.0)
    rng = generator("promotion of a gain")
    draws = np.exp(rng.normal(0.0, 0.005, (repetitions // 10, 2, 3)))
    found = [promotes((25.5 * a).tolist(), (30 * b).tolist()) for a, b in draws]
    share = float(np.mean(found))
    yield Result("true gain of 15 % promoted, noise 0.5 %, 3 runs an arm", share, 0.95, False)
