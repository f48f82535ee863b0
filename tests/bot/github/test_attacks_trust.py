"""Attacks on whom and what the bot trusts: links, moving heads, deciding files (12, 13, 17, 18).

Each test fails when its guard is removed; `test_guards.py` removes every guard once.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from typing import Any

import pytest

from bot.model.report import Kind
from bot.registry import Status
from tests.bot.github.competition import (
    OWNER,
    REPO,
    STRANGER,
    Competition,
    submission,
    wandb_submission,
)
from tests.doubles.wandb import WandbDouble

pytestmark = pytest.mark.one_in(2)

FILE = "submissions/mini/fast/submission.json"


def rules(report: Any) -> set[str]:
    return {f.rule for v in report.verdicts for f in v.errors}


# ---- 12: links that lead elsewhere --------------------------------------------------------------


def links_to(port: int) -> list[str]:
    return [
        f"https://wandb.ai@127.0.0.1:{port}/a/b/runs/c",
        f"https://wandb.ai.127.0.0.1:{port}/a/b/runs/c",
        f"http://127.0.0.1:{port}/a/b/runs/c",
        f"https://127.0.0.1:{port}/a/b/runs/c",
        f"https://wandb.ai:{port}/a/b/runs/c",
        "http://169.254.169.254/latest/meta-data",
        "https://wandb.ai/a/../../b/runs/c",
        "https://wandb.ai/a%2F..%2Fb/x/runs/c",
        "https://wandb.ai\\@127.0.0.1/a/b/runs/c",
        "file:///etc/passwd",
        "https://wаndb.ai/a/b/runs/c",
        "https://wandb.ai/a/b/runs/c\nHost: x",
        "https://[::1]/a/b/runs/c",
        "javascript:alert(1)",
        "gopher://wandb.ai/a/b/runs/c",
    ]


def test_hostile_links_cause_no_connection(competition: Competition, wandb: WandbDouble) -> None:
    asked: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.settimeout(0.2)
        stop = threading.Event()

        def listen() -> None:
            while not stop.is_set():
                try:
                    trap.accept()[0].close()
                    asked.append("connection")
                except TimeoutError:
                    continue

        thread = threading.Thread(target=listen)
        thread.start()
        links = links_to(trap.getsockname()[1])
        runs = [{"source": "wandb", "link": link} for link in links]
        files = submission("fast", runs=0)
        data = json.loads(files[FILE]) | {"runs": runs}
        pull = competition.open(files | {FILE: json.dumps(data)})
        report = competition.answer(pull.number)
        stop.set()
        thread.join()
    assert asked == []
    assert wandb.requests == []
    assert report.status is Status.REJECTED
    bad = [f for f in report.verdicts[0].errors if f.rule in ("host-not-allowed", "link-not-a-run")]
    assert len(bad) >= len(links)


# ---- 13: the head moves -------------------------------------------------------------------------


def test_nothing_is_said_about_a_commit_that_is_not_the_head(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.verify(pull.number)
    competition.push({FILE: "{}"})
    said = competition.publish(pull.number)
    assert "head moved on" in said
    assert competition.comments(pull.number) == []
    assert competition.repo.checks == {}
    assert competition.labels(pull.number) == []


def test_merged_commit_is_judged_not_the_branch(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.answer(pull.number)
    competition.github.merge(REPO, pull.number)
    competition.push({FILE: "{}"})
    report = competition.verify(pull.number, merged=True)
    assert report.head_sha == pull.merge_sha
    assert report.status is Status.VERIFIED


# ---- 17: changes of what decides ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".github/workflows/verify.yml", Kind.CODE),
        ("bot/verify.py", Kind.CODE),
        ("schemas/rules.json", Kind.RULES),
        ("tracks/mini.toml", Kind.RULES),
        ("bot/rules/text.py", Kind.RULES),
        (".github/speedrun.toml", Kind.CODE),
    ],
)
def test_deciding_files_are_never_green(competition: Competition, path: str, kind: Kind) -> None:
    pull = competition.open({path: "x = 1\n"})
    assert competition.answer(pull.number).kind == kind
    assert competition.checks(pull.head_sha) == [("speedrun", "neutral")]

    mixed = competition.open(submission("fast", seconds=90.0) | {path: "x\n"}, branch="mixed")
    report = competition.answer(mixed.number)
    assert "out-of-scope-change" in rules(report)
    assert competition.checks(mixed.head_sha) == [("speedrun", "failure")]


# ---- 18: another's run --------------------------------------------------------------------------


def test_run_of_another_entry(competition: Competition, wandb: WandbDouble) -> None:
    theirs = wandb_submission(wandb, "theirs", OWNER)
    competition.github.commit(REPO, "main", dict(theirs))
    data = json.loads(theirs["submissions/mini/theirs/submission.json"])
    files = submission("mine", STRANGER, runs=0)
    path = "submissions/mini/mine/submission.json"
    files[path] = json.dumps(json.loads(files[path]) | {"runs": data["runs"]})
    pull = competition.open(files, login=STRANGER)
    assert "duplicate-run" in rules(competition.answer(pull.number))


def test_log_of_another_entry(competition: Competition) -> None:
    files = submission("mine", seconds=120.0, salt=90)
    pull = competition.open(files)
    assert "duplicate-run" in rules(competition.answer(pull.number))


def test_one_set_of_runs_in_two_entries_of_one_pull_request(competition: Competition) -> None:
    one = submission("one", seconds=90.0, salt=5)
    two = {path.replace("mini/one", "mini/two"): text for path, text in one.items()}
    pull = competition.open(one | two)
    assert rules(competition.answer(pull.number)) == {"duplicate-run"}
    assert competition.checks(pull.head_sha) == [("speedrun", "failure")]


def test_two_entries_of_one_pull_request(competition: Competition) -> None:
    files = submission("one", seconds=90.0, salt=5) | submission("two", seconds=91.0, salt=6)
    pull = competition.open(files)
    assert rules(competition.answer(pull.number)) == set()


@pytest.mark.parametrize("folder", ["mini/record/fast", "mini/fast/inner"])
def test_an_entry_inside_another(competition: Competition, folder: str) -> None:
    """The board would never show it, or no longer show the one around it."""
    files = submission("fast", STRANGER, seconds=90.0)
    inner = submission("fast", STRANGER, seconds=91.0, salt=7)
    files |= {path.replace("mini/fast", folder): text for path, text in inner.items()}
    pull = competition.open(files, login=STRANGER)
    assert "unsafe-name" in rules(competition.verify(pull.number))


def test_nothing_of_a_pull_request_lands_on_our_disk(competition: Competition) -> None:
    files = submission("fast", seconds=90.0)
    files["submissions/mini/fast/conftest.py"] = "raise SystemExit(1)\n"
    pull = competition.open(files)
    competition.answer(pull.number)
    names = {n for _, _, found in os.walk(competition.folder) for n in found}
    assert "conftest.py" not in names
