"""Who showed which runs first, whose they are, and who may say so."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from bot.github.api.threads import REPLY
from bot.github.pull_request import first_seen
from bot.github.pull_request.first_seen import read_memory
from bot.github.pull_request.waivers import Acted, read_acted
from bot.model.report import Report
from bot.model.run import Run, Validation
from bot.registry import Status
from tests.bot.github.competition import (
    AUTHOR,
    BOT,
    MAINTAINER,
    NOW,
    OWNER,
    REPO,
    STRANGER,
    Competition,
    submission,
    wandb_submission,
)
from tests.doubles.github import git
from tests.doubles.wandb import WandbDouble

pytestmark = pytest.mark.one_in(3)

LATER = NOW + dt.timedelta(days=90)


def kept(competition: Competition, number: int) -> dict[str, Any]:
    text = git.text(competition.repo.directory, "show", f"evidence:seen/{number}.json")
    found: dict[str, Any] = json.loads(text)
    return found


def findings(report: Report, rule: str) -> list[str]:
    return [f.message for v in report.verdicts for f in v.findings if f.rule == rule]


def test_what_is_kept(competition: Competition, wandb: WandbDouble) -> None:
    pull = competition.open(wandb_submission(wandb, "linked", runs=2))
    competition.answer(pull.number)
    data = kept(competition, pull.number)
    (entry,) = data["seen"]
    assert (data["author"], data["pull_request"]) == (AUTHOR, pull.number)
    assert isinstance(data["author_id"], int)
    assert (entry["at"], entry["head_sha"]) == ("2026-11-28T00:00:00Z", pull.head_sha)
    assert "wandb:example-team/speedrun/linked0" in entry["runs"]
    assert len(entry["points"]) == 2 and entry["points"][0][-1][0] == 1000
    for _, loss, clock in entry["points"][0]:
        assert (loss, clock) == (round(loss, 4), round(clock, 4))


def test_all_points_of_a_run_and_some_of_a_long_one() -> None:
    def run(steps: range) -> Run:
        points = tuple(Validation(s, 4 - s / 1e4, s * 0.1) for s in steps)
        return Run("log", "a.log", validation=points)

    assert first_seen.sampled(run(range(100, 3001, 100)))[::29] == (
        (100, 3.99, 10.0),
        (3000, 3.7, 300.0),
    )
    points = first_seen.sampled(run(range(1, 6401)))
    assert [step for step, _, _ in points] == list(range(100, 6401, 100))


def test_it_is_appended_once_and_survives_a_force_push(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.answer(pull.number)
    first = kept(competition, pull.number)
    assert competition.remember(pull.number, LATER) is None
    competition.push(submission("fast", seconds=85.0, salt=7))
    competition.verify(pull.number)
    competition.remember(pull.number, LATER)
    data = kept(competition, pull.number)
    assert data["seen"][0] == first["seen"][0]
    assert [entry["at"] for entry in data["seen"]] == [
        "2026-11-28T00:00:00Z",
        "2027-02-26T00:00:00Z",
    ]


def test_evaluation_compares_without_a_request(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    before = len(competition.github.calls)
    competition.verify(pull.number)
    without = len(competition.github.calls) - before
    competition.publish(pull.number)
    competition.remember(pull.number)
    before = len(competition.github.calls)
    competition.verify(pull.number)
    assert len(competition.github.calls) - before == without


def test_a_pull_request_that_was_opened_empty_is_dated_by_its_evidence(
    competition: Competition,
) -> None:
    """The number of an old, empty pull request buys no old date."""
    pull = competition.open({"submissions/mini/fast/README.md": "Soon.\n"})
    pull.created_at = "2026-01-01T00:00:00Z"
    competition.answer(pull.number)
    competition.push(submission("fast", seconds=90.0))
    competition.verify(pull.number)
    competition.remember(pull.number, LATER)
    report = competition.verify(pull.number)
    assert report.verdicts[0].date is not None
    assert report.verdicts[0].date.startswith("2027-02-26")


def test_runs_added_later_date_the_whole_later(tmp_path: Path) -> None:
    entry = {"submission": "submissions/mini/fast", "head_sha": "0" * 40, "points": []}
    early, late = "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"
    record = {
        "pull_request": 7,
        "author": AUTHOR,
        "seen": [
            {**entry, "at": early, "runs": ["wandb:a/b/one"]},
            {**entry, "at": late, "runs": ["wandb:a/b/one", "wandb:a/b/two"]},
        ],
    }
    (tmp_path / "seen").mkdir()
    (tmp_path / "seen/7.json").write_text(json.dumps(record))
    (tmp_path / "seen/8.json").write_text("{broken")
    memory = read_memory(tmp_path)
    path = "submissions/mini/fast"
    assert memory.since(7, path, {"wandb:a/b/one"}) == dt.datetime.fromisoformat(early)
    assert memory.since(7, path, {"wandb:a/b/one", "wandb:a/b/two"}) == dt.datetime.fromisoformat(
        late
    )
    assert memory.since(7, path, {"wandb:a/b/three"}) is None
    assert memory.since(9, path, {"wandb:a/b/one"}) is None
    assert [seen.pull_request for seen in memory.entries] == [7, 7]
    assert not read_memory(tmp_path / "none").known


def test_runs_that_another_pull_request_showed_first(competition: Competition) -> None:
    """A copy of the logs of an open pull request: the first to show them owns them."""
    first = competition.open(submission("fast", STRANGER, seconds=90.0), login=STRANGER)
    competition.answer(first.number)
    taken = competition.open(submission("mine", AUTHOR, seconds=90.0))
    report = competition.verify(taken.number)
    said = findings(report, "run-of-another")
    assert said and f"{STRANGER} showed each of the 8 runs first, in #{first.number}" in said[0]
    own = competition.verify(first.number)
    assert findings(own, "run-of-another") == []
    other = competition.open(submission("new", AUTHOR, seconds=91.0, salt=5), branch="new")
    assert findings(competition.verify(other.number), "run-of-another") == []


# ---- people -------------------------------------------------------------------------------------


def named(login: str) -> dict[str, str]:
    people = [{"github": AUTHOR, "roles": ["runs"]}, {"github": login, "roles": ["idea"]}]
    return submission("fast", seconds=90.0, contributors=people)


def test_who_is_named_hears_of_it_and_can_decline(competition: Competition) -> None:
    pull = competition.open(named(STRANGER))
    report = competition.answer(pull.number)
    assert any(f"without having acted: {STRANGER}." in line for line in report.advice)
    comment = competition.say(pull.number, STRANGER, "/decline")
    assert competition.command(pull.number, comment, "change") == "patch"
    competition.push(submission("fast", seconds=90.0))
    report = competition.verify(pull.number)
    assert report.advice == ()
    assert not findings(report, "author-not-contributor")


def test_a_declined_name_that_stays_is_an_error(competition: Competition) -> None:
    pull = competition.open(named(STRANGER))
    comment = competition.say(pull.number, STRANGER, "/decline")
    competition.command(pull.number, comment, "change")
    competition.push(named(STRANGER))
    report = competition.verify(pull.number)
    assert findings(report, "author-not-contributor") == [
        f"{STRANGER} declined to be named as a contributor"
    ]
    assert report.status is Status.REJECTED


def test_confirming_is_recorded_and_only_of_the_person_who_did(competition: Competition) -> None:
    pull = competition.open(named(STRANGER))
    competition.say(
        pull.number, AUTHOR, f'<!-- speedrun:acted {{"by": "{STRANGER}", "what": "confirm"}} -->'
    )
    assert competition.verify(pull.number).advice != ()
    comment = competition.say(pull.number, STRANGER, "/confirm")
    assert competition.command(pull.number, comment) == "confirmed"
    assert competition.verify(pull.number).advice == ()


def test_a_copy_of_our_own_line_below_another_first_line_counts_for_nothing() -> None:
    line = Acted(STRANGER, "confirm").marker()
    assert read_acted([f"{REPLY}5 {AUTHOR} -->\n{line}\nthanks"]) == {STRANGER: "confirm"}
    assert read_acted([f"Quoted:\n{line}\nthanks"]) == {}


def test_nobody_accepts_findings_on_their_own(competition: Competition) -> None:
    """Neither the author nor a contributor, though both may write to the repository."""
    competition.repo.collaborators[AUTHOR] = "write"
    people = [{"github": AUTHOR}, {"github": MAINTAINER}]
    made = submission("fast", seconds=90.0, contributors=people, summary="")
    pull = competition.open(made, body="")
    assert findings(competition.answer(pull.number), "explanation-missing")
    own = competition.say(pull.number, AUTHOR, "/accept explanation-missing because I know")
    assert competition.command(pull.number, own) == "not permitted"
    theirs = competition.say(pull.number, MAINTAINER, "/accept explanation-missing because seen")
    assert competition.command(pull.number, theirs) == "accepted"
    assert competition.verify(pull.number).verdicts[0].accepted == {}
    comment = competition.say(pull.number, OWNER, "/accept explanation-missing because seen")
    competition.command(pull.number, comment)
    accepted = competition.verify(pull.number).verdicts[0].accepted
    assert set(accepted) == {"explanation-missing"}


def test_a_reviewer_of_an_entry_has_no_say_in_it(competition: Competition) -> None:
    people = [
        {"github": OWNER, "roles": ["idea", "runs"]},
        {"github": STRANGER, "roles": ["review"]},
    ]
    made = submission("old", OWNER, seconds=110.0, salt=3, contributors=people)
    competition.github.commit(REPO, "main", dict(made))
    taken = {path: text for path, text in made.items() if path.endswith(".json")}
    taken = {path: text.replace(OWNER, AUTHOR) for path, text in taken.items()}
    pull = competition.open(taken, login=STRANGER)
    report = competition.verify(pull.number)
    assert findings(report, "author-not-contributor")


@pytest.mark.parametrize("kind", ["runs", "decline"])
def test_what_is_recorded_names_the_one_who_asked(competition: Competition, kind: str) -> None:
    link = "https://wandb.ai/example-team/speedrun/runs/r9"
    line = f"/runs add {link}" if kind == "runs" else "/decline"
    pull = competition.open(named(STRANGER))
    comment = competition.say(pull.number, STRANGER, line)
    competition.command(pull.number, comment, "change")
    (answer,) = competition.comments(pull.number, BOT)
    assert f'"by": "{STRANGER.replace("-", chr(92) + "u002d")}", "what": "{kind}"' in answer
