"""Runs that count and have no cost are counted in the message."""

from __future__ import annotations

import dataclasses as dc

import pytest

from bot.model.run import Run, Validation
from tests.bot.rules.run_cases import a_case, a_run, found


def untimed(n: int) -> Run:
    """A run whose validations have no clock."""
    run = a_run(n)
    points = tuple(Validation(v.step, v.loss, None) for v in run.validation)
    return dc.replace(run, validation=points, metrics={"loss": points[-1].loss})


@pytest.mark.parametrize(
    ("timed", "bare", "message"),
    [
        (0, 2, "the runs have no training_time_s"),
        (2, 1, "1 of 3 runs has no training_time_s"),
        (1, 2, "2 of 3 runs have no training_time_s"),
        (3, 0, None),
    ],
)
def test_runs_without_a_cost_are_counted(timed: int, bare: int, message: str | None) -> None:
    runs = [a_run(n) if n < timed else untimed(n) for n in range(timed + bare)]
    said = [f.message for f in found("metric-missing", a_case(runs))]
    assert said == ([message] if message else [])
