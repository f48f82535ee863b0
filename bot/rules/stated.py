"""A results file against itself: what it states, and the history that the trainer wrote beside it.

Part of the rule `summary-differs-from-history`; used by `bot.rules.evidence`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bot.model.results import ResultsRun
from bot.model.values import finite, positive
from bot.model.verdict import Finding, finding
from bot.registry import LOSS_TOLERANCE, RELATIVE_TOLERANCE, TIME_TOLERANCE_S, Level
from bot.render.numbers import figure


def contradictions(run: ResultsRun) -> Iterator[Finding]:
    """Where loss and time of a results file are not those of its own history: these block, since
    no evidence would say which of the two was measured."""
    steps = positive(run.section("train_config").get("num_train_steps"))
    last = _last(run.ours.get("validation"))
    if last is not None:
        step, loss, clock = last
        yield from _compare(run, "loss", loss, LOSS_TOLERANCE, "its history ends with")
        if step == steps and clock is not None:
            yield from _compare(run, "training_time_s", clock, _room(clock), "its clock ends at")
        if steps is not None and step < steps:
            yield _finding(
                run,
                "loss",
                f"its history ends at step {figure(step)} of {steps:,}",
                step,
                None,
                "submit a run that reached its end",
                Level.WARNING,
            )
    timed = run.ours.get("step_time_s")
    count, mean = (
        (_number(timed.get(k)) for k in ("count", "mean"))
        if isinstance(timed, dict)
        else (None, None)
    )
    if count is not None and mean is not None and count == steps:
        total = count * mean
        yield from _compare(run, "training_time_s", total, _room(total), "its step times add up to")


def _compare(
    run: ResultsRun, name: str, shown: float, allowed: float, how: str
) -> Iterator[Finding]:
    stated = run.number(name)
    if stated is not None and abs(stated - shown) > allowed:
        what = "the loss" if name == "loss" else "the training time"
        yield _finding(
            run,
            name,
            f"the file states {what} as {figure(stated, 8)}, but {how} {figure(shown, 8)}",
            stated,
            shown,
            "submit the file as the trainer wrote it",
            Level.ERROR,
        )


def _finding(
    run: ResultsRun,
    name: str,
    message: str,
    claimed: float,
    expected: float | None,
    fix: str,
    level: Level,
) -> Finding:
    return finding(
        "summary-differs-from-history",
        message,
        level,
        file=run.file,
        line=run.line(name),
        pointer=run.where(name),
        claimed=claimed,
        expected=expected,
        fix=fix,
    )


def _last(points: Any) -> tuple[float, float, float | None] | None:
    """Step, loss and clock of the last point of a history; None if it has no finite one."""
    point = points[-1] if isinstance(points, list) and points else None
    if not isinstance(point, list) or not 2 <= len(point) <= 3:
        return None
    step, loss, clock = (_number(value) for value in [*point, None][:3])
    return None if step is None or loss is None else (step, loss, clock)


def _room(seconds: float) -> float:
    return max(TIME_TOLERANCE_S, RELATIVE_TOLERANCE * abs(seconds))


def _number(value: Any) -> float | None:
    return float(value) if finite(value) and abs(value) < 1e15 else None
