"""Where a loss may begin, alone and beside the baseline arm: each bound from both sides."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from typing import Any

import pytest

from bot.model.run import Run, Validation
from bot.model.track import Axis, Track
from bot.rules.starts import trained_before, trained_between
from tests.bot.rules.run_cases import PATH, TRACKS, a_case, a_run

SMALL, EDU = TRACKS["nanogpt-small"], TRACKS["fineweb-edu"]
Curve = Mapping[int, float]


def of(n: int, curve: Curve, **changes: Any) -> Run:
    points = tuple(Validation(step, loss, None) for step, loss in curve.items())
    return a_run(n, **{"validation": points, **changes})


def told(*ours: Curve | Run, arm: tuple[Curve, ...] = (), track: Track = SMALL, **more: Any) -> Any:
    runs = [c if isinstance(c, Run) else of(n, c) for n, c in enumerate((*ours, *arm))]
    arms = ["candidate"] * len(ours) + ["baseline"] * len(arm)
    return [f.message for f in trained_before(a_case(runs, arms=arms, track=track, **more))]


NEAR = {0: 2.2, 25: 2.1, 50: 2.0}
AT_0 = [
    "the loss is 2.2 at step 0, 1.1 times the 2 at the end: untrained weights do not predict "
    "that well"
]
TRAINING = {"train_loss": ((0, 2.2), (100, 2.15))}
NO_START = {500: 2.1, 750: 2.05, 1000: 2.0}
BITS = {"bpb": ((0, 2.2), (25, 2.1), (50, 2.0))}
SCRATCH = {"bpb": ((0, 3.5), (500, 1.2), (1000, 1.0)), "train_loss": ((0, 1.4), (500, 1.2))}


@pytest.mark.parametrize(
    ("run", "track", "said"),
    [
        (of(0, NEAR), SMALL, AT_0),
        (of(0, {0: 2.2, 50: 2.0}), SMALL, []),  # two points are no curve
        (of(0, {0: 2.2, 25: 2.1, 49: 2.0}), SMALL, []),  # nor are so few steps
        (of(0, {0: 0.0, 25: -1.0, 50: 0.0}), SMALL, []),
        (of(0, NEAR, source="results"), SMALL, []),
        (of(0, NO_START), SMALL, []),
        (of(0, NO_START, history=TRAINING), SMALL, AT_0),
        (of(0, {}, history=BITS), EDU, AT_0),
        (of(0, {}, history=SCRATCH), EDU, []),  # nats are not held against bits
        (of(0, NEAR), dc.replace(SMALL, quality=Axis("score")), []),
        (of(0, NEAR), dc.replace(SMALL, quality=Axis("val_loss")), AT_0),
    ],
)
def test_which_curves_are_judged(run: Run, track: Track, said: list[str]) -> None:
    assert told(run, track=track) == said


def test_an_entry_that_was_brought_over_is_not_asked() -> None:
    track = dc.replace(SMALL, imported=(PATH,))
    about: dict[str, Any] = {"submission": {"imported": {"url": "x"}}, "merged": True}
    assert told(NEAR, track=track, **about) == []
    assert told(NEAR, **about) == AT_0
    points = [(s, 4 - s / 1000 - 0.5 * (s > 500)) for s in range(0, 1001, 50)]
    sudden = a_case([of(0, dict(points))])
    (item,) = trained_between(sudden)
    assert item.claimed is not None and item.expected is not None
    assert list(trained_between(a_case([of(0, NEAR)]))) == []
    run = dc.replace(sudden.evidence[0].runs[0], source="results")
    assert list(trained_between(a_case([run]))) == []
    assert list(trained_between(a_case([run], track=track, **about))) == []
    bits = a_case([of(0, {}, history={"bpb": tuple(points)})], track=EDU)
    assert len(list(trained_between(bits))) == 1


LONGER = "training from scratch takes longer"


@pytest.mark.parametrize(
    ("early", "says"),
    [
        ({0: 3.0}, None),  # 1.5 times the end
        ({0: 2.99}, "the loss is 2.99 at step 0, 1.5 times the 2 at the end: untrained weights "
         "do not predict that well"),
        ({20: 2.5}, None),  # 1.25 times in the first fiftieth
        ({20: 2.49}, f"the loss over the first 2% of the steps is 2.49, 1.25 times the 2 at the "
         f"end: {LONGER}"),
        ({0: 9.0, 20: 2.49}, f"the loss over the first 2% of the steps is 2.49, 1.25 times the 2 "
         f"at the end: {LONGER}"),
        ({10: 2.6, 20: 2.3}, f"the loss over the first 2% of the steps is 2.45, 1.23 times the 2 "
         f"at the end: {LONGER}"),
        ({21: 2.3}, None),
        ({100: 2.24}, None),  # 1.12 times in the first tenth
        ({100: 2.23}, f"the loss over the first 10% of the steps is 2.23, 1.11 times the 2 at the "
         f"end: {LONGER}"),
        ({101: 2.23}, None),
    ],
)  # fmt: skip
def test_how_near_its_end_a_loss_may_begin(early: Curve, says: str | None) -> None:
    assert told({**early, 600: 2.2, 1000: 2.0}) == ([says] if says else [])


# ---- Beside the arm -----------------------------------------------------------------------------


def curve(at_100: float, first: Curve | None = None, at_200: float = 2.5) -> Curve:
    """A loss that is so high after a tenth, and the same as others later; it ends at 2."""
    return {**(first or {}), 50: at_100 + 0.1, 150: at_100 - 0.1, 200: at_200, 1000: 2.0}


def after(share: str, ours: str, theirs: str, least: str) -> list[str]:
    return [
        f"after {share} of the steps the loss is {ours} times that of the end, in the baseline "
        f"arm {theirs} times; without the loss of untrained weights at step 0 it may be {least} "
        "of the arm's at least"
    ]


ARM = curve(3.1)
"""After a tenth of its steps 1.55 times its end: 0.88 of that are 1.364."""
AHEAD = after("10%", "1.35", "1.55", "0.88")
LATE = {150: 2.6, 250: 2.4, 1000: 2.0}


@pytest.mark.parametrize(
    ("ours", "arm", "said"),
    [
        ((curve(2.7),), (ARM,), AHEAD),
        ((curve(2.74),), (ARM,), []),
        ((curve(2.7),), (), []),
        ((curve(2.6), curve(2.8)), (curve(3.0), curve(3.2)), AHEAD),
        # 0.92 after a fifth.
        ((curve(3.1, at_200=2.29),), (ARM,), after("20%", "1.15", "1.25", "0.92")),
        ((curve(3.1, at_200=2.31),), (ARM,), []),
        # No point before, or none but that of step 0.
        ((LATE,), (ARM,), []),
        (({50: 1.0, 150: 0.5, 1000: 0.0},), (ARM,), []),
        (({50: 1.0, 150: 0.5, 1000: -1.0},), (ARM,), []),
        (({0: 3.1, **LATE},), (curve(3.2),), []),
        ((curve(2.7),), (LATE,), []),
    ],
)
def test_how_far_ahead_of_the_arm_a_run_may_be(ours: Any, arm: Any, said: list[str]) -> None:
    assert told(*ours, arm=arm) == said


@pytest.mark.parametrize(("last", "is_told"), [(499, False), (500, True)])
def test_a_tenth_of_a_short_run_is_its_warm_up(last: int, is_told: bool) -> None:
    def short(at_50: float) -> Curve:
        return {25: at_50 + 0.1, 75: at_50 - 0.1, 90: 2.5, last: 2.0}

    assert bool(told(short(2.7), arm=(short(3.1),))) is is_told


@pytest.mark.parametrize(
    ("first", "arm_first", "untrained"),
    [
        # Beside an arm that prints none, three times the end.
        ({2: 6.0}, {}, True),
        ({2: 5.98}, {}, False),
        ({3: 6.0}, {}, False),
        # Else nine tenths of the arm's.
        ({1: 9.0}, {0: 10.0}, True),
        ({1: 8.98}, {0: 10.0}, False),
        ({1: 9.0}, {2: 10.0}, True),
        ({1: 5.0}, {3: 10.0}, False),
        ({}, {0: 10.0}, False),
    ],
)
def test_a_run_that_begins_untrained_may_be_ahead(
    first: Curve, arm_first: Curve, untrained: bool
) -> None:
    assert told(curve(2.7, first), arm=(curve(3.1, arm_first),)) == ([] if untrained else AHEAD)


def test_all_curves_begin_untrained_and_the_arm_s_mean_counts() -> None:
    ours = curve(2.7, {0: 9.0}), curve(2.7, {0: 5.0})
    assert told(*ours, arm=(curve(3.1, {0: 10.0}),)) == AHEAD
    arm = curve(3.1, {0: 10.0}), curve(3.1, {0: 12.0})  # 0.9 of their mean is 9.9
    assert told(curve(2.7, {0: 9.95}), arm=arm) == []
    assert told(curve(2.7, {0: 9.85}), arm=arm) == AHEAD


def falling(loss: float, step: int = 100, begin: int = 0, first: float = 10.0) -> Curve:
    """From 10 to a loss by a step, and to 2 in the end."""
    return {begin: first, step: loss, 600: min(loss, 2.4), 1000: 2.0}


def falls(loss: str, share: str, arm: str, step: int = 100) -> list[str]:
    return [
        f"the loss falls from 10 to {loss} by step {step}, {share} of its whole fall, in the "
        f"baseline arm {arm}; at most 50%, or 3 times the arm's, is expected"
    ]


SLOW, FASTER = falling(9.2), falling(8.4)
"""Arms that make a tenth and a fifth of their fall by then."""


@pytest.mark.parametrize(
    ("ours", "arm", "said"),
    [
        (falling(6.0), (SLOW,), falls("6", "50%", "10%")),
        (falling(6.1), (SLOW,), []),
        (falling(5.1), (FASTER,), falls("5.1", "61%", "20%")),
        (falling(5.3), (FASTER,), []),
        (falling(5.3), (SLOW, FASTER), []),
        (falling(5.3), (SLOW,), falls("5.3", "59%", "10%")),
        (falling(6.0, 101), (falling(9.2, 101),), []),  # more than a tenth of the steps
        (falling(6.0, 50), (SLOW,), falls("6", "50%", "10%", 50)),  # the arm's next point
        (falling(6.0, 100, 2), (falling(9.2, 100, 2),), falls("6", "50%", "10%")),
        (falling(6.0), (falling(9.2, 100, 3),), []),  # it has no begin to compare with
        (falling(6.0), (falling(2.0, first=2.0),), []),  # nor any fall
    ],
)
def test_what_a_run_may_fall_by_at_once(ours: Curve, arm: Any, said: list[str]) -> None:
    assert told(ours, arm=arm) == said


def test_a_curve_that_begins_later_does_not_fall_at_once() -> None:
    """The training losses of a run that validates at step 0, from the third step on."""
    made = of(0, falling(9.0), history={"train_loss": ((3, 10.0), (100, 6.0), (600, 2.4))})
    assert told(made, arm=(SLOW,)) == []
