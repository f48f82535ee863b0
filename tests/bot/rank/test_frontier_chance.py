"""The chance of being on a frontier: against exact sums, and what it does not depend on."""

from __future__ import annotations

import dataclasses as dc
import math

import pytest
from scipy.stats import norm

from bot.model.summary import Sample, Summary
from bot.model.track import Axis, Significance, Track
from bot.model.verdict import Point, Verdict
from bot.rank.frontier_chance import Spread, chances
from bot.rank.pareto import frontier
from bot.rank.ranking import rank
from bot.registry import Grade, Status

TRACK = Track(
    id="t",
    title="",
    objective="pareto",
    quality=Axis("bpb"),
    cost=Axis("hardware_flops"),
    significance=Significance("none", pooled_sd=0.01),
)


def test_of_two_points_it_is_what_the_normal_distribution_says() -> None:
    """The dearer one is on the frontier if it is better: a gap of one standard error of the
    difference."""
    a, b = Spread("a", 1.0, 1.0, 0.0, 0.01), Spread("b", 2.0, 1.0 - 0.01 * math.sqrt(2), 0.0, 0.01)
    first, second = chances([a, b])
    assert first == 1.0
    assert second == pytest.approx(norm.cdf(1.0), abs=3 * math.sqrt(0.16 * 0.84 / 1000))


def test_a_point_without_spread_has_no_chance_and_stands_where_it_is() -> None:
    exact, near = Spread("a", 1.0, 1.0), Spread("b", 2.0, 0.999, 0.0, 0.01)
    assert chances([exact])[0] is None
    first, second = chances([exact, near])
    assert first is None
    assert second == pytest.approx(norm.cdf(0.1), abs=0.05)


def test_far_points_are_sure_and_leave_the_others_alone() -> None:
    near = [Spread(f"n{i}", float(i), 1.0 - i / 1000, 0.0, 0.01) for i in range(8)]
    far = [Spread(f"f{i}", 20.0 + i, 9.0, 0.0, 0.01) for i in range(50)]
    both = chances([*near, *far])
    assert both[:8] == chances(near) and both[8:] == [0.0] * 50


def test_the_cost_may_be_what_is_uncertain() -> None:
    a, b = Spread("a", 1.0, 1.0, 0.01, 0.0), Spread("b", 1.0, 1.0, 0.01, 0.0)
    first, second = chances([a, b])
    assert first is not None and second is not None
    assert first + second == pytest.approx(1.0) and first == pytest.approx(0.5, abs=0.05)


def test_without_any_doubt_it_is_the_frontier() -> None:
    pairs = [(float(i), abs(i - 5) + 0.37 * (i % 3)) for i in range(12)]
    sure = chances([Spread(str(i), x, y, 1e-12, 1e-12) for i, (x, y) in enumerate(pairs)])
    assert {i for i, c in enumerate(sure) if c == 1.0} == set(frontier(pairs))
    assert set(sure) == {0.0, 1.0}


def entry(name: str, cost: float, *values: float, runs: bool = True) -> Verdict:
    stats = Summary(quality=Sample(values)) if runs else None
    mean = sum(values) / len(values)
    point = Point("main", mean, cost, {}, stats)
    return Verdict(f"submissions/t/{name}", "t", Status.VERIFIED, Grade.LOG, (), (point,))


def test_a_board_says_it_from_the_runs_or_from_the_spread_of_the_track() -> None:
    verdicts = [
        entry("a", 1e18, 1.000, runs=False),
        entry("b", 2e18, 0.995, runs=False),
        entry("c", 3e18, 0.899, 0.9, 0.901),
    ]
    found = {e.submission[-1]: e.frontier_chance for e in rank(verdicts, TRACK).entries}
    assert found["a"] == found["c"] == 1.0
    # A gap of half a standard deviation between single runs.
    assert found["b"] == pytest.approx(norm.cdf(0.5 / math.sqrt(2)), abs=0.05)
    silent = dc.replace(TRACK, significance=Significance("none"))
    bare = {e.submission[-1]: e.frontier_chance for e in rank(verdicts, silent).entries}
    assert bare == {"a": None, "b": None, "c": 1.0}


def test_a_new_entry_changes_nobodys_draws() -> None:
    verdicts = [entry(n, 1e18 * (i + 1), 1.0 - 0.004 * i) for i, n in enumerate("abcde")]
    before = {e.submission: e.frontier_chance for e in rank(verdicts, TRACK).entries}
    more = [entry("zz", 9e18, 1.5), *reversed(verdicts)]
    after = {e.submission: e.frontier_chance for e in rank(more, TRACK).entries}
    assert before.items() <= after.items()


def test_a_quality_that_should_be_high_is_dominated_from_above() -> None:
    high = dc.replace(TRACK, quality=dc.replace(TRACK.quality, goal="max"))
    verdicts = [entry(n, 1e18 * (i + 1), value) for i, (n, value) in enumerate(HIGHER)]
    found = {e.submission[-1]: e.frontier_chance for e in rank(verdicts, high).entries}
    assert (found["a"], found["b"], found["c"]) == (1.0, 1.0, 0.0)
    low = {e.submission[-1]: e.frontier_chance for e in rank(verdicts, TRACK).entries}
    assert (low["a"], low["b"], low["c"]) == (1.0, 0.0, 1.0)


HIGHER = (("a", 0.5), ("b", 0.9), ("c", 0.1))
