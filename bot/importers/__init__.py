"""Bring an existing competition over: facts and source links in, prose and code left out.

An importer reads a tree of foreign files as data and returns an `Import`; `write` puts it under
`submissions/` of a repository. Nothing of a foreign tree is executed.
"""

from __future__ import annotations

import configparser
import dataclasses as dc
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from bot import files as disk
from bot.patterns import COMMIT, SLUG

MAX_COMPONENTS = 4
SCHEMA = "https://speedrun-bot.github.io/schemas/submission.schema.json"
MAX_TREE_FILES = 100_000


class SourceError(ValueError):
    """An import that cannot be done. The message is one sentence for the person who runs it."""


@dc.dataclass(frozen=True, slots=True)
class Imported:
    """One submission to write: its folder below `submissions/` and its files as bytes."""

    path: str
    files: Mapping[str, bytes]


@dc.dataclass(frozen=True, slots=True)
class Import:
    """What an importer made: submissions, what it left out and why, and what it is unsure of.

    `skipped` and `doubts` are (path in the source, one sentence); `tables` are the official record
    tables, (track, `tracks/ID.records.json`).
    """

    submissions: tuple[Imported, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    doubts: tuple[tuple[str, str], ...] = ()
    tables: tuple[tuple[str, bytes], ...] = ()


@dc.dataclass(frozen=True, slots=True)
class Origin:
    """Where the source was published: a repository's web address and a commit, where known."""

    url: str
    commit: str | None = None

    def link(self, path: str) -> str:
        """The web address of `path` there."""
        return f"{self.url}/blob/{self.commit or 'HEAD'}/{path}" if path else self.url


def slug(name: str) -> str:
    """A foreign name as a safe submission name, injectively.

    A name whose components all match `bot.patterns.SLUG`, at most four of them, stays. Any
    other component is lowered, its other characters become `_`, and six hex digits of the SHA-256
    of the original are appended, so that `1.2b` and `1_2b`, or `A` and `a`, stay apart.
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts:
        return _safe("")
    if len(parts) > MAX_COMPONENTS:
        parts = [*parts[: MAX_COMPONENTS - 1], "/".join(parts[MAX_COMPONENTS - 1 :])]
    return "/".join(_safe(part) for part in parts)


def _safe(part: str) -> str:
    if SLUG.fullmatch(part):
        return part
    digest = hashlib.sha256(part.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    plain = re.sub(r"[^a-z0-9_-]", "_", part.replace("/", "-").lower()).strip("_-")
    return f"{plain[:57] or 'x'}-{digest}"


def unnested(items: Sequence[Imported]) -> tuple[Imported, ...]:
    """The same submissions with none inside another's folder: such an outer one moves to `main`."""
    parents = {parent.as_posix() for item in items for parent in PurePosixPath(item.path).parents}
    return tuple(
        dc.replace(item, path=f"{item.path}/main") if item.path in parents else item
        for item in items
    )


def check_names(items: Sequence[Imported]) -> None:
    """Refuse two submissions of one name. Raises SourceError."""
    seen: set[str] = set()
    for item in items:
        if item.path in seen:
            raise SourceError(f"two entries of the source would both become {item.path}")
        seen.add(item.path)


def files_of(root: Path) -> Iterator[Path]:
    """The regular files of a tree, sorted, without symlinks and hidden folders.

    Raises SourceError if there is no folder or too many files.
    """
    if not root.is_dir():
        raise SourceError(f"{root} is not a folder; give the folder that holds the source's files")
    count = 0
    for folder, names, files in _walk(root):
        names[:] = sorted(n for n in names if not n.startswith("."))
        for name in sorted(files):
            path = folder / name
            if path.is_symlink() or not path.is_file():
                continue
            count += 1
            if count > MAX_TREE_FILES:
                raise SourceError(
                    f"{root} holds more than {MAX_TREE_FILES:,} files; name a folder inside it"
                )
            yield path


def _walk(root: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    for folder, names, files in os.walk(root, followlinks=False):
        yield Path(folder), names, files


def origin_of(src: Path, default_url: str) -> Origin:
    """Where `src` was published: the `origin` and commit of the git repository around it.

    Read from the files of `.git`, no program is run; without a repository, `default_url` alone.
    """
    for folder in (src.resolve(), *src.resolve().parents):
        git = folder / ".git"
        if not git.is_dir():
            continue
        config = configparser.ConfigParser(strict=False, interpolation=None)
        try:
            config.read(git / "config", encoding="utf-8")
            url = config.get('remote "origin"', "url", fallback="")
        except (configparser.Error, UnicodeDecodeError, OSError):
            url = ""
        web = _web_address(url)
        return Origin(web, _head(git)) if web else Origin(default_url)
    return Origin(default_url)


def in_repository(file: Path) -> str:
    """The path of a file in the git repository around it; its name alone without one."""
    path = file.resolve()
    root = next((folder for folder in path.parents if (folder / ".git").is_dir()), path.parent)
    return path.relative_to(root).as_posix()


def _web_address(url: str) -> str | None:
    match = re.fullmatch(
        r"(?:https://(?:[^@/]+@)?|git@|ssh://git@)(github\.com)[:/]([\w.-]+)/([\w.-]+?)(?:\.git)?/?",
        url.strip(),
    )
    return f"https://{match[1]}/{match[2]}/{match[3]}" if match else None


def _head(git: Path) -> str | None:
    """The commit that HEAD names, or None."""
    try:
        head = (git / "HEAD").read_text(encoding="ascii").strip()
        if head.startswith("ref: "):
            name = head.removeprefix("ref: ")
            if ".." in name.split("/"):
                return None
            loose = git / name
            if loose.is_file():
                head = loose.read_text(encoding="ascii").strip()
            else:
                packed = (git / "packed-refs").read_text(encoding="ascii").splitlines()
                head = next((x.split()[0] for x in packed if x.endswith(" " + name)), "")
    except (OSError, UnicodeDecodeError):
        return None
    return head if COMMIT.fullmatch(head) else None


def to_json(value: Any) -> bytes:
    """JSON as the importers write it: two spaces, keys in the order given, numbers unchanged."""
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def submission_json(track: str, title: str, **fields: Any) -> bytes:
    """A submission.json with the fields given, empty ones left out."""
    head = {"$schema": SCHEMA, "schema_version": 1, "track": track}
    kept = {key: value for key, value in fields.items() if value not in (None, [], (), {})}
    return to_json({**head, "title": title, **kept})


def write(out: Path, result: Import) -> tuple[int, int]:
    """Write the submissions under `out/submissions`; returns how many changed and how many did not.

    A folder that is there already is replaced only when it is an import itself: a folder that
    people wrote is never touched. Raises SourceError naming the first such folder.
    """
    check_names(result.submissions)
    targets = [(out / "submissions" / item.path, item) for item in result.submissions]
    for target, _ in targets:
        if target.is_symlink() or (target / "submission.json").exists() and not _is_import(target):
            raise SourceError(
                f"{target} holds a submission that was not imported; it stays as it is"
            )
    changed = 0
    for target, item in targets:
        before = (
            {p.relative_to(target).as_posix(): p for p in files_of(target)}
            if target.is_dir()
            else {}
        )
        same = True
        for name, data in item.files.items():
            file = target / name
            if name not in before or file.read_bytes() != data:
                same = False
                disk.write(file, data)
        changed += not same
    return changed, len(targets) - changed


def _is_import(folder: Path) -> bool:
    try:
        data = json.loads((folder / "submission.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(data, dict) and isinstance(data.get("imported"), dict)
