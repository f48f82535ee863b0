"""A chain of ratios: each link measured in its own session, the product with its interval.

A record beats the one before by a ratio measured side by side. Along the chain the logs of the
ratios add, and so do their variances: an interval that is multiplied up without them covers 77 %
of the true products after four links in place of 95 %.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Sequence

from bot.compute.significance import t_quantile


@dc.dataclass(frozen=True, slots=True)
class Link:
    """One ratio, the variance of its log, and the degrees of freedom of that variance."""

    ratio: float
    log_variance: float
    df: float


def chained(links: Sequence[Link], level: float = 0.95) -> tuple[float, tuple[float, float]]:
    """The product of the ratios and its interval; (1, (1, 1)) without links.

    Degrees of freedom after Satterthwaite (1946, "An approximate distribution of estimates of
    variance components", Biometrics Bulletin 2).
    """
    centre = math.fsum(math.log(link.ratio) for link in links)
    variance = math.fsum(link.log_variance for link in links)
    ratio = math.exp(centre)
    if variance <= 0:
        return ratio, (ratio, ratio)
    df = variance**2 / math.fsum(link.log_variance**2 / link.df for link in links)
    half = t_quantile(0.5 + level / 2, df) * math.sqrt(variance)
    return ratio, (math.exp(centre - half), math.exp(centre + half))


def promotes(bounds: tuple[float, float] | None, promote_at: float | None) -> bool:
    """Whether a new baseline is due: the whole interval of the ratio lies beyond the threshold.

    The ratio alone is luck: with noise of 5 % and two runs an arm, an equal program reaches 0.9 in
    one of three seasons of 20 tries. A threshold above 1 belongs to a cost of which more is better.
    """
    if bounds is None or promote_at is None:
        return False
    return bounds[1] <= promote_at if promote_at <= 1 else bounds[0] >= promote_at
