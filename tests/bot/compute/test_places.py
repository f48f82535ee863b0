"""Rank intervals: Holm against statsmodels, pairs against scipy, and what the intervals mean."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats as stats
from statsmodels.stats.multitest import multipletests

from bot.compute.places import rank_intervals, rank_intervals_known
from bot.model.summary import Moments


def by_hand(costs: list[list[float]], alpha: float) -> list[tuple[int, int]]:
    """Every ordered pair is a claim: the first is better."""
    pairs = list(itertools.permutations(range(len(costs)), 2))
    found = [
        stats.ttest_ind(costs[a], costs[b], equal_var=False, alternative="less").pvalue
        for a, b in pairs
    ]
    rejected = multipletests(found, alpha, method="holm")[0]
    low, high = [1] * len(costs), [len(costs)] * len(costs)
    for (better, worse), apart in zip(pairs, rejected, strict=True):
        if apart:
            low[worse] += 1
            high[better] -= 1
    return list(zip(low, high, strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_intervals_are_those_of_scipy_and_statsmodels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = [rng.normal(70 + rng.normal(), 0.3, rng.integers(3, 8)).tolist() for _ in range(9)]
    moments = [Moments.of(c) for c in costs]
    assert rank_intervals(moments, 0.05) == by_hand(costs, 0.05)


def test_a_single_run_may_have_any_rank() -> None:
    clear = [Moments.of([10.0, 10.1, 9.9]), Moments.of([20.0, 20.1, 19.9]), Moments.of([5.0])]
    assert rank_intervals(clear) == [(1, 2), (2, 3), (1, 3)]


def test_two_runs_are_not_told_apart_and_three_are() -> None:
    two = [Moments.of([10.0, 10.1]), Moments.of([20.0, 20.1, 19.9])]
    assert rank_intervals(two) == [(1, 2), (1, 2)]
    assert rank_intervals([Moments.of([10.0, 10.1, 9.9]), two[1]]) == [(1, 1), (2, 2)]


def test_equal_runs_without_spread_are_not_told_apart() -> None:
    for other in (5.0, 500.0):
        alike = [Moments.of([4.0] * 3), Moments.of([other] * 3)]
        assert rank_intervals(alike) == [(1, 2), (1, 2)]
    # One of them varies: 1 sqrt(3) / 0.1 = 17 with two degrees of freedom, p = 0.003.
    varies = [Moments.of([4.0] * 3), Moments.of([4.9, 5.0, 5.1])]
    assert rank_intervals(varies) == [(1, 1), (2, 2)]


def test_more_is_better_turns_the_order() -> None:
    found = rank_intervals(
        [Moments.of([10.0, 10.1, 10.2]), Moments.of([20.0, 20.1, 20.2])], goal="max"
    )
    assert found == [(2, 2), (1, 1)]


def test_a_new_entry_in_between_does_not_regroup_the_others() -> None:
    board = [Moments.of([m, m + 0.1, m - 0.1]) for m in (10.0, 20.0, 30.0)]
    before = rank_intervals(board)
    after = rank_intervals([*board, Moments.of([20.05, 19.9, 20.2])])
    assert before == [(1, 1), (2, 2), (3, 3)]
    assert after == [(1, 1), (2, 3), (4, 4), (2, 3)]


def test_too_many_entries_are_refused() -> None:
    assert rank_intervals_known([1.0] * 1000, [1] * 1000, 1.0) == [(1, 1000)] * 1000
    with pytest.raises(ValueError, match="1001 entries"):
        rank_intervals([Moments(2, 1.0, 0.1)] * 1001)


@pytest.mark.parametrize(("sigma", "told"), [(0.99, True), (1.01, False)])
@pytest.mark.parametrize(
    ("scores", "runs"),
    [
        ((10.0, 10 + 1.96 * math.sqrt(2)), (1, 1)),
        ((10.0, 10 - 1.96 * math.sqrt(1 / 4 + 1)), (4, 1)),
        ((0.0, 1.96 * math.sqrt(1 / 9 + 1 / 4)), (9, 4)),
    ],
)
def test_a_known_spread_tells_two_apart_at_five_percent(
    sigma: float, told: bool, scores: tuple[float, float], runs: tuple[int, int]
) -> None:
    """1.96 standard errors."""
    found = rank_intervals_known(scores, runs, sigma)
    first = 1 if scores[0] < scores[1] else 2
    assert found == ([(first, first), (3 - first, 3 - first)] if told else [(1, 2), (1, 2)])
    assert rank_intervals_known(scores, runs, sigma, 0.5) != [(1, 2), (1, 2)]


@pytest.mark.parametrize(("gap", "told"), [(2.78, True), (2.77, False)])
def test_the_spread_of_runs_tells_two_apart_at_five_percent(gap: float, told: bool) -> None:
    """Three runs each with an sd of sqrt(3 / 2), so a standard error of 1; t of 4 df is 2.776."""
    sd = math.sqrt(1.5)
    found = rank_intervals([Moments(3, 10.0, sd), Moments(3, 10.0 + gap, sd)])
    assert found == ([(1, 1), (2, 2)] if told else [(1, 2), (1, 2)])


def test_no_entry_and_one_entry() -> None:
    assert rank_intervals_known([], [], 1.0) == [] and rank_intervals_known([1.0], [1], 1) == [
        (1, 1)
    ]
    assert rank_intervals([]) == [] and rank_intervals([Moments.of([1.0])]) == [(1, 1)]
