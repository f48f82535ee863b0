"""What each number of a run rests on: every witness of it that is at hand.

A quantity that ranks is compared with all of them (`bot.rules.witnesses`); the verdict lists them,
so that a reader sees what a number is worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bot.model.run import FROM_LOG, MACHINE, Run, Witness, WitnessKind
from bot.model.values import parse_timestamp
from bot.registry import Grade

_SOURCES: Mapping[str, tuple[WitnessKind, str]] = {
    "wandb": (WitnessKind.PROGRAM, "the W&B history"),
    "snapshot": (WitnessKind.PROGRAM, "the W&B history"),
    "wandb-offline": (WitnessKind.PROGRAM, "the history in the .wandb file"),
    "log": (WitnessKind.PROGRAM, "the log"),
    "results": (WitnessKind.AUTHOR, "the results file"),
}


def grade_of(run: Run) -> Grade:
    """The grade of the source of a run's numbers. An offline W&B file, or a text attached to a W&B
    run, is a file like a log: nobody but the submitter has ever held it."""
    if run.source in ("wandb", "snapshot"):
        return Grade.LOG if FROM_LOG in run.client_marks else Grade.WANDB
    return Grade.LOG if run.source in ("log", "wandb-offline") else Grade.SELF_REPORTED


def weakest(grades: Sequence[Grade]) -> Grade:
    """The weakest of several grades; self-reported for none."""
    order = list(Grade)
    return max(grades, key=order.index, default=Grade.SELF_REPORTED)


def witnesses_of(run: Run) -> tuple[Witness, ...]:
    """Every statement of a quantity of one run, its own source first; nothing of its machine but
    the devices."""
    return tuple(_witnesses(run))


def _witnesses(run: Run) -> Iterator[Witness]:
    kind, source = _SOURCES[run.source]
    if FROM_LOG in run.client_marks:
        source = "a text file attached to the W&B run"
    numbers = {"loss": run.loss, "training_time_s": run.time_s, "steps": run.step}
    for name, value in {
        **run.metrics,
        **{k: v for k, v in numbers.items() if v is not None},
    }.items():
        if value is not None:
            yield Witness(name, value, kind, source)
    if run.source != "results":
        machine = WitnessKind.PROGRAM if run.source == "log" else WitnessKind.MACHINE
        place = "the log's header" if run.source == "log" else "the client's record of the machine"
        if run.hardware.device is not None:
            yield Witness("device", run.hardware.device, machine, place)
        told = any(witness.quantity == "chips" for witness in run.witnesses)
        if run.hardware.count is not None and not told:
            yield Witness("chips", run.hardware.count, machine, place)
    if run.runtime_s is not None:
        yield Witness("runtime_s", run.runtime_s, WitnessKind.MACHINE, "the client's `_runtime`")
    window = served_s(run)
    if window is not None:
        yield Witness("runtime_s", window, WitnessKind.SERVICE, "W&B's created and heartbeat times")
    yield from (w for w in run.witnesses if not w.quantity.startswith(MACHINE))


def served_s(run: Run) -> float | None:
    """The seconds between the times that the server keeps of a run; None where it keeps none."""
    begin, end = parse_timestamp(run.created_at), parse_timestamp(run.heartbeat_at)
    if begin is None or end is None or "offline" in run.client_marks:
        return None
    return max(0.0, (end - begin).total_seconds())
