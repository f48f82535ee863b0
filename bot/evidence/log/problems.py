"""What is wrong with the step lines of one run: clocks that fall or stand still, holes, losses
that cannot be.

Each problem is a (rule, message) pair; the message is one sentence with the step and the values.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bot.compute.falls import fall_across
from bot.compute.paces import Series
from bot.registry import LOSS_TOLERANCE

# The first ten steps of early logs are untimed: the clock starts again at step 11.
_GRACE_STEPS = 11
# A training line's clock is an estimate, a validation's is exact: they may cross by a little.
_CLOCK_SLACK_S = 0.5
# Over the logs of the record history no stretch ran above 2.2 times the usual speed of its run.
_FAST_FACTOR = 10.0
# A clock that goes three times as fast as in its slowest quarter, over more than this of the time.
_HASTY_FACTOR, _HASTY_SHARE = 3.0, 0.04
# A stated average a step is that since the start, which is at step 0, 1, -9, -10 or -11 by
# trainer, or that since the validation before. At 20,978 validations of those logs one fits to 3 %.
_STARTS = (-1, 0, 9, 10, 11)
_AVERAGE_TOLERANCE = 0.05
_AVERAGE_ROUNDING_S = 1e-5
# The same batches on the same weights give the same training losses to a thousandth.
_LEAST_AGAIN, _OTHER_DATA = 3, 5e-3
_LATE = 0.4
"""Of the steps: who validates more often towards the end shows a point before."""


@dc.dataclass(slots=True)
class LogStep:
    """One step line. `clock_s` is None without a clock; `loss_text` the loss as printed;
    `average_s` the time a step that the line states."""

    step: int
    total: int | None
    clock_s: float | None
    values: Mapping[str, float]
    loss_text: str
    untimed: bool
    average_s: float | None = None
    other: str = ""
    """A loss or clock that the line gives twice with two values, in words."""
    clock_why: str = ""
    """Why a clock that the line has could not be read, in words."""
    line: int = 0
    clocks: Mapping[str, float] = dc.field(default_factory=dict)
    """Further clocks and durations of the line, by name, in seconds."""
    stamp: dt.datetime | None = None
    """The moment that the logger wrote before the line."""

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
    steps: Sequence[LogStep], *, resumed: bool = False, cut: bool = False, whole: bool = False
) -> tuple[tuple[str, str], ...]:
    """The problems of one run, at most one of each kind, in the order of the kinds below.

    `whole` says that `steps` are all that the run printed, and not its validations alone.
    """
    points = [s for s in steps if s.is_validation]
    # A validation may be printed after training lines of later steps.
    ordered = sorted(steps, key=lambda s: s.step)
    found = [
        _not_finite(points), _not_positive(points),
        _falls(ordered) or _stands(points) or _hastens(points), _average(points),
        _untimed(points),
        _conflict(points), _gap(points), _past_end(steps),
    ]  # fmt: skip
    if resumed:
        begin = f"the run begins at step {steps[0].step}, after an earlier run of the same file"
        found.append(("history-gap", begin))
    elif whole and (late := begins_late([s.step for s in steps], steps[0].total)) is not None:
        found.append(("history-gap", f"the log {late}"))
    if cut:
        found.append(("history-gap", "the file ends in the middle of a line, which is not counted"))
    return tuple(f for f in found if f is not None)


Points = Iterable[tuple[int, float | None]]


def trained_twice(
    before: Points, after: Points, training: tuple[Points, Points] = ((), ())
) -> tuple[str, str] | None:
    """The problem of a part that a resumed run trained again, where a validation of both parts
    shows two losses, or the training losses are those of other data: the better part may have been
    kept."""
    what = "validation"
    apart = [step for step, by in _both(before, after) if by > LOSS_TOLERANCE]
    if not apart:
        again = _both(*training)
        other = (
            len(again) >= _LEAST_AGAIN and statistics.median(by for _, by in again) > _OTHER_DATA
        )
        what, apart = "training", [step for step, _ in again] if other else []
    if not apart:
        return None
    at = f"step {apart[0]}" if len(apart) == 1 else f"steps {apart[0]} to {apart[-1]}"
    text = f"the run was resumed and trained a part again: the {what} losses at {at} are not"
    return "history-gap", f"{text} those of the first time"


def trained_between(
    validations: Series, batches: Series, resumed: Iterable[int]
) -> Iterator[tuple[str, str]]:
    """The problem of a loss that falls by too much where a run was resumed, the first of them."""
    falls = (fall_across(validations, batches, step) for step in resumed)
    found = next((fall for fall in falls if fall is not None), None)
    if found is not None:
        yield "history-gap", f"the run was resumed, and {found.words()}"


def _both(before: Points, after: Points) -> list[tuple[int, float]]:
    """By how much two series differ at the steps that both have."""
    first = dict(before)
    found = [(step, first[step], loss) for step, loss in after if step in first]
    return [(step, abs(a - b)) for step, a, b in found if a and b]


def begins_late(steps: Sequence[int], total: int | None) -> str | None:
    """In words, that steps begin after the first tenth of a run, and after their usual distance, or
    that nothing stands between its begin and its second half."""
    if not steps:
        return None
    # Without a stated length a run is at least as long as it got.
    total = total or max(steps)
    apart = [b - a for a, b in zip(steps, steps[1:], strict=False) if b > a]
    usual = statistics.median(apart) if apart else 0
    if steps[0] > max(_GRACE_STEPS, total / 10, usual + 1):
        return f"begins at step {steps[0]} of {total}; the steps before are not in it"
    later = [step for step in steps if step > _GRACE_STEPS]
    if len(later) > 2 and later[0] > max(_LATE * total, 2 * usual + 1):
        return f"shows nothing from step {steps[0]} to step {later[0]} of {total}"
    return None


def _not_finite(points: Sequence[LogStep]) -> tuple[str, str] | None:
    bad = [p.step for p in points if p.loss is None or not math.isfinite(p.loss)]
    if not bad:
        return None
    many = f" and {len(bad) - 1} later" if len(bad) > 1 else ""
    message = f"the validation loss at step {bad[0]}{many} is not a finite number"
    return "metric-not-finite", message


def _not_positive(points: Sequence[LogStep]) -> tuple[str, str] | None:
    bad = next((p for p in points if p.loss is not None and p.loss <= 0), None)
    if bad is None:
        return None
    text = f"the validation loss at step {bad.step} is {bad.loss:g}"
    return "metric-implausible", f"{text}, expected a number above 0"


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


def _stands(points: Sequence[LogStep]) -> tuple[str, str] | None:
    """A clock at or below 0 after training began, or a stretch that took next to no time."""
    timed = [(p.step, p.clock_s) for p in points if p.clock_s is not None]
    for step, clock in timed:
        if step > _GRACE_STEPS and clock <= 0:
            return "clock-not-monotonic", f"the clock stands at {clock:.3f} s at step {step}"
    # A clock in whole seconds may stand still over a short stretch.
    unit = 1.0 if all(clock == int(clock) for _, clock in timed) else 0.01
    rates = []
    for (first, begin), (step, end) in zip(timed, timed[1:], strict=False):
        if step > max(first, _GRACE_STEPS):
            rates.append((end - begin, step - first, step))
    usual = statistics.median(t / n for t, n, _ in rates) if len(rates) >= 3 else 0.0
    for seconds, count, step in rates:
        if (
            seconds < usual * count / _FAST_FACTOR
            and usual * count > 3 * unit
            or (seconds <= 0 and usual <= 0 and count > _GRACE_STEPS)
        ):
            text = f"the clock moves by {seconds:.3f} s over the {count} steps up to step {step}"
            return "clock-not-monotonic", f"{text}, usual are {usual * count:.1f} s"
    return None


def _hastens(points: Sequence[LogStep]) -> tuple[str, str] | None:
    """Stretches that together leave out time, by the pace of the others; the first one begins with
    the run, whose clock may start late."""
    timed = [(p.step, p.clock_s) for p in points if p.clock_s is not None]
    if not timed:
        return None
    if timed[0][0] > 0:
        timed.insert(0, (0, 0.0))
    stretches = [
        (later - clock, step - first)
        for (first, clock), (step, later) in zip(timed, timed[1:], strict=False)
        if step > first
    ]
    if len(stretches) < 3:
        return None
    unit = 1.0 if all(clock == int(clock) for _, clock in timed) else 0.0
    usual = sorted(seconds / steps for seconds, steps in stretches)[len(stretches) * 3 // 4]
    fast = [(t, n) for t, n in stretches if t + unit < usual * n / _HASTY_FACTOR]
    hidden = sum(usual * n - t for t, n in fast)
    if hidden <= _HASTY_SHARE * timed[-1][1]:
        return None
    steps = sum(n for _, n in fast)
    text = f"over {steps} of {timed[-1][0]} steps the clock moves by"
    return "history-gap", (
        f"{text} {sum(t for t, _ in fast):.3f} s, by its pace elsewhere {usual * steps:.1f} s"
    )


def _untimed(points: Sequence[LogStep]) -> tuple[str, str] | None:
    """A last validation without a clock, where others have one or its own cannot be read."""
    last = points[-1] if points else None
    if last is None or last.clock_s is not None:
        return None
    at = f"line {last.line}, step {last.step}: " if last.line else f"step {last.step}: "
    if last.clock_why:
        text = f"{at}the clock {last.clock_why}, so the time is missing"
        return "metric-missing", f"{text}; print it with its unit, such as 1500ms or 1.5s"
    if any(p.clock_s is not None for p in points):
        return "metric-missing", f"{at}the last validation has no clock, so the time is missing"
    return None


def _average(points: Sequence[LogStep]) -> tuple[str, str] | None:
    """A clock that contradicts the average time a step that stands beside it."""
    last: LogStep | None = None
    for p in points:
        before, last = last, p
        if p.average_s is None or p.clock_s is None or p.step < 50 or p.average_s <= 0:
            continue
        shown = [p.clock_s / (p.step - start) for start in _STARTS]
        if before is not None and before.clock_s is not None and before.step < p.step:
            shown.append((p.clock_s - before.clock_s) / (p.step - before.step))
        allowed = _AVERAGE_TOLERANCE * p.average_s + _AVERAGE_ROUNDING_S
        if all(abs(value - p.average_s) > allowed for value in shown):
            text = f"at step {p.step} the clock is {p.clock_s:.3f} s, but the stated average of"
            makes = f"{1000 * p.average_s:g} ms a step makes {p.average_s * p.step:.3f} s"
            return "summary-differs-from-history", f"{text} {makes}"
    return None


def _past_end(steps: Sequence[LogStep]) -> tuple[str, str] | None:
    late = next((s for s in steps if s.total is not None and s.step > s.total), None)
    if late is None:
        return None
    return "history-gap", f"step {late.step} lies beyond the stated end, step {late.total}"


def _conflict(points: Sequence[LogStep]) -> tuple[str, str] | None:
    twice = next((p for p in points if p.other), None)
    if twice is not None:
        return "history-gap", f"the line of step {twice.step} has two values of {twice.other}"
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
