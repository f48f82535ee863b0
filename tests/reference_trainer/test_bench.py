"""The benchmark's report: one process, several, and beside a peer."""

from __future__ import annotations

import dataclasses as dc
import json
import os
import pathlib
import subprocess
import sys

import pytest

from reference_trainer import bench
from reference_trainer.cli import make_backend
from reference_trainer.config import Config
from tests.reference_trainer.conftest import need

ROOT = pathlib.Path(__file__).parents[2]
SMALL = {"model.layers": 1, "model.hidden": 32, "model.intermediate": 32, "model.seq_len": 32}


@pytest.mark.full("compiles for each row")
def test_best_row_is_compared_with_a_peer(small: Config) -> None:
    need("jax")
    report = bench.measure(small, make_backend("jax"), (2, 4), 1, against=10.0)
    best = max(row["tokens_per_s"] for row in report["rows"])
    assert report["devices"] == 2 and [row["micro_batch"] for row in report["rows"]] == [2, 4]
    assert report["over_peer"] == pytest.approx(best / 10)
    assert f"best: {best / 10:.3f} times the peer's 10 tokens/s" in bench.to_text(report)
    assert "2 x cpu" in bench.to_text(report)


def test_without_a_peer_nothing_is_said_of_one(small: Config) -> None:
    need("torch")
    report = bench.measure(small, make_backend("torch"), (2,), 1)
    assert report["over_peer"] is None and "peer" not in bench.to_text(report)


def test_a_whole_batch_is_added_up_in_micro_batches(small: Config) -> None:
    need("torch")
    train = dc.replace(small.train, batch=8)
    whole = bench.measure(
        dc.replace(small, train=train), make_backend("torch"), (2,), 1, None, True
    )
    (row,) = whole["rows"]
    assert (row["micro_batch"], row["batch"]) == (2, 8)
    tokens = 8 * small.model.seq_len
    assert row["tokens_per_s"] * row["step_ms"] / 1000 == pytest.approx(tokens)


def test_under_torchrun_one_process_reports_for_all() -> None:
    need("torch")
    settings = [part for k, v in SMALL.items() for part in ("--set", f"{k}={v}")]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += ["-m", "reference_trainer", "bench", "--config", "tiny", "--backend", "torch"]
    command += ["--micro-batch", "2", "--steps", "1", "--json", *settings]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout)  # of one process alone
    assert report["devices"] == 2 and report["rank"] == 0
    (row,) = report["rows"]
    # Both processes' tokens: 2 sequences of 32 on each.
    assert row["tokens_per_s"] * row["step_ms"] / 1000 == pytest.approx(2 * 2 * 32)
