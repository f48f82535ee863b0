"""Which traces are copies: near losses, equal losses, or equal clocks, up to each limit."""

from __future__ import annotations

import pytest

from bot.compute.duplicates import LEAST_NEAR, LEAST_POINTS, NEAR, SHARE, Known
from bot.model.trace import Trace

STEPS = range(100, 1000, 100)


def shifted(by: float, steps: range = STEPS) -> Trace:
    """A training whose losses are all off by so much."""
    return Trace(tuple((step, 4 - step / 1000 + by) for step in steps))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("share", "found"), [(0.9, 0), (1.1, None)])
def test_a_trace_is_near_up_to_the_limit_above_and_below(
    sign: int, share: float, found: int | None
) -> None:
    seen = Known()
    seen.add(0, shifted(0.0))
    assert seen.original(shifted(sign * share * NEAR)) == found


@pytest.mark.parametrize(("count", "found"), [(LEAST_NEAR, 0), (LEAST_NEAR - 1, None)])
def test_few_validations_are_not_enough(count: int, found: int | None) -> None:
    seen = Known()
    seen.add(0, shifted(0.0))
    few = range(100, 100 * count + 1, 100)
    assert seen.original(shifted(0.9 * NEAR, few)) == found


def clocks(*milliseconds: int) -> Trace:
    """A trace that has clocks alone in common with any other."""
    return Trace((), frozenset(milliseconds))


@pytest.mark.parametrize(
    ("ours", "theirs", "equal", "found"),
    [
        pytest.param(4, 4, LEAST_POINTS, 0, id="four of four"),
        pytest.param(3, 3, LEAST_POINTS - 1, None, id="three of three"),
        pytest.param(10, 10, int(10 * SHARE), 0, id="the share of ten, exactly"),
        pytest.param(10, 10, int(10 * SHARE) - 1, None, id="one less than the share of ten"),
        pytest.param(40, 10, int(10 * SHARE), 0, id="the share of the shorter trace, the first"),
        pytest.param(10, 40, int(10 * SHARE), 0, id="the share of the shorter trace, the second"),
        pytest.param(40, 40, int(10 * SHARE), None, id="as many of forty"),
    ],
)
def test_equal_clocks_up_to_the_share(
    ours: int, theirs: int, equal: int, found: int | None
) -> None:
    seen = Known()
    seen.add(0, clocks(*range(1001, 1001 + theirs)))
    other = [*range(1001, 1001 + equal), *range(9001, 9001 + ours - equal)]
    assert seen.original(clocks(*other)) == found


@pytest.mark.parametrize(
    ("common", "equal", "found"),
    [
        pytest.param(4, 4, 0, id="all of four"),
        pytest.param(3, 3, None, id="all of three"),
        pytest.param(5, 4, None, id="four of five may be chance"),
        pytest.param(5, 5, 0, id="all of five"),
        pytest.param(6, 5, 0, id="five of six"),
        pytest.param(6, 4, None, id="four of six"),
        pytest.param(10, 7, 0, id="the share of ten, exactly"),
        pytest.param(10, 6, None, id="one less than the share of ten"),
    ],
)
def test_equal_losses_up_to_the_share(common: int, equal: int, found: int | None) -> None:
    """The other losses are far off, and neither trace's own steps count."""
    seen = Known()
    steps = [100 * (n + 1) for n in range(common)]
    seen.add(0, Trace((*((s, 3.5) for s in steps), *((50 + s, 3.4) for s in steps))))
    ours = [(s, 3.5 if n < equal else 3.7) for n, s in enumerate(steps)]
    assert seen.original(Trace((*ours, *((75 + s, 3.3) for s in steps)))) == found


@pytest.mark.parametrize(("apart", "found"), [(5.9e-5, 0), (-5.9e-5, 0), (6.1e-5, None)])
def test_losses_are_equal_up_to_the_tolerance(apart: float, found: int | None) -> None:
    """Over few validations, where nearness says nothing."""
    seen = Known()
    steps = range(100, 600, 100)
    seen.add(0, Trace(tuple((s, 3.50001 + s / 7e3) for s in steps)))
    assert seen.original(Trace(tuple((s, 3.50001 + s / 7e3 + apart) for s in steps))) == found


def test_the_earliest_of_several_originals_is_named() -> None:
    seen = Known()
    for number in (3, 1, 2):
        seen.add(number, shifted(0.0))
    assert seen.original(shifted(0.0)) == 1
