"""What people name on a command line, read into runs: logs, `.wandb` files, results files, links.

    found = read_sources(["logs/", "run-1.wandb", "https://wandb.ai/e/p/runs/1"], track)
    found.runs, found.skipped, found.ours

A folder is walked in order of name; hidden entries and symbolic links in it are not followed. What
could not be read is named with the reason; `ours` says that some of it is a failure of a service.
"""

from __future__ import annotations

import dataclasses as dc
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from bot.evidence.files import FileRuns, most_bytes, read_file
from bot.evidence.progress import counted
from bot.model.run import Run
from bot.model.submission import (
    LOG_ENDINGS,
    TABLE_ENDINGS,
    Folder,
    RunSpec,
    Submission,
)
from bot.model.track import Axis, Track
from bot.registry import OURS

ANY_TRACK = Track(
    id="",
    title="",
    objective="target",
    quality=Axis("loss"),
    cost=Axis("training_time_s"),
)
"""Stands in where no track is named: the usual history keys, no target, no test."""

_HEAD = 4096
_LOG_SUFFIXES = ("", *LOG_ENDINGS, *TABLE_ENDINGS, ".stdout")


@dc.dataclass(frozen=True, slots=True)
class Skipped:
    """Something named or found that gave no runs, and why."""

    file: str
    why: str
    fix: str | None = None

    @property
    def said(self) -> str:
        """Why, and what to do about it."""
        return f"{self.why}; {self.fix}" if self.fix else self.why

    def __str__(self) -> str:
        return f"{self.file}: {self.said}"


@dc.dataclass(frozen=True, slots=True)
class Found:
    """The runs of some sources, in the order named."""

    runs: tuple[Run, ...]
    skipped: tuple[Skipped, ...]
    ours: bool = False


def read_sources(
    sources: Iterable[str], track: Track | None = None, mapped: frozenset[str] = frozenset()
) -> Found:
    """Read every source. Never raises on what a source holds. `mapped` are quantities whose names
    in `track.keys` somebody gave for these sources alone."""
    track = track or ANY_TRACK
    runs: list[Run] = []
    skipped: list[Skipped] = []
    links: list[str] = []
    for source in counted("Reading", tuple(sources)):
        path = Path(source)
        if not path.exists() and is_link(source):
            links.append(source)
        elif path.is_dir():
            _folder(path, track, mapped, runs, skipped)
        else:
            _file(path, track, mapped, runs, skipped)
    ours = _links(links, track, runs, skipped) if links else False
    return Found(tuple(runs), tuple(skipped), ours)


def is_link(source: str) -> bool:
    """Whether a source is meant as an address and not as a path."""
    return "://" in source or source.lower().startswith(("wandb.ai/", "www.wandb.ai/"))


def _folder(
    path: Path, track: Track, mapped: frozenset[str], runs: list[Run], skipped: list[Skipped]
) -> None:
    files = tuple(_walk(path))
    for file in counted(f"Reading {path.name}", files):
        if file.suffix in (*_LOG_SUFFIXES, ".json"):
            _file(file, track, mapped, runs, skipped)
        else:
            skipped.append(_other(file))
    if not files:
        skipped.append(Skipped(str(path), "the folder has no files"))


def _other(file: Path) -> Skipped:
    """A file whose name is that of no evidence: what it is, if its first bytes tell."""
    from bot.evidence.log.text import what_else

    try:
        with file.open("rb") as opened:
            found = what_else(opened.read(_HEAD))
    except OSError as error:
        return Skipped(str(file), error.strerror or "it cannot be read")
    # A picture or a program beside the logs is nobody's lost log.
    if found is None or found[0] in ("is empty", "is not a text file"):
        return Skipped(str(file), "not a log, a .wandb file or a results file")
    return Skipped(str(file), *found)


def _walk(path: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(files):
            file = Path(folder, name)
            if not name.startswith(".") and not file.is_symlink() and file.is_file():
                yield file


def _file(
    path: Path, track: Track, mapped: frozenset[str], runs: list[Run], skipped: list[Skipped]
) -> None:
    try:
        read = _read_file(path, track, mapped)
    except OSError as error:
        why = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
        skipped.append(Skipped(str(path), why or "it cannot be read"))
        return
    runs.extend(read.runs)
    if not read.runs:
        why = read.why.removeprefix(str(path)).lstrip(": ")
        skipped.append(Skipped(str(path), why, read.fix))


def _read_file(path: Path, track: Track, mapped: frozenset[str]) -> FileRuns:
    """The runs of one file, or why there are none. Raises OSError."""
    if not path.is_file():
        path.stat()
        return FileRuns((), "it is not a regular file")
    size, limit = path.stat().st_size, most_bytes(path.name)
    if size > limit:
        return FileRuns((), f"it has {size:,} bytes, more than the limit of {limit:,}")
    return read_file(path.read_bytes(), str(path), track, mapped=mapped)


def _links(links: list[str], track: Track, runs: list[Run], skipped: list[Skipped]) -> bool:
    """Fetch runs from W&B, all at once; True where a failure is ours."""
    from bot.evidence.gather import ENVIRONMENT, gather

    specs = tuple(RunSpec("wandb", link, pointer=f"/runs/{i}") for i, link in enumerate(links))
    submission = Submission(path="", track=track.id, name="sources", runs=specs)
    evidence = gather(submission, Folder("", {}), track, online=ENVIRONMENT)
    ours = False
    for item in evidence.runs:
        runs.extend(item.runs)
        for problem in item.problems if not item.runs else ():
            skipped.append(Skipped(item.spec.target, problem.message, problem.fix))
            ours |= problem.rule in OURS
    return ours
