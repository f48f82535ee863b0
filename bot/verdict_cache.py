"""Verdicts on the entries of a repository, kept from one command to the next.

A check compares a folder with every entry of its track; they are judged once and kept in the
user's cache folder until a file of theirs, a track or the program changes. What is kept serves to
rank: the validation series of the runs are left out. The board and the audit never read it.
"""

from __future__ import annotations

import contextlib
import functools as ft
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from bot import files
from bot.model.verdict import Verdict, without_series
from bot.paths import program_files


class VerdictCache:
    """The kept verdicts of one repository, one file a track."""

    def __init__(self, folder: Path, root: Path) -> None:
        name = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:32]
        self._folder = folder / "verdicts" / name

    def load(self, track_id: str) -> dict[str, Verdict]:
        """Key -> verdict; empty where nothing is kept or it cannot be read."""
        try:
            kept = json.loads((self._folder / f"{track_id}.json").read_bytes())
            return {key: Verdict.from_json(item) for key, item in kept.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}

    def save(self, track_id: str, verdicts: Mapping[str, Verdict]) -> None:
        """Keep these and no others; without room they are judged again the next time."""
        slim = {key: without_series(verdict).to_json() for key, verdict in verdicts.items()}
        text = json.dumps(slim)
        with contextlib.suppress(OSError):
            files.write(self._folder / f"{track_id}.json", text, durable=False)


def digest(parts: Iterable[str | bytes]) -> str:
    """One digest of texts and bytes in order, whatever stands in them."""
    total = hashlib.sha256()
    for part in parts:
        blob = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        total.update(b"%d:" % len(blob))
        total.update(blob)
    return total.hexdigest()


@ft.cache
def program_digest() -> str:
    """A digest of the program and its tables: other rules judge otherwise."""
    return digest(path.read_bytes() for path in program_files())
