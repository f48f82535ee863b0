"""A limited size that is stated in parts, each within the limit: in log, W&B and JSON files."""

from __future__ import annotations

import dataclasses as dc
import json
from typing import Any

import pytest

from bot.evidence.log.training_log import read_log
from bot.evidence.parts import in_json, in_line, sums
from bot.model.track import Metric
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL, a_case, a_run, found
from tests.bot.rules.second_cases import log, offline, rows

SIZE = Metric("artifact_bytes", "Artifact size", "bytes", keys=("artifact_bytes",),
              patterns=(r"^Total submission size[^:]*: (\d+) bytes",))  # fmt: skip
GOLF = dc.replace(
    SMALL,
    metrics={"artifact_bytes": SIZE},
    limits={"artifact_bytes": 16_000_000.0},
    keys=dc.replace(SMALL.keys, own=(("artifact_bytes", ("artifact_bytes",)),)),
)


def told(run: Any, track: Any = GOLF, **changes: Any) -> list[str]:
    items = found("limit-exceeded", a_case([run], track=track, **changes))
    assert all(item.level is Level.WARNING for item in items), items
    return [item.message for item in items]


def in_log(*lines: str) -> list[str]:
    (run,) = read_log(log(tail="\n".join(lines)), "run.log")
    return told(dc.replace(run, history={"artifact_bytes": ((1400, 9_000_000.0),)}))


OVER = "are 18,000,000 bytes together, and the track allows at most 16,000,000"
PARTS = [
    ("Total submission size model_part_1: 9000000 bytes",
     "Total submission size model_part_2: 9000000 bytes"),
    ("model-00001-of-00002.safetensors 9.0 MB", "model-00002-of-00002.safetensors 9.0 MB"),
    ("saved shard 1/2: 9,000,000 bytes", "saved shard 2/2: 9,000,000 bytes"),
    ("model_a.bin: 9000000 bytes", "model_b.bin: 9000000 bytes"),
    ("artifact_part_0_bytes=9000000", "artifact_part_1_bytes=9000000"),
    ("Code size: 3000000 bytes", "Serialized model int8+zlib: 15000000 bytes"),
]  # fmt: skip


@pytest.mark.parametrize("lines", PARTS, ids=[pair[0] for pair in PARTS])
def test_parts_in_a_log(lines: tuple[str, str]) -> None:
    (message,) = in_log(*lines)
    assert OVER in message and "in the log" in message
    half = [line.replace("9", "7").replace("15000000", "12000000") for line in lines]
    assert in_log(*half) == []
    assert in_log(lines[0]) == [] and in_log(lines[1]) == []


@pytest.mark.parametrize(
    "lines",
    [
        ("Serialized model: 67000000 bytes", "Code size: 47642 bytes",
         "Serialized model int8+zlib: 15815847 bytes",
         "Total submission size int8+zlib: 15863489 bytes"),
        ("Serialized model int8+zlib: 15900000 bytes", "Serialized model int6+brotli: 15200000 "
         "bytes", "Code size: 50000 bytes"),
        ("train shard 1: 900000000 bytes", "train shard 2: 900000000 bytes"),
        ("optimizer shard 1/2: 90000000 bytes", "optimizer shard 2/2: 90000000 bytes"),
        ("gpu 1 memory 9000000 KB", "gpu 2 memory 9000000 KB"),
        ("model_a.bin: 9000000 bytes", "model_a.bin: 9000000 bytes"),
        ("raw model part 1: 9000000 bytes", "raw model part 2: 9000000 bytes"),
    ],
)  # fmt: skip
def test_sizes_that_are_no_parts(lines: tuple[str, ...]) -> None:
    assert in_log(*lines) == []


def test_parts_on_wandb() -> None:
    def run(first: float, second: float, *, history: bool) -> Any:
        sizes = {"artifact/part_1_bytes": first, "artifact/part_2_bytes": second}
        logged = {"artifact_bytes": 9e6, **(sizes if history else {})}
        return offline(rows(lambda step: logged), GOLF, config={} if history else sizes)

    for history in (True, False):
        (message,) = told(run(9e6, 9e6, history=history))
        assert OVER in message
        assert told(run(9e6, 6e6, history=history)) == []


JSONS: list[tuple[dict[str, Any], bool]] = [
    ({"parts": [9_000_000, 9_000_000]}, True),
    ({"parts": [{"name": "a", "bytes": 9_000_000}, {"name": "b", "bytes": 9_000_000}]}, True),
    ({"shards": {"x.bin": 9_000_000, "y.bin": 9_000_000}}, True),
    ({"bytes_model_part_1": 9_000_000, "bytes_model_part_2": 9_000_000}, True),
    ({"bytes_code": 3_000_000, "bytes_model_int8_zlib": 15_000_000}, True),
    ({"parts": [9_000_000, 6_000_000]}, False),
    ({"parts": [9_000_000]}, False),
    ({"train_shards": [90_000_000, 90_000_000]}, False),
    ({"bytes_total": 15_000_000, "bytes_code": 3_000_000}, False),
    ({"bytes_code": 300_000, "bytes_model_int8_zlib": 15_000_000, "bytes_model": 67e6}, False),
    ({"seeds": [1337, 2025, 4096]}, False),
]


@pytest.mark.parametrize(("stated", "is_told"), JSONS)
def test_parts_in_a_json_file(stated: dict[str, Any], is_told: bool) -> None:
    run = a_run(history={"artifact_bytes": ((1000, 9_000_000.0),)})
    messages = told(run, results={"runs": [{"run_info": {}}], "artifact": stated})
    assert [OVER in message for message in messages] == [True] * is_told


def test_only_where_the_track_limits_a_size() -> None:
    run = a_run(history={"artifact_bytes": ((1000, 9_000_000.0),)})
    document = {"runs": [{"run_info": {}}], "parts": [9_000_000, 9_000_000]}
    assert told(run, dc.replace(GOLF, limits={"training_time_s": 61.0}), results=document) == []
    in_mb = dc.replace(SIZE, unit="MB")
    small = a_run(history={"artifact_bytes": ((1000, 9.0),)})
    track = dc.replace(GOLF, metrics={"artifact_bytes": in_mb}, limits={"artifact_bytes": 16.0})
    assert len(told(small, track, results=document)) == 1


def test_hostile_input_is_bounded() -> None:
    deep: Any = 5000
    for _ in range(2000):
        deep = [deep]
    assert list(in_json(deep)) == []
    assert len(list(in_line("1 B " * 50_000))) <= 400
    assert list(sums({})) == []
    assert len(list(in_json(json.loads("[" + "5000," * 9999 + "5000]")))) == 0
