"""Old versions of files, read from git as data: nothing is checked out, nothing of them runs.

`export` writes the blobs of a revision below a folder. Links and submodules are left out, paths
that would leave the folder cannot be named by git trees and are refused all the same.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

MAX_FILES = 200_000
MAX_TOTAL_BYTES = 2_000_000_000
_FILE_MODES = (b"100644", b"100755")


class GitError(ValueError):
    """A revision that cannot be read. The message is one sentence for the user."""


def export(root: Path, revision: str, paths: Sequence[str], out: Path) -> int:
    """Write the files of `revision` under `paths` (folders of the repository) below `out`.

    Returns how many. Raises GitError where `root` is not a repository or the revision is unknown.
    """
    commit = resolve(root, revision)
    entries = list(_tree(root, commit, paths))
    size = sum(entry[2] for entry in entries)
    if len(entries) > MAX_FILES or size > MAX_TOTAL_BYTES:
        raise GitError(
            f"{revision} holds {len(entries):,} files of {size:,} bytes under {', '.join(paths)}: "
            f"at most {MAX_FILES:,} of {MAX_TOTAL_BYTES:,} are read"
        )
    blobs = _blobs(root, [blob for _, blob, _ in entries])
    for (name, _, _), data in zip(entries, blobs, strict=True):
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return len(entries)


def on_main(root: Path, path: str) -> bool:
    """Whether a folder below `root` is, unchanged, on the main branch of the repository: of the
    remote as last fetched, else of a clone without remotes. False outside a repository."""
    remotes = (_git(root, "remote") or b"").decode().split()
    names = [
        f"refs/remotes/{remote}/{branch}"
        for remote in ("upstream", "origin")
        if remote in remotes
        for branch in ("HEAD", "main", "master")
    ]
    names = names if remotes else ["HEAD"]
    known = (n for n in names if _git(root, "rev-parse", "--verify", "--quiet", f"{n}^{{commit}}"))
    main = next(known, None)
    if main is None or not _git(root, "ls-tree", "--name-only", main, "--", f"{path}/"):
        return False
    return _git(root, "diff", "--quiet", main, "--", path) is not None


def resolve(root: Path, revision: str) -> str:
    """The full hash of the commit that a revision names. Raises GitError."""
    if revision.startswith("-"):
        raise GitError(f"{revision!r} is not a revision; name a branch, a tag or a commit")
    found = _git(
        root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
    )
    if found is None:
        raise GitError(
            f"{revision} is not a commit of the repository at {root}; name a branch, a tag or a "
            "commit"
        )
    return found.decode().strip()


def descends(root: Path, commit: str, ancestor: str) -> bool:
    """Whether the history of one commit holds the other."""
    return _git(root, "merge-base", "--is-ancestor", ancestor, commit) is not None


def _tree(root: Path, commit: str, paths: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    """(path relative to `root`, blob, size) of the regular files."""
    listed = _git(root, "ls-tree", "-r", "-l", "-z", commit, "--", *paths) or b""
    for line in listed.split(b"\0"):
        if not line:
            continue
        facts, _, name = line.partition(b"\t")
        mode, _, blob, size = facts.split()
        text = name.decode("utf-8", "surrogateescape")
        parts = PurePosixPath(text).parts
        if mode in _FILE_MODES and ".." not in parts and not text.startswith("/"):
            yield text, blob.decode(), int(size)


def _blobs(root: Path, blobs: Sequence[str]) -> Iterator[bytes]:
    """The bytes of blobs in order, from one `git cat-file --batch`."""
    if not blobs:
        return
    wanted = "".join(f"{blob}\n" for blob in blobs).encode()
    answer = _git(root, "cat-file", "--batch", feed=wanted)
    if answer is None:
        raise GitError(f"git cannot read the objects of {root}")
    at = 0
    for blob in blobs:
        end = answer.index(b"\n", at)
        head = answer[at:end].split()
        if len(head) != 3:
            raise GitError(f"the repository at {root} lacks the object {blob}")
        size = int(head[2])
        yield answer[end + 1 : end + 1 + size]
        at = end + 1 + size + 1


def _git(root: Path, *arguments: str, feed: bytes | None = None) -> bytes | None:
    """What git answers; None where it fails. It never asks, and never fetches what is missing.
    Raises OSError on a machine without git."""
    done = subprocess.run(
        ["git", "-C", str(root), *arguments],
        input=feed,
        capture_output=True,
        check=False,
        env={**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"},
    )
    return done.stdout if done.returncode == 0 else None
