"""Each judge of a counter or setting, at the values that decide."""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Any

import pytest

from bot.model.run import Validation, Witness, WitnessKind
from bot.model.track import Track
from bot.rules.counted import JUDGES
from tests.bot.rules.run_cases import SMALL, TRACKS, a_case, a_run

TIMED = dc.replace(SMALL, batch_tokens=None, validation_tokens=None, bytes_per_token=None)
STEPS = dc.replace(TRACKS["nanogpt-optimization"], batch_tokens=None)
LIMITED = dc.replace(TIMED, limits={"steps": 100})
TO_TARGET = dc.replace(TIMED, finish="target")
BATCH = dc.replace(TIMED, batch_tokens=1000)
TEN = dc.replace(TIMED, batch_tokens=10)
CHECKED = dc.replace(TIMED, validation_tokens=1000)
BYTES = dc.replace(TIMED, bytes_per_token=4.0)

END = (Validation(0, 10.0, 0.0), Validation(100, 3.2, 60.0))
SHORT: dict[str, Any] = {"validation": END, "last_step": 100, "total_steps": 100}
LATER: dict[str, Any] = SHORT | {"last_step": 120}
NO_LAST: dict[str, Any] = SHORT | {"last_step": None}
NO_STEPS: dict[str, Any] = {"validation": (), "last_step": None, "total_steps": None}


def tokens(*points: tuple[int, float], **changes: Any) -> dict[str, Any]:
    return SHORT | {"history": {"tokens": points}} | changes


GROWING = tokens((10, 1_000.0), (20, 9_000.0), (110, 51_000.0))
LATE = tokens((0, 0.0), (7, 7.0), (50, 1_000.0))
STATED = {"history": {}, "metrics": {"bpb": 1.0}} | SHORT
NATS = 4 * math.log(2)

Row = tuple[str, Track, dict[str, Any], float, float | None]
ROWS: list[Row] = [
    ("tokens", TIMED, SHORT, 5, None),
    ("tokens", TIMED, GROWING, 5, 51_000),
    ("batch_tokens", TIMED, SHORT, 5, 0),
    ("batch_tokens", TIMED, tokens((7, 70.0)), 5, 0),
    ("batch_tokens", TIMED, tokens((7, 70.0), (7, 90.0)), 5, 0),
    ("batch_tokens", TIMED, GROWING, 5, 500),
    ("updates", TIMED, SHORT, 200, None),
    ("updates", LIMITED, SHORT, 200, 100),
    ("updates", STEPS, SHORT, 200, 100),
    ("updates", STEPS, LATER, 200, 120),
    ("updates", STEPS, NO_LAST, 200, 100),
    ("updates", STEPS, NO_STEPS, 200, 0),
    ("updates", STEPS, NO_STEPS | {"last_step": 90}, 200, 90),
    ("schedule", TIMED, SHORT, 500, 100),
    ("schedule", TIMED, NO_STEPS, 500, None),
    ("schedule", TO_TARGET, SHORT, 500, None),
    ("short_plan", TIMED, LATER, 80, 120),
    ("short_plan", TO_TARGET, LATER, 80, None),
    ("early_stop", TIMED, LATER, 1, 100),
    ("early_stop", TIMED, NO_STEPS, 1, None),
    ("early_stop", TO_TARGET, SHORT, 1, None),
    ("validation_tokens", CHECKED, SHORT, 999, 1000),
    ("validation_tokens", CHECKED, SHORT, 1000, None),
    ("validation_tokens", TIMED, SHORT, 999, None),
    ("validation_share", TIMED, SHORT, 0.99, 1),
    ("validation_share", TIMED, SHORT, 1, None),
    ("planned_tokens", TIMED, SHORT, 5000, None),
    ("planned_tokens", TEN, SHORT, 1020, None),
    ("planned_tokens", TEN, SHORT, 1021, 1000),
    ("planned_tokens", TEN, NO_STEPS, 1021, None),
    ("planned_tokens", TEN, tokens((0, 0.0)), 1021, 1000),
    ("planned_tokens", TIMED, LATE, 2040, None),
    ("planned_tokens", TIMED, LATE, 2041, 2000),
    ("planned_tokens", TIMED, tokens((1, 20.0)), 2041, 2000),
    ("planned_tokens", dc.replace(TEN, finish="target"), SHORT, 1021, None),
    ("step_tokens", TIMED, SHORT, 500, None),
    ("step_tokens", BATCH, SHORT, 1009, None),
    ("step_tokens", BATCH, SHORT, 1015, 1000),
    ("step_tokens", BATCH, SHORT, 985, 1000),
    ("part_tokens", TIMED, SHORT, 2000, None),
    ("part_tokens", BATCH, SHORT, 500, None),
    ("part_tokens", BATCH, SHORT, 1010, None),
    ("part_tokens", BATCH, SHORT, 1015, 1000),
    ("nats", BYTES, STATED, NATS, None),
    ("nats", BYTES, STATED, 1.009 * NATS, None),
    ("nats", BYTES, STATED, 1.015 * NATS, 1),
    ("nats", BYTES, STATED, 0.985 * NATS, 1),
    ("nats", BYTES, STATED | {"metrics": {}}, 2 * NATS, None),
    ("nats", TIMED, STATED, 2 * NATS, None),
    ("passes", TIMED, SHORT, 200, None),
    ("passes", STEPS, LATER, 200, 100),
    ("passes", STEPS, NO_STEPS, 200, None),
]


def said(row: Row, *others: Witness) -> tuple[str, float, str] | None:
    quantity, track, changes, value, _ = row
    witness = Witness(quantity, value, WitnessKind.PROGRAM, "the setting")
    run = a_run(**changes, witnesses=(witness, *others))
    case = a_case([run], track=track)
    return JUDGES[quantity](case, case.evidence[0], run, witness)


@pytest.mark.parametrize("row", ROWS, ids=[f"{n}-{row[0]}" for n, row in enumerate(ROWS)])
def test_what_a_counter_is_compared_with(row: Row) -> None:
    told, ours = said(row), row[4]
    assert (told is None) == (ours is None)
    assert told is None or (told[1] == ours and "the setting" in told[0])


def test_one_way_to_read_a_batch_that_fits_is_enough() -> None:
    row: Row = ("step_tokens", BATCH, SHORT, 500, None)
    other = Witness("step_tokens", 1000, WitnessKind.PROGRAM, "the setting")
    assert said(row, other) is None
    assert said(row, other._replace(source="another")) is not None
    assert said(row, other._replace(quantity="part_tokens")) is not None


def test_the_words_of_a_counter() -> None:
    words = {
        ("batch_tokens", 0): "the setting says 5 tokens a step, but the run states another number",
        ("batch_tokens", 500): "the setting says 5 tokens a step, but a step counts 500 tokens",
        ("schedule", 100): "the run ends at step 100, but the setting is 500, 5 times as many",
    }
    told = {
        key: [m for row in ROWS if (row[0], row[4]) == key and (m := said(row))] for key in words
    }
    assert {key: {message for message, _, _ in rows} for key, rows in told.items()} == {
        key: {text} for key, text in words.items()
    }
