"""What a run reached and what it cost, at its end and at a step; means over runs."""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Any

import pytest

from bot.compute import metrics
from bot.model.run import Hardware, Run, Validation
from bot.model.track import Axis, Metric, Track
from tests.bot.rules.run_cases import TRACKS

STEPS = TRACKS["nanogpt-optimization"]
TO_TARGET = dc.replace(STEPS, finish="target")
OWN = dc.replace(
    STEPS,
    metrics={"score": Metric("score", "Score")},
    quality=Axis("score", target=0.5),
)
OWN_TO_TARGET = dc.replace(OWN, finish="target")
CURVE = (Validation(100, 3.4, 10.0), Validation(200, 3.27, 20.0), Validation(300, 3.2, 30.0))
PEAK = 989.5e12
H100 = Hardware("H100", 8)


def of(track: Track = STEPS, step: int | None = None, **fields: Any) -> metrics.Metrics:
    given: dict[str, Any] = {"source": "log", "validation": CURVE, "hardware": H100}
    return metrics.of_run(Run(file="a.log", **given | fields), track, step)


STATED = {"tokens": 5, "bpb": 1.1, "chips": 4, "peak_flops": 1e12, "parameters": 7}
HISTORY = {"bpb": ((100, 1.3), (200, 1.2), (300, 1.05))}


@pytest.mark.parametrize(
    ("track", "step", "tokens", "bpb"),
    [
        (STEPS, None, 5, 1.1),  # the end: what the source states is of the end
        (STEPS, 300, None, 1.05),  # a step that is asked for: the history alone
        (STEPS, 200, None, 1.2),
        (STEPS, 150, None, None),
        (TO_TARGET, None, None, 1.2),  # the target was reached before the end
    ],
)
def test_what_is_stated_counts_at_the_end_alone(
    track: Track, step: int | None, tokens: int | None, bpb: float | None
) -> None:
    found = of(track, step, metrics=STATED, history=HISTORY)
    assert (found["tokens"], found["bpb"]) == (tokens, bpb)
    constants = [found[name] for name in ("chips", "peak_flops", "parameters")]
    assert constants == [4, 1e12, 7], "these do not change within a run"


def test_a_target_that_is_reached_at_the_last_point_is_the_end() -> None:
    assert of(TO_TARGET, validation=CURVE[:2], metrics=STATED)["tokens"] == 5
    assert of(TO_TARGET, validation=CURVE[:1], metrics=STATED)["tokens"] == 5
    found = of(TO_TARGET)
    assert (found["loss"], found["steps"], found["training_time_s"]) == (3.27, 200, 20.0)


def test_the_history_may_name_a_metric_as_of_the_validation() -> None:
    assert of(step=100, history={"val_bpb": ((100, 1.3),)})["bpb"] == 1.3
    both = {"val_bpb": ((100, 1.3),), "bpb": ((100, 1.4),)}
    assert of(step=100, history=both)["bpb"] == 1.4


def test_at_a_step_without_a_validation_there_is_no_loss_and_no_time() -> None:
    found = of(step=150, metrics={"loss": 3.0, "steps": 300, "training_time_s": 5.0})
    assert (found["loss"], found["steps"], found["training_time_s"]) == (None, 150, None)


def test_a_run_without_validations_has_what_its_source_states() -> None:
    found = of(validation=(), metrics={"loss": 3.0, "steps": 300, "training_time_s": 5.0})
    assert (found["loss"], found["steps"], found["training_time_s"]) == (3.0, 300, 5.0)


@pytest.mark.parametrize(
    ("track", "source", "time"),
    [(STEPS, "log", None), (STEPS, "results", 5.0), (OWN, "log", 5.0), (OWN, "results", 5.0)],
)
def test_a_point_without_a_clock_has_no_time_unless_the_source_is_of_one_point(
    track: Track, source: str, time: float | None
) -> None:
    """A results file has no curve, and a metric of a track's own ends elsewhere than the loss."""
    end = (Validation(300, 3.2, None),)
    stated = {"training_time_s": 5.0, "score": 0.9}
    assert of(track, source=source, validation=end, metrics=stated)["training_time_s"] == time
    clocked = of(track, source=source, validation=CURVE, metrics=stated)
    assert clocked["training_time_s"] == 30.0, "a clock counts before what is stated"


SCORES = {"score": ((100, 0.9), (200, 0.5), (300, 0.3))}


@pytest.mark.parametrize(
    ("track", "step", "stated", "score"),
    [
        (OWN, None, None, 0.3),
        (OWN, None, 0.7, 0.7),
        (OWN, 100, 0.7, 0.9),
        (OWN, 150, 0.7, None),
        (OWN_TO_TARGET, None, None, 0.5),
    ],
)
def test_a_metric_of_the_tracks_own_is_stated_or_the_last_of_its_history(
    track: Track, step: int | None, stated: float | None, score: float | None
) -> None:
    found = of(track, step, history=SCORES, metrics={"score": stated})
    assert found["score"] == score
    assert of(track, None, history={}, metrics={})["score"] is None


def test_the_end_of_an_own_metric_has_the_time_of_its_step() -> None:
    history = {**SCORES, "training_time_s": ((200, 21.0),)}
    found = of(OWN_TO_TARGET, history=history, validation=())
    assert (found["steps"], found["loss"], found["training_time_s"]) == (200, None, 21.0)
    assert of(OWN_TO_TARGET, history=history)["training_time_s"] == 20.0
    assert of(STEPS, 150, history={"training_time_s": ((150, 21.0),)})["training_time_s"] is None


def test_another_metric_has_its_history_at_a_step_alone() -> None:
    assert of(history=HISTORY)["bpb"] is None, "the last of a history may be far from the end"


@pytest.mark.parametrize(
    ("metric", "value"), [("val_loss", 3.2), ("time_s", 30.0), ("step", 300), ("score", 0.4)]
)
def test_the_axes_of_a_track_may_have_other_names(metric: str, value: float) -> None:
    stated = {"score": 0.4}
    track = dc.replace(STEPS, cost=Axis(metric), metrics={"score": Metric("score", "Score")})
    assert of(track, metrics=stated)[metric] == value
    by_quality = dc.replace(STEPS, quality=Axis(metric, target=3.28), metrics=track.metrics)
    assert of(by_quality, metrics=stated)[metric] == value


# ---- Costs by the device -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hardware", "stated", "chips", "peak", "flops"),
    [
        (H100, {}, 8, PEAK, 30.0 * 8 * PEAK),
        (H100, {"chips": 4, "peak_flops": 1e12}, 4, 1e12, 30.0 * 4 * 1e12),
        (H100, {"hardware_flops": 5e17}, 8, PEAK, 5e17),
        (Hardware("2x H100"), {}, 2, PEAK, 30.0 * 2 * PEAK),
        (Hardware("2x H100", 8), {}, 8, PEAK, 30.0 * 8 * PEAK),
        (Hardware("H100"), {}, None, PEAK, None),
        (Hardware("unheard-of", 8), {}, None, None, None),
        (Hardware(None, 8), {}, None, None, None),
        (Hardware("unheard-of", 8), {"chips": 2, "peak_flops": 1e12}, 2, 1e12, 30.0 * 2 * 1e12),
    ],
)
def test_the_costs_of_a_run(
    hardware: Hardware,
    stated: dict[str, Any],
    chips: int | None,
    peak: float | None,
    flops: float | None,
) -> None:
    found = of(hardware=hardware, metrics=stated)
    assert (found["chips"], found["peak_flops"], found["hardware_flops"]) == (chips, peak, flops)
    of_file = of(hardware=hardware, metrics=stated, source="results")
    want = tuple(stated.get(name) for name in ("chips", "peak_flops", "hardware_flops"))
    assert (of_file["chips"], of_file["peak_flops"], of_file["hardware_flops"]) == want


@pytest.mark.parametrize(
    ("stated", "mfu"),
    [
        ({"model_flops": 1e17, "hardware_flops": 4e17}, 0.25),
        ({"model_flops": 1e17, "hardware_flops": 4e17, "mfu": 0.3}, 0.3),
        ({"mfu": 0.3}, 0.3),
        ({}, None),
        ({"model_flops": 1e300, "hardware_flops": 1e-300}, None),
    ],
)
def test_the_share_of_the_peak_is_computed_where_none_is_stated(
    stated: dict[str, float], mfu: float | None
) -> None:
    assert of(metrics=stated)["mfu"] == mfu


def test_no_clock_and_no_peak_cost_nothing_that_is_known() -> None:
    at_zero = (Validation(0, 11.0, 0.0),)
    found = of(step=0, validation=at_zero)
    assert found["training_time_s"] == 0.0 and found["hardware_flops"] is None
    one = (Validation(1, 11.0, 1.0),)
    assert of(validation=one)["hardware_flops"] == 8 * PEAK


@pytest.mark.parametrize(
    ("value", "told"),
    [(0, True), (1e-40, False), (2e-40, True), (-2e-40, True), (1, True), (-1, True)]
    + [(9e39, True), (1e40, False), (-1e40, False), (None, False), (math.nan, False)],
)  # fmt: skip
def test_a_measurement_lies_between_bounds(value: float | None, told: bool) -> None:
    assert metrics.is_measurement(value) is told
    assert of(metrics={"bpb": value})["bpb"] == (value if told else None)


# ---- Means -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "mean"),
    [
        ([{"a": 1.0}, {"a": 3.0}, {"a": 5.0}], 3.0),
        ([{"a": 1.0}, {"a": 1.0}, {"a": 4.0}], 2.0),
        ([{"a": 1.7e308}, {"a": 1.7e308}], 1.7e308),  # whose sum is no double
        ([{"a": 1.0}, {"a": math.inf}], None),
        ([{"a": 1.0}, {}], None),
        ([{"a": None}, {"a": None}], None),
        ([{"a": math.inf}], math.inf),
    ],
)
def test_the_mean_of_a_metric(rows: list[dict[str, Any]], mean: float | None) -> None:
    assert metrics.mean_of(rows)["a"] == mean


@pytest.mark.parametrize("name", ["chips", "peak_flops"])
def test_what_runs_ran_on_has_no_mean(name: str) -> None:
    assert metrics.mean_of([{name: 2}, {name: 2}, {name: 4}]) == {name: None}
    assert metrics.mean_of([{name: 2}, {name: 2}])[name] == 2
    assert metrics.mean_of(iter([{name: 2}])) == {name: 2}


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [(1002, 1000, True), (1002.1, 1000, False), (998, 1000, True), (-1002, -1000, True)]
    + [(0, 0, True), (1e-9, 0, False)],
)  # fmt: skip
def test_numbers_are_the_same_within_a_fifth_of_a_percent(a: float, b: float, alike: bool) -> None:
    assert metrics.same(a, b) is alike
    assert metrics.same(a, b, 0.0) is (a == b)
