"""For comparison: what the same figures are without the procedure that each of them is about."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Iterator

import numpy as np

from bot.compute.several import holm_adjusted
from bot.compute.significance import anytime_p, paired, welch
from bot.model.summary import Moments
from bot.model.track import Significance
from tests.simulations import looks
from tests.simulations.common import Result, generator, slack_of, t_p

ALPHA = 0.01


def simulate(repetitions: int) -> Iterator[Result]:
    """A figure of each kind; only those with a procedure have a target."""
    yield from _fixed_and_growing(repetitions)
    yield from _points(repetitions)
    yield _shown("candidate always first, drift, 8 pairs: type I", _candidate_first(repetitions))
    yield _shown("four links with the interval of the last: covers", _last_link(repetitions))
    yield _shown("promotion on the ratio alone, 5 %, 2 runs an arm", _ratio_alone(repetitions))
    for name, share in _broken_conditions(repetitions):
        yield _shown(name, share)
    for name in ("exponential", "lognormal"):
        share = _anytime(name, max(repetitions // 10, 200))
        yield _shown(f"anytime with {name} losses, a look after each of 40", share)


def _shown(name: str, value: float) -> Result:
    return Result(f"  {name}", value, 1.0, True)


def _fixed_and_growing(repetitions: int) -> Iterator[Result]:
    draws = generator("fixed").normal(0.0, 1.0, (repetitions, 8))
    share = float(np.mean(t_p(draws) < ALPHA))
    yield Result(
        "t, 8 runs fixed beforehand: type I", share, ALPHA, True, slack_of(ALPHA, repetitions)
    )
    track = dc.replace(looks.TRACK, significance=Significance(test="t", alpha=ALPHA, min_runs=3))
    grown = generator("until p").normal(0.0, 1.0, (repetitions, looks.LOOKS[-1]))
    share = float(np.mean([looks.passes(row, track) for row in grown]))
    yield _shown("runs added one at a time from 3 to 12 until p < 0.01", share)


def _broken_conditions(repetitions: int) -> Iterator[tuple[str, float]]:
    """Type I of tests on runs that are not what the tests assume, at the target."""
    for n in (4, 8):
        rng = generator(f"skewed {n}")
        for name in ("exponential", "lognormal"):
            share = float(np.mean(t_p(-_skewed(rng, name, (repetitions, n))) < ALPHA))
            yield f"t, {n} runs with {name} losses: type I", share
    rng = generator("shared")
    shared = 0.2**0.5 * rng.normal(size=(repetitions, 1))
    draws = shared + 0.8**0.5 * rng.normal(size=(repetitions, 8))
    yield (
        "t, 8 runs that share a fifth of their variance: type I",
        float(np.mean(t_p(draws) < ALPHA)),
    )
    wide = 1.5 * generator("wide").normal(size=(repetitions, 4))
    z = wide.mean(-1) * 2
    yield "z at alpha 0.001, true sd 1.5 sigma: type I", float(np.mean(z > 3.0902))


def _skewed(rng: np.random.Generator, name: str, shape: tuple[int, int]) -> np.ndarray:
    """Losses skewed to the right around a mean of 0."""
    if name == "lognormal":
        return rng.lognormal(0.0, 0.5, shape) - math.exp(0.125)
    return rng.exponential(1.0, shape) - 1


def _points(repetitions: int) -> Iterator[Result]:
    """Five points at the target, six runs each: is any of them called significant?"""
    p = t_p(generator("points").normal(0.0, 1.0, (repetitions, 5, 6)))
    share = float(np.mean([min(holm_adjusted(row)) < ALPHA for row in p.tolist()]))
    slack = slack_of(ALPHA, repetitions)
    yield Result("five worthless points, Holm: any significant", share, ALPHA, True, slack)
    yield _shown("five worthless points, not corrected", float(np.mean(p.min(1) < ALPHA)))


def _candidate_first(repetitions: int) -> float:
    draws = np.arange(16) + generator("first").normal(0.0, 1.0, (repetitions, 16))
    rows = 70 + 0.4 * draws
    found = [paired(row[0::2].tolist(), row[1::2].tolist()).p for row in rows]
    return float(np.mean([p is not None and p < ALPHA for p in found]))


def _last_link(repetitions: int) -> float:
    arms = 70 * np.exp(generator("last link").normal(0.0, 0.005, (repetitions, 4, 2, 3)))
    inside = 0
    for row in arms:
        total = math.fsum(math.log(a.mean() / b.mean()) for a, b in row)
        bounds = welch(row[3, 0].tolist(), row[3, 1].tolist()).ratio_interval
        assert bounds is not None
        inside += abs(total) <= math.log(bounds[1] / bounds[0]) / 2
    return inside / repetitions


def _ratio_alone(repetitions: int) -> float:
    seasons = max(repetitions // 20, 100)
    draws = np.exp(generator("ratio alone").normal(0.0, 0.05, (seasons, 20, 2, 2))).mean(-1)
    return float(np.mean((draws[:, :, 0] / draws[:, :, 1]).min(1) <= 0.9))


def _anytime(name: str, repetitions: int) -> float:
    """Losses skewed to the right around the target, a look after each run up to 40."""
    rng = generator(f"anytime {name}")
    passed = 0
    for row in (-_skewed(rng, name, (repetitions, 40))).tolist():
        found = (anytime_p(Moments.of(row[:n])) for n in range(2, 41))
        passed += any(p is not None and p < ALPHA for p in found)
    return passed / repetitions
