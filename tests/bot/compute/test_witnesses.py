"""The witnesses of a run: who states each number, and where it stands."""

from __future__ import annotations

from typing import Any

import pytest

from bot.compute.witnesses import grade_of, served_s, weakest, witnesses_of
from bot.model.run import FROM_LOG, Hardware, Validation, Witness, WitnessKind
from bot.registry import Grade
from tests.bot.rules.run_cases import a_run

PROGRAM, MACHINE, AUTHOR = WitnessKind.PROGRAM, WitnessKind.MACHINE, WitnessKind.AUTHOR
TWO: dict[str, Any] = {
    "metrics": {"loss": 3.3, "bpb": None},
    "validation": (Validation(50, 3.2, 6.0),),
    "hardware": Hardware("H100", 8),
}


def numbers(kind: WitnessKind, source: str) -> list[Witness]:
    values = {"loss": 3.2, "training_time_s": 6.0, "steps": 50}
    return [Witness(name, value, kind, source) for name, value in values.items()]


def machine(kind: WitnessKind, source: str) -> list[Witness]:
    return [Witness("device", "H100", kind, source), Witness("chips", 8, kind, source)]


@pytest.mark.parametrize(
    ("source", "mine", "hardware"),
    [
        ("log", (PROGRAM, "the log"), (PROGRAM, "the log's header")),
        ("wandb", (PROGRAM, "the W&B history"), (MACHINE, "the client's record of the machine")),
        (
            "wandb-offline",
            (PROGRAM, "the history in the .wandb file"),
            (MACHINE, "the client's record of the machine"),
        ),
        ("results", (AUTHOR, "the results file"), None),
    ],
)
def test_who_states_a_number_and_where(
    source: str, mine: tuple[WitnessKind, str], hardware: tuple[WitnessKind, str] | None
) -> None:
    found = [*witnesses_of(a_run(source=source, **TWO))]
    assert found == numbers(*mine) + (machine(*hardware) if hardware else [])


def test_a_text_attached_to_a_run_is_named_as_such() -> None:
    first = witnesses_of(a_run(client_marks=(FROM_LOG,), **TWO))[0]
    assert first == Witness("loss", 3.2, PROGRAM, "a text file attached to the W&B run")


def test_what_is_not_known_has_no_witness() -> None:
    bare = a_run(metrics={}, validation=(), hardware=Hardware(None, None))
    assert witnesses_of(bare) == ()


def test_chips_that_a_witness_states_are_not_counted_twice() -> None:
    stated = Witness("chips", 4, PROGRAM, "the configuration")
    found = witnesses_of(a_run(witnesses=(stated,), **TWO))
    assert [w.value for w in found if w.quantity == "chips"] == [4]
    other = stated._replace(quantity="devices")
    found = witnesses_of(a_run(witnesses=(other,), **TWO))
    assert [w.value for w in found if w.quantity == "chips"] == [8]


BEGIN, END = "2026-01-01T00:00:00Z", "2026-01-01T00:01:30Z"


def test_the_clocks_of_the_client_and_of_the_server() -> None:
    run = a_run(runtime_s=80.0, created_at=BEGIN, heartbeat_at=END, **TWO)
    clocks = [w for w in witnesses_of(run) if w.quantity == "runtime_s"]
    assert [(w.value, w.kind) for w in clocks] == [(80.0, MACHINE), (90.0, WitnessKind.SERVICE)]


@pytest.mark.parametrize(
    ("begin", "end", "marks", "seconds"),
    [
        (BEGIN, END, (), 90.0),
        (END, BEGIN, (), 0.0),
        (None, END, (), None),
        (BEGIN, None, (), None),
        (BEGIN, END, ("offline",), None),
    ],
)
def test_the_times_that_the_server_keeps(
    begin: str | None, end: str | None, marks: tuple[str, ...], seconds: float | None
) -> None:
    run = a_run(created_at=begin, heartbeat_at=end, client_marks=marks)
    assert served_s(run) == seconds


@pytest.mark.parametrize(
    ("source", "marks", "grade"),
    [
        ("wandb", (), Grade.WANDB),
        ("wandb", (FROM_LOG,), Grade.LOG),
        ("snapshot", (), Grade.WANDB),
        ("wandb-offline", (), Grade.LOG),
        ("log", (), Grade.LOG),
        ("results", (), Grade.SELF_REPORTED),
    ],
)
def test_the_grade_of_a_source(source: str, marks: tuple[str, ...], grade: Grade) -> None:
    assert grade_of(a_run(source=source, client_marks=marks)) is grade


def test_the_weakest_grade() -> None:
    assert weakest([Grade.WANDB, Grade.LOG]) is weakest([Grade.LOG, Grade.WANDB]) is Grade.LOG
    assert weakest([]) is Grade.SELF_REPORTED
