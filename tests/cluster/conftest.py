"""Tests on real cluster managers: `make test-cluster`. They need Debian's Slurm (root) and Ray."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import Any

from tests.reference_trainer.conftest import corpus

__all__ = ["corpus"]

collect_ignore_glob = [] if os.environ.get("SPEEDRUN_CLUSTER") == "1" else ["test_*.py"]

SETTINGS = {
    "train.steps": 12,
    "train.eval_every": 6,
    "train.log_every": 1,
    "train.checkpoint_every": 2,
    "train.batch": 8,
    "train.micro_batch": 4,
    "model.hidden": 32,
    "model.intermediate": 64,
    "model.seq_len": 32,
    "schedule.warmup_steps": 1,
}


def trainer(folder: pathlib.Path, out: pathlib.Path, backend: str, *more: str) -> list[str]:
    """The trainer's arguments for a tiny run."""
    settings: dict[str, Any] = {**SETTINGS, "data.corpus": f'"{folder}"'}
    parts = [part for k, v in settings.items() for part in ("--set", f"{k}={v}")]
    begin = ["--config", "tiny", "--backend", backend, "--wandb", "off", "--quiet"]
    return [*begin, *parts, "--out", str(out), *more]


def environment() -> dict[str, str]:
    """One thread and one device a process, on the CPU."""
    kept = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    paths = os.pathsep.join(p for p in sys.path if p)
    return {**kept, "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", "PYTHONPATH": paths}


def losses(out: pathlib.Path) -> list[str]:
    text = (out / "log.txt").read_text(encoding="utf-8")
    return [line.split(" train_time")[0] for line in text.splitlines() if "_loss:" in line]
