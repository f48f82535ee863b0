"""How often looking after each run accepts a result that is exactly at the target.

    python -m tests.benchmarks.anytime_simulation [REPETITIONS]

The true mean is the target, so that every acceptance is false. A submitter looks after each run
from the second to the fortieth and stops at the first p < alpha. The fixed-n test accepts far
more often than alpha, the anytime-valid test at most alpha. The tests are the program's own.
"""

from __future__ import annotations

import dataclasses as dc
import math
import sys
import time

import numpy as np

from bot.compute.significance import anytime_p, t_p, z_p
from bot.model.summary import Moments

REPETITIONS = 20_000
LOOKS = 40
SIGMA = 0.0013
SEED = 20260101


@dc.dataclass(frozen=True)
class Rate:
    """The share of repetitions that one test accepted at some look up to the last."""

    test: str
    alpha: float
    accepted: float
    repetitions: int

    @property
    def standard_error(self) -> float:
        """Of the share, if the true share were alpha."""
        return math.sqrt(self.alpha * (1 - self.alpha) / self.repetitions)

    @property
    def honest(self) -> bool:
        """Whether the share is at most alpha and three standard errors."""
        return self.accepted <= self.alpha + 3 * self.standard_error


def simulate(repetitions: int = REPETITIONS, looks: int = LOOKS, seed: int = SEED) -> list[Rate]:
    """The rates of the four tests at alpha 0.01 and 0.05."""
    gains = np.random.default_rng(seed).normal(0.0, SIGMA, (repetitions, looks))
    lowest = np.ones((4, repetitions))
    for row in range(repetitions):
        for column, p in enumerate(_lowest(gains[row])):
            lowest[column, row] = p
    names = ("fixed t", "anytime t", "fixed z", "anytime, sigma known")
    return [
        Rate(name, alpha, float((lowest[i] < alpha).mean()), repetitions)
        for alpha in (0.01, 0.05)
        for i, name in enumerate(names)
    ]


def _lowest(gains: np.ndarray) -> tuple[float, float, float, float]:
    """The lowest p of each test over all looks."""
    best = [1.0] * 4
    total = squares = 0.0
    for n, gain in enumerate(gains.tolist(), 1):
        total += gain
        squares += gain * gain
        if n < 2:
            continue
        mean = total / n
        sample = Moments(n, mean, math.sqrt(max(0.0, squares - n * mean * mean) / (n - 1)))
        ps = (t_p(sample), anytime_p(sample), z_p(sample, SIGMA), anytime_p(sample, SIGMA))
        best = [b if p is None else min(b, p) for b, p in zip(best, ps, strict=True)]
    return best[0], best[1], best[2], best[3]


def main(repetitions: int = REPETITIONS) -> int:
    """Print the table; 1 where an anytime test is not honest or a fixed one is."""
    began = time.perf_counter()
    rates = simulate(repetitions)
    print(f"true mean at the target, looks after runs 2 to {LOOKS}, {repetitions:,} repetitions")
    print(f"{'test':<22}{'alpha':>8}{'accepted':>10}{'of alpha':>10}  at most alpha + 3 s.e.")
    for rate in rates:
        times = rate.accepted / rate.alpha
        honest = "yes" if rate.honest else "no"
        print(f"{rate.test:<22}{rate.alpha:>8}{rate.accepted:>10.4f}{times:>9.2f}x  {honest}")
    print(f"{time.perf_counter() - began:.0f} s")
    return 0 if all(r.honest == r.test.startswith("anytime") for r in rates) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS))
