"""The tracks of this repository without their lists of accepted programs.

Most cases have logs without a program, or with one of a line or two. What the lists do is tested in
`tests/bot/rules/test_known_programs.py`.
"""

from __future__ import annotations

import dataclasses as dc
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bot.importers.programs import programs_of, together
from bot.model.known import KnownPrograms
from bot.model.track import Track
from bot.parse.track_toml import load_tracks
from tests.conftest import ROOT

PROGRAMS = 'programs = "programs/nanogpt.json"\n'


def plain_tracks() -> dict[str, Track]:
    """Every track, by its id, on which programs are not compared with a list."""
    return {name: _plain(track) for name, track in load_tracks(ROOT).items()}


def plain_text(name: str) -> str:
    """A track file of this repository that names no list."""
    text = (ROOT / "tracks" / f"{name}.toml").read_text(encoding="utf-8")
    assert PROGRAMS in text
    return text.replace(PROGRAMS, "")


def accepting(tracks: Mapping[str, Track], program: str) -> dict[str, Track]:
    """The tracks, of which those with a list of accepted programs accept one more."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.py"
        path.write_text(program, encoding="utf-8")
        more = programs_of([path])
    return {name: _with(track, more) for name, track in tracks.items()}


def _with(track: Track, more: KnownPrograms) -> Track:
    if track.programs is None:
        return track
    known = together(track.programs, more)
    earlier = tuple((day, dc.replace(old, programs=known)) for day, old in track.earlier)
    return dc.replace(track, programs=known, earlier=earlier)


def _plain(track: Track) -> Track:
    earlier = tuple((day, dc.replace(old, programs=None)) for day, old in track.earlier)
    return dc.replace(track, programs=None, earlier=earlier)
