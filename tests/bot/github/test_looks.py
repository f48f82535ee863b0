"""A look is taken once: a new pull request, and runs that are replaced, do not start again."""

from __future__ import annotations

import json

import pytest

from bot.model.report import Report
from bot.registry import Status
from tests.bot.github.competition import (
    AUTHOR,
    REPO,
    STRANGER,
    TRACK,
    Competition,
    log,
    submission,
)
from tests.bot.github.test_first_seen import findings, kept

pytestmark = pytest.mark.one_in(3)

LOOKING = TRACK.replace("alpha = 0.01", "alpha = 0.01\nlooks = [4, 6, 8]")
WEAK = (3.2771, 3.2830, 3.2766, 3.2799, 3.2815, 3.2768)
"""Below the target in the mean, and far from proved."""
STRONG = (3.2671, 3.2683, 3.2666, 3.2679, 3.2675, 3.2668, 3.2681, 3.2670)


@pytest.fixture
def looking(competition: Competition) -> Competition:
    """The competition with a track that judges at 4, 6 and 8 runs."""
    competition.github.commit(REPO, "main", {"tracks/mini.toml": LOOKING})
    return competition


def grown(name: str, losses: dict[int, float], author: str = AUTHOR) -> dict[str, str]:
    """A submission whose runs are given by their number, which makes each what it is."""
    files = submission(name, author, runs=0, seconds=90.0)
    path = f"submissions/mini/{name}/submission.json"
    listed = [{"source": "log", "path": f"logs/{n}.log"} for n in losses]
    files[path] = json.dumps(json.loads(files[path]) | {"runs": listed})
    for n, loss in losses.items():
        files[f"submissions/mini/{name}/logs/{n}.log"] = log(loss, 90.0 + 0.3 * n, 500 + n)
    return files


def weak(*numbers: int) -> dict[int, float]:
    return {n: WEAK[n] for n in numbers}


def strong(*numbers: int) -> dict[int, float]:
    return {n: STRONG[n - 10] for n in numbers}


def status(report: Report) -> Status:
    return report.verdicts[0].status


def said(report: Report) -> str:
    return " ".join(findings(report, "target-not-significant"))


def test_a_look_is_remembered(looking: Competition) -> None:
    pull = looking.open(grown("fast", weak(0, 1, 2, 3)))
    assert status(looking.answer(pull.number)) is Status.NEEDS_RUNS
    (entry,) = kept(looking, pull.number)["seen"]
    (look,) = entry["looks"]
    assert (look["point"], look["runs"]) == ("main", 4)
    # The same runs again are the same look, and nothing is written anew.
    looking.answer(pull.number)
    assert len(kept(looking, pull.number)["seen"]) == 1


def test_runs_that_replace_others_are_not_judged_at_the_same_look(looking: Competition) -> None:
    pull = looking.open(grown("fast", weak(0, 1, 2, 3)))
    looking.answer(pull.number)
    looking.push(grown("fast", strong(10, 11, 12, 13)))
    report = looking.verify(pull.number)
    assert status(report) is Status.NEEDS_RUNS
    assert "the look at 4 runs was already taken, with other runs" in said(report)
    gone = " ".join(findings(report, "unlisted-runs"))
    assert "showed 4 runs that it no longer lists" in gone and "(loss 3.2771)" in gone
    # At the next look they are.
    looking.push(grown("fast", strong(10, 11, 12, 13, 14, 15)))
    assert not said(looking.verify(pull.number))


@pytest.mark.parametrize("name", ["fast", "renamed"])
def test_a_new_pull_request_does_not_start_again(looking: Competition, name: str) -> None:
    """With the name of the first, or with one of its runs under another."""
    first = looking.open(grown("fast", weak(0, 1, 2, 3)))
    looking.answer(first.number)
    again = looking.open(grown(name, weak(2) | strong(10, 11, 12)), branch="again", title="Again")
    report = looking.verify(again.number)
    assert status(report) is Status.NEEDS_RUNS
    assert "the look at 4 runs was already taken" in said(report)


def test_more_runs_go_on_to_the_next_look(looking: Competition) -> None:
    """All runs of the first pull request and two more: the look at 6, whatever its number."""
    first = looking.open(grown("fast", weak(0, 1, 2, 3)))
    looking.answer(first.number)
    again = looking.open(grown("fast", weak(0, 1, 2, 3, 4, 5)), branch="again", title="Again")
    report = looking.answer(again.number)
    assert report.verdicts[0].statistics is not None
    assert report.verdicts[0].statistics.decision.judged == 6
    assert not findings(report, "unlisted-runs") and "taken before" not in said(report)


def test_fresh_runs_under_another_name_have_looks_of_their_own(looking: Competition) -> None:
    first = looking.open(grown("fast", weak(0, 1, 2, 3)))
    looking.answer(first.number)
    other = looking.open(grown("other", strong(10, 11, 12, 13)), branch="other", title="Other")
    report = looking.verify(other.number)
    assert not said(report) and not findings(report, "unlisted-runs")


def test_nobody_spends_the_looks_of_others(looking: Competition) -> None:
    """A stranger who takes the folder's name first."""
    taken = looking.open(grown("fast", weak(0, 1, 2, 3), STRANGER), login=STRANGER)
    looking.answer(taken.number)
    mine = looking.open(grown("fast", strong(10, 11, 12, 13)), branch="mine", title="Mine")
    assert not said(looking.verify(mine.number))


def test_a_track_without_looks_asks_for_no_earlier_runs(competition: Competition) -> None:
    pull = competition.open(grown("fast", weak(0, 1, 2, 3)))
    competition.answer(pull.number)
    competition.push(grown("fast", strong(10, 11, 12, 13)))
    report = competition.verify(pull.number)
    assert not said(report)
    assert "any more" not in " ".join(findings(report, "unlisted-runs"))
