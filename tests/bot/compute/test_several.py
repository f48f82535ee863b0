"""Points of one submission: each p is corrected for their number, and nothing else changes."""

from __future__ import annotations

import dataclasses as dc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from bot.compute.several import corrected, holm_adjusted
from bot.compute.summary import summarise
from bot.model.summary import Summary
from bot.model.track import Significance, Track
from bot.rules import RULES
from tests.bot.compute.test_summary import SMALL, STEPS, runs
from tests.bot.rules.statistic_cases import case, evidence

# p of 0.0071 and of 0.00072 by scipy.stats.ttest_1samp(losses, 3.28, alternative="less").
NEAR, FAR = [3.2790, 3.2794, 3.2786, 3.2793], [3.2790, 3.2792, 3.2788, 3.2791]


@settings(max_examples=20)  # a call of multipletests takes 50 ms
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_adjusted_p_is_that_of_statsmodels(found: list[float]) -> None:
    expected = multipletests(found, method="holm")[1]
    assert holm_adjusted(found) == pytest.approx(list(expected), abs=1e-15)


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
    assert not list(RULES["target-not-significant"](alone))
