"""Whole journeys on the doubles, each with its exact final state and number of requests."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.registry import Status
from bot.render.comment import WORDS
from tests.bot.github.competition import (
    AUTHOR,
    BOT,
    MAINTAINER,
    REPO,
    STRANGER,
    TRACK,
    Competition,
    submission,
    wandb_submission,
)
from tests.doubles.github import git
from tests.doubles.wandb import WandbDouble


def test_good_submission(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    report = competition.answer(pull.number)
    assert report.status is Status.VERIFIED
    body = competition.sticky(pull.number)
    assert f"### {WORDS[Status.VERIFIED]}: " in body
    assert "a new record by 30.0 s" in body and "from training logs" in body
    assert pull.head_sha[:7] in body
    assert len(competition.comments(pull.number)) == 1
    assert competition.checks(pull.head_sha) == [("speedrun", "success")]
    assert competition.labels(pull.number) == ["speedrun: verified"]
    assert sorted(competition.branches()) == ["evidence", "main"]


def test_a_record_that_was_not_timed_beside_the_last_one(competition: Competition) -> None:
    """On a track with the default levels a maintainer looks first."""
    track = TRACK.replace('[levels]\nimprovement-not-significant = "note"\n', "")
    competition.github.commit(REPO, "main", {"tracks/mini.toml": track})
    pull = competition.open(submission("fast", seconds=90.0))
    assert competition.answer(pull.number).status is Status.NEEDS_REVIEW
    assert "a possible record" in competition.sticky(pull.number)


def test_publishing_again_changes_nothing(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.answer(pull.number)
    since = len(competition.github.calls)
    competition.publish(pull.number)
    assert [c.method for c in competition.github.calls[since:]] == ["GET", "GET", "GET"]


def test_fixed_after_rejection(competition: Competition) -> None:
    files = submission("fast", seconds=90.0)
    pull = competition.open(files | {"submissions/mini/fast/submission.json": "{,}\n"})
    assert competition.answer(pull.number).status is Status.REJECTED
    first = pull.head_sha
    assert competition.checks(first) == [("speedrun", "failure")]
    assert competition.labels(pull.number) == ["speedrun: rejected"]
    annotations = next(iter(competition.repo.checks.values()))["annotations"]
    assert [(a["path"], a["start_line"]) for a in annotations][0] == (
        "submissions/mini/fast/submission.json",
        1,
    )

    competition.push(files)
    assert competition.answer(pull.number).status is Status.VERIFIED
    assert pull.head_sha != first
    assert competition.checks(pull.head_sha) == [("speedrun", "success")]
    assert competition.checks(first) == [("speedrun", "failure")]
    assert competition.labels(pull.number) == ["speedrun: verified"]
    told = [b for b in competition.comments(pull.number) if "now passes" in b]
    assert len(told) == 1
    assert len(competition.comments(pull.number)) == 2
    assert f"### {WORDS[Status.VERIFIED]}" in competition.sticky(pull.number)

    competition.answer(pull.number)
    assert len(competition.comments(pull.number)) == 2


def test_needs_runs_then_more_runs_pushed(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0, runs=2))
    report = competition.answer(pull.number)
    assert report.status is Status.NEEDS_RUNS
    body = competition.sticky(pull.number)
    assert f"### {WORDS[Status.NEEDS_RUNS]}" in body
    assert "more run" in body and "/runs add LINK" in body
    assert competition.checks(pull.head_sha) == [("speedrun", "failure")]

    competition.push(submission("fast", seconds=90.0, runs=8))
    assert competition.answer(pull.number).status is Status.VERIFIED
    assert competition.labels(pull.number) == ["speedrun: verified"]
    assert len(competition.comments(pull.number)) == 2


def test_linked_runs(competition: Competition, wandb: WandbDouble) -> None:
    pull = competition.open(wandb_submission(wandb, "linked"))
    report = competition.answer(pull.number)
    assert report.status is Status.VERIFIED, report.verdicts[0].findings
    assert "from W&B runs" in competition.sticky(pull.number)


def test_private_run(competition: Competition, wandb: WandbDouble) -> None:
    files = wandb_submission(wandb, "hidden", project="secret")
    wandb.set_access("example-team", "secret", "private")
    pull = competition.open(files)
    report = competition.answer(pull.number)
    assert report.status is Status.REJECTED
    assert {f.rule for f in report.verdicts[0].errors} >= {"run-not-found-or-private"}
    body = competition.sticky(pull.number)
    assert "not found" in body and "public" in body
    assert competition.checks(pull.head_sha) == [("speedrun", "failure")]


def test_run_that_only_our_key_reads(competition: Competition, wandb: WandbDouble) -> None:
    files = wandb_submission(wandb, "team", project="ours")
    wandb.set_access("example-team", "ours", "restricted")
    pull = competition.open(files)
    report = competition.answer(pull.number)
    assert report.status is Status.REJECTED
    assert "project-not-public" in {f.rule for f in report.verdicts[0].errors}
    assert report.verdicts[0].runs == ()
    assert "3.277" not in competition.sticky(pull.number)
    assert competition.labels(pull.number) == ["speedrun: rejected"]


def test_without_a_key_nothing_is_green(competition: Competition) -> None:
    link = {"source": "wandb", "link": "https://wandb.ai/example-team/speedrun/runs/r1"}
    files = submission("nokey", runs=0)
    path = "submissions/mini/nokey/submission.json"
    files[path] = json.dumps(json.loads(files[path]) | {"runs": [link]}, indent=2)
    pull = competition.open(files)
    report = competition.answer(pull.number)
    assert report.status is Status.UNVERIFIABLE
    assert competition.checks(pull.head_sha) == [("speedrun", "neutral")]
    assert competition.labels(pull.number) == ["speedrun: unverifiable"]
    assert "for a reason on our side" in competition.sticky(pull.number)


def test_deleted_fork(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    del competition.github.repos[f"{AUTHOR}/speedrun"]
    assert competition.answer(pull.number).status is Status.VERIFIED
    assert competition.checks(pull.head_sha) == [("speedrun", "success")]


def test_rule_change_shows_the_rank_difference(competition: Competition) -> None:
    stricter = TRACK.replace("target = 3.28", "target = 3.27")
    pull = competition.open({"tracks/mini.toml": stricter}, login=STRANGER)
    report = competition.answer(pull.number)
    assert [(c.submission, c.before, c.after) for c in report.changes] == [
        ("submissions/mini/record", "place 1 of 1", "not ranked")
    ]
    body = competition.sticky(pull.number)
    assert "1 place would change" in body
    assert "| `mini` | `submissions/mini/record` | place 1 of 1 | not ranked |" in body
    assert competition.checks(pull.head_sha) == [("speedrun", "neutral")]
    assert competition.labels(pull.number) == ["speedrun: rules"]


def test_code_and_other_changes_get_an_answer(competition: Competition) -> None:
    for number, (path, kind) in enumerate(
        (("bot/x.py", "code"), ("NOTES.md", "other"), ("reference_trainer/y.py", "baseline")), 1
    ):
        pull = competition.open({path: "x = 1\n"}, branch=f"b{number}")
        assert competition.answer(pull.number).kind == kind
        assert competition.labels(pull.number) == [f"speedrun: {kind}"]
        assert competition.checks(pull.head_sha) == [("speedrun", "neutral")]


@pytest.mark.parametrize("credited", [True, False])
def test_code_runs_and_idea_of_a_claim_are_three_peoples(
    competition: Competition, wandb: WandbDouble, credited: bool
) -> None:
    """The runs are bound to STRANGER: named under Credit they count, else they are another's."""
    links = []
    for name, seconds, salt in (("quick", 90.0, 0), ("slow", 100.0, 7)):
        files = wandb_submission(wandb, name, STRANGER, runs=2, seconds=seconds, salt=salt)
        data = json.loads(files[f"submissions/mini/{name}/submission.json"])
        links.append(" ".join(run["link"] for run in data["runs"]))
    credit = f"{AUTHOR}: code\n{STRANGER}: runs\nexample-thinker: idea\n" if credited else ""
    body = (
        "- [x] Yes, and I claim it\n\nTrack: lab\n\n"
        f"Runs with the change: {links[0]}\n\nRuns of the baseline: {links[1]}\n\n"
        f"Credit:\n\n<!-- one on each line -->\n{credit}"
    )
    pull = competition.open({"reference_trainer/a.py": "x = 1\n"}, body=body)
    (verdict,) = competition.answer(pull.number).verdicts
    assert ("run-of-another" in {f.rule for f in verdict.errors}) is not credited
    if credited:
        assert verdict.people == (AUTHOR, STRANGER, "example-thinker")


def test_claim_about_the_baseline_needs_runs_of_both_arms(
    competition: Competition, wandb: WandbDouble
) -> None:
    fast = json.loads(
        wandb_submission(wandb, "quick", runs=2)["submissions/mini/quick/submission.json"]
    )
    slow = json.loads(
        wandb_submission(wandb, "slow", runs=2, seconds=100.0, salt=7)[
            "submissions/mini/slow/submission.json"
        ]
    )
    ticked = "- [x] Yes, and I claim it: the runs are below (they may come from several people)\n"
    body = f"## Approach\n\nFused kernels.\n\n{ticked}\nTrack: lab\n"
    pull = competition.open({"reference_trainer/a.py": "x = 1\n"}, body=body)
    report = competition.answer(pull.number)
    assert report.verdicts == ()
    assert "runs of the baseline" in competition.sticky(pull.number)

    links = ["\n".join(run["link"] for run in data["runs"]) for data in (fast, slow)]
    text = f"{body}\nRuns with the change:\n{links[0]}\n\nRuns of the baseline:\n{links[1]}\n"
    competition.repo.issues[pull.number].body = text
    report = competition.answer(pull.number)
    assert report.status in (Status.VERIFIED, Status.NEEDS_REVIEW), report.verdicts[0].findings
    assert "the claim is checked below" in competition.sticky(pull.number)


def test_merge_is_recorded_once_and_told(competition: Competition, wandb: WandbDouble) -> None:
    pull = competition.open(wandb_submission(wandb, "linked"))
    competition.answer(pull.number)
    competition.github.merge(REPO, pull.number)
    said = competition.record(pull.number)
    assert said[0].startswith("recorded in ")
    branches = competition.branches()
    assert sorted(branches) == ["evidence", "main"]
    files = git.text(
        competition.repo.directory, "ls-tree", "-r", "--name-only", "evidence"
    ).splitlines()
    assert ".speedrun/verdicts/000001.json" in files
    assert sum(f.startswith("example-team/speedrun/linked") for f in files) == 8
    closing = [b for b in competition.comments(pull.number) if "On the board" in b]
    assert len(closing) == 1
    assert "`submissions/mini/linked` is a new record by 30.0 s ([" in closing[0]
    assert "https://example.org/board/entries/mini/linked/" in closing[0]

    assert competition.record(pull.number)[0] == "recorded before"
    assert competition.branches() == branches
    assert len([b for b in competition.comments(pull.number) if "On the board" in b]) == 1


def test_merged_entry_is_on_the_site(competition: Competition, wandb: WandbDouble) -> None:
    """From the merge over the evidence branch to the page that the closing comment links."""
    pytest.importorskip("mkdocs", reason="needs mkdocs (extra `site`)")
    pull = competition.open(wandb_submission(wandb, "linked"))
    competition.answer(pull.number)
    competition.github.merge(REPO, pull.number)
    competition.record(pull.number)
    root = competition.checkout()
    out = competition.folder / "site"
    asked = len(wandb.requests)
    result = CliRunner().invoke(
        main,
        [
            "site",
            "build",
            "--root",
            str(root),
            "--out",
            str(out),
            "--evidence",
            str(root / "evidence"),
        ],
    )
    assert result.exit_code == 0, result.output
    assert len(wandb.requests) == asked, "the site is built from the evidence alone"
    closing = next(b for b in competition.comments(pull.number) if "On the board" in b)
    address = closing.split("(https://example.org/board/")[1].split(")")[0]
    page = (out / address / "index.html").read_text()
    assert "Entry linked" in page and "3.277" in page


def test_several_submissions_in_one_pull_request(competition: Competition) -> None:
    files = submission("one", seconds=90.0) | submission("two", seconds=95.0, salt=2)
    pull = competition.open(files)
    report = competition.answer(pull.number)
    assert [v.status for v in report.verdicts] == [Status.VERIFIED, Status.VERIFIED]
    body = competition.sticky(pull.number)
    assert "submissions/mini/one" in body and "submissions/mini/two" in body


def test_review_asks_one_reviewer(competition: Competition) -> None:
    files = submission("plain", seconds=90.0, summary="")
    pull = competition.open(files, body="")
    report = competition.answer(pull.number)
    assert report.status is Status.NEEDS_REVIEW, report.verdicts[0].findings
    competition.publish(pull.number)
    assert pull.reviewers == [MAINTAINER]
    assert "within 3 days" in competition.sticky(pull.number)
    assert competition.checks(pull.head_sha) == [("speedrun", "neutral")]


def test_beaten_meanwhile_is_placed_anew(competition: Competition) -> None:
    slow = competition.open(submission("slow", seconds=95.0, salt=1), branch="slow")
    competition.answer(slow.number)
    assert "a new record by 25.0 s" in competition.sticky(slow.number)
    faster = submission("fast", STRANGER, seconds=80.0, salt=5)
    competition.github.commit(REPO, "main", dict(faster))
    competition.github.merge(REPO, slow.number)
    competition.record(slow.number)
    closing = next(b for b in competition.comments(slow.number) if "On the board" in b)
    assert "is 2nd of 3" in closing
    assert "record. Congratulations" not in closing
    assert BOT in {c["user"] for c in competition.repo.comments.values()}
