"""Losses of few digits: their rounding may decide the test, and is told where it does."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.compute.case_statistics import of_case
from bot.model.case import Case
from bot.model.run import Run, Validation
from bot.model.summary import Decision
from bot.registry import Level
from bot.rules.rounding import half_units, rounding_decides
from tests.bot.rules.run_cases import PATH, SMALL, a_case, a_run, found


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
    assert half_units(runs([3.27, 3.26, 3.277], 4)) == [0.005, 0.005, 0.0]
    assert half_units([*runs([3.27], 4), *runs([3.2712], 6)]) == [0.0, 0.0]
    others = [3.2771, 3.2785, 3.2793, 3.2778, 3.2775, 3.2789]
    assert half_units(runs([3.28, 3.28, *others[:5]], 4)) == [0.005, 0.005, *[0.0] * 5]
    assert half_units(runs([3.28, 3.28, *others], 4)) == [0.0] * 8, "two of eight by chance"
    assert half_units(runs([3.28, 3.28, 3.27, *others[:5]], 4)) == [*[0.005] * 3, *[0.0] * 5]
    assert half_units([a_run(0, validation=()), a_run(1, validation=())]) == [0.0, 0.0]


EDGE = [3.278, 3.277, 3.279, 3.278]
"""The test passes; with half a thousandth more each, it does not."""


def said_of(case: Case, **changes: Any) -> str | None:
    s = of_case(case, None)
    assert s is not None
    return rounding_decides(case, dc.replace(s, **changes), None)


def test_what_is_said_of_losses_that_the_rounding_decides() -> None:
    case = a_case(runs(EDGE, 3))
    said = said_of(case) or ""
    # t = (3.28 - 3.2785) / (0.000816 / 2) = 3.67 at three degrees of freedom
    assert "each may be 0.0005 higher, and then the test does not pass" in said
    assert "(mean 3.2785, p = 0.017" in said
    assert said_of(a_case(runs(EDGE, 3)[:3] + runs(EDGE, 4)[3:])), "one of enough digits beside"
    assert said_of(case, decision=Decision("t", 0.02, None, False)) is None
    assert said_of(case, target=None) is None
    assert said_of(case, metric="bpb") is None
    s = of_case(case, None)
    assert s is not None and said_of(case, kept=s.kept[:1]) is None, "not every run was judged"
    exact = a_case(runs([3.2796, 3.2781, 3.2799, 3.2784], 4))
    assert said_of(exact, decision=Decision("t", 0.001, None, True)) is None, "no loss is rounded"


def test_more_is_better_means_that_the_rounding_may_be_lower() -> None:
    case = a_case(runs([3.282, 3.281, 3.283, 3.282], 3))
    quality = dc.replace(SMALL.quality, goal="max")
    more = dc.replace(case, track=dc.replace(SMALL, quality=quality))
    assert "each may be 0.0005 lower, and" in (said_of(more) or "")
    assert "(mean 3.2815, p" in (said_of(more) or "")


def test_an_imported_entry_is_told_nothing() -> None:
    case = a_case(runs(EDGE, 3))
    track = dc.replace(SMALL, imported=(PATH,))
    brought = a_case(runs(EDGE, 3), track=track, submission={"imported": {"by": "x"}}, merged=True)
    assert brought.brought_over
    assert said_of(case) is not None and said_of(brought) is None
