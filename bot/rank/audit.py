"""What changes on the boards between two versions of rules, tracks and submissions.

`Boards` is every verdict and the board of every track; `difference` compares two of them entry by
entry. Pure: reading, from disk or from git, is the caller's.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterable, Mapping
from typing import Any

from bot.model.board import Board, Entry, Unranked
from bot.model.track import Track
from bot.model.verdict import READABLE_VERSIONS, SCHEMA_VERSION, Verdict
from bot.rank.ranking import rank

NO_AUDIT = "not what `speedrun audit --format json` prints"

Key = tuple[str, str]
"""Submission and point."""


@dc.dataclass(frozen=True, slots=True)
class Boards:
    """All verdicts, and the board of each track by its id."""

    verdicts: tuple[Verdict, ...]
    boards: Mapping[str, Board]


@dc.dataclass(frozen=True, slots=True)
class Change:
    """What became of one entry. `kind` is `new`, `gone`, `moved`, `changed` or `verdict`.

    `before` and `after` are places, None where it did not or does not rank. `words` say the rest:
    numbers, findings and the status that changed.
    """

    track: str
    submission: str
    point: str
    kind: str
    before: int | None
    after: int | None
    words: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The change as JSON values."""
        return {**dc.asdict(self), "words": list(self.words)}


def boards_of(verdicts: Iterable[Verdict], tracks: Mapping[str, Track]) -> Boards:
    """The boards of all tracks."""
    verdicts = tuple(verdicts)
    return Boards(verdicts, {name: rank(verdicts, track) for name, track in tracks.items()})


def to_json(found: Boards) -> dict[str, Any]:
    """What `speedrun audit --format json` prints: verdicts, places, and what does not rank."""
    return {
        "schema_version": SCHEMA_VERSION,
        "verdicts": [verdict.to_json() for verdict in found.verdicts],
        "boards": {
            name: {
                "entries": [
                    {
                        "submission": e.submission,
                        "point": e.point.name,
                        "place": e.place,
                        "tied": e.tied,
                        "quality": e.quality,
                        "cost": e.shown_cost,
                        "on_frontier": e.on_frontier,
                        "frontier_chance": e.frontier_chance,
                        "band": e.band,
                        "band_place": e.band_place,
                        "state": e.state.name,
                    }
                    for e in board.entries
                ],
                "unranked": [
                    {
                        "submission": u.verdict.submission,
                        "point": u.point.name if u.point else None,
                        "why": u.why,
                    }
                    for u in board.unranked
                ],
            }
            for name, board in found.boards.items()
        },
    }


def from_json(data: Any, tracks: Mapping[str, Track]) -> Boards:
    """The boards of a former `to_json` with the places that they had. Raises ValueError on another
    shape."""
    try:
        if data["schema_version"] not in READABLE_VERSIONS:
            known = "we know " + " and ".join(map(str, READABLE_VERSIONS))
            raise ValueError(f"schema_version is {data['schema_version']}, {known}")
        verdicts = tuple(Verdict.from_json(item) for item in data["verdicts"])
        kept = {name: board for name, board in data["boards"].items() if name in tracks}
        boards = {name: _former(tracks[name], verdicts, board) for name, board in kept.items()}
        return Boards(verdicts, boards)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(NO_AUDIT) from error


def _former(track: Track, verdicts: Iterable[Verdict], data: Mapping[str, Any]) -> Board:
    """A board as it stood: its entries with their places, which other rules of ranking gave."""
    known = {v.submission: v for v in verdicts if v.track == track.id}
    points = {(path, p.name): p for path, verdict in known.items() for p in verdict.points}
    entries = tuple(
        Entry(
            known[row["submission"]],
            points[row["submission"], row["point"]],
            place=row["place"],
            tied=row["tied"],
            quality=row["quality"],
            cost=row["cost"],
            shown_cost=row["cost"],
            on_frontier=row["on_frontier"],
            band=row["band"],
            band_place=row["band_place"],
            frontier_chance=row.get("frontier_chance"),
        )
        for row in data["entries"]
    )
    unranked = tuple(
        Unranked(known[u["submission"]], points.get((u["submission"], u["point"])), u["why"])
        for u in data["unranked"]
    )
    return Board(track, entries, (), (), unranked)


# ---- The difference ---------------------------------------------------------------------------


def difference(old: Boards, new: Boards) -> tuple[Change, ...]:
    """Every entry that differs, by track and by its place now, then what no longer ranks."""
    changes: list[Change] = []
    for track in sorted({*old.boards, *new.boards}):
        before, after = _places(old, track), _places(new, track)
        verdicts = _verdicts(old, track), _verdicts(new, track)
        keys = sorted({*before, *after}, key=lambda k: _order(before.get(k), after.get(k), k))
        pareto = any(
            side.boards[track].track.objective == "pareto"
            for side in (old, new)
            if track in side.boards
        )
        for key in keys:
            change = _change(track, key, before.get(key), after.get(key), *verdicts, pareto)
            if change is not None:
                changes.append(change)
        ranked = {submission for submission, _ in keys}
        changes += _unranked_changes(track, ranked, *verdicts)
    return tuple(changes)


def _places(found: Boards, track: str) -> dict[Key, Entry]:
    board = found.boards.get(track)
    return {(e.submission, e.point.name): e for e in board.entries} if board else {}


def _verdicts(found: Boards, track: str) -> dict[str, Verdict]:
    return {v.submission: v for v in found.verdicts if v.track == track}


def _order(before: Entry | None, after: Entry | None, key: Key) -> tuple[bool, int, Key]:
    entry = after or before
    assert entry is not None
    return after is None, entry.place, key


def _change(
    track: str,
    key: Key,
    before: Entry | None,
    after: Entry | None,
    old: Mapping[str, Verdict],
    new: Mapping[str, Verdict],
    pareto: bool,
) -> Change | None:
    words = [*_numbers(before, after, pareto), *_verdict_words(old.get(key[0]), new.get(key[0]))]
    places = before.place if before else None, after.place if after else None
    if before is None or after is None:
        kind = "new" if before is None else "gone"
    elif places[0] != places[1]:
        kind = "moved"
    elif words:
        kind = "changed"
    else:
        return None
    return Change(track, *key, kind, *places, tuple(words))


def _numbers(before: Entry | None, after: Entry | None, pareto: bool) -> Iterable[str]:
    """Quality and cost that differ, and the frontier, in words."""
    if before is None or after is None:
        return
    for name in ("quality", "shown_cost"):
        was, now = getattr(before, name), getattr(after, name)
        if was != now:
            yield f"{name.removeprefix('shown_')} {was:.6g} -> {now:.6g}"
    if pareto and before.on_frontier != after.on_frontier:
        yield "joins the frontier" if after.on_frontier else "leaves the frontier"


def _verdict_words(old: Verdict | None, new: Verdict | None) -> Iterable[str]:
    """Status and findings that differ, in words."""
    if old is None or new is None:
        yield "not there before" if old is None else "not there any more"
        return
    if old.status != new.status:
        yield f"status {old.status} -> {new.status}"
    was = {(f.rule, str(f.level)) for f in old.findings}
    now = {(f.rule, str(f.level)) for f in new.findings}
    yield from (f"+ {rule} ({level})" for rule, level in sorted(now - was))
    yield from (f"- {rule} ({level})" for rule, level in sorted(was - now))


def _unranked_changes(
    track: str, ranked: set[str], old: Mapping[str, Verdict], new: Mapping[str, Verdict]
) -> Iterable[Change]:
    """Changes of what ranked neither before nor after."""
    for submission in sorted({*old, *new} - ranked):
        words = tuple(_verdict_words(old.get(submission), new.get(submission)))
        if words:
            yield Change(track, submission, "", "verdict", None, None, words)


def describe(change: Change) -> str:
    """One line for a reader."""
    name = change.submission + (f" ({change.point})" if change.point not in ("", "main") else "")
    places = {
        "new": f"ranks now, at place {change.after}",
        "gone": f"no longer ranks (was place {change.before})",
        "moved": f"place {change.before} -> {change.after}",
        "changed": f"place {change.after} stays",
        "verdict": "does not rank",
    }[change.kind]
    return ": ".join([name, "; ".join([places, *change.words])])
