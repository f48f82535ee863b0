"""Histories of a training run for the tests: 3.28 is reached at step 1000 of 1000."""

from __future__ import annotations

import json
import random
from typing import Any

from bot.model.track import Keys

KEYS = Keys(loss=("val_loss",), time_ms=("train_time",), total_steps=("num_iterations",))
CONFIG = {"num_iterations": 1000, "lr": 0.02, "seed": 1, "nonce": "5f" * 16}
OWNER = "speedrun:example-user"
"""The tag that binds a run to its author."""
METADATA = json.dumps(
    {
        "gpu": "NVIDIA H100 80GB HBM3",
        "gpu_count": 8,
        "gpu_nvidia": [{"name": "NVIDIA H100 80GB HBM3", "memoryTotal": "85520809984"}] * 8,
        "cudaVersion": "12.6",
        "python": "CPython 3.12.7",
        "host": "node-17",
        "email": "someone@example.org",
        "program": "/home/someone/train.py",
    }
).encode()


def history(seed: int = 0, steps: int = 1000, final: float = 3.2771) -> list[dict[str, Any]]:
    """Rows of `steps` training steps, with a validation every 100."""
    draw = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for step in range(steps + 1):
        share = step / steps
        loss = final + 7.5 * (1 - share) ** 3
        row: dict[str, Any] = {"_step": step, "train_loss": loss + draw.gauss(0, 0.02)}
        row["train_time"] = 60.25 * step
        row["_runtime"] = 5.0 + 0.065 * step
        if step % 100 == 0:
            spread = 0.002 + 0.008 * (1 - share)  # of seeds, which shrinks as training goes on
            row["val_loss"] = round(loss + (draw.gauss(0, spread) if step < steps else 0), 4)
        rows.append(row)
    return rows
