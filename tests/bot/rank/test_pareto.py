"""Frontiers and dominance against the definition, written out as two loops."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.rank.pareto import dominators, frontier

NUMBER = st.one_of(
    st.integers(0, 6),
    st.floats(0, 6),
    st.none(),
    st.just(math.nan),
    st.just(math.inf),
    st.booleans(),
)
GOAL = st.sampled_from(["min", "max"])
POINTS = st.lists(st.tuples(NUMBER, NUMBER), max_size=40)


def is_number(value):
    return value is not None and not isinstance(value, bool) and math.isfinite(value)


def beats(q, p, goals):
    """q is no worse than p on both metrics and better on one."""
    signs = [1 if goal == "min" else -1 for goal in goals]
    pairs = [(s * a, s * b) for s, a, b in zip(signs, q, p, strict=True)]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


@given(POINTS, GOAL, GOAL)
def test_frontier_is_what_nothing_dominates(points, x_goal, y_goal):
    valid = [i for i, p in enumerate(points) if all(map(is_number, p))]
    expected = {
        i for i in valid if not any(beats(points[j], points[i], (x_goal, y_goal)) for j in valid)
    }
    found = frontier(points, x_goal, y_goal)
    assert set(found) == expected
    assert len(found) == len(expected)


@given(POINTS, GOAL, GOAL)
def test_dominators_are_counted(points, x_goal, y_goal):
    valid = [i for i, p in enumerate(points) if all(map(is_number, p))]
    expected = [
        sum(beats(points[j], p, (x_goal, y_goal)) for j in valid) if i in valid else None
        for i, p in enumerate(points)
    ]
    assert list(dominators(points, x_goal, y_goal)) == expected


def test_frontier_runs_from_best_x_to_best_y():
    assert frontier([(3, 1), (1, 3), (2, 2), (2, 2), (3, 3)]) == (1, 2, 3, 0)


def test_tie_in_x_is_broken_by_y():
    assert frontier([(1, 2), (1, 1)]) == (1,)


def test_unknown_goal_is_refused():
    with pytest.raises(ValueError, match="expected min or max"):
        frontier([(1, 1)], "less")


def test_a_dearer_point_that_is_no_better_is_not_on_the_frontier():
    assert frontier([(1, 2), (2, 2)]) == (0,) == frontier([(2, 1), (2, 2)])
    assert frontier([(1, 2), (1, 2)]) == (0, 1) and dominators([(1, 2), (2, 2)]) == (0, 1)
