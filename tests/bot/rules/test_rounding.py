"""Losses of few digits: their rounding may decide the test, and is told where it does."""

from __future__ import annotations

import dataclasses as dc

import pytest

from bot.model.run import Run, Validation
from bot.registry import Level
from bot.rules.rounding import half_units
from tests.bot.rules.run_cases import SMALL, a_case, a_run, found


def runs(losses: list[float], digits: int = 4) -> list[Run]:
    """Runs that end at these losses, and print those before with so many decimals."""
    found = []
    for n, loss in enumerate(losses):
        before = [
            round(3.27654321 + 3 * (1 - s / 1000) + n / 77, digits) for s in range(0, 1000, 100)
        ]
        points = [Validation(100 * i, v, 6.0 * i) for i, v in enumerate([*before, loss])]
        found.append(a_run(n, validation=tuple(points), metrics={"loss": loss}))
    return found


@pytest.mark.parametrize(
    ("losses", "digits", "told"),
    [
        pytest.param([3.278, 3.277, 3.279, 3.278], 3, True, id="half a thousandth decides"),
        pytest.param([3.278, 3.277, 3.279, 3.278], 4, False, id="others have four decimals"),
        pytest.param([3.275, 3.274, 3.276, 3.275], 3, False, id="it does not decide"),
        pytest.param([3.27, 3.27, 3.26, 3.27, 3.27], 4, True, id="the last are rounded by hand"),
        pytest.param(
            [3.27, 3.2754, 3.2751, 3.2761, 3.2749], 4, False, id="one has zeros at its end"
        ),
    ],
)
def test_a_test_that_the_rounding_decides(losses: list[float], digits: int, told: bool) -> None:
    said = found("target-not-significant", a_case(runs(losses, digits), track=SMALL))
    assert [item.level for item in said] == [Level.WARNING] * told
    assert all("the last losses are rounded: each may be 0.00" in item.message for item in said)


def test_the_half_of_the_last_digit() -> None:
    assert half_units(runs([3.278, 3.277], 3)) == [0.0005, 0.0005]
    assert half_units(runs([3.2781, 3.277], 4)) == [0.0, 0.0]
    assert half_units(runs([3.28, 3.27], 4)) == [0.005, 0.005]
    assert half_units(runs([3.28, 3.2771], 4)) == [0.0, 0.0]
    assert half_units([dc.replace(a_run(0), validation=())]) == [0.0]


def test_an_imported_entry_is_told_nothing() -> None:
    case = a_case(runs([3.278, 3.277, 3.279, 3.278], 3), track=SMALL)
    assert found("target-not-significant", case)
    target_free = dc.replace(SMALL, quality=dc.replace(SMALL.quality, target=None))
    assert not found("target-not-significant", dc.replace(case, track=target_free))
