"""Cost at equal loss, on curves whose answer is known in closed form."""

import math

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
