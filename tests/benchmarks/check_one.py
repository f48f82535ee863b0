"""One folder checked in a repository of 3,000 entries: the first time, and every time after.

    python -m tests.benchmarks.check_one [--entries 3000]

The first check judges the entries of the track and keeps the verdicts in the user's cache; later
ones judge the folder alone. Goals on 2 cores: under 15 s at first, under 4 s from then on.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.check_many import ROOT, make

FIRST_S, AGAIN_S = 15.0, 4.0


def seconds(root: Path, cache: Path) -> float:
    """Wall time of one `speedrun check` in a process of its own."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", "from bot.cli import main; main()", "check", "--offline"]
        + [str(root / "submissions/fineweb-edu/entry-7")],
        cwd=ROOT,
        env=os.environ | {"SPEEDRUN_CACHE": str(cache)},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"the check ended with {done.returncode}, expected 0")
    return time.perf_counter() - began


def main() -> int:
    """Print both times; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description="Time of a single check in a large repository.")
    parser.add_argument("--entries", type=int, default=3000)
    count = parser.parse_args().entries
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "repository"
        make(root, count)
        first, again = (seconds(root, Path(folder) / "cache") for _ in range(2))
    print(
        f"{count:,} entries: first check {first:.1f} s (goal < {FIRST_S:.0f}), then {again:.1f} s"
    )
    return int(first > FIRST_S or again > AGAIN_S)


if __name__ == "__main__":
    raise SystemExit(main())
