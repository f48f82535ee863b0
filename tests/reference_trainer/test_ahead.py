"""The JAX step compiles for every TPU generation, and too big a batch is refused in words."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

from reference_trainer import memory
from reference_trainer.config import load_config

SMALL = {
    "model.layers": 2, "model.hidden": 256, "model.heads": 2, "model.seq_len": 128,
    "model.intermediate": 512, "train.batch": 16, "train.micro_batch": 2,
    "optimizer.name": '"adamw"',
}  # fmt: skip


def compile_(
    generation: str, config: str = "tiny", **more: object
) -> subprocess.CompletedProcess[str]:
    """In a process of its own: libtpu keeps state. `tiny` is made smaller still."""
    if importlib.util.find_spec("libtpu") is None or importlib.util.find_spec("jax") is None:
        pytest.skip("libtpu is not installed; make test-full installs it")
    small = SMALL if config == "tiny" else {}
    settings = {**small, **{k.replace("_", ".", 1): v for k, v in more.items()}}
    arguments = [part for k, v in settings.items() for part in ("--set", f"{k}={v}")]
    command = [sys.executable, "-m", "reference_trainer", "compile", "--config", config]
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    return subprocess.run(
        [*command, "--tpu", generation, *arguments],
        capture_output=True, text=True, timeout=400, cwd=pathlib.Path(__file__).parents[2],
        env={**environment, "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip


@pytest.mark.parametrize("generation", ["v4", "v5e", "v5p", "v6e", "v7x"])
def test_step_compiles_and_fits(generation: str) -> None:
    done = compile_(generation)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "compiles for" in done.stdout and "splash" in done.stdout


def test_heads_of_64_take_the_splash_kernel_too() -> None:
    done = compile_("v5p", model_heads=4)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "splash" in done.stdout


@pytest.mark.more
def test_a_shipped_configuration_needs_what_is_predicted() -> None:
    """The smallest one, and each night the one with heads of 64 that is scanned."""
    every = os.environ.get("SPEEDRUN_FULL") and not os.environ.get("SPEEDRUN_REST")
    name = "llama-300m" if every else "llama-30m"
    done = compile_("v5p", name)
    assert done.returncode == 0, done.stderr[-2000:]
    found = re.search(r"([0-9.]+) of 95 GiB", done.stdout)
    assert found is not None, done.stdout
    predicted = memory.estimate(load_config(name), devices=4, kind="tpu").total / 2**30
    assert float(found[1]) == pytest.approx(predicted, rel=0.15)


def test_too_big_a_batch_is_refused_at_compile_time() -> None:
    done = compile_("v5e", train_batch=131072, train_micro_batch=32768, model_vocab=50304)
    assert done.returncode == 2
    assert "lower train.micro_batch" in done.stderr and "Traceback" not in done.stderr


def test_unknown_generation() -> None:
    done = compile_("v9")
    assert done.returncode == 2 and "known are v4, v5e" in done.stderr
