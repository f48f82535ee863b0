"""One thing that somebody said, and how it is answered."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.github.api.client import GitHubTrouble, Repo, told
from bot.github.api.threads import Said, Thread
from bot.github.api.workflows import Dispatch
from bot.model.report import Settings
from bot.model.track import Track
from bot.render.comment import render

MAINTAINERS = ("admin", "write")
_LOG = logging.getLogger("speedrun.conversation")


@dc.dataclass(frozen=True)
class Talk:
    """One thing said, and all that an answer needs. `dispatch(pr, ref)` starts a verification, and
    `record(pr, ref)` what follows a merge; `root` is a checkout of the default branch."""

    repo: Repo
    settings: Settings
    tracks: Mapping[str, Track]
    thread: Thread
    said: Said
    dispatch: Dispatch
    today: dt.date
    record: Dispatch
    root: Path

    def reply(self, template: str, **values: Any) -> None:
        """Answer with a template."""
        self.thread.reply(self.said, render(template, self.settings, **values))

    def react(self, emoji: str) -> None:
        """Acknowledge. A reaction that GitHub refuses never costs the answer."""
        try:
            self.thread.react(self.said, emoji)
        except GitHubTrouble as trouble:
            _LOG.warning("%s", trouble)

    def start(self, number: int, ref: str) -> str:
        """Start a verification, after the answer; a word for the log. If GitHub refuses, the
        answer says so too."""
        try:
            self.dispatch(number, ref)
        except GitHubTrouble as trouble:
            # in the place of the answer: one thing said has one answer
            self.reply("not_started.md.j2", number=number, why=str(trouble))
            return "not started"
        return "dispatched"


def is_maintainer(repo: Repo, login: str) -> bool:
    """Whether the API says that a person may write to the repository."""
    with told("asking for permissions"):
        return repo.api.get_collaborator_permission(login) in MAINTAINERS
