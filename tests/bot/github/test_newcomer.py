"""What newcomers get wrong on a pull request: the right cause comes first, and the comment is short
and says what to do next."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from bot.registry import STATUS_NAMES, Status
from tests.bot.github.competition import (
    AUTHOR,
    OWNER,
    STRANGER,
    Competition,
    submission,
    wandb_submission,
)
from tests.bot.render.words import before_next, visible, words
from tests.doubles.wandb import WandbDouble

Files = dict[str, str]
Make = Callable[[Competition, WandbDouble], Files]
LIST = "submissions/mini/fast/submission.json"


def deleted(competition: Competition, wandb: WandbDouble) -> Files:
    files = wandb_submission(wandb, "fast")
    return {LIST: files[LIST].replace("runs/fast0", "runs/gone")}


def private(competition: Competition, wandb: WandbDouble) -> Files:
    files = wandb_submission(wandb, "fast", project="secret")
    wandb.set_access("example-team", "secret", "private")
    return files


def of_another(competition: Competition, wandb: WandbDouble) -> Files:
    files = wandb_submission(wandb, "fast", author=STRANGER)
    return {LIST: files[LIST].replace(f'"{STRANGER}"', f'"{AUTHOR}"')}


def not_tagged(competition: Competition, wandb: WandbDouble) -> Files:
    files = wandb_submission(wandb, "fast", author="")
    return {LIST: files[LIST].replace('"github": ""', f'"github": "{AUTHOR}"')}


def project(competition: Competition, wandb: WandbDouble) -> Files:
    files = wandb_submission(wandb, "fast")
    return {LIST: re.sub(r"speedrun/runs/fast0", "speedrun", files[LIST])}


def copied(competition: Competition, wandb: WandbDouble) -> Files:
    theirs = submission("record", OWNER, seconds=120.0, salt=90)
    files = submission("fast", seconds=90.0)
    files["submissions/mini/fast/logs/0.log"] = theirs["submissions/mini/record/logs/0.log"]
    return files


def beside(competition: Competition, wandb: WandbDouble) -> Files:
    return submission("fast", seconds=90.0) | {"README.md": "changed\n"}


def not_named(competition: Competition, wandb: WandbDouble) -> Files:
    return submission("fast", "example-org", seconds=90.0)


def wrong_track(competition: Competition, wandb: WandbDouble) -> Files:
    files = submission("fast", seconds=90.0)
    return files | {LIST: files[LIST].replace('"track": "mini"', '"track": "minni"')}


def huge(competition: Competition, wandb: WandbDouble) -> Files:
    files = submission("fast", seconds=90.0)
    return files | {"submissions/mini/fast/logs/0.log": "step 1\n" * 3_200_000}


def slow_claim(competition: Competition, wandb: WandbDouble) -> Files:
    return submission("fast", seconds=90.0, claims={"training_time_s": 60.0})


def too_high(competition: Competition, wandb: WandbDouble) -> Files:
    return submission("fast", seconds=90.0, shift=0.01)


def too_few(competition: Competition, wandb: WandbDouble) -> Files:
    return submission("fast", seconds=90.0, runs=1)


MISTAKES: tuple[tuple[Make, Status, str], ...] = (
    (deleted, Status.REJECTED, "run-not-found-or-private"),
    (private, Status.REJECTED, "run-not-found-or-private"),
    (of_another, Status.REJECTED, "run-of-another"),
    (not_tagged, Status.NEEDS_REVIEW, "run-not-bound"),
    (project, Status.REJECTED, "link-not-a-run"),
    (copied, Status.REJECTED, "duplicate-run"),
    (beside, Status.REJECTED, "out-of-scope-change"),
    (not_named, Status.REJECTED, "author-not-contributor"),
    (wrong_track, Status.REJECTED, "schema"),
    (slow_claim, Status.REJECTED, "claim-differs-from-run"),
    (too_high, Status.REJECTED, "target-missed"),
    (too_few, Status.NEEDS_RUNS, "too-few-runs"),
)
NAMES = [make.__name__ for make, _, _ in MISTAKES]


@pytest.mark.parametrize(("make", "status", "rule"), MISTAKES, ids=NAMES)
def test_the_comment_names_the_cause_and_the_next_step(
    make: Make, status: Status, rule: str, competition: Competition, wandb: WandbDouble
) -> None:
    pull = competition.open(make(competition, wandb))
    report = competition.answer(pull.number)
    assert report.status is status, report.verdicts[0].findings
    body = competition.sticky(pull.number)
    first = body.split("\n")[2].replace("\\", "")
    assert STATUS_NAMES[status] in first
    assert before_next(body) <= 15, visible(body)
    groups = re.findall(r"^\d\. (?:.*\n)*?.*\(\[?`([a-z-]+)`", body, re.MULTILINE)
    assert groups[0] == rule, groups
    assert len(words(visible(body))) <= 120 + 60 * len(groups), visible(body)


def test_a_log_that_is_too_large_is_named(competition: Competition, wandb: WandbDouble) -> None:
    pull = competition.open(huge(competition, wandb))
    competition.answer(pull.number)
    assert "logs/0.log" in visible(competition.sticky(pull.number))
