"""The git of the double: objects and branches of a bare repository, read and written by Dulwich.

A git process for each of them took a third of the time of all tests. What needs git's own judgement
(diffs with renames, merges, revisions of every form) still asks it, in a repository that is real.
"""

from __future__ import annotations

import functools
import os
import re
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from dulwich.index import commit_tree, validate_path
from dulwich.object_store import DiskObjectStore
from dulwich.objects import Blob, Commit, ShaFile, Tree
from dulwich.refs import check_ref_format

IDENTITY = {
    "GIT_AUTHOR_NAME": "example-user",
    "GIT_AUTHOR_EMAIL": "example-user@users.noreply.example",
    "GIT_COMMITTER_NAME": "example-user",
    "GIT_COMMITTER_EMAIL": "example-user@users.noreply.example",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}
WHO = b"example-user <example-user@users.noreply.example>"
SUBMODULE = 0o160000
_HASH = re.compile("[0-9a-f]{40}")


class GitError(KeyError):
    """The object or ref does not exist, or the update was refused."""


def git(directory: Path, *arguments: str, data: bytes | None = None) -> bytes:
    """Run one git command; its standard output, or GitError with git's own words."""
    done = subprocess.run(
        ["git", "-C", str(directory), *arguments],
        input=data,
        capture_output=True,
        env={**os.environ, **IDENTITY},
    )
    if done.returncode:
        raise GitError(done.stderr.decode("utf-8", "replace")[:200])
    return done.stdout


def text(directory: Path, *arguments: str) -> str:
    return git(directory, *arguments).decode("utf-8", "surrogateescape").strip()


@functools.lru_cache(maxsize=256)
def diff(directory: Path, *arguments: str) -> bytes:
    """A diff of two commits, named by their hashes: what does not change is asked once."""
    return git(directory, "diff", *arguments)


def init(directory: Path) -> None:
    """An empty bare repository, as `git init --bare -b main` makes it."""
    for folder in ("objects/info", "objects/pack", "refs/heads"):
        (directory / folder).mkdir(parents=True)
    (directory / "HEAD").write_text("ref: refs/heads/main\n")
    (directory / "config").write_text("[core]\nrepositoryformatversion = 0\nbare = true\n")


# ---- objects ------------------------------------------------------------------------------------


def _objects(directory: Path) -> DiskObjectStore:
    return DiskObjectStore(directory / "objects", loose_compression_level=1)


def has(directory: Path, sha: str) -> bool:
    return sha.encode() in _objects(directory)


def _read(directory: Path, sha: str) -> ShaFile:
    try:
        return _objects(directory)[sha.encode()]
    except (KeyError, ValueError) as error:
        raise GitError(sha) from error


def _write(directory: Path, made: ShaFile) -> str:
    """Store an object as git does; only what is not there yet is written."""
    sha: str = made.id.decode()
    path = directory / "objects" / sha[:2] / sha[2:]
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(made.as_legacy_object(compression_level=1))
    return sha


def write_blob(directory: Path, content: bytes) -> str:
    return _write(directory, Blob.from_string(content))


def read_blob(directory: Path, sha: str) -> bytes:
    found = _read(directory, sha)
    if not isinstance(found, Blob):
        raise GitError(sha)
    return found.data


def commit(directory: Path, sha: str) -> Commit:
    found = _read(directory, sha)
    if not isinstance(found, Commit):
        raise GitError(sha)
    return found


def tree_of(directory: Path, name: str) -> str:
    """The tree of a commit or of a tree, given by its hash; of anything else git is asked."""
    if not _HASH.fullmatch(name):
        return text(directory, "rev-parse", "--verify", f"{name}^{{tree}}")
    found = _read(directory, name)
    sha: bytes = found.tree if isinstance(found, Commit) else found.id
    return sha.decode()


def _entries(
    directory: Path, tree: str, recursive: bool, before: str = ""
) -> Iterator[tuple[str, int, str]]:
    """Path, mode and hash of what a tree has, in git's order; a folder stands before its own."""
    found = _read(directory, tree)
    if not isinstance(found, Tree):
        raise GitError(tree)
    for name, mode, sha in found.iteritems():
        path = before + name.decode("utf-8", "surrogateescape")
        yield path, mode, sha.decode()
        if recursive and stat.S_ISDIR(mode):
            yield from _entries(directory, sha.decode(), recursive, f"{path}/")


def files(directory: Path, tree: str) -> dict[str, tuple[int, str]]:
    """Path -> mode and hash of each file below a tree."""
    found = _entries(directory, tree, recursive=True)
    return {path: (mode, sha) for path, mode, sha in found if not stat.S_ISDIR(mode)}


def read_tree(directory: Path, tree: str, recursive: bool) -> list[dict[str, object]]:
    """The entries of a tree as GitHub lists them."""
    listed = []
    for path, mode, sha in _entries(directory, tree, recursive):
        kind = {stat.S_IFDIR: "tree", SUBMODULE: "commit"}.get(stat.S_IFMT(mode), "blob")
        entry: dict[str, object] = {"path": path, "mode": f"{mode:06o}", "type": kind, "sha": sha}
        if kind == "blob":
            entry["size"] = len(read_blob(directory, sha))
        listed.append(entry)
    return listed


def write_tree(
    directory: Path, base: str | None, entries: list[tuple[str, str, str | None]]
) -> str:
    """Tree of `base` with entries (mode, path, blob or commit sha; sha None deletes)."""
    found = files(directory, tree_of(directory, base)) if base else {}
    store = _objects(directory)
    for mode, path, sha in entries:
        if not validate_path(_bytes(path)) or "" in path.split("/"):
            raise GitError(f"invalid path {path}")
        found.pop(path, None)
        if sha is None:
            continue
        if mode != f"{SUBMODULE:o}" and sha.encode() not in store:
            raise GitError(f"invalid object {sha}")
        _clear_the_way(found, path)
        found[path] = int(mode, 8), sha
    blobs = [(_bytes(path), sha.encode(), mode) for path, (mode, sha) in found.items()]
    return str(commit_tree(store, blobs).decode())


def _clear_the_way(found: dict[str, tuple[int, str]], path: str) -> None:
    """A new file takes the place of a folder, and a new folder that of a file."""
    for parent in Path(path).parents:
        found.pop(str(parent), None)
    for inside in [other for other in found if other.startswith(f"{path}/")]:
        del found[inside]


def write_commit(directory: Path, tree: str, parents: list[str], message: str) -> str:
    for sha in (tree, *parents):
        _read(directory, sha)
    made = Commit()
    made.tree = tree.encode()
    made.parents = [parent.encode() for parent in parents]
    made.author = made.committer = WHO
    made.author_time = made.commit_time = int(time.time())
    made.author_timezone = made.commit_timezone = 0
    made.message = _bytes(message.removesuffix("\n") + "\n")
    return _write(directory, made)


def merge_base(directory: Path, one: str, other: str) -> str:
    """The newest commit that both come from."""
    both = _ancestors(directory, one) & _ancestors(directory, other)
    newest = [sha for sha in both if not any(sha in _ancestors(directory, c, False) for c in both)]
    if not newest:
        raise GitError(f"{one} and {other} have no history in common")
    return newest[0]


def is_ancestor(directory: Path, old: str, new: str) -> bool:
    return old in _ancestors(directory, new)


def _ancestors(directory: Path, sha: str, itself: bool = True) -> set[str]:
    seen: set[str] = set()
    left = [sha] if itself else [p.decode() for p in commit(directory, sha).parents]
    while left:
        if (now := left.pop()) not in seen:
            seen.add(now)
            left += [parent.decode() for parent in commit(directory, now).parents]
    return seen


def _bytes(words: str) -> bytes:
    return words.encode("utf-8", "surrogateescape")


# ---- branches, and their files -------------------------------------------------------------------


def ref(directory: Path, name: str) -> str:
    """The commit of a ref, as `heads/main`; all refs of the double are loose."""
    path = directory / "refs" / name
    if ".." in name or not path.is_file():
        raise GitError(name)
    return path.read_text().strip()


def branch(directory: Path, name: str) -> str | None:
    """The commit of a branch."""
    try:
        return ref(directory, f"heads/{name}")
    except GitError:
        return None


def branches(directory: Path) -> dict[str, str]:
    root = directory / "refs/heads"
    found = sorted(path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_text().strip() for path in found}


def move(directory: Path, name: str, sha: str) -> None:
    """Set a ref, as `heads/main`, to a commit that exists."""
    commit(directory, sha)
    path = directory / "refs" / name
    if not check_ref_format(f"refs/{name}".encode()) or path.is_dir():
        raise GitError(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{sha}\n")


def check_out(directory: Path, name: str, folder: Path) -> None:
    """The files of a branch in a folder."""
    tree = tree_of(directory, ref(directory, f"heads/{name}"))
    for path, mode, sha in _entries(directory, tree, recursive=True):
        where = folder / path
        if stat.S_ISDIR(mode) or mode == SUBMODULE:
            where.mkdir(parents=True, exist_ok=True)
        elif stat.S_ISLNK(mode):
            where.symlink_to(os.fsdecode(read_blob(directory, sha)))
        else:
            where.write_bytes(read_blob(directory, sha))
            where.chmod(mode & 0o777)
