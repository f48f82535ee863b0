"""Pulling runs from W&B: 20 runs of 10,000 history rows against one, from the W&B double.

    python -m tests.benchmarks.pull_wandb [--latency SECONDS] [--repeat N]

Each pull is a process of its own, without a cache, as in the bot; a request takes 0.1 s more than
the double needs, about what a far server adds. Prints the median times, their ratio (below 2.5)
and the peak memory of process and client service together (below 500 MB), and exits with 1 where
either is missed.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.doubles.wandb import WandbDouble

ROOT = Path(__file__).resolve().parents[2]
ROWS, RUNS = 10_000, 20
RATIO, MEGABYTES = 2.5, 500
CHILD = """
import os, resource, sys, time
began = time.monotonic()
from bot.evidence.links import RunRef
from bot.evidence.wandb.online import WandbFetcher
from bot.model.track import Keys
refs = [RunRef("example-team", "nanogpt", f"r{n}") for n in range(int(sys.argv[1]))]
fetcher = WandbFetcher.from_environment()
fetched = fetcher.fetch(refs, Keys(loss=("val_loss",), time_ms=("train_time",)))
assert all(f.run is not None and len(f.run.validation) == 1000 for f in fetched.values()), fetched
taken = time.monotonic() - began
import wandb
wandb.teardown()
peaks = [resource.getrusage(w).ru_maxrss for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(taken, sum(peaks) / 1024)
"""


def rows(seed: int) -> list[dict[str, Any]]:
    """A history as trainers log it: six numbers a row, a validation in every tenth."""
    draw = random.Random(seed)
    made = []
    for step in range(ROWS):
        row = {"_step": step, "_runtime": step * 0.06, "_timestamp": 1.7e9 + step * 0.06}
        row |= {"train_loss": draw.gauss(3.3, 0.1), "train_time": 60.1 * step, "lr": draw.random()}
        if step % 10 == 0:
            row["val_loss"] = draw.gauss(3.3, 0.01)
        made.append(row)
    return made


def pull(server: WandbDouble, runs: int) -> tuple[float, float]:
    """(seconds, megabytes) of one pull of `runs` runs in a fresh process."""
    with tempfile.TemporaryDirectory() as home:
        environment = {k: v for k, v in os.environ.items() if k != "WANDB_SERVICE"}
        environment |= {"HOME": home, "SPEEDRUN_CACHE": "", "PYTHONPATH": str(ROOT)}
        environment |= {"WANDB_API_KEY": server.key, "WANDB_BASE_URL": server.url}
        command = [sys.executable, "-c", CHILD, str(runs)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds, megabytes = map(float, done.stdout.split()[-2:])
    return seconds, megabytes


def main() -> None:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with WandbDouble(latency_s=options.latency, check=False) as server:
        for n in range(RUNS):
            server.add_run("example-team", "nanogpt", f"r{n}", history=rows(n))
        pairs = [(pull(server, 1), pull(server, RUNS)) for _ in range(options.repeat)]
    one = statistics.median(a[0] for a, _ in pairs)
    many = statistics.median(b[0] for _, b in pairs)
    memory = max(b[1] for _, b in pairs)
    print(f"1 run {one:.2f} s, {RUNS} runs {many:.2f} s: {many / one:.2f} times (below {RATIO})")
    print(f"peak memory {memory:.0f} MB (below {MEGABYTES})")
    sys.exit(0 if many / one < RATIO and memory < MEGABYTES else 1)


if __name__ == "__main__":
    main()
