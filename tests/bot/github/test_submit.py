"""`speedrun submit`: from a folder to a pull request, step by step, resumable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from bot.github.host.submit import branch_of
from bot.model.submission import MAX_LOG_BYTES, PLACEHOLDER
from bot.registry import Status
from tests.bot.github.competition import (
    AUTHOR,
    REPO,
    Competition,
    kill_points,
    killed_at,
    submission,
    wandb_submission,
)
from tests.bot.github.wheels import a_wheel
from tests.doubles.github import Fault, git
from tests.doubles.wandb import WandbDouble

pytestmark = pytest.mark.one_in(3)


@pytest.fixture
def folder(competition: Competition) -> Path:
    root = competition.checkout()
    for path, text in submission("fast", seconds=90.0).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root / "submissions/mini/fast"


def submit(folder: Path, *more: str, token: str | None = f"token-of-{AUTHOR}") -> Result:
    environment = {"GITHUB_TOKEN": token, "PATH": "/nowhere" if token is None else None}
    return CliRunner().invoke(
        main,
        ["submit", str(folder), "--repo", REPO, *more],
        env={k: v for k, v in environment.items() if v is not None or k == "GITHUB_TOKEN"},
    )


def test_dry_run_writes_nothing_and_needs_no_token(competition: Competition, folder: Path) -> None:
    result = submit(folder, "--dry-run", token=None)
    assert result.exit_code == 0, result.output
    assert "## Approach" in result.output and "larger learning rate" in result.output
    assert competition.github.calls == []


def test_pull_request_with_approach_and_results(competition: Competition, folder: Path) -> None:
    result = submit(folder)
    assert result.exit_code == 0, result.output
    for step in ("1/5 checked", "2/5 fork", "3/5 pushed", "4/5 opened", "5/5 done"):
        assert step in result.output
    pull = competition.repo.pulls[1]
    assert (pull.user, pull.head_repo, pull.head_branch) == (
        AUTHOR,
        f"{AUTHOR}/speedrun",
        "speedrun/mini-fast",
    )
    body = competition.repo.issues[1].body
    assert "larger learning rate" in body and "## Results" in body and "3.277" in body
    report = competition.answer(1)
    assert report.status is Status.VERIFIED, report.verdicts[0].findings


def test_again_goes_on_where_it_stopped(competition: Competition, folder: Path) -> None:
    competition.github.faults = [Fault("POST", "/pulls$", 500, times=9)]
    result = submit(folder)
    assert result.exit_code == 3 and "try again later" in result.output
    assert "3/5 pushed" in result.output
    competition.github.faults = []
    result = submit(folder)
    assert result.exit_code == 0 and "3/5 pushed before" in result.output
    result = submit(folder)
    assert "4/5 open since before" in result.output
    assert list(competition.repo.pulls) == [1]
    fork = competition.github.repos[f"{AUTHOR}/speedrun"].directory
    commits = git.text(fork, "rev-list", "--count", "main..speedrun/mini-fast")
    assert commits == "1"


def test_a_change_is_pushed_to_the_same_pull_request(
    competition: Competition, folder: Path
) -> None:
    submit(folder)
    first = competition.repo.pulls[1].head_sha
    (folder / "notes.txt").write_text("later\n")
    assert submit(folder).exit_code == 0
    assert competition.repo.pulls[1].head_sha != first
    assert list(competition.repo.pulls) == [1]


def test_a_rejected_submission_is_not_submitted(competition: Competition, folder: Path) -> None:
    (folder / "submission.json").write_text("{,}")
    result = submit(folder)
    assert result.exit_code == 1
    assert "Fix this first" in result.output and "json-invalid" in result.output
    assert competition.github.calls == []


def test_fork_of_an_organisation_gets_advice(competition: Competition, folder: Path) -> None:
    competition.github.add_user("example-lab", "Organization")
    competition.github.add_repo("example-lab/speedrun", REPO).collaborators[AUTHOR] = "write"
    result = submit(folder, "--fork-owner", "example-lab")
    assert result.exit_code == 0, result.output
    assert "--fork-owner YOUR-LOGIN" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["submit", "README.md"], "submissions/TRACK/NAME"),
        (["submit", "tracks"], "submissions/"),
        (["submit", "absent"], "does not exist"),
    ],
)
def test_what_cannot_be_submitted(
    competition: Competition, arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(competition.checkout())
    result = CliRunner().invoke(main, [*arguments, "--repo", REPO])
    assert result.exit_code == 2 and words in result.output, result.output


def test_no_token(folder: Path) -> None:
    result = submit(folder, token=None)
    assert result.exit_code == 2 and "no token" in result.output


def test_advice_on_a_branch_that_nobody_can_help_with(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    pull.maintainer_can_modify = False
    competition.answer(pull.number)
    assert "Allow edits by maintainers" in competition.sticky(pull.number)


def test_empty_approach_is_asked_for(competition: Competition) -> None:
    from tests.conftest import ROOT

    template = (ROOT / ".github/pull_request_template.md").read_text()
    pull = competition.open(submission("fast", seconds=90.0, summary=""), body=template)
    report = competition.verify(pull.number)
    assert "explanation-missing" in {f.rule for f in report.verdicts[0].findings}
    filled = template.replace("A few sentences. -->", "-->\n\nWe warm the embedding up slowly.")
    competition.repo.issues[pull.number].body = filled
    report = competition.verify(pull.number)
    found = {f.rule for f in report.verdicts[0].findings}
    assert "explanation-missing" not in found, json.dumps(filled)


def test_a_name_that_is_no_repository(folder: Path) -> None:
    result = submit(folder, "--dry-run", "--repo", "example-user")
    assert result.exit_code == 2 and "expected OWNER/REPO" in result.output, result.output


def test_the_placeholder_of_new_is_not_submitted(competition: Competition, folder: Path) -> None:
    file = folder / "submission.json"
    file.write_text(file.read_text().replace(AUTHOR, PLACEHOLDER))
    result = submit(folder, "--dry-run")
    assert result.exit_code == 1
    assert f'replace "{PLACEHOLDER}" with your GitHub login' in result.output
    assert competition.github.calls == []


def test_commands_refuse_what_is_no_repository(competition: Competition) -> None:
    root = ["--root", str(competition.checkout())]
    for command in (["doctor", "--repo", "mini"], ["webhook", "--repo", "mini"]):
        result = CliRunner().invoke(main, [*command, *root], env={"GITHUB_TOKEN": None})
        assert result.exit_code == 2 and "expected OWNER/REPO" in result.output, result.output
    result = CliRunner().invoke(main, ["doctor", "--watch", *root])
    assert result.exit_code == 2 and "--watch needs --repo OWNER/REPO" in result.output


def test_init_into_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / ".github").write_text("a file in the way")
    given = ["init", str(tmp_path), "--repo", "a/b", "--wheel", str(a_wheel(tmp_path.parent))]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 2, result.output
    assert "speedrun-verify.yml: Not a directory" in result.output


def of_branch(competition: Competition) -> set[str]:
    fork = competition.github.repos[f"{AUTHOR}/speedrun"].directory
    listed = git.text(fork, "ls-tree", "-r", "--name-only", "speedrun/mini-fast", "submissions")
    return {path.rpartition("mini/fast/")[2] for path in listed.splitlines() if "/fast/" in path}


def test_the_branch_is_the_folder_and_nothing_else(competition: Competition, folder: Path) -> None:
    """A file that was deleted here, wrong or secret, does not stay on the branch."""
    (folder / "notes.txt").write_text("a mistake\n")
    submit(folder)
    assert "notes.txt" in of_branch(competition)
    (folder / "notes.txt").unlink()
    result = submit(folder)
    assert result.exit_code == 0, result.output
    assert "removed from the branch: notes.txt; earlier commits still show it" in result.output
    assert of_branch(competition) == {
        p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()
    }


def test_an_entry_of_the_main_branch_is_changed_as_a_whole(
    competition: Competition, folder: Path
) -> None:
    """On a branch that is new, what the main branch holds is removed as well."""
    path = "submissions/mini/fast/old.txt"
    competition.github.commit(REPO, "main", {path: "old\n", path.replace("fast", "other"): "x\n"})
    result = submit(folder)
    assert result.exit_code == 0 and "removed from the branch: old.txt" in result.output
    assert "old.txt" not in of_branch(competition)
    fork = competition.github.repos[f"{AUTHOR}/speedrun"].directory
    listed = git.text(fork, "ls-tree", "-r", "--name-only", "speedrun/mini-fast")
    assert "submissions/mini/other/old.txt" in listed


def test_a_file_too_large_to_read_is_not_taken_for_a_deleted_one(
    competition: Competition, folder: Path
) -> None:
    (folder / "notes.txt").write_text("short\n")
    submit(folder)
    (folder / "notes.txt").write_bytes(b"x" * (MAX_LOG_BYTES + 1))
    submit(folder)
    assert "notes.txt" in of_branch(competition)


@pytest.fixture
def linked(competition: Competition, wandb: WandbDouble) -> Path:
    """A folder whose runs lie on W&B."""
    root = competition.checkout()
    for path, text in wandb_submission(wandb, "fast").items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root / "submissions/mini/fast"


def test_linked_runs_are_asked_for(competition: Competition, linked: Path) -> None:
    result = submit(linked, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "1/5 checked: Verified" in result.output


def test_what_check_rejects_after_asking_is_not_submitted(
    competition: Competition, linked: Path, wandb: WandbDouble
) -> None:
    wandb.world.runs.clear()
    result = submit(linked)
    assert result.exit_code == 1 and "Fix this first" in result.output, result.output
    checked = CliRunner().invoke(main, ["check", str(linked)])
    assert checked.exit_code == 1
    assert "run-not-found-or-private" in checked.output + result.output
    assert competition.github.calls == []


@pytest.mark.full("waits for each of its tries")
def test_a_service_that_is_down_does_not_hold_a_submission_up(
    competition: Competition, linked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not checked here for a reason on our side: the bot checks it on the pull request."""
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    result = submit(linked)
    assert result.exit_code == 0, result.output
    assert "1/5 checked: Not checked yet" in result.output
    assert sorted(competition.repo.pulls) == [1]


STEP = """
import sys
from pathlib import Path
from bot.github.host.submit import submit_folder
folder, root, repo = sys.argv[1:4]
submit_folder(Path(folder), Path(root), repo, None, False, print)
"""
LAST = 13


@kill_points(LAST, every=LAST)
def test_submit_killed_at_each_request(
    competition: Competition, folder: Path, monkeypatch: pytest.MonkeyPatch, at: int, phase: str
) -> None:
    """Given again it goes on: one pull request, one commit, the branch equal to the folder."""
    monkeypatch.setenv("GITHUB_TOKEN", f"token-of-{AUTHOR}")
    arguments = [str(folder), str(folder.parents[2]), REPO]
    killed = killed_at(competition, STEP, arguments, at, phase)
    assert killed or at > 8, "a submission takes at least eight requests"
    competition.github.faulty = True
    result = submit(folder)
    assert result.exit_code == 0, result.output
    assert sorted(competition.repo.pulls) == [1]
    fork = competition.github.repos[f"{AUTHOR}/speedrun"].directory
    assert git.text(fork, "rev-list", "--count", "main..speedrun/mini-fast") == "1"
    assert "submission.json" in of_branch(competition)


def test_a_branch_keeps_the_letters_of_a_folder() -> None:
    assert branch_of("records/short/2026-01-01_Muon") == "speedrun/records-short-2026-01-01_muon"
    assert branch_of("submissions/fast/a") == "speedrun/fast-a"
