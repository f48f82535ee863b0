"""A small competition on disk: tracks, submissions with logs, optionally under git."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.track_texts import time_to_loss

NO_TEST = 'test = "none"'
IMPORTED = '\n[submissions]\nimported = ["submissions/*/*"]\n'
TARGET = time_to_loss("fast", "Time to 3.28", significance=NO_TEST, more=IMPORTED)
BASELINE = time_to_loss(
    "one",
    "Time to 3.28",
    objective="baseline",
    significance=NO_TEST,
    more=IMPORTED + "\n[baseline]\n# a tenth less\npromote_at = 0.9\n",
)


A100 = "NVIDIA A100-SXM4-80GB"
A10G = "NVIDIA A10G"


def log(loss: float, seconds: float, device: str = A100, seed: int = 1) -> str:
    """The text of one training log that ends with `loss` after `seconds`."""
    lines = [f"Running PyTorch 2.10.0 compiled for CUDA 12.6 on {device} with world_size 1"]
    for step in (0, 500, 1000):
        value = loss + (1000 - step) * 0.005 + (1000 - step) * seed * 1e-6
        lines.append(
            f"step:{step}/1000 val_loss:{value:.5f} train_time:{seconds * step / 1000:.3f}s "
            f"step_avg:{seconds:.2f}ms"
        )
    return "\n".join(lines) + "\n"


def put(root: Path, path: str, text: str) -> None:
    """Write one file below `root`, with its folders."""
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def submission(
    root: Path,
    track: str,
    name: str,
    candidate: Sequence[tuple[float, float]],
    baseline: Sequence[tuple[float, float]] = (),
    device: str = A100,
    **fields: Any,
) -> None:
    """Add a submission; `candidate` and `baseline` are lists of (loss, seconds)."""
    folder = f"submissions/{track}/{name}"
    runs = []
    seed = sum(name.encode())
    for arm, results in (("candidate", candidate), ("baseline", baseline)):
        for index, (loss, seconds) in enumerate(results):
            seed += 1
            put(root, f"{folder}/logs/{arm}{index}.log", log(loss, seconds, device, seed=seed))
            runs.append({"source": "log", "path": f"logs/{arm}{index}.log", "arm": arm})
    data = {
        "schema_version": 1,
        "track": track,
        "title": name,
        "contributors": [{"github": "example-user", "roles": ["idea", "runs"]}],
        "runs": runs,
    } | fields
    put(root, f"{folder}/submission.json", json.dumps(data, indent=2))


def git(root: Path, *arguments: str) -> str:
    """Run git in `root`, as nobody in particular."""
    who = ["-c", "user.name=example", "-c", "user.email=example@users.noreply.github.com"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=root, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(root: Path, message: str = "state") -> str:
    """Put the folder under git, or commit its changes; returns the commit."""
    if not (root / ".git").is_dir():
        git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)
    return git(root, "rev-parse", "HEAD")
