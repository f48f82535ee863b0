"""Two arms whose runs are halves of pairs."""

from __future__ import annotations

import pytest

from bot.compute.summary import summarise
from bot.model.run import Run
from tests.bot.compute.test_summary import SMALL, run, runs


def test_interleaved_runs_are_compared_in_pairs() -> None:
    # The machine slows down by a tenth over the day, more than the gain.
    ours = runs([3.27] * 4, [95.0, 98.0, 101.0, 104.2])
    theirs = runs([3.27] * 4, [96.0, 99.1, 102.0, 105.3], file="b.log")
    pairs = {(r.file, r.index): str(r.index) for r in (*ours, *theirs)}
    loose = summarise(ours, SMALL, baseline=theirs).baseline
    tied = summarise(ours, SMALL, baseline=theirs, pairs=pairs).baseline
    assert loose and tied and loose.comparison and tied.comparison
    assert (loose.passes, tied.passes) == (False, True)
    assert tied.comparison.method == "paired"
    some = summarise(ours, SMALL, baseline=theirs, pairs={("a.log", 0): "0"}).baseline
    assert some and some.comparison and some.comparison.method == "welch"


def paired(ours: list[Run], theirs: list[Run], names: list[str], others: list[str]) -> str:
    """The method of the comparison of two arms whose runs have these names of pairs."""
    named = zip((*ours, *theirs), (*names, *others), strict=True)
    pairs = {(r.file, r.index): name for r, name in named}
    arm = summarise(ours, SMALL, baseline=theirs, pairs=pairs).baseline
    assert arm and arm.comparison
    return arm.comparison.method


@pytest.mark.parametrize(
    ("names", "others", "method"),
    [
        (["a", "b"], ["a", "b"], "paired"),
        (["a", "b"], ["b", "a"], "paired"),
        (["a", "b"], ["a", "c"], "welch"),
        (["a"], ["a"], "welch"),
    ],
)
def test_two_pairs_of_the_same_names_make_a_paired_test(
    names: list[str], others: list[str], method: str
) -> None:
    ours = runs([3.27] * len(names), [95.0, 98.0][: len(names)])
    theirs = runs([3.27] * len(others), [96.0, 99.1][: len(others)], file="b.log")
    assert paired(ours, theirs, names, others) == method


def test_a_pair_without_a_cost_makes_no_paired_test() -> None:
    ours = [*runs([3.27] * 2, [95.0, 98.0]), run(3.27, None, 2)]
    theirs = runs([3.27] * 3, [96.0, 99.1, 97.0], file="b.log")
    assert paired(ours, theirs, ["a", "b", "c"], ["a", "b", "c"]) == "welch"
