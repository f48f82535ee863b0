"""A pull request read as data: its facts, its changed files, and folders as bytes.

Nothing is checked out. Trees are walked from the commit down to the submission's folder, so that
modes (symlinks, submodules) are seen and no path of a stranger's reaches a URL; blobs are read by
their hash. Both come from the base repository, which holds a pull request's objects even when its
fork was deleted.
"""

from __future__ import annotations

import base64
import dataclasses as dc
import datetime as dt
import hashlib
from collections.abc import Iterable
from typing import Self

from github import GithubException
from github.GitTreeElement import GitTreeElement
from github.PullRequest import PullRequest as ApiPull

from bot.github.api.client import Repo, login_of, told
from bot.model.submission import MAX_FILES, MAX_FOLDER_BYTES, MAX_JSON_BYTES, MAX_LOG_BYTES, Folder
from bot.parse.listing import TOO_MANY, too_long
from bot.parse.submission_json import SUBMISSION
from bot.patterns import COMMIT, SLUG

FILES_LIMIT = 3000
"""GitHub lists at most so many changed files of a pull request."""
_MODES = {"120000": "a symbolic link", "160000": "a submodule"}


@dc.dataclass(frozen=True, slots=True)
class ChangedFile:
    """One changed file. `previous` is where it was renamed from."""

    path: str
    status: str
    previous: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that this change touches."""
        return (self.path,) if self.previous is None else (self.path, self.previous)


@dc.dataclass(frozen=True, slots=True)
class Pull:
    """Facts of one pull request. `head_repo` is None when the fork was deleted."""

    number: int
    author: str
    title: str
    body: str
    state: str
    draft: bool
    merged: bool
    merge_sha: str | None
    head_sha: str
    head_repo: str | None
    head_ref: str
    head_owner: str
    base_sha: str
    base_ref: str
    opened_at: dt.datetime | None
    labels: tuple[str, ...]
    maintainer_can_modify: bool
    changed_files: int
    reviewers: tuple[str, ...] = ()
    default_branch: str = ""
    updated_at: dt.datetime | None = None
    author_id: int | None = None


@dc.dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a folder, its path relative to that folder."""

    path: str
    mode: str
    kind: str
    sha: str
    size: int


class Incomplete(ValueError):
    """GitHub showed only a part (too many files, a truncated tree); the message says of what."""


class Disagreement(Incomplete):
    """GitHub says one thing and shows another: nobody's fault here, and it may be right later."""


def fetch(repo: Repo, number: int) -> ApiPull:
    """The API's object; one request."""
    with told(f"reading pull request {number}"):
        return repo.api.get_pull(number).complete()


def facts(pull: ApiPull) -> Pull:
    """The facts that we use of the API's object. Every string in it is a stranger's."""
    with told("reading the pull request"):
        head = pull.head.repo
        return Pull(
            number=pull.number,
            author=login_of(pull),
            title=pull.title or "",
            body=pull.body or "",
            state=pull.state,
            draft=bool(pull.draft),
            merged=bool(pull.merged),
            merge_sha=pull.merge_commit_sha,
            head_sha=checked_sha(pull.head.sha),
            head_repo=head.full_name if head else None,
            head_ref=pull.head.ref,
            head_owner=(pull.head.label or ":").split(":")[0],
            base_sha=checked_sha(pull.base.sha),
            base_ref=pull.base.ref,
            opened_at=pull.created_at,
            labels=tuple(label.name for label in pull.labels),
            maintainer_can_modify=bool(pull.maintainer_can_modify),
            changed_files=pull.changed_files,
            reviewers=tuple(user.login for user in pull.requested_reviewers or ()),
            default_branch=pull.base.repo.default_branch,
            updated_at=pull.updated_at,
            author_id=pull.user.id if pull.user else None,
        )


def checked_sha(sha: str | None) -> str:
    """A full commit hash, or ValueError."""
    if not sha or not COMMIT.fullmatch(sha):
        raise ValueError(f"{sha!r} is not a commit hash of 40 hexadecimal digits")
    return sha


def changed_files(pull: ApiPull, expected: int) -> tuple[ChangedFile, ...]:
    """All changed files; one request for each 100. Raises Incomplete when some are not shown."""
    if expected > FILES_LIMIT:
        raise Incomplete(
            f"the pull request changes {expected} files, GitHub lists at most {FILES_LIMIT}"
        )
    with told("reading the changed files"):
        files = tuple(
            ChangedFile(f.filename, f.status, f.previous_filename) for f in pull.get_files()
        )
    if len(files) != expected:
        raise Disagreement(f"the pull request changes {expected} files, GitHub lists {len(files)}")
    return files


_FOLDER = """query($owner: String!, $name: String!, $expression: String!) {
  repository(owner: $owner, name: $name) { object(expression: $expression) { __typename oid } } }"""


class Trees:
    """Trees of one commit, each read once."""

    def __init__(self, repo: Repo, commit: str):
        self.repo = repo
        self.root = checked_sha(commit)
        self._levels: dict[str, list[GitTreeElement]] = {}
        self._folders: dict[str, tuple[TreeEntry, ...]] = {}
        self._whole: dict[str, TreeEntry] | None = None

    def read_whole(self) -> Self:
        """Read all of it in one request, if GitHub lists it whole: for a branch of our own."""
        with told(f"reading the tree {self.root[:7]}"):
            tree = self.repo.api.get_git_tree(self.root, recursive=True)
        if not tree.raw_data.get("truncated"):
            self._whole = {e.path: _entry(e) for e in tree.tree}
        return self

    def _level(self, sha: str) -> list[GitTreeElement]:
        if sha not in self._levels:
            with told(f"reading the tree {sha[:7]}"):
                tree = self.repo.api.get_git_tree(sha)
                if tree.raw_data.get("truncated"):
                    raise Incomplete(f"the folder {sha[:7]} has more entries than GitHub lists")
                self._levels[sha] = list(tree.tree)
        return self._levels[sha]

    def find(self, path: str) -> TreeEntry | None:
        """The entry at `path`, walked by name and never put into a URL; None if there is none."""
        if self._whole is not None:
            return self._whole.get(path)
        parts = path.split("/")
        if not self._levels and len(parts) > 2 and all(map(SLUG.fullmatch, parts)):
            known = self._folder(path)
            if known is not None:
                return known
        sha, kind, mode, size = self.root, "tree", "040000", 0
        for part in path.split("/"):
            if kind != "tree":
                return None
            entry = next((e for e in self._level(sha) if e.path == part), None)
            if entry is None:
                return None
            sha, kind, mode = checked_sha(entry.sha), entry.type, entry.mode
            size = entry.size or 0
        return TreeEntry(path, mode, kind, sha, size)

    def _folder(self, path: str) -> TreeEntry | None:
        """A folder found in one request instead of one a level; None if GitHub does not say, and
        then it is walked to."""
        owner, name = self.repo.name.split("/")
        asked = {"owner": owner, "name": name, "expression": f"{self.root}:{path}"}
        try:
            answer = self.repo.api.requester.graphql_query(_FOLDER, asked)[1]["data"]
            found = answer["repository"]["object"]
        except (GithubException, KeyError, TypeError):
            return None
        if not found or found["__typename"] != "Tree":
            return None
        return TreeEntry(path, "040000", "tree", checked_sha(found["oid"]), 0)

    def files(self, folder: str) -> tuple[TreeEntry, ...]:
        """All files under `folder`, empty if it does not exist. Raises Incomplete."""
        if folder not in self._folders:
            self._folders[folder] = self._read(folder)
        return self._folders[folder]

    def _read(self, folder: str) -> tuple[TreeEntry, ...]:
        entry = self.find(folder)
        if entry is None:
            return ()
        if self._whole is not None:
            start = f"{folder}/"
            return tuple(
                dc.replace(e, path=path.removeprefix(start))
                for path, e in self._whole.items()
                if path.startswith(start) and e.kind != "tree"
            )
        if entry.kind != "tree":
            return (dc.replace(entry, path=""),)
        with told(f"reading the folder {entry.sha[:7]}"):
            tree = self.repo.api.get_git_tree(entry.sha, recursive=True)
            if tree.raw_data.get("truncated"):
                raise Incomplete("the submission's folder has more entries than GitHub lists")
            return tuple(_entry(e) for e in tree.tree if e.type != "tree")


def _entry(e: GitTreeElement) -> TreeEntry:
    return TreeEntry(e.path, e.mode, e.type, checked_sha(e.sha), e.size or 0)


def read_folder(trees: Trees, folder: str, inside: Iterable[TreeEntry]) -> Folder:
    """The files of one submission as bytes, and why others were not read.

    `inside` are entries with paths relative to `folder`. One request for each file read.
    """
    files: dict[str, bytes] = {}
    skipped: dict[str, str] = {}
    seen: dict[str, str] = {}
    room = MAX_FOLDER_BYTES
    for entry in sorted(inside, key=lambda e: (e.path != SUBMISSION, e.path)):
        why = _why_not(entry, len(files), seen)
        if why is None and entry.size > room:
            why = f"the folder has more than {MAX_FOLDER_BYTES:,} bytes"
        if why:
            skipped[entry.path] = why
        else:
            files[entry.path] = read_blob(trees.repo, entry)
            seen[entry.path.casefold()] = entry.path
            room -= len(files[entry.path])
    return Folder(folder, files, skipped)


def _why_not(entry: TreeEntry, read: int, seen: dict[str, str]) -> str | None:
    if entry.mode in _MODES:
        return _MODES[entry.mode]
    if entry.kind != "blob" or entry.mode not in ("100644", "100755"):
        return "not a regular file"
    if read >= MAX_FILES:
        return TOO_MANY
    if entry.path.casefold() in seen:
        return f"differs from {seen[entry.path.casefold()]} in upper and lower case only"
    limit = MAX_JSON_BYTES if entry.path.endswith(".json") else MAX_LOG_BYTES
    if entry.size > limit:
        return too_long(entry.size, limit)
    return None


def read_blob(repo: Repo, entry: TreeEntry) -> bytes:
    """The bytes of a blob, checked against its hash. One request."""
    with told(f"reading the file {entry.sha[:7]}"):
        blob = repo.api.get_git_blob(entry.sha)
        content = base64.b64decode(blob.content)
    if blob_sha(content) != entry.sha:
        raise Incomplete(f"the file {entry.sha[:7]} arrived incomplete")
    return content


def blob_sha(content: bytes) -> str:
    """The name that git gives to these bytes."""
    header = f"blob {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()
