"""What the community made of entries and baselines, for pages, board files and feeds.

States and distances are those of `bot.rank`, words those of `bot.render.states`; nothing here
decides.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bot.model.board import Answered, State
from bot.model.track import Baseline, Credit
from bot.rank.baseline import architecture, distance, due, fastest
from bot.render.states import confirming, distance_words, reply_lines, state_words
from leaderboard_site import text
from leaderboard_site.model import PROJECT, Item, TrackBoard

MOST = 100
DEEPEST = 8


def state_of(board: TrackBoard, item: Item) -> State | None:
    """The state of an entry; None for a reply, and on a track that has no states."""
    return board.board.states.get(item.path)


def replied(board: TrackBoard, item: Item) -> Item | None:
    """The entry that a reproduction or a challenge names."""
    for path, state in board.board.states.items():
        if any(a.submission == item.path for a in state.replies):
            return board.items.get(path)
    return None


def credited(made: Baseline) -> list[Credit]:
    """The people of a baseline, without the account that stands for the project."""
    return [credit for credit in made.credits if credit.github != PROJECT]


def awaited(board: TrackBoard, item: Item) -> bool:
    """Whether others must confirm an entry before what it gained counts as a record."""
    return board.track.reproduction is not None and item.standing in ("claimed", "challenged")


class Replied(NamedTuple):
    """A reproduction or a challenge: what it is, of which entry, and what came of it."""

    reply: Item
    entry: Item
    answer: Answered
    state: State

    @property
    def mistake(self) -> bool:
        """Whether it took its entry off the board."""
        return self.state.name == "refuted" and self.answer.holds and self.answer.accepted

    @property
    def outcome(self) -> str:
        """What came of it, in a few words."""
        if self.mistake:
            return "found a mistake"
        if self.answer.holds:
            return "disputes it; a maintainer decides"
        if self.answer in self.state.confirming:
            return "confirmed it"
        counted = "its runs count" if self.answer.gains else "its runs show no gain beyond chance"
        return self.answer.why or counted


def replies_of(board: TrackBoard) -> Iterator[Replied]:
    """Every reproduction and challenge on file, entry by entry."""
    for path, state in board.board.states.items():
        for answer in state.replies:
            reply, entry = board.items.get(answer.submission), board.items.get(path)
            if reply is not None and entry is not None:
                yield Replied(reply, entry, answer, state)


def event_of(board: TrackBoard, item: Item) -> str:
    """What a reply did, for the feed: `Reproduces Faster, which is confirmed.`"""
    entry = replied(board, item)
    reply = item.verdict.reply
    if entry is None or reply is None:
        return ""
    name = board.board.states[entry.path].name
    return f"{reply.kind.capitalize()} {entry.title}, which is {name}."


def entry_section(board: TrackBoard, item: Item, lineage: Any, base: str) -> dict[str, Any] | None:
    """What an entry's page says of its state, what that rests on, and what builds on it."""
    state, entry = state_of(board, item), replied(board, item)
    if entry is not None:
        return {"title": event_of(board, item).removesuffix("."), "lines": [], "tree": [],
                "of": {"url": base + entry.url, "name": entry.title}, "confirm": ""}  # fmt: skip
    if state is None or not item.standing:
        return None
    words = state_words(state)
    tree = list(_tree(item, lineage, base)) if state.name == "refuted" else []
    replies = [board.items.get(reply.submission) for reply in state.replies]
    lines = itertools.zip_longest(reply_lines(state), replies)
    return {
        "title": words[:1].upper() + words[1:],
        "lines": [
            {"words": words, "url": base + reply.url if reply else None}
            for words, reply in itertools.islice(lines, MOST)
        ],
        "tree": tree[:MOST],
        "of": None,
        "confirm": confirm_words(board, item),
    }


def confirm_words(board: TrackBoard, item: Item) -> str:
    """How others confirm an entry; empty if it does not wait for that."""
    return confirming(item.places[0].entry, board.track) if item.places else ""


def _tree(item: Item, lineage: Any, base: str, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Everything that builds on an entry, depth first, with how far below it is."""
    for child in lineage.children(item) if depth < DEEPEST else ():
        yield {"depth": depth, "url": base + child.url, "name": text.clean(child.title, 70)}
        yield from _tree(child, lineage, base, depth + 1)


# ---- The baselines of a track -------------------------------------------------------------------


def baselines(board: TrackBoard, base: str) -> dict[str, Any] | None:
    """The track's baselines with their credits and the board of their day, and the next one."""
    track = board.board.track
    if track.objective != "baseline" or not track.baselines:
        return None
    ready, far = due(board.board), distance(board.board)
    after = "no entry with a baseline arm ran it yet"
    if ready is not None:
        after = f"a new baseline is due: {ready.submission}"
    elif far is not None:
        after = distance_words(far)
    return {
        "next": after[:1].upper() + after[1:],
        "rows": [_baseline(board, b, base) for b in reversed(track.baselines)],
        "now": track.baseline_id,
    }


def _baseline(board: TrackBoard, made: Baseline, base: str) -> dict[str, Any]:
    item = board.items.get(made.submission)
    state = board.board.states.get(made.submission)
    frozen = {b.submission for b in board.track.baselines if b.id != made.id}
    people = [
        f"{c.name or c.github} ({', '.join(c.roles) or 'contributed'})" for c in credited(made)
    ]
    return {
        "id": made.id,
        "url": base + item.url if item else None,
        "frozen_on": made.frozen_on,
        "ratio": None if made.ratio is None else board.words("ratio", made.ratio),
        "interval": made.interval and " to ".join(board.words("ratio", v) for v in made.interval),
        "after": made.after,
        "device": made.device,
        "cost": board.form(made.cost_metric).show(statistics.fmean(made.costs))
        if made.costs
        else None,
        "refuted": state is not None and state.name == "refuted",
        "people": people or ["the project"],
        "board": [
            {"name": row.submission.rpartition("/")[2], "ratio": board.words("ratio", row.ratio),
             "state": "baseline" if row.submission in frozen and row.ratio == 1 else row.state}
            for row in made.board[:MOST]
        ],
    }  # fmt: skip


def classes(board: TrackBoard, base: str) -> list[dict[str, Any]]:
    """Boards by architecture: absolute costs, with places counted for each card. An H100 and an
    H200 are both Hopper, and the second takes 6 to 8 % less time for the same code."""
    if board.track.objective != "baseline":
        return []
    found: dict[str, list[Any]] = {}
    for entry in board.board.entries:
        name = architecture(entry.verdict)
        if name is not None:
            found.setdefault(name, []).append(entry)
    rows = []
    for name in fastest(board.board):
        ordered = sorted(found[name], key=lambda e: (e.cost, e.submission))
        cards: dict[str, list[Any]] = {}
        for row in (_of_class(board, e, base) for e in ordered):
            cards.setdefault(row["device"], []).append(row)
        rows.append({
            "name": name,
            "cards": len(cards),
            "rows": [
                row | {"place": place}
                for card in cards.values()
                for place, row in enumerate(card[:10], 1)
            ],
        })  # fmt: skip
    return rows


def _of_class(board: TrackBoard, entry: Any, base: str) -> Mapping[str, Any]:
    item = board.items[entry.submission]
    device = next((r.hardware for r in item.verdict.runs if r.hardware), "")
    return {
        "url": base + item.url,
        "name": text.clean(item.title, 60),
        "cost": board.form(board.track.cost.metric).show(entry.cost),
        "device": text.clean(device or "", 60),
    }
