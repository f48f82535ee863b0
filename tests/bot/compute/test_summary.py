"""Statistics of sets of runs: the record history's groups, exclusion, baselines, words."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.compute.summary import summarise
from bot.model.run import Hardware, Run, Validation
from bot.model.summary import Summary
from bot.model.track import Significance
from bot.parse.track_toml import load_tracks
from bot.render.words import sentences
from tests.conftest import ROOT

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "nanogpt_groups.json").read_text())
TRACKS = load_tracks(ROOT)
BY_NUMBER = {1: TRACKS["nanogpt-small"], 2: TRACKS["nanogpt-medium"]}
MEDIUM = TRACKS["nanogpt-medium"]
SMALL, STEPS, SINGLE = (
    TRACKS[name] for name in ("nanogpt-small", "nanogpt-optimization", "single-gpu-fineweb")
)


def run(loss: float, time_s: float | None = None, index: int = 0, **fields: Any) -> Run:
    """A finished run of 100 steps on 8 boards; `index` also makes its history its own."""
    first = Validation(0, 10.0 + index / 1000, 0.0 if time_s is not None else None)
    base = Run(
        source="log",
        file=fields.pop("file", "a.log"),
        index=index,
        validation=(first, Validation(100, loss, time_s)),
        total_steps=100,
        last_step=100,
        finished=True,
        hardware=Hardware("NVIDIA H100 80GB HBM3", 8),
    )
    return dc.replace(base, **fields)


def runs(losses: list[float], times: list[float] | None = None, **fields: Any) -> list[Run]:
    times_or_none: list[float | None] = list(times) if times else [None] * len(losses)
    return [
        run(loss, time, i, **fields)
        for i, (loss, time) in enumerate(zip(losses, times_or_none, strict=True))
    ]


def excluded(summary: Summary) -> dict[tuple[str, int], str]:
    return {(e.file, e.run): e.why for e in summary.excluded}


# ---- The record history ------------------------------------------------------------------------


@pytest.mark.parametrize("group", GOLDEN["groups"], ids=lambda g: g["name"])
def test_each_group_of_the_record_history_is_as_computed_elsewhere(group: dict[str, Any]) -> None:
    times = group["times"] if len(group["times"]) == len(group["losses"]) else None
    summary = summarise(runs(group["losses"], times), BY_NUMBER[group["track"]])
    got: Any = summary.to_json()
    assert got["n"] == group["n"]
    for key in ("mean", "sd", "p_sigma", "p_pooled", "p_without_best"):
        if group[key] is not None:
            assert got[key] == pytest.approx(group[key], rel=1e-6), key
    assert got["p"] == (None if group["p_t"] is None else pytest.approx(group["p_t"], rel=1e-6))
    if group["t"] is not None:
        assert got["statistic"] == pytest.approx(group["t"], rel=1e-6)
    assert got["passes"] is (group["p_t"] is not None and group["p_t"] < 0.01)
    if group["time"] and times:
        for key, value in group["time"].items():
            assert got["cost"][key] == (None if value is None else pytest.approx(value, rel=1e-6))


@pytest.mark.parametrize("row", GOLDEN["track3"], ids=lambda r: f"result {r['number']}")
def test_each_result_of_the_steps_track_is_as_computed_elsewhere(row: dict[str, Any]) -> None:
    got: Any = summarise(runs(row["losses"]), STEPS).to_json()
    assert (got["n"], got["passes"]) == (row["n"], row["passes"])
    assert got["mean"] == pytest.approx(row["mean"], rel=1e-8)
    assert got["p_sigma"] == pytest.approx(row["p_z"], rel=1e-6)
    if row["n"] == 1:
        assert (got["p"], got["sd"]) == (None, None)
        return
    assert got["sd"] == pytest.approx(row["sd"], rel=1e-6)
    assert got["statistic"] == pytest.approx(row["statistic"], rel=1e-6)
    assert (got["p"], got["p_t"]) == pytest.approx((row["p_z"], row["p_t"]), rel=1e-6)


def test_the_pairwise_rule_gives_the_published_comparisons() -> None:
    rows = {row["number"]: row for row in GOLDEN["track3"]}
    compared = 0
    for row in rows.values():
        want = row["pairwise"]
        if want is None or want["previous"] not in rows:
            continue
        before = rows[want["previous"]]
        ours = [dc.replace(r, validation=at(r, row["steps"])) for r in runs(row["losses"])]
        theirs = [dc.replace(r, validation=at(r, before["steps"])) for r in runs(before["losses"])]
        summary = summarise(ours, STEPS, baseline=theirs)
        assert summary.baseline is not None and summary.baseline.pairwise is not None
        got = summary.baseline.pairwise
        assert got.statistic == pytest.approx(want["lhs"], rel=1e-6)
        assert got.passes is want["significant"]
        assert got.p == pytest.approx(want["p"], rel=1e-6)
        compared += 1
    assert compared == 7


def at(item: Run, step: int) -> tuple[Validation, ...]:
    return (item.validation[0], item.validation[1]._replace(step=step))


@pytest.mark.parametrize("row", GOLDEN["welch"], ids=lambda r: r["name"])
def test_times_against_the_baseline_arm_are_as_computed_elsewhere(row: dict[str, Any]) -> None:
    ours = runs([3.27] * len(row["times"]), row["times"])
    theirs = runs([3.27] * len(row["baseline"]), row["baseline"], file="b.log")
    summary = summarise(ours, SMALL, baseline=theirs)
    assert summary.baseline is not None and summary.baseline.comparison is not None
    c = summary.baseline.comparison
    got = c.difference, c.statistic, c.df, c.p
    assert got == pytest.approx((row["diff"], row["t"], row["df"], row["p"]), rel=1e-6)
    assert summary.baseline.passes is (row["p"] < 0.01)


# ---- Which runs count --------------------------------------------------------------------------


def test_a_run_that_did_not_finish_is_left_out_and_named() -> None:
    short = run(3.1, 50.0, 7, total_steps=200, finished=False)
    summary = summarise([*runs([3.27, 3.28]), short], SMALL)
    assert summary.n == 2
    assert excluded(summary) == {("a.log", 7): "it did not finish: it stopped at step 100 of 200"}


def test_an_unknown_total_counts() -> None:
    assert summarise(runs([3.27], finished=None, total_steps=None), SMALL).n == 1


def test_a_step_takes_every_run_that_has_it() -> None:
    short = run(3.2, 50.0, 7, total_steps=200, finished=False)
    other = run(3.3, 50.0, 8, validation=(Validation(90, 3.3, 45.0),))
    summary = summarise([short, other], SMALL, step=100)
    assert summary.quality.values == (3.2,)
    assert excluded(summary) == {("a.log", 8): "no validation at step 100, the nearest is at 90"}


def test_the_same_run_counts_once_and_its_copy_is_named() -> None:
    original = run(3.27, 60.0, file="one.log")
    copy = dc.replace(original, file="two.log")
    summary = summarise([original, copy], SMALL)
    assert summary.n == 1
    assert excluded(summary) == {("two.log", 0): "the same run as one.log"}


def test_the_same_nonce_is_the_same_run_whatever_the_digits() -> None:
    log = run(3.2784, 60.0, file="run.log", nonce="ab" * 16)
    online = run(3.278412, 60.0, file="https://wandb.ai/e/p/runs/x", nonce="ab" * 16)
    assert summarise([log, online], SMALL).n == 1


def test_a_part_of_a_run_printed_again_does_not_count() -> None:
    whole = run(3.27, 60.0)
    part = dc.replace(whole, index=1, validation=whole.validation[1:])
    summary = summarise([whole, part], SMALL)
    assert summary.n == 1
    assert excluded(summary) == {("a.log", 1): "repeats the end of a.log"}


@pytest.mark.parametrize("state", ["crashed", "failed", "killed", "running"])
def test_a_run_that_ended_badly_does_not_count(state: str) -> None:
    summary = summarise([run(3.27, state=state, finished=None)], SMALL)
    assert excluded(summary) == {("a.log", 0): f"its state is {state}"}


def test_a_loss_that_is_not_finite_is_named_as_such() -> None:
    bad = run(
        3.3, problems=(("metric-not-finite", "the loss at step 100 is none"),), finished=False
    )
    assert excluded(summarise([bad], SMALL)) == {("a.log", 0): "the loss at step 100 is none"}


def test_another_metric_stands_in_for_the_loss() -> None:
    ema = run(3.29, 60.0, history={"val_ema_loss": ((50, 3.5), (100, 3.27))})
    summary = summarise([ema, run(3.29, 60.0, 1)], SMALL, loss_key="val_ema_loss")
    assert summary.quality.values == (3.27,)
    assert excluded(summary) == {("a.log", 1): "its history has no metric val_ema_loss"}
    neither = summarise([ema, ema], SMALL, loss_key="ema")
    assert neither.hint is None and excluded(neither) == {
        ("a.log", 0): "its history has no metric ema, but val_ema_loss"
    }


def test_one_stop_step_is_taken_for_all_runs() -> None:
    long = run(3.27, validation=(Validation(90, 3.28, None), Validation(100, 3.27, None)))
    short = run(
        3.275,
        None,
        1,
        total_steps=90,
        validation=(Validation(80, 3.29, None), Validation(90, 3.275, None)),
    )
    summary = summarise([long, short], STEPS)
    assert summary.step == 90
    assert summary.quality.values == (3.28, 3.275)
    assert summary.cost.values == (90.0, 90.0)


def test_runs_that_all_stop_early_get_a_hint() -> None:
    early = [dc.replace(r, total_steps=120, finished=False) for r in runs([3.27, 3.28])]
    assert (
        summarise(early, STEPS).hint == "2 of the runs end at step 100: --step 100 takes them there"
    )


def test_no_run_at_all_never_passes() -> None:
    got: Any = summarise([], SMALL).to_json()
    assert (got["n"], got["mean"], got["p"], got["passes"], got["needed_runs"]) == (
        0,
        None,
        None,
        False,
        None,
    )


# ---- Deciding ----------------------------------------------------------------------------------


def test_one_run_never_passes_a_test() -> None:
    for track in (SMALL, STEPS):
        got = summarise(runs([3.2]), track).to_json()
        assert (got["p"], got["passes"]) == (None, False)


def test_a_threshold_met_exactly_is_met() -> None:
    assert summarise(runs([3.278, 3.278, 3.278, 3.278]), STEPS).passes
    assert not summarise(runs([3.278, 3.278, 3.278, 3.2781]), STEPS).passes


def test_needed_runs_follow_the_threshold() -> None:
    summary = summarise(runs([3.2784, 3.2786, 3.2785]), STEPS)
    assert not summary.passes
    assert summary.needed_runs == 5  # (0.004 / 0.0015)^2 = 7.1


def test_needed_runs_are_none_where_the_mean_misses() -> None:
    assert summarise(runs([3.281, 3.282]), SMALL).needed_runs is None


def test_a_minimum_of_runs_is_kept() -> None:
    track = dc.replace(SMALL, significance=dc.replace(SMALL.significance, min_runs=5))
    summary = summarise(runs([3.27, 3.271, 3.272]), track)
    assert not summary.passes and summary.needed_runs == 2


def test_the_anytime_test_decides_where_the_track_asks_for_it() -> None:
    track = dc.replace(SMALL, significance=Significance("anytime", 0.05))
    few = summarise(runs([3.275, 3.276, 3.277]), track)
    many = summarise(runs([3.275, 3.276, 3.277] * 4), track)
    assert few.decision.test == "anytime"
    assert (few.passes, many.passes) == (False, True)
    assert few.decision.p is not None and few.decision.p == few.p_anytime


def test_more_is_better_where_the_goal_is_max() -> None:
    track = dc.replace(SMALL, quality=dc.replace(SMALL.quality, goal="max", target=0.9))
    summary = summarise(runs([0.938, 0.94, 0.942]), track)
    assert summary.passes and summary.decision.statistic is not None
    assert summary.decision.statistic > 0
    assert summary.without_best is not None


@settings(max_examples=25)
@given(
    st.lists(st.floats(3.27, 3.29).map(lambda v: round(v, 4)), min_size=1, max_size=12),
    st.randoms(),
)
def test_the_order_of_the_runs_plays_no_part(losses: list[float], shuffle: Any) -> None:
    mixed = list(losses)
    shuffle.shuffle(mixed)
    one, two = (summarise(runs(v), SMALL) for v in (losses, mixed))
    assert (one.n, one.passes, one.needed_runs) == (two.n, two.passes, two.needed_runs)
    assert one.moments is not None and two.moments is not None
    assert one.moments.mean == two.moments.mean


@given(
    st.lists(st.tuples(st.floats(), st.floats() | st.none()), max_size=6),
    st.lists(st.tuples(st.floats(), st.floats() | st.none()), max_size=4),
    st.sampled_from(sorted(TRACKS)),
)
def test_no_numbers_raise_and_none_that_is_not_finite_comes_out(
    ours: list[tuple[float, float | None]], theirs: list[tuple[float, float | None]], name: str
) -> None:
    arms = [
        [run(loss, time, i, file=file) for i, (loss, time) in enumerate(values)]
        for file, values in (("a.log", ours), ("b.log", theirs))
    ]
    summary = summarise(arms[0], TRACKS[name], baseline=arms[1])
    json.dumps(summary.to_json(), allow_nan=False)
    assert all(sentences(summary))
    assert summary.n + len(summary.excluded) == len(ours)


# ---- Baselines ---------------------------------------------------------------------------------


def test_one_lucky_run_against_the_baseline_has_a_ratio() -> None:
    summary = summarise([run(3.27, 90.0)], SINGLE, baseline=[run(3.27, 100.0, file="b.log")])
    got: Any = summary.to_json()["baseline"]
    assert (got["ratio"], got["ratio_interval"], got["p"]) == (0.9, None, None)
    assert got["promotes"] is False and "it is not due yet." in " ".join(sentences(summary))
    assert summary.passes


def test_a_new_baseline_is_due_if_the_whole_interval_is_beyond_the_threshold() -> None:
    theirs = runs([3.27] * 3, [100.0, 100.2, 99.8], file="b.log")
    for times, due in (([88.0, 88.2, 87.8], True), ([89.9, 89.0, 90.8], False)):
        summary = summarise(runs([3.27] * 3, times), SINGLE, baseline=theirs)
        got: Any = summary.to_json()["baseline"]
        assert got["ratio"] < 0.9 and got["promotes"] is due


def test_a_gain_short_of_the_threshold_makes_no_new_baseline() -> None:
    summary = summarise([run(3.27, 91.0)], SINGLE, baseline=[run(3.27, 100.0, file="b.log")])
    assert summary.baseline is not None and summary.baseline.promotes is False
    assert "it is not due yet." in " ".join(sentences(summary))


# ---- Few runs, or runs too alike ---------------------------------------------------------------


def guarded(losses: list[float], on: bool = True) -> Summary:
    rule = dc.replace(SMALL.significance, guard=on)
    return summarise(runs(losses), dc.replace(SMALL, significance=rule))


@pytest.mark.parametrize(
    ("losses", "passes"),
    [
        ([3.2790, 3.27905], False),  # two that are nearly equal prove nothing
        ([3.2760, 3.2761], True),  # far enough below the target for the usual spread
        ([3.2790, 3.2789, 3.2791, 3.2790, 3.27895], False),  # five, and too alike
        ([3.2775, 3.2790, 3.2768, 3.2782, 3.2771], True),
    ],
)
def test_few_runs_or_runs_too_alike_need_the_pooled_spread(
    losses: list[float], passes: bool
) -> None:
    with_guard, without = guarded(losses), guarded(losses, on=False)
    assert with_guard.passes is passes and without.passes
    assert with_guard.decision.p == without.decision.p


@pytest.mark.parametrize(
    ("losses", "passes"), [([2.9190, 2.91902], False), ([2.9175, 2.9176], True)]
)
def test_the_guard_holds_from_its_day_on(losses: list[float], passes: bool) -> None:
    for track in (SMALL, MEDIUM):
        assert track.significance.guard
        assert not track.on(dt.date(2026, 11, 30)).significance.guard
        assert track.on(dt.date(2026, 12, 1)).significance.guard
    assert summarise(runs(losses), MEDIUM).passes is passes
    assert summarise(runs(losses), MEDIUM.on(dt.date(2026, 11, 30))).passes


def test_a_wandb_run_without_the_tracks_names_is_told_them() -> None:
    other = run(3.27, 60.0, source="wandb-offline", validation=())
    assert excluded(summarise([other], SMALL)) == {
        ("a.log", 0): "it has no finite validation loss under the names that the track reads: "
        + ", ".join(SMALL.keys.loss)
    }


@pytest.mark.parametrize(("mean", "passes"), [(3.278, True), (3.27801, False)])
def test_a_threshold_without_sigma_decides_and_states_no_p(mean: float, passes: bool) -> None:
    """(3.28 - 3.278) x sqrt(4) = 0.004."""
    rule = Significance("z", threshold=0.004)
    found = summarise(runs([mean] * 4), dc.replace(SMALL, significance=rule)).decision
    assert (found.test, found.p, found.passes) == ("z", None, passes)
    assert found.statistic == pytest.approx(2 * (3.28 - mean))
