"""Cost at equal loss, on curves whose answer is known in closed form."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.compute.equal_loss import at_target, end_of
from bot.compute.ratios import Link, chained, promotes
from bot.compute.significance import t_quantile


def parabola(stop: float, offset: float = 0.0) -> list[tuple[float, float]]:
    """l = 4 - 0.02 c + 0.00005 c^2 + offset at the last three of its validations."""
    return [(c, 4 - 0.02 * c + 0.00005 * c * c + offset) for c in (stop - 20, stop - 10, stop)]


def test_the_end_of_a_parabola_is_exact() -> None:
    slope, bend = end_of(parabola(100.0)) or (0.0, 0.0)
    assert slope == pytest.approx(-0.02 + 2 * 0.00005 * 100)
    assert bend == pytest.approx(0.00005)


def test_a_run_past_the_target_costs_what_it_cost_at_the_target() -> None:
    target = 4 - 0.02 * 90 + 0.00005 * 90 * 90
    found = at_target([parabola(100.0)], target)
    assert found is not None and found.standard_error is None
    assert found.mean == pytest.approx(90.0)


def test_a_run_short_of_the_target_is_carried_on() -> None:
    target = 4 - 0.02 * 110 + 0.00005 * 110 * 110
    found = at_target([parabola(100.0)], target)
    assert found is not None and found.mean == pytest.approx(110.0)


def test_two_points_give_a_straight_line() -> None:
    found = at_target([[(90.0, 3.30), (100.0, 3.29)]], 3.28)
    assert found is not None and found.mean == pytest.approx(110.0)


@pytest.mark.parametrize(
    "curve",
    [
        [(100.0, 3.28)],
        [(90.0, 3.27), (100.0, 3.28)],
        [(100.0, 3.30), (100.0, 3.29)],
        [(90.0, math.nan), (100.0, 3.28)],
        [],
    ],
)
def test_a_loss_that_does_not_fall_at_the_end_gives_nothing(
    curve: list[tuple[float, float]],
) -> None:
    assert at_target([parabola(100.0), curve], 3.28) is None


@given(
    st.lists(st.lists(st.tuples(st.floats(), st.floats()), max_size=4), max_size=4),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_no_numbers_raise(curves: list[list[tuple[float, float]]], target: float) -> None:
    found = at_target(curves, target)
    if found is not None:
        assert math.isfinite(found.mean)
        assert found.standard_error is None or math.isfinite(found.standard_error)


def test_the_error_is_the_spread_over_the_slope() -> None:
    """Straight lines of slope -0.001 that end 0.001 apart: costs at the target are 1 apart."""
    curves = [[(90.0, 3.29 + d), (100.0, 3.28 + d)] for d in (-0.001, 0.0, 0.001)]
    found = at_target(curves, 3.28)
    assert found is not None and found.mean == pytest.approx(100.0)
    few = t_quantile(0.975, 2) / 1.959964
    assert found.standard_error == pytest.approx(few * 1.0 / math.sqrt(3))


def test_logs_of_links_add_and_so_do_their_variances() -> None:
    whole = chained([Link(0.9, 0.0004, 4), Link(0.95, 0.0009, 4)])
    assert whole.interval is not None
    ratio, (low, high) = whole.ratio, whole.interval
    assert ratio == pytest.approx(0.855)
    df = 0.0013**2 / (0.0004**2 / 4 + 0.0009**2 / 4)
    half = t_quantile(0.975, df) * math.sqrt(0.0013)
    assert (math.log(low), math.log(high)) == pytest.approx(
        (math.log(0.855) - half, math.log(0.855) + half)
    )


def test_no_link_is_no_change() -> None:
    assert chained([]).interval == (1.0, 1.0)


@pytest.mark.parametrize(
    ("bounds", "at", "due"),
    [
        ((0.85, 0.90), 0.9, True),
        ((0.85, 0.9001), 0.9, False),
        (None, 0.9, False),
        ((0.5, 0.6), None, False),
        ((1.1, 1.3), 1.1, True),
        ((1.09, 1.3), 1.1, False),
    ],
)
def test_a_new_baseline_is_due_beyond_the_whole_interval(
    bounds: tuple[float, float] | None, at: float | None, due: bool
) -> None:
    assert promotes(bounds, at) is due


def test_one_run_has_a_cost_and_no_error() -> None:
    found = at_target([[(90.0, 3.30), (100.0, 3.29)]], 3.28)
    assert found is not None and (found.n, found.standard_error) == (1, None)
    assert found.mean == pytest.approx(110.0)


Points = list[tuple[float, float]]
LINE: Points = [(0.0, 4.0), (10.0, 3.5), (20.0, 3.0)]
BENT: Points = [(0.0, 4.0), (10.0, 3.3), (20.0, 3.0)]


@pytest.mark.parametrize(
    ("curve", "end"),
    [
        pytest.param(LINE, (-0.05, 0.0), id="a line"),
        pytest.param(BENT, (-0.01, 0.002), id="flattening"),
        pytest.param([(-9.0, 9.9), *BENT], (-0.01, 0.002), id="the last three points count"),
        pytest.param([*BENT[:2], (15.0, math.nan), BENT[2]], (-0.01, 0.002), id="of numbers"),
        pytest.param([(0.0, 4.0), (1.0, 3.25), (2.0, 3.0)], (-0.25, 0.0), id="flat at the end"),
        pytest.param([(0.0, 4.0), (10.0, 3.1), (20.0, 3.0)], (-0.01, 0.0), id="past its turn"),
        pytest.param([(0.0, 3.6), (10.0, 3.5), (20.0, 3.0)], (-0.07, -0.002), id="steepening"),
        pytest.param([(10.0, 4.0), (10.0, 3.5), (20.0, 3.0)], (-0.05, 0.0), id="one cost twice"),
        pytest.param([(11.0, 4.0), (10.0, 3.5), (20.0, 3.0)], (-0.05, 0.0), id="out of order"),
        pytest.param([(0.0, math.nan), *LINE[1:]], (-0.05, 0.0), id="no number before"),
        pytest.param([(math.nan, 4.0), *LINE[1:]], (-0.05, 0.0), id="no cost before"),
        pytest.param([(-math.inf, 4.0), *LINE[1:]], (-0.05, 0.0), id="an infinite cost before"),
        pytest.param([LINE[0], (5.0, math.inf), *LINE[1:]], (-0.05, 0.0), id="nor between"),
        pytest.param([(0.0, 4.0), (10.0, 3.0), (20.0, 3.0)], None, id="level"),
        pytest.param([(0.0, 3.0), (10.0, 3.0)], None, id="two level points"),
        pytest.param([(10.0, 3.5), (10.0, 3.0)], None, id="two points of one cost"),
        pytest.param([(10.0, 3.5)], None, id="one point"),
    ],
)
def test_the_end_of_a_curve(curve: Points, end: tuple[float, float] | None) -> None:
    """By the parabola through three points (numpy), or by the secant of two."""
    found = end_of(curve)
    assert found == (None if end is None else pytest.approx(end))
    if found and found[1]:
        numbers = [p for p in curve if math.isfinite(p[1])][-3:]
        fit = np.polynomial.Polynomial.fit(*zip(*numbers, strict=True), 2).convert()
        assert found == pytest.approx((fit.deriv()(20.0), fit.coef[2]))


@pytest.mark.parametrize(
    ("target", "cost"),
    [
        (3.0, 20.0),
        (3.1, 15.0),  # 0.01 x 5 + 0.002 x 25 above the end
        (2.9875, 22.5),  # the turn: 0.01^2 = 4 x 0.002 x 0.0125
        (2.9874, 22.51),  # below the turn straight on: 0.0001 / 0.01
        (2.9775, 23.5),
    ],
)
def test_a_run_is_moved_along_its_bend_and_straight_on_past_the_turn(
    target: float, cost: float
) -> None:
    found = at_target([BENT], target)
    assert found and found.mean == pytest.approx(cost, rel=1e-6)


def test_the_error_has_the_spread_of_costs_and_that_of_slopes() -> None:
    """Lines of slopes -0.02, -0.04 and -0.09 that end at (100, 3.3), (110, 3.4) and (120, 3.1)."""
    ends, slopes = np.array([(100, 3.3), (110, 3.4), (120, 3.1)]), np.array([-0.02, -0.04, -0.09])
    curves: list[Points] = [
        [(c - 20.0, x - 20.0 * s), (c - 10.0, x - 10.0 * s), (c, x)]
        for (c, x), s in zip(ends.tolist(), slopes.tolist(), strict=True)
    ]
    found = at_target(curves, 3.2)
    moved = ends[:, 0] + (3.2 - ends[:, 1]) / slopes.mean()
    of_slope = (3.2 - ends[:, 1]).mean() / slopes.mean() ** 2 * slopes.std(ddof=1)
    error = math.sqrt((moved.var(ddof=1) + of_slope**2) / 3) * 4.302653 / 1.959964
    assert found and found.n == 3
    assert (found.mean, found.standard_error) == pytest.approx((moved.mean(), error), rel=1e-6)


def test_runs_share_the_mean_of_their_bends() -> None:
    """Bends of 0.002 and 0 and slopes of -0.01 and -0.05: 0.03 d - 0.001 d^2 falls by 0.1 at d =
    15 - sqrt(125)."""
    found = at_target([BENT, LINE], 2.9)
    assert found and found.mean == pytest.approx(20 + 15 - math.sqrt(125))
    assert found.standard_error is not None


def test_no_runs_cost_nothing_and_absurd_ones_have_no_error() -> None:
    assert at_target([], 3.0) is None
    huge = [(0.0, 1e308), (1.0, 0.0)]
    assert at_target([huge, [(0.0, 1.0), (1e-300, 0.0)]], 0.5) is None
    assert at_target([[(0.0, x), (1.0, 0.0)] for x in (1e-150, 2e-150)], -1e10) is None


def test_equal_slopes_add_no_error() -> None:
    """Lines of slope -1 that end at (1, 3) and (1, 3.5): 2 and 2.5 at the target, sd sqrt(1/8)."""
    found = at_target([[(0.0, 4.0), (1.0, 3.0)], [(0.0, 4.5), (1.0, 3.5)]], 2.0)
    assert found and found.standard_error == pytest.approx(12.7062 / 1.959964 / 4)
