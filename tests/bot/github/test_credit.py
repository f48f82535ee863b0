"""Credit: what one contributor may change of another's, and runs and code of other people."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pytest

from bot.model.report import Report
from bot.registry import Status
from tests.bot.github.competition import (
    AUTHOR,
    MAINTAINER,
    NOW,
    OWNER,
    REPO,
    STRANGER,
    Competition,
    submission,
)

RUNNER = {"github": AUTHOR, "roles": ["runs"]}
THINKER = {"github": STRANGER, "roles": ["idea", "code"]}


def entry(people: Sequence[dict[str, Any]]) -> dict[str, str]:
    return submission("fast", seconds=90.0, contributors=list(people))


def merged(competition: Competition) -> None:
    pull = competition.open(entry([RUNNER, THINKER]))
    competition.answer(pull.number)
    competition.github.merge(REPO, pull.number)
    competition.record(pull.number)


def decides(report: Report) -> list[str]:
    rule = "maintainer-decides"
    return [f.message for v in report.verdicts for f in v.findings if f.rule == rule]


@pytest.mark.parametrize(
    ("people", "what"),
    [
        ([{"github": AUTHOR, "roles": ["idea", "code", "runs"]}], "is no longer named"),
        (
            [RUNNER | {"roles": ["idea", "code", "runs"]}, THINKER | {"roles": ["review"]}],
            "is no longer credited for idea and code",
        ),
    ],
    ids=["removed", "roles taken"],
)
def test_credit_that_is_taken_from_somebody_waits_for_them(
    competition: Competition, people: list[dict[str, Any]], what: str
) -> None:
    merged(competition)
    pull = competition.open(entry(people), branch="edit")
    report = competition.answer(pull.number)
    said = "this changes the credit of people who have not agreed: "
    assert decides(report) == [f"{said}{STRANGER} {what}"]
    assert report.status is Status.NEEDS_REVIEW
    comment = competition.say(pull.number, STRANGER, "/confirm")
    assert competition.command(pull.number, comment) == "confirmed"
    assert decides(competition.verify(pull.number)) == []


def test_a_maintainer_may_accept_it(competition: Competition) -> None:
    merged(competition)
    pull = competition.open(entry([RUNNER]), branch="edit")
    competition.answer(pull.number)
    line = "/accept maintainer-decides because they never answered"
    comment = competition.say(pull.number, MAINTAINER, line)
    assert competition.command(pull.number, comment) == "accepted"
    report = competition.verify(pull.number)
    assert report.status is Status.VERIFIED
    assert "maintainer-decides" in report.verdicts[0].accepted


@pytest.mark.parametrize(
    ("people", "login"),
    [
        ([RUNNER, THINKER | {"roles": ["idea", "code", "writing"]}], AUTHOR),
        ([RUNNER | {"roles": ["runs", "writing"]}, THINKER], AUTHOR),
        ([RUNNER], STRANGER),
        ([THINKER], AUTHOR),
    ],
    ids=["a role more", "a role of one's own", "who leaves", "who leaves, the first"],
)
def test_what_takes_nothing_from_others(
    competition: Competition, people: list[dict[str, Any]], login: str
) -> None:
    merged(competition)
    pull = competition.open(entry(people), login=login, branch="edit")
    assert decides(competition.verify(pull.number)) == []


def test_the_first_place_is_somebodys_too(competition: Competition) -> None:
    merged(competition)
    turned = entry([THINKER, RUNNER])
    own = competition.open(turned, branch="edit")
    assert decides(competition.verify(own.number)) == []
    theirs = competition.open(turned, login=STRANGER, branch="theirs")
    assert decides(competition.verify(theirs.number)) == [
        f"this changes the credit of people who have not agreed: {AUTHOR} is no longer named first"
    ]


# ---- logs that name somebody --------------------------------------------------------------------


def naming(login: str) -> dict[str, str]:
    """Logs whose header says whose runs they are."""
    files = submission("named", seconds=90.0)
    head = f"seed: 1\ngithub_login: {login}\n"
    return {path: head + text if path.endswith(".log") else text for path, text in files.items()}


def test_logs_that_name_another_person_are_theirs(competition: Competition) -> None:
    report = competition.answer(competition.open(naming(STRANGER)).number)
    found = [f for f in report.verdicts[0].findings if f.rule == "run-of-another"]
    assert [f.expected for f in found] == [STRANGER]
    assert "bound to another-user" in found[0].message
    assert report.status is Status.REJECTED


def test_logs_that_name_their_author_are_as_good_as_before(competition: Competition) -> None:
    files = naming(AUTHOR)
    logs = [path for path in files if path.endswith(".log")]
    files |= {p: files[p].replace("seed: 1", f"seed: {n}") for n, p in enumerate(logs)}
    report = competition.answer(competition.open(files).number)
    assert report.status is Status.VERIFIED


# ---- code of other people -----------------------------------------------------------------------

SOURCE = "import torch\n" + "".join(f"layer_{i} = torch.zeros({i})\n" for i in range(60))


def with_code(name: str, author: str, **changes: Any) -> dict[str, str]:
    files = submission(name, author, code={"path": "train.py"}, **changes)
    return files | {f"submissions/mini/{name}/train.py": SOURCE}


def copied(report: Report) -> list[str]:
    return [f.message for v in report.verdicts for f in v.findings if f.rule == "copied-result"]


def test_the_code_of_a_merged_entry_is_named(competition: Competition) -> None:
    first = competition.open(with_code("better", OWNER, salt=5), login=OWNER, branch="first")
    assert copied(competition.answer(first.number)) == []
    competition.github.merge(REPO, first.number)
    competition.record(first.number)
    copy = with_code("mine", AUTHOR, seconds=98.5, salt=9)
    pull = competition.open(copy, branch="copy")
    report = competition.answer(pull.number)
    assert copied(report) == [
        f"the code is that of submissions/mini/better by {OWNER}, and the entry does not say so"
    ]
    assert report.status is Status.NEEDS_REVIEW
    competition.push(
        with_code("mine", AUTHOR, seconds=98.5, salt=9, based_on="mini/better"), branch="copy"
    )
    report = competition.answer(pull.number)
    assert report.status is Status.VERIFIED and copied(report) == []


def test_code_that_an_open_pull_request_showed_first(competition: Competition) -> None:
    first = competition.open(with_code("better", OWNER, salt=5), login=OWNER, branch="first")
    competition.verify(first.number)
    competition.remember(first.number, NOW - dt.timedelta(days=30))
    pull = competition.open(with_code("mine", AUTHOR, seconds=98.5, salt=9), branch="copy")
    report = competition.answer(pull.number)
    assert [f"#{first.number} by {OWNER}" in said for said in copied(report)] == [True]
    assert copied(competition.answer(first.number)) == []
