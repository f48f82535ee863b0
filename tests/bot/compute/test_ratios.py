"""Ratios of several machines as one, and what a challenge has to show."""

from __future__ import annotations

import math

import pytest

from bot.compute.ratios import Link, Measured, disputes, needed_pairs, on_these_machines, pooled
from bot.model.track import Axis, Track

TRACK = Track("t", "One card", "baseline", Axis("loss"), Axis("training_time_s"))
T_1 = 12.7062
"""The 97.5 % point of t with one degree of freedom, from a table."""


def ratio(value: float, error: float, pairs: int = 3) -> Measured:
    return Measured(value, pairs, Link(value, error**2, 2.0 * (pairs - 1)))


def test_machines_that_differ_widen_the_interval():
    low, high = pooled([ratio(0.95, 0.0001), ratio(0.99, 0.0001)]).interval or (0.0, 0.0)
    half = T_1 * math.log(0.99 / 0.95) / 2
    assert math.log(high / low) / 2 == pytest.approx(half, rel=1e-4)
    assert math.sqrt(low * high) == pytest.approx(math.sqrt(0.95 * 0.99))


def test_machines_that_agree_narrow_nothing():
    same = [ratio(0.95, 0.01), ratio(0.95, 0.01)]
    assert pooled(same) == on_these_machines(same)
    assert pooled([ratio(0.95, 0.01)]) == on_these_machines([ratio(0.95, 0.01)])


def test_a_challenge_weighs_the_errors_of_both():
    """1.00 against 0.97: with t of 4 degrees of freedom one error of 0.01 is 3.05 of them from the
    claim, p = 0.019; two are 2.15 with 8, p = 0.032; an entry's error of 0.03 leaves p = 0.2."""
    theirs = ratio(1.0, 0.01)
    assert disputes(theirs, ratio(0.97, 0.0001), TRACK)
    assert disputes(theirs, ratio(0.97, 0.01), TRACK)
    assert not disputes(theirs, ratio(0.97, 0.03), TRACK)


def test_a_claim_of_one_run_has_the_spread_of_the_challenge():
    """One pair has sqrt(3) times the error of three: 0.03 is 1.5 errors of 0.02 together."""
    theirs = ratio(1.0, 0.01)
    assert not disputes(theirs, Measured(0.97, 1), TRACK)
    assert disputes(theirs, Measured(0.93, 1), TRACK)


def test_a_ratio_without_a_spread_has_no_p():
    assert Measured(0.9, 3, Link(0.9, 0.0, 4.0)).p_better(1.0) is None
    assert Measured(0.9, 3).p_better(1.0) is None


def test_a_challenge_of_fewer_pairs_disputes_nothing():
    slower = ratio(1.0, 0.0001, pairs=2)
    assert disputes(slower, ratio(0.9, 0.0001, pairs=2), TRACK)
    assert not disputes(slower, ratio(0.9, 0.0001, pairs=3), TRACK)
    assert not disputes(None, ratio(0.9, 0.0001), TRACK)
    assert not disputes(slower, None, TRACK)


@pytest.mark.parametrize(("own", "needed"), [(None, 2), (1, 2), (2, 2), (5, 5)])
def test_a_challenge_needs_the_pairs_of_the_entry(own: int | None, needed: int) -> None:
    assert needed_pairs(None if own is None else Measured(0.9, own)) == needed
