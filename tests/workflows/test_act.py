"""The workflow files themselves, executed: conditions, order of jobs, secrets, hostile strings."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bot.github.competition import (
    AUTHOR,
    BOT,
    REPO,
    Competition,
    submission,
    wandb_submission,
)
from tests.bot.github.conftest import competition, github, no_key, wandb, wandb_server
from tests.bot.github.test_intake import form, links_of, open_form
from tests.doubles.wandb import WandbDouble
from tests.workflows.runner import Runner

__all__ = ["competition", "github", "no_key", "wandb", "wandb_server"]
HOSTILE = '"; touch "$HOME/owned"; $(touch $HOME/owned) `touch $HOME/owned` #${{ github.token }}'


@pytest.fixture
def runner(competition: Competition, tmp_path: Path) -> Runner:
    act = shutil.which("act") or shutil.which("act", path=str(Path(sys.executable).parent))
    if act is None:
        pytest.skip("needs act (make test-full installs it)")
    every = {
        "contents": "write",
        "checks": "write",
        "pull_requests": "write",
        "issues": "write",
        "discussions": "write",
        "actions": "write",
    }
    competition.github.add_token("token-of-act", BOT, REPO, **every)
    competition.repo.settings["workflows"] = ["speedrun-verify.yml", "speedrun-pages.yml"]
    folder = tmp_path / "act"
    folder.mkdir()
    return Runner(competition, folder, act)


def pull_event(competition: Competition, number: int, action: str, **more: Any) -> dict[str, Any]:
    pull = competition.repo.pulls[number]
    shape = {
        "number": number,
        "draft": False,
        "merged": False,
        "title": HOSTILE,
        "body": HOSTILE,
        "head": {"ref": HOSTILE, "sha": pull.head_sha},
        "user": {"login": HOSTILE},
        **more,
    }
    return {"action": action, "number": number, "pull_request": shape}


TOKEN = {"verify": "token-of-act"}


def test_verify(runner: Runner, competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0), title=HOSTILE)
    done = runner.run("pull_request_target", pull_event(competition, pull.number, "opened"), TOKEN)
    assert done.returncode == 0, done.stdout + done.stderr
    assert runner.commands() == ["verify key=yes", "publish key=no", "remember key=no"]
    assert competition.labels(pull.number) == ["speedrun: verified"]
    assert competition.checks(pull.head_sha) == [("speedrun", "success")]
    assert not (runner.folder / "owned").exists()


def test_rejection_is_no_failure_of_the_job(runner: Runner, competition: Competition) -> None:
    pull = competition.open({"submissions/mini/fast/submission.json": "{,}"})
    done = runner.run(
        "pull_request_target", pull_event(competition, pull.number, "synchronize"), TOKEN
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert competition.checks(pull.head_sha) == [("speedrun", "failure")]


def test_linked_runs_and_dispatch(
    runner: Runner, competition: Competition, wandb: WandbDouble
) -> None:
    pull = competition.open(wandb_submission(wandb, "linked"))
    done = runner.run("workflow_dispatch", {}, TOKEN, {"pr": str(pull.number)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert competition.labels(pull.number) == ["speedrun: verified"]


def test_drafts_and_forks_of_the_project_are_left_alone(
    runner: Runner, competition: Competition
) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    draft = pull_event(competition, pull.number, "opened", draft=True)
    runner.run("pull_request_target", draft, TOKEN)
    assert runner.commands() == []
    assert competition.comments(pull.number) == []


def test_a_broken_evaluation_is_answered(runner: Runner, competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.github.commit(REPO, "main", {"tracks/mini.toml": "not toml ["})
    done = runner.run("pull_request_target", pull_event(competition, pull.number, "opened"), TOKEN)
    assert done.returncode != 0, "a maintainer sees the failed job"
    assert competition.labels(pull.number) == ["speedrun: unverifiable"]


def test_record(runner: Runner, competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.answer(pull.number)
    competition.github.merge(REPO, pull.number)
    event = pull_event(competition, pull.number, "closed", merged=True)
    done = runner.run("pull_request_target", event, {"record": "token-of-act"})
    assert done.returncode == 0, done.stdout + done.stderr
    said = runner.commands()
    assert said[:2] == ["verify key=yes", "record key=no"]
    # Once it is on the board, one job tells the author and another looks at the baseline.
    assert sorted(said[2:]) == ["promote key=no", "record key=no"]
    assert "evidence" in competition.branches()
    assert any("On the board" in body for body in competition.comments(pull.number))
    assert [d["workflow"] for d in competition.repo.dispatches] == ["speedrun-pages.yml"]


def test_closed_without_a_merge_records_nothing(runner: Runner, competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    event = pull_event(competition, pull.number, "closed")
    runner.run("pull_request_target", event, {"record": "token-of-act"})
    assert runner.commands() == []


def test_command(runner: Runner, competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    comment = competition.say(pull.number, AUTHOR, f"/verify\n{HOSTILE}")
    body = {
        "comment": {"id": comment, "node_id": "IC_1", "body": f"/verify\n{HOSTILE}"},
        "issue": {"number": pull.number, "labels": []},
        "action": "created",
    }
    done = runner.run("issue_comment", body, {"command": "token-of-act"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert runner.commands() == ["command key=no"]
    assert competition.repo.dispatches[0]["inputs"] == {"pr": str(pull.number)}
    body["comment"]["body"] = "no command"  # type: ignore[index]
    runner.run("issue_comment", body, {"command": "token-of-act"})
    assert len(runner.commands()) == 1
    assert not (runner.folder / "owned").exists()


def test_form(runner: Runner, competition: Competition, wandb: WandbDouble) -> None:
    number = open_form(competition, form(links_of(wandb, runs=1)))
    body = {
        "action": "opened",
        "issue": {"number": number, "labels": [{"name": "submission"}], "body": HOSTILE},
    }
    done = runner.run("issues", body, {"command": "token-of-act"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert competition.repo.pulls[2].head_branch == "speedrun/intake-1"


def test_pages_with_what_is_open(runner: Runner, competition: Competition) -> None:
    pytest.importorskip("mkdocs", reason="needs mkdocs (extra `site`)")
    pull = competition.open(submission("fast", seconds=90.0), title=HOSTILE)
    competition.answer(pull.number)
    done = runner.run("push", {"ref": "refs/heads/main"}, {"pages": "token-of-act"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert runner.commands() == ["pending key=no", "site key=no"]
    page = (runner.folder / "artifacts/site/pending/index.html").read_text()
    assert "a new record by" in page
    assert not (runner.folder / "owned").exists()


def test_pages_without_the_list(runner: Runner, competition: Competition) -> None:
    """GitHub refuses the list; the site is built all the same and says what it lacks."""
    pytest.importorskip("mkdocs", reason="needs mkdocs (extra `site`)")
    done = runner.run("push", {"ref": "refs/heads/main"}, {"pages": "no-such-token"})
    assert done.returncode == 0, done.stdout + done.stderr
    page = (runner.folder / "artifacts/site/pending/index.html").read_text()
    assert "without the bot" in page
