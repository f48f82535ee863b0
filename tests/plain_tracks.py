"""The tracks of this repository without their lists of accepted programs.

Most cases have logs without a program, or with one of a line or two. What the lists do is tested in
`tests/bot/rules/test_known_programs.py`.
"""

from __future__ import annotations

import dataclasses as dc

from bot.model.track import Track
from bot.parse.track_toml import load_tracks
from tests.conftest import ROOT


def plain_tracks() -> dict[str, Track]:
    """Every track, by its id, on which programs are not compared with a list."""
    return {name: _plain(track) for name, track in load_tracks(ROOT).items()}


def _plain(track: Track) -> Track:
    earlier = tuple((day, dc.replace(old, programs=None)) for day, old in track.earlier)
    return dc.replace(track, programs=None, earlier=earlier)
