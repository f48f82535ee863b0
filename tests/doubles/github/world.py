"""State of the double: users, tokens and permissions, repositories over bare git, pulls."""

from __future__ import annotations

import datetime
import itertools
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.doubles.github import git

LEVELS = {"none": 0, "read": 1, "triage": 1, "write": 2, "maintain": 2, "admin": 3}


class Refused(Exception):
    """A request that GitHub would refuse; carries status and message."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True)
class Token:
    """Who sends a request, and what the token may do.

    `permissions` None: a personal token, which may do what its owner may.
    Otherwise an App's or a workflow's token: exactly these permissions, in `repo` alone.
    """

    login: str
    permissions: dict[str, str] | None = None
    repo: str | None = None

    @property
    def is_app(self) -> bool:
        return self.permissions is not None


@dataclass
class Pull:
    number: int
    title: str
    body: str
    user: str
    head_repo: str
    head_branch: str
    head_sha: str
    base_sha: str
    base: str = "main"
    state: str = "open"
    draft: bool = False
    merged: bool = False
    merge_sha: str | None = None
    maintainer_can_modify: bool = True
    reviewers: list[str] = field(default_factory=list)
    created_at: str = ""
    pushes: int = 0
    pretend_files: list[dict[str, Any]] | None = None
    pretend_count: int | None = None


@dataclass
class Issue:
    number: int
    title: str
    body: str
    user: str
    state: str = "open"
    labels: list[str] = field(default_factory=list)
    created_at: str = ""
    edited_at: str | None = None


@dataclass
class Repo:
    name: str
    directory: Path
    id: int
    fork_of: str | None = None
    pulls: dict[int, Pull] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    reviewed: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Comments on lines of pull requests."""
    reactions: list[tuple[str, int, str, str]] = field(default_factory=list)
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    checks: dict[int, dict[str, Any]] = field(default_factory=dict)
    collaborators: dict[str, str] = field(default_factory=dict)
    dispatches: list[dict[str, Any]] = field(default_factory=list)
    discussions: dict[str, dict[str, Any]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    actions_may_open_pulls: bool = True
    last_number: int = 0
    truncated_trees: bool = False
    private: bool = False
    default_branch: str = "main"


def now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class World:
    """Everything that the double remembers. Not thread-safe: the server holds a lock."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="github-double-"))
        self.users: dict[str, str] = {}
        self.tokens: dict[str, Token] = {}
        self.repos: dict[str, Repo] = {}
        self.apps: dict[str, str] = {}
        self.app_token_life_s = 3600
        self.ids = itertools.count(1001)

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def add_user(self, login: str, kind: str = "User") -> None:
        self.users[login] = kind

    def add_token(self, token: str, login: str, repo: str | None = None, **permissions: str) -> str:
        """A token of a person, or with permissions one of a workflow or an App."""
        self.tokens[token] = Token(login, permissions or None, repo)
        return token

    def add_repo(self, name: str, fork_of: str | None = None) -> Repo:
        directory = self.root / name.replace("/", "+")
        directory.mkdir()
        git.init(directory)
        repo = self.repos[name] = Repo(name, directory, next(self.ids), fork_of)
        if fork_of:
            repo.default_branch = self.repos[fork_of].default_branch
            self._share_objects(repo, self.repos[fork_of])
        return repo

    def _share_objects(self, fork: Repo, parent: Repo) -> None:
        """A fork network has one object store, as on GitHub."""
        shutil.rmtree(fork.directory / "objects")
        (fork.directory / "objects").symlink_to(parent.directory / "objects")
        for branch, sha in git.branches(parent.directory).items():
            git.move(fork.directory, f"heads/{branch}", sha)

    def commit(
        self,
        name: str,
        branch: str,
        files: dict[str, bytes | str | None],
        message: str = "change",
        modes: dict[str, str] | None = None,
    ) -> str:
        """Commit files (None deletes) to a branch, made from the default one when it is new."""
        repo = self.repos[name]
        directory, modes = repo.directory, modes or {}
        parent = self.branch(repo, branch) or self.branch(repo, repo.default_branch)
        entries: list[tuple[str, str, str | None]] = []
        for path, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            mode = modes.get(path, "100644")
            if data is not None and mode == "160000":
                sha: str | None = data.decode()
            else:
                sha = None if data is None else git.write_blob(directory, data)
            entries.append((mode, path, sha))
        tree = git.write_tree(directory, parent, entries)
        sha = git.write_commit(directory, tree, [parent] if parent else [], message)
        self.move(repo, branch, sha)
        return sha

    def branch(self, repo: Repo, branch: str) -> str | None:
        return git.branch(repo.directory, branch)

    def move(self, repo: Repo, branch: str, sha: str) -> None:
        """Set a branch, and the heads of the open pull requests that come from it."""
        git.move(repo.directory, f"heads/{branch}", sha)
        for base in self.repos.values():
            for pull in base.pulls.values():
                from_here = (pull.head_repo, pull.head_branch) == (repo.name, branch)
                if from_here and pull.state == "open":
                    pull.pushes += pull.head_sha != sha
                    pull.head_sha = sha
                    git.move(base.directory, f"pull/{pull.number}/head", sha)

    def number(self, repo: Repo) -> int:
        repo.last_number += 1
        return repo.last_number

    def open_pull(
        self,
        name: str,
        user: str,
        head_repo: str,
        branch: str,
        title: str = "A run",
        body: str = "",
        onto: str = "",
    ) -> Pull:
        repo = self.repos[name]
        onto = onto or repo.default_branch
        sha = self.branch(self.repos[head_repo], branch)
        base = self.branch(repo, onto)
        assert sha and base
        number = self.number(repo)
        pull = repo.pulls[number] = Pull(
            number, title, body, user, head_repo, branch, sha, base, onto, created_at=now()
        )
        repo.issues[number] = Issue(number, title, body, user, created_at=pull.created_at)
        git.move(repo.directory, f"pull/{number}/head", sha)
        return pull

    def open_issue(self, name: str, user: str, title: str, body: str) -> Issue:
        repo = self.repos[name]
        number = self.number(repo)
        issue = repo.issues[number] = Issue(number, title, body, user, created_at=now())
        return issue

    def merge(self, name: str, number: int) -> str:
        """Merge a pull request with a merge commit; its SHA."""
        repo = self.repos[name]
        pull = repo.pulls[number]
        main = self.branch(repo, pull.base)
        assert main
        tree = git.text(repo.directory, "merge-tree", "--write-tree", main, pull.head_sha)
        sha = git.write_commit(
            repo.directory, tree.split("\n")[0], [main, pull.head_sha], f"Merge #{number}"
        )
        self.move(repo, pull.base, sha)
        pull.state, pull.merged, pull.merge_sha = "closed", True, sha
        repo.issues[number].state = "closed"
        return sha

    def comment(self, name: str, number: int, user: str, body: str) -> dict[str, Any]:
        repo = self.repos[name]
        if number not in repo.issues:
            raise KeyError(number)
        if len(body) > 65536:
            raise Refused(422, "body is too long (maximum is 65536 characters)")
        identity = next(self.ids)
        stored = repo.comments[identity] = {
            "id": identity,
            "body": body,
            "user": user,
            "number": number,
            "created_at": now(),
            "updated_at": now(),
        }
        return stored

    # ---- permissions ------------------------------------------------------------------------

    def level(self, repo: Repo, login: str) -> str:
        if repo.name.split("/")[0] == login:
            return "admin"
        return repo.collaborators.get(login, "read")

    def need(self, repo: Repo, token: Token | None, resources: str, level: str) -> None:
        """Refuse unless the token has one of the resources ("issues|pull_requests") at a level."""
        if token is None:
            raise Refused(401, "Requires authentication")
        if token.permissions is None:
            if LEVELS[self.level(repo, token.login)] < LEVELS[level]:
                raise Refused(403, "Must have push access to repository.")
            return
        if token.repo not in (None, repo.name):
            if level == "read" and not repo.private:
                return  # what is public can be read with every token
            raise Refused(403, "Resource not accessible by integration")
        held = [token.permissions.get(name, "none") for name in resources.split("|")]
        if max(LEVELS[one] for one in held) < LEVELS[level]:
            raise Refused(403, "Resource not accessible by integration")
