"""What more runs would do: the chance that a test passes after so many more.

"N more runs at this mean would pass" is a coin toss: the true mean is not the mean seen. The
chance here is predictive (Geisser 1993, "Predictive Inference"). It averages over all means and
spreads that the runs seen allow, with a flat prior for the mean in units of the spread (Jeffreys'
prior 1 / sigma^2): if the true gains of a track's submissions lie far apart, measured in their
spread, about 60 % of the submissions that read "about 60 %" pass. If most lie close to the
target, far fewer do (`python -m tests.simulations`).
"""

from __future__ import annotations

import bisect
import dataclasses as dc
import functools as ft
import math
from collections.abc import Callable
from typing import Any

from bot.model.summary import Chance, Moments

NOT_FEASIBLE = 100
"""More runs than this are not advice: a longer run is the way."""
_POINTS = 1024
# Additive recurrences of the plastic number's powers fill the cube evenly (Roberts 2018,
# "The unreasonable effectiveness of quasirandom sequences").
_STRIDES = (0.8191725133961645, 0.6710436067037893, 0.5497004779019703)


@dc.dataclass(frozen=True, slots=True)
class Bar:
    """A test as a bar on the mean: it passes if mean sqrt(n) >= height sqrt(prior + weight sd^2).

    `t`: prior 0, weight 1, height the t quantile. `z`: prior 1, weight 0, height the threshold.
    `moderated`: the prior's and the group's share of the variance. On a track with a guard, samples
    whose sd is below `alike` must also have mean sqrt(n) >= `guard`.
    """

    height: float
    prior: float
    weight: float
    guard: float = 0.0
    alike: float = 0.0

    def passes(self, n: Any, mean: Any, sd: Any) -> Any:
        """Whether samples of `n` runs pass; arrays of means and sds give an array."""
        reached = mean * math.sqrt(n)
        proved = reached >= self.height * (self.prior + self.weight * sd * sd) ** 0.5
        return proved & ((sd >= self.alike) | (reached >= self.guard))


def chance_of(gain: Moments, more: int, bar: Bar, sigma: tuple[float, float] | None) -> float:
    """The predictive probability that `gain` and `more` further runs pass `bar`.

    `sigma` is a prior (sd, df) for the spread, df infinite if it is known; None takes the runs' own
    spread, which needs two runs that differ. Deterministic: 1,024 even points stand for draws.
    """
    import numpy as np
    import scipy.special as special

    if more <= 0:
        return 1.0 if bool(bar.passes(gain.n, gain.mean, gain.sd or 0.0)) else 0.0
    index = np.arange(1, _POINTS + 1)
    u = [(0.5 + index * stride) % 1.0 for stride in _STRIDES]
    own = 0.0 if gain.sd is None else (gain.n - 1) * gain.sd**2
    sd, df = sigma or (0.0, 1.0)
    if math.isinf(df):
        variance = np.full(_POINTS, sd**2)
    else:
        freedom = gain.n - 1 + df
        variance = (own + df * sd**2) / special.chdtri(freedom, 1 - u[0])
    spread = np.sqrt(variance)
    apart = special.ndtri(u[1]) * spread * math.sqrt(1 / gain.n + 1 / more)
    within = variance * special.chdtri(more - 1, 1 - u[2]) if more > 1 else 0.0
    n = gain.n + more
    squares = own + within + gain.n * more / n * apart**2
    mean = gain.mean + apart * more / n
    return float(np.mean(bar.passes(n, mean, np.sqrt(squares / (n - 1)))))


def outlook(
    gain: Moments,
    bar_at: Callable[[int], Bar],
    sigma: tuple[float, float] | None,
    sizes: Callable[[int], bool] = lambda n: True,
    wanted: tuple[float, ...] = (0.5, 0.8),
) -> tuple[Chance, ...]:
    """The fewest further runs that pass with at least each chance of `wanted`; at most 100.

    `bar_at(n)` is the test at n runs; `sizes(n)` says whether a submission of n runs is judged at
    all (looks). Empty if no number up to 100 reaches even the first. The chance grows with the
    number of runs if the mean gain is above 0, so that halving the range finds the fewest.
    """
    if gain.mean <= 0 or (not gain.sd and sigma is None):
        return ()
    numbers = [more for more in range(1, NOT_FEASIBLE + 1) if sizes(gain.n + more)]

    @ft.cache
    def chance(more: int) -> float:
        return chance_of(gain, more, bar_at(gain.n + more), sigma)

    found: list[Chance] = []
    for aim in wanted:
        place = bisect.bisect_left(numbers, aim, key=chance)
        if place < len(numbers) and (not found or numbers[place] != found[-1].runs):
            found.append(Chance(numbers[place], chance(numbers[place])))
    return tuple(found)
