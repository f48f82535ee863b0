"""Runs that are one training though their evidence differs: copies with a digit changed.

A log and the W&B history of one run differ in decimals; a log printed again may have another
clock. Two trainings of one script agree to four decimals at few of their validations: over all
pairs of the record history at 54 % at the most, at a run's own copies and forks at 86 % or more.
A copy with noise in its last digits is within `NEAR` of its original at all of six or more
validations. In the record history, copies and two probes of one seed aside, the nearest pair is
0.00051 apart at one of them, and the next 0.0008: the bound leaves little room, and a copy with
more noise than that is not found.
Clocks to the millisecond agree less still, at 33 % and at three validations at the most, wherever
in the run they stand: a copy with other losses or other steps has them too.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bot.compute.independence import dependent
from bot.evidence.links import RunRef, parse_link
from bot.model.results import ResultsRun
from bot.model.run import Run
from bot.model.trace import Trace
from bot.registry import LOSS_TOLERANCE

LEAST_POINTS = 4
"""Fewer validations in common tell nothing."""
SHARE = 0.7
MOST_RUNS = 400
"""So many runs are compared with one another: each with each, that is 80,000 pairs."""
NEAR = 4.5e-4
"""Losses of two trainings are not all nearer than this."""
LEAST_NEAR = 6
_EARLY = 3
"""Two near traces are found by one of so many first validations, where trainings differ most."""
_CLAIMED = ("bpb", "loss", "training_time_s", "hardware_flops", "tokens", "parameters")
_QUALITY: Mapping[str, tuple[int, float]] = {"bpb": (7, 4e-6), "loss": (9, 4e-8)}
"""Metric -> (digits that it must have, width within which it is the same value)."""
_MIN_NONCE = 16
MIN_POINTS = 3
"""A series of fewer validation points is not a fingerprint."""


class Known:
    """Traces that were seen, by number, to find the one of which another is a copy."""

    def __init__(self) -> None:
        self._losses: dict[tuple[int, int], list[tuple[float, int]]] = {}
        self._clocks: dict[int, list[int]] = {}
        self._traces: dict[int, tuple[frozenset[int], int]] = {}
        self._early: dict[tuple[int, int], list[tuple[int, Trace]]] = {}

    def add(self, index: int, trace: Trace) -> None:
        """Remember a trace under a number."""
        steps = frozenset(step for step, _ in trace.losses)
        self._traces[index] = steps, len(trace.clocks)
        for step, loss in trace.losses:
            self._losses.setdefault((step, _bucket(loss, LOSS_TOLERANCE)), []).append((loss, index))
        for clock in trace.clocks:
            self._clocks.setdefault(clock, []).append(index)
        for step, loss in trace.losses[:_EARLY]:
            self._early.setdefault((step, _bucket(loss, NEAR)), []).append((index, trace))

    def original(self, trace: Trace) -> int | None:
        """The lowest number of a trace of which this one is a copy, or None."""
        return min(self.originals(trace), default=None)

    def originals(self, trace: Trace) -> set[int]:
        """The numbers of all traces of which this one may be a copy."""
        return {*self._by_losses(trace), *self._by_clocks(trace), *self._near(trace)}

    def _by_losses(self, trace: Trace) -> Iterator[int]:
        equal: Counter[int] = Counter()
        for step, loss in trace.losses:
            equal.update(
                {
                    index
                    for bucket in _about(loss, LOSS_TOLERANCE)
                    for other, index in self._losses.get((step, bucket), ())
                    if abs(other - loss) <= LOSS_TOLERANCE
                }
            )
        own = frozenset(step for step, _ in trace.losses)
        return (i for i, n in equal.items() if _alike(n, own, self._traces[i][0]))

    def _near(self, trace: Trace) -> Iterator[int]:
        own = dict(trace.losses)
        for step, loss in trace.losses[:_EARLY]:
            for bucket in _about(loss, NEAR):
                for index, other in self._early.get((step, bucket), ()):
                    apart = [abs(own[s] - x) for s, x in other.losses if s in own]
                    if len(apart) >= LEAST_NEAR and max(apart) <= NEAR:
                        yield index

    def _by_clocks(self, trace: Trace) -> Iterator[int]:
        equal = Counter(i for clock in trace.clocks for i in self._clocks.get(clock, ()))
        return (
            i
            for i, n in equal.items()
            if n >= LEAST_POINTS and n >= SHARE * min(len(trace.clocks), self._traces[i][1])
        )


def trace_of(run: Run) -> Trace:
    """The trace of a run of any source."""
    return Trace.of(run.validation)


def repeats(runs: Sequence[Run]) -> tuple[tuple[int, int], ...]:
    """Pairs (index of a run, index of the earlier run of which it is a copy), in order.

    A run is compared with those before it that are not copies themselves.
    """
    found = []
    known, own = Known(), list[int]()
    for index, run in enumerate(runs):
        trace = trace_of(run)
        original = known.original(trace)
        if original is None:
            original = next((i for i in own if dependent(run, runs[i])), None)
        if original is not None:
            found.append((index, original))
        else:
            known.add(index, trace)
            own.append(index)
    return tuple(found)


def _bucket(loss: float, width: float) -> int:
    return math.floor(loss / width)


def _about(loss: float, width: float) -> range:
    """The buckets of the losses that are at most one width away."""
    middle = _bucket(loss, width)
    return range(middle - 1, middle + 2)


def _alike(equal: int, own: frozenset[int], other: frozenset[int]) -> bool:
    if equal < LEAST_POINTS:
        return False
    common = len(own & other)
    # Four or five equal numbers of five may be chance where a model converges; all of them not.
    return equal == common or common > LEAST_POINTS + 1 and equal >= SHARE * common


# ---- Keys: by what the same run or result is found again elsewhere -----------------------------


def link_key(link: object) -> str | None:
    """`wandb:ENTITY/PROJECT/ID` of a link to a run, None for anything else."""
    parsed = parse_link(link)
    return f"wandb:{parsed.path}" if isinstance(parsed, RunRef) else None


def run_key(run: Run) -> str | None:
    """A key of a run that a copy of its evidence has too; None where it has too little in it."""
    if run.run_id and run.entity and run.project:
        return f"wandb:{run.entity}/{run.project}/{run.run_id}"
    if len(run.validation) < MIN_POINTS:
        return None
    series = json.dumps([[v.step, v.loss, v.time_s] for v in run.validation])
    return f"metrics:{hashlib.sha256(series.encode()).hexdigest()}"


def nonce_key(nonce: object) -> str | None:
    """The key of a run by the random bits that its trainer drew, None where there are none."""
    return f"nonce:{nonce}" if isinstance(nonce, str) and len(nonce) >= _MIN_NONCE else None


def claims_key(results: Sequence[ResultsRun]) -> str | None:
    """A digest of the numbers that results files state, to 6 digits; None where there are few.

    Two trainings do not agree in 6 digits of their time and their quality.
    """
    rows = []
    for run in results:
        numbers = {name: run.number(name) for name in _CLAIMED}
        if numbers["training_time_s"] is None or (numbers["bpb"], numbers["loss"]) == (None, None):
            continue
        rows.append({name: None if v is None else f"{v:.5e}" for name, v in numbers.items()})
    if not rows:
        return None
    rows.sort(key=lambda row: json.dumps(row))
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def value_keys(results: Sequence[ResultsRun], runs: Sequence[Run] = ()) -> dict[str, str]:
    """Key -> metric of each loss or bits per byte that is stated to enough digits.

    Of two values that differ by less than half the width in `_QUALITY` at least one key is the
    same, so that a copy that was rounded, or that has noise below what counts, is found. Bits per
    byte of a board lie far apart; losses of a race to a target lie close together, and only those
    that are one number of single precision are told. A value rounded to fewer digits tells nothing.
    """
    found: dict[str, str] = {}
    for name, (digits, width) in _QUALITY.items():
        stated = [run.number(name) for run in results]
        for value in (*stated, *(run.metrics.get(name) for run in runs)):
            # What survives rounding to one digit less does not have as many.
            if (
                isinstance(value, float)
                and abs(value) < 1e6
                and value != float(f"{value:.{digits - 1}g}")
            ):
                for shift in (0.0, 0.5):
                    place = math.floor(value / width + shift)
                    found.setdefault(f"{name}:{shift:g}:{place}", name)
    return found
