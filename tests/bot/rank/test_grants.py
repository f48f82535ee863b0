"""Who may be granted compute: verified entries of people here, down to a place."""

from __future__ import annotations

import dataclasses as dc

import pytest

from bot.model.track import ComputeGrant
from bot.rank.grants import eligible, verified_ahead
from bot.rank.ranking import rank
from bot.registry import Status
from tests.bot.rank.test_ranking import TARGET, verdict

TRACK = dc.replace(TARGET, compute_grant=ComputeGrant(2, 100.0))
REVIEW = Status.NEEDS_REVIEW


@pytest.mark.parametrize(
    ("found", "names"),
    [
        pytest.param([("a", 1.0), ("b", 2.0), ("c", 3.0)], "ab", id="the best two"),
        pytest.param([("c", 1.0), ("a", 2.0), ("b", 3.0)], "ca", id="the best first"),
        pytest.param([("a", 1.0, REVIEW), ("b", 2.0), ("c", 3.0)], "bc", id="verified alone"),
        pytest.param([("a", 1.0), ("b", 2.0), ("c", 2.0)], "abc", id="one place shared"),
        pytest.param([], "", id="none"),
    ],
)
def test_the_best_verified_entries_are_eligible(
    found: list[tuple[str, float, *tuple[Status, ...]]], names: str
) -> None:
    verdicts = [
        verdict(name, 3.27, cost, status=status[0] if status else Status.VERIFIED)
        for name, cost, *status in found
    ]
    assert "".join(e.submission[-1] for e in eligible(rank(verdicts, TRACK))) == names
    assert eligible(rank(verdicts, TARGET)) == []


def test_neither_the_baseline_nor_an_import_is_eligible() -> None:
    verdicts = [verdict(name, 3.27, cost) for name, cost in (("a", 1.0), ("b", 2.0), ("c", 3.0))]
    own = dc.replace(TRACK, imported=("submissions/t/a",))
    assert [e.submission[-1] for e in eligible(rank(verdicts, own))] == ["b"]
    based = dc.replace(TRACK, baseline_id="a")
    assert [e.submission[-1] for e in eligible(rank(verdicts, based))] == ["b"]


def test_how_many_verified_entries_are_ahead() -> None:
    found = [("a", 1.0, Status.VERIFIED), ("b", 2.0, REVIEW), ("c", 3.0, Status.VERIFIED)]
    entries = rank([verdict(n, 3.27, c, status=s) for n, c, s in found], TRACK).entries
    assert {e.submission[-1]: verified_ahead(entries, e) for e in entries} == {
        "a": 0,
        "b": 1,
        "c": 1,
    }
