"""A results file against its own history: how far apart its numbers may be, and what is read."""

from __future__ import annotations

from typing import Any

import pytest

from bot.registry import Level
from bot.rules.stated import contradictions
from tests.bot.rules.run_cases import PATH, a_case, results_file

ERROR, WARNING = Level.ERROR, Level.WARNING


def told(
    validation: Any = None, steps: Any = None, length: int | None = 1000, **info: Any
) -> list[Any]:
    """What contradicts a file of a loss of 3.2 after 60 s and 1000 steps."""
    stated = {"eval/loss": 3.2, "training_time": 60.0, "train_config": {"num_train_steps": length}}
    case = a_case((), results=results_file(stated | info, validation=validation,
                                           step_time_s=steps))  # fmt: skip
    return [(f.message, f.level) for f in contradictions(case.results[0])]


def loss(stated: str, shown: str) -> list[Any]:
    return [(f"the file states the loss as {stated}, but its history ends with {shown}", ERROR)]


def clock(stated: str, shown: str, how: str = "its clock ends at") -> list[Any]:
    return [(f"the file states the training time as {stated}, but {how} {shown}", ERROR)]


def ends(step: str) -> list[Any]:
    return [(f"its history ends at step {step} of 1,000", WARNING)]


@pytest.mark.parametrize(
    ("last", "info", "said"),
    [
        ([1000, 3.2, 60.0], {}, []),
        ([1000, 3.2], {}, []),
        ([1000, 6e-5], {"eval/loss": 0.0}, []),
        ([1000, 6.1e-5], {"eval/loss": 0.0}, loss("0", "0.000061")),
        ([1000, 3.1, 60.0], {}, loss("3.2", "3.1")),
        ([1000, 3.1, 60.0], {"eval/loss": None}, []),
        # 0.06 s, or 0.2 % of the clock.
        ([1000, 3.2, 0.06], {"training_time": 0.0}, []),
        ([1000, 3.2, 0.07], {"training_time": 0.0}, clock("0", "0.07")),
        ([1000, 3.2, 60.12], {}, []),
        ([1000, 3.2, 60.13], {}, clock("60", "60.13")),
        # The history of a run that did not reach its end.
        ([999, 3.2, 50.0], {}, ends("999")),
        ([500, 3.1, 30.0], {}, loss("3.2", "3.1") + ends("500")),
        ([1001, 3.2, 50.0], {}, []),
        ([500, 3.2, 30.0], {"length": None}, []),
        # What is not read.
        ([1000], {}, []),
        ([1000, 3.1, 60.0, 1], {}, []),
        ([None, 3.1], {}, []),
        (["1000", 3.1], {}, []),
        ([1000, None], {}, []),
        ([1000, 1e15], {}, []),
        ([1000, 9e14], {}, loss("3.2", "9e14")),
        ([1000, 3.2, "30"], {}, []),
        ("1000", {}, []),
    ],
)
def test_the_last_point_of_its_history(last: Any, info: dict[str, Any], said: list[Any]) -> None:
    assert told([[0, 10.8, 0.0], last], **info) == said


@pytest.mark.parametrize("validation", [None, [], {}, "x"])
def test_a_file_without_a_history(validation: Any) -> None:
    assert told(validation) == []


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ({"count": 1000, "mean": 0.06}, []),
        ({"count": 1000, "mean": 0.07}, clock("60", "70", "its step times add up to")),
        ({"count": 1000, "mean": 0.0601}, []),
        ({"count": 1000, "mean": 0.0602}, clock("60", "60.2", "its step times add up to")),
        ({"count": 999, "mean": 0.07}, []),  # others ran untimed
        ({"count": 1000}, []),
        ({"mean": 0.07}, []),
        ([1000, 0.07], []),
    ],
)
def test_the_durations_of_its_steps(steps: Any, said: list[Any]) -> None:
    assert told(steps=steps) == said


def test_where_it_stands() -> None:
    info = {"eval/loss": 3.2, "train_config": {"num_train_steps": 1000}}
    case = a_case((), results=results_file(info, validation=[[500, 3.1, 30.0]]))
    apart, short = contradictions(case.results[0])
    assert (apart.file, apart.pointer) == (
        f"{PATH}/speedrun_results.json",
        "/runs/0/run_info/eval~1loss",
    )
    assert (apart.claimed, apart.expected, short.claimed, short.expected) == (3.2, 3.1, 500, None)
