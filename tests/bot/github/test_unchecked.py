"""What could not be checked for days is a maintainer's turn, as the comment promises."""

from __future__ import annotations

import datetime as dt

from bot.github.host.watch import unanswered
from bot.model.report import Settings
from tests.bot.github.competition import Competition, wandb_submission
from tests.doubles.wandb import WandbDouble


def test_what_stays_unchecked_reaches_a_maintainer(
    competition: Competition, wandb: WandbDouble
) -> None:
    files = wandb_submission(wandb, "fast", runs=2)
    wandb.key = "z" * 40
    pull = competition.open(dict(files))
    competition.answer(pull.number)
    assert "speedrun: unverifiable" in competition.labels(pull.number)
    repo, settings = competition.as_job("watch"), Settings(review_days=3)
    answered = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    competition.repo.pulls[pull.number].created_at = "2026-01-01T00:00:00Z"
    early = unanswered(repo, settings, now=answered + dt.timedelta(days=2, hours=23))
    assert [line.text for line in early if "redo" in line.text] and not any(x.bad for x in early)
    late = unanswered(repo, settings, now=answered + dt.timedelta(days=3, hours=1))
    (line,) = [line for line in late if line.bad]
    assert f"pull request {pull.number} could not be checked for 3 days" in line.text
