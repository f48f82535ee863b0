"""What is open, as the site reads it: pull requests and preregistrations, text of strangers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from bot.cli import main
from bot.github.pull_request import lists
from bot.parse.plan import PREREGISTRATION
from bot.render.comment import STICKY, read_state
from tests.bot.github.competition import (
    AUTHOR,
    BOT,
    MAINTAINER,
    NOW,
    REPO,
    STRANGER,
    Competition,
    submission,
)
from tests.bot.github.test_intake import form, links_of, open_form
from tests.conftest import ROOT
from tests.doubles.wandb import WandbDouble

pytestmark = pytest.mark.one_in(3)

HOSTILE = 'x</td><script>alert(1)</script> --> @example-org/all \u202eevil "; touch owned'


def listed(competition: Competition) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    out = competition.folder / "lists"
    lists.write_lists(competition.as_job("lists"), competition.checkout(), out, NOW)
    pending = json.loads((out / lists.PENDING).read_text())
    experiments = json.loads((out / lists.EXPERIMENTS).read_text())
    assert pending["as_of"] == experiments["as_of"] == "2026-11-28T00:00:00Z"
    return pending["pulls"], experiments["experiments"]


def test_label_is_that_of_the_form() -> None:
    path = ROOT / ".github/ISSUE_TEMPLATE/preregistration.yml"
    assert yaml.safe_load(path.read_text())["labels"] == [PREREGISTRATION]


def test_each_state_of_a_pull_request(competition: Competition) -> None:
    good = competition.open(submission("good", seconds=90.0), branch="good", title=HOSTILE)
    few = competition.open(submission("few", runs=2, salt=2), branch="few")
    silent = competition.open(submission("silent", salt=3), branch="silent")
    moved = competition.open(submission("moved", salt=4), branch="moved")
    for pull in (good, few, moved):
        competition.answer(pull.number)
    competition.push({"submissions/mini/moved/notes.txt": "more\n"}, branch="moved")
    since = len(competition.github.calls)
    pulls, _ = listed(competition)
    assert len(competition.github.calls) - since == 3 + 4, "three lists, and one for each"
    rows = {row["number"]: row for row in pulls}
    assert [row["number"] for row in pulls] == [4, 3, 2, 1]
    assert rows[good.number] | {"title": "", "opened": "", "since": ""} == {
        "number": 1,
        "title": "",
        "author": AUTHOR,
        "opened": "",
        "since": "",
        "status": "verified",
        "blocks": [],
        "place": "a new record by 30.0 s",
        "track": "mini",
        "url": f"https://github.com/{REPO}/pull/1",
        "entry": "submissions/mini/good",
        "runs": 0,
        "gpu_hours": 0.0,
    }
    assert "\u202e" not in rows[good.number]["title"]
    assert (rows[few.number]["status"], rows[few.number]["blocks"]) == (
        "needs-runs",
        ["target-not-significant"],
    )
    assert rows[silent.number]["status"] == "no answer yet"
    assert rows[moved.number]["status"] == "being checked"


def test_a_pull_request_that_we_opened_names_its_author(
    competition: Competition, wandb: WandbDouble
) -> None:
    number = open_form(competition, form(links_of(wandb, runs=1)))
    competition.command(number, "", "change", "issues")
    competition.answer(2)
    pulls, _ = listed(competition)
    assert [(row["number"], row["author"]) for row in pulls] == [(2, AUTHOR)]


def test_labels_and_comments_of_others_count_for_nothing(competition: Competition) -> None:
    pull = competition.open(submission("few", runs=2))
    competition.answer(pull.number)
    body = competition.sticky(pull.number).replace("needs-runs", "verified")
    competition.say(pull.number, STRANGER, body)
    competition.repo.issues[pull.number].labels = ["speedrun: verified"]
    assert [row["status"] for row in listed(competition)[0]] == ["needs-runs"]


@pytest.mark.parametrize("state", ["{}", "[1]", '{"status": 3, "decided": null, "sha": "x"}', "{"])
def test_a_hidden_line_broken_by_hand_is_no_answer(competition: Competition, state: str) -> None:
    pull = competition.open(submission("few", runs=2))
    competition.github.comment(REPO, pull.number, BOT, f"{STICKY}\n<!-- speedrun:state {state} -->")
    assert [row["status"] for row in listed(competition)[0]] == ["no answer yet"]
    competition.answer(pull.number)
    assert [row["status"] for row in listed(competition)[0]] == ["needs-runs"]


def test_state_survives_its_own_text() -> None:
    from bot.render.comment import State

    state = State("verified", "passing", "0" * 40, author="a", place="--> <b> \u2028")
    assert read_state(f"{STICKY}\n{state.marker()}\n") == state
    assert state.marker().count("-->") == 1


def test_preregistrations_without_a_submission(competition: Competition) -> None:
    for login, title in ((AUTHOR, HOSTILE), (STRANGER, "Answered"), (STRANGER, "Given up")):
        issue = competition.github.open_issue(REPO, login, title, "plan")
        issue.labels = [PREREGISTRATION]
    issue.state = "closed"
    competition.github.open_issue(REPO, STRANGER, "A question", "How?")
    address = f"https://github.com/{REPO}/issues/2"
    entry = submission("done", seconds=110.0, salt=8, preregistration=address)
    competition.github.commit(REPO, "main", dict(entry))
    pull = competition.open(submission("open", salt=9))
    competition.repo.issues[pull.number].labels = [PREREGISTRATION]
    _, experiments = listed(competition)
    assert [(row["url"][-8:], row["state"]) for row in experiments] == [
        ("issues/3", "closed without a submission"),
        ("issues/1", "registered"),
    ]


@pytest.mark.full("builds the site")
def test_the_site_shows_them(competition: Competition) -> None:
    pytest.importorskip("mkdocs", reason="needs mkdocs (extra `site`)")
    pull = competition.open(submission("good", seconds=90.0), title=HOSTILE)
    competition.answer(pull.number)
    issue = competition.github.open_issue(REPO, MAINTAINER, f"Plan {HOSTILE}", "plan")
    issue.labels = [PREREGISTRATION]
    root = competition.checkout()
    arguments = ["--root", str(root), "--out"]
    runner = CliRunner(env={"GITHUB_TOKEN": "token-of-lists"})
    said = runner.invoke(main, ["pending", "--repo", REPO, *arguments, str(root / "evidence")])
    assert said.output == "1 open pull requests, 1 preregistrations without a submission\n"
    out = competition.folder / "site"
    built = runner.invoke(
        main, ["site", "build", *arguments, str(out), "--evidence", str(root / "evidence")]
    )
    assert built.exit_code == 0, built.output
    pending, experiments = (
        (out / name / "index.html").read_text() for name in ("pending", "experiments")
    )
    assert "a new record by" in pending and "verified" in pending
    for page in (pending, experiments):
        assert "<script>alert" not in page and "\u202e" not in page
    assert "Plan x" in experiments and "registered" in experiments


def test_reading_token_is_enough_and_needed(competition: Competition, tmp_path: Path) -> None:
    competition.open(submission("good", seconds=90.0))
    root = competition.checkout()
    command = ["pending", "--repo", REPO, "--root", str(root), "--out", str(tmp_path / "out")]
    result = CliRunner(env={"GITHUB_TOKEN": "nothing"}).invoke(main, command)
    assert result.exit_code == 3 and "token is not valid" in result.output
    assert not (tmp_path / "out").exists()
