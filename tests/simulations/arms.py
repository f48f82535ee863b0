"""Two equal arms on a machine that drifts; and the ratio of a chain of sessions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bot.compute.ratios import Link, chained
from bot.compute.significance import paired, welch
from reference_trainer.runs import in_turn
from tests.simulations.common import Result, generator, slack_of

ALPHA, PAIRS = 0.01, 8
COST, SPREAD = 70.0, 0.4


def simulate(repetitions: int) -> Iterator[Result]:
    """Type I of both tests under a drift of one sd a run, in the order that the trainer takes."""
    order = [arm for pair in range(PAIRS) for arm in in_turn("ab", pair)]
    first = np.array([place for place, arm in enumerate(order) if arm == "a"])
    second = np.array([place for place, arm in enumerate(order) if arm == "b"])
    rng = generator("drift")
    base = COST + SPREAD * np.arange(len(order))
    draws = base + rng.normal(0.0, SPREAD, (repetitions, len(order)))
    for name, test in (("paired", paired), ("welch", welch)):
        found = [test(row[first].tolist(), row[second].tolist()).p for row in draws]
        share = float(np.mean([p is not None and p < ALPHA for p in found]))
        label = f"drift of one sd a run, 8 runs an arm, {name}: type I"
        yield Result(label, share, 0.012, True, slack_of(0.012, repetitions))


def unlike(repetitions: int) -> Iterator[Result]:
    """Type I of Welch's test of three runs beside three and eight, with spreads up to four times
    apart: an approximation, held to twice alpha."""
    for others, wide in ((3, 1.0), (3, 4.0), (8, 1.0), (8, 4.0)):
        rng = generator(f"unlike {others} {wide}")
        few = rng.normal(COST, SPREAD * wide, (repetitions, 3)).tolist()
        many = rng.normal(COST, SPREAD, (repetitions, others)).tolist()
        found = [welch(a, b).p for a, b in zip(few, many, strict=True)]
        share = float(np.mean([p is not None and p < ALPHA for p in found]))
        name = f"welch, 3 runs and {others}, spread of the 3 times {wide:g}: type I"
        yield Result(name, share, 2 * ALPHA, True, slack_of(2 * ALPHA, repetitions))


def chains(repetitions: int) -> Iterator[Result]:
    """Coverage of the interval of a product of four ratios of three runs an arm, from the degrees
    of freedom of each link, and from the intervals alone, which is what a track file keeps."""
    rng = generator("chain")
    arms = COST * np.exp(rng.normal(0.0, 0.005, (repetitions, 4, 2, 3)))
    inside = kept = 0
    for row in arms:
        links, frozen = [], []
        for a, b in row:
            ratio = a.mean() / b.mean()
            va, vb = (x.var(ddof=1) / x.mean() ** 2 / len(x) for x in (a, b))
            df = (va + vb) ** 2 / (va**2 / 2 + vb**2 / 2)
            links.append(Link(float(ratio), float(va + vb), float(df)))
            frozen.append(Link.of(float(ratio), welch(a.tolist(), b.tolist()).ratio_interval))
        inside += _holds_one(chained(links).interval)
        kept += _holds_one(chained(frozen).interval)
    yield Result("ratio over four links: interval covers", inside / repetitions, 0.94, False)
    name = "ratio over four links, from intervals: interval covers"
    yield Result(name, kept / repetitions, 0.94, False)


def _holds_one(bounds: tuple[float, float] | None) -> bool:
    return bounds is not None and bounds[0] <= 1 <= bounds[1]
