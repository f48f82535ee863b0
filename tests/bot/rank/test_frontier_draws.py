"""Chances on a frontier, draw by draw, and the standard errors that they are drawn with."""

from __future__ import annotations

import dataclasses as dc
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from bot.model.summary import Sample, Summary
from bot.model.track import Axis, Significance, Track
from bot.model.verdict import Point, Verdict
from bot.rank.admission import Row
from bot.rank.frontier_chance import Spread, chances, drawn
from bot.registry import Grade, Status


def by_hand(points: Sequence[Spread]) -> list[float | None]:
    """The share of 1,000 draws in which nothing dominates a point; each name draws its own."""
    places = []
    for p in points:
        draw = np.random.default_rng([20261128, *p.name.encode()]).normal(size=(2, 1000))
        places.append((p.x + p.x_error * draw[0], p.y + p.y_error * draw[1]))
    found: list[float | None] = []
    for p, (x, y) in zip(points, places, strict=True):
        beaten = np.zeros(1000, bool)
        for a, b in places:
            beaten |= (a <= x) & (b <= y) & ((a < x) | (b < y))
        found.append(float(1 - beaten.mean()) if p.x_error or p.y_error else None)
    return found


def cloud(seed: int, x_error: float, y_error: float) -> list[Spread]:
    draw = random.Random(seed)
    return [
        Spread(f"p{n}", 10 * x, 10 * (1 - x) ** 2 + draw.expovariate(3), x_error, y_error)
        for n, x in enumerate(draw.random() for _ in range(12))
    ]


@pytest.mark.parametrize(
    ("seed", "x_error", "y_error"), [(1, 0.3, 0.5), (2, 0.0, 1.0), (3, 1.0, 0.0), (4, 0.1, 0.1)]
)
def test_chances_are_the_share_of_the_draws(seed: int, x_error: float, y_error: float) -> None:
    points = cloud(seed, x_error, y_error)
    assert chances(points) == pytest.approx(by_hand(points))
    mixed = [dc.replace(p, x_error=0.0, y_error=0.0) if n % 3 else p for n, p in enumerate(points)]
    told = [(a is None, a or 0.0) for a in chances(mixed)]
    assert told == [(b is None, pytest.approx(b or 0.0)) for b in by_hand(mixed)]


@pytest.mark.parametrize("apart", [0.5, 2.0, 5.0, 9.0])
def test_what_is_far_may_be_reached_by_several_standard_errors(apart: float) -> None:
    wide = [Spread("a", 1.0, 1.0, 0.0, 0.1), Spread("b", 1 + apart, 1 + apart, 1.0, 1.0)]
    assert chances(wide) == pytest.approx(by_hand(wide))
    across = [Spread("a", 1.0, 1.0, 1.0, 1.0), Spread("b", 1 + apart, 1 + apart, 0.1, 0.1)]
    assert chances(across) == pytest.approx(by_hand(across))


def test_equal_points_stay_together() -> None:
    same = [Spread("a", 1.0, 2.0), Spread("b", 1.0, 2.0), Spread("c", 3.0, 2.0, 0.0, 1.0)]
    assert chances(same)[:2] == [None, None]
    assert chances(same)[2] == pytest.approx(by_hand(same)[2])
    assert chances([]) == [] and chances(same[:2]) == [None, None]


def test_equal_draws_stay_together_and_others_do_not() -> None:
    """A spread that rounds away leaves every draw where the point is."""
    places = [(1.0, 1.0), (1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (2.0, 0.5)]
    points = [Spread(str(n), x, y, 0.0, 1e-20) for n, (x, y) in enumerate(places)]
    assert chances(points) == [1.0, 1.0, 0.0, 0.0, 1.0]


TRACK = Track("t", "", "pareto", Axis("bpb"), Axis("hardware_flops"))


def row(costs: Sequence[float] = (), values: Sequence[float] = ()) -> Row:
    stats = Summary(cost=Sample(tuple(costs)), quality=Sample(tuple(values)))
    point = Point("p", 3.0, 7.0, {}, stats)
    verdict = Verdict("s", "t", Status.VERIFIED, Grade.LOG, (), (point,))
    return Row(verdict, point, 3.0, 7.0, 8.0, 8.0, None)


@pytest.mark.parametrize(
    ("values", "usual", "error"),
    [
        ((), 0.5, 0.5),
        ((1.0,), 0.5, 0.5),
        ((1.0, 3.0), 0.5, 0.5 / math.sqrt(2)),
        ((1.0, 3.0), None, 1.0),  # sqrt(2) / sqrt(2)
        ((1.0, 2.0, 3.0), 0.5, 1 / math.sqrt(3)),
        ((2.0, 2.0, 2.0), 0.5, 0.0),
        ((1.0,), None, 0.0),
        ((), None, 0.0),
    ],
)
def test_a_mean_has_the_error_of_its_runs_or_of_the_track(
    values: tuple[float, ...], usual: float | None, error: float
) -> None:
    track = dc.replace(TRACK, significance=Significance(pooled_sd=usual))
    assert drawn(row(values=values), track).y_error == pytest.approx(error)
    assert drawn(row(costs=values), track).x_error == pytest.approx(
        error if usual is None or len(values) > 2 else {2: 1.0}.get(len(values), 0.0)
    ), "the track states no spread of costs"


def test_the_spread_of_a_track_is_that_of_its_pooled_runs_else_the_known_one() -> None:
    def error(**rule: float) -> float:
        return drawn(row(), dc.replace(TRACK, significance=Significance(**rule))).y_error

    assert (error(pooled_sd=0.5, sigma=0.7), error(sigma=0.7), error()) == (0.5, 0.7, 0.0)


def test_less_is_better_in_what_is_drawn() -> None:
    found = drawn(row(), TRACK)
    assert (found.name, found.x, found.y) == ("s\0p", 8.0, 3.0)
    more = dc.replace(TRACK, quality=Axis("q", goal="max"), cost=Axis("c", goal="max"))
    assert (drawn(row(), more).x, drawn(row(), more).y) == (-8.0, -3.0)
