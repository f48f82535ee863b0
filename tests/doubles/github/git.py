"""The few git commands that the double needs, on a bare repository."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import zlib
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


def init(directory: Path) -> None:
    """An empty bare repository, as `git init --bare -b main` makes it."""
    for folder in ("objects/info", "objects/pack", "refs/heads"):
        (directory / folder).mkdir(parents=True)
    (directory / "HEAD").write_text("ref: refs/heads/main\n")
    (directory / "config").write_text("[core]\nrepositoryformatversion = 0\nbare = true\n")


def write_blob(directory: Path, content: bytes) -> str:
    """Store a blob as git does, without a process for each."""
    data = b"blob %d\0" % len(content) + content
    sha = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    path = _loose(directory, sha)
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(data, 1))
    return sha


def read_blob(directory: Path, sha: str) -> bytes:
    """The bytes of a blob, of this repository or of one that it shares objects with."""
    path = _loose(directory, sha)
    data = zlib.decompress(path.read_bytes()) if path.is_file() else b""
    if data.startswith(b"blob "):
        return data.partition(b"\0")[2]
    return git(directory, "cat-file", "blob", sha)


def _loose(directory: Path, sha: str) -> Path:
    return directory / "objects" / sha[:2] / sha[2:]


def branch(directory: Path, name: str) -> str | None:
    """The commit of a branch; all refs of the double are loose."""
    path = directory / "refs/heads" / name
    return path.read_text().strip() if path.is_file() else None


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
