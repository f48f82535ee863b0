"""What changed between two boards, in order and in words; and boards that are read back."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import Any

import pytest

from bot.model.board import Board
from bot.model.track import Axis, Track
from bot.model.verdict import Finding, Point, Verdict
from bot.rank.audit import Boards, boards_of, describe, difference, from_json, to_json
from bot.registry import Grade, Level, Status

TRACK = Track("t", "T", "target", Axis("loss", target=3.28), Axis("steps"))
PARETO = dc.replace(TRACK, objective="pareto")


def made(name: str, quality: float | None, cost: float | None, **more: Any) -> Verdict:
    point = Point(more.pop("point", "main"), quality, cost, {})
    path = f"submissions/t/{name}"
    return dc.replace(Verdict(path, "t", Status.VERIFIED, Grade.LOG, (), (point,)), **more)


def boards(*verdicts: Verdict, track: Track = TRACK) -> Boards:
    return boards_of(verdicts, {"t": track})


def told(old: Boards, new: Boards) -> list[str]:
    return [describe(change).removeprefix("submissions/t/") for change in difference(old, new)]


A, B, C = made("a", 3.2, 100.0), made("b", 3.2, 200.0), made("c", 3.2, 300.0)
NOTE = Finding("log-format", Level.NOTE, "")
WARNED = Finding("log-format", Level.WARNING, "")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ([A, B], [B, A], []),
        ([A, B], [A, B, C], ["c: ranks now, at place 3; not there before"]),
        ([A, B], [B], ["b: place 2 -> 1", "a: no longer ranks (was place 1); not there any more"]),
        (
            [A, B, C],
            [],
            [f"{n}: no longer ranks (was place {k}); not there any more"
             for k, n in enumerate("abc", 1)],
        ),
        ([A], [made("a", 3.1, 100.0)], ["a: place 1 stays; quality 3.2 -> 3.1"]),
        ([A], [made("a", 3.2, 99.5)], ["a: place 1 stays; cost 100 -> 99.5"]),
        (
            [A, B],
            [A, made("b", 3.1, 90.0)],
            ["b: place 2 -> 1; quality 3.2 -> 3.1; cost 200 -> 90", "a: place 1 -> 2"],
        ),
        (
            [A],
            [dc.replace(A, status=Status.NEEDS_REVIEW, findings=(WARNED,))],
            ["a: place 1 stays; status verified -> needs-review; + log-format (warning)"],
        ),
        (
            [dc.replace(A, findings=(WARNED,))],
            [dc.replace(A, findings=(NOTE,))],
            ["a: place 1 stays; + log-format (note); - log-format (warning)"],
        ),
        (
            [A],
            [dc.replace(A, status=Status.REJECTED)],
            ["a: no longer ranks (was place 1); status verified -> rejected"],
        ),
        (
            [made("x", 3.3, 1.0)],
            [made("x", 3.3, 1.0, findings=(NOTE,))],
            ["x: does not rank; + log-format (note)"],
        ),
        ([made("x", 3.3, 1.0)], [made("x", 3.4, 2.0)], []),
        ([], [made("x", 3.3, 1.0)], ["x: does not rank; not there before"]),
        ([made("a", 3.2, 1.0, point="130m")], [], ["a (130m): no longer ranks (was place 1); not "
                                                   "there any more"]),
        ([made("a", 3.2, 1.0, point="")], [], ["a: no longer ranks (was place 1); not there any "
                                               "more"]),
    ],
)  # fmt: skip
def test_every_entry_that_differs(
    old: Sequence[Verdict], new: Sequence[Verdict], words: list[str]
) -> None:
    assert told(boards(*old), boards(*new)) == words


@pytest.mark.parametrize(("track", "says"), [(PARETO, True), (TRACK, False)])
def test_a_frontier_is_joined_and_left(track: Track, says: bool) -> None:
    one, two = made("a", 3.0, 100.0), made("b", 3.1, 200.0)
    better = made("b", 2.9, 200.0)
    there = told(boards(one, two, track=track), boards(one, better, track=track))
    back = told(boards(one, better, track=track), boards(one, two, track=track))
    assert any("joins the frontier" in line for line in there) is says
    assert any("leaves the frontier" in line for line in back) is says
    one_side = told(boards(one, two), boards(one, better, track=PARETO))
    assert any("joins the frontier" in line for line in one_side)


def test_a_track_may_be_on_one_side_alone() -> None:
    some, none = boards(A, track=PARETO), boards_of([], {})
    assert told(none, some) == ["a: ranks now, at place 1; not there before"]
    assert told(some, none) == ["a: no longer ranks (was place 1); not there any more"]
    (change,) = difference(none, some)
    assert change.to_json() == {
        "track": "t",
        "submission": "submissions/t/a",
        "point": "main",
        "kind": "new",
        "before": None,
        "after": 1,
        "words": ["not there before"],
    }


def test_verdicts_of_other_tracks_are_another_matter() -> None:
    other = dc.replace(A, track="u")
    assert told(boards(A), boards(A, dc.replace(other, submission="submissions/u/z"))) == []


def test_an_audit_is_read_back_with_the_places_that_it_had() -> None:
    found = boards(A, B, made("x", None, 1.0), dc.replace(C, status=Status.REJECTED))
    data = to_json(found)
    data["boards"]["gone"] = data["boards"]["t"]
    data["boards"]["t"]["entries"][0]["place"] = 7
    back = from_json(data, {"t": TRACK})
    assert list(back.boards) == ["t"] and back.verdicts == found.verdicts
    board = back.boards["t"]
    assert [(e.submission, e.place) for e in board.entries] == [
        ("submissions/t/a", 7),
        ("submissions/t/b", 2),
    ]
    assert unranked(board) == unranked(found.boards["t"])
    assert [p for _, p in unranked(board)] == [None, "main"]


def unranked(board: Board) -> list[tuple[str, str | None]]:
    return [(u.verdict.submission, u.point.name if u.point else None) for u in board.unranked]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"schema_version": 9}, "schema_version is 9, we know 1 and 2"),
        ({"schema_version": 2}, "not what `speedrun audit --format json` prints"),
        ([], "not what `speedrun audit --format json` prints"),
        ({"schema_version": 1, "verdicts": [], "boards": []}, "not what"),
    ],
)
def test_what_is_no_audit_is_refused(data: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        from_json(data, {"t": TRACK})
