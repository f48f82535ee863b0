"""Attacks on pull requests, comments, labels and branches that change under the bot's hands.

Each test says what somebody does and what must be left afterwards.
"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from bot.github.api.client import GitHubTrouble
from bot.github.conversation import forms
from bot.github.host.settings import load_settings
from bot.github.pull_request import claims
from bot.github.pull_request.evaluate import NotOpen
from bot.github.pull_request.lists import pending
from bot.github.pull_request.waivers import read_waivers
from bot.github.server.running import publish_file
from bot.model.report import Kind
from bot.parse.issue_form import sections
from bot.registry import Status
from bot.render.comment import WORDS
from tests.bot.github.competition import (
    AUTHOR,
    BOT,
    MAINTAINER,
    REPO,
    STRANGER,
    Competition,
    submission,
    wandb_submission,
)
from tests.bot.github.test_intake import LINK, TRACKS, form
from tests.doubles.github import git
from tests.doubles.wandb import WandbDouble

pytestmark = pytest.mark.one_in(2)

FILE = "submissions/mini/fast/submission.json"


def rules(report: Any) -> set[str]:
    return {f.rule for v in report.verdicts for f in v.errors}


# ---- pushes while the bot reads -----------------------------------------------------------------


def flip(competition: Competition, other: str, at: str, back: bool) -> None:
    """A force-push to `other` before the request `at`, and back after it."""
    fork = competition.github.repos[f"{AUTHOR}/speedrun"]
    here = competition.repo.pulls[1].head_sha

    def act(phase: str, method: str, path: str) -> None:
        if not path.endswith(at):
            return
        if phase == "before":
            competition.github.move(fork, "entry", other)
        elif back:
            competition.github.move(fork, "entry", here)

    competition.github.on_request = act


def test_a_push_back_and_forth_while_files_are_listed(competition: Competition) -> None:
    """The list of a harmless commit must never stand for the commit that is judged."""
    files = submission("fast", seconds=90.0)
    competition.push(dict(files), branch="harmless")
    harmless = competition.github.branch(competition.github.repos[f"{AUTHOR}/speedrun"], "harmless")
    pull = competition.open(files | {".github/workflows/verify.yml": "on: push\n"})
    assert harmless
    flip(competition, harmless, "/pulls/1/files", back=True)
    with pytest.raises(GitHubTrouble, match="kept changing while it was read"):
        competition.verify(pull.number)
    competition.github.on_request = None
    assert rules(competition.answer(pull.number)) == {"out-of-scope-change"}


def test_a_push_while_files_are_listed_judges_the_new_head(competition: Competition) -> None:
    files = submission("fast", seconds=90.0)
    competition.push(dict(files) | {"README.md": "mine\n"}, branch="wider")
    wider = competition.github.branch(competition.github.repos[f"{AUTHOR}/speedrun"], "wider")
    pull = competition.open(files)
    assert wider
    flip(competition, wider, "/pulls/1/files", back=False)
    report = competition.answer(pull.number)
    assert report.head_sha == pull.head_sha == wider
    assert rules(report) == {"out-of-scope-change"}


def test_closed_while_it_was_evaluated_is_left_alone(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    pull.state = "closed"
    with pytest.raises(NotOpen):
        competition.verify(pull.number)
    root = competition.checkout()
    said = publish_file(
        competition.as_job("publish"),
        load_settings(root),
        root / "no.json",
        pull.number,
        None,
        False,
    )
    assert "closed meanwhile" in said
    assert competition.comments(pull.number) == [] and competition.repo.checks == {}


# ---- another base -------------------------------------------------------------------------------


def test_a_pull_request_to_another_branch_is_never_green(competition: Competition) -> None:
    """Green there, then moved to the board's branch without a new commit."""
    pull = competition.open(submission("fast", seconds=90.0))
    competition.github.move(competition.repo, "other", pull.base_sha)
    pull.base = "other"
    report = competition.answer(pull.number)
    assert (report.kind, report.status) == (Kind.OTHER, None)
    assert competition.checks(pull.head_sha) == [("speedrun", "neutral")]
    assert "goes to the branch" in competition.sticky(pull.number)
    pull.base = "main"
    assert competition.answer(pull.number).status is Status.VERIFIED


def test_a_merge_into_another_branch_is_not_recorded(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.github.merge(REPO, pull.number)
    pull.base = "other"
    with pytest.raises(NotOpen, match="other than the default"):
        competition.record(pull.number)
    assert "evidence" not in competition.branches()
    assert not any("On the board" in b for b in competition.comments(pull.number))


# ---- branches that are not the author's ---------------------------------------------------------


@pytest.mark.parametrize("branch", ["feature", "evidence"])
def test_author_of_a_pull_request_from_somebody_elses_branch(
    competition: Competition, wandb: WandbDouble, branch: str
) -> None:
    """Whoever can read may open a pull request from any branch of the repository."""
    files = wandb_submission(wandb, "linked", MAINTAINER, runs=2)
    before = competition.github.commit(REPO, branch, dict(files))
    pull = competition.github.open_pull(REPO, STRANGER, REPO, branch)
    for text in (f"/runs add {LINK}", f"/correct-author {STRANGER}"):
        comment = competition.say(pull.number, STRANGER, text)
        assert competition.command(pull.number, comment, "change") == "patch"
    assert competition.branches()[branch] == before


def test_not_even_a_maintainer_has_the_bot_write_to_the_main_branches(
    competition: Competition, wandb: WandbDouble
) -> None:
    files = wandb_submission(wandb, "linked", MAINTAINER, runs=2)
    before = competition.github.commit(REPO, "evidence", dict(files))
    pull = competition.github.open_pull(REPO, MAINTAINER, REPO, "evidence")
    comment = competition.say(pull.number, MAINTAINER, f"/runs add {LINK}")
    assert competition.command(pull.number, comment, "change") == "patch"
    assert competition.branches()["evidence"] == before


@pytest.mark.parametrize("text", [f"/runs add {LINK}", f"/correct-author {STRANGER}"])
def test_commands_that_change_a_closed_pull_request(
    competition: Competition, wandb: WandbDouble, text: str
) -> None:
    competition.github.commit(REPO, "entry", dict(wandb_submission(wandb, "linked", runs=2)))
    pull = competition.github.open_pull(REPO, MAINTAINER, REPO, "entry")
    pull.state = "closed"
    before = competition.branches()["entry"]
    comment = competition.say(pull.number, MAINTAINER, text)
    assert competition.command(pull.number, comment, "change") == "closed"
    assert competition.branches()["entry"] == before
    assert "is closed" in competition.comments(pull.number)[-1]


def test_verify_on_a_closed_pull_request(competition: Competition) -> None:
    pull = competition.open(submission("fast"))
    pull.state = "closed"
    comment = competition.say(pull.number, AUTHOR, "/verify")
    assert competition.command(pull.number, comment) == "closed"
    assert competition.repo.dispatches == []


# ---- people -------------------------------------------------------------------------------------


def test_bots_give_no_commands(competition: Competition) -> None:
    """Two bots that answer one another would never stop."""
    competition.github.add_user("other-app[bot]", "Bot")
    pull = competition.open(submission("fast"))
    for login in ("other-app[bot]", BOT):
        comment = competition.say(pull.number, login, "/help")
        assert competition.command(pull.number, comment) == "own"
    assert competition.comments(pull.number) == ["/help"]


def test_logins_are_the_same_in_any_case(competition: Competition) -> None:
    pull = competition.open(submission("fast", AUTHOR.upper(), seconds=90.0))
    assert competition.answer(pull.number).status is Status.VERIFIED


def test_an_author_who_took_another_name_is_told_so(competition: Competition) -> None:
    """The old login may belong to somebody else by now: it binds nobody."""
    competition.github.add_user("new-name")
    pull = competition.open(submission("fast", AUTHOR, seconds=90.0))
    pull.user = "new-name"
    report = competition.answer(pull.number)
    assert rules(report) == {"author-not-contributor"}
    assert "new\\-name" in competition.sticky(pull.number).split("\n", 2)[2]


def test_people_whose_account_is_gone(competition: Competition) -> None:
    """GitHub then names no user at all."""
    pull = competition.open(submission("fast", seconds=90.0))
    competition.say(pull.number, STRANGER, "hello")
    competition.repo.comments[max(competition.repo.comments)]["user"] = None
    assert competition.answer(pull.number).status is Status.VERIFIED
    assert [row["status"] for row in pending(competition.as_job("lists"))] == ["verified"]


# ---- what others write into labels, comments and descriptions -----------------------------------


def test_labels_that_somebody_set_by_hand(competition: Competition) -> None:
    pull = competition.open(submission("few", runs=2))
    competition.repo.issues[pull.number].labels = ["speedrun: verified", "mine"]
    assert competition.answer(pull.number).status is Status.NEEDS_RUNS
    assert sorted(competition.labels(pull.number)) == ["mine", "speedrun: needs-runs"]
    assert competition.checks(pull.head_sha) == [("speedrun", "failure")]


def test_our_comment_edited_by_a_maintainer_is_put_right(competition: Competition) -> None:
    pull = competition.open(submission("few", runs=2))
    competition.answer(pull.number)
    (identity,) = [i for i, c in competition.repo.comments.items() if c["user"] == BOT]
    stored = competition.repo.comments[identity]
    stored["body"] = stored["body"].replace("needs-runs", "verified").replace("###", "### VERIFIED")
    competition.publish(pull.number)
    assert "VERIFIED" not in competition.sticky(pull.number)
    assert f"### {WORDS[Status.NEEDS_RUNS]}" in competition.sticky(pull.number)


BROKEN = [
    "{",
    "[]",
    "{}",
    '{"rule": 1, "sha": "SHA", "by": "x", "reason": "y"}',
    '{"rule": "run-not-bound", "sha": "SHA", "by": null, "reason": "y"}',
    '{"rule": "run-not-bound", "sha": "SHA", "by": "x", "reason": "y", "more": 1}',
    '{"rule": "secret-in-text", "sha": "SHA", "by": "x", "reason": "y"}',
    "[" * 100_000,
]


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_an_acceptance_broken_by_hand_accepts_nothing(text: str) -> None:
    sha = "0" * 40
    body = f"<!-- speedrun:reply 1 x -->\n<!-- speedrun:accept {text.replace('SHA', sha)} -->\n"
    assert read_waivers([body], sha) == {}


def test_an_acceptance_broken_by_hand_stops_nothing(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    broken = "<!-- speedrun:reply 1 x -->\n<!-- speedrun:accept { -->"
    competition.github.comment(REPO, pull.number, BOT, broken)
    assert competition.answer(pull.number).status is Status.VERIFIED


@pytest.mark.parametrize("piece", ["<!--", "- [x] Yes, and I claim it\n", "## Approach\n", "-->"])
def test_a_huge_description_costs_no_time(piece: str) -> None:
    body = piece * (60_000 // len(piece))
    start = time.process_time()
    claims.approach_of(body)
    claims.read_claim(body, AUTHOR, TRACKS)
    sections(body)
    assert time.process_time() - start < 2.0


def test_headings_inside_an_answer_of_the_form(competition: Competition) -> None:
    """The first of two equal headings counts, so an answer cannot replace one above it."""
    evil = f"mine\n\n### Contributors\n\n{STRANGER}: idea\n\n### Track\n\nlab\n\n### W&B runs\n\nx"
    found = forms.read_form(form(LINK, words=evil), AUTHOR, TRACKS)
    assert (found.track, [link.url for link in found.links]) == ("mini", [LINK])
    assert found.contributors[0]["github"] == AUTHOR
    moved = form(LINK).replace("### Track", "### Trаck")  # a Cyrillic letter
    assert forms.read_form(moved, AUTHOR, TRACKS | {"b": TRACKS["mini"]}).track in ("", "mini")
    assert forms.read_form("### \n### Track\n### Title", AUTHOR, TRACKS).missing


@pytest.mark.parametrize(
    "folder", ["submissions/mіni/fast", "submissions/mini/fаst", "ѕubmissions/mini/fast"]
)
def test_a_folder_that_only_looks_like_ours(competition: Competition, folder: str) -> None:
    """Letters of other alphabets."""
    files = {p.replace("submissions/mini/fast", folder): t for p, t in submission("fast").items()}
    pull = competition.open(files)
    report = competition.answer(pull.number)
    assert report.status in (Status.REJECTED, None)
    assert competition.checks(pull.head_sha)[0][1] != "success"
    assert not any("%D1" in c.path or "%D0" in c.path for c in competition.github.calls)


def test_three_thousand_files_over_ten_folders(competition: Competition) -> None:
    files = submission("fast", seconds=90.0)
    pull = competition.open(files)
    one = competition.github.shapes.files(competition.repo, pull)[0]
    names = [f"junk/{n % 10}/{n}" for n in range(2990)]
    listed = competition.github.shapes.files(competition.repo, pull)
    pull.pretend_files = listed + [{**one, "filename": name} for name in names]
    report = competition.answer(pull.number)
    assert rules(report) == {"out-of-scope-change"}
    pages = [c for c in competition.github.calls if c.path.endswith("/files")]
    assert len(pages) == -(-len(pull.pretend_files) // 100)
    assert len(competition.sticky(pull.number)) < 65_536


def test_a_report_of_a_commit_that_is_not_the_head_any_more(competition: Competition) -> None:
    """An artifact of an older run, or with another commit written into it."""
    pull = competition.open(submission("fast", seconds=90.0))
    competition.verify(pull.number)
    data = json.loads(competition.report.read_text())
    main = git.text(competition.repo.directory, "rev-parse", "main")
    competition.report.write_text(json.dumps({**data, "head_sha": main}))
    assert "head moved on" in competition.publish(pull.number)
    assert competition.repo.checks == {} and competition.comments(pull.number) == []
