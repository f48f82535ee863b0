"""Runs that are not independent: forks, and one training in two forms."""

from __future__ import annotations

import random

import pytest

from bot.compute.independence import decimals, dependent, same_points
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
    ("values", "digits"), [([3.0], 0), ([3.28, 3.2771], 4), ([1 / 3], 7), ([0.1 + 0.2], 1)]
)
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
