"""Tests, intervals and power: numbers in, numbers out.

A sample is a `Moments` of *gains*: target - value where less is better, value - target where more
is better, so that a positive mean gain is good whatever the track's goal. Every test is one-sided,
its null hypothesis is that the true mean gain is 0 or less. Standard deviations have ddof = 1.

scipy is imported on first use, so that commands without statistics do not pay for it.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from typing import Any

from bot.model.summary import Comparison, Moments

_MAX_RUNS = 10_000_000
# Float noise of a difference of two losses must not decide a bound that is met exactly.
SLACK = 1e-9
# Half an interval of a log ratio beyond which it says nothing and is left out.
_WIDEST = 100.0


# ---- One sample --------------------------------------------------------------------------------


def t_cdf(t: float, df: float) -> float:
    """P(T <= t) of Student's distribution."""
    return float(_special().stdtr(df, t))


def t_quantile(q: float, df: float) -> float:
    """The inverse of `t_cdf`."""
    return float(_special().stdtrit(df, q))


def normal_quantile(q: float) -> float:
    """The inverse of the standard normal distribution."""
    return float(_special().ndtri(q))


def normal_tail(z: float) -> float:
    """P(Z >= z) of the standard normal distribution."""
    return 0.5 * math.erfc(z / math.sqrt(2.0))


def t_statistic(gain: Moments) -> float | None:
    """Mean gain in standard errors; None for one run or a sample without spread."""
    error = 0.0 if gain.sd is None else gain.sd / math.sqrt(gain.n)
    # A spread that rounds away against the mean counts as zero.
    return gain.mean / error if error > abs(gain.mean) * 1e-300 else None


def t_p(gain: Moments) -> float | None:
    """Student's one-sample test; None where the runs show no spread: one run, or equal values.

    Losses are printed with four decimals, so two runs of a spread of 0.0013 print the same once in
    fifty times; p = 0 would make that a proof.
    """
    statistic = t_statistic(gain)
    return None if statistic is None else t_cdf(-statistic, gain.n - 1)


def z_p(gain: Moments, sigma: float) -> float:
    """The test with a known sigma: z = mean / (sigma / sqrt n)."""
    return normal_tail(gain.mean * math.sqrt(gain.n) / sigma)


def alike_below(n: int, pooled_sd: float) -> float:
    """The sd below which one in a hundred samples of `n` of the pooled spread lie: its sum of
    squares is at the 1 % point of chi-square."""
    return pooled_sd * math.sqrt(2 * float(_special().gammaincinv((n - 1) / 2, 0.01)) / (n - 1))


def too_alike(sd: float | None, n: int, pooled_sd: float) -> bool:
    """Whether a sample of `n` spreads less than all but one in a hundred of the pooled spread."""
    return sd is not None and sd < alike_below(n, pooled_sd)


def pooled_p(gain: Moments, sd: float, df: float) -> float:
    """The t-test with an sd pooled over many earlier groups, and its degrees of freedom."""
    return t_cdf(-gain.mean * math.sqrt(gain.n) / sd, df)


def interval(sample: Moments, level: float = 0.95) -> tuple[float, float] | None:
    """The two-sided t-interval of the mean; None for one run, and for runs that are all equal."""
    if not sample.sd:
        return None
    half = t_quantile(0.5 + level / 2, sample.n - 1) * sample.sd / math.sqrt(sample.n)
    return sample.mean - half, sample.mean + half


def anytime_p(gain: Moments, sigma: float | None = None) -> float | None:
    """A p-value that stays honest however often one looked and whenever one stopped.

    It is 1 / E with an e-value E: the evidence of a half-normal mixture over effect sizes d > 0
    (mean gain / sd), of variance 1, against d = 0. With sigma unknown it is integrated out under
    its right Haar measure, so E depends on the t-statistic alone and is a martingale where the
    true gain is 0 (Lai 1976, "On confidence sequences", Annals of Statistics 4; Perez-Ortiz, Lardy,
    de Heide, Grunwald 2024, "E-statistics, group invariance and anytime-valid testing", Annals of
    Statistics 52; Wang and Ramdas 2025, "Anytime-valid t-tests and confidence sequences for
    Gaussian means with unknown variance", Sequential Analysis 44). Working the integral out:

        E = 2 (n + 1)^(-1/2) c^(-n/2) F_n(b sqrt n)
        a = sum y / sqrt(sum y^2),  c = 1 - a^2 / (n + 1),  b = a / sqrt((n + 1) c)

    with F_n the t distribution function of n degrees of freedom. With a known sigma (Robbins 1970,
    "Statistical methods related to the law of the iterated logarithm") and S = sum y / sigma:

        E = 2 (n + 1)^(-1/2) exp(S^2 / (2 (n + 1))) Phi(S / sqrt(n + 1))

    By Ville's inequality P(E >= 1/alpha at any look) <= alpha. A true gain below 0 only lowers
    every look: shifting all runs lowers the t-statistic, and E rises with it. Only the last E
    counts, not the highest so far, so the order of the runs plays no part. None for one run with
    sigma unknown.

    In 20,000 repetitions with the true mean at the target and a look after each run up to 40, at
    alpha 0.01 the t-test accepted 7.9 % and this test 0.5 %, at 0.05 they accepted 26.6 % and
    2.4 %; with sigma known 6.7 % and 0.4 %, 24.0 % and 1.9 %
    (`python -m tests.benchmarks.anytime_simulation`).
    """
    log_e = _log_e_known(gain, sigma) if sigma is not None else _log_e_unknown(gain)
    return None if log_e is None else math.exp(min(0.0, -log_e))


def _log_e_known(gain: Moments, sigma: float) -> float:
    s, width = gain.mean * gain.n / sigma, gain.n + 1
    log_phi = _log_normal_cdf(s / math.sqrt(width))
    return math.log(2) - 0.5 * math.log(width) + s * s / (2 * width) + log_phi


def _log_e_unknown(gain: Moments) -> float | None:
    n, width = gain.n, gain.n + 1
    if gain.sd is None:
        return None
    squares = (n - 1) * gain.sd**2 + n * gain.mean**2
    if squares == 0.0:
        return 0.0
    a = n * gain.mean / math.sqrt(squares)
    c = 1 - a * a / width
    b = a / math.sqrt(width * c)
    tail = t_cdf(b * math.sqrt(n), n)
    if tail <= 0.0:
        return -math.inf
    return math.log(2) - 0.5 * math.log(width) - 0.5 * n * math.log(c) + math.log(tail)


def _log_normal_cdf(z: float) -> float:
    return float(_special().log_ndtr(z))


def _special() -> Any:
    """scipy.special, which loads in a tenth of the time of scipy.stats."""
    import scipy.special

    return scipy.special


# ---- Power -------------------------------------------------------------------------------------


def needed_runs(
    gain: Moments, passes: Callable[[Moments], bool], guess: float | None
) -> int | None:
    """The fewest further runs of the same mean and sd with which `passes` holds.

    0 where it holds already; None where the mean gain is not positive, where no number of runs
    up to ten million is enough, or where the runs show no spread and `guess` gives no sd.
    """
    sd = gain.sd if gain.sd else guess
    if passes(gain):
        return 0
    if gain.mean <= 0 or sd is None:
        return None

    def enough(n: int) -> bool:
        return passes(Moments(n, gain.mean, sd))

    far = gain.n + 65
    for n in range(gain.n + 1, far):
        if enough(n):
            return n - gain.n
    numbers = range(far, _MAX_RUNS + 1)
    place = bisect.bisect_left(numbers, True, key=enough)
    return numbers[place] - gain.n if place < len(numbers) else None


def reaches(value: float, bound: float) -> bool:
    """Whether `value` >= `bound`, float noise aside."""
    return value >= bound - SLACK


# ---- Two samples -------------------------------------------------------------------------------


def welch(a: Sequence[float], b: Sequence[float], goal: str = "min") -> Comparison:
    """Welch's test of a against b, and the ratio of means a / b with its 95 % interval.

    The interval is that of log(mean a) - log(mean b) by the delta method: variance
    (sd a / mean a)^2 / n a + (sd b / mean b)^2 / n b, degrees of freedom after Welch and
    Satterthwaite. Swapping the arms inverts it exactly, which Fieller's does too; at the spread of
    training times (under 1 %) the two agree to four digits.
    """
    x, y = Moments.of(a), Moments.of(b)
    ratio = x.mean / y.mean if x.mean > 0 and y.mean > 0 else None
    difference = x.mean - y.mean
    if x.sd is None or y.sd is None:
        return Comparison("welch", difference, None, None, None, ratio, None)
    test = _two_sample(difference, x.sd**2 / x.n, x.n, y.sd**2 / y.n, y.n)
    bounds = None
    if ratio is not None:
        relative = (x.sd / x.mean) ** 2 / x.n, (y.sd / y.mean) ** 2 / y.n
        bounds = _log_interval(ratio, relative[0], x.n, relative[1], y.n)
    if test is None:
        return Comparison("welch", difference, None, None, None, ratio, bounds)
    statistic, df = test
    p = t_cdf(statistic if goal == "min" else -statistic, df)
    return Comparison("welch", difference, statistic, df, p, ratio, bounds)


def paired(a: Sequence[float], b: Sequence[float], goal: str = "min") -> Comparison:
    """The t-test on log ratios of runs that were interleaved on one machine, pair by pair.

    `ratio` is the geometric mean of the ratios. Raises ValueError where the lengths differ or a
    value is not positive.
    """
    logs = [math.log(x / y) for x, y in zip(a, b, strict=True)]
    sample = Moments.of(logs)
    difference = math.fsum(a) / len(a) - math.fsum(b) / len(b)
    ratio = math.exp(sample.mean)
    bounds = interval(sample)
    gain = sample.gain(0.0, goal)
    statistic = t_statistic(gain)
    if bounds is None or statistic is None:
        return Comparison("paired", difference, None, None, None, ratio, None)
    limits = None
    if bounds[1] - bounds[0] < 2 * _WIDEST:
        limits = math.exp(bounds[0]), math.exp(bounds[1])
    return Comparison("paired", difference, -statistic, gain.n - 1, t_p(gain), ratio, limits)


def _two_sample(
    difference: float, vx: float, nx: int, vy: float, ny: int
) -> tuple[float, float] | None:
    """Welch's statistic and degrees of freedom; None where neither sample has any spread."""
    variance = vx + vy
    if variance <= 0.0:
        return None
    x, y = vx / variance, vy / variance
    df = 1 / (x**2 / (nx - 1) + y**2 / (ny - 1))
    return difference / math.sqrt(variance), df


def _log_interval(
    ratio: float, vx: float, nx: int, vy: float, ny: int
) -> tuple[float, float] | None:
    test = _two_sample(math.log(ratio), vx, nx, vy, ny)
    if test is None:
        return None
    half = t_quantile(0.975, test[1]) * math.sqrt(vx + vy)
    if half > _WIDEST:
        return None
    return ratio * math.exp(-half), ratio * math.exp(half)
