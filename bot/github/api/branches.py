"""Commits and pull requests by the bot, through git data alone.

A branch is only ever moved forwards, and a commit is made on the tree that was read, so two writers
cannot overwrite one another: the second is refused by GitHub and starts again from what is there.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping

from github import GithubException, InputGitTreeElement
from github.GitCommit import GitCommit
from github.GitRef import GitRef
from github.PullRequest import PullRequest
from github.Repository import Repository

from bot.github.api.client import Repo

EVIDENCE_BRANCH = "evidence"
_TRIES = 5
Edit = Callable[[str | None], Mapping[str, bytes | None]]


class Conflict(RuntimeError):
    """Somebody else kept writing; nothing was lost, the command can be given again."""


def _ref(repo: Repository, branch: str) -> GitRef | None:
    """A branch as read, whose address is then the one that takes an update."""
    try:
        return repo.get_git_ref(f"heads/{branch}").complete()
    except GithubException as error:
        if error.status != 404:
            raise
        return None


def tip(repo: Repository, branch: str) -> str | None:
    """The commit of a branch, or None if there is no such branch."""
    found = _ref(repo, branch)
    return found.object.sha if found else None


def _tip(repo: Repository, branch: str) -> tuple[GitRef | None, GitCommit | None]:
    """A branch and its commit; one request, or two where its name has a slash."""
    if "/" in branch:
        ref = _ref(repo, branch)
        return ref, repo.get_git_commit(ref.object.sha) if ref else None
    try:
        page = repo.get_branch(branch).commit
    except GithubException as error:
        if error.status != 404:
            raise
        return None, None
    # the page of a commit holds what Git says of it, but for its hash
    known = {**page.raw_data["commit"], "sha": page.sha}
    address = {"ref": f"refs/heads/{branch}", "url": f"{repo.url}/git/refs/heads/{branch}"}
    return (
        GitRef(repo.requester, {}, address),
        GitCommit(repo.requester, {}, known, completed=True),
    )


def commit(
    repo: Repository, branch: str, edit: Edit, message: str, start: str | None = None
) -> str | None:
    """Commit what `edit` returns for the current tip; returns the new commit.

    `edit` maps paths to bytes, or to None to remove them. It gets the tip (None for a branch that
    is not there yet) and returns no files when nothing is left to do; then so does this. `start` is
    the parent of a new branch; without it a new branch has no parent. Raises Conflict when others
    write faster.
    """
    for _ in range(_TRIES):
        ref, above = _tip(repo, branch)
        old = above.sha if above else None
        files = edit(old)
        if not files:
            return None
        if above is None and start is not None:
            above = repo.get_git_commit(start)
        made = _commit_object(repo, above, files, message)
        try:
            if ref is None:
                repo.create_git_ref(f"refs/heads/{branch}", made.sha)
            else:
                ref.edit(made.sha, force=False)
            return str(made.sha)
        except GithubException as error:
            # 422: the branch was made or moved meanwhile; look again
            if error.status not in (409, 422):
                raise
    raise Conflict(f"the branch {branch} kept moving; try again")


def _commit_object(
    repo: Repository, above: GitCommit | None, files: Mapping[str, bytes | None], message: str
) -> GitCommit:
    elements = [_element(repo, path, content) for path, content in sorted(files.items())]
    if above is None:
        return repo.create_git_commit(message, repo.create_git_tree(elements), [])
    made = repo.create_git_tree(elements, above.tree)
    return repo.create_git_commit(message, made, [above])


def _element(repo: Repository, path: str, content: bytes | None) -> InputGitTreeElement:
    """Text goes with the tree; other bytes need a request of their own. None removes."""
    if content is None:
        return InputGitTreeElement(path, "100644", "blob", sha=None)
    try:
        return InputGitTreeElement(path, "100644", "blob", content=content.decode("utf-8"))
    except UnicodeDecodeError:
        blob = repo.create_git_blob(base64.b64encode(content).decode(), "base64")
        return InputGitTreeElement(path, "100644", "blob", sha=blob.sha)


def open_pull(repo: Repo, branch: str, base: str, title: str, body: str) -> PullRequest:
    """The open pull request of one of our branches, made when there is none yet."""
    try:
        return repo.api.create_pull(base=base, head=branch, title=title, body=body)
    except GithubException as error:
        if error.status != 422:
            raise
        # GitHub keeps one open pull request a branch: an earlier try made it
        owner = repo.name.split("/")[0]
        for pull in repo.api.get_pulls(state="open", head=f"{owner}:{branch}"):
            return pull
        raise
