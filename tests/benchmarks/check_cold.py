"""Cold start: `speedrun check` on one results file against `check-jsonschema`, paired.

    python tests/benchmarks/check_cold.py [--rounds 15]

Both read the same file with the same schema, taking turns in one run, each in a new process; the
ratio of the medians must be at most 1.5. Both are compiled beforehand, as pip does when it installs
them: where Python may not write bytecode, a checkout would be compiled again at each start.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "tests" / "bot" / "data" / "results" / "v4.json"
SCHEMA = ROOT / "schemas" / "results.schema.json"
LIMIT = 1.5


def seconds(command: list[str], compiled: str) -> float:
    """Wall time of a command that must succeed; its bytecode is kept in the folder `compiled`."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    kept["PYTHONPYCACHEPREFIX"] = compiled
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, env=kept)
    return time.perf_counter() - start


def main() -> int:
    """Run the rounds and print both medians and their ratio."""
    parser = argparse.ArgumentParser(description="Cold start of speedrun check, paired.")
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    bin_ = Path(sys.executable).parent
    ours = [str(bin_ / "speedrun"), "check", str(FILE), "--track", "fineweb-edu"]
    theirs = [str(bin_ / "check-jsonschema"), "--schemafile", str(SCHEMA), str(FILE)]
    with tempfile.TemporaryDirectory() as home:
        seconds(ours, home), seconds(theirs, home)  # compiles both, and warms the disk cache
        pairs = [(seconds(ours, home), seconds(theirs, home)) for _ in range(rounds)]
    mine, other = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = mine / other
    print(
        f"speedrun check {mine:.3f} s, check-jsonschema {other:.3f} s, ratio {ratio:.2f} "
        f"(goal <= {LIMIT}), medians of {rounds} pairs"
    )
    return int(ratio > LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
