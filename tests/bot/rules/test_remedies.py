"""Remedies of the statistics: one root cause is named once, and following the words helps."""

from __future__ import annotations

import pytest

from tests.bot.rules.test_statistics import GOOD, MEAN, SD, SMALL, case, evidence, found, loss_claim


def fixes(**claim: float) -> list[str]:
    subject = case(SMALL, evidence(GOOD), claims=(loss_claim(**claim),))
    return [finding.fix or "" for finding in found("reported-statistics-wrong", subject)]


def test_a_claim_about_more_runs_than_there_are_has_one_cause() -> None:
    count, mean, sd = fixes(n=81, value=3.2801, sd=0.0019)
    assert count.startswith("add the logs of the other 76 to the folder and to `runs`")
    assert mean == "write 3.27706, or bring the 76 missing runs that `n` speaks of"
    assert sd.startswith("write 0.000270185, or bring the 76 missing runs")


def test_the_value_to_write_is_said_and_right() -> None:
    assert fixes(n=5, value=3.2801) == ["write 3.27706, as `speedrun stats` prints for these runs"]
    assert fixes(n=5, value=MEAN, sd=SD) == []
    assert fixes(n=3) == [
        "write 5; runs of another experiment belong into a point or an arm of their own"]


def test_one_run_is_told_to_leave_its_sd_out() -> None:
    subject = case(SMALL, evidence([3.27]), claims=(loss_claim(value=3.27, sd=0.001),))
    (finding,) = found("reported-statistics-wrong", subject)
    assert finding.fix == "leave `sd` out, as `speedrun stats` prints for these runs"


def test_more_runs_than_the_tracks_least_number_are_explained() -> None:
    (near,) = found("too-few-runs", case(SMALL, evidence([3.2794])))
    assert "with 1 more a test is possible" in (near.fix or "") and "usual one" in (near.fix or "")
    (far,) = found("too-few-runs", case(SMALL, evidence([3.29])))
    assert "a test is possible" not in (far.fix or "")


@pytest.mark.parametrize(("losses", "told"), [
    ([3.279, 3.2785, 3.281, 3.3406], True), ([3.281, 3.2815, 3.2805], False),
])
def test_a_spread_of_several_experiments_is_named(losses: list[float], told: bool) -> None:
    (finding,) = found("target-missed", case(SMALL, evidence(losses)))
    assert ("one run has 3.3406: are they runs of one experiment?" in finding.message) is told
