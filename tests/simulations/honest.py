"""Honest submissions of every shape that people send: how many of them are turned away.

    python -m tests.simulations.honest [HOW MANY]      # lists every one that is not verified

The generator knows how trainers log and what machines do, and not the rules: resumes, stalls, two
machines, one GPU of eight, TPUs, AMD and consumer cards, loggers' prefixes, durations of steps,
clocks that count validations too, time stamps, tokens a second, micro steps, averaged losses.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from bot.model.submission import Folder
from bot.model.verdict import Verdict
from bot.parse.track_toml import load_tracks
from bot.registry import Status
from bot.verify import verify
from tests.conftest import ROOT
from tests.doubles.wandb.offline_file import offline_file

TRACKS = load_tracks(ROOT)
DEVICES = (
    "NVIDIA A100-SXM4-80GB", "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 3090", "NVIDIA L40S",
    "AMD Instinct MI300X", "NVIDIA GeForce RTX 5090", "NVIDIA RTX A6000", "NVIDIA GB10",
    "NVIDIA H200",
)  # fmt: skip
SINGLE = TRACKS["single-gpu"]
DATA = {
    "data_fingerprint": SINGLE.train_fingerprint or "none",
    "validation_fingerprint": SINGLE.validation_fingerprint or "none",
}
BEGIN = dt.datetime(2026, 8, 1, 10, 0, 0)


@dc.dataclass
class Script:
    """One training script on one machine: what it prints is the same for each of its runs."""

    total: int
    every: int
    seconds: float
    target: float
    device: str = "NVIDIA H100 80GB HBM3"
    count: int = 8
    habits: frozenset[str] = frozenset()

    def points(self, seed: int) -> Iterator[tuple[int, float, float, float]]:
        """(step, loss, training clock, time on the wall) at each step that is logged."""
        draw = random.Random(f"{seed} {self.seconds}")
        offset, rate = draw.gauss(-0.004, 0.0013), draw.gauss(1, 0.004)
        clock = wall = 0.0
        stall = draw.randrange(self.total) if "stall" in self.habits else -1
        pause = draw.uniform(0.05, 0.3) * self.seconds * self.every / self.total
        previous = 0
        for step in range(0, self.total + 1, max(self.every // 5, 1)):
            each = self.seconds / self.total * rate * draw.gauss(1, 0.01)
            passed = each * (step - previous)
            passed += 130 if previous <= stall < step else 0
            clock, wall = clock + passed, wall + passed * 1.01
            share = step / self.total
            loss = self.target + offset + 6.5 * (1 - share) ** 3
            loss += draw.gauss(0, 0.003 + 0.02 * (1 - share)) * (step < self.total)
            yield step, loss, clock, wall
            wall += pause if step % self.every == 0 else 0.0
            previous = step


HABITS = ("stall", "resume", "stamps", "dt", "wall", "train-lines", "ema", "memory", "total-time",
          "parameters", "shared", "header", "tokens", "micro", "plan")  # fmt: skip


def log_of(script: Script, seed: int) -> bytes:
    """The run as a text log."""
    habits, lines = script.habits, [f"Using seed={seed}"]
    lines.append("Running PyTorch 2.11.0+cu128 compiled for CUDA 12.8")
    shown = 8 if "shared" in habits else 0
    lines += [f"GPU {n}: {script.device} (UUID: GPU-{seed}{n})" for n in range(shown)]
    lines += [f"device: {script.device}", f"world_size: {script.count}"]
    lines += [f"{name}: {value}" for name, value in DATA.items()]
    if "header" in habits:
        lines += [f"using {script.count} GPUs", f"num_iterations: {script.total}",
                  "warmup_steps: 100000", "Run UTC timestamp=2026-08-01T10:00:00Z"]  # fmt: skip
    if "parameters" in habits:
        lines.append("number of parameters: 124.48M")
    last = wall = 0.0
    steps = list(script.points(seed))
    again = steps[len(steps) // 2][0] if "resume" in habits else None
    for n, (step, loss, clock, wall) in enumerate(steps):
        each = 1000 * (clock - last) / max(step - steps[n - 1][0], 1) if n else 0.0
        last = clock
        valid = step % script.every == 0 or step == script.total
        if not valid and "train-lines" not in habits:
            continue
        what = f"val_loss:{loss:.4f}" if valid else f"train_loss:{loss + 0.02:.4f}"
        line = f"step:{step}/{script.total} {what} train_time:{1000 * clock:.0f}ms"
        line += f" dt:{each:.2f}ms" if "dt" in habits and n else ""
        line += f" elapsed:{12 + wall:.1f}s" if "wall" in habits else ""
        line += f" val_loss_ema:{loss - 0.004:.4f}" if "ema" in habits and valid else ""
        moment = BEGIN + dt.timedelta(seconds=20 + wall)
        lines.append(f"[{moment:%Y-%m-%d %H:%M:%S}] {line}" if "stamps" in habits else line)
        if step == again:
            lines.append(f"resuming from checkpoint at step {step}")
    if "memory" in habits:
        lines.append("peak memory allocated: 14123 MiB reserved: 15800 MiB")
    if "total-time" in habits:
        lines += [f"total training time: {last:.1f}s", f"Total wall time: {last + 95:.0f}s"]
        lines.append(f"finished at {BEGIN + dt.timedelta(seconds=60 + wall):%Y-%m-%d %H:%M:%S}")
    return ("\n".join(lines) + "\n").encode()


def history_of(script: Script, seed: int, number: int) -> bytes:
    """The run as an offline file of W&B."""
    habits, rows, last = script.habits, list[dict[str, Any]](), 0.0
    for step, loss, clock, wall in script.points(seed):
        row: dict[str, Any] = {"_step": step, "step": step, "train_loss": loss + 0.02}
        row |= {"train_time_s": clock, "_runtime": 25 + wall, "_timestamp": 1.79e9 + 25 + wall}
        if "dt" in habits and step:
            row["dt_ms"] = 1000 * (clock - last) / max(script.every // 5, 1)
        if "tokens" in habits:
            row |= {"tokens": step * 524_288.0}
            row["tokens_per_sec"] = 524_288 * script.total / script.seconds
        if "micro" in habits:
            row |= {"micro_step": 4 * step, "trainer/global_step": step}
        if step % script.every == 0:
            row |= {"val_loss": loss} | ({"val_loss_ema": loss - 0.003} if "ema" in habits else {})
        last = clock
        rows.append(row)
    config: dict[str, Any] = {"num_iterations": script.total, "seed": seed, **DATA}
    config |= {"world_size": script.count, "max_steps": -1} if "shared" in habits else {}
    config |= {"warmup_steps": 10**5, "eval_steps": 125} if "plan" in habits else {}
    config |= {"nnodes": 1, "nproc_per_node": script.count} if "header" in habits else {}
    config |= {"global_batch_size": 524_288} if "tokens" in habits else {}
    seen = 8 if "shared" in habits else script.count
    return offline_file(rows, config=config, run_id=f"r{number}x{seed}", device=script.device,
                        count=seen, ended="stall" not in habits)  # fmt: skip


def levanter(draw: random.Random, number: int) -> bytes:
    """A run of a pareto track: durations, tokens, bits per byte, on GPUs or a TPU slice."""
    steps, each = draw.choice((300, 800)), draw.uniform(0.3, 2.0)
    tpu = draw.random() < 0.4
    rows, clock, wall = [], 0.0, 30.0
    for step in range(steps):
        duration = each * draw.gauss(1, 0.02) + (60 if draw.random() < 0.001 else 0)
        clock, wall = clock + duration, wall + duration * 1.04
        row = {"_step": step, "_runtime": wall, "_timestamp": 1.79e9 + wall, "global_step": step,
               "throughput/duration": duration, "throughput/total_tokens": (step + 1) * 524_288.0,
               "throughput/tokens_per_second": 524_288 / duration, "throughput/mfu": 38.0,
               "train/loss": 3 + 5 / (step + 1)}  # fmt: skip
        if step % 100 == 99:
            bpb = 1.2 + number / 977 + 2 * (1 - (step + 1) / steps) + draw.gauss(0, 0.002)
            row |= {"eval/paloma/c4_en/bpb": bpb, "eval/paloma/c4_en/loss": bpb / 0.3587}
            row |= {"eval/loss": bpb / 0.35}
            wall += draw.uniform(5, 40)
        rows.append(row)
    config: dict[str, Any] = {"trainer": {"num_train_steps": steps}, "seed": number}
    config["model"] = {"hidden_dim": 768, "num_layers": 12, "num_heads": 12, "seq_len": 1024,
                       "intermediate_dim": 3072, "vocab_size": 128256}  # fmt: skip
    if tpu:
        config |= {"device": "TPU v5 lite", "chips": 32, "num_devices": 32, "world_size": 32}
    device = None if tpu else "NVIDIA H100 80GB HBM3"
    return offline_file(rows, config=config, run_id=f"lev{number}", device=device)


def submission(number: int) -> Folder:
    """One honest submission."""
    draw = random.Random(f"honest {number}")
    kind = draw.choice(("nanogpt-small", "nanogpt-optimization", "single-gpu", "fineweb-edu"))
    files: dict[str, bytes] = {}
    runs: list[dict[str, Any]] = []
    if kind == "fineweb-edu":
        files["run.wandb"] = levanter(draw, number)
        runs = [{"source": "wandb", "path": "run.wandb"}]
    else:
        single = kind == "single-gpu"
        habits = frozenset(h for h in HABITS if draw.random() < 0.3)
        device = "NVIDIA H100 80GB HBM3" if kind == "nanogpt-small" else draw.choice(DEVICES)
        total = 2500 if kind == "nanogpt-optimization" else 1500
        seconds = 1800.0 if single else draw.uniform(300, 900)
        target = TRACKS[kind].quality.target or 3.28
        script = Script(total, 125, seconds, target, device, 1 if single else 8, habits)
        form, count = draw.choice(("wandb", "log", "log")), 3 if single else draw.randint(5, 8)
        runs = [*arm(script, draw, files, "candidate", form, count)]
        if single:
            slower = dc.replace(script, seconds=seconds * 1.06)
            runs += arm(slower, draw, files, "baseline", form, count)
    value = {
        "schema_version": 1, "track": kind, "title": f"Entry {number}",
        "summary": "A warm start of the embeddings, which helps in the first hundred steps.",
        "contributors": [{"github": "example-user", "roles": ["idea", "code", "runs"]}],
        "runs": runs,
    }  # fmt: skip
    if kind == "nanogpt-small":
        value["hardware"] = {"accelerator": "H100", "count": 8}
    content = {"submission.json": json.dumps(value).encode(), **files}
    return Folder(f"submissions/{kind}/entry{number}", content)


def arm(
    script: Script, draw: random.Random, files: dict[str, bytes], name: str, form: str, count: int
) -> Iterator[dict[str, Any]]:
    """The runs of one arm, as logs or as offline files; their bytes go into `files`."""
    for n in range(count):
        seed, file = draw.randrange(10**6), f"{name}{n}.{form}"
        files[file] = history_of(script, seed, n) if form == "wandb" else log_of(script, seed)
        yield {"source": form, "path": file, "arm": name}


def judged(count: int) -> list[Verdict]:
    """The verdicts on so many submissions, each by itself."""
    return [verify(submission(number), TRACKS) for number in range(count)]


def main() -> int:
    """Print every reject, and what a maintainer is asked to look at."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    verdicts = judged(count)
    for verdict in verdicts:
        weak = [f for f in verdict.findings if f.level != "note"]
        if verdict.status is not Status.VERIFIED:
            print(f"{verdict.status} {verdict.submission}: {[f.message[:140] for f in weak][:2]}")
    print(dict(Counter(str(v.status) for v in verdicts)))
    return 0 if sum(v.status is Status.REJECTED for v in verdicts) <= count / 100 else 1


if __name__ == "__main__":
    sys.exit(main())
