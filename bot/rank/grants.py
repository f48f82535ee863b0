"""Who is eligible for a track's compute grant: the best entries that are verified."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from bot.model.board import Board, Entry
from bot.registry import Status


def verified_ahead(entries: Sequence[Entry], entry: Entry) -> int:
    """How many other verified submissions have a better place than `entry`."""
    return len(
        {
            other.submission
            for other in entries
            if other.place < entry.place
            and other.verdict.status is Status.VERIFIED
            and other.submission != entry.submission
        }
    )


def eligible(board: Board) -> list[Entry]:
    """The entries that a maintainer may grant compute to, best first, each submission once: its
    own people ran it here, so neither the baseline nor what was imported."""
    grant, track = board.track.compute_grant, board.track
    found: dict[str, Entry] = {}
    ahead: set[str] = set()
    places = sorted(board.entries, key=_place) if grant else ()
    for _, group in itertools.groupby(places, key=_place):
        if grant is None or len(ahead) >= grant.top:
            break
        verified = [e for e in group if e.verdict.status is Status.VERIFIED]
        for entry in verified:
            own = not track.is_imported(entry.submission)
            if own and not track.is_baseline(entry.submission):
                found.setdefault(entry.submission, entry)
        ahead.update(e.submission for e in verified)
    return list(found.values())


def _place(entry: Entry) -> int:
    return entry.place
