"""Ratios at their bounds: each formula against scipy, each decision with its near miss."""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Any

import pytest
import scipy.stats as stats

from bot.compute.ratios import (
    Link,
    Measured,
    chained,
    disputes,
    measured,
    on_these_machines,
    pooled,
    promotes,
    shows_gain,
    to_target,
    undisputed,
)
from bot.model.summary import BaselineArm, Comparison, Sample, Summary
from bot.model.track import Axis, Reproduction, Track

TRACK = Track("t", "One card", "baseline", Axis("loss"), Axis("training_time_s"))
HALF = dc.replace(TRACK, reproduction=Reproduction(alpha=0.5))
Bounds = tuple[float, float] | None


# ---- Links -------------------------------------------------------------------------------------


def test_a_link_of_an_interval_has_it() -> None:
    """Half of it, log(0.95 / 0.85) / 2 = 0.0556, is 1.96 standard errors."""
    link = Link.of(0.9, (0.9 * math.exp(-0.0556), 0.9 * math.exp(0.0556)))
    assert link.log_variance == pytest.approx((0.0556 / stats.norm.ppf(0.975)) ** 2)
    assert link.df == math.inf and link.half == pytest.approx(0.0556)
    assert Link.of(0.9, None) == Link(0.9, math.inf)
    assert Link(0.8, 0.01, 4.0).inverse == Link(1.25, 0.01, 4.0)


@pytest.mark.parametrize(
    ("link", "half"),
    [
        (Link(1.0, (699 / 1.959964) ** 2), 699),
        (Link(1.0, (701 / 1.959964) ** 2), None),
        (Link(math.exp(-10), (689 / 1.959964) ** 2), 689),
        (Link(math.exp(-10), (691 / 1.959964) ** 2), None),
        (Link(0.9, math.inf), None),
        (Link(0.9, 0.0), 0.0),
        (Link(0.9, 0.0001, 3.0), 3.182446 * 0.01),  # t of 3 degrees of freedom, from a table
    ],
)
def test_an_interval_ends_where_numbers_do(link: Link, half: float | None) -> None:
    found = link.interval
    assert (found is None) is (half is None)
    if found is not None:
        spread = math.log(found[0] / link.ratio), math.log(found[1] / link.ratio)
        assert spread == pytest.approx((-(half or 0), half or 0), rel=1e-6)


@pytest.mark.parametrize(
    ("links", "ratio", "variance", "df"),
    [
        ([], 1.0, 0.0, math.inf),
        ([Link(0.9, 0.0004, 4.0)], 0.9, 0.0004, 4.0),
        ([Link(0.9, 0.0004, 4.0), Link(0.8, 0.0004, 4.0)], 0.72, 0.0008, 8.0),
        # 0.0013^2 / (0.0004^2 / 2 + 0.0009^2 / 3)
        ([Link(0.9, 0.0004, 2.0), Link(0.5, 0.0009, 3.0)], 0.45, 0.0013, 1.69 / 0.35),
        ([Link(0.9, 0.0004, 2.0), Link(0.5, 0.0)], 0.45, 0.0004, 2.0),
        ([Link(0.9, 0.0004, 2.0), Link(0.5, 0.0004)], 0.45, 0.0008, 8.0),
        ([Link(0.9, 0.0004, 2.0), Link(0.5, math.inf)], 0.45, math.inf, math.inf),
    ],
)
def test_variances_of_links_add(
    links: list[Link], ratio: float, variance: float, df: float
) -> None:
    found = chained(links)
    assert (found.ratio, found.log_variance, found.df) == pytest.approx((ratio, variance, df))


@pytest.mark.parametrize(
    ("bounds", "at", "due"),
    [
        ((0.8, 0.9), 1.0, True),
        ((0.8, 1.0), 1.0, True),
        ((1.0, 1.5), 1.0, False),
        ((1.5, 1.7), 1.5, True),
        ((1.4, 1.5), 1.5, False),
    ],
)
def test_a_threshold_of_one_is_of_a_cost_of_which_less_is_better(
    bounds: Bounds, at: float, due: bool
) -> None:
    assert promotes(bounds, at) is due


# ---- Measurements ------------------------------------------------------------------------------


def test_a_ratio_to_another_baseline_has_the_spreads_of_both() -> None:
    own = Measured(0.9, 3, Link(0.9, 0.0004, 4.0), (0.8, 1.0))
    assert own.scaled([]) is own and own.interval == (0.8, 1.0)
    moved = own.scaled([Link(0.5, 0.0004, 4.0)])
    assert (moved.ratio, moved.pairs, moved.stated) == (pytest.approx(0.45), 3, None)
    assert moved.link and moved.interval == moved.link.interval
    assert (moved.link.log_variance, moved.link.df) == pytest.approx((0.0008, 8.0))
    for unknown in (own.scaled([Link(0.5, math.inf)]), Measured(0.9, 3).scaled([Link(0.5, 0.1)])):
        assert unknown.ratio == pytest.approx(0.45)
        assert (unknown.link, unknown.interval) == (None, None)


@pytest.mark.parametrize(("goal", "tail"), [("min", stats.t.cdf), ("max", stats.t.sf)])
@pytest.mark.parametrize("than", [1.0, 0.9])
def test_p_is_the_tail_of_t(goal: str, tail: Any, than: float) -> None:
    found = Measured(0.95, 3, Link(0.95, 0.0009, 4.0)).p_better(than, goal)
    assert found == pytest.approx(tail(math.log(0.95 / than) / 0.03, 4))


TIMES = ((90.0, 91.0, 92.5, 90.5), (100.0, 101.0, 103.0))


def summary(
    bounds: Bounds, ratio: float | None = 0.9, method: str = "welch", costs: Any = TIMES
) -> Summary:
    test = Comparison(method, 0.0, None, None, None, ratio, bounds)
    arm = BaselineArm(cost=Sample(tuple(costs[1])), comparison=test)
    return Summary(cost=Sample(tuple(costs[0])), baseline=arm)


@pytest.mark.parametrize(
    ("statistics", "expected"),
    [
        (None, None),
        (Summary(), None),
        (Summary(baseline=BaselineArm()), None),
        (summary((0.8, 1.0), None), None),
        (summary((0.8, 1.0), 0.0), None),
        (summary((0.8, 1.0), -0.5), None),
        (summary((0.8, 1.0), math.inf), None),
        (summary(None), Measured(0.9, 3)),
        (summary(None, 0.5), Measured(0.5, 3)),
        (summary((0.0, 1.0)), Measured(0.9, 3)),
        (summary((0.8, math.inf)), Measured(0.9, 3)),
        (summary((0.9, 0.9)), Measured(0.9, 3)),
        (summary((1.0, 0.8)), Measured(0.9, 3)),
        (summary(None, costs=((), ())), Measured(0.9, 1)),
        (summary(None, costs=((90.0,), (100.0, 101.0))), Measured(0.9, 1)),
    ],
)
def test_what_has_no_spread_has_no_link(
    statistics: Summary | None, expected: Measured | None
) -> None:
    assert measured(statistics) == expected


@pytest.mark.parametrize(
    ("method", "costs", "df"),
    [
        ("paired", TIMES, 2.0),
        ("welch", ((90.0,), (100.0, 101.0)), math.inf),
        ("welch", ((90.0, 90.0), (100.0, 101.0)), 1.0),
        ("welch", ((90.0, 90.0), (100.0, 100.0)), math.inf),
        ("welch", TIMES, None),
    ],
)
def test_the_link_of_an_interval_has_its_degrees_of_freedom(
    method: str, costs: Any, df: float | None
) -> None:
    """Those of Welch and Satterthwaite are by scipy of arms over their means, whose difference has
    the same spread as the log of the ratio."""
    if df is None:
        scaled = [[v / (sum(arm) / len(arm)) for v in arm] for arm in costs]
        df = stats.ttest_ind(*scaled, equal_var=False).df
    link = (measured(summary((0.8, 1.1), method=method, costs=costs)) or Measured(0, 0)).link
    quantile = stats.norm.ppf(0.975) if df == math.inf else stats.t.ppf(0.975, df)
    assert link and link.ratio == 0.9 and link.df == pytest.approx(df)
    assert math.sqrt(link.log_variance) == pytest.approx(math.log(1.1 / 0.8) / 2 / quantile)
    assert measured(summary((0.8, 1.1), method=method, costs=costs)) == Measured(
        0.9, min(map(len, costs)), link, (0.8, 1.1)
    )


# ---- Several measurements ----------------------------------------------------------------------


def ratio(value: float, variance: float | None, pairs: int, df: float = 4.0) -> Measured:
    return Measured(value, pairs, None if variance is None else Link(value, variance, df))


@pytest.mark.parametrize(
    ("items", "value", "pairs", "variance", "df"),
    [
        ([ratio(0.9, None, 1)], 0.9, 1, None, None),
        ([ratio(0.9, 0.0, 2)], 0.9, 2, None, None),
        ([ratio(0.9, 0.04, 2)], 0.9, 2, 0.04, 4.0),
        # each weighs as its pairs do: 0.9^(1/4) 0.8^(3/4)
        ([ratio(0.9, None, 1), ratio(0.8, None, 3)], 0.9**0.25 * 0.8**0.75, 4, None, None),
        # (2/5)^2 0.04 + (3/5)^2 0.09 = 0.0064 + 0.0324; of squares 0.0388^2 / 0.0002727
        (
            [ratio(0.9, 0.04, 2), ratio(0.9, 0.09, 3)],
            0.9, 5, 0.0388, 0.0388**2 / (0.0064**2 / 4 + 0.0324**2 / 4),
        ),
        # a pair alone has the variance of one: 2 x 0.04; (2/3)^2 0.04 + (1/3)^2 0.08
        ([ratio(0.9, 0.04, 2), ratio(0.9, None, 1)], 0.9, 3, 0.24 / 9, 4.0),
        # of one pair in the mean: (2 x 2 x 0.04 + 3 x 3 x 0.09) / (2 + 3) = 0.194
        (
            [ratio(0.9, 0.04, 2), ratio(0.9, 0.09, 3), ratio(0.9, None, 2)],
            0.9, 7, (0.16 + 0.81 + 2 * 0.194) / 49, (0.97**2) / (0.16**2 / 4 + 0.81**2 / 4),
        ),
    ],
)  # fmt: skip
def test_measurements_on_these_machines(
    items: list[Measured], value: float, pairs: int, variance: float | None, df: float | None
) -> None:
    found = on_these_machines(items)
    assert (found.ratio, found.pairs) == (pytest.approx(value), pairs)
    assert found.link is None if variance is None else found.link
    if found.link:
        assert (found.link.ratio, found.link.log_variance) == pytest.approx((value, variance))
        assert found.link.df == pytest.approx(df)


def test_machines_in_general_differ_as_these_do() -> None:
    """Logs 0, 0.1 and 0.5 of 1, 2 and 3 pairs: the mean is 1.7 / 6, the variance of the mean
    sum n (x - mean)^2 / (2 x 6), with t of 2 degrees of freedom."""
    logs, pairs = (0.0, 0.1, 0.5), (1, 2, 3)
    items = [ratio(math.exp(x), 1e-6, n) for x, n in zip(logs, pairs, strict=True)]
    found = pooled(items)
    centre = 1.7 / 6
    squares = sum(n * (x - centre) ** 2 for x, n in zip(logs, pairs, strict=True))
    assert found.link and found.pairs == 6
    assert (found.link.log_variance, found.link.df) == pytest.approx((squares / 12, 2.0))
    assert found.ratio == found.link.ratio == pytest.approx(math.exp(centre))
    unknown = [ratio(0.9, None, 1), ratio(0.8, None, 1)]
    assert pooled(unknown) == on_these_machines(unknown)


# ---- Challenges --------------------------------------------------------------------------------

EVEN = Measured(1.0, 2, Link(1.0, 0.0001, 4.0))
"""No gain and no loss: p is exactly a half."""


@pytest.mark.parametrize(
    ("errors", "looks", "shown"),
    [
        (2.2, 0, True),  # t of 4 degrees of freedom: 2.132 at 5 %, 2.776 at 2.5 %
        (2.1, 0, False),
        (2.8, 1, True),
        (2.7, 1, False),
        (4.0, 2, True),  # 3.961 at 5 % / 6
        (3.9, 2, False),
    ],
)
def test_a_gain_is_shown_at_the_alpha_of_the_look(errors: float, looks: int, shown: bool) -> None:
    value = math.exp(-0.01 * errors)
    gain = Measured(value, 2, Link(value, 0.0001, 4.0))
    assert shows_gain(gain, TRACK, looks) is shown
    more = dc.replace(TRACK, cost=Axis("throughput", goal="max"))
    assert not shows_gain(gain, more, looks)


def test_p_must_fall_below_alpha() -> None:
    above = dc.replace(TRACK, reproduction=Reproduction(alpha=0.501))
    assert shows_gain(EVEN, above) and not shows_gain(EVEN, HALF)
    assert not shows_gain(Measured(0.5, 2), TRACK)


LESS = Measured(0.9, 2, Link(0.9, 1e-8, 4.0))
MORE = Measured(1.1, 2, Link(1.1, 1e-8, 4.0))


@pytest.mark.parametrize(
    ("theirs", "own", "missed", "disputed", "why"),
    [
        (None, LESS, True, False, "there is no ratio to compare"),
        (LESS, None, True, False, "there is no ratio to compare"),
        (MORE, LESS, False, True, None),
        (EVEN, LESS, False, True, None),
        (LESS, MORE, False, False, "its runs show a gain over the baseline"),
        (LESS, MORE, True, True, None),
        (MORE, MORE, False, False, "its runs are not slower than claimed beyond chance"),
        (MORE, MORE, True, True, None),
        # slower than claimed, and a gain all the same
        (ratio(0.8, 1e-8, 2), ratio(0.7, 1e-8, 2), False, False,
         "its runs show a gain over the baseline"),
        (dc.replace(MORE, pairs=1), LESS, True, False,
         "it has 1 pair of runs, and a challenge needs 2"),
        (MORE, dc.replace(LESS, pairs=3), True, False,
         "it has 2 pairs of runs, and a challenge needs 3"),
        (Measured(1.1, 2), LESS, False, False,
         "its runs are not slower than claimed beyond chance"),
    ],
)  # fmt: skip
def test_what_a_challenge_disputes(
    theirs: Measured | None, own: Measured | None, missed: bool, disputed: bool, why: str | None
) -> None:
    assert disputes(theirs, own, TRACK, missed) is disputed
    assert why is None or undisputed(theirs, own, TRACK) == why


def test_a_challenge_at_alpha_itself_disputes_nothing() -> None:
    assert not disputes(EVEN, dc.replace(EVEN), HALF)
    above = dc.replace(TRACK, reproduction=Reproduction(alpha=0.501))
    slower = dc.replace(EVEN, ratio=1.001)
    assert disputes(slower, slower, above)


@pytest.mark.parametrize(("share", "disputed"), [(1.01, True), (0.99, False)])
def test_a_claim_without_a_spread_has_that_of_the_challenge(share: float, disputed: bool) -> None:
    """The mean of six pairs has the variance 0.0001, so that of two has 0.0003; each with 4 degrees
    of freedom, together (1 + 3)^2 / (1 / 4 + 9 / 4)."""
    theirs = Measured(1.0, 6, Link(1.0, 0.0001, 4.0))
    least = math.sqrt(0.0004) * stats.t.ppf(0.95, 16 / (1 / 4 + 9 / 4))
    assert disputes(theirs, Measured(math.exp(-share * least), 2), TRACK) is disputed


# ---- The target --------------------------------------------------------------------------------

SHORT = dc.replace(TRACK, quality=Axis("loss", target=3.28))


def of(*losses: float) -> Summary:
    return Summary(quality=Sample(losses))


@pytest.mark.parametrize(
    ("statistics", "track", "expected"),
    [
        (None, SHORT, (True, False)),
        (of(), SHORT, (True, False)),
        (of(9.0, 9.1), TRACK, (True, False)),
        (of(3.27, 3.28), SHORT, (True, False)),
        (of(3.28), SHORT, (True, False)),
        (of(3.29), SHORT, (False, False)),
        # t of one degree of freedom: 6.314 at 5 %; (3.2864 - 3.28) / 0.001 is 6.4 errors
        (of(3.2854, 3.2874), SHORT, (False, True)),
        (of(3.2852, 3.2872), SHORT, (False, False)),
        # the p of a mean at the target is a half
        (of(3.27, 3.29), dc.replace(SHORT, reproduction=Reproduction(alpha=0.5)), (True, False)),
        (of(3.27, 3.29), dc.replace(SHORT, reproduction=Reproduction(alpha=0.51)), (True, True)),
    ],
)
def test_a_target_is_missed_beyond_chance(
    statistics: Summary | None, track: Track, expected: tuple[bool, bool]
) -> None:
    assert to_target(statistics, track) == expected
