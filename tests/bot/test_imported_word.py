"""`imported` softens what the importer brought over, and nothing that a participant adds."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from bot.model.case import Context, PullRequest
from bot.model.submission import Folder
from bot.model.verdict import Verdict
from bot.parse.track_toml import load_tracks
from bot.registry import Level, Status
from bot.rules import MAX_PER_RULE
from bot.verify import verify
from tests.bot.test_log_submissions import log
from tests.conftest import ROOT

TRACKS = load_tracks(ROOT)
REQUEST = PullRequest(1, "example-user", opened_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))


def judged(loss: str, count: int, date: str, **context: Any) -> Verdict:
    value = {
        "schema_version": 1, "track": "nanogpt-small", "title": "Old",
        "imported": {"url": "https://example.org/r", "commit": "a" * 40, "date": date},
        "runs": [{"source": "log", "path": f"{i}.log"} for i in range(count)],
    }  # fmt: skip
    files = {f"{i}.log": log(f"{loss}{i}", i).encode() for i in range(count)}
    folder = Folder(
        "submissions/nanogpt-small/2025-01-01_example",
        files | {"submission.json": json.dumps(value).encode()},
    )
    return verify(folder, TRACKS, Context(**context))


def test_in_a_pull_request_it_is_judged_as_any_other() -> None:
    found = judged("3.377", 3, "2025-06-01", pull_request=REQUEST)
    assert found.status is Status.REJECTED
    assert {f.rule for f in found.findings} >= {"target-missed", "author-not-contributor"}
    assert judged("3.377", 3, "2025-06-01").status is Status.REJECTED
    merged = judged("3.377", 3, "2025-06-01", pull_request=REQUEST, merged=True)
    assert merged.status is Status.NEEDS_REVIEW


def test_it_does_not_date_a_pull_request_back() -> None:
    found = judged("3.277", 1, "2024-06-01", pull_request=REQUEST)
    assert "too-few-runs" in {f.rule for f in found.findings}


@pytest.mark.parametrize(
    ("date", "rules"), [("2024-06-01", set()), ("2025-06-01", {"too-few-runs"})]
)
def test_an_old_entry_is_judged_by_the_rules_of_its_day(date: str, rules: set[str]) -> None:
    assert {f.rule for f in judged("3.277", 1, date, merged=True).findings} == rules


def test_many_warnings_do_not_hide_an_error() -> None:
    info = {"eval/paloma/c4_en/bpb": 1.1}
    many = {"runs": [{"run_info": info}] * 9}
    last = {"runs": [{"run_info": info | {"model_size": "1"}}]}
    files = {f"results_{i}.json": json.dumps(many).encode() for i in range(3)}
    files["results_z.json"] = json.dumps(last).encode()
    verdict = verify(Folder("submissions/fineweb-edu/x", files), TRACKS)
    levels = [f.level for f in verdict.findings if f.rule == "schema"]
    assert levels == [Level.ERROR] + [Level.WARNING] * MAX_PER_RULE
