"""The pull request that we open for somebody who sent links only."""

from __future__ import annotations

import dataclasses as dc

from github import GithubException

from bot.github.api import branches
from bot.github.api.client import Repo, told
from bot.github.api.threads import DiscussionThread, Said, Thread
from bot.github.pull_request.intake import (
    BRANCHES,
    Intake,
    author_marker,
    folder_of,
    submission_of,
    to_text,
)
from bot.github.pull_request.pull import Trees, blob_sha
from bot.render.markdown import prose

_NO_WORDS = (
    "No words yet: comment `/withdraw` here, then `/submit` again with a sentence or two below the "
    "links on what you changed and why."
)


@dc.dataclass(frozen=True, slots=True)
class Opened:
    """The pull request, or with number 0 the page where a person can open it with one click."""

    number: int
    link: str
    base: str
    folder: str


def branch_of(thread: Thread, said: Said) -> str:
    """One branch for each thing said, so that a second delivery finds the first one's."""
    kind = "d" if isinstance(thread, DiscussionThread) else ""
    comment = "".join(c for c in said.id if c.isalnum())[-24:]
    return f"{BRANCHES}{kind}{thread.number}{'-' + comment if comment else ''}"


def open_submission(repo: Repo, form: Intake, thread: Thread, said: Said) -> Opened:
    """Commit the filled submission.json to a branch and open its pull request. Repeatable."""
    branch, folder = branch_of(thread, said), folder_of(form)
    path = f"{folder}/submission.json"
    content = to_text(submission_of(form)).encode()
    with told("opening the submission"):
        base = repo.api.default_branch
        start = branches.tip(repo.api, base)
        branches.commit(
            repo.api,
            branch,
            lambda tip: _unless_same(repo, tip, path, content),
            f"Submission by {form.author}",
            start,
        )
        try:
            pull = branches.open_pull(repo, branch, base, form.title, _body(form, thread))
        except GithubException as error:
            if error.status != 403:
                raise
            page = f"{repo.page}/compare/{base}...{branch}?expand=1"
            return Opened(0, page, base, folder)
        return Opened(pull.number, pull.html_url, base, folder)


def _unless_same(repo: Repo, tip: str | None, path: str, content: bytes) -> dict[str, bytes]:
    entry = Trees(repo, tip).find(path) if tip else None
    return {} if entry and entry.sha == blob_sha(content) else {path: content}


def _body(form: Intake, thread: Thread) -> str:
    kind = "discussion" if isinstance(thread, DiscussionThread) else "issue"
    marker = author_marker(form.author, f"{kind} {thread.number}")
    # a mention in the description would notify; the author is told by the answer in the thread
    reference = f"#{thread.number}" if kind == "issue" else f"discussion {thread.number}"
    words, none = prose(form.words, 4000), "" if form.words or form.reply else f"{_NO_WORDS}\n\n"
    # what is ours stands below a heading of its own, where it is not taken for an explanation
    told = f"## Origin\n\n{none}From {reference}, for `{form.author}`.\n"
    return f"{marker}\n## Approach\n\n{words}\n\n{told}"
