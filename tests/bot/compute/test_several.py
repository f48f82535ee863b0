"""Points of one submission: each p is corrected for their number, and nothing else changes."""

from __future__ import annotations

import dataclasses as dc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from bot.compute.several import corrected, holm_adjusted
from bot.compute.summary import summarise
from bot.model.summary import BaselineArm, Comparison, Decision, Summary
from bot.model.track import Significance, Track
from bot.rules import RULES
from tests.bot.compute.test_summary import SMALL, STEPS, runs
from tests.bot.rules.statistic_cases import case, evidence
from tests.conftest import tried

# p of 0.0071 and of 0.00072 by scipy.stats.ttest_1samp(losses, 3.28, alternative="less").
NEAR, FAR = [3.2790, 3.2794, 3.2786, 3.2793], [3.2790, 3.2792, 3.2788, 3.2791]


@settings(max_examples=tried(50))  # multipletests collects garbage in each call
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_adjusted_p_is_that_of_statsmodels(found: list[float]) -> None:
    expected = multipletests(found, method="holm")[1]
    assert holm_adjusted(found) == pytest.approx(list(expected), abs=1e-15)


@pytest.mark.parametrize(
    ("found", "adjusted"),
    [
        ([], []),
        ([0.5], [0.5]),
        ([0.25, 0.125], [0.25, 0.25]),
        ([0.125, 0.5], [0.25, 0.5]),
        ([0.5, 0.375, 0.25], [0.75, 0.75, 0.75]),
        ([0.75, 0.625], [1.0, 1.0]),
    ],
)
def test_adjusted_p_by_hand(found: list[float], adjusted: list[float]) -> None:
    assert holm_adjusted(found) == adjusted


def claiming(p: float | None, passes: bool, arm_p: float | None, beats: bool | None) -> Summary:
    """Statistics at the level 0.01 with these two p, each with what alone would be said of it."""
    test = Comparison("welch", 0.0, None, None, arm_p, 0.9, None)
    arm = BaselineArm(comparison=test, passes=beats)
    return Summary(level=0.01, decision=Decision("t", None, p, passes), baseline=arm)


SURE = claiming(0.001, True, 0.001, True)
BARE = claiming(0.001, True, None, None)
NO_ARM = dc.replace(BARE, baseline=None)
Told = tuple[float | None, bool, float | None, bool | None]


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (SURE, None, (None, True, None, True)),
        (SURE, SURE, (0.002, True, 0.002, True)),
        (claiming(0.004, True, 0.004, True), SURE, (0.004, True, 0.004, True)),
        (claiming(0.006, True, 0.006, True), claiming(0.006, True, 0.006, True),
         (0.012, False, 0.012, False)),
        (claiming(0.01, True, 0.01, True), SURE, (0.01, False, 0.01, False)),
        # what does not pass alone does not pass among several, whatever its p
        (claiming(0.002, False, 0.002, False), SURE, (0.002, False, 0.002, False)),
        # a claim that is not made is not counted
        (SURE, claiming(None, False, None, None), (None, True, None, True)),
        (SURE, BARE, (0.002, True, None, True)),
        (SURE, NO_ARM, (0.002, True, None, True)),
        (BARE, SURE, (0.002, True, None, None)),
        (claiming(None, False, 0.001, True), SURE, (None, False, 0.002, True)),
        (claiming(0.001, True, 0.001, None), SURE, (0.002, True, None, None)),
    ],
)  # fmt: skip
def test_the_two_kinds_of_claims_are_corrected_apart(
    first: Summary, second: Summary | None, told: Told
) -> None:
    both = corrected({"a": first, "b": second})
    s = both["a"]
    assert s and s.baseline and list(both) == ["a", "b"]
    assert (s.decision.p_holm, s.decision.passes, s.baseline.p_holm, s.baseline.passes) == told
    if second is None:
        assert both == {"a": first, "b": None}


def test_three_points_are_counted_three_times() -> None:
    one = claiming(0.003, True, 0.003, True)
    for s in corrected(dict.fromkeys("abc", one)).values():
        assert s and s.baseline
        assert s.decision.p_holm == s.baseline.p_holm == pytest.approx(0.009)
        assert s.passes and s.baseline.passes


def plain(track: Track) -> Track:
    """The track with the t-test alone, which no pooled spread guards."""
    return dc.replace(track, significance=Significance("t", 0.01))


def of(**losses: list[float]) -> dict[str | None, Summary | None]:
    found = {name: summarise(runs(values), plain(SMALL)) for name, values in losses.items()}
    return corrected(dict(found))


def test_a_p_that_passes_alone_does_not_pass_among_two() -> None:
    alone = of(a=NEAR)["a"]
    assert alone and alone.decision.p_holm is None and alone.passes
    assert 0.005 < (alone.decision.p or 0) < 0.01
    two = of(a=NEAR, b=NEAR)
    for s in two.values():
        assert s and not s.passes and s.decision.p == alone.decision.p
        assert s.decision.p_holm == pytest.approx(2 * (alone.decision.p or 0))


def test_the_greatest_p_is_compared_with_alpha_itself() -> None:
    two = of(a=NEAR, b=FAR)
    assert all(s and s.passes for s in two.values())
    a = two["a"]
    assert a and a.decision.p_holm == a.decision.p


def test_a_point_that_claims_nothing_is_not_counted() -> None:
    two = of(a=NEAR, b=[3.27])
    a, b = two["a"], two["b"]
    assert a and a.passes and b and b.decision.p_holm is None


def test_a_threshold_that_is_met_exactly_is_met_beside_a_better_point() -> None:
    exact, good = [3.278, 3.276, 3.278, 3.280], [3.270, 3.272, 3.271, 3.271]
    found = corrected({"a": summarise(runs(exact), STEPS), "b": summarise(runs(good), STEPS)})
    a = found["a"]
    assert a and a.decision.statistic == pytest.approx(0.004) and a.passes
    two = corrected({"a": summarise(runs(exact), STEPS), "b": summarise(runs(exact), STEPS)})
    assert not any(s and s.passes for s in two.values())


def test_the_finding_says_both() -> None:
    subject = case(
        plain(SMALL),
        evidence(NEAR, point="130m"),
        evidence([loss + 1e-5 for loss in NEAR], point="300m"),
        points=("130m", "300m"),
    )
    messages = [f.message for f in RULES["target-not-significant"](subject)]
    assert len(messages) == 2
    assert "p = 0.0071 (0.014 corrected for the number of points), needed below 0.01" in messages[0]
    alone = case(plain(SMALL), evidence(NEAR, point="130m"), points=("130m",))
    assert not any("needed below" in f.message for f in RULES["target-not-significant"](alone))
