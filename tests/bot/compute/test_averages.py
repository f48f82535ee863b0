"""Averages of runs in the place of runs: what is found, and trainings that are not."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest

from bot.compute import averages
from bot.model.trace import Trace

STEPS = range(125, 2126, 125)


def trained(n: int, seed: int = 0) -> list[list[float]]:
    """Curves of trainings: each has an offset of its own and noise at every validation."""
    draw = random.Random(seed)
    offsets = [draw.gauss(0, 1e-3) for _ in range(n)]
    return [[3.27 + 500 / s + o + draw.gauss(0, 1e-3) for s in STEPS] for o in offsets]


def means(curves: Sequence[Sequence[float]]) -> list[list[float]]:
    pairs = itertools.combinations(curves, 2)
    return [[(x + y) / 2 for x, y in zip(a, b, strict=True)] for a, b in pairs]


def traces(curves: Sequence[Sequence[float]], digits: int = 4) -> list[Trace]:
    return [
        Trace.of((s, round(x, digits), None) for s, x in zip(STEPS, curve, strict=True))
        for curve in curves
    ]


def test_averages_of_all_pairs_of_four_runs() -> None:
    found = averages.among(traces(means(trained(4))))
    assert found is not None
    # Of the averages of runs 0 to 3 in order: 01 and 23, 02 and 13, 03 and 12 belong together.
    assert {frozenset(s[1:]) for s in found} < {frozenset(p) for p in ((0, 5), (1, 4), (2, 3))}


@pytest.mark.parametrize("n", [4, 15, 40])
def test_trainings_are_no_averages(n: int) -> None:
    assert averages.among(traces(trained(n))) is None


def test_averages_of_the_runs_of_another_entry() -> None:
    theirs, own = trained(6), trained(1, seed=1)
    mine = traces([*own, *means(theirs)[:3]])
    assert averages.of_others(mine, traces(theirs)) == (1, 2, 3)
    assert averages.of_others(traces(trained(6, seed=2)), traces(theirs)) == ()


def test_a_validation_that_one_run_lacks_changes_nothing() -> None:
    made = traces(means(trained(4)))
    cut = [Trace(losses=made[0].losses[1:]), *made[1:]]
    assert averages.among(cut) is not None


def test_too_few_validations_tell_nothing() -> None:
    short = [Trace(losses=t.losses[:5]) for t in traces(means(trained(4)))]
    assert averages.among(short) is None


def test_curves_that_are_shifted_alike_are_another_matter() -> None:
    (curve,) = trained(1)
    assert averages.among(traces([[x + n / 1000 for x in curve] for n in range(6)])) is None
