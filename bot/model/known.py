"""What is known of the programs that a track accepts, as digests."""

from __future__ import annotations

import dataclasses as dc


@dc.dataclass(frozen=True, slots=True)
class KnownPrograms:
    """The measuring statements of accepted programs, and for each program the digest of their
    order (see `bot.evidence.program.measuring`). `file` is the list, below the folder of the
    tracks; `is_read` says whether it was read, since a track may be looked at without it."""

    file: str
    statements: frozenset[str] = frozenset()
    orders: frozenset[str] = frozenset()
    is_read: bool = False
    about: str = ""
    """Where the programs come from, in words."""
