"""The record and the baseline arm: better, proved, and measured against the right one."""

from __future__ import annotations

import dataclasses as dc

import pytest

from bot.compute.case_statistics import of_case, with_unlisted
from bot.model.case import RunEvidence, Standing, Unlisted
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

RECORD = Standing("submissions/nanogpt-small/r", 90.5, record_costs=(90.5, 90.6, 90.4))


def test_not_better_than_record() -> None:
    subject = case(SMALL, evidence(GOOD, [91.0] * 5), standing=RECORD)
    (finding,) = found("not-better-than-record", subject)
    assert finding.level is Level.NOTE and finding.expected == 90.5
    assert not found("improvement-not-significant", subject)


def test_better_than_record() -> None:
    subject = case(SMALL, evidence(GOOD, [90.0, 90.1, 89.9, 90.0, 90.1]), standing=RECORD)
    assert not found("not-better-than-record", subject)


def test_a_slow_machine_hides_no_gain_over_the_baseline_arm() -> None:
    """Both arms took longer than the record did; the arms decide, in both directions."""
    slow, slower = [96.0, 96.1, 95.9, 96.0, 96.1], [97.2, 97.5, 97.3, 97.4, 97.2]
    for ours, theirs, notes in ((slow, slower, 0), (slower, slow, 1)):
        subject = case(
            SMALL, evidence(GOOD, ours), evidence(GOOD, theirs, "baseline"), standing=RECORD
        )
        assert len(found("not-better-than-record", subject)) == notes


def test_a_time_from_another_session_is_a_possible_record_only() -> None:
    fast = evidence(GOOD, [90.0, 90.1, 89.9, 90.0, 90.1])
    (finding,) = found("improvement-not-significant", case(SMALL, fast, standing=RECORD))
    assert finding.level is Level.WARNING and "a possible record" in finding.message
    arm = evidence(GOOD, [91.2, 91.5, 91.3, 91.4, 91.2], "baseline")
    assert not found("improvement-not-significant", case(SMALL, fast, arm, standing=RECORD))
    one_machine = dc.replace(SMALL, levels={"improvement-not-significant": "note"})
    (finding,) = found("improvement-not-significant", case(one_machine, fast, standing=RECORD))
    assert "possible" not in finding.message
    assert finding.fix == "nothing to do: this track accepts times of different sessions."


def test_two_runs_an_arm_prove_no_time() -> None:
    base = evidence(GOOD[:2], [91.2, 91.3], "baseline")
    ours = evidence(GOOD, [90.0, 90.2, 89.9, 90.1, 90.1])
    (finding,) = found("improvement-not-significant", case(SMALL, ours, base))
    assert finding.level is Level.NOTE and "needs at least 3 runs in each arm" in finding.message
    three = evidence(GOOD[:3], [91.2, 91.3, 91.25], "baseline")
    assert not found("improvement-not-significant", case(SMALL, ours, three))


def test_improvement_not_significant_against_the_baseline_arm() -> None:
    base = evidence(GOOD, [90.2, 91.5, 90.9, 89.9, 90.0], "baseline")
    subject = case(SMALL, evidence(GOOD, [90.0, 90.9, 89.5, 90.7, 90.1]), base)
    (finding,) = found("improvement-not-significant", subject)
    assert finding.level is Level.ERROR and "Welch's test" in finding.message


def test_improvement_significant_against_the_baseline_arm() -> None:
    base = evidence(GOOD, [91.2, 91.5, 91.3, 91.4, 91.2], "baseline")
    subject = case(SMALL, evidence(GOOD, [90.0, 90.2, 89.9, 90.1, 90.1]), base)
    assert not found("improvement-not-significant", subject)


def test_an_arm_of_one_run_is_noted() -> None:
    base = evidence([3.277], [91.2], "baseline")
    (finding,) = found("improvement-not-significant", case(SMALL, evidence(GOOD), base))
    assert finding.level is Level.NOTE and "needs at least 3 runs in each arm" in finding.message


def test_steps_are_compared_by_the_pairwise_rule() -> None:
    ours = evidence([3.2785, 3.278, 3.2775], step=3000)
    near = evidence([3.2785, 3.278, 3.2776], arm="baseline", step=3050)
    far = evidence([3.2785, 3.278, 3.2776], arm="baseline", step=3200)
    (finding,) = found("improvement-not-significant", case(STEPS, ours, near))
    assert "the pairwise rule" in finding.message
    assert not found("improvement-not-significant", case(STEPS, ours, far))


def arm(arm: str, code: str | None = None, config: str | None = None) -> RunEvidence:
    """Runs of one arm with a source hash and a digest of their configuration."""
    item = evidence(GOOD, None, arm)
    source = {} if code is None else {"train.py": code * 64}
    settings = {} if config is None else {"config_sha256": config}
    runs = (dc.replace(r, code_sha256=source, config=settings) for r in item.runs)
    return dc.replace(item, runs=tuple(runs))


@pytest.mark.parametrize(
    ("ours", "theirs", "stale"),
    [
        (("a",), ("a",), True),
        (("a",), ("b",), False),
        (("a", "one"), ("a", "one"), True),
        (("a", "one"), ("a", "two"), False),
        ((None, "one"), (None, "one"), True),
        ((None, "one"), (None, "two"), False),
        (("a", "one"), ("b", "one"), False),
        (("a",), (None,), True),
    ],
)
def test_two_arms_of_one_experiment_are_no_comparison(
    ours: tuple[str | None, ...], theirs: tuple[str | None, ...], stale: bool
) -> None:
    subject = case(SMALL, arm("candidate", *ours), arm("baseline", *theirs))
    levels = {f.level for f in found("baseline-stale", subject)}
    told = Level.NOTE if theirs == (None,) else Level.WARNING
    assert levels == ({told} if stale else set())


def test_the_trainers_own_hash_is_no_code() -> None:
    arms = [arm(name, "a", name) for name in ("candidate", "baseline")]
    own = [dc.replace(item, runs=tuple(
        dc.replace(r, code_sha256={"reference_trainer": "a" * 64}) for r in item.runs
    )) for item in arms]  # fmt: skip
    assert not found("baseline-stale", case(SMALL, *own))


def test_on_a_baseline_track_the_baselines_code_counts() -> None:
    for code, stale in (("b", True), ("a", False)):
        standing = Standing(baseline="base", baseline_code=frozenset({code * 64}),
                            record_code=frozenset({"c" * 64}))  # fmt: skip
        subject = case(SINGLE, arm("candidate", "d"), arm("baseline", "a"), standing=standing)
        assert bool(found("baseline-stale", subject)) is stale


def test_baseline_stale() -> None:
    base = arm("baseline", "b")
    for based_on, stale in (("nanogpt-small/old", True), ("nanogpt-small/r", False)):
        subject = case(SMALL, evidence(GOOD), base, standing=RECORD, based_on=based_on)
        assert bool(found("baseline-stale", subject)) is stale


def test_baseline_stale_by_its_source() -> None:
    item = evidence(GOOD, None, "baseline")
    runs = tuple(dc.replace(r, code_sha256={"source": "a" * 64}) for r in item.runs)
    base = dc.replace(item, runs=runs)
    for code, stale in (("b" * 64, True), ("a" * 64, False)):
        standing = dc.replace(RECORD, record_code=frozenset({code}))
        subject = case(SMALL, evidence(GOOD), base, standing=standing)
        assert bool(found("baseline-stale", subject)) is stale


def test_depends_on_best_run() -> None:
    lucky = [3.2754, 3.2788, 3.2787, 3.2789, 3.2788, 3.2788]
    (finding,) = found("depends-on-best-run", case(STEPS, evidence(lucky)))
    assert finding.level is Level.NOTE
    # With fewer than six runs most honest results depend on their best.
    assert not found("depends-on-best-run", case(STEPS, evidence([3.2754, 3.2785, 3.2783])))
    steady = [3.2770, 3.2771, 3.2772, 3.2770, 3.2771, 3.2772]
    assert not found("depends-on-best-run", case(STEPS, evidence(steady)))


def test_the_drawer_is_counted_in() -> None:
    others = tuple(dc.replace(r, file="other") for r in evidence([3.2805, 3.2810]).runs)
    shifted = tuple(dc.replace(r, index=r.index + 50, validation=r.validation[1:]) for r in others)
    subject = case(SMALL, evidence(GOOD), unlisted=(Unlisted("e/p", shifted),))
    alone, together = of_case(subject), with_unlisted(subject)
    assert alone is not None and together is not None
    assert (alone.n, together.n) == (5, 7)
    assert alone.passes and not together.passes
