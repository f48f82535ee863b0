"""Levels that a track sets for its rules: what is weak in them never hides what is strong."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.judge import judge
from bot.model.case import Case
from bot.registry import FIRM, Level, Status, catalogue, level_on
from bot.rules import run_rules
from tests.bot.rules.run_cases import SMALL, a_case, a_run
from tests.bot.rules.second_cases import TOTAL, offline, rows


def levels(case: Case, rule: str) -> set[Level]:
    return {item.level for item in run_rules(case) if item.rule == rule}


def case_of(runs: list[Any], **asked: str) -> Case:
    track = dc.replace(SMALL, levels={k.replace("_", "-"): v for k, v in asked.items()})
    return a_case(runs, track=track)


@pytest.mark.parametrize(
    ("asked", "shown"),
    [(None, Level.ERROR), ("error", Level.ERROR), ("warning", Level.WARNING),
     ("note", Level.WARNING), ("off", Level.WARNING)],
)  # fmt: skip
def test_a_contradiction_stays_a_warning_at_least(asked: str | None, shown: Level) -> None:
    said = {} if asked is None else {"witnesses_disagree": asked}
    impossible = a_run(0, runtime_s=50.0)  # the clock says 60 s
    assert levels(case_of([impossible, a_run(1)], **said), "witnesses-disagree") == {shown}


def test_a_warning_that_a_track_would_hide_still_needs_a_review() -> None:
    slow = offline(rows(lambda step: {"train/dt": 0.1}))
    weak = case_of([slow], witnesses_disagree="off", too_few_runs="off")
    assert levels(weak, "witnesses-disagree") == {Level.WARNING}
    assert judge(weak).status is not Status.VERIFIED
    assert slow.last_step == TOTAL


@pytest.mark.parametrize(("asked", "shown"), [("note", {Level.NOTE}), ("off", set())])
def test_a_plain_finding_is_as_weak_as_the_track_says(asked: str, shown: set[Level]) -> None:
    assert levels(case_of([a_run(0)], too_few_runs=asked), "too-few-runs") == shown


def test_what_weighs_more_than_a_rule_usually_does_stays() -> None:
    """An unlikely clock is a warning that a track may drop; an impossible one is not."""
    for asked in ("note", "off"):
        assert level_on("clock-implausible", asked, Level.ERROR) is Level.WARNING
    assert level_on("clock-implausible", "note", Level.WARNING) is Level.NOTE
    assert level_on("clock-implausible", "off", Level.WARNING) is None
    assert level_on("clock-implausible", "error", Level.WARNING) is Level.ERROR
    # A note of a firm rule asks nobody for anything.
    assert level_on("history-gap", "off", Level.NOTE) is None
    assert level_on("history-gap", "note", Level.NOTE) is Level.NOTE


def test_a_result_that_cannot_be_computed_is_never_verified() -> None:
    bare = dc.replace(a_run(0), metrics={}, validation=())
    verdict = judge(case_of([bare], metric_missing="off", too_few_runs="off"))
    assert "metric-missing" in {f.rule for f in verdict.findings}
    assert verdict.status is Status.REJECTED


def test_firm_rules_are_rules() -> None:
    assert set(catalogue()) >= FIRM
