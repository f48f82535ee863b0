"""What kind of pull request this is, from the paths it touches alone.

A submission touches its own folder and nothing else. Paths are a stranger's: they are compared,
never opened.
"""

from __future__ import annotations

import dataclasses as dc
import re
from collections.abc import Iterable, Mapping

from bot.github.pull_request.pull import ChangedFile, TreeEntry, Trees
from bot.model.report import Kind
from bot.model.track import Track
from bot.patterns import SLUG

MARKERS = ("submission.json",)
RESULTS = re.compile(r"speedrun_results[^/]*\.json")
MAX_DEPTH = 4


@dc.dataclass(frozen=True, slots=True)
class Plan:
    """The kind, the submissions' folders with the files in them, and what else is touched."""

    kind: Kind
    folders: Mapping[str, tuple[TreeEntry, ...]] = dc.field(default_factory=dict)
    tracks: Mapping[str, str] = dc.field(default_factory=dict)
    outside: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


_RULES = ("tracks/", "schemas/", "bot/rules/", "bot/statistics", "bot/ranking", "bot/accounting")
_BASELINE = ("reference_trainer/", "baselines/")
_CODE = ("bot/", "leaderboard_site/", ".github/", ".ci/", "tests/", "pyproject.toml", "Makefile")


def kind_of(paths: Iterable[str]) -> Kind:
    """The kind of a pull request that touches no submission."""
    paths = tuple(paths)
    for kind, prefixes in (
        (Kind.RULES, _RULES),
        (Kind.BASELINE, _BASELINE),
        (Kind.CODE, _CODE),
    ):
        if any(path.startswith(prefixes) for path in paths):
            return kind
    return Kind.OTHER


def glob_pattern(glob: str) -> re.Pattern[str]:
    """A path pattern: `**/` is any number of folders, `*` anything within one component."""
    parts = re.split(r"(\*\*/|\*|\?)", glob)
    table = {"**/": "(?:[^/]+/)*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(table.get(part, re.escape(part)) for part in parts))


def classify(files: tuple[ChangedFile, ...], trees: Trees, tracks: Mapping[str, Track]) -> Plan:
    """Sort the changed files into submissions and the rest. Reads trees, no blobs."""
    found: dict[str, tuple[TreeEntry, ...]] = {}
    owner: dict[str, str] = {}
    outside: list[str] = []
    removed: list[str] = []
    paths = sorted({p for f in files for p in f.paths})
    shallow = {path.rpartition("/")[0] for path in paths if _is_shallow(path.split("/"))}
    for path in paths:
        upper = "/".join(path.split("/")[:2])
        place = (upper, "") if upper in shallow else _place(path, trees, tracks)
        if place is None:
            outside.append(path)
            continue
        folder, track = place
        if folder in found:
            continue
        entries = trees.files(folder)
        if folder in shallow:  # a whole track may lie there
            entries = tuple(e for e in entries if f"{folder}/{e.path}" in paths)
        if entries:
            found[folder], owner[folder] = entries, track
        elif folder not in removed:
            removed.append(folder)
    if not found and not removed:
        return Plan(kind_of(outside), outside=tuple(outside))
    return Plan(Kind.SUBMISSION, found, owner, tuple(outside), tuple(removed))


def _is_shallow(parts: list[str]) -> bool:
    """Whether a path is a submission's list that lies one folder too high."""
    return len(parts) == 3 and parts[0] == "submissions" and parts[2] in MARKERS


def _place(path: str, trees: Trees, tracks: Mapping[str, Track]) -> tuple[str, str] | None:
    """The submission's folder and track that a path belongs to, or None."""
    parts = path.split("/")
    if parts[0] == "submissions":
        return _standard(parts, trees) if len(parts) >= 4 else None
    for track in tracks.values():
        for glob in track.globs:
            folder = _adopted(path, glob, trees)
            if folder:
                return folder, track.id
    return None


def _standard(parts: list[str], trees: Trees) -> tuple[str, str]:
    """`submissions/<track>/<name>/...`: the deepest folder that holds a submission."""
    first = "/".join(parts[:3])
    holders = set()
    for entry in trees.files(first):
        folder, _, name = entry.path.rpartition("/")
        if name in MARKERS or RESULTS.fullmatch(name):
            holders.add(folder)
    below = parts[3:-1]
    for depth in range(min(len(below), MAX_DEPTH - 1), 0, -1):
        if "/".join(below[:depth]) in holders:
            return "/".join([first, *below[:depth]]), parts[1]
    return first, parts[1]


def _adopted(path: str, glob: str, trees: Trees) -> str | None:
    """The nearest folder above `path` that the glob of an existing layout names, or that holds a
    file which it names."""
    if glob.endswith("/"):
        return _adopted_folder(path, glob_pattern(glob.rstrip("/")))
    pattern = glob_pattern(glob)
    fixed = re.split(r"[*?]", glob)[0].rpartition("/")[0]
    folder = path.rpartition("/")[0]
    while folder and (folder + "/").startswith(fixed + "/"):
        direct = (e.path for e in trees.files(folder) if "/" not in e.path)
        if any(pattern.fullmatch(f"{folder}/{name}") for name in direct):
            return folder
        folder = folder.rpartition("/")[0]
    return path.rpartition("/")[0] if pattern.fullmatch(path) else None


def _adopted_folder(path: str, pattern: re.Pattern[str]) -> str | None:
    folder = path.rpartition("/")[0]
    while folder and not pattern.fullmatch(folder):
        folder = folder.rpartition("/")[0]
    return folder or None


def names_are_safe(folder: str) -> bool:
    """Whether every component of a submission's folder is a plain name."""
    parts = folder.split("/")
    return all(SLUG.fullmatch(part) for part in parts) and len(parts) <= 2 + MAX_DEPTH
