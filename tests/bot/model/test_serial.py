"""What the model writes as JSON it reads again, and nothing else."""

from __future__ import annotations

import dataclasses as dc
import json

import pytest

from bot.model import serial
from bot.model.run import RunRecord, Validation
from bot.model.summary import (
    AtTarget,
    BaselineArm,
    Chance,
    Comparison,
    Decision,
    Excluded,
    Moments,
    Pairwise,
    Sample,
    Summary,
    WithoutBest,
)

ARM = BaselineArm(
    Moments(2, 3.27, 0.001),
    Sample((100.0, 101.0)),
    Comparison("welch", -40.0, -3.0, 1.9, 0.04, 0.6, (0.59, 0.61)),
    Pairwise(0.005, None, True, 25.0),
    True,
    (Excluded("b.log", 0, "it did not finish"),),
    0.9,
    True,
)
SUMMARY = Summary(
    track="small",
    metric="loss",
    target=3.28,
    quality=Sample((3.27, 3.275)),
    interval=(3.26, 3.28),
    cost=Sample((60.0, 61)),
    cost_metric="training_time_s",
    at_target=AtTarget(2, 59.5, 0.4),
    decision=Decision("t", -3.1, 0.02, False, 2),
    p_pooled=0.001,
    chances=(Chance(3, 0.6),),
    without_best=WithoutBest(None, False),
    excluded=(Excluded("c.log", 1, "it did not finish"),),
    baseline=ARM,
)


def again(value: serial.Shaped) -> object:
    return type(value).from_json(json.loads(json.dumps(value.to_json())))


@pytest.mark.parametrize("value", [SUMMARY, Summary(), ARM, BaselineArm()])
def test_statistics_are_read_as_they_were_written(value: serial.Shaped) -> None:
    assert again(value) == value


def test_what_is_known_while_judging_alone_is_not_written() -> None:
    assert not {"kept", "goal", "cost_goal", "gpu_count"} & set(SUMMARY.to_json())
    assert serial.to_json(Excluded("c.log", 1, "why", "same")) == {
        "file": "c.log",
        "run": 1,
        "why": "why",
    }


def test_what_an_older_version_did_not_write_has_its_default() -> None:
    record = serial.read(
        RunRecord, {"file": "a.log", "arm": None, "later": 1, "val": [[5, 3.2, 1]]}
    )
    assert record == RunRecord("a.log", val=(Validation(5, 3.2, 1),))


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"file": None},
        {"file": "a", "step": "5"},
        {"file": "a", "step": True},
        {"file": "a", "step": 5.5},
        {"file": "a", "val": {}},
        {"file": "a", "val": [5]},
        {"file": "a", "code_sha256": ["x"]},
        "a",
    ],
)
def test_a_value_of_another_type_is_refused(wrong: object) -> None:
    with pytest.raises((TypeError, KeyError)):
        serial.read(RunRecord, wrong)


def test_a_row_has_as_many_items_as_its_type() -> None:
    with pytest.raises(ValueError, match="argument"):
        serial.read(RunRecord, {"file": "a", "val": [[5, 3.2]]})


def test_every_field_is_written() -> None:
    record = RunRecord("a.log", step=5)
    names = {field.name for field in dc.fields(record)}
    assert set(serial.fields_to_json(record)) == names
