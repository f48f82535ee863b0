"""What a maintainer decides after a merge: it is recorded with the entry, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

from bot.registry import Status
from tests.bot.github.competition import AUTHOR, MAINTAINER, REPO, Competition, submission
from tests.doubles.github import git

RULE = "explanation-missing"


def merged(competition: Competition) -> int:
    """A merged entry that needs a review."""
    pull = competition.open(submission("plain", summary=""), body="")
    assert competition.answer(pull.number).status is Status.NEEDS_REVIEW
    competition.github.merge(REPO, pull.number)
    competition.record(pull.number)
    return pull.number


def recorded(competition: Competition, number: int) -> dict[str, Any]:
    text = git.text(
        competition.repo.directory, "show", f"evidence:.speedrun/verdicts/{number:06d}.json"
    )
    data: dict[str, Any] = json.loads(text)
    return data


def test_an_entry_is_accepted_after_its_merge(competition: Competition) -> None:
    number = merged(competition)
    before = recorded(competition, number)
    said = f"/accept {RULE} because the title says it all"
    comment = competition.say(number, MAINTAINER, said)
    assert competition.command(number, comment) == "accepted"
    assert competition.repo.dispatches[-1] == {
        "workflow": "speedrun-record.yml",
        "ref": "main",
        "inputs": {"pr": str(number)},
    }
    assert "recorded again with this decision" in competition.comments(number)[-1]
    assert competition.record(number)[0].startswith("recorded in ")
    after = recorded(competition, number)
    (verdict,) = after["verdicts"]
    assert verdict["accepted"] == {RULE: f"the title says it all ({MAINTAINER})"}
    assert verdict["status"] == "verified"
    assert {k: v for k, v in after.items() if k != "verdicts"} == {
        k: v for k, v in before.items() if k != "verdicts"
    }
    assert competition.record(number)[0] == "recorded before"


def test_nobody_else_accepts_it_and_nothing_of_a_closed_one(competition: Competition) -> None:
    number = merged(competition)
    comment = competition.say(number, AUTHOR, f"/accept {RULE} because it is mine")
    assert competition.command(number, comment) == "not permitted"
    pull = competition.open(submission("other", summary="", salt=4), branch="other", body="")
    competition.answer(pull.number)
    pull.state = "closed"
    comment = competition.say(pull.number, MAINTAINER, f"/accept {RULE} because fine")
    assert competition.command(pull.number, comment) == "closed"
