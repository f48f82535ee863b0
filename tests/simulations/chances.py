"""Is the promised chance true? Of all that are told "about 60 % with 3 more", do 60 % pass?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bot.compute.chance import Bar, chance_of
from bot.compute.significance import t_quantile
from bot.model.summary import Moments
from tests.simulations.common import Result, generator, t_p

ALPHA = 0.01


def simulate(repetitions: int) -> Iterator[Result]:
    """The greatest gap between promised and simulated chance, in bins of a tenth."""
    for n, more in ((3, 3), (4, 4), (6, 6)):
        rng = generator(f"chance {n} {more}")
        bar = Bar(t_quantile(1 - ALPHA, n + more - 1), 0.0, 1.0)
        # True gains are spread evenly: the promise is about what the runs show, not about a prior.
        gains = rng.uniform(-4.0, 6.0, repetitions)
        draws = rng.normal(gains[:, None], 1.0, (repetitions, n + more))
        promised = np.array(
            [chance_of(Moments.of(row[:n].tolist()), more, bar, None) for row in draws]
        )
        passed = t_p(draws) < ALPHA
        worst = 0.0
        for low in np.arange(0.05, 0.95, 0.1):
            inside = (promised >= low) & (promised < low + 0.1)
            if inside.sum() >= 200:
                gap = abs(float(promised[inside].mean() - passed[inside].mean()))
                # Two standard errors of a share of a half; fewer than 200 say nothing.
                worst = max(worst, gap - (1 / inside.sum()) ** 0.5)
        name = f"promised chance, off by at most ({n} runs, {more} more)"
        yield Result(name, worst, 0.05, True)
    yield _near_the_target(max(repetitions // 4, 200))


def _near_the_target(repetitions: int) -> Result:
    """What about a half becomes if most true gains lie within half a sd of the target."""
    n, more = 4, 4
    rng = generator("chance near the target")
    bar = Bar(t_quantile(1 - ALPHA, n + more - 1), 0.0, 1.0)
    gains = rng.normal(0.0, 0.5, repetitions)
    draws = rng.normal(gains[:, None], 1.0, (repetitions, n + more))
    promised = [chance_of(Moments.of(row[:n].tolist()), more, bar, None) for row in draws]
    half = (np.array(promised) >= 0.4) & (np.array(promised) < 0.6)
    share = float((t_p(draws[half]) < ALPHA).mean()) if half.any() else 0.0
    return Result("  gains within 0.5 sd of the target: of a half promised", share, 1.0, True)
