"""Which sums of two curves are of the same runs: four curves of six validations, made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bot.compute.averages import among, of_others
from bot.model.trace import Trace

Curve = list[float]
A: Curve = [3.9, 3.8, 3.7, 3.6, 3.5, 3.4]
FORM: Curve = [0.01, -0.01, 0.01, 0.01, -0.01, -0.01]
OTHER: Curve = [0.02, 0.02, -0.02, 0.02, -0.02, -0.02]


def plus(*curves: Sequence[float], times: float = 1.0) -> Curve:
    first, *rest = curves
    return [x + times * sum(more) for x, *more in zip(first, *rest, strict=True)]


def four(error: Sequence[float] = (0.0,) * 6, other: Curve = OTHER) -> list[Curve]:
    """Runs a, b = a + FORM, c = a + `other` and d, so that c + d is a + b and the error."""
    c = plus(A, other)
    d = [a + b - x + e for a, b, x, e in zip(A, plus(A, FORM), c, error, strict=True)]
    return [A, plus(A, FORM), c, d]


def traces(curves: Sequence[Curve], steps: Sequence[int] = range(1, 99)) -> list[Trace]:
    return [Trace(tuple(zip(steps, curve, strict=False))) for curve in curves]


def strangers(count: int, steps: Sequence[int] = range(1, 99)) -> list[Trace]:
    """Runs whose sums are all different."""
    return traces([[5 + 0.01 * n * n + k for k in range(6)] for n in range(count)], steps)


def at(place: int, error: float) -> Curve:
    return [error * (n == place) for n in range(6)]


@pytest.mark.parametrize(
    ("error", "told"),
    [([1.9e-4] * 6, True), ([2.1e-4] * 6, False), ([-1.9e-4] * 6, True), ([-2.1e-4] * 6, False)]
    + [(at(place, 3.9e-4), True) for place in range(6)]
    + [(at(place, -3.9e-4), True) for place in range(6)]
    + [(at(place, 4.1e-4), place in (2, 4)) for place in range(6)]  # the others are looked at first
    + [(at(place, -4.1e-4), place in (2, 4)) for place in range(6)]
    + [(at(place, 5.1e-4), False) for place in range(6)],
)  # fmt: skip
def test_two_sums_are_near(error: Curve, told: bool) -> None:
    found = among(traces(four(error)))
    assert (found is not None) is told
    if found is not None:
        assert {frozenset(s[1:]) for s in found} == {frozenset((0, 1)), frozenset((2, 3))}


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ([1.1e-4, -1.1e-4] * 3, True),
        ([0.9e-4, -0.9e-4] * 3, False),
        ([0.02 + e for e in (1.1e-4, -1.1e-4)] * 3, True),
        ([0.02] * 6, False),
    ],
)
def test_curves_that_are_shifted_alike_have_equal_sums(other: Curve, told: bool) -> None:
    """The third run is the first and a constant, the fourth the second less that constant."""
    assert (among(traces(four(other=other))) is not None) is told


def test_four_different_runs_are_compared() -> None:
    near = plus(A, [1.5e-4, -1.5e-4] * 3)
    assert among(traces([A, near, plus(A, FORM), plus(A, OTHER)])) is None
    assert among(traces(four()[:3])) is None and among([]) is None


@pytest.mark.parametrize(("before", "told"), [(96, True), (97, False)])
def test_the_first_hundred_runs_are_compared(before: int, told: bool) -> None:
    assert (among([*strangers(before), *traces(four())]) is not None) is told


@pytest.mark.parametrize(("elsewhere", "told"), [(1, True), (2, False)])
def test_validations_of_four_fifths_of_the_runs_count(elsewhere: int, told: bool) -> None:
    others = strangers(elsewhere, range(100, 200))
    assert (among([*traces(four()), *others]) is not None) is told


@pytest.mark.parametrize(("count", "told"), [(6, True), (5, False)])
def test_six_validations_are_compared(count: int, told: bool) -> None:
    assert (among(traces([curve[:count] for curve in four()])) is not None) is told


# ---- Two entries -------------------------------------------------------------------------------


def mean(a: Curve, b: Curve) -> Curve:
    return [(x + y) / 2 for x, y in zip(a, b, strict=True)]


B, C = plus(A, FORM), plus(A, OTHER)


def test_the_mean_of_two_runs_of_another_entry() -> None:
    assert of_others(traces([C, mean(A, B)]), traces([A, B])) == (1,)
    assert of_others(traces([mean(A, B)]), traces([A])) == ()
    assert of_others(traces([mean(A, B)]), []) == () == of_others([], traces([A, B]))
    assert of_others(traces([A, B, C]), traces([A, B, C])) == ()


def test_a_mean_within_the_other_entry_is_its_own_affair() -> None:
    theirs = [mean(A, B), A, B]
    assert of_others(traces([C]), traces(theirs)) == ()


@pytest.mark.parametrize(
    ("error", "told"), [(0.9e-4, True), (1.1e-4, False), (-0.9e-4, True), (-1.1e-4, False)]
)
def test_the_mean_is_near(error: float, told: bool) -> None:
    mine = [x + error for x in mean(A, B)]
    assert of_others(traces([mine]), traces([A, B])) == (0,) * told


def test_a_mean_lies_between_its_curves() -> None:
    """At the third validation both are equal, and far below a third run."""
    equal = [x if n == 2 else y for n, (x, y) in enumerate(zip(A, B, strict=True))]
    theirs = traces([A, equal, [x + 1 for x in A]])
    assert of_others(traces([mean(A, equal)]), theirs) == (0,)
    far = [1.0] * 6
    long = traces([far + A, far + equal])
    for error, told in ((-1.9e-4, True), (-2.4e-4, False)):
        mine = plus(mean(far + A, far + equal), [error * (n == 8) for n in range(12)])
        assert of_others(traces([mine]), long) == (0,) * told


def test_every_mean_is_found_whatever_the_order_of_the_curves() -> None:
    low = [[3.0, 4.0, 3.0, 3.1, 3.2, 3.3], [3.01, 4.03, 3.0, 3.2, 3.2, 3.3]]
    high = [[4.0, 3.0, 3.0, 3.1, 3.2, 3.3], [4.03, 3.01, 3.0, 3.2, 3.2, 3.3]]
    mine = traces([mean(*low), mean(*high)])
    assert of_others(mine, traces([*low, *high])) == (0, 1)
    assert of_others(mine[::-1], traces([*high, *low])) == (0, 1)


@pytest.mark.parametrize(("before", "told"), [(98, (0,)), (99, ())])
def test_the_first_hundred_runs_of_each_entry_are_compared(
    before: int, told: tuple[int, ...]
) -> None:
    assert of_others(traces([mean(A, B)]), [*strangers(before), *traces([A, B])]) == told
    mine = [*strangers(before + 1), *traces([mean(A, B)])]
    assert of_others(mine, traces([A, B])) == tuple(before + 1 for _ in told)
