"""What ends a run, and going on from there: exact resumption, signals, NaN, damaged checkpoints."""

from __future__ import annotations

import dataclasses as dc
import math
import os
import pathlib
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reference_trainer import checkpoint
from reference_trainer.cli import make_backend
from reference_trainer.config import Config
from reference_trainer.errors import ConfigError, NotFiniteLoss, StorageError
from reference_trainer.loop import train
from reference_trainer.shards import Corpus
from reference_trainer.storage import LocalFolder
from tests.reference_trainer.conftest import job, with_


class Interrupted(Exception):
    """Stands for a process that is gone from one moment to the next."""


@pytest.mark.parametrize("at", [5, 6, 9, 11])
def test_resuming_gives_the_uninterrupted_run_bit_by_bit(
    at: int, backend_name: str, small: Config, corpus: Corpus, out: pathlib.Path
) -> None:
    config = with_(small, checkpoint_every=3)
    whole = train(job(config, corpus, out / "whole"), make_backend(backend_name))
    make = make_backend(backend_name)

    def failing(config: Config, seed: int) -> Any:
        backend = make(config, seed)
        step, count = backend.train_step, iter(range(1, 99))

        def train_step(rows: np.ndarray, rate: float) -> Any:
            if next(count) == at:
                raise Interrupted
            return step(rows, rate)

        backend.train_step = train_step
        return backend

    with pytest.raises(Interrupted):
        train(job(config, corpus, out / "cut"), failing)
    resumed = train(job(config, corpus, out / "cut", resume=True), make)
    one, two = (d["runs"][0]["run_info"] for d in (whole, resumed))
    curves = [[p[:2] for p in info["speedrun"]["validation"]] for info in (one, two)]
    assert curves[0] == curves[1]
    assert two["speedrun"]["step_time_s"]["count"] == 12
    times = two["speedrun"]["step_time_s"]["mean"] * 12
    assert two["training_time"] == pytest.approx(times)
    lines = [
        [line.split(" train_time")[0] for line in (out / d / "log.txt").read_text().splitlines()]
        for d in ("whole", "cut")
    ]
    steps = [[line for line in log if line.startswith("step:")] for log in lines]
    assert steps[0] == steps[1]


Step = Callable[[], Any]


def with_step(make: Any, change: Callable[[int, Step], Any]) -> Any:
    """Backends as `make` makes them, whose training step is `change(its number, the step)`."""

    def made(config: Config, seed: int) -> Any:
        backend = make(config, seed)
        step, count = backend.train_step, iter(range(1, 99))
        backend.train_step = lambda rows, rate: change(next(count), lambda: step(rows, rate))
        return backend

    return made


@pytest.mark.full("trains three times")
def test_sigterm_saves_and_a_resumed_run_finishes(
    backend_name: str, small: Config, corpus: Corpus, out: pathlib.Path
) -> None:
    from reference_trainer.errors import Stopped

    make = make_backend(backend_name)

    def stop(count: int, step: Step) -> Any:
        if count == 7:
            os.kill(os.getpid(), signal.SIGTERM)
        return step()

    stopping = with_step(make, stop)
    with pytest.raises(Stopped, match="step 7 of 12, checkpoint saved"):
        train(job(small, corpus, out), stopping)
    assert checkpoint.steps(LocalFolder(out)) == [7]
    resumed = train(job(small, corpus, out, resume=True), make)
    whole = train(job(small, corpus, out / "whole"), make)
    curves = [
        [p[:2] for p in d["runs"][0]["run_info"]["speedrun"]["validation"]]
        for d in (resumed, whole)
    ]
    assert curves[0] == curves[1]


def test_nan_stops_with_step_checkpoint_and_hint(
    backend_name: str, small: Config, corpus: Corpus, out: pathlib.Path
) -> None:
    make = make_backend(backend_name)

    def diverge(count: int, step: Step) -> Any:
        pending = step()
        return (lambda: math.nan) if count == 8 else pending

    diverging = with_step(make, diverge)

    with pytest.raises(NotFiniteLoss, match=r"nan at step 8; the last good checkpoint is step 6"):
        train(job(with_(small, checkpoint_every=3), corpus, out), diverging)
    assert not (out / "speedrun_results.json").exists()


@pytest.mark.full("trains")
def test_resuming_with_another_configuration_is_refused(
    backend_name: str, small: Config, corpus: Corpus, out: pathlib.Path
) -> None:
    config = with_(small, checkpoint_every=6)
    train(job(config, corpus, out), make_backend(backend_name))
    other = dc.replace(config, optimizer=dc.replace(config.optimizer, lr=1.0))
    with pytest.raises(ConfigError, match="configuration differs"):
        train(job(other, corpus, out, resume=True), make_backend(backend_name))


def test_a_damaged_checkpoint_is_named(
    backend_name: str, small: Config, corpus: Corpus, out: pathlib.Path
) -> None:
    train(job(with_(small, checkpoint_every=6), corpus, out), make_backend(backend_name))
    path = out / "checkpoints" / "step-00000012" / "state.npz"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(StorageError, match="step 12 is damaged"):
        train(
            job(with_(small, checkpoint_every=6), corpus, out, resume=True),
            make_backend(backend_name),
        )


@pytest.mark.full("trains twice")
def test_a_run_killed_before_its_results_are_written_states_the_clock_of_its_log(
    backend_name: str, small: Config, corpus: Corpus, out: pathlib.Path
) -> None:
    """Nothing trains in the second life, so what it takes to close the files counts nowhere."""
    config = with_(small, checkpoint_every=12)
    train(job(config, corpus, out), make_backend(backend_name))
    (out / "speedrun_results.json").unlink()
    before = (out / "log.txt").read_text(encoding="utf-8")
    document = train(job(config, corpus, out, resume=True), make_backend(backend_name))
    assert (out / "log.txt").read_text(encoding="utf-8") == before
    info = document["runs"][0]["run_info"]
    last = float(before.rpartition("train_time:")[2].partition("ms")[0])
    assert info["training_time"] * 1e3 == pytest.approx(last, abs=0.5)
    steps = info["speedrun"]["step_time_s"]
    assert steps["mean"] * steps["count"] == pytest.approx(info["training_time"], abs=1e-9)
    assert info["training_time"] == info["speedrun"]["validation"][-1][2]
