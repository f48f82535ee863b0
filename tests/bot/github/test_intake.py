"""Submissions without files: the issue form, and `/submit` in issues and discussions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from bot.github.conversation import forms
from bot.github.pull_request import intake
from bot.github.pull_request.pull import facts, fetch
from bot.parse.track_toml import parse_track
from bot.registry import Status
from tests.bot.github.competition import (
    AUTHOR,
    BOT,
    REPO,
    STRANGER,
    Competition,
    submission,
    wandb_submission,
)
from tests.conftest import ROOT
from tests.doubles.github import git
from tests.doubles.wandb import WandbDouble

pytestmark = pytest.mark.one_in(3)


def form(
    links: str,
    track: str = "mini",
    title: str = "Fused kernels",
    words: str = "It is faster.",
    contributors: str = "_No response_",
    preregistration: str = "_No response_",
) -> str:
    """A form as GitHub renders it into the issue's body."""
    answers = {
        "Track": track,
        "W&B runs": links,
        "W&B runs of the baseline": "_No response_",
        "Title": title,
        "What did you try": words,
        "Preregistration": preregistration,
        "Contributors": contributors,
    }
    return "\n\n".join(f"### {heading}\n\n{answer}" for heading, answer in answers.items()) + "\n"


def links_of(wandb: WandbDouble, name: str = "linked", runs: int = 8) -> str:
    files = wandb_submission(wandb, name, runs=runs)
    data = json.loads(files[f"submissions/mini/{name}/submission.json"])
    return "\n".join(run["link"] for run in data["runs"])


def test_headings_are_those_of_the_form() -> None:
    template = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/submission.yml").read_text())
    labels = {f["id"]: f["attributes"]["label"] for f in template["body"]}
    assert labels == forms.FIELDS
    assert template["labels"] == [forms.LABEL]


def open_form(competition: Competition, body: str, login: str = AUTHOR) -> int:
    issue = competition.github.open_issue(REPO, login, "Submission: fused kernels", body)
    issue.labels = [forms.LABEL]
    return issue.number


def test_form_becomes_a_pull_request(competition: Competition, wandb: WandbDouble) -> None:
    number = open_form(competition, form(links_of(wandb), contributors="another-user: idea, code"))
    assert competition.command(number, "", "change", "issues") == "opened"
    pull = competition.repo.pulls[2]
    assert (pull.user, pull.head_branch) == (BOT, "speedrun/intake-1")
    assert competition.repo.dispatches == [
        {"workflow": "speedrun-verify.yml", "ref": "main", "inputs": {"pr": "2"}}
    ]
    text = git.text(
        competition.repo.directory,
        "show",
        f"speedrun/intake-1:submissions/mini/{AUTHOR}-linked0/submission.json",
    )
    people = json.loads(text)["contributors"]
    assert [p["github"] for p in people] == [AUTHOR, STRANGER]
    report = competition.answer(2)
    assert report.author == AUTHOR
    assert report.status in (Status.VERIFIED, Status.NEEDS_REVIEW)
    assert "author-not-contributor" not in {f.rule for f in report.verdicts[0].findings}
    assert "[pull request 2]" in competition.comments(number)[-1]

    assert competition.command(number, "", "change", "issues") == "opened"
    assert sorted(competition.repo.pulls) == [2]
    assert len(competition.comments(number)) == 1


@pytest.mark.parametrize(
    "given, written",
    [("#12", 12), ("https://github.com/example-org/speedrun/issues/12", None), ("soon", "")],
)
def test_form_names_the_issue_that_announced_it(
    competition: Competition, wandb: WandbDouble, given: str, written: object
) -> None:
    number = open_form(competition, form(links_of(wandb), preregistration=given))
    said = competition.command(number, "", "change", "issues")
    if written == "":
        assert said == "incomplete"
        assert "write the number of an issue" in competition.comments(number)[-1]
        return
    name = f"speedrun/intake-1:submissions/mini/{AUTHOR}-linked0/submission.json"
    text = git.text(competition.repo.directory, "show", name)
    assert json.loads(text)["preregistration"] == (written or given)


def test_form_mended_by_editing(competition: Competition, wandb: WandbDouble) -> None:
    links = links_of(wandb)
    number = open_form(competition, form("", track="nope", title=""))
    assert competition.command(number, "", "change", "issues") == "incomplete"
    answer = competition.comments(number)[-1]
    for words in ('"W&B runs" is empty', '"nope" is not a track', '"Title" is empty'):
        assert words.replace("&", "\\&") in answer or words in answer, answer
    competition.repo.issues[number].body = form(links)
    assert competition.command(number, "", "change", "issues") == "opened"
    assert len(competition.comments(number)) == 1


def test_form_asks_which_runs_of_a_project(competition: Competition, wandb: WandbDouble) -> None:
    number = open_form(competition, form("See (https://wandb.ai/team/project)."))
    assert competition.command(number, "", "change", "issues") == "incomplete"
    answer = competition.comments(number)[-1]
    assert "the link is a project, so which of its runs count?" in answer
    competition.repo.issues[number].body = form(links_of(wandb))
    assert competition.command(number, "", "change", "issues") == "opened"


def test_issue_without_the_label_is_left_alone(competition: Competition) -> None:
    issue = competition.github.open_issue(REPO, AUTHOR, "A question", "### Track\n\nmini")
    assert competition.command(issue.number, "", "change", "issues") == "no form"
    assert competition.comments(issue.number) == []


def test_submit_in_an_issue_comment(competition: Competition, wandb: WandbDouble) -> None:
    links = links_of(wandb).replace("\n", " ")
    issue = competition.github.open_issue(REPO, STRANGER, "Runs", "Drop them here")
    comment = competition.say(issue.number, AUTHOR, f"/submit mini {links}")
    assert competition.command(issue.number, comment, "change") == "opened"
    repo = competition.as_job("evaluate")
    pull = facts(fetch(repo, 2))
    assert intake.submitter(pull, REPO, BOT) == AUTHOR


def test_a_submission_without_words_has_no_explanation(
    competition: Competition, wandb: WandbDouble
) -> None:
    links = links_of(wandb).replace("\n", " ")
    issue = competition.github.open_issue(REPO, AUTHOR, "Fused loss", "Mine.")
    for words, rules in (("", {"explanation-missing"}), ("We fused the loss with it.", set())):
        comment = competition.say(issue.number, AUTHOR, f"/submit mini {links}\n\n{words}")
        assert competition.command(issue.number, comment, "change") == "opened"
        pull = competition.repo.pulls[max(competition.repo.pulls)]
        assert pull.title == "Fused loss" and (words or "No words yet: ") in pull.body
        (verdict,) = competition.answer(pull.number).verdicts
        assert {f.rule for f in verdict.findings} & {"explanation-missing"} == rules
        comment = competition.say(pull.number, AUTHOR, "/withdraw")
        assert competition.command(pull.number, comment, "change") == "withdrawn"
        assert "comment `/submit` again" in competition.comments(pull.number)[-1]


def test_submit_without_a_track_names_the_choices(
    competition: Competition, wandb: WandbDouble
) -> None:
    issue = competition.github.open_issue(REPO, STRANGER, "Runs", "Drop them here")
    comment = competition.say(issue.number, AUTHOR, f"/submit {links_of(wandb, runs=1)}")
    assert competition.command(issue.number, comment, "change") == "incomplete"
    assert "choose one of lab, mini" in competition.comments(issue.number)[-1]


def test_submit_in_a_discussion(competition: Competition, wandb: WandbDouble) -> None:
    comment = {"id": "DC_1", "body": f"/submit mini {links_of(wandb, runs=1)}", "user": AUTHOR}
    discussion = {
        "id": "D_1",
        "number": 5,
        "body": "Runs",
        "user": STRANGER,
        "title": "Runs",
        "comments": [{**comment, "discussion": {"number": 5}}],
    }
    competition.repo.discussions["D_1"] = discussion
    said = competition.command(5, "DC_1", "change", "discussion_comment")
    assert said == "opened"
    pull = competition.repo.pulls[1]
    assert pull.head_branch == "speedrun/intake-d5-DC1"
    assert "pull request 1" in discussion["comments"][-1]["body"]
    assert competition.command(5, "DC_1", "change", "discussion_comment") == "opened"
    assert len(discussion["comments"]) == 2
    assert ("discussion", "DC_1", BOT, "EYES") in competition.repo.reactions


def test_workflows_that_may_not_open_pull_requests(
    competition: Competition, wandb: WandbDouble
) -> None:
    competition.repo.actions_may_open_pulls = False
    number = open_form(competition, form(links_of(wandb, runs=1)))
    assert competition.command(number, "", "change", "issues") == "branch only"
    answer = competition.comments(number)[-1]
    assert f"https://github.com/{REPO}/compare/main...speedrun/intake-1?expand=1" in answer
    assert "speedrun/intake-1" in competition.branches()


def test_a_copied_marker_binds_nobody(competition: Competition) -> None:
    """Anybody may write our hidden line into the text of their own pull request."""
    marker = intake.author_marker(AUTHOR, "issue 1")
    pull = competition.open(submission("stolen"), login=STRANGER, body=f"{marker}\nhello")
    report = competition.verify(pull.number)
    assert report.author == STRANGER
    assert "author-not-contributor" in {f.rule for f in report.verdicts[0].findings}


TRACKS = {
    "mini": parse_track(
        {
            "schema_version": 1,
            "id": "mini",
            "title": "Mini",
            "objective": "target",
            "quality": {"metric": "loss"},
            "cost": {"metric": "training_time_s"},
        },
        "tracks/mini.toml",
    )
}
LINK = "https://wandb.ai/example-team/speedrun/runs/r9"


@pytest.mark.parametrize(
    "hostile",
    ["../../../user", "mini/../..", "submissions", "MINI", "mini\n", "mini ", "", "a" * 300],
)
def test_a_track_is_one_of_ours_or_nothing(hostile: str) -> None:
    found = forms.read_form(form(LINK, track=hostile), AUTHOR, TRACKS)
    assert found.track in ("mini", "")
    if found.track and not found.missing:
        assert Path(intake.folder_of(found)).parts[:2] == ("submissions", "mini")


def test_the_author_cannot_be_left_out() -> None:
    found = forms.read_form(form(LINK, contributors="another-user: idea"), AUTHOR, TRACKS)
    assert found.contributors[0]["github"] == AUTHOR


def test_an_unknown_role_is_told() -> None:
    found = forms.read_form(form(LINK, contributors="another-user: boss"), AUTHOR, TRACKS)
    assert any("boss" in words for words in found.missing)
