"""The band of a scaling law at ten times its largest size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from leaderboard_site import fits
from tests.simulations.common import Result, generator


def simulate(repetitions: int) -> Iterator[Result]:
    """How often the band of a group that follows a law holds the law at ten times its size."""
    for n in (6, 8):
        rng = generator(f"bands {n}")
        xs = np.geomspace(1e18, 1e20, n)
        inside = 0
        for _ in range(repetitions):
            b, c = rng.uniform(0.1, 0.35), rng.uniform(0.5, 0.9)
            true = c + 0.4 * (xs / 1e19) ** -b
            law = fits.fit(list(zip(xs, true + rng.normal(0, 0.003, n), strict=True)))
            assert law is not None
            low, high = law.band(1e21)
            inside += low <= c + 0.4 * 100**-b <= high
        name = f"band of a law of {n} sizes covers at ten times the largest"
        yield Result(name, inside / repetitions, 0.93, False)
