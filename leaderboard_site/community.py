"""What the community made of entries and baselines, for pages, board files and feeds.

States and distances are those of `bot.rank`, words those of `bot.render.states`; nothing here
decides.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from bot.model.board import State
from bot.model.track import Baseline
from bot.rank.baseline import architecture, distance, due, fastest
from bot.render.states import distance_words, reply_lines, state_words
from leaderboard_site import text
from leaderboard_site.model import Item, TrackBoard

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


def refuted_by(board: TrackBoard, item: Item) -> bool:
    """Whether a reply is a challenge that took its entry off the board."""
    return any(
        state.name == "refuted" and a.submission == item.path and a.holds and a.accepted
        for state in board.board.states.values()
        for a in state.replies
    )


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
                "of": {"url": base + entry.url, "name": entry.title}}  # fmt: skip
    if state is None or item.baseline:
        return None
    words = state_words(state)
    tree = list(_tree(item, lineage, base)) if state.name == "refuted" else []
    return {
        "title": words[:1].upper() + words[1:],
        "lines": list(reply_lines(state))[:MOST],
        "tree": tree[:MOST],
        "of": None,
    }


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
    people = [f"{c.github} ({', '.join(c.roles) or 'contributed'})" for c in made.credits]
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
        "people": people or ([item.people] if item else []),
        "board": [
            {"name": row.submission.rpartition("/")[2], "ratio": board.words("ratio", row.ratio),
             "state": row.state}
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
