"""Where a run begins: untrained weights predict no better than a guess."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from bot.model.run import Run, Validation
from bot.registry import Level
from tests.bot.rules.run_cases import TRACKS, a_case, a_run, found

STEPS = range(0, 1001, 25)
Curve = Callable[[int], float]


def scratch(step: int) -> float:
    """As the records of the track fall."""
    return 3.277 + 0.75 * (1 - step / 1000) + 6.8 * math.exp(-step / 45)


def trained(step: int) -> float:
    """From weights of other training."""
    return 3.277 + 0.34 * (1 - step / 1000)


def of(curve: Curve, n: int = 0, *, validates: range = STEPS, trains: Curve | None = None) -> Run:
    points = tuple(Validation(s, curve(s) + n / 5000, s * 0.06) for s in validates)
    history = {} if trains is None else {"train_loss": tuple((s, trains(s)) for s in STEPS)}
    return a_run(n, validation=points, history=history)


LATE = range(250, 1001, 250)


@pytest.mark.parametrize(
    ("run", "says"),
    [
        (of(trained), "the loss is 3.617 at step 0, 1.1 times the 3.277 at the end"),
        (of(lambda s: scratch(0) if s == 0 else trained(s)), "over the first 10% of the steps"),
        (of(trained, validates=STEPS[1:]), "over the first 10% of the steps"),
        (of(scratch, validates=LATE, trains=trained), "the loss is 3.617 at step 0"),
        (of(scratch), None),
        (of(scratch, validates=STEPS[1:], trains=scratch), None),
        (of(lambda s: 3.277 + 0.35 * (1 - s / 1000) + 6.5 * (s == 0), validates=LATE), None),
        (of(lambda s: 3.277 * (1 + 0.7 * (s == 0))), "over the first 10% of the steps"),
    ],
)
def test_a_run_that_begins_near_its_end(run: Run, says: str | None) -> None:
    told = found("history-gap", a_case([run, of(scratch, 1)]))
    assert [item.level for item in told] == [Level.WARNING] * (says is not None)
    assert all(says is not None and says in item.message for item in told)


def test_bits_per_byte_begin_high_as_well() -> None:
    for curve, is_told in ((trained, True), (scratch, False)):
        history = {"bpb": tuple((s, curve(s) / 3) for s in STEPS)}
        run = a_run(0, validation=(), history=history)
        assert bool(found("history-gap", a_case([run], track=TRACKS["fineweb-edu"]))) is is_told


def beside_an_arm(ours: Curve, steps: range, arm: Curve = scratch) -> list[str]:
    """What is said of two runs of a candidate beside two of the baseline arm."""
    runs = [of(curve, n, validates=steps) for n, curve in enumerate((ours, ours, arm, arm))]
    arms = ("candidate", "candidate", "baseline", "baseline")
    return [item.message for item in found("history-gap", a_case(runs, arms=arms))]


@pytest.mark.parametrize("steps", [STEPS[1:], STEPS])
@pytest.mark.parametrize(
    ("lower", "until", "says"),
    [
        (0.45, 200, "after 20% of the steps the loss is"),
        (0.75, 100, "after 10% of the steps the loss is"),
        (0.1, 200, None),
    ],
)
def test_a_candidate_that_is_far_ahead_of_its_baseline_arm(
    lower: float, until: int, says: str | None, steps: range
) -> None:
    """Both end alike; before, the candidate is where the arm comes much later. One that shows the
    loss of untrained weights may be."""

    def ahead(step: int) -> float:
        return scratch(step) - lower * max(min(step, 2 * until - step, until), 0) / until

    told = beside_an_arm(ahead, steps)
    assert [says is not None and says in text for text in told] == [True] * (
        says is not None and 0 not in steps
    )
    assert all("of the arm's at least" in text for text in told)


@pytest.mark.parametrize(
    ("begins", "at_5", "says"),
    [
        (1.0, 4.4, "to 4.4 by step 5, 85% of its whole fall, in the baseline arm "),
        (1.0, 8.0, None),  # a higher rate
        (0.7, 8.0, "after 10% of the steps the loss is"),  # not that of untrained weights
    ],
)
def test_an_invented_begin_is_followed_by_a_fall_that_no_training_makes(
    begins: float, at_5: float, says: str | None
) -> None:
    def ahead(step: int) -> float:
        return {0: begins * scratch(0), 5: at_5}.get(step, min(scratch(step), 0.45 + trained(step)))

    told = beside_an_arm(ahead, range(0, 1001, 5))
    assert [says is not None and says in text for text in told] == [True] * (says is not None)


@pytest.mark.parametrize("first", [0, 2])
def test_a_short_run_with_a_higher_rate_is_ahead_of_its_arm(first: int) -> None:
    """As in 80 steps of the tutorial: what a tenth of them hold is the arm's warm-up."""

    def falls(within: float) -> Curve:
        return lambda step: 1.85 + 4 * math.exp(-step / within)

    steps = range(first, 81, 2)
    assert beside_an_arm(falls(6), steps, falls(12)) == []


@pytest.mark.parametrize(("more", "is_told"), [(0.15, True), (0.03, False)])
def test_a_loss_that_falls_over_one_stretch(more: float, is_told: bool) -> None:
    run = of(lambda s: scratch(s) + (more if s <= 500 else 0.0))
    said = [item.message for item in found("history-gap", a_case([run, of(scratch, 1)]))]
    assert ["from step 500 to step 525" in text for text in said] == [True] * is_told
