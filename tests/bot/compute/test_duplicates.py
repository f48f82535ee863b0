"""One trace is near another: the distance counts, whichever of them is above."""

from __future__ import annotations

import pytest

from bot.compute.duplicates import LEAST_NEAR, NEAR, Known
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
