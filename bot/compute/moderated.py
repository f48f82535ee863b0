"""Small groups: a spread that is shrunk to what a track's groups usually show.

With two to four runs a group's own sd is nearly worthless, and one sd for all groups is wrong too,
because groups differ. Smyth (2004, "Linear models and empirical Bayes methods for assessing
differential expression", Statistical Applications in Genetics and Molecular Biology 3) takes the
variances of the groups as scaled inverse chi-squared around s0^2 with d0 degrees of freedom. The
group's variance is then

    s^2 = (d0 s0^2 + (n - 1) sd^2) / (d0 + n - 1)

and the mean gain over s / sqrt(n) has Student's distribution with d0 + n - 1 degrees of freedom.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Iterable

from bot.compute.significance import t_cdf
from bot.model.summary import Moments

_MOST_DF = 1e6
"""Degrees of freedom beyond which groups are taken to share one spread."""


@dc.dataclass(frozen=True, slots=True)
class Prior:
    """The usual spread `sd` of a group, worth `df` degrees of freedom.

    `pooled_sd` and `pooled_df` are the plain pooled figures of the same groups.
    """

    sd: float
    df: float
    pooled_sd: float
    pooled_df: int
    groups: int


def moderated_sd(gain: Moments, sd: float, df: float) -> float:
    """The group's sd shrunk to the prior; the prior itself for one run."""
    own = 0.0 if gain.sd is None else (gain.n - 1) * gain.sd**2
    return math.sqrt((df * sd**2 + own) / (df + gain.n - 1))


def moderated_statistic(gain: Moments, sd: float, df: float) -> float:
    """Mean gain in standard errors of the shrunk spread."""
    return gain.mean * math.sqrt(gain.n) / moderated_sd(gain, sd, df)


def moderated_p(gain: Moments, sd: float, df: float) -> float:
    """One-sided p for a true mean gain above 0, under the prior (`sd`, `df`)."""
    return t_cdf(-moderated_statistic(gain, sd, df), df + gain.n - 1)


def estimate_prior(groups: Iterable[Moments]) -> Prior:
    """The prior and the pooled spread of groups with at least two runs and some spread.

    Moments of log variances (Smyth 2004, section 6.2): e = log sd^2 - digamma(d / 2) + log(d / 2)
    has mean log s0^2 - digamma(d0 / 2) + log(d0 / 2), and its variance beyond trigamma(d / 2) is
    trigamma(d0 / 2). Raises ValueError for fewer than three groups, since two show no spread of
    spreads.
    """
    pairs = [(m.n - 1, m.sd**2) for m in groups if m.sd]
    if len(pairs) < 3:
        raise ValueError(f"{len(pairs)} groups have a spread, and at least 3 are needed")
    import scipy.special as special

    total = sum(d for d, _ in pairs)
    pooled = math.sqrt(math.fsum(d * v for d, v in pairs) / total)
    e = [math.log(v) - float(special.digamma(d / 2)) + math.log(d / 2) for d, v in pairs]
    centre = math.fsum(e) / len(e)
    noise = math.fsum(float(special.polygamma(1, d / 2)) for d, _ in pairs) / len(pairs)
    beyond = math.fsum((x - centre) ** 2 for x in e) / (len(e) - 1) - noise
    df, shift = _MOST_DF, 0.0
    if beyond > 2 / _MOST_DF:  # trigamma(x) is about 1 / x
        df = 2 * _inverse_trigamma(beyond)
        shift = float(special.digamma(df / 2)) - math.log(df / 2)
    return Prior(math.exp((centre + shift) / 2), df, pooled, total, len(pairs))


def _inverse_trigamma(y: float) -> float:
    """x > 0 with trigamma(x) = y: between 1 / y and one more, as 1 / x < y < 1 / x + 1 / x^2."""
    import scipy.optimize as optimize
    import scipy.special as special

    return float(optimize.brentq(lambda x: special.polygamma(1, x) - y, 1 / y, 1 / y + 1))
