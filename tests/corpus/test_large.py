"""Large but legal JSON made to be slow: each is judged within seconds and within bounds."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable

import pytest

from bot.model.submission import MAX_JSON_BYTES, Folder
from bot.parse.track_toml import load_tracks
from bot.verify import verify
from tests.conftest import ROOT, in_turn
from tests.corpus.variants import load

TRACKS = load_tracks(ROOT)
SECONDS = 10.0
SWELL_BYTES = 400_000_000


def good() -> dict[str, object]:
    return load("v4")


def nested(value: object, keys: list[str]) -> object:
    for key in reversed(keys):
        value = {key: value}
    return value


LARGE: dict[str, Callable[[], object]] = {
    "long-key-many-lists": lambda: good() | {"k" * 400_000: [[]] * 150_000},
    "deep-long-keys": lambda: good() | {"x": nested(["s"] * 60_000, ["k" * 10_000] * 35)},
    "many-unknown-keys": lambda: {
        "runs": [{"run_info": {f"training_tim{i}": 1 for i in range(40_000)}}]
    },
    "many-unknown-keys-submission": lambda: {f"titl{i}": 1 for i in range(60_000)},
    "many-runs": lambda: {"runs": [1] * 400_000},
    "many-bad-runs": lambda: {"runs": [{"run_info": {"training_time": "x"}}] * 499},
    "many-runs-of-nothing": lambda: {"runs": [{}] * 300_000},
    "many-numbers": lambda: good() | {"x": [0] * 450_000},
    "many-texts": lambda: good() | {"x": ["a"] * 240_000},
    "many-odd-texts": lambda: good() | {"x": ["\u202e"] * 100_000},
    "many-paths": lambda: good() | {"x": ["/home/a/b"] * 70_000},
    "one-long-text": lambda: good() | {"x": "a" * 980_000},
    "long-text-of-near-secrets": lambda: good() | {"x": "api_key=" * 120_000},
    "long-text-of-addresses": lambda: good() | {"x": "a://b:c" * 130_000},
    "long-text-of-paths": lambda: good() | {"x": " /home/" * 1_400},
    "long-link": lambda: {
        "runs": [{"run_info": {"wandb_run_link": "https://wandb.ai/" + "a/" * 400_000}}]
    },
    "long-time": lambda: {"runs": [{"run_info": {"run_completion_timestamp": "2" * 900_000}}]},
    "long-device": lambda: {"runs": [{"run_info": {"resources": {"tpu_type": "v5p-" * 200_000}}}]},
}


LISTED = ("deep-long-keys", "many-unknown-keys-submission", "many-odd-texts")


ROWS = [*((name, False) for name in LARGE), *((name, True) for name in LISTED)]
IDS = [f"{name}-{listed}" for name, listed in ROWS]


@pytest.mark.parametrize("row", in_turn(ROWS, IDS, "the other large files"))
def test_large(row: tuple[str, bool]) -> None:
    name, listed = row
    data = json.dumps(LARGE[name](), ensure_ascii=False, separators=(",", ":")).encode()
    assert 10_000 < len(data) <= MAX_JSON_BYTES
    folder = (
        Folder("submissions/fineweb-edu/x", {"submission.json": data})
        if listed
        else Folder("r.json", {"r.json": data}, bare=True)
    )
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    verdict = verify(folder, TRACKS, track_id="fineweb-edu")
    taken = time.process_time() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert taken < SECONDS and grown < SWELL_BYTES, (taken, grown)
    assert len(verdict.findings) < 200
    assert len(json.dumps(verdict.to_json())) < 300_000
