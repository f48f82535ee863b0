"""Moderated t: against the mixture of normals that it stands for, and known groups."""

import math

import numpy as np
import pytest
import scipy.integrate as integrate
import scipy.special as special
import scipy.stats as stats

from bot.compute.moderated import estimate_prior, moderated_p, moderated_sd, moderated_statistic
from bot.compute.significance import t_p
from bot.model.summary import Moments


def by_integration(gain: Moments, sd: float, df: float) -> float:
    """P(true mean gain <= 0): the normal tail averaged over the posterior of the variance."""
    assert gain.sd is not None
    freedom = df + gain.n - 1
    squares = df * sd**2 + (gain.n - 1) * gain.sd**2

    def at(x: float) -> float:
        sigma = math.sqrt(squares / x)
        tail = stats.norm.sf(gain.mean * math.sqrt(gain.n) / sigma)
        return float(tail * stats.chi2.pdf(x, freedom))

    return float(integrate.quad(at, 0, np.inf, epsabs=1e-13, limit=200)[0])


@pytest.mark.parametrize("gain", [Moments(4, 0.002, 0.0013), Moments(2, 0.001, 0.0002)])
def test_p_is_the_normal_tail_over_all_spreads_that_the_prior_allows(gain: Moments) -> None:
    assert moderated_p(gain, 0.00126, 8.0) == pytest.approx(
        by_integration(gain, 0.00126, 8.0), rel=1e-6
    )


def test_without_a_prior_it_is_students_test() -> None:
    gain = Moments(5, 0.001, 0.0009)
    assert moderated_p(gain, 1.0, 1e-12) == pytest.approx(t_p(gain), rel=1e-6)


def test_a_better_last_run_never_makes_p_worse() -> None:
    """Student's p goes from 0.00019 to 0.134 when the third run is much better than the others."""
    losses = [3.2771, 3.2772]
    found = [
        moderated_p(Moments.of([*losses, last]).gain(3.28, "min"), 0.00126, 8.0)
        for last in (3.2772, 3.2765, 3.2755, 3.2745)
    ]
    assert found == sorted(found, reverse=True)


def test_one_run_has_the_prior_as_its_spread() -> None:
    assert moderated_sd(Moments(1, 0.002, None), 0.00126, 8.0) == pytest.approx(0.00126)
    assert moderated_statistic(Moments(1, 0.00126, None), 0.00126, 8.0) == pytest.approx(1.0)


def test_the_prior_of_equal_groups_is_their_pooled_spread() -> None:
    prior = estimate_prior([Moments(5, 0.0, 0.001)] * 10)
    assert prior.pooled_sd == pytest.approx(0.001) and prior.pooled_df == 40
    assert prior.df == 1e6
    # All variances alike is less spread than chance gives: e = log v - digamma(2) + log 2.
    centre = math.log(1e-6) - float(special.digamma(2)) + math.log(2)
    assert prior.sd == pytest.approx(math.exp(centre / 2))


def test_the_prior_is_found_again_in_many_groups() -> None:
    rng = np.random.default_rng(7)
    sds = 0.002 * np.sqrt(6 / rng.chisquare(6, 4000)) * np.sqrt(rng.chisquare(4, 4000) / 4)
    prior = estimate_prior([Moments(5, 0.0, float(s)) for s in sds])
    assert prior.sd == pytest.approx(0.002, rel=0.03)
    assert prior.df == pytest.approx(6, rel=0.15)


def test_two_groups_are_too_few_for_a_prior() -> None:
    with pytest.raises(ValueError, match="2 groups have a spread, and at least 3 are needed"):
        estimate_prior([Moments(3, 0.0, 0.1), Moments(3, 0.0, 0.2), Moments(1, 0.0, None)])


def test_three_groups_are_enough_for_a_prior() -> None:
    assert estimate_prior([Moments(3, 0.0, sd) for sd in (0.1, 0.2, 0.3)]).groups == 3


def prior_of(groups: list[Moments]) -> tuple[float, float]:
    """(sd, what trigamma(df / 2) is) by the moments of log variances, Smyth 2004, section 6.2."""
    d = np.array([m.n - 1 for m in groups])
    e = np.log([(m.sd or 0.0) ** 2 for m in groups]) - special.digamma(d / 2) + np.log(d / 2)
    return e.mean(), e.var(ddof=1) - special.polygamma(1, d / 2).mean()


@pytest.mark.parametrize(
    "spreads",
    [
        [(3, 0.1), (5, 0.7), (9, 0.02)],
        [(5, 0.001), (5, 0.003), (9, 0.001), (4, 0.004)],
        [(400, 0.1), (500, 0.11), (600, 0.12), (700, 0.10)],
        [(5000, 0.1), (5000, 0.102), (6000, 0.1)],
        [(2, 1e-9), (2, 1.0), (2, 1e9)],
    ],
)
def test_the_prior_has_the_moments_of_the_log_variances(spreads: list[tuple[int, float]]) -> None:
    groups = [Moments(n, 0.0, sd) for n, sd in spreads]
    prior, (centre, beyond) = estimate_prior(groups), prior_of(groups)
    assert beyond > 0 and special.polygamma(1, prior.df / 2) == pytest.approx(beyond, rel=1e-9)
    shift = special.digamma(prior.df / 2) - math.log(prior.df / 2)
    assert prior.sd == pytest.approx(math.exp((centre + shift) / 2), rel=1e-9)
    total = sum(n - 1 for n, _ in spreads)
    squares = sum((n - 1) * sd**2 for n, sd in spreads)
    assert prior.pooled_sd == pytest.approx(math.sqrt(squares / total))
    assert (prior.pooled_df, prior.groups) == (total, len(spreads))


def test_groups_without_a_spread_are_left_out() -> None:
    groups = [Moments(3, 0.0, 0.1), Moments(4, 0.0, 0.9), Moments(5, 0.0, 0.3)]
    assert estimate_prior([*groups, Moments(1, 0.0, None), Moments(4, 0.0, 0.0)]) == estimate_prior(
        groups
    )


def test_p_by_hand() -> None:
    """(2 x 0.01 + 3 x 0.04) / 5 = 0.028; 0.1 x sqrt(4 / 0.028) with 5 degrees of freedom."""
    gain = Moments(4, 0.1, 0.2)
    assert moderated_sd(gain, 0.1, 2.0) == pytest.approx(math.sqrt(0.028))
    statistic = 0.1 * math.sqrt(4 / 0.028)
    assert moderated_statistic(gain, 0.1, 2.0) == pytest.approx(statistic)
    assert moderated_p(gain, 0.1, 2.0) == pytest.approx(stats.t.sf(statistic, 5))
