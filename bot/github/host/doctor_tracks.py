"""What `speedrun doctor` says of the track files: every problem of every track, in one go."""

from __future__ import annotations

import dataclasses as dc
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

from bot.compute import accelerators
from bot.model.track import Track, TrackError
from bot.parse.track_schema import problems_in
from bot.parse.track_toml import load_track
from bot.repository import submission_folders

BESIDE = ("records", "claimed")
"""Tables that may lie beside a track file: `ID.records.json`, `ID.claimed.json`."""


@dc.dataclass(frozen=True, slots=True)
class Line:
    """One thing that was looked at."""

    text: str
    bad: bool = False
    unknown: bool = False


def good(text: str) -> Line:
    """A line that says that something is in order."""
    return Line(f"ok    {text}")


def bad(text: str, remedy: str) -> Line:
    """A line that says what is wrong and what to do."""
    return Line(f"wrong {text}\n      {remedy}", True)


def unknown(text: str, remedy: str) -> Line:
    """A line that says what could not be seen: neither in order nor wrong."""
    return Line(f"unknown {text}\n      {remedy}", unknown=True)


def look_at_tracks(root: Path) -> Iterator[Line]:
    """Every track file of the checkout: can it be read, and does what it names exist?"""
    folder = root / "tracks"
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        yield bad("there is no track", "add tracks/NAME.toml; `speedrun init` writes one")
    for path in paths:
        yield from _track(root, path)
    beside = {path.with_suffix(f".{kind}.json") for path in paths for kind in BESIDE}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path in beside:
            continue
        if path.suffix.lower() in (".toml", ".tml", ".yml", ".yaml", ".json") and path not in paths:
            yield bad(f"tracks/{path.name} is not read", "a track is a file tracks/ID.toml")


def _track(root: Path, path: Path) -> Iterator[Line]:
    name = f"tracks/{path.name}"
    try:
        track = load_track(path)
    except TrackError as error:
        for words in _all_problems(path) or (str(error).removeprefix(f"{path}: "),):
            yield bad(f"{name}: {words}", f"correct {name} and run `speedrun doctor` again")
        return
    if track.id != path.stem:
        yield bad(
            f'{name}: id is "{track.id}", expected "{path.stem}" as the file name',
            f'write id = "{path.stem}", or rename the file',
        )
        return
    found = [where for where, owner in submission_folders(root, {track.id: track}) if owner]
    accepts = ", ".join(track.accepts)
    entries = "1 submission" if len(found) == 1 else f"{len(found)} submissions"
    lines = (*_names(track, name), *_globs(root, track, name, bool(found)))
    lines += tuple(_places(root, track, name))
    if not any(line.bad for line in lines):
        shut = f"; not open yet, see `speedrun baseline status {track.id}`" * (not track.is_open)
        yield good(f"track {track.id}: {track.objective}, accepts {accepts}; {entries}{shut}")
    yield from lines


def _all_problems(path: Path) -> tuple[str, ...]:
    """Every problem of a file that is TOML; nothing for one that is not."""
    try:
        text = path.read_text(encoding="utf-8")
        return tuple(problems_in(tomllib.loads(text), text))
    except (OSError, ValueError, RecursionError):
        return ()


def _names(track: Track, name: str) -> Iterator[Line]:
    for wanted in track.accelerators:
        if accelerators.find(wanted) is None:
            near = accelerators.near_names(wanted) or ("h100-sxm",)
            yield bad(
                f'{name}: [hardware] accelerator "{wanted}" is unknown',
                f"write {' or '.join(map(json.dumps, near))}, another name of a device, or "
                '"any"; schemas/accelerators.json lists them',
            )


def _globs(root: Path, track: Track, name: str, others: bool) -> Iterator[Line]:
    """Patterns that find nothing: wrong where the track has no submission by any other way."""
    for pattern in track.globs:
        if any(True for _ in root.glob(pattern)):
            continue
        words = f'{name}: [submissions] globs: "{pattern}" matches nothing'
        if others:
            yield Line(f"note  {words}; the track has other submissions")
            continue
        yield bad(
            words,
            "write the pattern from the root of the repository, such as "
            '"records/my-track/*/" for folders or "runs/**/*.json" for files',
        )


def _places(root: Path, track: Track, name: str) -> Iterator[Line]:
    """Whether the submissions that the track names are there."""
    wanted = [("[baseline] id", track.baseline_id)] if track.baseline_id else []
    for item in track.retimings:
        wanted += [("[[retimings]] submission", item.submission), ("[[retimings]] of", item.of)]
    for key, value in wanted:
        places = (root / value, root / "submissions" / track.id / value)
        if not any(place.exists() for place in places):
            yield bad(
                f'{name}: {key} is "{value}", but there is neither {value} nor '
                f"submissions/{track.id}/{value}",
                "add the submission, or name one that is there",
            )
