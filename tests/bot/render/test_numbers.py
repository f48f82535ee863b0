"""Numbers as people write them, each rule of `bot.render.numbers` with its edges."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.render import numbers

NUMBERS = st.floats(-1e307, 1e307, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
        (0, "0"),
        (-3, "-3"),
        (16, "16"),
        (1234567, "1,234,567"),
        (4.38334e18, "4.38334e18"),
        (4.59e14, "4.59e14"),
        (1.17614, "1.17614"),
        (3.1, "3.1"),
        (54420.352921210935, "54,420.4"),
        (0.00001234, "0.00001234"),
        (8.6425e-104, "8.6425e-104"),
        (999_999_999.7, "1,000,000,000"),
    ],
)
def test_figures(value: float | None, shown: str) -> None:
    assert numbers.figure(value) == shown


@given(NUMBERS.filter(bool), st.integers(1, 15))
def test_a_figure_reads_back_and_is_never_zero(value: float, digits: int) -> None:
    shown = numbers.figure(value, digits)
    read = float(shown.replace(",", ""))
    assert read == pytest.approx(value, rel=0.51 * 10 ** (1 - digits), abs=5e-324)
    assert read != 0
    assert not re.search(r"\.\d*0$|\.$|e\+|e0|e-0", shown)


@given(NUMBERS)
def test_what_is_to_be_written_is_json_and_close(value: float) -> None:
    assert float(numbers.exact(value)) == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize(
    ("value", "bound", "shown"),
    [(3.2774, 3.28, "3.2774"), (3.28004, 3.28, "3.28004"), (3.2800001, 3.28, "3.2800001")],
)
def test_a_value_is_told_apart_from_its_bound(value: float, bound: float, shown: str) -> None:
    assert numbers.apart(value, bound) == shown


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (0.081, "0.081"),
        (0.5, "0.5"),
        (0.00052, "0.0005"),
        (0.000004, "0.000004"),
        (8.6425e-104, "< 0.000001"),
        (None, "–"),
    ],
)
def test_probabilities(p: float | None, shown: str) -> None:
    assert numbers.probability(p) == shown


def test_a_probability_in_a_sentence() -> None:
    assert numbers.p_is(0.081) == "p = 0.081"
    assert numbers.p_is(8.6425e-104) == "p < 0.000001"


def test_a_probability_just_above_its_bound_does_not_look_equal() -> None:
    assert numbers.probability(0.0100003, 0.01) == "0.0100003"
    assert numbers.probability(0.0148, 0.01) == "0.015"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0123, "0.012 s"),
        (76.0911, "76.09 s"),
        (175.98, "176.0 s"),
        (599.9, "599.9 s"),
        (750, "12.50 min"),
        (9000, "2.50 h"),
        (864_000, "10.0 d"),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    assert numbers.duration(seconds) == shown


@pytest.mark.parametrize(
    ("metric", "value", "unit", "shown"),
    [
        ("training_time_s", 76.09, "s", "76.09 s"),
        ("hardware_flops", 4.38334e18, "FLOP", "4.383e18 FLOP"),
        ("peak_flops", 9.895e14, "FLOP/s", "9.895e14 FLOP/s"),
        ("steps", 3325, "steps", "3,325 steps"),
        ("tokens", 2_599_944_192, "", "2,599,944,192"),
        ("bpb", 1.176142, "bits/byte", "1.1761 bits/byte"),
        ("mfu", 0.0442575, "", "4.4 %"),
        ("loss", None, "", "–"),
    ],
)
def test_quantities(metric: str, value: float | None, unit: str, shown: str) -> None:
    assert numbers.quantity(metric, value, unit) == shown


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [
        (1.03, "3 % too high"),
        (0.97, "3 % too low"),
        (1.0000004, "0.00004 % too high"),
        (2, "2 times too high"),
        (0.001042, "960 times too low"),
        (1e-300, "far too low"),
        (1e12, "far too high"),
    ],
)
def test_how_wrong_a_figure_is(ratio: float, shown: str) -> None:
    assert numbers.times(ratio) == shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the run is still running", "each of the 8 runs is still running"),
        ("Nothing in the run is odd", "None of the 8 runs is odd"),
        ("the run's data are others", "each run's data are others"),
        ("submit the run.wandb file", "submit the run.wandb file"),
        ("the runs are not alike", "the runs are not alike"),
    ],
)
def test_what_is_said_of_a_run_is_said_of_each(text: str, said: str) -> None:
    assert numbers.each_run(text, 8) == said
    assert numbers.each_run(text, 1) == text


def test_differences_and_counts() -> None:
    assert numbers.difference("training_time_s", -1.2964) == "1.3 s"
    assert numbers.difference("training_time_s", 4000.0) == "66.67 min"
    assert numbers.difference("steps", 150, "steps") == "150 steps"
    assert (
        numbers.count(1, "run") == "1 run" and numbers.count(2, "entry", "entries") == "2 entries"
    )
    shown = [numbers.ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 112)]
    assert shown == ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th"]
    assert numbers.listed(["a"]) == "a" and numbers.listed(["a", "b", "c"]) == "a, b and c"


def test_a_column_keeps_its_decimals() -> None:
    column = ["3.2771", "3.277", "3", "1,000.5", numbers.DASH, "1.2e18"]
    expected = ["3.2771", "3.2770", "3.0000", "1,000.5000", numbers.DASH, "1.2e18"]
    assert numbers.aligned(column) == expected
    assert numbers.aligned(["3", "4"]) == ["3", "4"]
