"""A preregistered experiment on the doubles: form, pull request, verdict, summary in the issue."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from bot.cli import main
from bot.github.api.client import GitHubTrouble
from bot.model.experiment import Stop
from bot.parse.plan import FIELDS, PREREGISTRATION, STOPS, read_plan
from bot.parse.track_toml import parse_track
from tests.bot.github.competition import (
    AUTHOR,
    BOT,
    REPO,
    STRANGER,
    TRACK,
    Competition,
    submission,
    wandb_submission,
)
from tests.conftest import ROOT
from tests.doubles.github import Fault
from tests.doubles.wandb import WandbDouble

pytestmark = pytest.mark.one_in(3)

PLANNED, PASSES, WORDS = STOPS
EVIL = "</details> @example-org/all <script>alert(1)</script> | # no\u202e --> ![x](http://x)"


def plan(
    runs: str = "8",
    stop: str = PLANNED,
    confirmed: str = "training_time_s < 110",
    track: str = "Mini: time to 3.28",
    hypothesis: str = "A larger learning rate for the embedding is faster.",
) -> str:
    """A filled form as GitHub renders it into the issue's body."""
    answers = {
        "track": track,
        "hypothesis": hypothesis,
        "confirmed": confirmed or "_No response_",
        "runs": runs,
        "stop": stop,
        "details": "_No response_",
    }
    return "\n\n".join(f"### {FIELDS[k]}\n\n{v}" for k, v in answers.items()) + "\n"


def announce(competition: Competition, body: str, login: str = AUTHOR) -> int:
    issue = competition.github.open_issue(REPO, login, "Preregistration: embedding rate", body)
    issue.labels = [PREREGISTRATION]
    issue.created_at = "2026-11-01T08:00:00Z"
    return issue.number


def run_it(competition: Competition, issue: object, **kinds: Any) -> tuple[str, str]:
    """The experiment as far as the merge: the pull request's comment, the issue's last."""
    entry = submission("embedding", preregistration=issue, **kinds)
    pull = competition.open(entry)
    competition.answer(pull.number)
    said = competition.sticky(pull.number)
    competition.github.merge(REPO, pull.number)
    competition.record(pull.number)
    number = issue if isinstance(issue, int) else 1
    return read(said), read((competition.comments(number) or [""])[-1])


def read(text: str) -> str:
    """Markdown as a reader sees it: without the escapes."""
    return re.sub(r"\\(?=[^a-zA-Z0-9\s])", "", text)


def test_form_is_the_one_that_is_read() -> None:
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/preregistration.yml").read_text())
    assert {f["id"]: f["attributes"]["label"] for f in form["body"]} == FIELDS
    stop = next(f for f in form["body"] if f["id"] == "stop")
    assert stop["attributes"]["options"] == list(STOPS)
    assert form["labels"] == [PREREGISTRATION]


def test_an_experiment_that_confirms_its_hypothesis(competition: Competition) -> None:
    number = announce(competition, plan())
    assert competition.command(number, "", "answer", "issues") == "registered"
    assert '"preregistration": 1' in competition.comments(number)[0]
    assert "8 finished runs" in competition.comments(number)[0]
    said, summary = run_it(competition, number, seconds=100.0)
    assert "the result confirms the hypothesis; as planned so far" in said.lower()
    assert summary.startswith("<!-- speedrun:experiment 2 submissions/mini/embedding -->")
    assert "**Result**: The result confirms the hypothesis; run as planned." in summary
    assert "https://example.org/board/entries/mini/embedding/" in summary
    assert "| training_time_s | < 110 | 100.175 | holds |" in summary
    assert "| Finished runs | 8 | 8 | as planned |" in summary
    before = competition.comments(number)
    competition.record(2)
    assert competition.comments(number) == before, "a second time changes nothing"


def test_an_experiment_that_fails_its_hypothesis(competition: Competition) -> None:
    number = announce(competition, plan(confirmed="training_time_s < 90\nloss < 3.28"))
    said, summary = run_it(competition, number, seconds=100.0)
    assert "The result does not confirm the hypothesis; run as planned." in summary
    assert "`submissions/mini/embedding` (#2) is a new record by 20.0 s.\n\n| |" in summary
    assert "| training_time_s | < 90 | 100.175 | does not hold |" in summary
    assert "| loss | < 3.28 | 3.2774125 | holds |" in summary
    assert "does not confirm" in said


def test_an_experiment_that_ends_without_a_place(competition: Competition) -> None:
    number = announce(competition, plan(confirmed="loss < 3.28"))
    _, summary = run_it(competition, number, shift=0.05)
    assert "has the status `Needs changes`" in summary
    assert "| loss | < 3.28 | 3.3274125 | does not hold |" in summary


def test_a_stopping_rule_that_was_not_kept(competition: Competition) -> None:
    number = announce(competition, plan(runs="6"))
    said, summary = run_it(competition, number)
    for text in (said, summary):
        assert "not as planned: finished runs and stopping rule" in text.lower()
    assert "went on after the planned runs" in summary


def test_missing_runs_are_to_come_while_it_is_open(competition: Competition) -> None:
    number = announce(competition, plan(runs="12"))
    said, summary = run_it(competition, number)
    assert "Runs are still to come; as planned so far." in said
    assert "8 so far" in said
    assert "stopped at 8, before the end" in summary


def test_stops_when_the_test_passes(competition: Competition) -> None:
    number = announce(competition, plan(runs="12", stop=PASSES))
    _, summary = run_it(competition, number)
    assert "stopped at 8, the test passes" in summary
    assert "run as planned" in summary


def test_an_edit_after_the_first_run_is_shown(competition: Competition, wandb: WandbDouble) -> None:
    number = announce(competition, plan())
    competition.repo.issues[number].edited_at = "2026-11-05T08:00:00Z"
    files = wandb_submission(wandb, "linked")
    path = "submissions/mini/linked/submission.json"
    data = json.loads(files[path]) | {"preregistration": f"#{number}"}
    for run in wandb.world.runs.values():
        run.created_at = "2026-11-03T08:00:00"
    pull = competition.open({path: json.dumps(data)})
    competition.answer(pull.number)
    said = read(competition.sticky(pull.number))
    assert "not as planned: text of the issue" in said
    assert "last edited 2026-11-05 08:00 UTC | first run 2026-11-03 08:00 UTC | differs" in said
    assert (
        "| Registered | 2026-11-01 08:00 UTC by example-user | first run 2026-11-03 08:00 UTC | as"
        in said
    )
    competition.repo.issues[number].edited_at = "2026-11-02T08:00:00Z"
    competition.answer(pull.number)
    assert "not as planned" not in competition.sticky(pull.number)


@pytest.mark.parametrize(
    "named, words",
    [
        (99, "names issue 99, which is not there"),
        ("https://github.com/another-org/other/issues/1", "write the number of an issue"),
        ("soon", "write the number of an issue"),
    ],
)
def test_an_issue_that_cannot_be_read(competition: Competition, named: object, words: str) -> None:
    announce(competition, plan())
    said, summary = run_it(competition, named)
    assert words in said
    assert "Verified" in said
    assert summary == ""


def test_a_pull_request_is_no_plan(competition: Competition) -> None:
    first = competition.open(submission("first", salt=4), branch="first")
    pull = competition.open(submission("second", preregistration=first.number))
    competition.answer(pull.number)
    assert "names issue 1, which is not there" in competition.sticky(pull.number)


def test_a_plan_is_text_of_a_stranger(competition: Competition) -> None:
    body = plan(runs="many", stop="whenever", confirmed=f"{EVIL}\nlos < 3", hypothesis=EVIL)
    number = announce(competition, body, STRANGER)
    assert competition.command(number, "", "answer", "issues") == "registered in part"
    run_it(competition, number)
    said = competition.sticky(2)
    answer, summary = competition.comments(number)
    assert "did you mean loss?" in answer and "write one number, such as 8" in answer
    for text in (said, summary, answer):
        assert (
            not re.search(r"(?<!\\)<script", text)
            and "\u202e" not in text
            and "@example-org" not in text
        )
        assert text.count("<details>") == text.count("</details>")
        assert "![" not in text.replace("!\\[", "")
    assert "is for people to judge" in summary


def test_an_edited_form_edits_the_answer(competition: Competition) -> None:
    number = announce(competition, plan(runs="?"))
    competition.command(number, "", "answer", "issues")
    competition.repo.issues[number].body = plan(runs="4 runs")
    assert competition.command(number, "", "answer", "issues") == "registered"
    assert len(competition.comments(number)) == 1
    assert "4 finished runs" in competition.comments(number)[0]


def test_an_issue_that_is_gone_at_the_merge(competition: Competition) -> None:
    number = announce(competition, plan())
    pull = competition.open(submission("embedding", preregistration=number))
    competition.answer(pull.number)
    competition.github.merge(REPO, pull.number)
    del competition.repo.issues[number]
    said = competition.record(pull.number)
    assert any(line.startswith("told: ") for line in said)
    assert not any(line.startswith("issue 1: ") for line in said)


def with_a_fault(competition: Competition, fault: Fault) -> list[str]:
    """An experiment that is merged; the issue's comments after a fault while it was recorded."""
    number = announce(competition, plan())
    pull = competition.open(submission("embedding", preregistration=number))
    competition.answer(pull.number)
    competition.github.merge(REPO, pull.number)
    competition.github.faults = [fault]
    competition.record(pull.number)
    return competition.comments(number)


@pytest.mark.parametrize("stored", [False, True], ids=["refused", "answer lost"])
def test_an_outage_leaves_one_summary(competition: Competition, stored: bool) -> None:
    """GitHub stores the comment and its answer is lost, or it stores nothing."""
    fault = Fault("POST", "/issues/1/comments", stored=stored)
    comments = with_a_fault(competition, fault)
    assert len(comments) == 1 and "**Result**" in comments[0]


def test_a_plan_that_cannot_be_read_now_is_told_and_blocks_nothing(
    competition: Competition,
) -> None:
    number = announce(competition, plan())
    pull = competition.open(submission("embedding", preregistration=number))
    competition.github.faults = [Fault("POST", "/graphql", times=99)]
    competition.answer(pull.number)
    said = read(competition.sticky(pull.number))
    assert "Verified" in said and "could not be read now; /verify tries again" in said
    competition.github.merge(REPO, pull.number)
    with pytest.raises(GitHubTrouble):
        competition.verify(pull.number, merged=True)
    competition.github.faults = []
    competition.record(pull.number)
    assert "**Result**" in competition.comments(number)[0]


def test_summary_is_only_ever_ours(competition: Competition) -> None:
    number = announce(competition, plan())
    planted = "<!-- speedrun:experiment 2 submissions/mini/embedding -->\nAll is well."
    competition.say(number, STRANGER, planted)
    run_it(competition, number)
    assert competition.comments(number, STRANGER) == [planted]
    assert len(competition.comments(number, BOT)) == 1


def test_plan_of_an_own_text_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    import tomllib

    track = parse_track(tomllib.loads(TRACK), "mini.toml")
    issue = {
        "number": 7,
        "title": "Idea",
        "author": AUTHOR,
        "createdAt": "2026-11-01T08:00:00Z",
        "lastEditedAt": None,
        "body": plan(confirmed="- `loss ≤ 3.28`\n- steps<900", stop=WORDS),
    }
    found = read_plan(issue, {"mini": track})
    assert [(c.metric, c.sign, c.value) for c in found.conditions] == [
        ("loss", "<=", 3.28),
        ("steps", "<", 900.0),
    ]
    assert (found.stop, found.runs, found.unread) == (Stop.WORDS, 8, ())
    empty = read_plan({**issue, "body": None}, {"mini": track})
    assert (empty.runs, empty.stop, empty.conditions) == (None, None, ())
    assert len(empty.unread) == 4


def steps(seed: int) -> str:
    """What the trainer leaves beside a run."""
    made = {
        "corpus": ("c" * 64, [], "finished"),
        "train": (f"{seed:064x}", ["c" * 64], "finished"),
        "results": (f"{seed + 100:064x}", [f"{seed:064x}"], "finished"),
    }
    return json.dumps(
        {
            "schema_version": 1,
            "steps": {
                name: {"identity": identity, "inputs": inputs, "status": status, "at": "x"}
                for name, (identity, inputs, status) in made.items()
            },
        }
    )


@pytest.mark.full("builds the site")
def test_the_site_draws_the_chain_and_lists_the_experiment(competition: Competition) -> None:
    pytest.importorskip("mkdocs", reason="needs mkdocs (extra `site`)")
    number = announce(competition, plan(confirmed="training_time_s < 90", hypothesis=EVIL))
    kinds = [
        ("wandb-report", "https://wandb.ai/x/y/reports/z--1"),
        ("model", "https://huggingface.co/example-user/mini"),
    ]
    links = [{"kind": kind, "url": url} for kind, url in kinds]
    entry = submission("embedding", preregistration=number, links=links)
    for n in range(2):
        name = f"submissions/mini/embedding/execution{'_2' if n else ''}.json"
        entry[name] = steps(n)
    pull = competition.open(entry)
    competition.answer(pull.number)
    competition.github.merge(REPO, pull.number)
    competition.record(pull.number)
    root = competition.checkout()
    out = competition.folder / "site"
    built = CliRunner().invoke(
        main,
        ["site", "build", "--root", str(root), "--out", str(out), "--repository", REPO]
        + ["--evidence", str(root / "evidence")],
    )
    assert built.exit_code == 0, built.output
    page = (out / "entries/mini/embedding/index.html").read_text()
    assert "The result does not confirm the hypothesis; run as planned." in page
    assert f'<a href="https://github.com/{REPO}/issues/1"' in page
    assert f'<a href="https://github.com/{REPO}/pull/2"' in page
    for says in ("Step corpus", "Step train", "2 × finished", "8 runs", "Pull #2", "Verdict"):
        assert says in page, says
    assert str(pull.merge_sha) in page and "c" * 64 in page
    assert "<script>alert" not in page and "\u202e" not in page
    experiments = (out / "experiments/index.html").read_text()
    for link in (f"{REPO}/issues/1", f"{REPO}/pull/2", "execution.json", kinds[0][1], kinds[1][1]):
        assert link in experiments, link
    assert "does not confirm" in experiments
    assert kinds[1][1] in (out / "models/index.html").read_text()
