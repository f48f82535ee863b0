"""Looks: how many runs are judged, which runs they are, and what an earlier look leaves."""

from __future__ import annotations

import hashlib

import pytest

from bot.compute.looks import digest_of, judged_at, taken_by
from bot.model.look import Look


@pytest.mark.parametrize(
    ("n", "looks", "judged"),
    [(7, (), 7), (3, (4, 8), 0), (4, (4, 8), 4), (7, (4, 8), 4), (8, (4, 8), 8), (9, (4, 8), 8)],
)
def test_the_last_look_that_is_reached_counts(n: int, looks: tuple[int, ...], judged: int) -> None:
    assert judged_at(n, looks) == judged


def test_runs_are_known_by_their_losses_to_four_decimals_in_any_order() -> None:
    known = hashlib.sha256(b"3.2700,3.2800").hexdigest()
    assert digest_of([3.28, 3.27]) == digest_of([3.27001, 3.27999]) == known[:16]
    assert digest_of([3.28, 3.2702]) != digest_of([3.28, 3.27])


FOUR, EIGHT = Look("", 4, "a"), Look("", 8, "b")


@pytest.mark.parametrize(
    ("earlier", "runs", "digest", "taken"),
    [
        ((), 4, "a", None),
        ((FOUR,), 4, "other", FOUR),
        ((FOUR,), 5, "other", None),
        ((FOUR,), 3, "other", FOUR),
        ((FOUR, EIGHT), 8, "b", None),
        ((FOUR, EIGHT), 4, "a", None),
        ((FOUR, EIGHT), 4, "other", EIGHT),
        ((EIGHT, FOUR), 8, "a", EIGHT),
    ],
)
def test_a_look_is_taken_once(
    earlier: tuple[Look, ...], runs: int, digest: str, taken: Look | None
) -> None:
    assert taken_by(earlier, runs, digest) == taken
