"""Tests, intervals and power against scipy and statsmodels, and by their properties."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st

from bot.compute import significance as sig
from bot.model.summary import Moments

sizes = st.integers(2, 40)
values = st.floats(3.2, 3.4).map(lambda v: round(v, 4))
samples = st.lists(values, min_size=2, max_size=40).filter(lambda v: min(v) < max(v))


def generated(count: int) -> list[tuple[list[float], list[float]]]:
    """`count` pairs of samples of the sizes and spreads that training runs have."""
    draw = random.Random(20260101)
    pairs = []
    for _ in range(count):
        mean, sd = draw.uniform(3.275, 3.281), draw.uniform(0.0004, 0.004)
        n, m = draw.randint(2, 30), draw.randint(2, 30)
        first = [round(draw.gauss(mean, sd), 5) for _ in range(n)]
        second = [round(draw.gauss(mean + 0.001, sd * draw.uniform(0.5, 2)), 5) for _ in range(m)]
        pairs.append((first, second))
    return pairs


# ---- Reference: scipy --------------------------------------------------------------------------


@given(samples)
def test_the_t_test_is_scipys(sample: list[float]) -> None:
    want = scipy.stats.ttest_1samp(sample, 3.28, alternative="less").pvalue
    got = sig.t_p(Moments.of(sample).gain(3.28, "min"))
    assert got == pytest.approx(want, rel=1e-9, abs=1e-300)


@given(samples, st.sampled_from(["min", "max"]))
def test_moments_and_interval_are_numpys_and_scipys(sample: list[float], goal: str) -> None:
    m = Moments.of(sample)
    assert m.mean == pytest.approx(np.mean(sample), rel=1e-12)
    assert m.sd == pytest.approx(np.std(sample, ddof=1), rel=1e-9)
    want = scipy.stats.ttest_1samp(sample, 0).confidence_interval(0.95)
    assert sig.interval(m) == pytest.approx((want.low, want.high), rel=1e-9)
    assert m.gain(3.28, goal).mean == (3.28 - m.mean if goal == "min" else m.mean - 3.28)


@given(st.floats(-8, 8), st.integers(1, 600))
def test_the_normal_and_pooled_tails_are_scipys(z: float, df: int) -> None:
    assert sig.normal_tail(z) == pytest.approx(scipy.stats.norm.sf(z), rel=1e-12)
    assert sig.pooled_p(Moments(1, z, None), 1.0, df) == pytest.approx(
        scipy.stats.t.sf(z, df), rel=1e-9
    )


@given(samples, samples)
def test_welch_is_scipys(a: list[float], b: list[float]) -> None:
    want = scipy.stats.ttest_ind(a, b, equal_var=False, alternative="less")
    got = sig.welch(a, b)
    assert got.p == pytest.approx(want.pvalue, rel=1e-8, abs=1e-300)
    assert got.statistic == pytest.approx(want.statistic, rel=1e-8, abs=1e-12)
    assert got.df == pytest.approx(want.df, rel=1e-8)


@given(st.lists(st.tuples(values, values), min_size=2, max_size=20))
def test_the_paired_test_is_scipys_on_log_ratios(pairs: list[tuple[float, float]]) -> None:
    a, b = zip(*pairs, strict=True)
    logs = [math.log(x / y) for x, y in pairs]
    assume(min(logs) < max(logs))
    want = scipy.stats.ttest_1samp(logs, 0, alternative="less")
    got = sig.paired(a, b)
    assert got.p == pytest.approx(want.pvalue, rel=1e-7, abs=1e-300)
    low, high = scipy.stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    assert got.ratio_interval == pytest.approx((math.exp(low), math.exp(high)), rel=1e-9)


# ---- Second implementation: statsmodels --------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), generated(50))
def test_fifty_cases_agree_with_statsmodels(a: list[float], b: list[float]) -> None:
    weightstats = pytest.importorskip("statsmodels.stats.weightstats")
    described = weightstats.DescrStatsW(a)
    statistic, p, _ = described.ttest_mean(3.28, alternative="smaller")
    gain = Moments.of(a).gain(3.28, "min")
    assert sig.t_p(gain) == pytest.approx(p, rel=1e-8)
    assert sig.t_statistic(gain) == pytest.approx(-statistic, rel=1e-8)
    assert sig.interval(Moments.of(a)) == pytest.approx(described.tconfint_mean(0.05), rel=1e-9)
    statistic, p, df = weightstats.ttest_ind(a, b, alternative="smaller", usevar="unequal")
    got = sig.welch(a, b)
    assert (got.statistic, got.p, got.df) == pytest.approx((statistic, p, df), rel=1e-7)
    _, p = weightstats.ztest(a, value=3.28, alternative="smaller")
    assert sig.z_p(gain, gain.sd or 1.0) == pytest.approx(p, rel=1e-8)


# ---- Properties --------------------------------------------------------------------------------


@given(samples, samples)
def test_swapping_the_arms_inverts_the_ratio_and_its_interval(
    a: list[float], b: list[float]
) -> None:
    one, two = sig.welch(a, b), sig.welch(b, a)
    assert one.ratio is not None and two.ratio is not None
    assert one.ratio_interval is not None and two.ratio_interval is not None
    assert one.ratio == pytest.approx(1 / two.ratio)
    assert one.ratio_interval[0] == pytest.approx(1 / two.ratio_interval[1])
    assert one.p == pytest.approx(1 - (two.p or 0.0), abs=1e-9)


def test_the_ratios_interval_is_fiellers_at_the_spread_of_times() -> None:
    a, b = [84.43, 84.51, 84.38, 84.47], [85.40, 85.33, 85.47]
    got = sig.welch(a, b).ratio_interval
    x, y = Moments.of(a), Moments.of(b)
    assert x.sd and y.sd and got
    vx, vy = x.sd**2 / x.n, y.sd**2 / y.n
    r = x.mean / y.mean
    df = (vx + r**2 * vy) ** 2 / (vx**2 / (x.n - 1) + (r**2 * vy) ** 2 / (y.n - 1))
    t = scipy.stats.t.ppf(0.975, df)
    g = t**2 * vy / y.mean**2
    half = t / y.mean * math.sqrt(vx * (1 - g) + r**2 * vy) / (1 - g)
    assert got == pytest.approx((r / (1 - g) - half, r / (1 - g) + half), rel=1e-4)


@given(samples)
def test_needed_runs_is_the_fewest_that_pass(sample: list[float]) -> None:
    gain = Moments.of(sample).gain(3.35, "min")
    need = sig.needed_runs(gain, passes, None)
    if gain.mean <= 0:
        assert need is None
        return
    if need is None:  # a gain so small that ten million runs do not show it
        assert not passes(Moments(10_000_000, gain.mean, gain.sd))
        return
    assert passes(Moments(gain.n + need, gain.mean, gain.sd))
    if need:
        assert not passes(Moments(gain.n + need - 1, gain.mean, gain.sd))


def passes(gain: Moments) -> bool:
    p = sig.t_p(gain)
    return p is not None and p < 0.01


@given(samples, st.floats(0.0001, 0.01))
def test_a_better_mean_never_has_a_worse_p(sample: list[float], better: float) -> None:
    gain = Moments.of(sample).gain(3.3, "min")
    more = Moments(gain.n, gain.mean + better, gain.sd)
    for test in (sig.t_p, sig.anytime_p, lambda g: sig.z_p(g, 0.01)):
        first, second = test(gain), test(more)
        assert first is not None and second is not None
        assert second <= first + 1e-12


@given(samples)
def test_the_anytime_test_asks_for_more_than_the_fixed_one(sample: list[float]) -> None:
    gain = Moments.of(sample).gain(3.3, "min")
    fixed, anytime = sig.t_p(gain), sig.anytime_p(gain)
    assert fixed is not None and anytime is not None
    assert 0 <= anytime <= 1
    if fixed < 0.2:
        assert anytime >= fixed


def test_the_anytime_e_value_is_the_integral_that_it_stands_for() -> None:
    y = [0.9, 1.6, -0.2, 1.1, 2.0]
    n = len(y)

    def evidence(density: np.ndarray, effects: np.ndarray) -> float:
        # Right Haar measure d sigma / sigma, effects d = mean / sigma, on a fine grid.
        sigma = np.exp(np.linspace(math.log(0.05), math.log(60), 4001))
        grid = np.zeros_like(sigma)
        for d, weight in zip(effects, density, strict=True):
            squares = sum((v - d * sigma) ** 2 for v in y)
            grid += weight * sigma ** (-n) * np.exp(-squares / (2 * sigma**2))
        return float(np.trapezoid(grid, np.log(sigma)))

    effects = np.linspace(0, 8, 3001)
    prior = 2 * scipy.stats.norm.pdf(effects) * (effects[1] - effects[0])
    prior[0] /= 2
    e = evidence(prior, effects) / evidence(np.array([1.0]), np.array([0.0]))
    assert sig.anytime_p(Moments.of(y)) == pytest.approx(1 / e, rel=1e-3)


def test_the_known_sigma_e_value_is_the_integral_that_it_stands_for() -> None:
    y, sigma = [0.002, 0.001, 0.003], 0.0013
    effects = np.linspace(0, 10, 20001)
    s = sum(y) / sigma
    likelihood = np.exp(effects * s - len(y) * effects**2 / 2)
    e = np.trapezoid(2 * scipy.stats.norm.pdf(effects) * likelihood, effects)
    assert sig.anytime_p(Moments.of(y), sigma) == pytest.approx(1 / e, rel=1e-6)


# ---- Edges -------------------------------------------------------------------------------------


def test_one_run_has_no_p_and_no_interval() -> None:
    one = Moments.of([3.27])
    assert (one.sd, sig.t_p(one), sig.interval(one), sig.anytime_p(one)) == (None,) * 4


def test_equal_values_prove_nothing() -> None:
    same = Moments.of([3.27, 3.27, 3.27])
    assert same.sd == 0.0
    assert sig.t_p(same.gain(3.28, "min")) is sig.t_p(same.gain(3.26, "min")) is None
    need = sig.needed_runs(same.gain(3.28, "min"), passes, 0.0013)
    assert need is not None and passes(Moments(3 + need, 0.01, 0.0013))


@pytest.mark.parametrize("bad", [[], [math.nan], [3.2, math.inf]])
def test_no_number_comes_of_no_numbers(bad: list[float]) -> None:
    with pytest.raises(ValueError):
        Moments.of(bad)


def test_needed_runs_of_one_run_takes_the_guessed_sd() -> None:
    one = Moments.of([3.275]).gain(3.28, "min")
    assert sig.needed_runs(one, passes, None) is None
    need = sig.needed_runs(one, passes, 0.0013)
    assert need is not None and passes(Moments(1 + need, one.mean, 0.0013))


def test_a_hopeless_number_of_runs_is_none() -> None:
    tiny = Moments(5, 1e-12, 1.0)
    assert sig.needed_runs(tiny, passes, None) is None


def test_arms_without_spread_have_a_ratio_and_no_test() -> None:
    got = sig.welch([90.0, 90.0], [100.0, 100.0])
    assert (got.ratio, got.p, got.ratio_interval) == (0.9, None, None)
    single = sig.welch([90.0], [100.0, 101.0])
    assert single.ratio == pytest.approx(90 / 100.5) and single.p is None


def test_an_interval_is_that_of_95_per_cent() -> None:
    """t of 3 degrees of freedom: 3.182446 at 97.5 %."""
    half = 3.182446 * 0.1 / 2
    assert sig.interval(Moments(4, 1.0, 0.1)) == pytest.approx((1 - half, 1 + half))
    assert (
        sig.interval(Moments(4, 1.0, 0.0)) is None and sig.interval(Moments(1, 1.0, None)) is None
    )


@pytest.mark.parametrize("n", [2, 3, 4, 10])
def test_runs_are_too_alike_below_the_one_per_cent_point(n: int) -> None:
    bound = 0.002 * math.sqrt(scipy.stats.chi2.ppf(0.01, n - 1) / (n - 1))
    assert sig.alike_below(n, 0.002) == pytest.approx(bound)
    assert sig.too_alike(0.999 * bound, n, 0.002) and not sig.too_alike(1.001 * bound, n, 0.002)
    assert not sig.too_alike(sig.alike_below(n, 0.002), n, 0.002)
    assert not sig.too_alike(None, n, 0.002)


@pytest.mark.parametrize(("reached", "found"), [(-1e-9, True), (-1.1e-9, False), (1.0, True)])
def test_a_bound_is_reached_up_to_the_noise_of_floats(reached: float, found: bool) -> None:
    assert sig.reaches(reached, 0.0) is found


@pytest.mark.parametrize(("high", "known"), [(1.4, True), (1.25, False)])
def test_an_interval_of_means_near_zero_says_nothing(high: float, known: bool) -> None:
    """Half of it is t x sd / mean / sqrt(2) = 12.706 x 1.2 / 0.2 = 76, and 12.706 x 9 = 114."""
    found = sig.welch([-1.0, high], [1.0, 1.0])
    assert found.ratio == pytest.approx((high - 1) / 2)
    assert (found.ratio_interval is not None) is known
    if found.ratio_interval:
        half = math.log(found.ratio_interval[1] / found.ratio_interval[0]) / 2
        assert half == pytest.approx(12.7062 * 6, rel=1e-5)


@pytest.mark.parametrize(("log", "known"), [(7.8, True), (8.0, False)])
def test_an_interval_of_pairs_that_differ_wildly_says_nothing(log: float, known: bool) -> None:
    """The mean of -x and x has the error x, and half an interval of 12.706 x: 99.1 and 101.6."""
    found = sig.paired([math.exp(log), math.exp(-log)], [1.0, 1.0])
    assert (found.ratio_interval is not None) is known
    assert found.ratio == pytest.approx(1.0) and found.p == pytest.approx(0.5)
    assert found.df == 1


def test_the_p_of_a_cost_of_which_more_is_better_is_the_other_tail() -> None:
    a, b = [9.0, 9.1, 9.3], [9.1, 9.2, 9.3, 9.2]
    want = scipy.stats.ttest_ind(a, b, equal_var=False, alternative="greater").pvalue
    assert sig.welch(a, b, "max").p == pytest.approx(want)


def test_the_paired_statistic_is_that_of_the_smaller_cost() -> None:
    a, b = [9.0, 9.1, 9.3], [10.0, 10.0, 10.1]
    logs = [math.log(x / y) for x, y in zip(a, b, strict=True)]
    want = scipy.stats.ttest_1samp(logs, 0, alternative="less")
    found = sig.paired(a, b)
    assert (found.statistic, found.df) == (pytest.approx(want.statistic), 2)
    assert found.difference == pytest.approx(sum(a) / 3 - sum(b) / 3)
    assert sig.paired(a, b, "max").p == pytest.approx(1 - want.pvalue)


@pytest.mark.parametrize(
    ("gain", "sigma"),
    [(Moments(3, 0.0, 0.0), None), (Moments(5, -0.01, 1e-9), None), (Moments(5, -1.0, 0.1), 0.1)],
)
def test_runs_that_show_nothing_have_an_anytime_p_of_one(gain: Moments, sigma: float | None):
    assert sig.anytime_p(gain, sigma) == 1.0


@pytest.mark.parametrize(("only", "need"), [(4, 0), (5, 1), (67, 63), (68, 64), (69, None)])
def test_each_of_the_next_64_numbers_of_runs_is_tried(only: int, need: int | None) -> None:
    """A number that passes alone, as the last of some looks does."""
    assert sig.needed_runs(Moments(4, 0.1, 0.1), lambda m: m.n == only, None) == need


@pytest.mark.parametrize("seen", [4, 78_125])
@pytest.mark.parametrize(
    ("bound", "found"),
    [(5_000_001, True), (9_999_999, True), (10_000_000, True), (10_000_001, False)],
)
def test_numbers_up_to_ten_million_are_tried(seen: int, bound: int, found: bool) -> None:
    need = sig.needed_runs(Moments(seen, 0.1, 0.1), lambda m: m.n >= bound, None)
    assert need == (bound - seen if found else None)


@pytest.mark.parametrize(
    ("gain", "guess", "need"),
    [
        (Moments(4, 0.1, 0.1), None, 96),
        (Moments(4, 0.0, 0.1), None, None),
        (Moments(4, -0.1, 0.1), None, None),
        (Moments(1, 0.1, None), None, None),
        (Moments(1, 0.1, None), 0.2, 99),
        (Moments(4, 0.1, 0.0), None, None),
        (Moments(4, 0.1, 0.0), 0.2, 96),
    ],
)
def test_needed_runs_needs_a_gain_and_a_spread(
    gain: Moments, guess: float | None, need: int | None
) -> None:
    assert sig.needed_runs(gain, lambda m: m.n >= 100, guess) == need


@pytest.mark.parametrize(("sd", "statistic"), [(2e-300, None), (3e-300, 1e300 / 1.5), (None, None)])
def test_a_spread_that_rounds_away_is_none(sd: float | None, statistic: float | None) -> None:
    """The error of the mean of four runs is half their sd; at 1e-300 of the mean it counts as 0."""
    gain = Moments(4, 1.0, sd)
    assert sig.t_statistic(gain) == pytest.approx(statistic)
    assert (sig.t_p(gain) is None) is (statistic is None)


def test_the_pooled_test_takes_the_error_of_the_mean() -> None:
    """0.3 with an sd of 0.4 over four runs is 1.5 errors: p 0.0748 with 30 degrees of freedom."""
    assert sig.pooled_p(Moments(4, 0.3, 9.9), 0.4, 30) == pytest.approx(scipy.stats.t.sf(1.5, 30))


@pytest.mark.parametrize("gain", [Moments(400, -1.0, 1e-9), Moments(400, -1.0, 0.1)])
def test_many_runs_far_below_the_target_have_an_anytime_p_of_one(gain: Moments) -> None:
    assert sig.anytime_p(gain) == 1.0
