"""Where somebody said something: an issue, a pull request, or a discussion, behind one interface.

A reply carries a hidden marker with the id of what it answers, so a delivery that comes twice is
answered once.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import re
from typing import Any, Protocol

from github.Issue import Issue
from github.IssueComment import IssueComment

from bot.github.api.client import Repo, login_of, settle, told

REPLY = "<!-- speedrun:reply "
MOST_REPLIES = 20
"""Answers to one person in one thread; beyond it only reactions, so nobody can make us flood."""
_NODE = re.compile(r"[A-Za-z0-9_=-]{1,120}")
_EMOJI = {"eyes": "EYES", "+1": "THUMBS_UP", "-1": "THUMBS_DOWN", "confused": "CONFUSED"}


@dc.dataclass(frozen=True, slots=True)
class Said:
    """Something that a person wrote: the opening post (`id` empty) or a comment."""

    id: str
    author: str
    body: str
    bot: bool = False
    at: dt.datetime | None = None
    title: str = ""


class Thread(Protocol):
    """One conversation."""

    number: int

    def read(self, comment: str) -> Said:
        """The comment with this id, from the API and never from a payload."""

    def post(self) -> Said:
        """The opening post."""

    def react(self, said: Said, emoji: str) -> None:
        """Acknowledge at once, without a notification."""

    def reply(self, said: Said, body: str) -> str:
        """Answer once; the address of the answer, empty when there were too many already."""


def marker_of(number: int, said: Said) -> str:
    """The first line of our answer to what was said."""
    return f"{REPLY}{said.id or f'post-{number}'} {said.author} -->"


def _answers_to(bodies: list[str], author: str) -> int:
    return sum(b.startswith(REPLY) and b.split("\n")[0].endswith(f" {author} -->") for b in bodies)


@dc.dataclass
class IssueThread:
    """An issue or a pull request."""

    repo: Repo
    number: int
    _labels: list[str] | None = None

    @property
    def issue(self) -> Issue:
        """The API's object, no request."""
        return self.repo.api.get_issue(self.number)

    def read(self, comment: str) -> Said:
        """A comment of this issue; raises ValueError for one of another issue."""
        with told("reading the comment"):
            found = self.issue.get_comment(int(comment)).complete()
            if not found.issue_url.endswith(f"/issues/{self.number}"):
                raise ValueError(f"comment {comment} does not belong to #{self.number}")
            bot = bool(found.user and found.user.type == "Bot")
            return Said(str(found.id), login_of(found), found.body or "", bot, found.created_at)

    def post(self) -> Said:
        """The opening post."""
        with told("reading the issue"):
            found = self.issue.complete()
            self._labels = [label.name for label in found.labels]
            bot = bool(found.user and found.user.type == "Bot")
            return Said("", login_of(found), found.body or "", bot, title=found.title or "")

    def react(self, said: Said, emoji: str) -> None:
        """A reaction; GitHub keeps one of each kind, so repeating is harmless."""
        with told("acknowledging"):
            if said.id:
                settle(
                    self.repo,
                    lambda: self.issue.get_comment(int(said.id)).create_reaction(emoji),
                )
            else:
                settle(self.repo, lambda: self.issue.create_reaction(emoji))

    def is_pull(self) -> bool:
        """Whether this is a pull request; it costs the request that reads the post."""
        with told("reading the issue"):
            return self.issue.complete().pull_request is not None

    def labels(self) -> list[str]:
        """The labels of the issue, as they were when its post was read."""
        if self._labels is None:
            self.post()
        return self._labels or []

    def ours(self) -> list[IssueComment]:
        """Our own comments in this thread."""
        return [c for c in self.issue.get_comments() if login_of(c) == self.repo.login]

    def reply(self, said: Said, body: str) -> str:
        """Answer once. An answer to an edited post is edited in place."""
        marker = marker_of(self.number, said)

        def upsert() -> str:
            mine = self.ours()
            known = next((c for c in mine if (c.body or "").startswith(marker)), None)
            text = f"{marker}\n{body}"
            if known is not None:
                if known.body != text:
                    known.edit(text)
                return str(known.html_url)
            if _answers_to([c.body or "" for c in mine], said.author) >= MOST_REPLIES:
                return ""
            return str(self.issue.create_comment(text).html_url)

        with told("answering"):
            return settle(self.repo, upsert)


_READ = """query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { discussion(number: $number) {
    id number title body author { login }
    comments(last: 100) { nodes { id body author { login } } } } }
}"""
_NODE_QUERY = """query($id: ID!) { node(id: $id) { ... on DiscussionComment {
  id body author { login } discussion { number } } } }"""
_ADD = """mutation($input: AddDiscussionCommentInput!) {
  addDiscussionComment(input: $input) { comment { id url } } }"""
_EDIT = """mutation($input: UpdateDiscussionCommentInput!) {
  updateDiscussionComment(input: $input) { comment { id url } } }"""
_REACT = """mutation($input: AddReactionInput!) {
  addReaction(input: $input) { reaction { content } } }"""


@dc.dataclass
class DiscussionThread:
    """A discussion, through GraphQL; logins of Apps come without `[bot]` there."""

    repo: Repo
    number: int

    def _ask(self, query: str, **variables: Any) -> Any:
        with told("talking in the discussion"):
            return self.repo.api.requester.graphql_query(query, variables)[1]["data"]

    def _discussion(self) -> Any:
        owner, name = self.repo.name.split("/")
        answer = self._ask(_READ, owner=owner, name=name, number=self.number)
        found = (answer["repository"] or {}).get("discussion")
        if found is None:
            raise ValueError(f"there is no discussion {self.number}")
        return found

    def read(self, comment: str) -> Said:
        """A comment by its node id."""
        if not _NODE.fullmatch(comment):
            raise ValueError(f"{comment[:60]!r} is not the id of a discussion comment")
        found = self._ask(_NODE_QUERY, id=comment)["node"]
        if not found or found["discussion"]["number"] != self.number:
            raise ValueError(f"comment {comment} does not belong to discussion {self.number}")
        return self._said(found, comment)

    def post(self) -> Said:
        """The opening post."""
        return self._said(self._discussion(), "")

    def _said(self, found: Any, identity: str) -> Said:
        login = (found["author"] or {}).get("login") or "ghost"
        title = found.get("title") or ""
        return Said(identity, login, found["body"] or "", login == self._own(), title=title)

    def _own(self) -> str:
        return self.repo.login.removesuffix("[bot]")

    def react(self, said: Said, emoji: str) -> None:
        """A reaction on the comment or the post."""
        subject = said.id or self._discussion()["id"]
        self._ask(_REACT, input={"subjectId": subject, "content": _EMOJI[emoji]})

    def reply(self, said: Said, body: str) -> str:
        """Answer once, among the last hundred comments."""
        marker = marker_of(self.number, said)
        discussion = self._discussion()
        nodes = discussion["comments"]["nodes"]
        mine = [c for c in nodes if (c["author"] or {}).get("login") == self._own()]
        text = f"{marker}\n{body}"
        known = next((c for c in mine if c["body"].startswith(marker)), None)
        if known is not None:
            if known["body"] != text:
                self._ask(_EDIT, input={"commentId": known["id"], "body": text})
            return ""
        if _answers_to([c["body"] for c in mine], said.author) >= MOST_REPLIES:
            return ""
        made = self._ask(_ADD, input={"discussionId": discussion["id"], "body": text})
        return str(made["addDiscussionComment"]["comment"]["url"])
