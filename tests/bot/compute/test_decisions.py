"""What decides: each test at its bound, with the values of scipy, and the advice of more runs."""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Any

import pytest
import scipy.special as special
import scipy.stats as stats

from bot.compute import significance as sig
from bot.compute.chance import Bar, outlook
from bot.compute.summary import decide, summarise
from bot.model.look import Look
from bot.model.run import Validation
from bot.model.summary import Moments, Summary
from bot.model.track import Axis, Significance, Track
from tests.bot.compute.test_summary import SMALL, STEPS, run, runs

POOLED: dict[str, Any] = {"pooled_sd": 0.001, "pooled_df": 500}
PRIOR: dict[str, Any] = {"prior_sd": 0.001, "prior_df": 8.0}
Z99 = 2.3263479
"""The 99 % point of the normal distribution, from a table."""


def track(test: str, **rule: Any) -> Track:
    return dc.replace(SMALL, significance=Significance(test, **rule))


@pytest.mark.parametrize(
    ("gain", "rule", "passes"),
    [
        (Moments(1, 0.0, None), {}, True),
        (Moments(1, -1e-9, None), {}, False),
        (Moments(1, 0.1, None), {"min_runs": 2}, False),
        (Moments(2, 0.1, 0.1), {"min_runs": 2}, True),
        (Moments(2, -0.1, 0.1), {"min_runs": 2}, False),
    ],
)
def test_without_a_test_the_mean_and_the_number_of_runs_decide(
    gain: Moments, rule: dict[str, Any], passes: bool
) -> None:
    assert decide(gain, track("none", **rule)).passes is passes


def test_without_a_target_any_run_passes_unless_a_test_is_asked_for() -> None:
    some = Moments(3, 3.0, 0.1)
    assert decide(None, track("none"), some).passes
    assert not decide(None, track("none")).passes
    assert not decide(None, track("t"), some).passes


@pytest.mark.parametrize(
    ("gain", "rule", "passes"),
    [
        (Moments(4, 0.00117, 0.1), {}, True),
        (Moments(4, 0.00116, 0.1), {}, False),
        (Moments(4, 0.00117, 0.1), {"min_runs": 5}, False),
        (Moments(5, 0.00117, 0.1), {"min_runs": 5}, True),
        (Moments(5, 0.0, 0.1), {"min_runs": 5}, False),
        (Moments(4, 0.00117, 0.1), {"looks": (4, 8)}, False),
        (Moments(2, 0.0, 0.1), {"alpha": 0.5}, False),  # p = alpha is not below it
    ],
)
def test_the_z_test_passes_where_p_is_below_alpha(
    gain: Moments, rule: dict[str, Any], passes: bool
) -> None:
    """2.3263 x 0.001 / sqrt(4) = 0.001163; each of two looks has alpha 0.005, z = 2.576."""
    found = decide(gain, track("z", sigma=0.001, **rule))
    assert found.passes is passes
    assert found.statistic == pytest.approx(gain.mean * math.sqrt(gain.n) / 0.001)
    assert found.p == pytest.approx(stats.norm.sf(found.statistic))


@pytest.mark.parametrize(("least", "passes"), [(4, True), (5, False)])
def test_a_bound_is_for_enough_runs(least: int, passes: bool) -> None:
    rule = {"threshold": 0.004, "sigma": 0.0013, "min_runs": least}
    found = decide(Moments(4, 0.002, 0.1), track("z", **rule))
    assert (found.passes, found.statistic, found.bound) == (passes, 0.004, 0.004)


@pytest.mark.parametrize(("least", "passes"), [(6, True), (7, False)])
@pytest.mark.parametrize("test", ["anytime", "t", "moderated"])
def test_every_test_asks_for_the_fewest_runs(test: str, least: int, passes: bool) -> None:
    assert decide(Moments(6, 0.1, 0.001), track(test, min_runs=least, **PRIOR)).passes is passes


@pytest.mark.parametrize(
    ("n", "sd", "reached", "passes"),
    [
        (3, 0.2, 1.5, False),  # t = 7.5 suffices alone (6.96), the pooled spread asks for 2.33
        (3, 0.2, 2.4, True),
        (4, 0.3, 1.5, True),  # t = 5 suffices (4.54), and four of such a spread are believed
        (4, 0.19, 2.0, False),  # below 0.1956, one in a hundred
        (4, 0.2, 2.0, True),
        (4, 0.19, 2.4, True),
    ],
)
@pytest.mark.parametrize("guard", [True, False])
def test_the_guard_doubts_three_runs_and_runs_too_alike(
    n: int, sd: float, reached: float, passes: bool, guard: bool
) -> None:
    """In units of the pooled spread; chi-square of 3 degrees of freedom is 0.1148 at 1 %."""
    gain = Moments(n, reached * 0.001 / math.sqrt(n), sd * 0.001)
    assert decide(gain, track("t", guard=guard, **POOLED)).passes is (passes or not guard)
    assert decide(gain, track("t", guard=guard)).passes


def test_the_guard_is_for_the_t_test_and_for_p_below_alpha() -> None:
    rule = {"guard": True, "pooled_sd": 1.0, "pooled_df": 10}
    gain = Moments(4, 1.0, 0.01)  # too alike; the pooled t is 2
    alpha = float(special.stdtr(10, -2.0))
    assert not decide(gain, track("t", alpha=alpha, **rule)).passes
    assert decide(gain, track("t", alpha=alpha * 1.001, **rule)).passes
    assert decide(gain, track("moderated", prior_sd=0.01, prior_df=8.0, **rule)).passes


def test_the_moderated_statistic_is_in_raw_values() -> None:
    """s^2 = (8 x 0.001^2 + 3 x 0.002^2) / 11."""
    gain = Moments(4, 0.002, 0.002)
    found = decide(gain, track("moderated", **PRIOR))
    t = 0.002 * 2 / (0.001 * math.sqrt(20 / 11))
    assert found.statistic == pytest.approx(-t) and found.p == pytest.approx(stats.t.sf(t, 11))
    plain = decide(gain, track("moderated"))
    assert plain.statistic == pytest.approx(-2.0) and plain.p == pytest.approx(stats.t.sf(2.0, 3))


# ---- Beside the decision -----------------------------------------------------------------------

LOSSES = [3.2790, 3.2784, 3.2795, 3.2787]
GAIN = Moments.of(LOSSES).gain(3.28, "min")


def beside(test: str = "t", losses: list[float] = LOSSES, **rule: Any) -> Summary:
    return summarise(runs(losses), track(test, **rule))


def test_each_p_is_there_if_the_track_has_its_spread() -> None:
    none, all_of_them = beside(), beside(sigma=0.002, **POOLED, **PRIOR)
    assert (none.p_sigma, none.p_pooled, none.p_moderated) == (None, None, None)
    reached = GAIN.mean * 2
    assert all_of_them.p_sigma == pytest.approx(stats.norm.sf(reached / 0.002))
    assert all_of_them.p_pooled == pytest.approx(stats.t.sf(reached / 0.001, 500))
    assert all_of_them.p_moderated == sig_moderated(GAIN)
    assert beside(pooled_sd=0.001).p_pooled is beside(pooled_df=5).p_pooled is None
    assert beside(prior_sd=0.001).p_moderated is beside(prior_df=5.0).p_moderated is None
    assert beside(losses=[3.27], **PRIOR).p_moderated is None
    assert beside(losses=[3.27, 3.271], **PRIOR).p_moderated is not None


def sig_moderated(gain: Moments) -> Any:
    assert gain.sd is not None
    spread = math.sqrt((8 * 0.001**2 + (gain.n - 1) * gain.sd**2) / (7 + gain.n))
    p = stats.t.sf(gain.mean * math.sqrt(gain.n) / spread, 7 + gain.n)
    return pytest.approx(p)


@pytest.mark.parametrize(("test", "known"), [("z", True), ("anytime", True), ("t", False)])
def test_the_anytime_test_knows_sigma_where_the_tracks_test_does(test: str, known: bool) -> None:
    want = sig.anytime_p(GAIN, 0.0008 if known else None)
    assert beside(test, sigma=0.0008).p_anytime == want
    assert beside(test, sigma=0.0008).p_anytime != sig.anytime_p(GAIN, None if known else 0.0008)


@pytest.mark.parametrize(
    ("rule", "sd"),
    [({"sigma": 0.003}, 0.003), ({"sigma": 0.003, **POOLED}, 0.001), (POOLED, 0.001)],
)
def test_one_run_is_guessed_to_have_the_tracks_spread(rule: dict[str, Any], sd: float) -> None:
    want = next(n for n in range(2, 99) if stats.t.sf(0.002 * math.sqrt(n) / sd, n - 1) < 0.01)
    assert beside(losses=[3.278], **rule).needed_runs == want - 1


@pytest.mark.parametrize("goal", ["min", "max"])
def test_the_decision_without_the_best_run(goal: str) -> None:
    sign = 1 if goal == "min" else -1
    losses = [3.28 - sign * gain for gain in (0.001, 0.009, 0.0015)]
    small = dc.replace(track("t"), quality=dc.replace(SMALL.quality, goal=goal))
    found = summarise(runs(losses), small).without_best
    rest = stats.ttest_1samp([0.001, 0.0015], 0, alternative="greater").pvalue
    assert found is not None and found.p == pytest.approx(rest)
    assert summarise(runs(losses[:2]), small).without_best is None
    assert beside("none").without_best is None


# ---- How many more -----------------------------------------------------------------------------


def guarded_bar(n: int) -> Bar:
    alike = math.inf if n <= 3 else 0.001 * math.sqrt(stats.chi2.ppf(0.01, n - 1) / (n - 1))
    return Bar(stats.t.ppf(0.99, n - 1), 0.0, 1.0, stats.t.ppf(0.99, 500) * 0.001, alike)


def plain_bar(n: int) -> Bar:
    return Bar(stats.t.ppf(0.99, n - 1), 0.0, 1.0)


def moderated_bar(n: int) -> Bar:
    df = 8 + n - 1
    return Bar(stats.t.ppf(0.99, df), 8 * 0.001**2 / df, (n - 1) / df)


FEW, SAME = [3.2786, 3.2791], [3.2788] * 3


@pytest.mark.parametrize(
    ("test", "rule", "losses", "bar", "known"),
    [
        ("t", {}, FEW, plain_bar, None),
        ("t", {"guard": True}, FEW, plain_bar, None),
        ("t", {"guard": True, **POOLED}, FEW, guarded_bar, None),
        ("t", {"guard": True, **POOLED}, [3.27890, 3.27895], guarded_bar, None),
        ("t", POOLED, SAME, plain_bar, (0.001, 500.0)),
        ("moderated", PRIOR, FEW, moderated_bar, (0.001, 8.0)),
        ("moderated", {}, FEW, plain_bar, None),
        ("z", {"sigma": 0.002}, FEW, lambda n: Bar(Z99, 0.002**2, 0.0), (0.002, math.inf)),
        (
            "z",
            {"sigma": 0.002, "threshold": 0.004},
            FEW,
            lambda n: Bar(0.004, 1.0, 0.0),
            (0.002, math.inf),
        ),
        ("z", {"threshold": 0.004}, FEW, lambda n: Bar(0.004, 1.0, 0.0), None),
    ],
)
def test_chances_are_those_of_the_tracks_test(
    test: str, rule: dict[str, Any], losses: list[float], bar: Any, known: Any
) -> None:
    found = beside(test, losses, **rule).chances
    gain = Moments.of(losses).gain(3.28, "min")
    want = outlook(gain, bar, known)
    assert [c.runs for c in found] == [c.runs for c in want] != []
    assert [c.chance for c in found] == pytest.approx([c.chance for c in want], abs=2e-3)


def test_no_chance_is_stated_where_none_can_be() -> None:
    assert beside("t", SAME).chances == beside("none", FEW).chances == ()
    assert beside("anytime", FEW).chances == ()
    assert beside("t", SAME, pooled_sd=0.001).chances == ()
    assert beside("t", [3.27, 3.271, 3.272]).chances == ()  # passed already


def test_a_look_that_was_taken_leaves_the_next_one() -> None:
    losses = [3.2770, 3.2771, 3.2772]
    small = track("t", looks=(3, 6))
    taken = Look("main", 3, "of others")
    before, after = (summarise(runs(losses), small, earlier=e) for e in ((), (taken,)))
    assert before.passes and before.needed_runs == 0 and before.chances == ()
    assert not after.passes and after.decision.taken == taken and after.decision.p is None
    assert after.needed_runs == 3 and [c.runs for c in after.chances] == [3]
    early = summarise(runs(losses[:2]), small)
    assert (early.decision.judged, early.passes, early.needed_runs) == (0, False, 1)


def test_the_first_runs_in_time_are_judged_at_a_look() -> None:
    losses = [3.2720, 3.2790, 3.2791, 3.2787]
    dated = [
        dc.replace(r, created_at=f"2026-01-0{day}T00:00:00Z")
        for r, day in zip(runs(losses), (4, 2, 1, 3), strict=True)
    ]
    found = summarise(dated, track("t", looks=(3,))).decision
    want = stats.ttest_1samp(losses[1:], 3.28, alternative="less")
    assert found.judged == 3 and found.p == pytest.approx(want.pvalue)


# ---- Cost at equal loss ------------------------------------------------------------------------


def falling(index: int = 0) -> Any:
    """0.001 in 10 steps and in one second, and far more at the very end."""
    points = [(70, 3.283), (80, 3.282), (90, 3.281), (100, 3.2)]
    return run(
        3.2, index=index, validation=tuple(Validation(s, v + index, s / 10) for s, v in points)
    )


@pytest.mark.parametrize(("own", "at"), [(STEPS, 100.0), (SMALL, 10.0)])
def test_the_cost_at_the_target_follows_the_curve_up_to_the_step(own: Track, at: float) -> None:
    found = summarise([falling()], own, step=90).at_target
    assert found is not None and found.mean == pytest.approx(at)
    assert summarise([falling()], own, step=90, loss_key="other").at_target is None
    whole = summarise([falling()], own).at_target
    assert whole is not None and whole.mean < at


def test_the_cost_at_the_target_is_of_time_or_steps_to_a_loss() -> None:
    flops = dc.replace(SMALL, cost=Axis("hardware_flops"))
    untargeted = dc.replace(SMALL, quality=dc.replace(SMALL.quality, target=None))
    accuracy = dc.replace(SMALL, quality=dc.replace(SMALL.quality, metric="accuracy"))
    for other in (flops, untargeted, accuracy):
        assert summarise([falling()], other).at_target is None
    assert summarise([], SMALL).at_target is None


def test_the_metric_is_the_tracks_or_the_key_that_was_asked_for() -> None:
    assert summarise([], SMALL).metric == SMALL.quality.metric
    assert summarise([], SMALL, loss_key="val_ema_loss").metric == "val_ema_loss"
