"""Histories of W&B that say one thing in two ways: losses, clocks and lengths under two names.

The first of a track's keys that a run logs is read. Where it logs another of them as well, the two
must agree, or nobody can tell which was measured. Each problem is a (rule, message) pair.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from bot.evidence.wandb.history import Row, flatten, number, setting, step_of
from bot.model.track import Keys
from bot.registry import LOSS_TOLERANCE, RELATIVE_TOLERANCE, TIME_TOLERANCE_S
from bot.render.untrusted import plain

_TIMED = 0.98
_UNTIMED = 2
"""Steps that may have no duration: the first one compiles, the one before it validates."""

SUMMED = "the training time is the sum of them"
"""What is said of a clock that is made of the durations of steps, where some have none."""

Problem = tuple[str, str]


def contradictions(rows: Sequence[Row], keys: Keys, config: Mapping[str, Any]) -> Iterator[Problem]:
    """What the rows and the configuration of one run say twice and not alike."""
    present = frozenset(key for row in rows for key in row)
    steps = tuple(name for name in keys.step if name in present and name != "_step")
    for names in (keys.loss, keys.bpb):
        yield from _two_names({n: 1.0 for n in names if n in present}, rows, steps, LOSS_TOLERANCE)
    clocks = {n: 1.0 for n in keys.time_s if n in present}
    clocks |= {n: 1000.0 for n in keys.time_ms if n in present and n not in clocks}
    yield from _two_names(clocks, rows, steps, TIME_TOLERANCE_S)
    yield from _two_lengths(rows, keys, config)
    if not clocks:
        yield from _untimed(rows, next((n for n in keys.step_time_s if n in present), None), steps)


def _two_names(
    divisors: Mapping[str, float], rows: Sequence[Row], steps: Sequence[str], allowed: float
) -> Iterator[Problem]:
    """One quantity under two names, at the last step that has both: the first name counts."""
    if len(divisors) < 2:
        return
    values: dict[str, dict[int, float]] = {name: {} for name in divisors}
    for row in rows:
        step = step_of(row, steps)
        for name, divisor in divisors.items() if step is not None else ():
            value = number(row.get(name))
            if step is not None and value is not None and math.isfinite(value):
                values[name][step] = value / divisor
    first, *others = values
    for other in others:
        last = max(values[first].keys() & values[other].keys(), default=None)
        if last is None:
            continue
        a, b = values[first][last], values[other][last]
        if abs(a - b) > max(
            allowed, RELATIVE_TOLERANCE * abs(a) if allowed == TIME_TOLERANCE_S else 0.0
        ):
            yield (
                "history-gap",
                (
                    f"at step {last} the history has {plain(first, 60)} {a:.7g} and "
                    f"{plain(other, 60)} {b:.7g} for one quantity; the first is taken"
                ),
            )
            return


def _untimed(rows: Sequence[Row], name: str | None, steps: Sequence[str]) -> Iterator[Problem]:
    """Steps whose duration is not logged, where the sum of the durations is the clock."""
    timed = {step_of(row, steps) for row in rows if name is not None and row.get(name) is not None}
    known = {step for step in timed if step is not None}
    logged = [step for row in rows if (step := step_of(row, steps)) is not None]
    yield from untimed(plain(str(name), 60), known, min(logged, default=0))


def untimed(name: str, known: Collection[int], first: int) -> Iterator[Problem]:
    """That of the steps up to the last, counted from `first`, too few are `known` with a duration;
    a history that begins later than at step 1 has none of those before."""
    through = max(known, default=-1) - (0 if first > 1 else first) + 1
    if known and len(known) + _UNTIMED < _TIMED * through:
        text = f"{name} is logged for {len(known)} of {through} steps, and {SUMMED}"
        yield "history-gap", text


def _two_lengths(rows: Sequence[Row], keys: Keys, config: Mapping[str, Any]) -> Iterator[Problem]:
    flat = flatten(config)
    stated = [number(setting(flat, name)) for name in keys.total_steps]
    # The last row counts: what grows with the steps is not a length before.
    last = {name: row[name] for row in rows for name in keys.total_steps if name in row}
    stated += map(number, last.values())
    lengths = sorted({int(v) for v in stated if v is not None and math.isfinite(v) and v > 0})
    if len(lengths) > 1:
        yield (
            "history-gap",
            (
                f"the run states two lengths, {lengths[0]} and {lengths[-1]} steps, so it may have "
                "been stopped early or begun anew"
            ),
        )
