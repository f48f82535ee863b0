"""Files of the folder that hold a listed run again, with another clock or number of steps."""

from __future__ import annotations

import dataclasses as dc

import pytest

from bot.evidence.log.training_log import read_log
from bot.model.case import Unlisted
from bot.model.run import Run
from bot.registry import Level
from tests.bot.rules.run_cases import a_case, found
from tests.bot.rules.second_cases import log

(LISTED,) = read_log(log(), "submissions/nanogpt-small/example/a.log")


def other(factor: float = 1.0, steps: int | None = None) -> Run:
    points = tuple(
        v._replace(time_s=None if v.time_s is None else v.time_s * factor)
        for v in LISTED.validation
    )
    metrics = dict(LISTED.metrics) | ({} if steps is None else {"steps": steps})
    return dc.replace(
        LISTED, file="submissions/nanogpt-small/example/a.json", validation=points, metrics=metrics
    )


@pytest.mark.parametrize(
    ("again", "says"),
    [
        (other(), ""),
        (other(1.01), ""),
        (other(1.1), "the training clock at step"),
        (other(0.9), "the training clock at step"),
        (other(steps=int(LISTED.metrics["steps"]) * 2), "the number of steps is"),
    ],
)
def test_a_file_that_tells_of_a_listed_run(again: Run, says: str) -> None:
    drawer = Unlisted("submissions/nanogpt-small/example", (), told_again=((LISTED, again),))
    case = a_case((LISTED,), unlisted=(drawer,))
    told = [f for f in found("witnesses-disagree", case) if "holds the same run" in f.message]
    assert [f.level for f in told] == ([Level.WARNING] if says else [])
    assert all(f.message.startswith(says) and "a.json" in f.message for f in told)
