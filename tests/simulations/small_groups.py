"""The moderated t-test under its own prior: type I, power, and the prior's estimate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bot.compute.moderated import estimate_prior, moderated_p
from bot.model.summary import Moments
from tests.simulations.common import Result, generator, slack_of, t_p

# Of the groups of runs of the track nanogpt-small (`speedrun stats --groups`).
SD, DF = 0.00126, 8.0
ALPHA = 0.01


def simulate(repetitions: int) -> Iterator[Result]:
    """Groups whose variances follow the prior, at the target and 0.002 below it."""
    for gain, target in ((0.0, 0.011), (0.002, 0.60)):
        for n in (3, 4) if gain == 0 else (4,):
            rng = generator(f"moderated {gain} {n}")
            sd = SD * np.sqrt(DF / rng.chisquare(DF, repetitions))
            draws = gain + rng.normal(0.0, 1.0, (repetitions, n)) * sd[:, None]
            share = np.mean([moderated_p(Moments.of(r.tolist()), SD, DF) < ALPHA for r in draws])
            what = "type I" if gain == 0 else f"power at a gain of {gain}"
            slack = slack_of(0.01, repetitions) if gain == 0 else 0.0
            name = f"moderated t, {n} runs: {what}"
            yield Result(name, float(share), target, gain == 0, slack)
            if gain:
                plain = float(np.mean(t_p(draws) < ALPHA))
                yield Result("  Student's t for comparison", plain, 1.0, True)


def estimates(repetitions: int) -> Iterator[Result]:
    """The estimate of the prior from 60 groups of 3 to 12 runs: median relative error of its sd."""
    rng = generator("prior")
    errors = []
    for _ in range(max(repetitions // 50, 20)):
        groups = []
        for n in rng.integers(3, 13, 60):
            sd = SD * np.sqrt(DF / rng.chisquare(DF))
            groups.append(Moments.of(rng.normal(0.0, sd, n).tolist()))
        errors.append(abs(estimate_prior(groups).sd / SD - 1))
    yield Result("prior from 60 groups: its sd is off by", float(np.median(errors)), 0.1, True)
    for passing in (False, True):
        share = _of_estimated_prior(max(repetitions // 50, 20), passing)
        words = "groups that passed" if passing else "53 groups"
        yield Result(f"  moderated t, prior estimated from {words}: type I", share, 1.0, True)


def _of_estimated_prior(repetitions: int, passing: bool) -> float:
    """Type I with four runs, where the prior comes from 53 groups of 2 to 10 runs; with `passing`
    from groups that were filed because they passed Student's test."""
    rng = generator(f"estimated prior {passing}")
    rejected = []
    for _ in range(repetitions):
        groups: list[Moments] = []
        while len(groups) < 53:
            sd = SD * np.sqrt(DF / rng.chisquare(DF))
            runs = rng.normal(rng.uniform(0.0, 0.004), sd, rng.integers(2, 11))
            if not passing or t_p(runs) < ALPHA:
                groups.append(Moments.of(runs.tolist()))
        prior = estimate_prior(groups)
        spread = SD * np.sqrt(DF / rng.chisquare(DF, 1000))
        draws = [Moments.of(r) for r in (rng.normal(size=(1000, 4)) * spread[:, None]).tolist()]
        rejected += [moderated_p(m, prior.sd, prior.df) < ALPHA for m in draws]
    return float(np.mean(rejected))
