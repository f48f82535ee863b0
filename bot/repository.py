"""All submissions of a repository: their folders, what they are compared with, their verdicts.

`verify_repository` is what the board and the audit are made of: a pure function of the files
(tracks, submissions) and the snapshots.
"""

from __future__ import annotations

import concurrent.futures as cf
import contextlib
import dataclasses as dc
import functools as ft
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bot.evidence.neighbours import as_neighbour
from bot.evidence.progress import Progress, counted
from bot.model.case import Context, Neighbour
from bot.model.submission import Folder
from bot.model.track import Track
from bot.model.verdict import Verdict, finding, with_accepted
from bot.parse.folder import ReadError, parse_submission, read_path
from bot.parse.submission_json import SUBMISSION
from bot.parse.track_toml import load_tracks
from bot.rank.ranking import rank
from bot.registry import Grade, Status
from bot.verdict_cache import VerdictCache, digest, program_digest

if TYPE_CHECKING:
    from bot.evidence.links import RunRef
    from bot.evidence.snapshot import Snapshots
    from bot.model.board import Board
    from bot.model.run import Run
    from bot.verify import Gather

CHUNK = 64
_VERSION = re.compile(r"@[0-9a-f]{8}(?=\.json$|$)")


def submission_folders(root: Path, tracks: Mapping[str, Track]) -> list[tuple[Path, str]]:
    """(path, track id) of every submission in order of path, by layout and by the tracks' globs.

    A folder counts that holds a submission.json, or else results files or logs; a file counts
    where a glob of a track names it.
    """
    found: dict[Path, str] = {}
    for track in tracks.values():
        base = root / "submissions" / track.id
        if base.is_dir() and not base.is_symlink():
            found |= dict.fromkeys(folders_below(base), track.id)
        for pattern in track.globs:
            for path in sorted(root.glob(pattern)):
                if not path.is_symlink():
                    found.setdefault(path, track.id)
    return sorted(found.items(), key=lambda item: item[0].as_posix())


def folders_below(base: Path) -> Iterator[Path]:
    """The submission folders below a folder: those with a submission.json or results files."""
    stack = [base]
    while stack:
        folder = stack.pop()
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
        files = [e.name for e in entries if e.is_file(follow_symlinks=False)]
        if folder != base and (SUBMISSION in files or any("results" in f for f in files)):
            yield folder
            continue
        inside = [Path(e.path) for e in entries if e.is_dir(follow_symlinks=False)]
        stack.extend(reversed(inside))


@dc.dataclass(frozen=True, slots=True)
class Stored:
    """One submission of a repository; `neighbour` is None where it cannot be read."""

    path: Path
    name: str
    track: str
    digest: str
    neighbour: Neighbour | None


class Repository:
    """The submissions of a root, and what they make: neighbours, verdicts, boards.

    Linked runs come from `snapshots`; without a snapshot they are `evidence-unavailable`. With
    `cache`, a folder of the user, `board` judges again only what changed since the last time.
    """

    def __init__(
        self,
        root: Path,
        tracks: Mapping[str, Track] | None = None,
        snapshots: Snapshots | None = None,
        cache: Path | None = None,
    ) -> None:
        self.root, self.snapshots = root, snapshots
        self.tracks = load_tracks(root) if tracks is None else tracks
        self._cache = VerdictCache(cache, root) if cache and snapshots is None else None
        self._boards: dict[str, Board] = {}

    @ft.cached_property
    def stored(self) -> tuple[Stored, ...]:
        """Every submission in order of path, read once."""
        kept = None if self.snapshots is None else ft.partial(_kept, self.snapshots)
        folders = list(submission_folders(self.root, self.tracks))
        return tuple(
            self._stored(path, track_id, kept)
            for path, track_id in counted("Reading submissions", folders)
        )

    def _stored(
        self, path: Path, track_id: str, kept: Callable[[RunRef], Run | None] | None
    ) -> Stored:
        name = path.relative_to(self.root).as_posix()
        try:
            folder = _read(path, self.root)
            parsed = parse_submission(folder, self.tracks, track_id)
        except ReadError as error:
            return Stored(path, name, track_id, digest([str(error)]), None)
        names = self.tracks[track_id].keys
        return Stored(
            path,
            folder.path,
            track_id,
            digest(part for item in sorted(folder.files.items()) for part in item)
            + digest(part for item in sorted(folder.skipped.items()) for part in item),
            as_neighbour(parsed.submission, track_id, parsed.results, folder, names, kept),
        )

    @ft.cached_property
    def neighbours(self) -> tuple[Neighbour, ...]:
        """What submissions are compared with, from their files alone, and the snapshots of the
        runs that they link."""
        copies = {} if self.snapshots is None else self.snapshots.copies()
        return tuple(
            dc.replace(item.neighbour, is_copy=item.name in copies)
            for item in self.stored
            if item.neighbour is not None
        )

    def verdicts(self, only: str | None = None, jobs: int | None = None) -> tuple[Verdict, ...]:
        """The verdict on every submission, or on those of one track, in order of path. `jobs`
        processes share the work (default: the processors there are)."""
        return self._verdicts([item for item in self.stored if only in (None, item.track)], jobs)

    def _verdicts(self, items: Sequence[Stored], jobs: int | None) -> tuple[Verdict, ...]:
        work = ft.partial(_verify_chunk, self.root, self.tracks, self.snapshots)
        places = [(item.path, item.track, self._near.get(item.name, ())) for item in items]
        chunks = [places[i : i + CHUNK] for i in range(0, len(places), CHUNK)]
        workers = jobs if jobs is not None else os.cpu_count() or 1
        if "jax" in sys.modules:
            workers = 1  # a process that forks beside JAX's threads may wait for ever
        found: list[Verdict] = []
        with contextlib.ExitStack() as stack:
            judged: Iterable[list[Verdict]] = map(work, chunks)
            if workers > 1 and len(chunks) > 1:
                pool = stack.enter_context(cf.ProcessPoolExecutor(min(workers, len(chunks))))
                judged = pool.map(work, chunks)  # forks, so the line's thread starts after it
            progress = stack.enter_context(Progress("Verifying submissions", len(places)))
            for verdicts in judged:
                found += verdicts
                progress.advance(len(verdicts))
        return tuple(found)

    def board(self, track_id: str, jobs: int | None = None) -> Board:
        """The board of one track."""
        if track_id not in self._boards:
            items = [item for item in self.stored if item.track == track_id]
            keys = [self._key(item) for item in items] if self._cache else []
            known = self._cache.load(track_id) if self._cache else {}
            fresh = [i for i, key in enumerate(keys) if key not in known]
            wanted = [items[i] for i in fresh] if self._cache else items
            judged = self._verdicts(wanted, jobs)
            if self._cache:
                known |= zip([keys[i] for i in fresh], judged, strict=True)
                if judged:
                    self._cache.save(track_id, {key: known[key] for key in keys})
                judged = tuple(known[key] for key in keys)
            self._boards[track_id] = rank(judged, self.tracks[track_id])
        return self._boards[track_id]

    @ft.cached_property
    def _near(self) -> Mapping[str, tuple[Neighbour, ...]]:
        return _near(self.neighbours)

    @ft.cached_property
    def _common(self) -> str:
        """A digest of what every verdict depends on."""
        folder = self.root / "tracks"
        tracks = sorted([*folder.glob("*.toml"), *folder.glob("baselines/*/*.json")])
        return digest([program_digest(), *(path.read_bytes() for path in tracks)])

    @ft.cached_property
    def _digests(self) -> Mapping[str, str]:
        return {item.name: item.digest for item in self.stored}

    def _key(self, item: Stored) -> str:
        near = (part for n in self._near.get(item.name, ()) for part in (n.path, self._of(n)))
        return digest([self._common, item.name, item.digest, *near])

    def _of(self, neighbour: Neighbour) -> str:
        return self._digests[neighbour.path]


def _kept(snapshots: Snapshots, ref: RunRef) -> Run | None:
    """The newest snapshot of a run; None without one that can be read."""
    from bot.evidence.snapshot import SnapshotError

    try:
        return snapshots.latest(ref)
    except (SnapshotError, OSError):
        return None  # whose run it is says so where it is judged


def _read(path: Path, root: Path) -> Folder:
    folder = read_path(path, root)
    if not folder.bare:
        return folder
    name = path.relative_to(root).as_posix()
    return Folder(name, folder.files, folder.skipped, bare=True)


def same_file(a: str, b: str) -> bool:
    """Whether two paths are versions of one file, NAME@HASH.json and NAME@OTHER.json."""
    return a == b or (_VERSION.search(a) is not None and _VERSION.sub("", a) == _VERSION.sub("", b))


def verify_repository(
    root: Path,
    *,
    snapshots: Snapshots | None = None,
    jobs: int | None = None,
    only: str | None = None,
) -> tuple[Verdict, ...]:
    """The verdict on every submission under `root`: see `Repository`. Raises TrackError for a
    broken track file."""
    return Repository(root, snapshots=snapshots).verdicts(only, jobs)


def _verify_chunk(
    root: Path,
    tracks: Mapping[str, Track],
    snapshots: Snapshots | None,
    places: Sequence[tuple[Path, str, tuple[Neighbour, ...]]],
) -> list[Verdict]:
    from bot.evidence.gather import gather
    from bot.verify import verify_parsed

    kept: Gather = ft.partial(gather, online=None, snapshots=snapshots)
    received = {} if snapshots is None else snapshots.received()
    accepted = {} if snapshots is None else snapshots.accepted()
    against = {} if snapshots is None else snapshots.against()
    copies = {} if snapshots is None else snapshots.copies()
    verdicts = []
    for path, track_id, near in places:
        try:
            folder = _read(path, root)
            parsed = parse_submission(folder, tracks, track_id)
        except ReadError as error:
            verdicts.append(_unreadable(path, root, track_id, str(error)))
            continue
        name = folder.path
        context = Context(
            near,
            merged=True,
            received=received.get(name),
            against=against.get(name),
            copy_of=copies.get(name),
        )
        verdict = verify_parsed(parsed, folder, context, gather=kept)
        verdicts.append(with_accepted(verdict, accepted.get(folder.path, {})))
    return verdicts


def _near(neighbours: Sequence[Neighbour]) -> dict[str, tuple[Neighbour, ...]]:
    """Path of a submission -> the others that share a key with it: only those can matter."""
    index: dict[str, list[Neighbour]] = {}
    for neighbour in neighbours:
        for key in _keys(neighbour):
            index.setdefault(key, []).append(neighbour)
    near: dict[str, dict[str, Neighbour]] = {}
    for found in index.values():
        for one in found if len(found) > 1 else ():
            near.setdefault(one.path, {}).update((n.path, n) for n in found if n.path != one.path)
    return {path: tuple(found.values()) for path, found in near.items()}


def _keys(neighbour: Neighbour) -> tuple[str, ...]:
    claims = () if neighbour.claims_key is None else (f"claims:{neighbour.claims_key}",)
    traces = {key for trace in neighbour.traces for key in trace.keys()}
    return (*sorted(neighbour.run_keys | traces), *claims, *sorted(neighbour.value_keys))


def _unreadable(path: Path, root: Path, track_id: str, why: str) -> Verdict:
    name = path.relative_to(root).as_posix()
    found = finding("schema", why, file=name, fix="add the files of the submission")
    return Verdict(name, track_id, Status.REJECTED, Grade.SELF_REPORTED, (found,), ())
