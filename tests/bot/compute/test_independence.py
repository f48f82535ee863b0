"""Runs that are not independent: forks, and one training in two forms."""

from __future__ import annotations

import random

import pytest

from bot.compute.independence import decimals, dependent, equal_to, same_points
from bot.compute.selection import select
from bot.model.run import BranchPoint, Run, Validation
from tests.bot.rules.run_cases import SMALL, a_run


def training(seed: int, loss: int = 4, clock: int = 3, points: int = 12) -> Run:
    """A run of its own: the spread and the machine's jitter of the record history."""
    draw = random.Random(seed)
    time, series = 0.0, [Validation(0, 10.8258, 0.0)]
    for n in range(1, points + 1):
        time += 12.0 + draw.uniform(-0.2, 0.2)
        value = 3.277 + 3.0 / n + draw.gauss(0, 0.0013)
        series.append(Validation(125 * n, round(value, loss), round(time, clock)))
    return a_run(seed, validation=tuple(series), run_id=None, nonce=None, metrics={})


def coarser(run: Run, loss: int, clock: int = 3) -> Run:
    points = tuple(
        Validation(v.step, round(v.loss, loss), round(v.time_s or 0.0, clock))
        for v in run.validation
    )
    return a_run(99, source="log", file="a.log", validation=points, run_id=None, nonce=None)


def fork(run: Run, after: int, seed: int) -> Run:
    other = training(seed)
    points = (*run.validation[:after], *other.validation[after:])
    return a_run(seed, validation=points, run_id=None, nonce=None)


@pytest.mark.parametrize("after", [4, 6, 9])
def test_a_fork_shares_its_first_part(after: int) -> None:
    assert dependent(fork(training(1), after, 2), training(1))


@pytest.mark.parametrize(("loss", "clock"), [(3, 3), (3, 2), (4, 3)])
def test_a_run_and_its_coarser_log_are_one(loss: int, clock: int) -> None:
    run = training(1, loss=7, clock=6)
    assert dependent(coarser(run, loss, clock), run)


@pytest.mark.parametrize("loss", [2, 3, 4, 7])
def test_trainings_of_one_script_are_independent(loss: int) -> None:
    runs = [training(seed, loss=loss) for seed in range(12)]
    assert not any(dependent(a, b) for n, a in enumerate(runs) for b in runs[:n])


def test_two_points_in_common_prove_nothing() -> None:
    assert not dependent(fork(training(1), 3, 2), training(1))


def test_only_the_independent_runs_count() -> None:
    whole = training(1)
    runs = [whole, fork(whole, 8, 2), fork(whole, 8, 3), coarser(whole, 3), training(4)]
    kept = select(runs, SMALL).kept
    assert [k.run.file for k in kept] == [whole.file, training(4).file]


def test_forks_by_the_mark_of_the_service_count_once() -> None:
    mark = BranchPoint("parent", 500)
    runs = [a_run(n, branch_point=mark, entity="e", project="p") for n in range(3)]
    selection = select(runs, SMALL)
    assert len(selection.kept) == 1 and len(selection.excluded) == 2


@pytest.mark.parametrize(
    ("values", "digits"),
    [
        ([3.0], 0), ([3.28, 3.2771], 4), ([1 / 3], 7), ([0.1 + 0.2], 1), ([0.123456], 6),
        # noise of a billionth of the value, and of 1 for a value below 1
        ([3.28 + 3.2e-9], 2), ([3.28 + 3.4e-9], 7), ([0.5 + 0.9e-9], 1), ([0.5 + 1.1e-9], 7),
    ],
)  # fmt: skip
def test_decimals(values: list[float], digits: int) -> None:
    assert decimals(values) == digits


def test_recorded_points_are_found_again() -> None:
    run = training(1, loss=7, clock=6)
    points = coarser(run, 3, 4).validation[::2]
    assert same_points(run.validation, points)
    assert not same_points(training(2, loss=7, clock=6).validation, points)
    assert not same_points(run.validation, points[:2])


@pytest.mark.parametrize(("clock", "one"), [(3, True), (2, True), (1, False)])
def test_clocks_of_hundredths_tell_a_short_run(clock: int, one: bool) -> None:
    """Five losses of three decimals are too few without a clock; tenths of a second say nothing."""
    run = training(1, loss=7, clock=6, points=5)
    assert dependent(coarser(run, 3, clock), run) is one


def plain(
    points: int,
    losses: int = 3,
    clocks: int | None = 2,
    *,
    first: int = 100,
    other_loss: int | None = None,
    other_clock: int | None = None,
    unclocked: int | None = None,
) -> Run:
    """A run with so many points and decimals, the points of these numbers being others."""
    series = []
    for n in range(points):
        loss = round(3.9 - 0.03717171 * n + (0.1 if n == other_loss else 0.0), losses)
        time = None
        if clocks is not None and n != unclocked:
            time = round(12.3456789 * (n + 1) + (5 if n == other_clock else 0), clocks)
        series.append(Validation(first + 100 * n, loss, time))
    return a_run(0, validation=tuple(series))


BARE = plain(8, clocks=None)


@pytest.mark.parametrize(
    ("a", "b", "one"),
    [
        pytest.param(plain(3, 4), plain(3, 4), True, id="three points"),
        pytest.param(plain(2, 4), plain(2, 4), False, id="two points"),
        pytest.param(plain(2, 4), plain(9, 4), False, id="two points of nine"),
        pytest.param(plain(3, first=0), plain(3, first=0), False, id="step 0 is no point"),
        pytest.param(plain(4, first=0), plain(4, first=0), True, id="three beside step 0"),
        pytest.param(plain(3, first=1), plain(3, first=1), True, id="step 1 is one"),
        pytest.param(plain(9, 4), plain(9, 4, other_loss=3), True, id="forked after three"),
        pytest.param(plain(9, 4), plain(9, 4, other_loss=2), False, id="forked after two"),
        pytest.param(plain(9, 4), plain(9, 4, other_clock=3), True, id="clocks from the fourth"),
        pytest.param(plain(9), plain(9, other_clock=2), False, id="another third clock"),
        pytest.param(plain(9), plain(9, other_clock=0), False, id="another first clock"),
        pytest.param(plain(9, 2), plain(9, 6), False, id="two decimals say nothing"),
        pytest.param(plain(3, 3), plain(3, 6), True, id="three decimals do"),
        pytest.param(plain(3, 3, 2), plain(3, 6, 5), True, id="clocks of two decimals"),
        pytest.param(plain(3, 3, 1), plain(3, 6, 5), False, id="clocks of one decimal"),
        pytest.param(BARE, BARE, True, id="eight losses without clocks"),
        pytest.param(plain(7, clocks=None), BARE, False, id="seven without clocks"),
        pytest.param(BARE, plain(8, clocks=None, other_loss=7), False, id="not the last"),
        pytest.param(BARE, plain(8, clocks=None, other_loss=0), False, id="not the first"),
        pytest.param(plain(9, 4, None), plain(9, 4, None), False, id="of four decimals"),
        pytest.param(plain(8, 3, 1), plain(8, 3, 1), True, id="eight with coarse clocks"),
        pytest.param(BARE, plain(8, unclocked=7), True, id="clocks on one side"),
        pytest.param(plain(8), plain(8, unclocked=7), True, id="one clock missing in the second"),
        pytest.param(plain(8, unclocked=7), plain(8), True, id="one clock missing in the first"),
        pytest.param(plain(7), plain(7, unclocked=6), False, id="and seven losses"),
    ],
)
def test_which_points_make_two_runs_one(a: Run, b: Run, one: bool) -> None:
    assert dependent(a, b) is one
    assert dependent(b, a) is one


@pytest.mark.parametrize(
    ("a", "b", "digits", "equal"),
    [(3.2775, 3.277, 3, True), (3.27752, 3.277, 3, False), (3.277, 3.2765, 3, True), (4, 3, 0, 0)],
)
def test_numbers_are_equal_up_to_half_of_the_last_digit(
    a: float, b: float, digits: int, equal: bool
) -> None:
    assert equal_to(a, b, digits) == equal


def points(count: int, changed: int = 0, by: float = 0.1, clock: float = 0.0) -> list[Validation]:
    """So many points from step 100 on, some of the last of them changed."""
    return [
        Validation(
            100 * n,
            by if n > count - changed else 0.0,
            clock if n > count - changed else 0.0,
        )
        for n in range(1, count + 1)
    ]


NO_CLOCK = [Validation(v.step, v.loss, None) for v in points(3)]


@pytest.mark.parametrize(
    ("shown", "recorded", "same"),
    [
        pytest.param(points(3), points(3), True, id="three"),
        pytest.param(points(2), points(2), False, id="two"),
        pytest.param(points(9), points(3), True, id="three of nine"),
        pytest.param(points(2), points(9), False, id="nine of which two are shown"),
        pytest.param(points(3), points(3, 1), False, id="two of three"),
        pytest.param(points(3), points(3, 1, 1.1e-3), True, id="a loss as far as rounding"),
        pytest.param(points(3), points(3, 1, 1.2e-3), False, id="a loss beyond rounding"),
        pytest.param(points(3), points(3, 1, 0.0, 1.1e-3), True, id="a clock as far"),
        pytest.param(points(3), points(3, 1, 0.0, 1.2e-3), False, id="a clock beyond"),
        pytest.param(points(3), NO_CLOCK, True, id="no clock recorded"),
        pytest.param(NO_CLOCK, points(3), True, id="no clock shown"),
        pytest.param(NO_CLOCK, points(3, 1), False, id="no clock, and another loss"),
        pytest.param(points(7), points(7, 1), False, id="six of seven"),
        pytest.param(points(8), points(8, 2), True, id="six of eight"),
        pytest.param(points(8), points(8, 3), False, id="five of eight"),
        pytest.param(points(10), points(10, 3), True, id="seven of ten"),
        pytest.param(points(10), points(10, 4), False, id="six of ten"),
    ],
)
def test_recorded_points_are_shown_up_to_a_share(
    shown: list[Validation], recorded: list[Validation], same: bool
) -> None:
    assert same_points(shown, recorded) is same


def test_a_point_at_step_0_is_not_recorded() -> None:
    two = [Validation(0, 10.8, 0.0), *points(2)]
    assert not same_points(two, two)
    three = [Validation(1, 10.8, 0.0), *points(2)]
    assert same_points(three, three)
