"""Comment commands: what is understood, who may do what, and what is left afterwards."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from bot.github.conversation.commands import COMMANDS, Command, Mistake, acceptable, parse
from bot.registry import Status, catalogue
from tests.bot.github.competition import (
    AUTHOR,
    MAINTAINER,
    OWNER,
    REPO,
    STRANGER,
    Competition,
    submission,
    wandb_submission,
)
from tests.doubles.github import git
from tests.doubles.github.routes_reviews import apply_suggestion
from tests.doubles.wandb import WandbDouble

pytestmark = pytest.mark.one_in(3)

LINK = "https://wandb.ai/example-team/speedrun/runs/r9"

VERIFY = "speedrun-verify.yml"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "looks good",
        "> /verify",
        "```\n/verify\n```",
        " /verify",
        "please /verify",
        "/etc/passwd",
        "//verify",
        "text\n/verify",
        "\\/verify",
        "`/verify`",
    ],
)
def test_no_command(body: str) -> None:
    assert parse(body) is None


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("/verify", "verify"),
        ("/verify  ", "verify"),
        ("/Verify", "verify"),
        ("/help\r\nthanks", "help"),
        ("/explain mfu-impossible", "explain"),
        (f"/runs add {LINK}", "runs"),
        (f"/runs add\n{LINK}", "runs"),
        (f"/submit {LINK}", "submit"),
        ("/accept run-not-bound because seen", "accept"),
        ("/withdraw", "withdraw"),
        ("/withdraw a mistake", "withdraw"),
        ("/correct-author @example-user", "correct-author"),
    ],
)
def test_command(body: str, name: str) -> None:
    found = parse(body)
    assert isinstance(found, Command) and found.name == name


@pytest.mark.parametrize(
    ("link", "what"),
    [
        ("https://wandb.ai/team/project", "the link is a project, so which of its runs count?"),
        ("(https://wandb.ai/team/project/workspace?nw=x).", "the link is a project, so which"),
        ("<https://wandb.ai/team/project/sweeps/abc>,", "the link is a sweep, so which"),
    ],
)
def test_a_page_of_many_runs_is_asked_about(link: str, what: str) -> None:
    for body in (f"/runs add {link}", f"/submit {link}"):
        found = parse(body)
        assert isinstance(found, Mistake) and found.problem.startswith(what), found
        assert "speedrun new TRACK/NAME --wandb LINK" in found.problem


@pytest.mark.parametrize("around", ["({})", "[{}]", "<{}>", "{}.", "{},", "`{}`", "[run]({})"])
def test_a_link_is_read_without_the_marks_around_it(around: str) -> None:
    found = parse(f"/runs add {around.format(LINK)}")
    assert isinstance(found, Command) and len(found.links) == 1
    assert found.links[0].url == LINK


@pytest.mark.parametrize(
    "body",
    [
        "/explain",
        "/explain no-such-rule",
        "/accept run-not-bound",
        "/accept x because y",
        "/runs",
        "/runs remove x",
        "/runs add",
        "/runs add https://evil.example/x/y/runs/z",
        f"/submit {LINK} idea",
        f"/submit {LINK} reproduces",
        "/submit example-team/speedrun",
        "/correct-author",
        "/correct-author a b",
        "/correct-author -x",
        f"/runs add {' '.join([LINK] * 101)}",
    ],
)
def test_mistake(body: str) -> None:
    assert isinstance(parse(body), Mistake)


def test_rules_that_protect_others_are_never_accepted() -> None:
    for name, entry in catalogue().items():
        if entry["family"] == "text" or name in ("out-of-scope-change", "duplicate-run"):
            assert not acceptable(name)
            assert isinstance(parse(f"/accept {name} because of x"), Mistake)
    assert acceptable("run-not-bound")


def test_help_lists_every_command(competition: Competition) -> None:
    pull = competition.open(submission("fast"))
    comment = competition.say(pull.number, STRANGER, "/help")
    assert competition.command(pull.number, comment) == "help"
    answer = competition.comments(pull.number)[-1]
    assert all(usage.form.split()[0] in answer for usage in COMMANDS.values())
    assert ("comment", comment, "github-actions[bot]", "eyes") in competition.repo.reactions


def test_explain_a_rule(competition: Competition) -> None:
    pull = competition.open(submission("fast"))
    comment = competition.say(pull.number, STRANGER, "/explain target-not-significant")
    competition.command(pull.number, comment)
    answer = competition.comments(pull.number)[-1]
    assert "target-not-significant" in answer and len(answer) > 300
    assert "\n    " not in answer, "four spaces are a block of code"
    assert catalogue()["target-not-significant"]["title"] not in answer, "one title, the page's own"


def test_verify_is_dispatched_for_author_and_maintainer_only(competition: Competition) -> None:
    pull = competition.open(submission("fast"))
    for login in (AUTHOR, MAINTAINER, OWNER):
        comment = competition.say(pull.number, login, "/verify")
        assert competition.command(pull.number, comment) == "dispatched"
    comment = competition.say(pull.number, STRANGER, "/verify")
    assert competition.command(pull.number, comment) == "not permitted"
    answer = competition.comments(pull.number)[-1]
    assert "Only the author and maintainers can use `/verify`" in answer
    assert (
        competition.repo.dispatches
        == [{"workflow": "speedrun-verify.yml", "ref": "main", "inputs": {"pr": str(pull.number)}}]
        * 3
    )


def reviewable(competition: Competition) -> int:
    pull = competition.open(submission("plain", seconds=90.0, summary=""), body="")
    assert competition.answer(pull.number).status is Status.NEEDS_REVIEW
    return pull.number


def test_accept_is_bound_to_the_commit(competition: Competition) -> None:
    number = reviewable(competition)
    text = "/accept explanation-missing because the code says it --> @example-org/all"
    comment = competition.say(number, MAINTAINER, text)
    assert competition.command(number, comment) == "accepted"
    report = competition.answer(number)
    assert report.status is Status.VERIFIED
    body = competition.sticky(number)
    assert "is accepted by a maintainer" in body and MAINTAINER.replace("-", "\\-") in body
    assert "@example-org" not in body

    competition.push({"submissions/mini/plain/notes.txt": "later\n"})
    assert competition.answer(number).status is Status.NEEDS_REVIEW


def test_accept_by_others_is_refused(competition: Competition) -> None:
    number = reviewable(competition)
    for login in (AUTHOR, STRANGER):
        comment = competition.say(number, login, "/accept explanation-missing because I say so")
        assert competition.command(number, comment) == "not permitted"
        assert "Only maintainers can use `/accept`" in competition.comments(number)[-1]
    assert competition.answer(number).status is Status.NEEDS_REVIEW


def test_a_maintainer_does_not_accept_their_own(competition: Competition) -> None:
    pull = competition.open(submission("fast", MAINTAINER, summary=""), MAINTAINER, body="")
    comment = competition.say(pull.number, MAINTAINER, "/accept explanation-missing because mine")
    assert competition.command(pull.number, comment) == "not permitted"
    assert "another maintainer has to accept it" in competition.comments(pull.number)[-1]


def test_accept_for_a_commit_pushed_meanwhile_is_refused(competition: Competition) -> None:
    number = reviewable(competition)
    comment = competition.say(number, MAINTAINER, "/accept explanation-missing because fine")
    competition.push({"submissions/mini/plain/notes.txt": "swapped\n"})
    assert competition.command(number, comment) == "not the verdict's commit"
    competition.answer(number)
    competition.repo.comments[comment]["created_at"] = "2026-01-01T00:00:00Z"
    assert competition.command(number, comment) == "not the verdict's commit"
    assert competition.answer(number).status is Status.NEEDS_REVIEW


def test_runs_are_committed_where_we_may_write(
    competition: Competition, wandb: WandbDouble
) -> None:
    """A branch of the repository itself, by somebody who may write there."""
    competition.repo.collaborators[AUTHOR] = "write"
    files = wandb_submission(wandb, "linked", runs=2)
    competition.github.commit(REPO, "entry", dict(files))
    pull = competition.github.open_pull(REPO, AUTHOR, REPO, "entry")
    wandb_submission(wandb, "more", runs=2, salt=3)
    links = " ".join(f"https://wandb.ai/example-team/speedrun/runs/more{n}" for n in range(2))
    comment = competition.say(pull.number, AUTHOR, f"/runs add {links}")
    assert competition.command(pull.number, comment, "change") == "committed"
    text = git.text(
        competition.repo.directory, "show", "entry:submissions/mini/linked/submission.json"
    )
    assert [run["link"][-5:] for run in json.loads(text)["runs"]] == [
        "nked0",
        "nked1",
        "more0",
        "more1",
    ]
    assert competition.repo.dispatches[-1]["inputs"] == {"pr": str(pull.number)}
    comment = competition.say(pull.number, AUTHOR, f"/runs add {links}")
    assert competition.command(pull.number, comment, "change") == "nothing"


def test_runs_for_a_fork_come_as_a_patch_that_applies(
    competition: Competition, wandb: WandbDouble, tmp_path: Path
) -> None:
    pull = competition.open(wandb_submission(wandb, "linked", runs=2))
    comment = competition.say(pull.number, STRANGER, f"/runs add {LINK}")
    assert competition.command(pull.number, comment, "change") == "patch"
    answer = competition.comments(pull.number)[-1]
    patch = answer.split("```diff\n")[1].split("```")[0]
    (tmp_path / "change.patch").write_text(patch)
    clone = tmp_path / "clone"
    fork = competition.github.repos[f"{AUTHOR}/speedrun"].directory
    subprocess.run(["git", "clone", "-q", "-b", "entry", f"file://{fork}", str(clone)], check=True)
    subprocess.run(["git", "-C", str(clone), "apply", str(tmp_path / "change.patch")], check=True)
    text = (clone / "submissions/mini/linked/submission.json").read_text()
    assert json.loads(text)["runs"][-1]["link"] == LINK
    [ours] = competition.repo.reviewed.values()
    assert f"#pullrequestreview-{ours['review']})" in answer
    competition.command(pull.number, comment, "change")
    assert list(competition.repo.reviewed.values()) == [ours], "asked once, suggested once"
    apply_suggestion(competition.github, competition.repo, ours["id"])
    path = "submissions/mini/linked/submission.json"
    assert git.text(fork, "show", f"entry:{path}") == text.strip()
    competition.verify(pull.number)
    competition.publish(pull.number)
    assert ours["id"] not in competition.repo.reviewed, "an applied suggestion is taken back"


@pytest.mark.parametrize("layout", ["windows", "one line each", "one line"])
def test_patch_for_a_file_in_another_layout(
    competition: Competition, wandb: WandbDouble, tmp_path: Path, layout: str
) -> None:
    path = "submissions/mini/linked/submission.json"
    files = wandb_submission(wandb, "linked", runs=2)
    data = json.loads(files[path])
    text = {
        "windows": files[path].replace("\n", "\r\n"),
        "one line each": "{\n"
        + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in data.items())
        + "\n}\n",
        "one line": json.dumps(data),
    }[layout]
    pull = competition.open({path: text})
    comment = competition.say(pull.number, STRANGER, f"/runs add {LINK}")
    assert competition.command(pull.number, comment, "change") == "patch"
    patch = competition.comments(pull.number)[-1].split("```diff\n")[1].split("```")[0]
    changed = [row for row in patch.split("\n") if row[:1] == "+" and row[:3] != "+++"]
    assert len(changed) <= 5, "only what changes is in the patch"
    # a page shows no carriage returns, so what is copied from it has none
    (tmp_path / "change.patch").write_text(patch.replace("\r", ""))
    clone = tmp_path / "clone"
    fork = competition.github.repos[f"{AUTHOR}/speedrun"].directory
    subprocess.run(["git", "clone", "-q", "-b", "entry", f"file://{fork}", str(clone)], check=True)
    command = ["git", "-C", str(clone), "apply", "--ignore-whitespace"]
    subprocess.run([*command, str(tmp_path / "change.patch")], check=True)
    assert json.loads((clone / path).read_text())["runs"][-1]["link"] == LINK
    suggested = list(competition.repo.reviewed.values())
    assert bool(suggested) == (layout == "one line each")


def test_withdraw_leaves_a_note(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.answer(pull.number)
    comment = competition.say(pull.number, AUTHOR, "/withdraw the clock was wrong")
    assert competition.command(pull.number, comment, "change") == "withdrawn"
    assert pull.state == "closed"
    assert competition.labels(pull.number) == ["speedrun: withdrawn"]
    answer = competition.comments(pull.number)[-1]
    assert "the clock was wrong" in answer and "To continue, reopen the pull request" in answer


def test_withdraw_after_the_merge_proposes_a_tombstone(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.github.merge(REPO, pull.number)
    comment = competition.say(pull.number, AUTHOR, "/withdraw")
    assert competition.command(pull.number, comment, "change") == "proposed"
    proposed = competition.repo.pulls[2]
    assert proposed.head_branch == "speedrun/edit-1"
    assert competition.repo.dispatches[-1]["inputs"] == {"pr": "2"}
    report = competition.answer(2)
    assert "author-not-contributor" not in {f.rule for f in report.verdicts[0].findings}
    text = git.text(
        competition.repo.directory,
        "show",
        "speedrun/edit-1:submissions/mini/fast/submission.json",
    )
    assert json.loads(text)["withdrawn"]["by"] == AUTHOR
    assert competition.command(pull.number, comment, "change") == "proposed"
    assert sorted(competition.repo.pulls) == [1, 2]


def test_correct_author(competition: Competition) -> None:
    pull = competition.open(submission("fast", STRANGER, seconds=90.0))
    report = competition.answer(pull.number)
    assert "author-not-contributor" in {f.rule for f in report.verdicts[0].findings}
    comment = competition.say(pull.number, AUTHOR, f"/correct-author {AUTHOR}")
    assert competition.command(pull.number, comment, "change") == "patch"
    assert f'+      "github": "{AUTHOR}"' in competition.comments(pull.number)[-1]


def test_a_command_is_answered_once(competition: Competition) -> None:
    pull = competition.open(submission("fast"))
    comment = competition.say(pull.number, STRANGER, "/help")
    for _ in range(3):
        competition.command(pull.number, comment)
    assert len(competition.comments(pull.number)) == 1


def test_a_thousand_commands_get_twenty_answers(competition: Competition) -> None:
    pull = competition.open(submission("fast"))
    for _ in range(25):
        competition.command(pull.number, competition.say(pull.number, STRANGER, "/help"))
    assert len(competition.comments(pull.number)) == 20
    competition.command(pull.number, competition.say(pull.number, AUTHOR, "/help"))
    assert len(competition.comments(pull.number)) == 21


def test_commands_on_an_issue_are_explained(competition: Competition) -> None:
    issue = competition.github.open_issue(REPO, STRANGER, "A question", "How?")
    comment = competition.say(issue.number, STRANGER, "/verify")
    assert competition.command(issue.number, comment) == "not a pull request"
    assert "works on a pull request" in competition.comments(issue.number)[-1]
    assert competition.repo.dispatches == []


def test_a_comment_of_another_thread_is_refused(competition: Competition) -> None:
    first = competition.open(submission("fast"), branch="a")
    second = competition.open(submission("slow", salt=2), branch="b")
    comment = competition.say(first.number, AUTHOR, "/withdraw")
    with pytest.raises(ValueError, match="does not belong"):
        competition.command(second.number, comment, "change")
    assert second.state == "open"
