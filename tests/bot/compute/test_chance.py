"""The chance of more runs, against plain simulation from the same posterior."""

import math

import numpy as np
import pytest
import scipy.stats as stats

from bot.compute.chance import NOT_FEASIBLE, Bar, chance_of, outlook
from bot.compute.significance import t_quantile
from bot.model.summary import Chance, Moments


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


@pytest.mark.parametrize(("n", "more"), [(2, 3), (3, 1), (4, 2), (3, 5), (6, 6), (8, 30)])
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


@pytest.mark.parametrize(
    ("bar", "mean", "sd", "passes"),
    [
        (Bar(1.0, 1.0, 0.0), 0.5, 0.1, True),  # 0.5 x sqrt(4) is 1
        (Bar(1.0, 1.0, 0.0), 0.49, 0.1, False),
        (Bar(2.0, 0.0, 4.0), 0.5, 0.25, True),  # 2 x sqrt(4 x 0.25^2) is 1
        (Bar(2.0, 0.0, 4.0), 0.5, 0.26, False),
        (Bar(2.0, 0.09, 0.64), 0.5, 0.5, True),  # 2 x sqrt(0.09 + 0.64 x 0.25) is 1
        (Bar(2.0, 0.1, 0.64), 0.5, 0.5, False),
        (Bar(0.0, 0.0, 0.0, guard=2.0, alike=0.1), 0.5, 0.1, True),
        (Bar(0.0, 0.0, 0.0, guard=2.0, alike=0.1), 0.5, 0.09, False),
        (Bar(0.0, 0.0, 0.0, guard=2.0, alike=0.1), 1.0, 0.09, True),
        (Bar(0.0, 0.0, 0.0, alike=0.1), 0.1, 0.0, True),
        (Bar(0.0, 0.0, 0.0, guard=2.0), 0.1, 0.0, True),
    ],
)
def test_a_bar_is_passed_where_it_is_reached(
    bar: Bar, mean: float, sd: float, passes: bool
) -> None:
    assert bool(bar.passes(4, mean, sd)) is passes
    assert chance_of(Moments(4, mean, sd), 0, bar, None) == passes


def test_one_run_that_is_judged_as_it_is_has_no_spread() -> None:
    assert chance_of(Moments(1, 0.5, None), 0, student(9), None) == 1.0


@pytest.mark.parametrize(
    ("gain", "more", "prior"),
    [
        (Moments(1, 0.001, None), 1, (0.0013, 3.0)),
        (Moments(1, 0.002, None), 4, (0.0013, 8.0)),
        (Moments(3, 0.001, 0.0020), 2, (0.0013, 4.0)),
    ],
)
def test_a_prior_of_the_spread_is_students_case_in_closed_form(
    gain: Moments, more: int, prior: tuple[float, float]
) -> None:
    """The mean of all runs has Student's distribution about the mean seen, and the bar is 0.004."""
    sd, df = prior
    freedom, n = df + gain.n - 1, gain.n + more
    spread = math.sqrt((df * sd**2 + (gain.n - 1) * (gain.sd or 0.0) ** 2) / freedom)
    off = (0.004 / math.sqrt(n) - gain.mean) / (spread * math.sqrt(1 / gain.n - 1 / n))
    found = chance_of(gain, more, Bar(0.004, 1.0, 0.0), prior)
    assert found == pytest.approx(stats.t.sf(off, freedom), abs=0.005)


def sure_from(least: int) -> list[Chance]:
    """What is told of one run, if the test passes from so many runs on whatever they show."""
    known = (0.001, math.inf)

    def bar(n: int) -> Bar:
        return Bar(-1e9 if n >= least else 1e9, 1.0, 0.0)

    return list(outlook(Moments(1, 0.001, None), bar, known))


def test_from_1_to_100_more_runs_are_advised_each_number_once() -> None:
    assert sure_from(2) == [Chance(1, 1.0)]
    assert sure_from(3) == [Chance(2, 1.0)]
    assert sure_from(101) == [Chance(100, 1.0)]
    assert sure_from(102) == []


@pytest.mark.parametrize(("mean", "told"), [(1e-9, True), (0.0, False), (-1e-9, False)])
def test_without_a_gain_nothing_is_advised(mean: float, told: bool) -> None:
    always = Bar(-1e9, 1.0, 0.0)
    assert bool(outlook(Moments(2, mean, 0.1), lambda n: always, None)) is told
