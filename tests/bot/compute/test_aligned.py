"""Copies whose steps, losses or clocks were changed, found point by point; and trainings."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from bot.compute import alike
from bot.compute.aligned import clocks_apart, pairings
from bot.model.trace import Trace

Row = tuple[int, float, float]
STEPS = range(125, 1501, 125)


def training(seed: int) -> list[Row]:
    """A run of its own: the fluctuations of the record history, and a machine's jitter."""
    draw, clock, rows = random.Random(seed), 0.0, list[Row]()
    offset = draw.gauss(0, 0.0013)
    for step in STEPS:
        left, clock = 1 - step / 1500, clock + 6.5 + draw.gauss(0, 0.02)
        loss = 3.276 + offset + 6 * left**3 + draw.gauss(0, 0.0015 + 0.006 * left)
        rows.append((step, round(loss, 4), round(clock, 3)))
    return rows


def between(rows: list[Row], step: int) -> Row:
    """The point on the line between two rows."""
    (a, x, s), (b, y, t) = next(p for p in zip(rows, rows[1:], strict=False) if p[1][0] >= step)
    share = (step - a) / (b - a)
    return step, round(x + share * (y - x), 4), round(s + share * (t - s), 3)


CHANGES: dict[str, Callable[[list[Row]], list[Row]]] = {
    "a third left out": lambda r: [row for n, row in enumerate(r) if n % 3],
    "steps shifted": lambda r: [(s - 3, x, t) for s, x, t in r],
    "steps shifted, a third left out": lambda r: [(s + 4, x, t) for s, x, t in r[::3] + r[1::3]],
    "steps counted anew": lambda r: [(s * 9 // 7, x, t) for s, x, t in r],
    "steps shifted by one validation": lambda r: [(s - 125, x, t) for s, x, t in r][1:],
    "losses times a constant": lambda r: [(s, round(x * 0.998, 4), t) for s, x, t in r],
    "losses times a constant, steps shifted": lambda r: [
        (s - 1, round(x * 0.99, 4), t) for s, x, t in r
    ],
    "the first validations replaced": lambda r: training(99)[:2] + r[2:],
    "the first replaced, small noise": lambda r: training(99)[:2] + [
        (s, x + (1 if n % 2 else -1) * 1e-4, t) for n, (s, x, t) in enumerate(r[2:])
    ],
    "drawn through the points": lambda r: [between(r, s) for s in range(200, 1500, 100)] + r[-1:],
}  # fmt: skip


def trace(rows: list[Row]) -> Trace:
    return Trace.of(sorted(rows))


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_copy_is_too_near_its_original(name: str) -> None:
    theirs = [training(n) for n in range(5)]
    mine = [trace(CHANGES[name](rows)) for rows in theirs]
    assert alike.across(mine, [trace(rows) for rows in theirs])
    assert alike.within([trace(theirs[0]), mine[0]])


@pytest.mark.parametrize("name", CHANGES)
def test_another_training_is_not_whatever_its_steps(name: str) -> None:
    theirs = [trace(training(n)) for n in range(5)]
    mine = [trace(CHANGES[name](training(n))) for n in range(50, 55)]
    assert alike.across(mine, theirs) == () == alike.within([theirs[0], mine[0]])


def test_pairs_of_a_part_of_the_run_say_nothing() -> None:
    rows = training(1)
    assert not list(pairings(trace(rows), trace(rows[-5:])))
    late = [(s, x, t) for s, x, t in rows if s > 700]
    assert not list(pairings(trace(rows), trace(late)))


@pytest.mark.parametrize("factor", [1.0, 0.93, 1.2])
def test_a_clock_times_a_constant_is_one_clock(factor: float) -> None:
    copy = [(s, 1.0 + s, round(t * factor, 3)) for s, _, t in training(1)]
    original, other = trace(training(1)), trace(training(2))
    assert next(alike.of_one_clock([trace(copy)], [other, original])).b == 1
    assert min(clocks_apart(trace(copy), other)) > 1e-3
    later = [(s, x, t + 0.5) for s, x, t in copy]
    assert list(alike.of_one_clock([trace(later)], [original]))


def test_clocks_that_beat_evenly_or_in_whole_seconds_are_no_clocks_of_one_run() -> None:
    for clock in (lambda s: s * 0.05, lambda s: float(round(s * 0.05))):
        even = [trace([(s, x, clock(s)) for s, x, _ in training(n)]) for n in (1, 2)]
        assert not list(alike.of_one_clock(even[:1], even[1:]))
