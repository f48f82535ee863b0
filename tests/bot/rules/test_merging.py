"""Findings of one cause: what follows is marked, and a weak finding never hides a strong one."""

from __future__ import annotations

import pytest

from bot.model.verdict import Finding, finding, status_of
from bot.registry import Grade, Level, Status, catalogue
from bot.rules.merging import FOLLOWS, merge

ERROR, WARNING = Level.ERROR, Level.WARNING


def of(rule: str, level: Level = ERROR, **fields: object) -> Finding:
    return finding(rule, "a message", level, **fields)


def because(*findings: Finding) -> list[str | None]:
    return [item.because for item in merge(findings)]


def test_every_rule_named_is_in_the_catalogue() -> None:
    named = {rule for item, causes in FOLLOWS.items() for rule in (item, *causes)}
    assert named <= set(catalogue())


def test_what_follows_is_marked_and_kept() -> None:
    found = [of("hardware-flops-mismatch", file="r.json"), of("mfu-impossible", file="r.json")]
    assert because(*found) == [None, "hardware-flops-mismatch"]


def test_another_file_has_another_cause() -> None:
    found = [of("hardware-flops-mismatch", file="a.json"), of("mfu-impossible", file="b.json")]
    assert because(*found) == [None, None]


def test_another_point_has_another_cause() -> None:
    assert because(of("run-crashed", point="130m"), of("too-few-runs", point="300m")) == [None] * 2
    assert because(of("run-crashed", point="130m"), of("too-few-runs", point="130m"))[1]


def test_a_warning_does_not_explain_an_error() -> None:
    found = [of("run-unfinished", WARNING), of("too-few-runs")]
    assert because(*found) == [None, None]
    assert status_of(merge(found), Grade.LOG) is Status.NEEDS_RUNS


def test_an_error_explains_a_warning() -> None:
    found = [of("token-count-mismatch", file="r"), of("model-flops-mismatch", WARNING, file="r")]
    assert because(*found) == [None, "token-count-mismatch"]


def test_what_our_side_could_not_read_is_not_the_submitters_fault() -> None:
    found = [of("evidence-unavailable"), of("metric-missing"), of("too-few-runs", claimed=1)]
    assert status_of(found, Grade.LOG) is Status.REJECTED
    assert status_of(merge(found), Grade.LOG) is Status.UNVERIFIABLE


def test_a_fault_of_its_own_still_rejects_beside_an_outage() -> None:
    found = [of("evidence-unavailable"), of("duplicate-run")]
    assert status_of(merge(found), Grade.LOG) is Status.REJECTED


@pytest.mark.parametrize(("claimed", "left"), [(0, 1), (1, 2)])
def test_that_no_run_counts_is_left_out_beside_the_error_that_says_why(
    claimed: int, left: int
) -> None:
    found = [of("copied-result"), of("too-few-runs", claimed=claimed)]
    assert len(merge(found)) == left


def test_that_no_run_counts_is_said_where_nothing_else_says_why() -> None:
    assert len(merge([of("too-few-runs", claimed=0), of("evidence-unavailable")])) == 2


@pytest.mark.parametrize(
    ("rule", "cause", "mine", "theirs", "follows"),
    [
        # Both fall with one act only if the act is the same.
        ("hardware-differs-from-run", "arms-differ", {"fix": "a"}, {"fix": "a"}, True),
        ("hardware-differs-from-run", "arms-differ", {"fix": "a"}, {"fix": "b"}, False),
        ("too-few-runs", "run-crashed", {"fix": "a"}, {"fix": "b"}, True),
        # What lacks in one run follows from what is wrong with that run, or with its entry.
        ("metric-missing", "run-crashed", {"run": "r0"}, {"run": "r0"}, True),
        ("metric-missing", "run-crashed", {"run": "r0"}, {"run": "r1"}, True),
        ("metric-missing", "run-crashed", {"run": "r0", "pointer": "/runs/0"},
         {"run": "r0", "pointer": "/runs/1"}, True),
        ("metric-missing", "run-crashed", {"run": "r0", "pointer": "/runs/0"},
         {"run": "r1", "pointer": "/runs/1"}, False),
        ("metric-missing", "schema", {"run": "r0", "pointer": "/runs/0"},
         {"pointer": "/runs/0/path"}, True),
        ("metric-missing", "schema", {"run": "r0", "pointer": "/runs/1"},
         {"pointer": "/runs/10/path"}, False),
        ("metric-missing", "run-crashed", {}, {"run": "r1", "pointer": "/runs/1"}, True),
        ("too-few-runs", "run-crashed", {"run": "r0", "pointer": "/runs/0"},
         {"run": "r1", "pointer": "/runs/1"}, True),
        # A figure follows from another of its own file; other findings from any file.
        ("explanation-missing", "json-invalid", {"file": "a"}, {"file": "a"}, True),
        ("explanation-missing", "json-invalid", {"file": "a"}, {"file": "b"}, False),
        ("code-differs-between-runs", "json-invalid", {"file": "a"}, {"file": "a"}, True),
        ("code-differs-between-runs", "json-invalid", {"file": "a"}, {"file": "b"}, False),
        ("seed-reused", "json-invalid", {"file": "a"}, {"file": "a"}, True),
        ("seed-reused", "json-invalid", {"file": "a"}, {"file": "b"}, False),
        ("too-few-runs", "run-crashed", {"file": "a"}, {"file": "b"}, True),
        # What names no point is about all of them.
        ("too-few-runs", "run-crashed", {"point": "a"}, {}, True),
        ("too-few-runs", "run-crashed", {}, {"point": "a"}, True),
        ("too-few-runs", "run-crashed", {"point": "a"}, {"point": "b"}, False),
        ("too-few-runs", "target-missed", {}, {}, False),
    ],
)  # fmt: skip
def test_what_follows_from_what(
    rule: str, cause: str, mine: dict[str, str], theirs: dict[str, str], follows: bool
) -> None:
    assert because(of(rule, **mine), of(cause, **theirs)) == [cause if follows else None, None]


@pytest.mark.parametrize(
    ("cause", "item", "follows"),
    [(ERROR, ERROR, True), (ERROR, Level.NOTE, True), (WARNING, WARNING, True),
     (WARNING, ERROR, False), (Level.NOTE, WARNING, False), (Level.NOTE, ERROR, False),
     (Level.NOTE, Level.NOTE, True), (WARNING, Level.NOTE, True)],
)  # fmt: skip
def test_a_cause_weighs_as_much_as_what_follows(cause: Level, item: Level, follows: bool) -> None:
    found = [of("run-crashed", cause), of("too-few-runs", item)]
    assert because(*found) == [None, "run-crashed" if follows else None]


@pytest.mark.parametrize(
    ("other", "kept"),
    [
        (of("copied-result"), False),
        (of("copied-result", WARNING), True),
        (of("evidence-unavailable"), True),
        (of("target-not-significant"), True),
    ],
)
def test_an_error_of_the_files_alone_says_why_no_run_counts(other: Finding, kept: bool) -> None:
    rules = [f.rule for f in merge([other, of("too-few-runs", claimed=0)])]
    assert rules == [other.rule, "too-few-runs"][: 1 + kept]
