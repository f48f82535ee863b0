"""Rules on where runs come from: authors, scope, the open drawer, seeds, binding, explanation."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from bot.compute.case_statistics import of_case
from bot.model.case import Case, Neighbour, PullRequest, Unlisted
from bot.model.run import Run
from bot.model.submission import Folder
from bot.parse.json_file import read_json
from bot.rules import run_rules
from tests.bot.rules.run_cases import (
    LINK,
    PATH,
    SMALL,
    TRACKS,
    a_case,
    a_run,
    found,
    results_file,
)

OPENED = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def request(author: str = "example-user", *paths: str, body: str = "") -> PullRequest:
    return PullRequest(1, author, body, paths or (f"{PATH}/submission.json",), OPENED, "0" * 40)


def drawer(*losses: float) -> Case:
    others = tuple(
        a_run(n + 5, validation=(a_run(0).validation[-1]._replace(loss=loss),))
        for n, loss in enumerate(losses)
    )
    return a_case(unlisted=(Unlisted("example-team/nanogpt", others),))


def unreadable_list() -> Case:
    document = read_json(b'{"contributors": [', f"{PATH}/submission.json")
    return a_case(submission={"contributors": ()}, pull_request=request("somebody-else"),
                  documents={"submission.json": document})  # fmt: skip


def in_place(page: str) -> Case:
    """A results file without submission.json, whose author gives a page."""
    case = a_case(results=results_file({"author": {"name": "An Author", "url": page}}),
                  submission={"contributors": ()}, pull_request=request())  # fmt: skip
    return dc.replace(case, folder=Folder(PATH, {"speedrun_results.json": b"{}"}))


def searched(begun: str | None, ended: str | None = "2026-01-02T00:00:00Z", **about: Any) -> Case:
    """Two runs of a search, and two that confirm its choice, begun at `begun`."""
    runs = [
        a_run(n, created_at="2026-01-01T00:00:00Z", finished_at=ended, state=state)
        for n, state in enumerate(("finished", "crashed"))
    ]
    runs += [a_run(n, created_at=begun, seed=0 if n == 2 else n) for n in (2, 3)]
    submission = {"preregistration": "7"} | about
    return a_case(runs, arms=("search", "search"), submission=submission)


def looking() -> Case:
    """Without a preregistration, on a track whose looks fix the number."""
    case = searched("2026-01-03T00:00:00Z", preregistration=None)
    rule = dc.replace(SMALL.significance, looks=(2, 4))
    return dc.replace(case, track=dc.replace(SMALL, significance=rule))


TRIGGERS: list[tuple[str, Callable[[], Case]]] = [
    ("confirmation-not-fixed", lambda: searched(None)),
    ("confirmation-not-fixed", lambda: searched("2026-01-03T00:00:00Z", None)),
    (
        "confirmation-not-fixed",
        lambda: searched("2026-01-03T00:00:00Z", preregistration=None),
    ),
    ("author-not-contributor", lambda: a_case(pull_request=request("somebody-else"))),
    (
        "author-not-contributor",
        lambda: a_case(submission={"contributors": ()}, pull_request=request()),
    ),
    (
        "author-not-contributor",
        lambda: a_case(submission={"imported": {"url": "x"}}, pull_request=request()),
    ),
    ("author-not-contributor", lambda: in_place("https://github.com/somebody-else")),
    ("out-of-scope-change", lambda: a_case(pull_request=request("x", "bot/verify.py"))),
    ("out-of-scope-change", lambda: a_case(pull_request=request("x", f"{PATH}2/submission.json"))),
    ("unlisted-runs", lambda: drawer(3.31)),
    ("seed-reused", lambda: a_case([a_run(0), a_run(1, seed=0)])),
    ("explanation-missing", lambda: a_case(submission={"summary": "Faster."})),
    ("explanation-missing", lambda: a_case(submission={"summary": None})),
]
NEAR_MISSES: list[tuple[str, Callable[[], Case]]] = [
    ("confirmation-not-fixed", lambda: a_case()),
    ("confirmation-not-fixed", lambda: searched("2026-01-03T00:00:00Z")),
    ("confirmation-not-fixed", looking),
    # Variants of a search may share seeds, crash and differ in code.
    ("seed-reused", lambda: searched("2026-01-03T00:00:00Z")),
    ("run-crashed", lambda: searched("2026-01-03T00:00:00Z")),
    ("author-not-contributor", lambda: a_case()),
    ("author-not-contributor", lambda: a_case(pull_request=request("Example-User"))),
    ("author-not-contributor", lambda: unreadable_list()),
    ("author-not-contributor", lambda: in_place("https://github.com/Example-User/")),
    (
        "author-not-contributor",
        lambda: a_case(
            submission={"contributors": (), "imported": {"url": "x"}},
            pull_request=request(),
            merged=True,
            track=dc.replace(SMALL, imported=(PATH,)),
        ),
    ),
    ("out-of-scope-change", lambda: a_case(pull_request=request("x", f"{PATH}/logs/a.log"))),
    (
        "out-of-scope-change",
        lambda: a_case(
            pull_request=request("x", "submissions/nanogpt-small/two/submission.json"),
            submission_paths=("submissions/nanogpt-small/two",),
        ),
    ),
    ("unlisted-runs", lambda: a_case(unlisted=(Unlisted("example-team/nanogpt", ()),))),
    ("seed-reused", lambda: a_case([a_run(0), a_run(1, seed=0)], arms=("candidate", "baseline"))),
    ("seed-reused", lambda: a_case([a_run(0, seed=None), a_run(1, seed=None)])),
    (
        "explanation-missing",
        lambda: a_case(submission={"summary": None}, files={"README.md": b"a b c d e f"}),
    ),
    (
        "explanation-missing",
        lambda: a_case(
            submission={"summary": None}, pull_request=request(body="What I did is to try this.")
        ),
    ),
    (
        "explanation-missing",
        lambda: a_case(
            submission={"summary": None},
            results=results_file({"description": "The same as before with wider layers"}),
        ),
    ),
    (
        "explanation-missing",
        lambda: a_case(submission={"summary": None, "links": ({"kind": "post", "url": "x"},)}),
    ),
]


@pytest.mark.parametrize(("name", "make"), TRIGGERS)
def test_it_triggers(name: str, make: Callable[[], Case]) -> None:
    findings = found(name, make())
    assert [f.rule for f in findings] == [name]


@pytest.mark.parametrize(("name", "make"), NEAR_MISSES)
def test_a_near_miss_does_not(name: str, make: Callable[[], Case]) -> None:
    assert found(name, make()) == ()


def test_the_drawer_is_counted_and_the_statistics_are_given_with_it() -> None:
    (item,) = found("unlisted-runs", drawer(3.31, 3.30))
    assert (item.claimed, item.expected) == (2, 4)
    assert "2 runs with the same configuration" in item.message
    assert "losses 3.3000 to 3.3100" in item.message
    assert "with them n = 4" in item.message
    assert LINK.format(5) in (item.fix or "")


def test_the_drawer_is_named_in_one_order_whatever_order_it_came_in() -> None:
    case = drawer(3.31, 3.30, 3.29)
    (one,) = case.unlisted
    turned = dc.replace(case, unlisted=(dc.replace(one, runs=one.runs[::-1]),))
    (first,), (second,) = found("unlisted-runs", case), found("unlisted-runs", turned)
    links = ", ".join(LINK.format(n) for n in (5, 6, 7))
    assert first.fix == second.fix
    assert (first.fix or "").endswith(f"why they do not count: {links}")


def test_the_arms_in_the_drawer_are_told_apart() -> None:
    def one(n: int, config: str) -> Run:
        return a_run(n, code_sha256={}, config={"config_sha256": config})

    listed = [one(0, "ours"), one(1, "theirs")]
    left = (one(2, "ours"), one(3, "theirs"), one(4, "theirs"))
    drawer = Unlisted("example-team/nanogpt", left)
    case = a_case(listed, arms=("candidate", "baseline"), unlisted=(drawer,))
    ours, theirs = found("unlisted-runs", case)
    assert "has 1 run with the same configuration" in ours.message and "n = 2" in ours.message
    assert "has 2 runs of the baseline with the same configuration" in theirs.message
    assert theirs.message.endswith("does not list (times 60.0 to 60.0 s)")
    assert (theirs.claimed, theirs.expected) == (1, 3)
    # what another submission lists is in no drawer
    keys = frozenset(f"wandb:example-team/nanogpt/r{n}" for n in (3, 4))
    known = Neighbour("submissions/nanogpt-small/other", "nanogpt-small", "example-user", keys)
    shown = dc.replace(case, context=dc.replace(case.context, neighbours=(known,)))
    assert found("unlisted-runs", shown) == (ours,)


def test_runs_that_confirm_begin_after_the_search() -> None:
    findings = found("confirmation-not-fixed", searched("2026-01-01T12:00:00Z"))
    assert len(findings) == 2
    assert (
        "the run began on 2026-01-01 12:00 UTC, before the search ended on 2026-01-02 00:00 UTC"
        in findings[0].message
    )


def test_runs_of_a_search_count_in_no_mean() -> None:
    summary = of_case(searched("2026-01-03T00:00:00Z"))
    assert summary is not None and summary.n == 2
    assert summary.quality.values == (a_run(2).loss, a_run(3).loss)


@pytest.mark.parametrize(("author", "status"), [("somebody-else", "error"), ("example-user", None)])
def test_nobody_reproduces_in_another_name(author: str, status: str | None) -> None:
    listed = read_json(b'{"contributors": [{"github": "example-user"}]}', f"{PATH}/submission.json")
    raw = {"contributors": [{"github": "example-user"}]}
    case = a_case(
        track=TRACKS["single-gpu"],
        pull_request=request(author),
        documents={"submission.json": listed},
        submission={"raw": raw},
    )
    found = [f.level for f in run_rules(case) if f.rule == "author-not-contributor"]
    assert found == ([] if status is None else [status])


@pytest.mark.parametrize(
    ("seeds", "shown"),
    [
        ((5, 5), "2 have seed 5 (r0 and r1)"),
        ((5, 1, 5, 5), "3 have seed 5 (r0, r2 and r3)"),
        ((5, 5, 5, 5, 5), "5 have seed 5 (r0, r1 and 3 more runs)"),
    ],
)
def test_runs_that_share_a_seed_are_named(seeds: tuple[int, ...], shown: str) -> None:
    (item,) = found("seed-reused", a_case([a_run(n, seed=s) for n, s in enumerate(seeds)]))
    assert item.message == f"runs of the candidate arm share a seed: {shown}"
