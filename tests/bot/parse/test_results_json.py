"""The five shapes of results files as one: quantities by one name, in one unit, with pointers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.compute import metrics
from bot.model.document import at
from bot.model.results import ResultsRun, device_name
from bot.model.values import has_zone, parse_timestamp, whole
from bot.parse.json_file import read_json
from bot.parse.results_json import is_results, read_results
from tests.corpus.variants import GOOD

SHAPES = {
    "v0": "V0",
    "v1_minutes": "V1",
    "v1_fp32": "V1",
    "v2": "V2",
    "v2_h200": "V2",
    "v3": "V3",
    "v4": "V4",
    "v4_gdn": "V4",
    "v4_auto": "V4",
}


def read(name: str) -> ResultsRun:
    (run,) = read_results(read_json((GOOD / f"{name}.json").read_bytes(), name))
    return run


def of(value: Any) -> tuple[ResultsRun, ...]:
    return read_results(read_json(json.dumps(value).encode(), "x"))


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_gives_the_same_quantities_with_their_places(name: str) -> None:
    run = read(name)
    assert run.shape == SHAPES[name]
    for quantity in ("bpb", "training_time_s", "hardware_flops", "parameters", "tokens"):
        assert run.number(quantity) is not None, quantity
        written = at(run.document.value, run.where(quantity))
        assert written == run.stated[quantity].raw
        line = json.dumps(written)
        shown = (GOOD / f"{name}.json").read_text().splitlines()[(run.line(quantity) or 0) - 1]
        assert line in shown


def test_minutes_become_seconds_and_rounded_text_a_number_with_its_tolerance() -> None:
    run = read("v0")
    assert run.number("training_time_s") == 48.652533333000974 * 60
    assert run.number("hardware_flops") == 8.56e17
    assert run.stated["hardware_flops"].tolerance == pytest.approx(0.005)
    assert run.text("link") == "gs://example-bucket/checkpoints/speedrun/example-run"
    assert read("v1_minutes").text("timestamp") is not None


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("v0", "v4-128"),
        ("v1_fp32", "a100"),
        ("v2", "v5litepod-64"),
        ("v2_h200", "H200"),
        ("v4", "v5p-8"),
        ("v4_h100", "H100"),
        ("v4_auto", "auto"),
    ],
)
def test_the_device_by_its_own_name(name: str, device: str) -> None:
    assert device_name(read(name)) == device


def test_as_a_run() -> None:
    run = read("v4")
    made = metrics.as_run(run, 128256)
    assert made.source == "results" and made.finished and made.total_steps == 4959
    assert made.hardware.device == "v5p-8" and made.hardware.count == 4
    assert made.metrics["mfu"] == pytest.approx(0.2125, abs=1e-4)
    assert made.finished_at == "2026-04-11T23:52:18+00:00"
    assert metrics.as_run(run).metrics["hardware_flops"] == made.metrics["hardware_flops"]


def test_the_trainers_object_beside_the_runs_or_in_one() -> None:
    info = {"training_time": 1.0, "eval/loss": 3.5}
    ours = {
        "schema_version": 1,
        "seed": 7,
        "nonce": "ab" * 16,
        "data_fingerprint": "f",
        "code_sha256": "c" * 64,
    }
    for value in (
        {"runs": [{"run_info": {**info, "speedrun": ours}}]},
        {"runs": [{"run_info": info}], "speedrun": ours},
    ):
        made = metrics.as_run(of(value)[0])
        assert (made.seed, made.nonce, made.data_fingerprint) == (7, "ab" * 16, "f")
        assert made.loss == 3.5 and list(made.code_sha256.values()) == ["c" * 64]


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"runs": None},
        {"runs": []},
        {"runs": [None, 3, "x", []]},
        {"runs": [{"run_info": None}]},
        {"runs": [{"run_info": []}]},
        {"runs": [{}]},
    ],
)
def test_what_is_no_results_file_gives_no_run(value: Any) -> None:
    assert of(value) == () and not (is_results(value) and of(value))


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2025-06-28 21:52:29 UTC", "2025-06-28T21:52:29+00:00"),
        ("2025-06-28T21:52:29Z", "2025-06-28T21:52:29+00:00"),
        ("2025-06-28T21:52:29.5+02:00", "2025-06-28T19:52:29.500000+00:00"),
        ("2025-06-28 21:52", "2025-06-28T21:52:00+00:00"),
        (" 2025-06-28 21:52:29 GMT ", "2025-06-28T21:52:29+00:00"),
    ],
)
def test_times_that_can_be_read(text: str, iso: str) -> None:
    moment = parse_timestamp(text)
    assert moment is not None and moment.isoformat() == iso


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "2025-06-28",
        "28.06.2025 21:52:29",
        "2025-06-28 21:52:29 CET",
        "1751147549",
        "2025-02-30 00:00:00 UTC",
        "2025-06-28 24:61:00 UTC",
        "0000-01-01 00:00:00 UTC",
        "0001-01-01 00:00:00 +23:59",
        "2025-W26-6 10:00:00 UTC",
        "2025-06-28 21:52:29 UTC+1",
    ],
)
def test_times_that_cannot(text: str | None) -> None:
    assert parse_timestamp(text) is None


def test_zones() -> None:
    assert has_zone("2025-06-28 21:52:29 UTC") and not has_zone("2025-06-28 21:52:29")


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (4, 4),
        (4.0, 4),
        (4.5, None),
        (True, None),
        ("4", None),
        (None, None),
        (float("nan"), None),
    ],
)
def test_whole_numbers(value: Any, number: int | None) -> None:
    assert whole(value) == number
