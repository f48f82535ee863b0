"""Limits of a track: sizes, times, parameters that an entry must not exceed."""

from __future__ import annotations

from collections.abc import Iterator

from bot.compute import metrics
from bot.evidence import parts
from bot.model.case import Case
from bot.model.run import Run
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render import numbers
from bot.render.untrusted import plain

_BYTES = {"bytes": 1.0, "b": 1.0, "kb": 1e-3, "mb": 1e-6, "mib": 2.0**-20, "kib": 2.0**-10}
"""Units of a size, in each of which a byte is so much."""


def limit_exceeded(case: Case) -> Iterator[Finding]:
    """Every candidate run is within the track's limits: artifact size, time, parameters, tokens.

    A limit is the most that a run may have, or the least of a metric of which more is better. A run
    that states nothing about a limited metric breaks the limit too, since nothing shows that it
    keeps it; what the submission claims of it counts, and a maintainer then weighs it. Parts of an
    artifact, or a compressed model and its code, that are over the limit together are a warning.
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
            elif not least and unit.lower() in _BYTES:
                yield from _in_parts(case, run, name, limit / _BYTES[unit.lower()])


def _in_parts(case: Case, run: Run, name: str, limit: float) -> Iterator[Finding]:
    """Parts of the artifact, in what the run or a file of the folder states, that are over the
    limit together. `limit` is in bytes."""
    said = [(w.source, float(w.value)) for w in run.witnesses if w.quantity == "bytes_in_parts"]
    for file, document in case.documents.items():
        found = parts.sums(dict(parts.in_json(document.value)))
        said += [(f"{words} in {plain(file, 60)}", total) for words, total in found]
    for words, total in said:
        if total > limit:
            yield finding(
                "limit-exceeded",
                f"{words} are {numbers.figure(total)} bytes together, and the track allows at most "
                f"{numbers.figure(limit)}",
                Level.WARNING,
                claimed=total,
                expected=limit,
                run=run.file,
                fix=f"state one {name} of all that the model needs to run, or say in the README "
                "which of these are not part of it",
            )
            return


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
