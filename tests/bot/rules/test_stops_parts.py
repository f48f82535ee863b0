"""Stops that may have been chosen: how many validations are near the target, and what they bear."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Mapping
from typing import Any

import pytest

from bot.model.run import Run, Validation
from bot.model.submission import Claim
from bot.model.track import Significance, Track
from bot.rules.stops import chosen_stops
from tests.bot.rules.run_cases import PATH, TRACKS, a_case, a_run

Z = Significance("z", sigma=0.001, threshold=0.003)
"""Of four runs the error is 0.0005; they pass with a gain of 0.0015, which is z = 3."""
LENIENT = dc.replace(Z, threshold=0.0001)
STEPS = dc.replace(TRACKS["nanogpt-optimization"], significance=Z)
TIMED = dc.replace(TRACKS["nanogpt-small"], significance=Z)
SPREAD = (-0.003, -0.001, 0.001, 0.003)
STARTS = -7.0
GAIN = 0.0017
"""At the stop: z = 3.4, p = 0.000337; the level is p of z = 3, 0.00135."""


def tail(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2))


def runs(gains: Mapping[int, float], spread: Any = SPREAD, **changes: Any) -> list[Run]:
    """Runs whose mean is better than 3.28 by `gains`, each with its own clock and fluctuations."""
    made = []
    for n in range(len(spread)):
        points = tuple(
            Validation(step, 3.28 - gain + spread[(n + i) % len(spread)], step * (2 + n / 100))
            for i, (step, gain) in enumerate({0: STARTS, **gains}.items())
        )
        fields = {"validation": points, "total_steps": None, "finished": None, "last_step": None}
        made.append(a_run(n, **fields | changes))
    return made


def told(made: list[Run], track: Track = TIMED, claim: Claim | None = None, **more: Any) -> Any:
    submission = {"claims": (claim,)} if claim else {}
    case = a_case(made, track=track, submission=submission | more.pop("about", {}), **more)
    return [f.message for f in chosen_stops(case)]


def flat(near: int, last: float = GAIN, others: float = 0.0) -> dict[int, float]:
    """Gains at steps 10, 20, ... of which `near` are near the target: the first and the last
    reach it, so that there is no trend."""
    return {10 * (i + 1): last if i in (0, near - 1) else others for i in range(near)}


# ---- No run states a length ---------------------------------------------------------------------


def among(near: int, p: str, chosen: str) -> list[str]:
    return [
        f"no run states its length, and {near} of its validations are near the target or beyond: "
        f"p = {p} at the last, but {chosen} if the stop was picked among them"
    ]


def test_runs_that_end_at_different_steps() -> None:
    made = [*runs({100: 0.1}, SPREAD[:1]), *runs({100: 0.1, 1200: 0.2}, SPREAD[1:2])]
    (text,) = told(made)
    assert text == "the runs end at steps 100 to 1,200, and none states its length"
    assert told(made[:1]) == [] and told([]) == []
    assert told([dc.replace(r, total_steps=1200) for r in made]) == []
    assert told([dc.replace(made[0], config={"num_iterations": 100}), made[1]]) == []
    assert told([dc.replace(made[0], source="results"), made[1]]) == []
    assert told(made, dc.replace(TIMED, finish="time-limit")) == []
    assert told([dc.replace(made[0], validation=()), made[1]]) == []


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        (flat(4), []),  # 4 p = 0.001348
        (flat(5), among(5, "0.00034", "0.0017")),
        (flat(5, others=-0.0019), among(5, "0.00034", "0.0017")),
        (flat(5, others=-0.0021), []),  # more than four errors from the target
        (flat(5, last=0.0014), []),  # the test does not pass
        ({10: GAIN}, []),
    ],
)
def test_a_stop_among_validations_near_the_target(gains: dict[int, float], said: list[str]) -> None:
    assert told(runs(gains)) == said


def test_p_of_a_chosen_stop_is_one_at_most() -> None:
    """With z = 0.2 p is 0.42."""
    track = dc.replace(TIMED, significance=LENIENT)
    assert told(runs(flat(2, last=0.0001)), track) == among(2, "0.42", "0.84")
    assert told(runs(flat(3, last=0.0001)), track) == among(3, "0.42", "1")


def test_gains_where_more_is_better() -> None:
    axis = dc.replace(TIMED.quality, goal="max")
    track = dc.replace(TIMED, quality=axis)
    turned = {step: -gain for step, gain in flat(5).items()}
    made = [dc.replace(r, validation=r.validation[1:]) for r in runs(turned)]
    assert told(made, track) == among(5, "0.00034", "0.0017")
    assert told(runs(flat(5)), track) == []
    far = {s: -gain for s, gain in flat(5, others=-0.0021).items()}
    assert told([dc.replace(r, validation=r.validation[1:]) for r in runs(far)], track) == []


def test_the_error_of_a_t_test_is_that_of_the_runs() -> None:
    """An sd of 0.00052: near are 0.001 from the target. By the known sigma it were 0.002."""
    track = dc.replace(TIMED, significance=Significance("t", sigma=0.001))
    tight = (-0.0006, -0.0002, 0.0002, 0.0006)
    assert told(runs(flat(4, others=-0.0015), tight), track) == []
    (text,) = told(runs(flat(4, others=-0.0009), tight), track)
    assert text.startswith("no run states its length, and 4 of its validations are near")


def test_only_validations_that_all_runs_have_and_the_claimed_loss_count() -> None:
    made = runs(flat(5))
    short = dc.replace(made[0], validation=made[0].validation[:2] + made[0].validation[3:])
    assert told([short, *made[1:]]) == []
    curves = [
        dc.replace(r, history={"val_ema_loss": tuple((v.step, v.loss) for v in r.validation)},
                   validation=tuple(v._replace(loss=v.loss + 0.1) for v in r.validation))
        for r in made
    ]  # fmt: skip
    assert told(curves) == []
    assert told(curves, claim=Claim("val_ema_loss", 3.2783)) == among(5, "0.00034", "0.0017")


def test_an_entry_that_was_brought_over_is_not_asked() -> None:
    track = dc.replace(TIMED, imported=(PATH,))
    about = {"imported": {"url": "x"}}
    assert told(runs(flat(5)), track, merged=True, about=about) == []
    assert told(runs(flat(5)), TIMED, merged=True, about=about) != []


# ---- Before the stated end ----------------------------------------------------------------------

STOP = 1000


def before(near: int, each: float = 0.0) -> dict[int, float]:
    """Validations every 10 steps up to the stop; the gain falls by `each` a step before it, or has
    no trend."""
    if each:
        return {STOP - 10 * i: 0.0015 - each * 10 * i for i in reversed(range(near))}
    return {STOP - 10 * (near - 1 - i): GAIN if i in (0, near - 1) else 0.0 for i in range(near)}


def early(gains: dict[int, float], total: int | None = 2000, track: Track = STEPS,
          **changes: Any) -> list[str]:  # fmt: skip
    found: list[str] = told(runs(gains, total_steps=total, **changes), track,
                            Claim("steps", float(STOP)))  # fmt: skip
    return found


def hardly(p: str, chosen: str, end: str = "2,000") -> list[str]:
    return [
        f"the result is taken at step 1,000 of {end}, where the loss hardly falls: p = {p} there, "
        f"but {chosen} if that step was picked among the validations before it"
    ]


def later(failing: int, of: int) -> list[str]:
    return [f"the test passes at step 1,000, but not at {failing} of the {of} validations after it"]


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ([0.0016, 0.0016], []),
        ([0.0014, 0.0014], later(2, 2)),
        ([0.0014, 0.0016], []),  # half of them
        ([0.0014, 0.0016, 0.0014], later(2, 3)),
        ([0.0014, 0.0016, 0.0016], []),
        ([0.0014], []),  # one says too little
    ],
)
def test_later_validations_do_not_confirm_a_stop(after: list[float], said: list[str]) -> None:
    gains = {STOP: GAIN, **{STOP + 10 * (i + 1): gain for i, gain in enumerate(after)}}
    assert early(gains) == said
    assert early(gains, total=None, config={"num_iterations": 2000}) == said


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        (before(8), []),  # 8 p is 0.002695, twice the level 0.0027
        (before(9), hardly("0.0003", "0.003")),
        ({**before(9), STOP: 0.0014}, []),
    ],
)
def test_a_stop_where_the_loss_hardly_falls(gains: dict[int, float], said: list[str]) -> None:
    assert early(gains) == said


@pytest.mark.parametrize(("fall", "is_told"), [(0.19, True), (0.21, False)])
def test_each_validation_before_counts_by_its_distance_in_the_trend(
    fall: float, is_told: bool
) -> None:
    """The sum over them of the chance to pass, in units of the level, is 2.04 and 1.92."""
    looks = sum(tail(3 + fall * i) for i in range(15)) / tail(3)
    assert (looks > 2) is is_told
    found = early(before(15, fall * 0.0005 / 10))
    assert [f"{tail(3) * looks:.2g} if that step" in text for text in found] == [True] * is_told


@pytest.mark.parametrize(
    ("total", "changes", "said"),
    [
        (STOP, {}, []),
        (1001, {}, hardly("0.0003", "0.003", "1,001")),
        (None, {"config": {"num_iterations": 2000}}, []),  # nothing says that they went on
    ],
)
def test_a_stop_at_the_end_is_none(total: int | None, changes: Any, said: list[str]) -> None:
    assert early(before(9), total, **changes) == said


def test_the_longest_of_the_stated_lengths_is_the_end() -> None:
    made = runs(before(9), total_steps=STOP)
    made[2] = dc.replace(made[2], total_steps=2000)
    assert told(made, STEPS, Claim("steps", float(STOP))) == hardly("0.0003", "0.003")


def test_three_validations_make_a_trend_and_p_is_one_at_most() -> None:
    track = dc.replace(STEPS, significance=LENIENT)
    flat_ = {step: 0.0001 for step in (980, 990, STOP)}
    assert early(flat_, track=track) == hardly("0.42", "1")
    assert early({step: 0.0001 for step in (990, STOP)}, track=track) == []


def test_one_run_of_a_track_without_a_test_has_no_error() -> None:
    track = dc.replace(STEPS, significance=Significance("none"))
    assert early(before(9), track=track, spread=(0.0,)) == []
    assert early({**before(9), 1010: -1.0, 1020: -1.0}, track=track, spread=(0.0,)) == []
    assert early(before(9), track=track) == []  # nor have four a p
