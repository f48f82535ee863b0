"""Ratios of two arms: what one session measured, several sessions pooled, and chains of ratios.

A record beats the one before by a ratio measured side by side. Along the chain the logs of the
ratios add, and so do their variances: the interval of the last link alone covers 81 %
of the true products of four links in place of 95 % (`python -m tests.simulations`).
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Sequence

from bot.compute.significance import reaches, t_cdf, t_p, t_quantile
from bot.model.summary import Moments, Summary
from bot.model.track import Track
from bot.model.values import finite

_QUANTILE = 0.975
_WIDEST = 700.0
"""Half an interval of a log ratio beyond which its bounds are not numbers."""


@dc.dataclass(frozen=True, slots=True)
class Link:
    """One ratio, the variance of its log (infinite: unknown), and its degrees of freedom (infinite:
    a spread that is as good as known)."""

    ratio: float
    log_variance: float
    df: float = math.inf

    @classmethod
    def of(cls, ratio: float, bounds: tuple[float, float] | None) -> Link:
        """The link of a ratio and its 95 % interval, of which nothing else is known.

        Half the interval on the log scale stands for so many standard errors of the normal
        distribution: squares of half intervals then add along the chain (Zou and Donner 2008,
        "Construction of confidence limits about effect measures", Statistics in Medicine 27), and
        what few runs made wide stays wide.
        """
        if bounds is None:
            return cls(ratio, math.inf)
        half = math.log(bounds[1] / bounds[0]) / 2
        return cls(ratio, (half / t_quantile(_QUANTILE, math.inf)) ** 2)

    @property
    def inverse(self) -> Link:
        """The same comparison the other way round."""
        return dc.replace(self, ratio=1 / self.ratio)

    @property
    def half(self) -> float:
        """Half the 95 % interval of the log ratio."""
        return t_quantile(_QUANTILE, self.df) * math.sqrt(self.log_variance)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the ratio; None where its variance is unknown."""
        half = self.half
        if not half + abs(math.log(self.ratio)) < _WIDEST:
            return None
        return self.ratio * math.exp(-half), self.ratio * math.exp(half)


def chained(links: Sequence[Link]) -> Link:
    """The product of the ratios, 1 without links: log variances add."""
    ratio = math.exp(math.fsum(math.log(link.ratio) for link in links))
    variance = sum(link.log_variance for link in links)
    if math.isinf(variance):
        return Link(ratio, variance)
    return Link(ratio, variance, _freedom([(link.log_variance, link.df) for link in links]))


def _freedom(parts: Sequence[tuple[float, float]]) -> float:
    """Degrees of freedom of a sum of variances, of each (variance, its degrees of freedom), after
    Satterthwaite (1946, "An approximate distribution of estimates of variance components",
    Biometrics Bulletin 2); infinite if all are known."""
    spread = math.fsum(v**2 / df for v, df in parts)
    return math.fsum(v for v, _ in parts) ** 2 / spread if spread > 0 else math.inf


def promotes(bounds: tuple[float, float] | None, promote_at: float | None) -> bool:
    """Whether a new baseline is due: the whole interval of the ratio lies beyond the threshold.

    The ratio alone is luck: with noise of 5 % and two runs an arm, an equal program reaches 0.9 in
    one of three seasons of 20 tries. A threshold above 1 belongs to a cost of which more is better.
    """
    if bounds is None or promote_at is None:
        return False
    return bounds[1] <= promote_at if promote_at <= 1 else bounds[0] >= promote_at


@dc.dataclass(frozen=True, slots=True)
class Measured:
    """What two arms on one machine show: the ratio, how many pairs of runs, and its `link`.

    `link` is None if an arm has a single run: then nothing says how far the ratio may be off.
    """

    ratio: float
    pairs: int
    link: Link | None = None
    stated: tuple[float, float] | None = None
    """The interval as the statistics of one session state it."""

    def scaled(self, links: Sequence[Link]) -> Measured:
        """The same against another baseline, to which `links` lead; their spreads add to its."""
        if not links:
            return self
        between = chained(links)
        link = None if self.link is None else chained([self.link, between])
        known = link is not None and math.isfinite(link.log_variance)
        return Measured(self.ratio * between.ratio, self.pairs, link if known else None)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the ratio."""
        return self.stated or (self.link.interval if self.link else None)

    def p_better(self, than: float, goal: str = "min") -> float | None:
        """One-sided p that the true ratio is no better than `than`; None without a spread."""
        if self.link is None or self.link.log_variance <= 0:
            return None
        errors = math.log(self.ratio / than) / math.sqrt(self.link.log_variance)
        return t_cdf(errors if goal == "min" else -errors, self.link.df)


def measured(statistics: Summary | None) -> Measured | None:
    """What the statistics of a point show of its two arms; None without a baseline arm."""
    arm = statistics.baseline if statistics else None
    if statistics is None or arm is None or arm.comparison is None:
        return None
    ratio, bounds = arm.ratio, arm.ratio_interval
    if ratio is None or not finite(ratio) or ratio <= 0:
        return None
    costs = statistics.cost.values, arm.cost.values
    pairs = max(min(map(len, costs)), 1)
    if bounds is None or not all(finite(b) and b > 0 for b in bounds) or bounds[0] >= bounds[1]:
        return Measured(ratio, pairs)
    df = float(pairs - 1) if arm.comparison.method == "paired" else _welch_df(costs)
    error = math.log(bounds[1] / bounds[0]) / 2 / t_quantile(_QUANTILE, df)
    return Measured(ratio, pairs, Link(ratio, error**2, df), (bounds[0], bounds[1]))


def _welch_df(costs: Sequence[Sequence[float]]) -> float:
    """The degrees of freedom of the interval of a ratio of two means."""
    if min(map(len, costs)) < 2:
        return math.inf
    arms = map(Moments.of, costs)
    return _freedom([(((m.sd or 0.0) / m.mean) ** 2 / m.n, m.n - 1) for m in arms])


def pooled(items: Sequence[Measured]) -> Measured:
    """Several measurements of one ratio as one, for machines in general: the interval holds what
    the machines differ by.

    Random effects with the variance and the t of Hartung and Knapp (2001, "A refined method for the
    meta-analysis of controlled clinical trials with binary outcome", Statistics in Medicine 20),
    which hold their level with few sessions. Machines that agree by chance narrow nothing: the
    wider interval, within or between, stands (Roever, Knapp and Friede 2015, BMC Medical Research
    Methodology 15).
    """
    here, df = on_these_machines(items), len(items) - 1
    if not df or here.link is None:
        return here
    squares = math.fsum(i.pairs * math.log(i.ratio / here.ratio) ** 2 for i in items)
    between = Link(here.ratio, squares / df / here.pairs, float(df))
    return here if between.half <= here.link.half else dc.replace(here, link=between)


def on_these_machines(items: Sequence[Measured]) -> Measured:
    """Several measurements of one ratio as one, for the machines that ran; each weighs as its
    pairs do.

    Weights by the estimated variances would favour whoever's few runs happened to agree. A single
    pair, which has no spread of its own, is given that of the others.
    """
    total = sum(item.pairs for item in items)
    centre = math.fsum(item.pairs * math.log(item.ratio) for item in items) / total
    ratio = math.exp(centre)
    known = [(item.pairs, item.link) for item in items if item.link and item.link.log_variance > 0]
    if not known:
        return Measured(ratio, total)
    # The variance of one pair, from the sessions that show one.
    single = math.fsum(n * n * link.log_variance for n, link in known) / sum(n for n, _ in known)
    parts = [((n / total) ** 2 * link.log_variance, link.df) for n, link in known]
    alone = total - sum(n for n, _ in known)
    variance = math.fsum(v for v, _ in parts) + alone * single / total**2
    return Measured(ratio, total, Link(ratio, variance, _freedom(parts)))


# ---- What a reply shows ------------------------------------------------------------------------


def needed_pairs(own: Measured | None) -> int:
    """How many pairs of runs a challenge of an entry needs: as many as the entry has."""
    return max(2, own.pairs) if own else 2


def shows_gain(ratio: Measured, track: Track, looks: int = 0) -> bool:
    """Whether runs show any gain over the baseline, at the alpha of the track's reproductions.

    Evidence that grew is looked at once more after each of `looks` replies, and each look may err.
    The k-th gets alpha / (k (k + 1)), which add up to alpha however many come.
    """
    p = ratio.p_better(1.0, track.cost.goal)
    alpha = track.confirmation.alpha
    return p is not None and p < alpha / max(looks * (looks + 1), 1)


def disputes(
    ratio: Measured | None, own: Measured | None, track: Track, missed: bool = False
) -> bool:
    """Whether the runs of a challenge dispute the ratio `own` that an entry claims: with as many
    pairs, they miss the target beyond chance (`missed`), or are slower than claimed beyond chance
    and without a gain of their own. What was claimed was measured too, with an error of its own."""
    if ratio is None or own is None or ratio.pairs < needed_pairs(own):
        return False
    p = _than_claimed(ratio, own).p_better(1.0, track.cost.goal)
    slower = p is not None and 1 - p < track.confirmation.alpha
    return missed or (slower and not shows_gain(ratio, track))


def undisputed(ratio: Measured | None, own: Measured | None, track: Track) -> str:
    """Why the runs of a challenge, which `disputes` finds not to, dispute nothing, in words."""
    if ratio is None or own is None:
        return "there is no ratio to compare"
    if ratio.pairs < needed_pairs(own):
        return f"it has {_pairs(ratio.pairs)}, and a challenge needs {needed_pairs(own)}"
    if shows_gain(ratio, track):
        return "its runs show a gain over the baseline"
    return "its runs are not slower than claimed beyond chance"


def _pairs(count: int) -> str:
    return "1 pair of runs" if count == 1 else f"{count} pairs of runs"


def _than_claimed(ratio: Measured, own: Measured) -> Measured:
    """`ratio` over `own`, with the spreads of both. A single run has the spread of the other."""
    over = ratio.ratio / own.ratio
    if ratio.link is None:
        return Measured(over, ratio.pairs)
    theirs = own.link or Link(
        own.ratio, ratio.link.log_variance * ratio.pairs / own.pairs, ratio.link.df
    )
    return Measured(over, ratio.pairs, chained([ratio.link, theirs.inverse]))


def to_target(statistics: Summary | None, track: Track) -> tuple[bool, bool]:
    """Whether the mean of runs reaches the track's target, and whether it misses it beyond chance:
    what is faster because it stops short is not a gain."""
    mean, target = statistics.quality.moments if statistics else None, track.quality.target
    if mean is None or target is None:
        return True, False
    gain = mean.gain(target, track.quality.goal)
    p = t_p(Moments(gain.n, -gain.mean, gain.sd))
    missed = p is not None and p < track.confirmation.alpha
    return reaches(gain.mean, 0.0), missed
