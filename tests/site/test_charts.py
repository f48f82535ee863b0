"""Where a chart puts its points: worked out by hand from the frame's size."""

from __future__ import annotations

import re

import pytest

from leaderboard_site.charts import NARROW, WIDE, Axis, Frame, Step, record_steps

STEPS = [
    Step(100, 40.0, "first", "a/"),
    Step(150, 30.0, "second", "b/"),
    Step(300, 20.0, "c", "c/"),
]


@pytest.mark.parametrize(("frame", "index"), [(WIDE, 0), (NARROW, 1)])
def test_a_record_stands_at_its_day_and_its_cost(frame: Frame, index: int) -> None:
    """Days are in x with 3 % of their range free at each side, costs in y with 6 %."""
    drawn = record_steps(STEPS, Axis("cost", "s", False), label="records")
    circles = re.findall(r'<circle class="record" cx="([\d.]+)" cy="([\d.]+)"', drawn)
    assert len(circles) == 6
    found = [(float(x), float(y)) for x, y in circles[3 * index : 3 * index + 3]]
    width = frame.width - frame.left - frame.right
    height = frame.height - frame.top - frame.bottom
    assert found == [
        (
            pytest.approx(frame.left + width * ((s.day - 100) / 200 + 0.03) / 1.06, abs=0.1),
            pytest.approx(frame.top + height * ((40 - s.cost) / 20 + 0.06) / 1.12, abs=0.1),
        )
        for s in STEPS
    ]


def test_a_scale_leaves_four_hundredths_free_at_each_side() -> None:
    x = WIDE.x_scale([0.0, 100.0], log=False)
    assert x(0.0) == pytest.approx(64 + 952 * 0.04 / 1.08, abs=0.1)
    assert x(100.0) == pytest.approx(64 + 952 * 1.04 / 1.08, abs=0.1)
