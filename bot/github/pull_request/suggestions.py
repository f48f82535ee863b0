"""One-click suggestions: review comments on lines that the pull request's diff shows.

GitHub offers the button only there. A suggestion replaces one whole line, so it is posted only if
that line is in the diff, ends as lines do in Git and differs from what is suggested; everything
else is told as text to paste. Comments are known by author, place and words: publishing again
posts nothing twice, and takes back what no longer holds.
"""

from __future__ import annotations

import dataclasses as dc
import difflib
import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from github import GithubException
from github.PullRequest import PullRequest as ApiPull
from github.PullRequest import ReviewComment
from github.PullRequestComment import PullRequestComment

from bot.github.api.client import Repo, login_of, settle, told, transient
from bot.github.pull_request.pull import Pull
from bot.model.report import Report, Settings
from bot.model.verdict import Finding
from bot.render.comment import answer_of, render
from bot.render.groups import MOST_GROUPS
from bot.render.untrusted import is_safe_line

START = "<!-- speedrun:suggestion"
VERDICT = f"{START} -->"
_ABOVE = "One click applies each of these; the comment above says why."
"""GitHub's documentation requires a text of every review that is a comment."""
MOST_ASKED = 10
"""With so many of ours on one pull request, a command posts no further one."""
_LOG = logging.getLogger("speedrun.suggestions")
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
_BLOCK = re.compile(r"^(`{3,})suggestion\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
Place = tuple[str, int]
Shown = Mapping[str, Mapping[int, str]]
"""Path -> line -> text, as far as the diff shows it."""


@dc.dataclass(frozen=True, slots=True)
class Suggestion:
    """The text that replaces one line of a file, and the words above it."""

    path: str
    line: int
    text: str
    body: str

    @property
    def place(self) -> Place:
        """Where it stands."""
        return self.path, self.line


def wanted(report: Report, settings: Settings) -> tuple[Suggestion, ...]:
    """A suggestion for each finding that is shown and knows its line, the main ones first."""
    groups = [g for v in report.verdicts for g in answer_of(report, v, settings).groups]
    first = [group.first for group in groups]
    rest = [f for group in groups for f in (*group.findings[1:], *group.follows)]
    found: dict[Place, Suggestion] = {}
    for item in (*first, *rest):
        made = _suggestion(item, settings)
        if made is not None:
            found.setdefault(made.place, made)
    return tuple(found.values())


def _suggestion(item: Finding, settings: Settings) -> Suggestion | None:
    text = item.suggestion
    if not text or not item.file or not item.line or not is_safe_line(text):
        return None
    words = item.fix or item.message
    body = render("suggestion.md.j2", settings, rule=item.rule, words=words, text=text)
    return Suggestion(item.file, item.line, text, f"{VERDICT}\n{body}")


def of_change(path: str, old: str, new: str, words: str, settings: Settings) -> Suggestion | None:
    """A change of a file as a suggestion, if it replaces one line or adds some below it."""
    before, after = old.split("\n"), new.split("\n")
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    changed = [op for op in matcher.get_opcodes() if op[0] != "equal"]
    if len(changed) != 1:
        return None
    _, first, end, start, stop = changed[0]
    if first == end and first and start:
        first, start = first - 1, start - 1
    lines = after[start:stop]
    if end - first != 1 or not lines or not all(map(is_safe_line, lines)):
        return None
    text = "\n".join(lines)
    body = render("suggestion.md.j2", settings, rule="", words=words, text=text)
    return Suggestion(path, first + 1, text, body)


# ---- the diff -----------------------------------------------------------------------------------


def shown_lines(patch: str) -> dict[int, str]:
    """Line -> text on the new side, for every line that a patch shows whole hunks of."""
    lines: dict[int, str] = {}
    hunk: dict[int, str] = {}
    number = end = 0
    for row in patch.split("\n"):
        head = _HUNK.match(row)
        if head:
            lines |= hunk if number == end else {}
            hunk, number = {}, int(head[1])
            end = number + int(head[2] or 1)
        elif row[:1] in ("+", " "):
            hunk[number] = row[1:]
            number += 1
    return lines | (hunk if number == end else {})


def _shown(pull: ApiPull, paths: Collection[str]) -> Shown:
    """What the diff shows of some files; one request for each hundred changed files."""
    if not paths:
        return {}
    return {f.filename: shown_lines(f.patch or "") for f in pull.get_files() if f.filename in paths}


def fits(item: Suggestion, shown: Shown) -> bool:
    """Whether GitHub can show a suggestion, apply it, and leave every other byte as it is."""
    line = shown.get(item.path, {}).get(item.line)
    return line is not None and not line.endswith("\r") and line != item.text


def _applied(comment: PullRequestComment, shown: Shown) -> bool:
    """Whether the lines that a comment suggests stand in the file."""
    block = _BLOCK.search(comment.body)
    text = "\n".join(shown.get(comment.path, {}).values())
    return block is not None and f"\n{block[2]}\n" in f"\n{text}\n"


# ---- comments -----------------------------------------------------------------------------------


def put(repo: Repo, pull: ApiPull, report: Report, settings: Settings) -> Mapping[Place, str]:
    """Bring the suggestions of a verdict into the state that the report asks for.

    Returns the address of each that stands. Requests: the comments if there are any, the changed
    files if there is something to suggest, one review, and one for each that is taken back.
    """
    asked = wanted(report, settings)
    # a second attempt looks, whatever was known before the first
    known = [bool(pull.review_comments)]
    return settle(
        repo, lambda: _put(repo, pull, report.head_sha, asked, known.pop() if known else True)
    )


def _put(
    repo: Repo, pull: ApiPull, sha: str, asked: Sequence[Suggestion], look: bool
) -> Mapping[Place, str]:
    every = list(pull.get_review_comments()) if look else []
    ours = [c for c in every if login_of(c) == repo.login and (c.body or "").startswith(START)]
    verdicts = [c for c in ours if c.body.startswith(VERDICT)]
    others = [c for c in ours if c not in verdicts]
    shown = _shown(pull, {s.path for s in asked} | {c.path for c in others if c.line})
    fit = [s for s in asked if fits(s, shown)][:MOST_GROUPS]
    standing: dict[tuple[str, int, str], PullRequestComment] = {}
    for comment in verdicts:
        key = (comment.path, comment.line or 0, comment.body)
        if key not in standing and any(key == (*s.place, s.body) for s in fit):
            standing[key] = comment
        else:
            _take_back(comment, every)
    for comment in others:
        if not comment.line or _applied(comment, shown):
            _take_back(comment, every)
    new = [s for s in fit if (*s.place, s.body) not in standing]
    links = {(path, line): _page(repo, pull, c) for (path, line, _), c in standing.items()}
    page = _post(repo, pull, sha, new)
    return links | ({s.place: page for s in new} if page else {})


def ask(repo: Repo, pull: Pull, item: Suggestion, comment: str) -> str:
    """Post the suggestion that a command asked for, once; its address, empty if it cannot stand."""
    mark = f"{START} {comment} -->"
    api = repo.api.get_pull(pull.number)

    def upsert() -> str:
        ours = [c for c in api.get_review_comments() if login_of(c) == repo.login]
        asked = [c for c in ours if (c.body or "").startswith(START)]
        known = next((c for c in asked if c.body.startswith(mark)), None)
        if known is not None:
            return _page(repo, api, known)
        if len(asked) >= MOST_ASKED or not fits(item, _shown(api, {item.path})):
            return ""
        return _post(repo, api, pull.head_sha, [dc.replace(item, body=f"{mark}\n{item.body}")])

    with told("suggesting the change"):
        return settle(repo, upsert)


def _post(repo: Repo, pull: ApiPull, sha: str, items: Iterable[Suggestion]) -> str:
    """One review that holds suggestions; its address, empty if there are none or GitHub refuses."""
    comments: list[ReviewComment] = [
        {"path": s.path, "line": s.line, "side": "RIGHT", "body": s.body} for s in items
    ]
    if not comments:
        return ""
    try:
        commit = repo.api.get_commit(sha)
        review = pull.create_review(commit, _ABOVE, "COMMENT", comments)
    except GithubException as error:
        # 422: the line left the diff meanwhile; 403: the token may not; the text is told anyway
        if transient(error) or error.status not in (403, 404, 422):
            raise
        _LOG.warning("no suggestion was posted: GitHub answered %s", error.status)
        return ""
    return str(review.html_url)


def _page(repo: Repo, pull: ApiPull, comment: PullRequestComment) -> str:
    """The review that holds a comment, as its first answer said."""
    return f"{repo.page}/pull/{pull.number}#pullrequestreview-{comment.pull_request_review_id}"


def _take_back(comment: PullRequestComment, every: Sequence[PullRequestComment]) -> None:
    """Delete a suggestion that no longer holds. If somebody answered it, only the button goes."""
    spot = (comment.path, comment.original_line)
    answered = any(
        c.id != comment.id
        and (c.path, c.original_line) == spot
        and not (c.body or "").startswith(START)
        for c in every
    )
    try:
        if not answered:
            comment.delete()
        elif "\n" in comment.body:
            comment.edit(f"{START} settled --> This suggestion no longer applies.")
    except GithubException as error:
        if error.status != 404:  # gone already: an earlier try or a person removed it
            raise
