"""Cases of the rules on witnesses: what triggers each, and the near misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bot.model.case import Case
from bot.model.run import Run, Witness, WitnessKind
from tests.bot.rules.run_cases import a_case, a_run

CREATED = "2026-01-01T00:00:00Z"


def with_run(**changes: Any) -> Case:
    return a_case([a_run(0, **changes), a_run(1)])


def runtimes(pace: float, pause_s: float = 0.0) -> dict[str, Any]:
    """`_runtime` at the validations, where the training clock takes `pace` of it, with a pause."""
    run: Run = a_run(0)
    last = run.validation[-1].step
    points = [
        (v.step, (v.time_s or 0.0) / pace + pause_s * (v.step == last)) for v in run.validation
    ]
    return {"runtimes": tuple(points), "runtime_s": points[-1][1]}


def chips(*values: int) -> tuple[Witness, ...]:
    kinds = (WitnessKind.MACHINE, WitnessKind.PROGRAM)
    return tuple(
        Witness("chips", value, kind, f"source {kind}")
        for value, kind in zip(values, kinds, strict=False)
    )


CODE = tuple(Witness("code", digit * 64, WitnessKind.PROGRAM, f"source {digit}") for digit in "ab")

TRIGGERS: dict[str, list[Callable[[], Case]]] = {
    "witnesses-disagree": [
        lambda: with_run(runtime_s=50.0),
        lambda: with_run(created_at=CREATED, heartbeat_at="2026-01-01T00:00:50Z"),
        lambda: with_run(**runtimes(0.4)),
        lambda: with_run(witnesses=chips(8, 32)),
        lambda: with_run(witnesses=CODE),
        lambda: with_run(problems=(("witnesses-disagree", "two sources say two things"),)),
    ],
    "key-mapped": [lambda: a_case(submission={"keys": {"loss": "my_loss"}})],
}
NEAR_MISSES: dict[str, list[Callable[[], Case]]] = {
    "witnesses-disagree": [
        lambda: with_run(runtime_s=58.0),
        lambda: with_run(created_at=CREATED, heartbeat_at="2026-01-01T00:01:00Z"),
        lambda: with_run(
            created_at=CREATED, heartbeat_at="2026-01-01T00:00:01Z", client_marks=("offline",)
        ),
        lambda: with_run(**runtimes(0.7)),
        lambda: with_run(**runtimes(0.9, pause_s=9000.0)),
        lambda: with_run(witnesses=chips(8, 1)),
        lambda: with_run(witnesses=(CODE[0], CODE[0])),
    ],
    "key-mapped": [lambda: a_case(submission={"keys": {}})],
}
