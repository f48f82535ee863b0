"""A reproduction and a challenge as `speedrun check` tells them, on a small competition."""

import json

import pytest
from click.testing import CliRunner

from bot.cli import main
from tests.bot.competition import A10G, BASELINE, put, submission

RULES = '\n[reproduction]\nruns = 2\nby = "another-person"\nalpha = 0.05\n'


@pytest.fixture
def root(tmp_path):
    put(tmp_path, "tracks/one.toml", BASELINE + RULES)
    submission(tmp_path, "one", "base", [(3.27, 600.0), (3.271, 601.0), (3.272, 602.0)])
    run(tmp_path, "baseline", "freeze", "one", "base", "--date", "2026-01-02")
    arm(tmp_path, "faster", 610.0)
    return tmp_path


def arm(root, name, seconds, runs=3, people="author", **fields):
    """A submission on another card, on which the baseline takes 700 s."""
    mine = [(3.27 + n / 1000, seconds + n) for n in range(runs)]
    theirs = [(3.27 + n / 1000, 700.0 + n) for n in range(runs)]
    fields["contributors"] = [{"github": people, "roles": ["runs"]}]
    summary = "Run again, both arms in turn."
    submission(root, "one", name, mine, theirs, A10G, based_on="base", summary=summary, **fields)


def run(root, *arguments):
    return CliRunner().invoke(main, [*arguments, "--root", str(root)])


def check(root, name):
    return run(root, "check", f"{root}/submissions/one/{name}", "--offline")


def test_a_reproduction_says_what_it_makes_of_the_entry(root):
    arm(root, "again", 612.0, people="other", reproduces="one/faster")
    answer = check(root, "again")
    assert answer.exit_code == 0, answer.output
    words = " ".join(answer.output.split())
    assert "12.6% less training time than the baseline" in words.replace(" %", "%")
    assert "`submissions/one/faster` becomes confirmed" in words
    assert "Next: open the pull request" in words


def test_the_table_of_runs_names_the_arm_of_each(root):
    folder = f"{root}/submissions/one"
    told = run(root, "check", f"{folder}/faster", "--offline", "--format", "markdown").output
    rows = [line.split("|")[2].strip() for line in told.splitlines() if line.startswith("|")]
    assert rows.count("candidate") == 3 and rows.count("baseline") == 3
    assert "| run | arm | step |" in told
    alone = run(root, "check", f"{folder}/base", "--offline", "--format", "markdown").output
    assert "| run | step |" in alone
    assert "arm" in run(root, "check", f"{folder}/faster", "--offline", "-v").output


def test_a_folder_without_a_login_is_not_to_be_submitted_yet(root):
    arm(root, "again", 612.0, people="your-github-login", reproduces="one/faster")
    words = " ".join(check(root, "again").output.split())
    assert 'Next: replace "your-github-login" in submission.json with your GitHub login' in words
    assert "then open the pull request" in words
    assert "your-github-login" not in check(root, "faster").output
    arm(root, "mine", 612.0, people="your-github-login")
    (root / "tracks/baselines/one/base.json").unlink()
    words = " ".join(check(root, "mine").output.split())
    assert "with your GitHub login. Nothing is wrong, but it does not rank" in words


@pytest.mark.parametrize("place", ["submissions/faster", "runs/faster", "submissions/one/faster"])
@pytest.mark.parametrize("people", ["author", "your-github-login"])
def test_a_folder_that_no_board_finds_is_to_be_moved(root, place, people):
    arm(root, "faster", 610.0, people=people)
    (root / "runs").mkdir()
    (root / "submissions/one/faster").rename(root / place)
    words = " ".join(run(root, "check", f"{root}/{place}", "--offline").output.split())
    told = "move the folder to `submissions/one/faster`, then open the pull request" in words
    assert told is (place != "submissions/one/faster")
    refused = run(root, "submit", f"{root}/{place}", "--dry-run", "--repo", "an/example").output
    assert ("submissions/one/faster, where the board" in refused) is (place == "submissions/faster")


def test_the_entry_says_that_it_is_confirmed_and_a_baseline_is_due(root):
    status = json.loads(run(root, "baseline", "status", "one", "--format", "json").output)
    assert status["due"] is None
    arm(root, "again", 612.0, people="other", reproduces="one/faster")
    assert "1st of 2, confirmed" in " ".join(check(root, "faster").output.split())
    status = json.loads(run(root, "baseline", "status", "one", "--format", "json").output)
    assert status["due"] == "submissions/one/faster"


def test_a_track_without_a_baseline_is_said_not_to_be_open(root):
    (root / "tracks/baselines/one/base.json").unlink()
    words = " ".join(check(root, "faster").output.split())
    assert "no baseline is frozen, so the track is not open yet" in words
    assert "than the baseline" not in words and "place" not in words


def test_a_challenge_waits_for_a_maintainer(root):
    arm(root, "doubt", 700.0, people="critic", challenges="one/faster")
    words = " ".join(check(root, "doubt").output.split())
    assert "`submissions/one/faster` becomes challenged" in words
    assert "`/accept maintainer-decides because ...` lets it count" in words


def test_a_challenge_with_fewer_runs_needs_more(root):
    arm(root, "doubt", 700.0, runs=2, people="critic", challenges="submissions/one/faster")
    answer = check(root, "doubt")
    assert answer.exit_code == 1
    assert "a challenge needs at least 3 of each" in " ".join(answer.output.split())


def test_a_reply_to_nothing_needs_changes(root):
    arm(root, "again", 612.0, people="other", reproduces="one/nothing")
    answer = check(root, "again")
    assert answer.exit_code == 1
    assert "One has no entry one/nothing" in " ".join(answer.output.split())
