"""Outages, lost answers, rate limits, killed processes, several workers (attack group 20).

After a second run the state is always the same: one comment, one check run that counts, one label,
one notice of the change, one append, and no lost verdict.
"""

from __future__ import annotations

import dataclasses as dc
import threading
import time
from collections.abc import Callable

import pytest

from bot.github.api.client import GitHubTrouble
from bot.github.host.settings import load_settings
from bot.github.pull_request.publish import publish
from bot.github.pull_request.record import append, read_snapshots
from bot.model.report import Settings
from bot.model.verdict import Finding
from bot.registry import Level, Status
from bot.render.comment import WORDS
from tests.bot.github.competition import (
    AUTHOR,
    MAINTAINER,
    NOW,
    REPO,
    STRANGER,
    Competition,
    kill_points,
    killed_at,
    submission,
    wandb_submission,
)
from tests.conftest import in_a_full_run
from tests.doubles.github import Fault, git
from tests.doubles.wandb import WandbDouble

pytestmark = pytest.mark.one_in(2)

FILE = "submissions/mini/fast/submission.json"


def mended(competition: Competition) -> int:
    """A pull request that failed and was mended: publishing it makes every kind of write.

    Check run, notice, edit of the comment, label, request of a reviewer.
    """
    files = submission("fast", seconds=90.0, summary="")
    pull = competition.open(files | {FILE: "{,}\n"}, body="")
    competition.answer(pull.number)
    competition.push(files)
    report = competition.verify(pull.number)
    assert report.status is Status.NEEDS_REVIEW
    return pull.number


def check_mended(competition: Competition, number: int) -> None:
    pull = competition.repo.pulls[number]
    assert f"### {WORDS[Status.NEEDS_REVIEW]}" in competition.sticky(number)
    told = [b for b in competition.comments(number) if "now passes" in b]
    assert len(told) == 1
    assert len(competition.comments(number)) == 2
    assert competition.labels(number) == ["speedrun: needs-review"]
    assert pull.reviewers == [MAINTAINER]
    counts = [c for c in competition.repo.checks.values() if c["head_sha"] == pull.head_sha]
    assert counts and counts[-1]["conclusion"] == "neutral"
    assert len({c["external_id"] for c in counts}) == 1
    assert all(len(c["annotations"]) == len(counts[0]["annotations"]) for c in counts)


WRITES = {
    "check": ("POST", "/check-runs$"),
    "notice": ("POST", "/issues/1/comments$"),
    "comment": ("PATCH", "/issues/comments/"),
    "label": ("PUT", "/issues/1/labels$"),
    "reviewer": ("POST", "/requested_reviewers$"),
}
FAULTS: dict[str, Callable[[str, str], Fault]] = {
    "502, stored": lambda m, p: Fault(m, p, 502, stored=True),
    "502, not stored": lambda m, p: Fault(m, p, 502),
    "503 twice": lambda m, p: Fault(m, p, 503, times=2),
    "cut, stored": lambda m, p: Fault(m, p, stored=True, cut=True),
    "cut, not stored": lambda m, p: Fault(m, p, cut=True),
    "secondary limit": lambda m, p: Fault(
        m, p, 403, "You have exceeded a secondary rate limit", {"Retry-After": "7"}
    ),
    "429": lambda m, p: Fault(m, p, 429, "Too many requests", {"Retry-After": "3"}),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("write", WRITES)
def test_fault_at_each_write(competition: Competition, write: str, fault: str) -> None:
    if (list(FAULTS).index(fault) - list(WRITES).index(write)) % len(WRITES):
        in_a_full_run("each fault at each of the other writes")
    number = mended(competition)
    planned = FAULTS[fault](*WRITES[write])
    competition.github.faults = [planned]
    competition.publish(number)
    assert planned.times == 0, "the fault was never met"
    check_mended(competition, number)
    since = len(competition.github.calls)
    competition.publish(number)
    assert {c.method for c in competition.github.calls[since:]} == {"GET"}
    check_mended(competition, number)


def test_retry_after_is_honoured(competition: Competition) -> None:
    number = mended(competition)
    competition.github.faults = [FAULTS["secondary limit"](*WRITES["check"])]
    competition.publish(number)
    assert competition.waits == [7.0]


def test_github_down_for_good_is_told_and_mended_by_the_next_run(competition: Competition) -> None:
    number = mended(competition)
    competition.github.faults = [Fault("PATCH", "/issues/comments/", 503, times=99)]
    with pytest.raises(GitHubTrouble, match="try again later"):
        competition.publish(number)
    competition.github.faults = []
    competition.publish(number)
    check_mended(competition, number)


@pytest.mark.parametrize("path", ["/pulls/1$", "/git/trees/", "/git/blobs/", "/issues/1/comments$"])
@pytest.mark.parametrize("status", [500, 502, 503])
def test_reads_are_repeated(competition: Competition, path: str, status: int) -> None:
    if (status + len(path)) % 3:
        in_a_full_run("each status at each of the other reads")
    pull = competition.open(submission("fast", seconds=90.0))
    competition.github.faults = [Fault("GET", path, status, times=2)]
    assert competition.answer(pull.number).status is Status.VERIFIED


def test_primary_limit_is_waited_for(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    words = "API rate limit exceeded for installation ID 1."
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()))}
    competition.github.faults = [Fault("GET", "/pulls/1$", 403, words, headers)]
    assert competition.answer(pull.number).status is Status.VERIFIED


def test_limit_that_lasts_an_hour_is_not_slept_through(
    competition: Competition, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    pull = competition.open(submission("fast", seconds=90.0))
    words = "API rate limit exceeded for installation ID 1."
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 3600)}
    competition.github.faults = [Fault("GET", "/pulls/1$", 403, words, headers, times=9)]
    with pytest.raises(GitHubTrouble, match="rate limit"):
        competition.verify(pull.number)
    assert sum(slept) < 30


def test_many_annotations_survive_a_cut_in_the_middle(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    report = competition.verify(pull.number)
    findings = tuple(
        Finding("schema", Level.ERROR, f"finding {n}", file=FILE, line=n + 1) for n in range(120)
    )
    verdict = dc.replace(report.verdicts[0], findings=findings, status=Status.REJECTED)
    report = dc.replace(report, verdicts=(verdict,))
    for skip in range(2):
        competition.github.faults = [Fault("PATCH", "/check-runs/", 502, stored=True, skip=skip)]
        publish(competition.as_job("publish"), report, Settings())
    (check,) = competition.repo.checks.values()
    assert check["conclusion"] == "failure"
    assert [a["start_line"] for a in check["annotations"]] == list(range(1, 121))


# ---- several at once ----------------------------------------------------------------------------


def test_two_workers_write_one_comment(competition: Competition) -> None:
    """Both look before either writes."""
    pull = competition.open(submission("fast", seconds=90.0))
    competition.verify(pull.number)
    barrier = threading.Barrier(2, timeout=20)
    seen = {"POST": 0}

    def meet(phase: str, method: str, path: str) -> None:
        if phase == "before" and method == "POST" and path.endswith("/check-runs"):
            seen["POST"] += 1
            competition.github.lock.release()
            try:
                barrier.wait()
            finally:
                competition.github.lock.acquire()

    competition.github.on_request = meet
    said: list[str] = []
    threads = [
        threading.Thread(target=lambda: said.append(competition.publish(pull.number)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    competition.github.on_request = None
    assert seen["POST"] == 2 and len(said) == 2
    competition.publish(pull.number)
    assert len(competition.comments(pull.number)) == 1
    assert competition.labels(pull.number) == ["speedrun: verified"]
    conclusions = {c["conclusion"] for c in competition.repo.checks.values()}
    assert conclusions == {"success"}


def test_reordered_deliveries_end_with_the_newest(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.verify(pull.number)
    old = competition.report
    competition.push({FILE: "{,}"})
    competition.answer(pull.number)
    new = competition.report
    for report in (old, new, old, old):
        competition.report = report
        competition.publish(pull.number)
    assert f"### {WORDS[Status.REJECTED]}" in competition.sticky(pull.number)
    assert competition.labels(pull.number) == ["speedrun: rejected"]
    assert competition.checks(pull.head_sha) == [("speedrun", "failure")]


def recorded(competition: Competition) -> list[str]:
    """What merges left on the evidence branch, beside the record of what was shown first."""
    if "evidence" not in competition.branches():
        return []
    listed = git.text(competition.repo.directory, "ls-tree", "-r", "--name-only", "evidence")
    return [path for path in listed.splitlines() if not path.startswith("seen/")]


def test_two_merges_at_once_are_both_recorded(competition: Competition, wandb: WandbDouble) -> None:
    first = competition.open(wandb_submission(wandb, "one"), branch="one")
    second = competition.open(
        wandb_submission(wandb, "two", STRANGER, salt=2), STRANGER, branch="two"
    )
    for pull in (first, second):
        competition.github.merge(REPO, pull.number)
    mine = competition.verify(first.number, merged=True), competition.snapshots
    theirs = competition.verify(second.number, merged=True), competition.snapshots

    def interfere(phase: str, method: str, path: str) -> None:
        """While the first is between its commit and its ref, the second appends."""
        if (phase, method) == ("before", "POST") and path.endswith("/git/refs"):
            competition.github.on_request = None
            competition.github.lock.release()
            other = threading.Thread(
                target=append,
                args=(competition.as_job("append"), theirs[0], read_snapshots(theirs[1]), NOW),
            )
            other.start()
            other.join(60)
            competition.github.lock.acquire()

    competition.github.on_request = interfere
    assert append(competition.as_job("append"), mine[0], read_snapshots(mine[1]), NOW)
    files = recorded(competition)
    assert [f for f in files if f.startswith(".speedrun")] == [
        ".speedrun/verdicts/000001.json",
        ".speedrun/verdicts/000002.json",
    ]
    assert sum("/one" in f for f in files) == sum("/two" in f for f in files) == 8


# ---- killed at each step ------------------------------------------------------------------------

RUN = """
import datetime, os, sys
from pathlib import Path
from bot.github.api.client import connect, open_repo
from bot.github.host.settings import load_settings
from bot.github.server.running import publish_file, record_file
what, root, report, snapshots, number = sys.argv[1:6]
settings = load_settings(Path(root))
for token, only in (("publish", None),) if what == "publish" else (("append",) * 2, ("tell",) * 2):
    repo = open_repo(connect(f"token-of-{token}"), "example-org/speedrun", settings.login)
    now = datetime.datetime(2026, 11, 28, tzinfo=datetime.UTC)
    if what == "publish":
        print(publish_file(repo, settings, Path(report), int(number), None, True))
    else:
        list(record_file(repo, settings, Path(report), int(number), Path(snapshots), only, now))
"""


def run_and_kill(competition: Competition, what: str, number: int, at: int, phase: str) -> bool:
    """Run a step in its own process and kill it at its `at`-th request; False when it ended."""
    root = competition.checkout()
    paths = [str(root), str(competition.report), str(competition.snapshots)]
    return killed_at(competition, RUN, [what, *paths, str(number)], at, phase)


@kill_points(9, every=9)
def test_publish_killed_at_each_request(competition: Competition, at: int, phase: str) -> None:
    number = mended(competition)
    killed = run_and_kill(competition, "publish", number, at, phase)
    assert killed or at == 9, "publish makes at least eight requests here"
    competition.publish(number)
    check_mended(competition, number)


@kill_points(9, every=9)
def test_record_killed_at_each_request(competition: Competition, at: int, phase: str) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.answer(pull.number)
    competition.github.merge(REPO, pull.number)
    competition.verify(pull.number, merged=True)
    run_and_kill(competition, "record", pull.number, at, phase)
    for _ in range(2):
        competition.record(pull.number)
    assert recorded(competition) == [".speedrun/verdicts/000001.json"]
    history = git.text(
        competition.repo.directory, "rev-list", "evidence", "--", ".speedrun"
    ).splitlines()
    assert len(history) == 1, "appended once"
    assert len([b for b in competition.comments(pull.number) if "On the board" in b]) == 1
    assert AUTHOR not in "".join(competition.branches())


def test_evaluation_that_broke_is_not_silence(competition: Competition) -> None:
    from bot.github.server.running import publish_file

    pull = competition.open(submission("fast", seconds=90.0))
    root = competition.checkout()
    said = publish_file(
        competition.as_job("publish"),
        load_settings(root),
        root / "absent.json",
        pull.number,
        None,
        False,
    )
    assert said.startswith("published")
    assert competition.checks(pull.head_sha) == [("speedrun", "neutral")]
    assert competition.labels(pull.number) == ["speedrun: unverifiable"]
    assert "on our side" in competition.sticky(pull.number)
