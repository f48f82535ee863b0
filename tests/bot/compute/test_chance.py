"""The chance of more runs, against plain simulation from the same posterior."""

import math

import numpy as np
import pytest

from bot.compute.chance import NOT_FEASIBLE, Bar, chance_of, outlook
from bot.compute.significance import t_quantile
from bot.model.summary import Moments


def student(n: int) -> Bar:
    return Bar(t_quantile(0.99, n - 1), 0.0, 1.0)


def simulated(gain: Moments, more: int, draws: int = 200_000) -> float:
    """Draw a spread and a mean that the runs allow, then the further runs, then test them all."""
    assert gain.sd is not None
    rng = np.random.default_rng(3)
    sigma = gain.sd * np.sqrt((gain.n - 1) / rng.chisquare(gain.n, draws))
    mean = rng.normal(gain.mean, sigma / math.sqrt(gain.n))
    new = rng.normal(mean, sigma, (more, draws))
    n = gain.n + more
    total = (gain.n * gain.mean + new.sum(0)) / n
    squares = (gain.n - 1) * gain.sd**2 + gain.n * gain.mean**2 + (new**2).sum(0) - n * total**2
    t = total / np.sqrt(squares / (n - 1) / n)
    return float(np.mean(t > t_quantile(0.99, n - 1)))


@pytest.mark.parametrize(("n", "more"), [(2, 3), (3, 1), (3, 5), (6, 6), (8, 30)])
def test_it_is_the_share_of_simulated_submissions_that_pass(n: int, more: int) -> None:
    gain = Moments(n, 0.0012, 0.0011)
    assert chance_of(gain, more, student(n + more), None) == pytest.approx(
        simulated(gain, more), abs=0.015
    )


def test_without_more_runs_it_is_the_test_itself() -> None:
    assert chance_of(Moments(8, 0.002, 0.0005), 0, student(8), None) == 1.0
    assert chance_of(Moments(8, 0.0001, 0.0005), 0, student(8), None) == 0.0


def test_a_known_spread_is_the_normal_case_in_closed_form() -> None:
    """S / sqrt(9) with five more: mean of all 9 is normal around the mean seen."""
    gain, bar = Moments(4, 0.001, None), Bar(0.004, 1.0, 0.0)
    spread = 0.0013 * math.sqrt(1 / 4 - 1 / 9)
    expected = 0.5 * math.erfc((0.004 / 3 - 0.001) / spread / math.sqrt(2))
    assert chance_of(gain, 5, bar, (0.0013, math.inf)) == pytest.approx(expected, abs=0.01)


def test_a_guard_counts_in_the_chance() -> None:
    """Known spread 0.0013, one run more: mean sqrt(3) must reach 0.003 as well if sd < 0.0005."""
    rng = np.random.default_rng(4)
    gain, draws = Moments(2, 0.0012, 0.0002), 200_000
    new = rng.normal(rng.normal(0.0012, 0.0013 / math.sqrt(2), draws), 0.0013)
    runs = np.stack(
        [np.full(draws, v) for v in (0.0012 - 0.0002 / 2**0.5, 0.0012 + 0.0002 / 2**0.5)]
    )
    runs = np.vstack([runs, new])
    mean, sd = runs.mean(0) * math.sqrt(3), runs.std(0, ddof=1)
    proved = mean >= sd
    for alike in (0.0005, math.inf):
        share = np.mean(proved & ((sd >= alike) | (mean >= 0.003)))
        bar = Bar(1.0, 0.0, 1.0, 0.003, alike)
        assert chance_of(gain, 1, bar, (0.0013, math.inf)) == pytest.approx(share, abs=0.015)
    assert np.mean(proved) > np.mean(proved & (mean >= 0.003)) + 0.1


def test_two_aims_and_the_fewest_runs_for_each() -> None:
    gain = Moments(3, 0.0016, 0.0010)
    found = outlook(gain, student, None)
    assert [c.chance >= aim for c, aim in zip(found, (0.5, 0.8), strict=True)] == [True, True]
    for item, aim in zip(found, (0.5, 0.8), strict=True):
        assert chance_of(gain, item.runs - 1, student(gain.n + item.runs - 1), None) < aim


def test_only_sizes_that_are_judged_are_advised() -> None:
    found = outlook(Moments(3, 0.0016, 0.0010), student, None, lambda n: n in (4, 6, 8, 12))
    assert found and {3 + c.runs for c in found} <= {4, 6, 8, 12}


def test_what_is_not_feasible_gets_no_advice() -> None:
    assert outlook(Moments(6, 0.00005, 0.0013), student, None) == ()
    assert outlook(Moments(6, -0.001, 0.0013), student, None) == ()
    assert outlook(Moments(1, 0.001, None), student, None) == ()
    # Equal values are rounded ones, and no spread of 0.
    assert outlook(Moments(5, 0.01, 0.0), student, None) == ()
    assert outlook(Moments(5, 0.01, 0.0), student, (0.001, 9.0)) != ()
    assert NOT_FEASIBLE == 100
