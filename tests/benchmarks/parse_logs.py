"""How long it takes to read the 928 published logs, and how that grows with the size of a log.

    python -m tests.benchmarks.parse_logs [FOLDER]

Prints seconds and MB/s for the logs of FOLDER (default: those of `tests.golden`), and the time
for one generated log and for one ten times as long: reading is linear.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from bot.evidence.log.training_log import read_log
from tests.golden import unpack

LIMIT_S = 20.0


def generated(steps: int) -> bytes:
    """A log of `steps` training lines with a validation every 125."""
    lines = ["import torch", "def main(): pass", "=" * 100]
    for step in range(steps + 1):
        clock = f"train_time:{step * 57}ms step_avg:57.00ms"
        lines.append(f"step:{step}/{steps} train_loss:{9 - step / steps:.4f} {clock}")
        if step % 125 == 0:
            lines.append(f"step:{step}/{steps} val_loss:{9 - step / steps:.4f} {clock}")
    return ("\n".join(lines) + "\n").encode()


def seconds(data: bytes) -> float:
    """CPU seconds to read one log."""
    began = time.process_time()
    read_log(data, "x")
    return time.process_time() - began


def main(folder: Path) -> int:
    """Print the figures; 1 where the limit or linear growth is missed."""
    files = sorted(folder.rglob("*.log"))
    began = time.perf_counter()
    size = runs = 0
    for file in files:
        data = file.read_bytes()
        size += len(data)
        runs += len(read_log(data, str(file)))
    took = time.perf_counter() - began
    rate = size / took / 1e6
    print(f"{len(files)} logs, {runs} runs, {size / 1e6:.1f} MB: {took:.2f} s, {rate:.1f} MB/s")
    small, large = (min(seconds(generated(n)) for _ in range(3)) for n in (20_000, 200_000))
    print(f"20,000 steps {small:.2f} s, 200,000 steps {large:.2f} s: {large / small:.1f} times")
    return 0 if took < LIMIT_S and large < 20 * small else 1


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    with tempfile.TemporaryDirectory() as unpacked:
        sys.exit(main(unpack(Path(unpacked)) / "nanogpt" / "logs"))
