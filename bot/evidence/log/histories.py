"""What the step lines of a run make together: final values, histories, durations of steps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from bot.evidence.log.problems import LogStep
from bot.model.run import Validation


def metrics(
    validation: tuple[Validation, ...], history: Mapping[str, tuple[tuple[int, float], ...]]
) -> dict[str, float | int | None]:
    """The final values of a run; bits per byte where the log prints them."""
    bpb = history.get("bpb") or history.get("val_bpb")
    return {
        "loss": validation[-1].loss if validation else None,
        "bpb": bpb[-1][1] if bpb else None,
        "training_time_s": validation[-1].time_s if validation else None,
        "steps": validation[-1].step if validation else None,
    }


def history_of(steps: list[LogStep]) -> Iterator[tuple[str, list[tuple[int, float]]]]:
    """Every further number of the step lines by name, one value a step, finite values only."""
    series: dict[str, dict[int, float]] = {}
    for s in steps:
        for name, value in s.values.items():
            if name != "val_loss" and math.isfinite(value):
                series.setdefault(name[:64], {})[s.step] = value
    for name, values in series.items():
        yield name, sorted(values.items())


def step_times(steps: list[LogStep]) -> tuple[float, ...]:
    """Durations of single steps, from training lines of consecutive steps with one clock."""
    times = []
    training = [s for s in steps if not s.is_validation and s.clock_s is not None]
    for a, b in zip(training, training[1:], strict=False):
        if b.step == a.step + 1 and a.clock_s is not None and b.clock_s is not None:
            if b.clock_s >= a.clock_s:
                times.append(b.clock_s - a.clock_s)
    return tuple(times)
