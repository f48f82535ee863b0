"""Stops that nothing plans, or that come before the stated end: they may have been chosen."""

from __future__ import annotations

import dataclasses as dc
import random

import pytest

from bot.evidence.log.training_log import read_log
from bot.model.run import Run, Validation
from bot.model.submission import Claim
from bot.model.track import Significance
from tests.bot.rules.run_cases import TRACKS, a_case, a_run, found
from tests.bot.rules.second_cases import loss_at

STEPS = TRACKS["nanogpt-optimization"]


def untold(n: int, last: int, every: int, total: str = "") -> Run:
    """A log without a length, unless `total` is one, whose loss falls to just below the target."""
    lines = ["device: NVIDIA H100 80GB HBM3", "world_size: 8"]
    for step in range(0, last + 1, every):
        loss = loss_at(step) + (n - 0.2) / 1000
        lines.append(f"step {step}{total} val loss {loss:.4f} train_time:{step * 50}ms")
    (run,) = read_log("\n".join([*lines, ""]).encode(), f"{n}.log")
    return run


def chosen(runs: list[Run]) -> list[str]:
    said = found("witnesses-disagree", a_case(runs))
    return [f.message for f in said if "states its length" in f.message]


def test_runs_without_a_length_that_end_at_different_steps() -> None:
    (text,) = chosen([untold(0, 1400, 100), untold(1, 1300, 100)])
    assert "end at steps 1,300 to 1,400" in text
    assert chosen([untold(0, 1400, 100), untold(1, 1400, 100)]) == []
    assert chosen([untold(0, 1400, 100, "/1400"), untold(1, 1300, 100, "/1300")]) == []


def test_a_stop_that_is_chosen_among_many_validations() -> None:
    (text,) = chosen([untold(n, 1400, 10) for n in range(5)])
    assert "if the stop was picked among them" in text
    assert chosen([untold(n, 1400, 100) for n in range(5)]) == []
    assert chosen([untold(n, 1400, 10, "/1400") for n in range(5)]) == []


def early(n: int, losses: list[float], total: int | None, last: int = 2600) -> Run:
    """A run with a validation every 5 steps up to `last`."""
    first = last - 5 * (len(losses) - 1)
    points = [(0, 10.8), (first // 2, 3.6), *((first + 5 * i, x) for i, x in enumerate(losses))]
    draw, side = random.Random(min(n, 7 - n)), 1 if n < 4 else -1  # no two are alike
    read = tuple(
        Validation(s, x + (n - 3.5) / 2500 + side * draw.gauss(0, 0.004), s * (2.0 + n / 100))
        for s, x in points
    )
    return a_run(n, validation=read, total_steps=total, last_step=last, finished=None)


FLAT = [3.2792 - 0.0006 * (i % 3 == 0) for i in range(40)]
FALLS = [3.2785 + 0.00025 * (39 - i) for i in range(40)]


@pytest.mark.parametrize(
    ("losses", "step", "total", "says"),
    [
        ([*FLAT, 3.2785], 2600, None, "if the stop was picked among them"),
        ([*FLAT, 3.2785], 2600, 2900, "at step 2,600 of 2,900, where the loss hardly falls"),
        ([*FLAT, 3.2784, 3.2792, 3.2793, 3.2791], 2585, 2600, "not at 3 of the 3 validations"),
        ([*FALLS, 3.2782], 2600, 2900, None),
        ([*FALLS, 3.2782, 3.2779, 3.2777], 2590, 2600, None),
        ([*FLAT, 3.2785], 2600, 2600, None),
    ],
)
def test_a_stop_before_the_end_of_the_runs(
    losses: list[float], step: int, total: int | None, says: str | None
) -> None:
    """As the steps track takes them: all runs at one step, which the submission claims."""
    runs = [early(n, losses, total) for n in range(8)]
    claims = {"claims": (Claim("steps", step),)}
    told = [
        f.message for f in found("witnesses-disagree", a_case(runs, track=STEPS, submission=claims))
    ]
    assert [says in text for text in told if says] == [True] * (says is not None), told
    assert says is not None or told == []


def test_without_a_test_the_mean_alone_is_compared() -> None:
    untested = dc.replace(STEPS, significance=Significance())
    claims = {"claims": (Claim("steps", 2585),)}

    def told(*later: float) -> list[str]:
        runs = [early(n, [*FALLS, 3.2784, *later], 2600) for n in range(8)]
        said = found("witnesses-disagree", a_case(runs, track=untested, submission=claims))
        return [f.message for f in said]

    (text,) = told(3.2809, 3.281, 3.2811)
    assert text == (
        "the mean reaches the target at step 2,585, but not at 3 of the 3 validations after it"
    )
    assert told(3.2795, 3.2796, 3.2797) == []  # too near for a test, and there is none
