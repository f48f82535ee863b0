"""The target, and whether the runs prove it: each rule with a case and a near miss."""

from __future__ import annotations

import dataclasses as dc

import pytest

from bot.compute.case_statistics import of_case
from bot.model.case import Context, RunEvidence
from bot.model.submission import RunSpec
from bot.model.verdict import Finding
from bot.registry import Level
from tests.bot.rules.statistic_cases import (
    GOOD,
    SINGLE,
    SMALL,
    STEPS,
    case,
    evidence,
    found,
)


def test_target_missed() -> None:
    (finding,) = found("target-missed", case(SMALL, evidence([3.281, 3.2805])))
    assert finding.level is Level.ERROR
    assert finding.expected == 3.28 and finding.claimed == pytest.approx(3.28075)
    assert finding.file == "submissions/nanogpt-small/x/submission.json"


def test_a_mean_at_the_target_is_not_missed() -> None:
    assert not found("target-missed", case(SMALL, evidence([3.281, 3.279])))


def test_target_not_significant_says_how_many_runs_would_do() -> None:
    (finding,) = found("target-not-significant", case(SMALL, evidence([3.2771, 3.2795, 3.279])))
    assert "p = 0.091, needed below 0.01" in finding.message
    assert finding.fix is not None and finding.fix.startswith(
        "add about 4 runs (about 0.8 GPU-hours): about "
    )
    assert "about 60 % chance to pass, 80 % with 12" in finding.fix


def test_the_chance_of_runs_that_happen_to_agree_counts_the_guard() -> None:
    """A third run of two alike: by its own spread it would pass, by the pooled one it cannot."""
    stats = of_case(case(SMALL, evidence([3.2789, 3.2791])), None)
    assert stats is not None and all(c.runs > 1 for c in stats.chances)
    rule = dc.replace(SMALL.significance, guard=False)
    stats = of_case(case(dc.replace(SMALL, significance=rule), evidence([3.2789, 3.2791])), None)
    assert stats is not None and stats.chances[0].runs == 1


def test_runs_without_a_spread_get_no_number_of_runs() -> None:
    rule = dc.replace(SMALL.significance, pooled_sd=None, pooled_df=None, sigma=None)
    track = dc.replace(SMALL, significance=rule)
    (finding,) = found("target-not-significant", case(track, evidence([3.27] * 3)))
    assert finding.fix is not None and "these show no spread" in finding.fix
    stats = of_case(case(track, evidence([3.27] * 3)), None)
    assert stats is not None and stats.interval is None
    (finding,) = found("target-not-significant", case(track, evidence([3.2799, 3.282, 3.2778])))
    assert finding.fix is not None and "no spread" not in finding.fix


def test_more_runs_are_no_advice_if_a_hundred_would_not_do() -> None:
    (finding,) = found("target-not-significant", case(SMALL, evidence([3.2799, 3.2815, 3.2785])))
    assert finding.fix is not None and "Train slightly longer" in finding.fix


def test_target_significant() -> None:
    assert not found("target-not-significant", case(SMALL, evidence(GOOD)))


ALIKE = [3.2798, 3.2798, 3.2798, 3.2797]


def test_runs_so_alike_that_this_alone_proves_the_target() -> None:
    (told,) = found("target-not-significant", case(SMALL, evidence(ALIKE)))
    assert "the 4 runs are more alike than 99 of 100 groups of runs on this track" in told.message
    # t = 0.000225 sqrt(4) / 0.00139 with 510 degrees of freedom
    assert "with the usual spread p = 0.37, needed below 0.01 (by their own it is 0.0014)" in (
        told.message
    )
    assert "too much to chance" not in told.message
    assert told.fix is not None and told.fix.startswith("check that each run has a seed of its own")
    before = dc.replace(SMALL, significance=dc.replace(SMALL.significance, guard=False))
    assert not found("target-not-significant", case(before, evidence(ALIKE)))
    (finding,) = found("metric-implausible", case(before, evidence(ALIKE)))
    assert finding.level is Level.WARNING and "p would be 0.37 instead of 0.0014" in finding.message
    # Alike and far enough below, or as unlike as usual: nothing is odd.
    assert not found("metric-implausible", case(SMALL, evidence([v - 0.001 for v in ALIKE])))
    assert not found("metric-implausible", case(SMALL, evidence(GOOD)))
    assert not found("metric-implausible", case(STEPS, evidence(ALIKE)))


@pytest.mark.parametrize(
    ("losses", "guard", "says"),
    [
        ([3.2790, 3.27905], True, "2 runs are too few to show how far runs spread: with the usual"),
        ([3.2785, 3.2770, 3.2777], True, "3 runs leave too much to chance: p = 0.017, needed"),
        ([3.2790, 3.27905], False, None),
        ([3.2770, 3.2769, 3.2771, 3.2770], True, None),  # alike, and far enough below
    ],
)
def test_few_runs_whose_own_spread_is_not_believed(
    losses: list[float], guard: bool, says: str | None
) -> None:
    track = dc.replace(SMALL, significance=dc.replace(SMALL.significance, guard=guard))
    told = [
        f.message
        for f in found("target-not-significant", case(track, evidence(losses)))
        if "is good" in f.message
    ]
    assert len(told) == (says is not None)
    assert all(says is not None and says in message for message in told)


def test_the_threshold_of_the_steps_track() -> None:
    near = [3.2779, 3.2781, 3.2779, 3.2781]
    assert not found("target-not-significant", case(STEPS, evidence(near)))
    (finding,) = found("target-not-significant", case(STEPS, evidence([*near[:3], 3.2782])))
    assert "(target - mean) × √n = 0.00395, needed at least 0.004" in finding.message


def test_too_few_runs() -> None:
    (finding,) = found("too-few-runs", case(SMALL, evidence([3.2770])))
    assert (finding.claimed, finding.expected) == (1, 2)


def test_two_runs_are_enough_to_be_tested() -> None:
    assert not found("too-few-runs", case(SMALL, evidence(GOOD[:2])))


def test_too_few_runs_names_those_that_do_not_count() -> None:
    item = evidence(GOOD[:2])
    short = dc.replace(item.runs[1], finished=False, total_steps=200)
    subject = case(SMALL, dc.replace(item, runs=(item.runs[0], short)))
    (finding,) = found("too-few-runs", subject)
    assert "candidate.log (it did not finish: it stopped at step 100 of 200)" in finding.message


def test_a_track_without_a_test_takes_one_run() -> None:
    for name in ("too-few-runs", "target-not-significant", "target-missed"):
        assert not found(name, case(SINGLE, evidence([3.2770])))


def test_an_imported_entry_is_warned_and_not_blocked() -> None:
    subject = case(SMALL, evidence([3.281, 3.2805]), imported={"url": "https://example.org"})
    assert [f.level for f in found("target-missed", subject)] == [Level.ERROR]
    kept = dc.replace(subject, context=Context(merged=True))
    assert [f.level for f in found("target-missed", kept)] == [Level.WARNING]


def test_nothing_is_said_where_a_run_could_not_be_fetched_by_our_fault() -> None:
    problem = Finding("evidence-unavailable", Level.ERROR, "W&B did not answer")
    missing = RunEvidence(RunSpec("wandb", "https://wandb.ai/e/p/runs/x"), (), (problem,))
    assert not found("target-missed", case(SMALL, evidence([3.29]), missing))


def test_points_are_judged_apart() -> None:
    subject = case(
        SMALL, evidence([3.29, 3.291], point="small"), evidence(GOOD, point="large"),
        points=("small", "large"),
    )  # fmt: skip
    (finding,) = found("target-missed", subject)
    assert finding.point == "small" and finding.message.startswith("point small: ")
