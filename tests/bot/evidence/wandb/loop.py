"""A real, tiny training loop logged by the real `wandb` SDK and to a text log.

    python -m tests.bot.evidence.wandb.loop online|offline FOLDER SEED,... [FIRST LAST]

With FIRST and LAST a part of the steps is logged, to a run that is resumed where it is there.

Fits a line with gradient descent. What is logged does not depend on the mode: the clock is counted
in steps, so that two runs of one seed are the same training, and no step ends before its time.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import wandb

STEPS = 200
STEP_MS = 5.37
RATE = 0.04


def batch(draw: random.Random) -> list[tuple[float, float]]:
    """Points of a noisy line."""
    xs = [draw.uniform(-1, 1) for _ in range(16)]
    return [(x, 0.7 * x - 0.2 + draw.gauss(0, 0.04)) for x in xs]


def loss_of(a: float, b: float, points: list[tuple[float, float]]) -> float:
    """Mean squared error, moved so that it falls as a language model's loss does."""
    return 3.23 + 3 * sum((a * x + b - y) ** 2 for x, y in points) / len(points)


def main(mode: str, folder: Path, seed: int, first: int = 0, last: int = STEPS) -> None:
    """Train, and log everything twice."""
    draw = random.Random(seed)
    held_out = batch(random.Random(12345))
    config = {"num_iterations": STEPS, "lr": RATE, "seed": seed, "nonce": f"{seed:032x}"}
    run = wandb.init(
        mode="online" if mode == "online" else "offline",
        entity="example-team",
        project="loops",
        id=f"seed{seed}",
        dir=str(folder),
        config=config,
        tags=["speedrun:example-user"],
        resume=None if (first, last) == (0, STEPS) else "allow",
        settings=wandb.Settings(silent=True, console="off", disable_git=True),
    )
    a, b = draw.gauss(0, 1), draw.gauss(0, 1)
    begin = time.monotonic() - first * STEP_MS / 1000
    with (folder / f"seed{seed}.log").open("w", encoding="utf-8") as log:
        for step in range(STEPS + 1):
            elapsed = step * STEP_MS
            values = {"train_time": elapsed}
            if step % 20 == 0:
                values["val_loss"] = loss_of(a, b, held_out)
                log.write(
                    f"step:{step}/{STEPS} val_loss:{values['val_loss']:.6f} "
                    f"train_time:{elapsed:.0f}ms step_avg:{STEP_MS:.2f}ms\n"
                )
            time.sleep(max(0.0, begin + elapsed / 1000 - time.monotonic()))
            points = batch(draw)
            values["train_loss"] = loss_of(a, b, points)
            if first <= step <= last:
                run.log(values, step=step)
            for x, y in points:
                error = a * x + b - y
                a -= RATE * error * x / len(points)
                b -= RATE * error / len(points)
    run.finish()


if __name__ == "__main__":
    for seed in sys.argv[3].split(","):
        main(sys.argv[1], Path(sys.argv[2]), int(seed), *map(int, sys.argv[4:]))
