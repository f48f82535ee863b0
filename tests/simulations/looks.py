"""A submission that grows: how often a worthless one and a good one pass by the track's looks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bot.compute.looks import judged_at
from bot.compute.summary import decide
from bot.model.summary import Moments
from bot.model.track import Axis, Significance, Track
from tests.simulations.common import Result, generator, slack_of

LOOKS = (4, 6, 8, 12)
ALPHA = 0.01
TRACK = Track(
    id="simulated",
    title="",
    objective="target",
    quality=Axis("loss", "", "min", 0.0),
    cost=Axis("training_time_s"),
    significance=Significance(test="t", alpha=ALPHA, min_runs=2, looks=LOOKS),
)


def passes(gains: Any, track: Track = TRACK) -> bool:
    """Whether a submitter who adds runs until it passes ever does, up to the last look."""
    for n in range(2, LOOKS[-1] + 1):
        judged = judged_at(n, track.significance.looks)
        if judged and decide(Moments.of(gains[:judged].tolist()), track).passes:
            return True
    return False


def simulate(repetitions: int) -> Iterator[Result]:
    """Acceptance of worthless entries, and power at gains of 1, 1.5 and 2 sd."""
    for gain, target in ((0.0, ALPHA), (1.0, 0.56), (1.5, 0.93), (2.0, 0.99)):
        rng = generator(f"looks {gain}")
        draws = rng.normal(gain, 1.0, (repetitions, LOOKS[-1]))
        share = float(np.mean([passes(row) for row in draws]))
        name = "looks 4, 6, 8, 12 accept"
        if gain == 0:
            slack = slack_of(target, repetitions)
            yield Result(f"{name} worthless entries", share, target, True, slack)
        else:
            slack = slack_of(target, repetitions)
            yield Result(f"{name} a gain of {gain:g} sd", share, target, False, slack)
