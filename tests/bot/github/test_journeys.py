"""Whole journeys on the doubles, each with its exact final state and number of requests."""

from __future__ import annotations

from bot.verdict import Status
from tests.bot.github.competition import AUTHOR, BOT, MAINTAINER, REPO, Competition, submission


def calls(competition: Competition, since: int = 0) -> int:
    """Requests beyond one for each blob and one for each hundred changed files."""
    free = ("/git/blobs/", "/files")
    made = competition.github.calls[since:]
    return sum(not any(part in call.path for part in free) for call in made)


def test_good_submission(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    report = competition.answer(pull.number)
    assert report.status is Status.VERIFIED, report.verdicts
    body = competition.sticky(pull.number)
    assert "### Verified" in body
    assert "place 1 of 2" in body
    assert competition.checks(pull.head_sha) == [("speedrun", "success")]
    assert competition.labels(pull.number) == ["speedrun: verified"]
    assert len(competition.comments(pull.number)) == 1
    assert sorted(competition.branches()) == ["main"]
    assert calls(competition) <= 15
