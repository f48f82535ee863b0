"""The rules of the day on which the end of every run was first shown, not a link or a beginning."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from bot.model.case import Context, PullRequest, Seen
from bot.model.run import Validation
from bot.model.submission import Folder
from bot.registry import Status
from bot.verify import verify
from tests.bot.test_log_submissions import PATH, TRACKS, log

EARLY = dt.datetime(2024, 8, 1, tzinfo=dt.UTC)
LATE = dt.datetime(2025, 2, 1, tzinfo=dt.UTC)
END = Validation(400, 3.2771, 90.0)
BEGUN = Validation(200, 7.4667, 45.0)


def shown(at: dt.datetime, *ends: Validation, pull: int = 7) -> Seen:
    return Seen(pull, "example-user", at, points=tuple((end,) for end in ends), submission=PATH)


@pytest.mark.parametrize(
    ("seen", "status"),
    [
        # Before December 2024 one run at the target was enough.
        ([shown(EARLY, END)], Status.VERIFIED),
        ([shown(EARLY, BEGUN)], Status.NEEDS_RUNS),
        ([shown(EARLY)], Status.NEEDS_RUNS),
        ([shown(EARLY, BEGUN), shown(EARLY + dt.timedelta(days=9), END)], Status.VERIFIED),
        ([shown(EARLY, BEGUN), shown(LATE, END)], Status.NEEDS_RUNS),
        ([shown(EARLY, BEGUN), shown(EARLY, END, pull=8)], Status.NEEDS_RUNS),
        ([shown(EARLY, END._replace(loss=3.2773))], Status.NEEDS_RUNS),
    ],
)
def test_an_entry_is_dated_by_the_ends_of_its_runs(seen: list[Seen], status: Status) -> None:
    submission = {
        "schema_version": 1, "track": "nanogpt-small", "title": "Warm embeddings",
        "summary": "Momentum of the embeddings is warmed up over the first hundred steps.",
        "contributors": [{"github": "example-user"}],
        "runs": [{"source": "log", "path": "logs/0.log"}],
        "hardware": {"accelerator": "H100", "count": 8},
    }  # fmt: skip
    files = {
        "submission.json": json.dumps(submission).encode(),
        "logs/0.log": log("3.2771", 0).encode(),
    }
    context = Context(
        pull_request=PullRequest(7, "example-user", opened_at=EARLY),
        today=LATE.date(),
        first_seen=EARLY,
        seen=tuple(seen),
    )
    assert verify(Folder(PATH, files), TRACKS, context).status is status
