"""Pareto frontiers and dominance in two metrics, in O(n log n).

A point is on the frontier unless another is no worse on both metrics and better on at least one;
points that are equal on both stay together. A metric that is missing or not a finite number keeps
its point out: it neither stands on a frontier nor dominates anything.
"""

from __future__ import annotations

import bisect
import itertools as it
import math
from collections.abc import Sequence
from typing import Any

from bot.model.values import finite

Pair = tuple[Any, Any]


def frontier(points: Sequence[Pair], x_goal: str = "min", y_goal: str = "min") -> tuple[int, ...]:
    """Indices of the points on the frontier, from the best x to the best y, exact ties kept.

    `points` are (x, y); a goal is `min` or `max`. Raises ValueError for another goal.
    """
    best = math.inf
    found: list[int] = []
    for x, group in it.groupby(_ordered(points, x_goal, y_goal), key=lambda p: p[0]):
        candidates = list(group)
        y = candidates[0][1]
        if y < best:
            best = y
            found += [index for px, py, index in candidates if (px, py) == (x, y)]
    return tuple(found)


def dominators(
    points: Sequence[Pair], x_goal: str = "min", y_goal: str = "min"
) -> tuple[int | None, ...]:
    """How many points dominate each point: 0 on the frontier, None where x or y is not a number."""
    ordered = _ordered(points, x_goal, y_goal)
    heights = sorted({y for _, y, _ in ordered})
    tree = [0] * (len(heights) + 1)
    counts: list[int | None] = [None] * len(points)
    for (_, y), group in it.groupby(ordered, key=lambda p: p[:2]):
        members = [index for _, _, index in group]
        rank = bisect.bisect_left(heights, y) + 1
        for index in members:
            counts[index] = _below(tree, rank)
        _add(tree, rank, len(members))
    return tuple(counts)


def _ordered(points: Sequence[Pair], x_goal: str, y_goal: str) -> list[tuple[float, float, int]]:
    sx, sy = _sign(x_goal), _sign(y_goal)
    return sorted(
        (sx * x, sy * y, index) for index, (x, y) in enumerate(points) if finite(x) and finite(y)
    )


def _sign(goal: str) -> int:
    if goal not in ("min", "max"):
        raise ValueError(f"goal is {goal!r}, expected min or max")
    return 1 if goal == "min" else -1


def _add(tree: list[int], rank: int, amount: int) -> None:
    """Add at `rank` of a Fenwick tree (Fenwick 1994); ranks count from 1."""
    while rank < len(tree):
        tree[rank] += amount
        rank += rank & -rank


def _below(tree: list[int], rank: int) -> int:
    """The sum of the ranks 1 to `rank`."""
    total = 0
    while rank:
        total += tree[rank]
        rank -= rank & -rank
    return total
