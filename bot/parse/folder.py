"""Reading a submission: files of a folder as bytes, and what they say as plain data.

`read_path` reads a folder or one file from disk (`bot.github` reads the same from git);
`parse_submission` makes a `Submission` with its documents and results of it. Nothing here runs,
follows a link out of the folder, or touches the network.
"""

from __future__ import annotations

import dataclasses as dc
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from bot.model.document import Document
from bot.model.results import ResultsRun
from bot.model.submission import (
    LOG_ENDINGS,
    MAX_FILES,
    MAX_FOLDER_BYTES,
    MAX_JSON_BYTES,
    MAX_LOG_BYTES,
    TABLE_ENDINGS,
    Folder,
    Submission,
)
from bot.model.track import Track
from bot.model.values import near_key
from bot.model.verdict import Finding, finding
from bot.parse import listing
from bot.parse.data_manifest import DATA_MANIFEST
from bot.parse.foreign_json import claims_of, is_foreign
from bot.parse.globs import only_match
from bot.parse.json_file import read_json
from bot.parse.results_json import link_problems, read_results
from bot.parse.submission_json import SUBMISSION, keys_of, read_submission
from bot.render.untrusted import plain, shown

_SKIPPED_FOLDERS = frozenset({"__pycache__", ".git", ".ipynb_checkpoints"})


class ReadError(ValueError):
    """A path or a track that cannot be used; the message is one sentence for the user."""


@dc.dataclass(frozen=True, slots=True)
class Parsed:
    """What a folder says. `track` is None where it names none that is known: see `problems`."""

    submission: Submission
    track: Track | None
    documents: Mapping[str, Document]
    results: tuple[ResultsRun, ...]
    problems: tuple[Finding, ...]


def read_path(path: Path, root: Path) -> Folder:
    """Read a submission folder, or one file, from disk. Raises ReadError.

    Links are not followed, devices and pipes not opened, limits are kept; what was left out for
    that is in `skipped`.
    """
    try:
        kind = path.lstat().st_mode
    except (OSError, ValueError) as error:
        raise ReadError(f"{_show(path)}: {_reason(error)}; name a folder or a file") from error
    if stat.S_ISLNK(kind):
        raise ReadError(f"{_show(path)}: is a symbolic link; name the folder or file itself")
    if stat.S_ISREG(kind):
        data, why = _read_file(path, str(path))
        if data is None:
            raise ReadError(f"{_show(path)}: {why}")
        return Folder(str(path), {path.name: data}, bare=True)
    if not stat.S_ISDIR(kind):
        raise ReadError(f"{_show(path)}: is neither a file nor a folder")
    return _read_folder(path, root)


def _read_folder(path: Path, root: Path) -> Folder:
    files: dict[str, bytes] = {}
    skipped: dict[str, str] = {}
    room = MAX_FOLDER_BYTES
    for file in _walk(path, skipped):
        name = file.relative_to(path).as_posix()
        if len(files) >= MAX_FILES:
            skipped[name] = listing.TOO_MANY
            if len(skipped) > MAX_FILES:
                break
            continue
        data, why = _read_file(file, name)
        if data is not None and len(data) > room:
            data, why = None, f"the folder has more than {MAX_FOLDER_BYTES:,} bytes"
        if data is None:
            skipped[name] = why
        else:
            files[name] = data
            room -= len(data)
    try:
        shown_path = path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        shown_path = path.as_posix()
    if not files:
        why = "; ".join(f"{plain(n)}: {w}" for n, w in list(skipped.items())[:3])
        raise ReadError(f"{_show(path)}: has no file to check{': ' + why if why else ''}")
    return Folder(shown_path, files, skipped)


def _walk(path: Path, skipped: dict[str, str]) -> Iterator[Path]:
    """The regular files below a folder in order of name; links and the like go to `skipped`."""
    stack = [path]
    while stack:
        folder = stack.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda e: (e.name != SUBMISSION, e.name))
        except OSError as error:
            skipped[folder.relative_to(path).as_posix()] = _reason(error)
            continue
        inside = []
        for entry in entries:
            name = Path(entry.path).relative_to(path).as_posix()
            if entry.is_symlink():
                skipped[name] = "a symbolic link"
            elif entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED_FOLDERS:
                    inside.append(Path(entry.path))
            elif entry.is_file(follow_symlinks=False):
                yield Path(entry.path)
            else:
                skipped[name] = "not a regular file"
        stack.extend(reversed(inside))


def _read_file(path: Path, name: str) -> tuple[bytes | None, str]:
    limit = MAX_JSON_BYTES if name.lower().endswith(".json") else MAX_LOG_BYTES
    try:
        # O_NOFOLLOW and O_NONBLOCK: the file may have been swapped for a link or a pipe.
        handle = os.open(
            path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        )
        with os.fdopen(handle, "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode):
                return None, "not a regular file"
            if info.st_size > limit:
                return None, listing.too_long(info.st_size, limit)
            data = file.read(limit + 1)
    except OSError as error:
        return None, _reason(error)
    if len(data) > limit:
        return None, f"has more than {limit:,} bytes"
    return data, ""


def _reason(error: Exception) -> str:
    return (
        (error.strerror or "cannot be read").lower()
        if isinstance(error, OSError)
        else ("is not a path")
    )


def _show(path: Path) -> str:
    return plain(str(path), 200)


def parse_submission(
    folder: Folder, tracks: Mapping[str, Track], track_id: str | None = None
) -> Parsed:
    """What the files of a folder say, as data. Raises ReadError for an unknown `track_id`, and
    where no track can be told for a bare file."""
    documents = {
        name: read_json(folder.files[name], folder.full(name)) for name in _json_names(folder)
    }
    listed = documents.get(SUBMISSION)
    raw = listed.value if listed is not None and isinstance(listed.value, dict) else {}
    results = tuple(
        run
        for name, document in documents.items()
        if name not in (SUBMISSION, DATA_MANIFEST) or folder.bare
        for run in read_results(document, keys_of(raw))
    )
    problems = [problem for document in documents.values() for problem in document.problems]
    problems.extend(listing.skipped(folder))
    foreign = is_foreign(raw, tracks.get(track_id or _by_glob(folder, tracks) or ""), tracks)
    if foreign:
        documents, listed = {n: d for n, d in documents.items() if n != SUBMISSION}, None
    claimed, raw = (raw, {}) if foreign else ({}, raw)
    track, wrong = _track(folder, tracks, track_id, raw, results)
    problems.extend(dc.replace(f, line=listed.line("/track")) if listed else f for f in wrong)
    problems.extend(link_problems(results))
    submission = read_submission(folder, raw, track, documents, results)
    if track is not None and claimed:
        submission = dc.replace(submission, claims=claims_of(claimed, track))
    problems.extend(listing.specs(folder, submission, listed))
    problems.extend(listing.not_accepted(submission, track, listed))
    problems.extend(listing.claimed_points(submission, listed))
    return Parsed(submission, track, documents, results, tuple(problems))


def _json_names(folder: Folder) -> list[str]:
    """The JSON files that are read: submission.json, results files, and those it lists."""
    if folder.bare:
        logs = (*LOG_ENDINGS, *TABLE_ENDINGS)
        return [name for name in folder.files if not name.lower().endswith(logs)]
    names = [name for name in folder.files if name.endswith(".json")]
    wanted = [n for n in names if n == SUBMISSION or "results" in n.rpartition("/")[2]]
    if SUBMISSION in wanted:
        value = read_json(folder.files[SUBMISSION], SUBMISSION).value
        runs = value.get("runs") if isinstance(value, dict) else None
        runs = [run for run in runs if isinstance(run, dict)] if isinstance(runs, list) else []
        listed = {run["path"] for run in runs if isinstance(run.get("path"), str)}
        wanted += [n for n in names if n in listed and n not in wanted]
        wanted = [n for n in wanted if n == SUBMISSION or n in listed]
    return wanted + [n for n in names if n == DATA_MANIFEST and n not in wanted]


def _track(
    folder: Folder,
    tracks: Mapping[str, Track],
    track_id: str | None,
    raw: Mapping[str, Any],
    results: tuple[ResultsRun, ...],
) -> tuple[Track | None, list[Finding]]:
    known = ", ".join(tracks) or "none; is this the root of a competition?"
    if track_id is not None:
        if track_id not in tracks:
            near = near_key(track_id, set(tracks))
            hint = f'; did you mean "{near}"?' if near else "."
            raise ReadError(f"there is no track {shown(track_id)}{hint} Known tracks: {known}")
        return tracks[track_id], []
    file = folder.full(SUBMISSION)
    parts = PurePosixPath(folder.path).parts
    placed = parts[1] if len(parts) > 2 and parts[0] == "submissions" else None
    there = placed if placed in tracks else None
    written = raw.get("track")
    ours = next((r.ours.get("track") for r in results if r.ours.get("track")), None)
    named = next((t for t in (written, placed, ours, _by_glob(folder, tracks)) if t), None)
    if named is None and len(tracks) == 1:
        named = next(iter(tracks))
    if named is None:
        raise ReadError(f"{plain(folder.path, 200)}: which track? Add --track with one of: {known}")
    if not isinstance(named, str) or named not in tracks:
        return None, [_unknown_track(file, named, tracks, there, known)]
    if placed is not None and placed != named:
        return tracks[named], [_misplaced(file, named, placed, there)]
    return tracks[named], []


def _unknown_track(
    file: str, named: object, tracks: Mapping[str, Track], there: str | None, known: str
) -> Finding:
    titled = {track.title: track.id for track in tracks.values()}
    near = titled.get(named) or near_key(named, set(tracks)) if isinstance(named, str) else None
    near = near or there
    return finding(
        "schema",
        f"there is no track {shown(named)}; the tracks are {known}",
        file=file,
        pointer="/track",
        claimed=shown(named),
        write=near,
        fix=f'write "{near}"' if near else f"write one of {known}",
    )


def _misplaced(file: str, named: str, placed: str, there: str | None) -> Finding:
    move = f"move the folder to submissions/{named}"
    return finding(
        "schema",
        f"the track is {shown(named)}, but the folder lies under {shown(placed)}",
        file=file,
        pointer="/track",
        claimed=named,
        expected=there,
        write=there,
        fix=f'write "{there}", or {move}; the rest is judged by "{named}"' if there else move,
    )


def _by_glob(folder: Folder, tracks: Mapping[str, Track]) -> str | None:
    paths = [folder.path, *map(folder.full, folder.files)]
    if folder.bare:  # its path is as the user wrote it, from wherever that was
        parts = PurePosixPath(folder.path).parts
        paths = ["/".join(parts[n:]) for n in range(len(parts))]
    return only_match(paths, {track.id: track.globs for track in tracks.values()})
