"""A command or a form whose process is killed at each of its requests, and then run again.

Afterwards there is one branch, one pull request, one answer, and the verification was started.
"""

from __future__ import annotations

import json

from tests.bot.github.competition import (
    AUTHOR,
    MAINTAINER,
    REPO,
    Competition,
    kill_points,
    killed_at,
    submission,
    wandb_submission,
)
from tests.bot.github.test_intake import LINK, form, links_of, open_form
from tests.doubles.github import git
from tests.doubles.wandb import WandbDouble

RUN = """
import sys
from pathlib import Path
from bot.github.api.client import connect, open_repo
from bot.github.host.settings import load_settings
from bot.github.server.running import answer_event
root, event, number, comment = sys.argv[1:5]
settings = load_settings(Path(root))
repo = open_repo(connect("token-of-change"), "example-org/speedrun", settings.login)
print(answer_event(repo, settings, Path(root), event, int(number), comment))
"""
LAST = 14
"""More requests than any of these steps makes."""


def killed(
    competition: Competition, event: str, number: int, comment: str, at: int, phase: str
) -> bool:
    """Answer in a process of its own, killed at its `at`-th request; False when it ended first."""
    root = competition.checkout()
    arguments = [str(root), event, str(number), comment]
    was_killed = killed_at(competition, RUN, arguments, at, phase)
    competition.github.faulty = True  # mending may take a request more than the bound
    return was_killed


@kill_points(LAST, every=LAST)
def test_form_killed_at_each_request(
    competition: Competition, wandb: WandbDouble, at: int, phase: str
) -> None:
    number = open_form(competition, form(links_of(wandb, runs=1)))
    ended = not killed(competition, "issues", number, "", at, phase)
    assert ended == (at == LAST) or at > 9, "a form takes at least nine requests"
    assert competition.command(number, "", "change", "issues") == "opened"
    assert sorted(competition.repo.pulls) == [2]
    branch = "speedrun/intake-1"
    assert sorted(competition.branches()) == ["main", branch]
    made = git.text(competition.repo.directory, "rev-list", f"main..{branch}").splitlines()
    assert len(made) == 1, "one commit"
    (answer,) = competition.comments(number)
    assert "[pull request 2]" in answer
    started = [d["inputs"] for d in competition.repo.dispatches]
    assert started and set(map(str, started)) == {str({"pr": "2"})}
    assert ("issue", number, "github-actions[bot]", "eyes") in competition.repo.reactions


@kill_points(LAST, every=LAST)
def test_command_that_commits_killed_at_each_request(
    competition: Competition, wandb: WandbDouble, at: int, phase: str
) -> None:
    files = wandb_submission(wandb, "linked", MAINTAINER, runs=2)
    before = competition.github.commit(REPO, "entry", dict(files))
    pull = competition.github.open_pull(REPO, MAINTAINER, REPO, "entry")
    comment = competition.say(pull.number, MAINTAINER, f"/runs add {LINK}")
    killed(competition, "issue_comment", pull.number, str(comment), at, phase)
    said = competition.command(pull.number, comment, "change")
    assert said in ("committed", "nothing")
    path = "submissions/mini/linked/submission.json"
    text = git.text(competition.repo.directory, "show", f"entry:{path}")
    assert [run["link"] for run in json.loads(text)["runs"]].count(LINK) == 1
    made = git.text(competition.repo.directory, "rev-list", f"{before}..entry").splitlines()
    assert len(made) == 1, "one commit"
    assert len(competition.comments(pull.number)) == 1
    started = {d["inputs"]["pr"] for d in competition.repo.dispatches}
    assert started == {str(pull.number)}, "what was committed is verified"


@kill_points(LAST, every=LAST)
def test_tombstone_killed_at_each_request(competition: Competition, at: int, phase: str) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.github.merge(REPO, pull.number)
    comment = competition.say(pull.number, AUTHOR, "/withdraw the clock was wrong")
    killed(competition, "issue_comment", pull.number, str(comment), at, phase)
    assert competition.command(pull.number, comment, "change") == "proposed"
    assert sorted(competition.repo.pulls) == [1, 2]
    assert sorted(competition.branches()) == ["main", "speedrun/edit-1"]
    assert len(competition.comments(pull.number)) == 1
    assert {d["inputs"]["pr"] for d in competition.repo.dispatches} == {"2"}
