"""Copies that drift away from their originals, and copies whose noise fades: both are nearer than
seeds are, each at its limit."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pytest

from bot.compute import alike
from bot.compute.aligned import scatter_at, seeds_apart
from bot.model.run import Validation
from bot.model.trace import Trace
from tests.bot.rules.run_cases import a_case, a_run, found

N = 16
SHARES = [(n + 1) / N for n in range(N)]
SCATTER = (9.0, 5.9, 3.2, 2.4, 2.0, 1.7, 1.4, 1.3, 1.2, 1.15, 1.15)
"""Thousandths, after each tenth of the steps."""
Drift = Callable[[float], float]


def scatter(share: float) -> float:
    left = min(int(share * 10), 9)
    return (SCATTER[left] + (share * 10 - left) * (SCATTER[left + 1] - SCATTER[left])) / 1000


def training(seed: int) -> list[float]:
    """A run as seeds make them: the same curve, and a scatter that shrinks."""
    draw = random.Random(seed)
    return [3.28 + 3 * (1 - x) ** 3 + draw.gauss(0, scatter(x)) for x in SHARES]


def copied(losses: Sequence[float], noise: Drift, seed: int, drift: Drift = lambda x: 0.0) -> Trace:
    draw = random.Random(1000 + seed)
    return trace(
        [x * (1 + drift(s)) + draw.gauss(0, noise(s)) for s, x in zip(SHARES, losses, strict=True)]
    )


def trace(losses: Sequence[float]) -> Trace:
    return Trace(tuple((100 * (n + 1), round(x, 4)) for n, x in enumerate(losses)))


DRIFTS: list[Drift] = [
    lambda x: 0.004 * x,
    lambda x: 0.01 * x - 0.012 * x * x,
    lambda x: 0.02 - x / 90,
]


def fading(early: float) -> Drift:
    """Noise of so many times the scatter of seeds at first, and as much as theirs at the end."""
    return lambda x: scatter(x) * (early + (1 - early) * max(0.0, 2 * x - 1))


def test_the_scatter_of_seeds_shrinks() -> None:
    for share in (0.0, 0.05, 0.1, 0.55, 0.93, 1.0):
        assert scatter_at(share) == pytest.approx(scatter(share))


def test_a_distance_is_a_multiple_of_that_scatter() -> None:
    """By signs that no quadratic follows: the drift leaves all of it but three degrees."""
    signs = [(1, -1, -1, 1)[n % 4] for n in range(N)]
    pairs = [
        (100.0 * (n + 1), 3.3, 3.3 * math.exp(s * 0.2 * scatter(x) / 3.3))
        for n, (x, s) in enumerate(zip(SHARES, signs, strict=True))
    ]
    whole, half, drift = seeds_apart(pairs)
    assert (whole, half) == pytest.approx((0.2, 0.2))
    assert 0.2 < drift < 0.2 * math.sqrt(N / (N - 3)) + 1e-9
    for move in DRIFTS:
        moved = [(s, x, y * math.exp(move(s / 1600))) for s, x, y in pairs]
        assert seeds_apart(moved).drift == pytest.approx(drift)
        assert seeds_apart(moved).whole > 0.5
    assert seeds_apart(pairs[:7]).whole == math.inf, "seven points tell nothing"
    assert seeds_apart(pairs[:8]).half < seeds_apart(pairs[:8]).drift < math.inf
    assert seeds_apart([*pairs[:-1], (1600.0, 0.0, 3.3)]).drift == math.inf


@pytest.mark.parametrize("drift", DRIFTS)
def test_copies_that_drift_are_found(drift: Drift) -> None:
    theirs = [training(n) for n in range(6)]
    originals = [trace(x) for x in theirs]
    mine = [copied(x, lambda _: 2e-4, n, drift) for n, x in enumerate(theirs)]
    pairs = {(p.a, p.b) for p in alike.across(mine[:4], originals)}
    assert pairs and pairs <= {(n, n) for n in range(4)}
    one = copied(theirs[0], lambda _: 5e-5, 0, drift)
    assert [(p.a, p.b) for p in alike.within([*originals, one])] == [(0, 6)], "one is enough"
    group = [copied(theirs[0], lambda _: 1.5e-4, n, drift) for n in range(5)]
    assert alike.within(group)


@pytest.mark.parametrize(("early", "told"), [(0.15, True), (0.25, True), (0.8, False)])
def test_a_set_that_is_used_twice_with_noise_that_fades(early: float, told: bool) -> None:
    theirs = [training(n) for n in range(6)]
    originals = [trace(x) for x in theirs]
    mine = [copied(x, fading(early), n) for n, x in enumerate(theirs)]
    assert bool(alike.across(mine, originals)) is told
    both = alike.within([*originals, *mine])
    if early < 0.2:
        assert both and {(p.a, p.b) for p in both} <= {(n, n + 6) for n in range(6)}
    assert told or not both


@pytest.mark.parametrize("n", range(20))
def test_trainings_are_not_copies_that_drift(n: int) -> None:
    runs = [trace(training(100 + 20 * n + k)) for k in range(12)]
    assert alike.within(runs[:6]) == () == alike.across(runs[:5], runs[5:])


def test_the_message_says_that_a_drift_was_taken_out() -> None:
    runs = [training(0), training(1)]
    again = copied(runs[0], lambda _: 5e-5, 0, DRIFTS[2])
    case = a_case(
        [
            a_run(
                n, validation=tuple(Validation(s, x, s * 0.05 * (1 + n / 97)) for s, x in t.losses)
            )
            for n, t in enumerate([*map(trace, runs), again])
        ]
    )
    (item,) = found("duplicate-run", case)
    assert "2 runs are 0.00" in item.message
    assert "nats (with a drift taken out) apart over their whole curves" in item.message
