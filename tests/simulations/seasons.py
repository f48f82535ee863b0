"""Seasons of a single-GPU track: does luck make a baseline, and does a real gain of 12 %?

A season has 20 tries of programs that are no faster, one run an arm. Others run the luckiest again,
three pairs each on cards of their own, as long as it is not confirmed, at most six of them: many
looks at growing evidence. A program with a gain of 12 % is treated alike. Each card's spread is
drawn from those of the times within the 62 groups of runs of `tests/golden`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bot.compute.ratios import disputes, measured, pooled, shows_gain
from bot.compute.significance import welch
from bot.model.submission import Reply
from bot.model.summary import BaselineArm, Sample, Summary
from bot.model.track import Axis, Baseline, Reproduction, Track
from bot.model.verdict import Point, Verdict
from bot.rank.baseline import due
from bot.rank.ranking import rank
from bot.registry import Grade, Status
from tests.simulations.common import Result, generator, slack_of

SPREADS = (0.0002, 0.0004, 0.0006, 0.0007, 0.0009, 0.0011, 0.0014, 0.0017, 0.0022, 0.0027)
"""Deciles of sd / mean of the times, 62 groups; the two outliers are runs of several programs."""
WAITING = (0.015,)
"""The candidate of `submissions/single-gpu/smaller-batch`, whose steps wait for the host."""
NOISY = (0.03,)
"""A rented card beside other jobs."""
TRIES, OTHERS, ALPHA = 20, 6, 0.05
TRACK = Track(
    "t",
    "One card",
    "baseline",
    Axis("loss"),
    Axis("training_time_s"),
    baseline_id="base",
    promote_at=0.9,
    reproduction=Reproduction(3, "another-person", ALPHA),
    baselines=(Baseline("base", "submissions/t/base", "2026-01-01", "training_time_s", (), ()),),
)


def verdict(
    name: str, who: str, ours: list[float], theirs: list[float], reply: Reply | None = None
) -> Verdict:
    """An entry or a reply whose arms took so many seconds."""
    arm = BaselineArm(cost=Sample(tuple(theirs)), comparison=welch(ours, theirs))
    statistics = Summary(
        quality=Sample((3.27,) * len(ours)), cost=Sample(tuple(ours)), baseline=arm
    )
    mean = sum(ours) / len(ours)
    return Verdict(
        f"submissions/t/{name}", "t", Status.VERIFIED, Grade.LOG, (),
        (Point("main", 3.27, mean, {}, statistics),),
        based_on="base", reply=reply, people=(who,), date="2026-02-01",
    )  # fmt: skip


def arms(
    rng: np.random.Generator, ratio: float, pairs: int, spreads: tuple[float, ...]
) -> tuple[list[float], list[float]]:
    """Both arms on one card whose spread is one of `spreads`."""
    noise = np.exp(rng.normal(0.0, rng.choice(spreads), (2, pairs)))
    return (100.0 * ratio * noise[0]).tolist(), (100.0 * noise[1]).tolist()


def season(
    rng: np.random.Generator,
    ratio: float,
    tries: int,
    spreads: tuple[float, ...],
    pairs: int = 3,
) -> tuple[bool, bool]:
    """Whether the luckiest of so many tries was ever confirmed, and whether it was ever due."""
    drawn = [arms(rng, ratio, 1, spreads) for _ in range(tries)]
    best = min(drawn, key=lambda pair: pair[0][0] / pair[1][0])
    known = [verdict("best", "author", *best)]
    confirmed = promoted = False
    for other in range(OTHERS):
        reply = Reply("reproduces", "t/best")
        again = arms(rng, ratio, pairs, spreads)
        known.append(verdict(f"again{other}", f"other{other}", *again, reply))
        board = rank(known, TRACK)
        confirmed |= board.states["submissions/t/best"].name == "confirmed"
        promoted |= due(board) is not None
    return confirmed, promoted


def simulate(repetitions: int) -> Iterator[Result]:
    """1,000 seasons each in full; never fewer than 200."""
    seasons = max(repetitions, 200)
    for words, spreads, pairs, target in (
        ("spread of the logs", SPREADS, 3, 0.95),
        ("noise of 1.5 %", WAITING, 3, 0.95),
        ("noise of 3 %", NOISY, 3, 0.4),
        ("noise of 3 %, 12 pairs each", NOISY, 12, 0.95),
    ):
        rng = generator(f"seasons {words}")
        lucky = [season(rng, 1.0, TRIES, spreads, pairs) for _ in range(seasons)]
        slack = slack_of(ALPHA, seasons)
        share = float(np.mean([found for found, _ in lucky]))
        yield Result(f"luckiest of 20 false gains confirmed, {words}", share, ALPHA, True, slack)
        share = float(np.mean([found for _, found in lucky]))
        yield Result(f"luckiest of 20 false gains promoted, {words}", share, ALPHA, True, slack)
        real = [season(rng, 0.88, 1, spreads, pairs) for _ in range(seasons)]
        share = float(np.mean([found for found, _ in real]))
        yield Result(f"real gain of 12 % confirmed, {words}", share, 0.95, False)
        share = float(np.mean([found for _, found in real]))
        yield Result(f"real gain of 12 % promoted within the season, {words}", share, target, False)
    yield _cards_that_differ(max(seasons, 1000))
    yield _disputed(max(seasons, 1000))


def _cards_that_differ(repetitions: int) -> Result:
    """Three others, three pairs each with noise of 0.1 %, of a program whose ratio is 1 on average
    and differs from card to card by 0.2 %: how often do they confirm it together?"""
    rng = generator("cards that differ")
    passed = 0
    for _ in range(repetitions):
        replies = []
        for ratio in np.exp(rng.normal(0.0, 0.002, 3)).tolist():
            found = verdict("again", "other", *arms(rng, ratio, 3, (0.001,)))
            measured_there = measured(found.points[0].summary)
            assert measured_there is not None
            replies.append(measured_there)
        passed += shows_gain(pooled(replies), TRACK)
    share = passed / repetitions
    name = "  equal on average, ratio 0.2 % apart by card: gain shown"
    return Result(name, share, ALPHA, True, slack_of(ALPHA, repetitions))


def _disputed(repetitions: int) -> Result:
    """Entries without a gain that claim what three pairs measured, challenged with three pairs."""
    rng = generator("disputed")
    held = 0
    for _ in range(repetitions):
        points = [verdict("x", "x", *arms(rng, 1.0, 3, (0.01,))).points[0] for _ in range(2)]
        own, theirs = (measured(point.summary) for point in points)
        held += disputes(theirs, own, TRACK)
    name = "  no gain, claimed as measured, 3 pairs each: disputed"
    return Result(name, held / repetitions, ALPHA, True, slack_of(ALPHA, repetitions))
