"""Who is eligible for a track's compute grant: the best entries that are verified."""

from __future__ import annotations

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
    grant = board.track.compute_grant
    found: dict[str, Entry] = {}
    for entry in board.entries if grant else ():
        own = not board.track.is_imported(entry.submission)
        own = own and not board.track.is_baseline(entry.submission)
        if own and entry.verdict.status is Status.VERIFIED:
            found.setdefault(entry.submission, entry)
    return [e for e in found.values() if grant and verified_ahead(board.entries, e) < grant.top]
