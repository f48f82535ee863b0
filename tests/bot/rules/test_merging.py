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
