"""Single values of results files and of runs: what is missing, and what is out of range."""

from __future__ import annotations

import dataclasses as dc
import json
from typing import Any

import pytest

from bot.model.case import Case, RunEvidence
from bot.model.results import ResultsRun, Stated
from bot.model.run import Hardware
from bot.model.submission import RunSpec
from bot.model.track import Axis, Track
from bot.model.verdict import finding
from bot.parse.json_file import read_json
from bot.registry import Level
from bot.rules.values import is_no_number, unread_flops
from tests.bot.rules.run_cases import PATH, TRACKS, a_case, a_run, found, results_file

EDU, SMALL, SINGLE = (
    TRACKS[name] for name in ("fineweb-edu", "nanogpt-small", "single-gpu-fineweb")
)
BPB = "eval/paloma/c4_en/bpb"


def stating(track: Track = EDU, /, **info: Any) -> Case:
    """A results file with other values; None leaves one out."""
    return a_case((), track=track, results=results_file(info))


# ---- Ranges -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "what", "low", "least", "most", "above"),
    [
        (BPB, "bits per byte", 0.3, 0.301, 8.0, 8.01),
        ("eval/loss", "loss in nats", 0.0, 0.5, 20.0, 20.01),
        ("training_time", "training time", 0.0, 0.5, 3.2e8, 3.21e8),
        ("training_hardware_flops", "hardware FLOPs", 0.0, 0.5, 1e30, 1.01e30),
        ("model_flops", "model FLOPs", 0.0, 0.5, 1e30, 1.01e30),
        ("total_tokens", "number of tokens", 0.0, 0.5, 1e15, 1.01e15),
        ("model_size", "number of parameters", 0.0, 0.5, 1e15, 1.01e15),
        ("num_chips", "number of chips", 0.0, 0.5, 1e6, 1.01e6),
        ("num_devices", "number of devices", 0.0, 0.5, 1e7, 1.01e7),
        ("device_flops", "peak FLOP/s of one chip", 0.0, 0.5, 1e18, 1.01e18),
    ],
)
def test_the_range_of_each_quantity(
    key: str, what: str, low: float, least: float, most: float, above: float
) -> None:
    for value, bound in ((low, f"above {low:g}"), (least, None), (most, None), (above, "at most")):
        items = [f for f in found("metric-implausible", stating(**{key: value}))
                 if f.level is Level.ERROR]  # fmt: skip
        assert [f.claimed for f in items] == ([value] if bound else []), value
        for item in items:
            assert item.message.startswith(f"`{key}`, the {what}, is ")
            assert f", expected {bound}" in item.message
            assert item.pointer == f"/runs/0/run_info/{key.replace('/', '~1')}"


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [(BPB, 0.59, True), (BPB, 0.6, False), ("eval/loss", 0.59, False)],
)
def test_text_predicted_better_than_any_model_does(key: str, value: float, told: bool) -> None:
    items = found("metric-implausible", stating(**{key: value}))
    message = f"`{BPB}`, the bits per byte, is 0.59; no model is known to reach 0.6 on English text"
    assert [(f.message, f.level) for f in items] == [(message, Level.WARNING)] * told


@pytest.mark.parametrize(
    ("section", "path", "value", "told"),
    [
        ({"train_config": {"num_train_steps": 0}}, "train_config/num_train_steps", 0, True),
        ({"train_config": {"num_train_steps": 1}}, "", 0, False),
        ({"train_config": {"num_train_steps": 2.0}}, "", 0, False),
        ({"train_config": {"num_train_steps": 1.5}}, "train_config/num_train_steps", 1.5, True),
        ({"train_config": {"num_train_steps": True}}, "", 0, False),
        ({"train_config": {"num_train_steps": False}}, "", 0, False),
        ({"train_config": {"num_train_steps": "0"}}, "", 0, False),
        ({"train_config": {"something": 0}}, "", 0, False),
        ({"model_config": {"head_dim": -1}}, "model_config/head_dim", -1, True),
        ({"resources": {"slice_count": 0}}, "resources/slice_count", 0, True),
        ({"resources": {"device": {"count": 0}}}, "resources/device/count", 0, True),
        ({"resources": {"device": {"count": 2}}}, "", 0, False),
        ({"resources": {"device": "v4"}}, "", 0, False),
        ({"resources": {"count": 0}}, "", 0, False),
    ],
)
def test_counts_are_whole_numbers_above_zero(
    section: dict[str, Any], path: str, value: float, told: bool
) -> None:
    items = [f for f in found("metric-implausible", stating(**section)) if "whole" in f.message]
    message = f"`{path.rpartition('/')[2]}` is {value}, expected a whole number above 0"
    assert [(f.message, f.pointer, f.claimed) for f in items] == (
        [(message, f"/runs/0/run_info/{path}", value)] * told
    )


@pytest.mark.parametrize(("value", "told"), [("NaN", '"NaN"'), ("Infinity", '"Infinity"'),
                                             (1.01, None), ("many", None)])  # fmt: skip
def test_values_that_are_not_finite(value: Any, told: str | None) -> None:
    items = found("metric-not-finite", stating(**{BPB: value}))
    message = f"`{BPB}` is {told}, expected a finite number"
    assert [(f.message, f.claimed) for f in items] == ([(message, value)] if told else [])


# ---- Estimates of the oldest shape --------------------------------------------------------------


def old(raw: object, value: object = None, pointer: str = "/a/final_flops_estimate") -> ResultsRun:
    document = read_json(b"{}", "r.json")
    stated = {"hardware_flops": Stated(pointer, raw, value)}
    return ResultsRun("r.json", 0, "V0", "/a", "/a", {}, stated, document)


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (old("much"), True),
        (old("1e18 FLOPs", 1e18), False),
        (old(7), False),
        (old("NaN"), False),
        (old("much", pointer="/a/total_training_flops"), False),
        (dc.replace(old("much"), stated={}), False),
    ],
)
def test_an_estimate_that_holds_no_number(run: ResultsRun, told: bool) -> None:
    assert is_no_number(run) is told


def test_what_is_said_of_such_an_estimate() -> None:
    item = unread_flops(old("much"), 1.5e6)
    assert item.message == (
        '`final_flops_estimate` is "much", which is not a number, expected 1,500,000 from seconds '
        "x chips x peak"
    )
    assert (item.fix, item.claimed, item.pointer) == (
        "write 1500000",
        "much",
        "/a/final_flops_estimate",
    )


# ---- What is missing from a results file --------------------------------------------------------


def of_old(stats: Any = None, **info: Any) -> Case:
    run = {"run_related_info": info, "run_stats": {} if stats is None else stats}
    return a_case((), track=EDU, results={"runs": [run]})


FLOPS = "hardware_flops"
NO_BPB: dict[str, Any] = {BPB: None}
NO_CHIPS: dict[str, Any] = {"num_chips": None, "num_devices": None}
NAME_IT = ", or name the accelerator and the number of chips"


def ranked_by(metric: str) -> Track:
    return dc.replace(EDU, cost=Axis(metric, goal="max"))


@pytest.mark.parametrize(
    ("case", "missing"),
    [
        (stating(), []),
        (stating(**NO_BPB), [(BPB, "bpb", "")]),
        (stating(training_time=None), [("training_time", FLOPS, "")]),
        (stating(training_time=None, training_tme=60.0), []),  # `schema` speaks of it
        (stating(training_time="sixty"), []),
        (stating(**NO_CHIPS), [("num_chips", FLOPS, NAME_IT)]),
        (stating(device_flops=None), [("device_flops", FLOPS, NAME_IT)]),
        (
            stating(**NO_CHIPS, resources={"device": {"variant": "v99-8"}}),
            [("num_chips", FLOPS, ', or write a known accelerator, such as v5p-32, in place of '
              '"v99-8"')],
        ),
        (stating(ranked_by("mfu"), training_time=None, model_flops=1e17),
         [("training_time", "mfu", "")]),
        (stating(ranked_by("score")), [("score", "score", "")]),
        (of_old(), [(BPB, "bpb", ""), ("training_time_in_minutes", FLOPS, ""),
                    ("num_devices", FLOPS, NAME_IT), ("device_flops", FLOPS, NAME_IT)]),
        (of_old("none"), []),
    ],
)  # fmt: skip
def test_what_is_missing_from_a_results_file(
    case: Case, missing: list[tuple[str, str, str]]
) -> None:
    items = found("metric-missing", case)
    assert [(f.message, f.fix) for f in items] == [
        (f"`{key}` is missing, so {metric} cannot be computed", f"add `{key}`{hint}")
        for key, metric, hint in missing
    ]


# ---- What is missing from runs ------------------------------------------------------------------


def without(case: Case, *problems: Any, **documents: Any) -> Case:
    made = {name: read_json(json.dumps(value).encode(), name) for name, value in documents.items()}
    return dc.replace(case, problems=problems, documents=made)


def unread(level: Level) -> Case:
    spec = RunSpec("log", "a.log", pointer="/runs/0")
    problem = finding("metric-implausible", "what the reader says", level)
    return a_case((), evidence=(RunEvidence(spec, (), (problem,)),))


NOTHING = "no run could be read"
TIMED = "add runs with loss and training_time_s"


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (a_case(()), NOTHING),
        (a_case((), submission={"points": ("a",)}), f"{NOTHING}, point a"),
        (a_case([a_run()], arms=("baseline",)), "all runs are in the baseline arm"),
        (a_case([a_run()], arms=("search",)), NOTHING),
        (a_case(), None),
        # Something else says why there is nothing.
        (without(a_case(()), finding("schema", "x", Level.ERROR)), None),
        (without(a_case(()), finding("schema", "x", Level.WARNING)), NOTHING),
        (unread(Level.ERROR), None),
        (unread(Level.WARNING), NOTHING),
        (without(a_case(()), a={"schema_version": 9}), None),
        (without(a_case(()), **{"speedrun_results.json": {"runs": 7}}), None),
        # On a track of ratios nothing else says that no run counts.
        (a_case([a_run(0, finished=False)]), None),
    ],
)
def test_runs_that_are_not_there(case: Case, message: str | None) -> None:
    items = found("metric-missing", case)
    assert [(f.message, f.fix, f.file) for f in items] == (
        [(message, TIMED, PATH)] if message else []
    )


def test_three_of_the_runs_that_do_not_count_are_named() -> None:
    runs = [a_run(n, total_steps=2000, finished=False) for n in range(4)]
    (item,) = found("metric-missing", a_case(runs, track=SINGLE))
    assert item.message.startswith("no run counts: https://wandb.ai/example-team/nanogpt/runs/r0: ")
    assert [f"runs/r{n}: " in item.message for n in range(4)] == [True, True, True, False]


def computing(*hardware: Hardware, **changes: Any) -> Case:
    runs = [a_run(n, hardware=h, metrics={"bpb": 1.01}, **changes) for n, h in enumerate(hardware)]
    return a_case(runs, track=EDU)


KNOWN = "NVIDIA H100 80GB HBM3"
UNTIMED = tuple(v._replace(time_s=None) for v in a_run().validation)


@pytest.mark.parametrize(
    ("case", "says", "fix"),
    [
        (computing(Hardware(KNOWN, 8)), None, None),
        (computing(Hardware(None, 8)), "the runs have no hardware_flops: they name no device",
         "log the device and the number of chips in the configuration, as in `device: \"v4\"` and "
         "`chips: 4`"),
        (computing(Hardware(KNOWN, 8), Hardware("XPU 9", 8)),
         '1 of 2 runs has no hardware_flops: the device "XPU 9" is not known',
         "log the vendor's name of the device in the configuration, as in "
         '`device: "NVIDIA A100-SXM4-80GB"`, or ask for it in an issue'),
        (computing(Hardware(KNOWN)),
         "the runs have no hardware_flops: they do not say how many devices they used",
         "log the number of chips in the configuration, as in `chips: 4`"),
        (computing(Hardware(KNOWN, 8), validation=UNTIMED), "the runs have no hardware_flops",
         "add runs with bpb and hardware_flops"),
        (a_case([a_run(validation=UNTIMED, metrics={}, hardware=Hardware())]),
         "the runs have no training_time_s", TIMED),
    ],
)  # fmt: skip
def test_why_runs_have_no_cost(case: Case, says: str | None, fix: str | None) -> None:
    items = found("metric-missing", case)
    assert [(f.message, f.fix) for f in items] == ([(says, fix)] if says else [])
