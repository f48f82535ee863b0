"""The few git commands that the double needs, on a bare repository."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

IDENTITY = {
    "GIT_AUTHOR_NAME": "example-user",
    "GIT_AUTHOR_EMAIL": "example-user@users.noreply.example",
    "GIT_COMMITTER_NAME": "example-user",
    "GIT_COMMITTER_EMAIL": "example-user@users.noreply.example",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


class GitError(KeyError):
    """The object or ref does not exist, or the update was refused."""


def git(
    directory: Path, *arguments: str, data: bytes | None = None, index: str | None = None
) -> bytes:
    """Run one git command; its standard output, or GitError with git's own words."""
    env = {**os.environ, **IDENTITY, **({"GIT_INDEX_FILE": index} if index else {})}
    done = subprocess.run(
        ["git", "-C", str(directory), *arguments], input=data, capture_output=True, env=env
    )
    if done.returncode:
        raise GitError(done.stderr.decode("utf-8", "replace")[:200])
    return done.stdout


def text(directory: Path, *arguments: str) -> str:
    return git(directory, *arguments).decode("utf-8", "surrogateescape").strip()


def has(directory: Path, sha: str) -> bool:
    try:
        git(directory, "cat-file", "-e", sha)
    except GitError:
        return False
    return True


def write_blob(directory: Path, content: bytes) -> str:
    return git(directory, "hash-object", "-w", "--stdin", data=content).decode().strip()


def write_tree(
    directory: Path, base: str | None, entries: list[tuple[str, str, str | None]]
) -> str:
    """Tree of `base` with entries (mode, path, blob or commit sha; sha None deletes)."""
    with tempfile.TemporaryDirectory() as scratch:
        index = str(Path(scratch) / "index")
        if base:
            git(directory, "read-tree", base, index=index)
        lines = []
        for mode, path, sha in entries:
            lines.append(f"{mode} {sha}\t{path}" if sha else f"0 {'0' * 40}\t{path}")
        stdin = ("\0".join(lines) + "\0").encode("utf-8", "surrogateescape") if lines else b""
        git(directory, "update-index", "-z", "--index-info", data=stdin, index=index)
        return git(directory, "write-tree", index=index).decode().strip()


def write_commit(directory: Path, tree: str, parents: list[str], message: str) -> str:
    options = [option for parent in parents for option in ("-p", parent)]
    return text(directory, "commit-tree", tree, *options, "-m", message)


def read_tree(directory: Path, tree: str, recursive: bool) -> list[dict[str, object]]:
    flags = ["-r", "-t"] if recursive else []
    raw = git(directory, "ls-tree", "-z", "-l", *flags, tree).decode("utf-8", "surrogateescape")
    entries: list[dict[str, object]] = []
    for line in filter(None, raw.split("\0")):
        head, path = line.split("\t", 1)
        mode, kind, sha, size = head.split()
        entry: dict[str, object] = {"path": path, "mode": mode, "type": kind, "sha": sha}
        if size != "-":
            entry["size"] = int(size)
        entries.append(entry)
    return entries
