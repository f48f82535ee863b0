"""What is wrong with the step lines of one run: clocks that fall, holes, losses that are NaN.

Each problem is a (rule, message) pair; the message is one sentence with the step and the values.
"""

from __future__ import annotations

import dataclasses as dc
import math
import statistics
from collections.abc import Mapping, Sequence

# The first ten steps of early logs are untimed: the clock starts again at step 11.
_GRACE_STEPS = 11
_JUMP_FACTOR = 20.0
_JUMP_FLOOR_S = 5.0
# A training line's clock is an estimate, a validation's is exact: they may cross by a little.
_CLOCK_SLACK_S = 0.5


@dc.dataclass(slots=True)
class LogStep:
    """One step line. `clock_s` is None without a clock; `loss_text` the loss as printed."""

    step: int
    total: int | None
    clock_s: float | None
    values: Mapping[str, float]
    loss_text: str
    untimed: bool

    @property
    def is_validation(self) -> bool:
        """Whether the line carries a validation loss."""
        return "val_loss" in self.values

    @property
    def loss(self) -> float | None:
        """The validation loss, NaN where it is not finite, None on a training line."""
        return self.values.get("val_loss")

    def clock_before(self, other: LogStep) -> bool:
        """Whether this line's clock stands before that of `other`."""
        return (
            self.clock_s is not None and other.clock_s is not None and self.clock_s < other.clock_s
        )


def problems_of(
    steps: Sequence[LogStep], *, resumed: bool = False, cut: bool = False
) -> tuple[tuple[str, str], ...]:
    """The problems of one run, at most one of each kind, in the order of the kinds below."""
    points = [s for s in steps if s.is_validation]
    found = [_not_finite(points), _falls(steps), _jumps(points), _conflict(points), _gap(points)]
    if resumed:
        begin = f"the run begins at step {steps[0].step}, after an earlier run of the same file"
        found.append(("history-gap", begin))
    if cut:
        found.append(("history-gap", "the file ends in the middle of a line, which is not counted"))
    return tuple(f for f in found if f is not None)


def _not_finite(points: Sequence[LogStep]) -> tuple[str, str] | None:
    bad = [p.step for p in points if p.loss is None or not math.isfinite(p.loss)]
    if not bad:
        return None
    many = f" and {len(bad) - 1} later" if len(bad) > 1 else ""
    message = f"the validation loss at step {bad[0]}{many} is not a finite number"
    return "metric-not-finite", message


def _falls(steps: Sequence[LogStep]) -> tuple[str, str] | None:
    last: LogStep | None = None
    for s in steps:
        if s.clock_s is None:
            continue
        if last is not None and last.clock_s is not None and s.clock_s < last.clock_s:
            start = last.untimed and s.step <= _GRACE_STEPS
            mixed = s.is_validation != last.is_validation
            if not start and last.clock_s - s.clock_s > (_CLOCK_SLACK_S if mixed else 0):
                text = f"the clock falls from {last.clock_s:.3f} s to {s.clock_s:.3f} s"
                return "clock-not-monotonic", f"{text} at step {s.step}"
        last = s
    return None


def _jumps(points: Sequence[LogStep]) -> tuple[str, str] | None:
    """A stretch between validations that took 20 times as long a step as the others, or more."""
    timed = [p for p in points if p.clock_s is not None]
    rates = []
    for a, b in zip(timed[1:], timed[2:], strict=False):
        if a.clock_s is not None and b.clock_s is not None and b.step > a.step:
            rates.append((b.clock_s - a.clock_s, b.step - a.step, b.step))
    usual = statistics.median(t / n for t, n, _ in rates) if len(rates) >= 4 else 0.0
    for seconds, count, step in rates if usual > 0 else ():
        if seconds > _JUMP_FACTOR * usual * count and seconds - usual * count > _JUMP_FLOOR_S:
            text = f"the clock jumps by {seconds:.1f} s over the {count} steps up to step {step}"
            return "clock-not-monotonic", f"{text}, usual are {usual * count:.1f} s"
    return None


def _conflict(points: Sequence[LogStep]) -> tuple[str, str] | None:
    for a, b in zip(points, points[1:], strict=False):
        if a.step == b.step and a.loss != b.loss:
            text = f"step {a.step} has two validation losses, {a.loss_text} and {b.loss_text}"
            return "history-gap", f"{text}; the last counts"
    return None


def _gap(points: Sequence[LogStep]) -> tuple[str, str] | None:
    """A hole: validations were regular, and then several of them are missing."""
    longest = repeats = 0
    for a, b in zip(points, points[1:], strict=False):
        stretch = b.step - a.step
        if repeats >= 3 and stretch > longest and stretch % longest == 0:
            text = f"no validation between step {a.step} and step {b.step}"
            return "history-gap", f"{text}, although they came every {longest} steps before"
        if stretch > longest:
            longest, repeats = stretch, 1
        elif stretch == longest:
            repeats += 1
    return None
