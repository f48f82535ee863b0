"""Logs that people really submitted, after public reports: each with the answer of an expert."""

from __future__ import annotations

import functools as ft
import json
from typing import Any

import pytest

from bot.evidence.gather import gather
from bot.model.submission import Folder
from bot.model.verdict import Verdict
from bot.parse.json_file import read_json
from bot.parse.results_json import read_results
from bot.parse.track_toml import load_tracks
from bot.registry import Status
from bot.verify import verify
from tests.conftest import ROOT

CASES = ROOT / "tests" / "golden" / "cases"
TRACKS = load_tracks(ROOT)


def judged(name: str, track: str = "nanogpt-small", **fields: Any) -> Verdict:
    """The verdict on a folder that holds the logs of a case."""
    files = {f"logs/{p.name}": p.read_bytes() for p in sorted((CASES / name).iterdir())}
    return of_files(files, track, **fields)


def of_files(files: dict[str, bytes], track: str = "nanogpt-small", **fields: Any) -> Verdict:
    document = {
        "schema_version": 1,
        "track": track,
        "title": "A case",
        "summary": "Logs of a kind that was answered wrongly somewhere, with nothing new in them.",
        "contributors": [{"github": "example-user"}],
        "runs": [{"source": "log", "path": path} for path in files],
    } | fields
    data = {**files, "submission.json": json.dumps(document).encode()}
    folder = Folder(f"submissions/{track}/x", data)
    return verify(folder, TRACKS, gather=ft.partial(gather, online=None))


def told(verdict: Verdict, rule: str) -> str:
    return next((f"{f.message}; {f.fix}" for f in verdict.findings if f.rule == rule), "")


@pytest.mark.parametrize(
    ("name", "second"),
    [("clock-minutes", 71.1), ("log-prefix-hydra", 71.06), ("log-prefix-logging", 71.06)],
)
def test_it_is_read(name: str, second: float) -> None:
    verdict = judged(name)
    assert [run.time_s for run in verdict.runs] == [71.0, second]
    assert not [f for f in verdict.errors if f.rule not in ("target-not-significant",)]


@pytest.mark.parametrize(
    ("name", "rule", "said"),
    [
        (
            "clock-missing-at-end",
            "metric-missing",
            "step 1390: the last validation has no clock, so the time is missing (0.log)",
        ),
        ("clock-unit-typo", "clock-implausible", "microseconds a step"),
        ("log-tensor", "metric-missing", "line 14 holds a tensor and not a number"),
        ("log-lfs-pointer", "metric-missing", "is a Git LFS pointer"),
        ("log-gz", "metric-missing", "is compressed with gzip"),
        ("h800", "hardware-differs-from-run", "h800-sxm"),
    ],
)
def test_it_is_rejected_for_its_cause_and_never_for_too_few_runs(
    name: str, rule: str, said: str
) -> None:
    verdict = judged(name)
    assert verdict.status is Status.REJECTED
    assert said in told(verdict, rule), verdict.findings
    assert "too-few-runs" not in {f.rule for f in verdict.findings}


def test_a_missing_clock_is_nothing_where_steps_count() -> None:
    verdict = judged("clock-missing-at-end", "nanogpt-optimization")
    assert "metric-missing" not in {f.rule for f in verdict.findings}


LINES = "step:0/9 {0}:9.0 {1}:0{2}\nstep:9/9 {0}:3.27 {1}:9{2}\n"


@pytest.mark.parametrize(
    ("keys", "loss", "clock", "time"),
    [
        ({"loss": "held_out"}, "held_out", "train_time", 9.0),
        ({"time_s": "wall"}, "val_loss", "wall", 9.0),
        ({"loss": "held_out", "time_s": "wall"}, "held_out", "wall", 9.0),
    ],
)
def test_names_of_the_author(keys: dict[str, str], loss: str, clock: str, time: float) -> None:
    text = LINES.format(loss, clock, "s" if clock == "train_time" else "")
    verdict = of_files({"a.log": text.encode()}, keys=keys)
    assert (verdict.runs[0].loss, verdict.runs[0].time_s) == (3.27, time)
    assert "its runs call a quantity" in told(verdict, "key-mapped")
    alone = of_files({"a.log": text.encode()})
    assert "metric-missing" in {f.rule for f in alone.errors}


@pytest.mark.parametrize(
    "keys",
    [{"own": "x"}, {"loss": 7}, {"loss": ""}, {"loss": "x" * 500}, {"nothing": "x"}, [1], "x", 7],
)
def test_names_that_cannot_be_are_an_error_of_the_schema(keys: object) -> None:
    verdict = of_files({"a.log": LINES.format("val_loss", "train_time", "s").encode()}, keys=keys)
    assert "schema" in {f.rule for f in verdict.findings}
    assert verdict.runs[0].loss == 3.27


def test_names_of_the_author_hold_for_results_files_too() -> None:
    info = {"training_time": 1.0, "loss": 9.0, "my/nll": 3.27}
    text = json.dumps({"runs": [{"run_info": info}]}).encode()
    document = read_json(text, "r.json")
    assert [run.number("loss") for run in read_results(document)] == [9.0]
    assert [run.number("loss") for run in read_results(document, {"loss": "my/nll"})] == [3.27]
    runs = [{"source": "results", "path": "r.json"}]
    verdict = of_files({"r.json": text}, runs=runs, keys={"loss": "my/nll"})
    assert verdict.runs[0].loss == 3.27
