"""Clocks of two arms that leave out unlike parts of the same machine's time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bot.rules.run_cases import found
from tests.bot.rules.test_arms import arms, run


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [(2.0, 0.0, True), (2.0, 0.7, True), (2.0, 0.9, False), (0.0, 2.0, False), (0.1, 0.0, False),
     (-0.5, -2.0, False), (2.0, -0.5, True)],
)  # fmt: skip
def test_a_clock_that_leaves_out_more_than_the_arms_does(
    ours: float, theirs: float, told: bool
) -> None:
    def left_out(seconds: float) -> dict[str, Any]:
        """`_runtime` at validations 6 s apart of which each takes so many seconds besides."""
        points = run(0).validation
        return {
            "runtimes": tuple((v.step, (v.time_s or 0) + n * seconds) for n, v in enumerate(points))
        }

    said = [f for f in found("arms-differ", arms(left_out(theirs), left_out(ours)))]
    texts = [f.message for f in said if "leaves out" in f.message]
    assert [f"leaves out {ours:g} s" in text for text in texts] == [True] * told
