"""Limits of a track: sizes, times, parameters that an entry must not exceed."""

from __future__ import annotations

from collections.abc import Iterator

from bot.compute import metrics
from bot.model.case import Case
from bot.model.run import Run
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render import numbers


def limit_exceeded(case: Case) -> Iterator[Finding]:
    """Every candidate run is within the track's limits: artifact size, time, parameters, tokens.

    A limit is the most that a run may have, or the least of a metric of which more is better. A run
    that states nothing about a limited metric breaks the limit too, since nothing shows that it
    keeps it; what the submission claims of it counts, and a maintainer then weighs it.
    """
    for name, limit in case.track.limits.items():
        own = case.track.metrics.get(name)
        least = own is not None and own.goal == "max"
        label, unit = (own.label, own.unit) if own else (name, "s" * name.endswith("_s"))
        claim = next((c for c in case.submission.claims if c.metric == name), None)
        for run in case.runs("candidate"):
            value = metrics.of_run(run, case.track).get(name)
            if value is None and claim is not None:
                yield from _claimed(case, run, name, claim.value, limit, least)
            elif value is None:
                yield _finding(run, name, f"{label} is not stated, and the track limits it", limit)
            elif value < limit if least else value > limit:
                bound = f"at {'least' if least else 'most'} {numbers.figure(limit)} {unit}"
                shown = f"{numbers.apart(value, limit)} {unit}".rstrip()
                message = f"{label} is {shown}, and the track allows {bound.rstrip()}"
                yield _finding(run, name, message, limit, float(value))


def _claimed(
    case: Case, run: Run, name: str, value: float, limit: float, least: bool
) -> Iterator[Finding]:
    """A limited metric that only the submission itself states."""
    if value < limit if least else value > limit:
        message = f"{name} is claimed as {value:g}, and the track allows {limit:g}"
        yield _finding(run, name, message, limit, value)
    else:
        message = f"{name}, which the track limits, is stated by the submission alone"
        yield _finding(run, name, message, limit, value, Level.WARNING)


def _finding(
    run: Run,
    name: str,
    message: str,
    limit: float,
    value: float | None = None,
    level: Level | None = None,
) -> Finding:
    return finding(
        "limit-exceeded",
        message,
        level,
        claimed=value,
        expected=limit,
        run=run.file,
        fix=f"bring a run whose {name} is within the limit"
        if value is not None and level is None
        else f"log {name} where the track reads it",
    )
