"""An entry whose code is that of other people: what is said, and when nothing is."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from typing import Any

import pytest

from bot.evidence.code_hash import source_sha256
from bot.evidence.same_code import program_key
from bot.model.case import Case, Neighbour, PullRequest, Seen
from bot.model.submission import Contributor, Reply
from bot.model.track import Baseline
from bot.registry import Level
from tests.bot.rules.run_cases import PATH, SMALL, a_case, a_run, found

OWNER = "another-user"
SOURCE = "import torch\n" + "".join(f"layer_{i} = torch.zeros({i})\n" for i in range(40))
KEY = program_key(SOURCE)
DAY = dt.datetime(2026, 1, 10, tzinfo=dt.UTC)
THEIRS = "submissions/nanogpt-small/theirs"


def an_entry(path: str = THEIRS, **changes: Any) -> Neighbour:
    assert KEY is not None
    fields = {"people": frozenset({OWNER}), "code": frozenset({KEY})} | changes
    return Neighbour(path, "nanogpt-small", None, frozenset(), **fields)


def a_copy(*entries: Neighbour, source: str = SOURCE, **changes: Any) -> Case:
    """An entry of `example-user` with that source, beside `entries`."""
    fields: dict[str, Any] = {
        "neighbours": entries or (an_entry(),),
        "pull_request": PullRequest(7, "example-user"),
        "first_seen": DAY + dt.timedelta(1),
    }
    runs = [a_run(n, code_sha256={}) for n in range(2)]
    return a_case(runs, files={"train.py": source.encode()}, **fields | changes)


def messages(case: Case) -> list[str]:
    return [f.message for f in found("copied-result", case)]


@pytest.mark.parametrize("request_", [PullRequest(7, "example-user"), None])
def test_the_code_of_an_entry_of_other_people(request_: PullRequest | None) -> None:
    (item,) = found("copied-result", a_copy(pull_request=request_))
    assert item.level is Level.WARNING
    assert item.message == (
        f"the code is that of {THEIRS} by {OWNER}, and the entry does not say so"
    )
    assert item.fix is not None and '`"based_on": "nanogpt-small/theirs"`' in item.fix


def test_with_other_comments_it_is_the_same_code() -> None:
    assert messages(a_copy(source="# all mine\n" + SOURCE))


def people(*logins: str) -> dict[str, Any]:
    return {"contributors": tuple(map(Contributor, logins))}


MIDDLE = an_entry(f"{THEIRS}-2", code=frozenset(), based_on="theirs")
NOTHING_TO_SAY: dict[str, Case] = {
    "one line more": a_copy(source=SOURCE + "print(1)\n"),
    "of the same people": a_copy(an_entry(people=frozenset({OWNER, "example-user"}))),
    "they take part": a_copy(submission=people("example-user", OWNER)),
    "based on it": a_copy(submission={"based_on": "theirs"}),
    "based on it, with its track": a_copy(submission={"based_on": "nanogpt-small/theirs"}),
    "based on what is": a_copy(an_entry(), MIDDLE, submission={"based_on": "theirs-2"}),
    "they are based on it": a_copy(an_entry(based_on=PATH)),
    "another with the code is named": a_copy(
        an_entry(), an_entry(f"{THEIRS}-3"), submission={"based_on": "theirs-3"}
    ),
    "a reproduction": a_copy(submission={"reply": Reply("reproduces", "nanogpt-small/theirs")}),
    "on the board": a_copy(merged=True),
    "it had it when it was merged": a_copy(before=an_entry(PATH)),
    "whose it is is unknown": a_copy(an_entry(people=frozenset())),
    "shown before": a_copy(seen=(Seen(9, OWNER, DAY + dt.timedelta(2), submission=THEIRS),)),
}


@pytest.mark.parametrize("name", NOTHING_TO_SAY)
def test_what_is_no_copy(name: str) -> None:
    assert messages(NOTHING_TO_SAY[name]) == []


def test_an_edit_that_takes_the_code_of_others() -> None:
    assert messages(a_copy(before=an_entry(PATH, code=frozenset({"program:other"}))))


def a_record(by: str = OWNER, at: dt.datetime = DAY, path: str = THEIRS) -> Seen:
    assert KEY is not None
    return Seen(3, by, at, frozenset({KEY}), submission=path)


def test_code_that_an_earlier_pull_request_showed() -> None:
    case = a_copy(an_entry(f"{THEIRS}-4", code=frozenset()), seen=(a_record(),))
    assert messages(case) == [
        f"the code is that of #3 by {OWNER}, which showed it first, and the entry does not say so"
    ]
    other = dc.replace(case.context, seen=(a_record(by="Example-User"),))
    assert messages(dc.replace(case, context=other)) == []
    later = dc.replace(case.context, seen=(a_record(at=DAY + dt.timedelta(2)),))
    assert messages(dc.replace(case, context=later)) == []
    named = dc.replace(case.submission, based_on="nanogpt-small/theirs")
    assert messages(dc.replace(case, submission=named)) == []


def test_a_frozen_baseline_is_nobodys() -> None:
    fields: dict[str, Any] = {"cost_metric": "steps", "costs": (1.0,), "losses": (3.3,)}
    digest = source_sha256(SOURCE)
    frozen = Baseline("first", "submissions/x/y", "2026-01-01", sources=(digest,), **fields)
    assert messages(dc.replace(a_copy(), track=dc.replace(SMALL, baselines=(frozen,)))) == []
    entry = dc.replace(frozen, sources=(), submission=THEIRS)
    assert messages(dc.replace(a_copy(), track=dc.replace(SMALL, baselines=(entry,)))) == []
    other = dc.replace(frozen, sources=("a" * 64,))
    assert messages(dc.replace(a_copy(), track=dc.replace(SMALL, baselines=(other,))))
