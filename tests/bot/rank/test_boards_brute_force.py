"""Boards of random points against brute force, and what many points cost."""

import dataclasses as dc
import math
import random
import sys

from hypothesis import given
from hypothesis import strategies as st

from bot.rank.ranking import in_band, rank
from tests.bot.rank.test_ranking import PARETO, TARGET, verdict

NUMBER = st.one_of(st.integers(1, 5), st.floats(1, 5), st.sampled_from([None, math.nan, math.inf]))
DATE = st.one_of(st.none(), st.sampled_from([f"2025-01-0{d}" for d in range(1, 6)]))
ROWS = st.lists(st.tuples(NUMBER, NUMBER, DATE), max_size=25)


def numbered(rows):
    return [verdict(f"v{i:02}", q, c, date=d) for i, (q, c, d) in enumerate(rows)]


def is_ranked(v):
    p = v.points[0]
    return all(x is not None and math.isfinite(x) for x in (p.quality, p.cost))


def beats(a, b):
    """a dominates b in quality and cost, both minimised."""
    p, q = a.points[0], b.points[0]
    no_worse = p.quality <= q.quality and p.cost <= q.cost
    return no_worse and (p.quality < q.quality or p.cost < q.cost)


@given(ROWS, st.randoms(use_true_random=False))
def test_pareto_place_counts_what_is_better(rows, shuffle):
    verdicts = numbered(rows)
    ranked = [v for v in verdicts if is_ranked(v)]
    expected = {v.submission: 1 + sum(beats(o, v) for o in ranked) for v in ranked}
    shuffle.shuffle(verdicts)
    board = rank(verdicts, PARETO)
    assert {e.submission: e.place for e in board.entries} == expected
    assert {e.submission for e in board.frontier} == {s for s, p in expected.items() if p == 1}
    assert len(board.entries) + len(board.unranked) == len(verdicts)


@given(ROWS)
def test_bands_place_by_cost(rows):
    verdicts = [v for v in numbered(rows) if is_ranked(v)]
    board = rank(verdicts, PARETO)
    for band in PARETO.quality.bands:
        inside = [v.points[0].cost for v in verdicts if v.points[0].quality <= band]
        placed = {e.submission: e.band_place for e in in_band(board, band)}
        for v in verdicts:
            if v.points[0].quality <= band:
                better = sum(cost < v.points[0].cost for cost in inside)
                assert placed.pop(v.submission) == 1 + better
        assert not placed
    for entry in board.entries:
        reached = [b for b in PARETO.quality.bands if entry.quality <= b]
        assert entry.band == min(reached, default=None)


@given(ROWS)
def test_pareto_progression_is_what_was_on_the_frontier_on_its_day(rows):
    verdicts = [v for v in numbered(rows) if is_ranked(v)]
    verdicts.sort(
        key=lambda v: (
            v.date is None,
            v.date or "",
            -v.points[0].cost,
            -v.points[0].quality,
            v.submission,
        )
    )
    expected = [
        v.submission for i, v in enumerate(verdicts) if not any(beats(o, v) for o in verdicts[:i])
    ]
    steps = rank(verdicts, PARETO).records
    assert [s.submission for s in steps] == expected
    standing_now = {s.submission for s in steps if s.superseded_by is None}
    assert standing_now == {e.submission for e in rank(verdicts, PARETO).frontier}


@given(ROWS)
def test_record_progression_only_improves(rows):
    verdicts = [
        dc.replace(v, points=(dc.replace(v.points[0], quality=3.0),))
        for v in numbered(rows)
        if is_ranked(v)
    ]
    steps = rank(verdicts, TARGET).records
    costs = [s.cost for s in steps]
    assert costs == sorted(set(costs), reverse=True)
    assert [s.superseded_by for s in steps[:-1]] == [s.submission for s in steps[1:]]
    if verdicts:
        assert steps[-1].cost == min(v.points[0].cost for v in verdicts)


def test_ten_times_the_points_cost_little_more_than_ten_times_the_calls():
    rng = random.Random(1)

    def calls(n):
        verdicts = [
            verdict(f"v{i}", rng.random(), rng.random(), date=f"2025-{rng.randint(1, 12):02}-01")
            for i in range(n)
        ]
        count = 0

        def counted(_frame, _event, _argument):
            nonlocal count
            count += 1

        sys.setprofile(counted)  # calls and not seconds: a busy machine changes nothing
        try:
            rank(verdicts, PARETO)
        finally:
            sys.setprofile(None)
        return count

    assert calls(4_000) < 13 * calls(400)
