"""Pairs of points and of clocks at each limit: six to twenty validations, worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from bot.compute.aligned import (
    Pairs,
    body_apart,
    clocks_apart,
    evenly,
    pairings,
    shape_apart,
    trained_again,
)
from bot.model.trace import Trace

Steps = Sequence[int]


def at(steps: Steps, level: float = 4.0) -> Trace:
    """Losses on a line, so that what lies between two of them is known."""
    return Trace(tuple((step, level - step / 1000) for step in steps))


def ways(a: Trace, b: Trace) -> list[tuple[Pairs, bool]]:
    return [(way.pairs, way.by_step) for way in pairings(a, b)]


def both(steps: Steps, mine: Steps | None = None) -> Pairs:
    """Pairs of `at(mine)` and `at(steps, 5)`, each with the step of the second."""
    return [(s, 4 - m / 1000, 5 - s / 1000) for s, m in zip(steps, mine or steps, strict=True)]


@pytest.mark.parametrize(
    ("mine", "theirs", "found"),
    [
        (range(1, 7), range(1, 7), [(both(range(1, 7)), True)]),
        (range(1, 6), range(1, 6), []),
        (range(1, 6), range(1, 7), []),
        (range(1, 7), range(1, 6), []),
        # One more at the end: equal steps and the first six end before nine tenths of the run.
        (range(1, 7), range(1, 8), [(both(range(2, 8), range(1, 7)), False)]),
        (
            range(1, 8),
            [*range(1, 7), 8],
            [(both([*range(1, 7), 8], range(1, 8)), False)] * 2,
        ),
        (
            range(1, 8),
            range(1, 7),
            [
                (both(range(1, 7)), True),
                (both(range(1, 7)), False),
                (both(range(1, 7), range(2, 8)), False),
            ],
        ),
    ],
)
def test_points_are_paired_by_step_and_in_order_from_either_end(
    mine: Steps, theirs: Steps, found: list[tuple[Pairs, bool]]
) -> None:
    assert ways(at(mine), at(theirs, 5)) == found


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([35, 50, 60, 70, 80, 100], True),
        ([36, 50, 60, 70, 80, 100], False),
        ([30, 50, 60, 70, 80, 90], True),
        ([30, 50, 60, 70, 80, 89], False),
    ],
)
def test_pairs_are_of_the_whole_run(steps: list[int], told: bool) -> None:
    """Of 100 steps they begin in the first 35 and end in the last 10."""
    mine = [*steps, 95] if steps[-1] < 95 else steps
    theirs = [*steps, 100] if steps[-1] < 100 else steps
    assert any(pairs == both(steps) for pairs, by in ways(at(mine), at(theirs, 5)) if by) is told


@pytest.mark.parametrize(
    ("scale", "shift", "told"),
    [(10, 3, True), (10, 4, False), (100, 3, True), (100, 4, True), (100, 6, True)]
    + [(100, 7, False), (100, -6, True), (100, -7, False)],
)  # fmt: skip
def test_steps_are_near_within_three_or_six_in_a_thousand(
    scale: int, shift: int, told: bool
) -> None:
    mine = range(scale, 10 * scale + 1, scale)
    theirs = [step + shift for step in mine]
    near = [pairs for pairs, by_step in ways(at(mine), at(theirs, 5)) if by_step]
    assert near == [both(theirs, mine)] * told


@pytest.mark.parametrize(("equal", "more"), [(8, False), (7, True)])
@pytest.mark.parametrize("extra", [0, 1])
def test_other_pairings_are_for_runs_of_few_equal_steps(equal: int, more: bool, extra: int) -> None:
    """Four fifths of the shorter run's ten validations."""
    mine = [100 * n for n in range(1, 11)]
    theirs = [s + (n >= 5 and n - 5 < 10 - equal) for n, s in enumerate(mine)]
    theirs = [*theirs, *([250] * extra)]
    found = ways(at(mine), at(sorted(theirs), 5))
    assert sum(by_step for _, by_step in found) == 1 + more


def lines(a: Trace, b: Trace) -> list[list[float]]:
    """The steps of each pairing that is not by step, and in which both are one line."""
    return [
        [step for step, _, _ in pairs]
        for pairs, by_step in ways(a, b)
        if not by_step and all(math.isclose(y - x, 1) for _, x, y in pairs)
    ]


def test_points_lie_on_the_line_between_two_others() -> None:
    """Either curve's points on the other's line."""
    mine, theirs = range(100, 1001, 100), [*range(150, 1000, 100), 1000]
    inner = [*range(200, 1001, 100)]
    assert lines(at(mine), at(theirs, 5)) == [theirs, inner]
    assert lines(at(theirs), at(mine, 5)) == [inner, theirs]


@pytest.mark.parametrize(("gap", "told"), [(150, True), (151, False)])
def test_a_line_is_not_drawn_over_a_gap(gap: int, told: bool) -> None:
    """Of 15 % of the run at the most."""
    mine = [*range(100, 501, 100), 500 + gap, *range(700, 1001, 100)]
    theirs = [150, 250, 350, 450, 550, 720, 820, 920, 1000]
    expected = [s for s in theirs if s != 550 or told]
    assert expected in lines(at(mine), at(theirs, 5))


def test_steps_that_were_counted_anew_are_paired_by_their_share() -> None:
    mine = range(100, 1001, 100)
    theirs = [3 * s for s in mine]
    found = ways(at(mine), at(theirs, 5))
    assert (both(theirs, mine), False) in found
    assert not any(by_step for _, by_step in found)


# ---- Distances ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        (range(1, 21), [2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 14, 15, 17, 18, 19, 20]),
        ([10, 40, 80, 97, 98, 99, 100], [10, 40, 80, 97, 100]),
        ([*range(1, 16), 160], [10, 15, 160]),  # sixteen: the nearest of each sixteenth
        ([*range(1, 17), 160], [10, 160]),  # more: the next
    ],
)
def test_points_are_taken_evenly_over_the_steps(steps: Steps, kept: list[int]) -> None:
    assert [s for s, _, _ in evenly([(s, 0.0, 0.0) for s in steps])] == kept


def apart(differences: Sequence[float], level: float = 3.3) -> Pairs:
    return [(n + 1, level + d, level) for n, d in enumerate(differences)]


@pytest.mark.parametrize("n", [6, 7, 10, 11])
def test_the_nearer_four_fifths_count(n: int) -> None:
    differences = [(-1) ** k * 0.001 * (k + 1) for k in range(n)]
    kept = differences[: math.ceil(0.8 * n)]
    want = math.sqrt(sum(d * d for d in kept) / len(kept))
    assert body_apart(apart(differences)) == pytest.approx(want)
    assert body_apart(apart(differences[:5])) == math.inf


def test_a_constant_factor_is_taken_out() -> None:
    """One of six ratios is off by 1 %, and is the one that does not count; two of them are."""
    factor = [(n + 1, 1.1 * (3 + n), 3.0 + n) for n in range(6)]
    assert shape_apart(factor) == pytest.approx(0, abs=1e-9)
    one = [(s, x * 1.01 if s == 3 else x, y) for s, x, y in factor]
    assert shape_apart(one) == pytest.approx(0, abs=1e-9)
    two = [(s, x * 1.01 if s in (3, 4) else x, y) for s, x, y in factor]
    assert shape_apart(two) == pytest.approx(3.3 * math.log(1.01) / math.sqrt(5))
    assert shape_apart(factor[:5]) == math.inf


@pytest.mark.parametrize(
    ("x", "y", "known"),
    [(0.0, 1.0, False), (1.0, 0.0, False), (-1.0, -1.0, False), (0.5, 0.5, True)],
)
def test_a_form_is_of_losses_above_zero(x: float, y: float, known: bool) -> None:
    pairs = [(n + 1, x if n == 2 else 0.5, y if n == 2 else 0.5) for n in range(6)]
    assert (shape_apart(pairs) < math.inf) is known


# ---- Clocks ------------------------------------------------------------------------------------


def clock(stretches: Sequence[float], steps: Steps | None = None, losses: Steps = ()) -> Trace:
    total, times = 0.0, []
    for n, stretch in zip(steps or range(1, 99), stretches, strict=False):
        total = round(total + stretch, 6)
        times.append((n, total))
    return Trace(tuple((s, 3.0 + s / 7) for s in losses), frozenset({1}), tuple(times))


@pytest.mark.parametrize(("n", "known"), [(6, True), (5, False)])
def test_clocks_are_compared_by_six_stretches(n: int, known: bool) -> None:
    found = clocks_apart(clock([0.5] * n), clock([0.75] * n))
    assert found == (pytest.approx((0, 0), abs=1e-9) if known else (math.inf, math.inf))


def test_clocks_are_apart_in_seconds_and_in_share() -> None:
    """Five of six stretches are 10 s, and two of them 0.1 s longer: four fifths of six are five."""
    found = clocks_apart(clock([10.1, 10.2, 10, 10, 10, 10]), clock([20.0] * 6))
    assert found == pytest.approx((0.1 / math.sqrt(5), 0.01 / math.sqrt(5)))


@pytest.mark.parametrize("still", [0.0, -1.0])
def test_a_clock_that_stands_still_is_none(still: float) -> None:
    stretches = [10.0, 10.0, still, 10.0, 10.0, 10.0]
    assert clocks_apart(clock(stretches), clock([10.0] * 6)) == (math.inf, math.inf)
    assert clocks_apart(clock([10.0] * 6), clock(stretches)) == (math.inf, math.inf)


def test_clocks_of_other_lengths_are_compared_at_equal_steps() -> None:
    more = clock([5.0, 5.0, *[10.0] * 6], steps=[1, 2, 4, 6, 8, 10, 12, 14])
    some = clock([10.0] * 7, steps=[2, 4, 6, 8, 10, 12, 14])
    assert clocks_apart(more, some) == pytest.approx((0, 0), abs=1e-9)
    assert clocks_apart(more, clock([10.0] * 5, steps=[2, 4, 6, 8, 10])) == (math.inf, math.inf)


def again(stretches: Sequence[float], losses: Steps = range(1, 11)) -> Trace:
    return clock(stretches, losses=losses)


TEN = [10.001] * 10
UNEVEN = [10.001, 10.031] * 5


@pytest.mark.parametrize(
    ("theirs", "told"),
    [
        (again(UNEVEN), True),
        (again(TEN), False),  # one clock
        (again([2 * s for s in TEN]), False),  # a multiple of it
        (again(UNEVEN, range(2, 12)), True),  # nine of ten losses in common
        (again(UNEVEN, range(3, 13)), True),
        (again(UNEVEN, range(4, 14)), False),  # seven
        (again(UNEVEN, range(4, 11)), True),  # seven of the shorter one's seven
        (again([*UNEVEN[:4], 0.0, *UNEVEN[5:]]), False),
        (again([*UNEVEN[:4], 0.5, *UNEVEN[5:]]), True),
    ],
)
def test_one_program_that_ran_twice(theirs: Trace, told: bool) -> None:
    assert trained_again(again(TEN), theirs) is told


def test_every_loss_is_equal_to_the_last_digit_of_the_coarser_run() -> None:
    def rounded(digits: int, off: float = 0.0) -> Trace:
        made = again(UNEVEN)
        losses = [(s, round(x + off * (s == 4), digits)) for s, x in made.losses]
        return Trace(tuple(losses), made.clocks, made.times)

    fine = Trace(rounded(6).losses, frozenset({1}), again(TEN).times)
    assert trained_again(fine, rounded(3)) and trained_again(rounded(3), fine)
    assert not trained_again(fine, rounded(3, 0.001)), "one of ten differs"


@pytest.mark.parametrize(
    ("stretch", "off", "told"),
    [
        (10.001, 0.012, True),  # a thousandth of 10 s is 0.01 s
        (10.001, 0.008, False),
        (1.001, 0.0025, True),  # two units of the last digit are 0.002 s
        (1.001, 0.0015, False),
        (100.0, 3.0, True),  # 2 s
        (100.0, 1.0, False),
    ],
)
def test_clocks_of_their_own_differ_by_more_than_their_digits(
    stretch: float, off: float, told: bool
) -> None:
    """Of twenty stretches half are longer and half shorter; the coarser clock's digits count."""
    mine, theirs = again([stretch] * 20), again([stretch + off * (-1) ** n for n in range(20)])
    assert trained_again(mine, theirs) is told is trained_again(theirs, mine)


@pytest.mark.parametrize(
    ("count", "clocked", "told"),
    [(6, True, True), (6, False, False), (2, False, True), (2, True, True), (3, False, False),
     (1, True, False)],
)  # fmt: skip
def test_short_runs_are_compared_without_an_uneven_clock(
    count: int, clocked: bool, told: bool
) -> None:
    clocks = frozenset({1}) if clocked else frozenset[int]()
    runs = [again(each[:count], range(1, count + 1)) for each in (TEN, [10.001, 11.001] * 5)]
    a, b = (Trace(run.losses, clocks, run.times) for run in runs)
    assert trained_again(a, b) is told
    if count == 6:
        assert trained_again(Trace(a.losses, frozenset({1}), a.times), b) is told
