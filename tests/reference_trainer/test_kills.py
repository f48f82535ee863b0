"""Kill trials: real processes of the command line, ended at random moments, go on as if nothing
had happened. Twenty kills a backend, ten in `make test-rest`; SPEEDRUN_KILL_SEED repeats a trial.

Moments take turns: before the first step (importing, compiling), between steps, while a checkpoint
is being written, while the model is evaluated."""

from __future__ import annotations

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from reference_trainer import checkpoint
from reference_trainer.shards import Corpus
from reference_trainer.storage import LocalFolder
from tests.reference_trainer.conftest import need

# Long beside what the kills use up: a process may go on for a while before it is seen and ended.
STEPS, CHECKPOINT, EVALUATION = 3000, 5, 20
ROOM = STEPS // 2
MOMENTS = ("step", "checkpoint", "start", "evaluation", "step")
SETTINGS = {
    "train.steps": STEPS,
    "train.checkpoint_every": CHECKPOINT,
    "train.log_every": 1,
    "train.eval_every": 100,
    "train.batch": 4,
    "train.micro_batch": 2,  # two devices where JAX is told of two
    "model.layers": 1,
    "model.hidden": 32,
    "model.intermediate": 64,
    "model.seq_len": 32,
    "data.val_tokens": 1024,
}
LINE = re.compile(r"(step:(\d+)/\d+ (?:train|val)_loss:\S+) train_time:([0-9.]+)ms")
Log = dict[str, float]  # what a line says of step and loss -> milliseconds so far


KILLS = 10 if os.environ.get("SPEEDRUN_REST") else 20  # each moment twice, or four times


def begin(backend: str, data: str, out: pathlib.Path) -> subprocess.Popen[str]:
    settings = {**SETTINGS, "data.corpus": f'"{data}"'}
    changes = [part for k, v in settings.items() for part in ("--set", f"{k}={v}")]
    command = [sys.executable, "-m", "reference_trainer", "--config", "tiny", "--quiet"]
    # What is killed may leave half a compiled program, which no other test is to find.
    compiled = {"JAX_COMPILATION_CACHE_DIR": str(out.parent / "compiled")}
    return subprocess.Popen(
        [*command, "--backend", backend, "--wandb", "off", *changes, "--out", str(out), "--resume"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=pathlib.Path(__file__).parents[2],
        env=os.environ | compiled,
    )


def read_log(out: pathlib.Path) -> Log:
    text = (out / "log.txt").read_text(encoding="utf-8") if (out / "log.txt").exists() else ""
    return {match[1]: float(match[3]) for match in LINE.finditer(text)}


def last_step(log: Log) -> int:
    return max((int(line[5:].partition("/")[0]) for line in log), default=0)


def wait_for_step(process: subprocess.Popen[str], out: pathlib.Path, step: int) -> None:
    """Until a process has logged that step, having begun its log anew where it resumed."""
    deadline = time.monotonic() + 240
    while last_step(read_log(out)) < step:
        assert process.poll() is None and time.monotonic() < deadline, (step, process.communicate())
        time.sleep(0.01)


def wait_for_moment(process: subprocess.Popen[str], out: pathlib.Path, moment: str) -> bool:
    """Until a checkpoint is half written or an evaluation is under way; whether one was seen."""
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if moment == "checkpoint":
            folders = list((out / checkpoint.ROOT).glob("step-*"))
            if any(not (folder / checkpoint.MARKER).exists() for folder in folders):
                return True
        else:
            lines = list(read_log(out))
            at = last_step(read_log(out))
            if lines and "train" in lines[-1] and at and at % EVALUATION == 0:
                return True
    return False


def newest_checkpoint(out: pathlib.Path) -> tuple[int, float] | None:
    """Step and training time in milliseconds that the next process goes on from."""
    folder = LocalFolder(out)
    found = checkpoint.steps(folder)
    if not found:
        return None
    _, run = checkpoint.load(folder, found[-1])
    return found[-1], run["elapsed_s"] * 1e3


def kill_one(process: subprocess.Popen[str], how: signal.Signals, early: bool) -> int:
    """End a living process; its exit status, which is 0 only for one that could save."""
    assert process.poll() is None, process.communicate()
    process.send_signal(how)
    said = process.communicate(timeout=120)
    saved = how == signal.SIGTERM and process.returncode == 0 and "checkpoint saved" in said[1]
    died = process.returncode == -how and (how == signal.SIGKILL or early)
    assert saved or died, (how, process.returncode, said)
    return process.returncode


def check_time(log: Log, checkpoints: dict[int, float], out: pathlib.Path) -> None:
    """Nothing lost, nothing counted twice: the clock goes on from what the checkpoint says."""
    times = list(log.values())
    assert times == sorted(times)
    at = {last_step({line: t}): t for line, t in log.items() if "train_loss" in line}
    for step, elapsed_ms in checkpoints.items():
        assert at[step] - 1 <= elapsed_ms <= at[step + 1] + 1
    text = (out / "speedrun_results.json").read_text(encoding="utf-8")
    info = json.loads(text)["runs"][0]["run_info"]
    assert info["training_time"] * 1e3 == pytest.approx(times[-1], abs=1)
    steps = info["speedrun"]["step_time_s"]
    assert steps["count"] == STEPS
    assert steps["mean"] * STEPS == pytest.approx(info["training_time"])


def one_life(
    backend: str, data: str, out: pathlib.Path, rng: random.Random, moment: str, left: int
) -> tuple[int, float]:
    """Begin or resume, and end it at that moment; exit status and seconds. `left` kills are to
    come, this one included."""
    born, reached = time.monotonic(), last_step(read_log(out))
    process, how = begin(backend, data, out), rng.choice([signal.SIGKILL, signal.SIGTERM])
    if moment == "start":
        time.sleep(rng.uniform(0, 3))
    else:
        room = (ROOM - reached) // left
        wait_for_step(process, out, reached + rng.randint(1, max(room, 1)))
    if moment in ("checkpoint", "evaluation"):
        assert wait_for_moment(process, out, moment), process.communicate()
        how = signal.SIGKILL
    elif moment == "step":
        time.sleep(rng.uniform(0, 0.03))
    status = kill_one(process, how, early=moment == "start")
    return status, time.monotonic() - born


@pytest.mark.parametrize("backend", ["torch", "jax"])
@pytest.mark.full("kills a run again and again")
def test_killed_at_random_moments_the_curve_is_that_of_an_uninterrupted_run(
    backend: str, corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    need(backend)
    seed = int(os.environ.get("SPEEDRUN_KILL_SEED", 0)) or random.randrange(1, 10**6)
    print(f"SPEEDRUN_KILL_SEED={seed}")
    rng, data, count = random.Random(f"{seed} {backend}"), str(corpus.folder), KILLS
    whole, out = begin(backend, data, tmp_path / "whole"), tmp_path / "cut"
    began, lived = time.monotonic(), 0.0
    endings: list[tuple[str, int]] = []
    checkpoints: dict[int, float] = {}
    for number in range(count):
        moment = MOMENTS[number % len(MOMENTS)]
        status, seconds = one_life(backend, data, out, rng, moment, count - number)
        endings.append((moment, status))
        lived += seconds
        at = newest_checkpoint(out)
        if at is not None:
            checkpoints[at[0]] = at[1]
    born = time.monotonic()
    for process in (begin(backend, data, out), whole):
        said = process.communicate(timeout=300)
        assert process.returncode == 0, said
    lived += time.monotonic() - born
    one, two = read_log(tmp_path / "whole"), read_log(out)
    assert list(one) == list(two), f"SPEEDRUN_KILL_SEED={seed}"
    check_time(two, checkpoints, out)
    assert max(two.values()) < lived * 1e3
    print(f"{backend}: {count} kills {endings}, {time.monotonic() - began:.0f} s")
