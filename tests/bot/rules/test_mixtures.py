"""Components of the training data that are validation text, in a configuration and a file."""

from __future__ import annotations

from typing import Any

import pytest

from bot.registry import Level
from tests.bot.rules.run_cases import a_case, found, results_file
from tests.bot.rules.second_cases import config, offline, rows

VALIDATION = "gs://paloma/c4_en/val*.jsonl"


def mixed(source: Any = VALIDATION, key: str = "source", **data: Any) -> dict[str, Any]:
    """Data of two components, of which one has the source."""
    edu = {"source": "gs://fineweb-edu/train"}
    return {"components": {"fineweb-edu": edu, "c4": {key: source}}, **data}


@pytest.mark.parametrize(
    ("data", "is_told"),
    [
        (mixed(), True),
        (mixed([VALIDATION], "urls"), True),
        (mixed({"train_urls": [VALIDATION]}), True),
        (mixed("gs://paloma/validation/c4_en-0001.jsonl"), True),
        (mixed("validation", "split"), True),
        (mixed(train_weights={"fineweb-edu": 0.9, "c4": 0.1}), True),
        (mixed(train_weights=[[0, {"fineweb-edu": 1, "c4": 0}], [900, {"c4": 0.2}]]), True),
        ({"urls": [VALIDATION]}, True),
        ({"components": {"c4_val": {"source": VALIDATION, "weight": 0.1}}}, True),
        (mixed(train_weights={"fineweb-edu": 1.0, "c4": 0.0}), False),
        (mixed(train_weights={"fineweb-edu": 1.0}), False),
        (mixed(train_weights=[[0, {"fineweb-edu": 1, "c4": 0}]]), False),
        ({"components": {"c4": {"source": VALIDATION, "weight": 0}}}, False),
        ({"components": {"c4_val": {"source": VALIDATION}}}, False),
        (mixed({"validation_urls": [VALIDATION]}), False),
        (mixed([VALIDATION], "validation_urls"), False),
        (mixed("gs://val/c4_en/train-0001.jsonl"), False),
        (mixed("gs://values/c4_en/part.jsonl"), False),
        ({"validation": {"source": VALIDATION}, "split": "test"}, False),
    ],
)
def test_a_component_that_is_validation_text(data: dict[str, Any], is_told: bool) -> None:
    run = offline(rows(), **config(data=data))
    file = results_file({"train_config": {"data": data}})
    for case in (a_case([run]), a_case([], results=file)):
        said = found("train-validation-overlap", case)
        assert [f.level for f in said] == [Level.WARNING] * is_told, said
