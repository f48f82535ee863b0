"""Training time by a second clock and by the durations of steps: worked out by hand."""

from __future__ import annotations

import pytest

from bot.compute.paces import implied_by_clock, implied_by_durations

CLOCK = [(step, 2.0 * step) for step in range(11)]
"""Ten steps of 2 s: 20 s of training."""


@pytest.mark.parametrize(
    ("other", "validations", "implied"),
    [
        pytest.param([(s, 3.0 * s) for s in range(11)], (), (30.0, True), id="half as fast again"),
        pytest.param([(s, 9 + 3.0 * s) for s in range(11)], (), (30.0, True), id="started earlier"),
        pytest.param([(s, 3.0 * s) for s in range(2, 7)], (), (30.0, True), id="a part of it"),
        pytest.param([(s, 9.0 * s) for s in range(2, 5)], (), None, id="two stretches only"),
        pytest.param([(s, 9.0 * s) for s in range(2, 6)], (), (90.0, True), id="three stretches"),
        pytest.param([(s, 3.0 * s) for s in range(11)], (5,), (30.0, True), id="one validation"),
        pytest.param([(s, 3.0 * s) for s in range(11)], range(11), (30.0, False), id="one each"),
        pytest.param([(s, 3.0 * s) for s in range(11)], (2, 5, 8), (30.0, True), id="three bare"),
        pytest.param([(s, 3.0 * s) for s in range(11)], (1, 4, 7, 9), (30.0, False), id="two bare"),
        pytest.param([(s, 0.75 * s) for s in range(11)], (), (7.5, True), id="with decimals"),
    ],
)
def test_a_second_clock(
    other: list[tuple[int, float]],
    validations: tuple[int, ...],
    implied: tuple[float, bool] | None,
) -> None:
    found = implied_by_clock(CLOCK, other, validations)
    assert found is None if implied is None else found == (pytest.approx(implied[0]), implied[1])


@pytest.mark.parametrize(
    ("pause", "implied"),
    [
        pytest.param(12.0, 20 * 42 / 20, id="five times the usual counts"),
        pytest.param(12.1, 30.0, id="more is a stall, and left out"),
    ],
)
def test_a_stall_is_left_out_of_both_clocks(pause: float, implied: float) -> None:
    """One stretch of ten takes 3 s and the pause."""
    other = [(step, 3.0 * step + (pause if step >= 6 else 0.0)) for step in range(11)]
    found = implied_by_clock(CLOCK, other, ())
    assert found is not None and found.seconds == pytest.approx(implied)


def test_a_stretch_that_goes_backwards_is_left_out() -> None:
    """The second clock began anew at step 5: nine stretches of 3 s each are left."""
    other = [(step, 3.0 * (step if step < 5 else step - 5)) for step in range(11)]
    found = implied_by_clock(CLOCK, other, ())
    assert found is not None and found.seconds == pytest.approx(30.0)


@pytest.mark.parametrize(("each", "implied"), [(3.0, 30.0), (3000.0, 30.0), (0.05, 30.0)])
def test_the_unit_that_fits_best(each: float, implied: float) -> None:
    """Seconds, milliseconds or minutes."""
    other = [(step, each * step) for step in range(11)]
    found = implied_by_clock(CLOCK, other, (), (1.0, 0.001, 60.0))
    assert found is not None and found.seconds == pytest.approx(implied)


@pytest.mark.parametrize(
    ("steps", "found"), [pytest.param(10, 30.0, id="ten units"), pytest.param(9, None, id="nine")]
)
def test_whole_seconds_are_compared_after_ten_of_them(steps: int, found: float | None) -> None:
    """Fewer say little; with decimals they would do."""
    clock = [(step, 0.6667 * step) for step in range(steps + 1)]
    other = [(step, float(step)) for step in range(steps + 1)]
    implied = implied_by_clock(clock, other, ())
    assert (implied is None) is (found is None)
    assert implied is None or implied.seconds == pytest.approx(10.0, rel=1e-3)


@pytest.mark.parametrize(
    ("clock", "other", "implied"),
    [
        pytest.param([0, 2, 4, 4, 6, 8], [0, 3, 6, 9, 12, 15], 15.0, id="the first stands still"),
        pytest.param([0, 2, 4, 6, 8, 10], [0, 3, 6, 6, 9, 12], 12.0, id="the second stands still"),
        pytest.param([0, 2, 4, 3, 5, 7], [0, 3, 6, 9, 12, 15], 10.5, id="the first goes back"),
        pytest.param([0, 20, 40, 60, 80], [0, 30, 10, 40, 20], None, id="two stretches are left"),
        pytest.param([8, 8, 8, 8, 8], [0, 3, 6, 9, 12], 8e6, id="a clock that does not run"),
        pytest.param([0, 0.1, 0.2, 0.3], [0, 0.15, 0.3, 0.45], 0.45, id="less than a second"),
        pytest.param([0, 3e-3, 6e-3, 9e-3], [0, 5e-3, 0.01, 0.015], 0.015, id="15 ms"),
        pytest.param([0, 3e-3, 6e-3, 9e-3], [0, 3e-3, 6e-3, 9e-3], None, id="9 ms"),
    ],
)
def test_two_clocks(clock: list[float], other: list[float], implied: float | None) -> None:
    found = implied_by_clock(list(enumerate(clock)), list(enumerate(other)), ())
    assert (found and found.seconds) == (None if implied is None else pytest.approx(implied))


@pytest.mark.parametrize(
    ("at", "off", "slow", "counted"),
    [(6, -2, 10.0, False), (6, -1, 10.0, True), (6, 0, 10.0, True), (6, 1, 10.0, True),
     (6, 2, 10.0, False), (0, 0, 10.0, True), (0, 1, 10.0, True), (0, 2, 10.0, False),
     (11, -1, 10.0, True), (6, 1, 9.5, True), (6, 1, 9.4, False)],
)  # fmt: skip
def test_a_stall_counts_where_the_first_clock_has_half_of_it(
    at: int, off: int, slow: float, counted: bool
) -> None:
    """Twelve stretches of 2 s by one clock and of 3 s by the other, which stalls for 20 s."""
    mine = [2.0 + slow * (n == at + off) for n in range(12)]
    theirs = [3.0 + 20.0 * (n == at) for n in range(12)]
    clock, other = ([(n, sum(each[:n])) for n in range(13)] for each in (mine, theirs))
    left = sum(mine) - mine[at]
    found = implied_by_clock(clock, other, ())
    assert found is not None
    assert found.seconds == pytest.approx(56.0 if counted else sum(mine) / left * 33.0)


def test_a_clock_without_a_time_implies_nothing() -> None:
    assert implied_by_clock([], CLOCK, ()) is None
    assert implied_by_clock([(step, 0.0) for step in range(11)], CLOCK, ()) is None


READ = [(0, 0.0), (10, 20.0), (20, 40.0), (30, 60.0), (40, 80.0), (50, 100.0)]
"""A clock read every ten steps of 2 s."""


@pytest.mark.parametrize(
    ("durations", "units", "implied"),
    [
        pytest.param([(s, 3.0) for s in range(1, 51)], (1.0,), 150.0, id="seconds"),
        pytest.param([(s, 3000.0) for s in range(1, 51)], (0.001,), 150.0, id="milliseconds"),
        pytest.param([(s, 3000.0) for s in range(1, 51)], (1.0, 0.001), 150.0, id="the best unit"),
        pytest.param([(s, 1.0) for s in range(1, 51)], (1.0, 0.001), 50.0, id="the best, below"),
        pytest.param([(5, 3.0)], (1.0,), 150.0, id="one step stands for all"),
        pytest.param([(s, 3.0) for s in range(11, 21)], (1.0,), 150.0, id="one stretch for all"),
        pytest.param([(s, 0.0) for s in range(1, 51)], (1.0,), None, id="none that takes time"),
        pytest.param([], (1.0,), None, id="none"),
        pytest.param([(s, 3.0 * (s % 3 == 0)) for s in range(51)], (1.0,), 150.0, id="some zero"),
        pytest.param(
            [(s, 99.0 if s % 10 == 1 else 3.0) for s in range(1, 51)], (1.0,), 150.0, id="medians"
        ),
        pytest.param(
            [(s, 15.0 if 10 < s <= 20 else 3.0) for s in range(1, 51)], (1.0,), 270.0, id="slow"
        ),
        pytest.param(
            [(s, 15.1 if 10 < s <= 20 else 3.0) for s in range(1, 51)], (1.0,), 150.0, id="stalled"
        ),
    ],
)
def test_durations_of_steps(
    durations: list[tuple[int, float]], units: tuple[float, ...], implied: float | None
) -> None:
    found = implied_by_durations(READ, durations, units)
    assert found is None if implied is None else found == pytest.approx(implied)


@pytest.mark.parametrize(
    ("pause", "implied"),
    [
        pytest.param(80.0, 180 * 150 / 180, id="five times the usual counts"),
        pytest.param(80.5, 180.5 * 120 / 80, id="more is a stall of the clock, and left out"),
    ],
)
def test_a_stall_of_the_clock_is_left_out(pause: float, implied: float) -> None:
    """The third stretch takes 20 s and the pause; each of its steps still 3 s."""
    clock = [(step, t + (pause if step >= 30 else 0.0)) for step, t in READ]
    found = implied_by_durations(clock, [(s, 3.0) for s in range(1, 51)], (1.0,))
    assert found == pytest.approx(implied)


def test_durations_need_a_clock_read_twice() -> None:
    steps = [(s, 3.0) for s in range(1, 51)]
    assert implied_by_durations(READ[:1], steps, (1.0,)) is None
    assert implied_by_durations([(0, 0.0), (10, 0.0)], steps, (1.0,)) is None
    assert implied_by_durations(READ[:2], steps, (1.0,)) == pytest.approx(30.0)
    for clock in (READ[1:2], [(0, 5.0), (10, 5.0)], [(0, -5.0), (10, 0.0)], [(0, 9.0), (10, 4.0)]):
        assert implied_by_durations(clock, steps, (1.0,)) is None
    late = [(0, -5.0), (10, -3.0), (20, 15.0)]
    assert implied_by_durations(late, steps, (1.0,)) == pytest.approx(15 * 60 / 20)
    assert implied_by_durations([(0, 0.0), (10, 0.5)], steps, (0.01,)) == pytest.approx(0.3)


def test_slow_steps_of_a_busy_machine_count_on_both_clocks() -> None:
    """W&B stamps a row when the next begins: its clock has the step of 10 s a row early. Left out
    there and kept here, 32 s of training would look like 14 s."""
    steps = [1.0] * 5 + [10.0] + [1.0] * 5 + [10.0] + [1.0] * 2
    clock = [(n, sum(steps[:n])) for n in range(len(steps) + 1)]
    early = [(n, sum(steps[: n + 1])) for n in range(len(steps))]
    found = implied_by_clock(clock, early, ())
    assert found is not None and found.seconds == pytest.approx(32.0)
    # a stall that the training clock does not count is left out, as a checkpoint is
    stalled = [(n, value + 30.0 * (n > 8)) for n, value in clock]
    found = implied_by_clock(clock, stalled, ())
    assert found is not None and found.seconds == pytest.approx(32.0)
    # a clock that counts half of each second, and of the slow steps no more, is told so: 14 for 7
    half = [(n, 0.5 * n) for n in range(len(steps) + 1)]
    found = implied_by_clock(half, early, ())
    assert found is not None and found.seconds == pytest.approx(14.0)
