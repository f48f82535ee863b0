"""Many submissions: 10,000 checked in under 60 s and 1 GiB on 2 cores, at a cost that grows evenly.

    python tests/benchmarks/check_many.py [--many 10000] [--few 1000]

Makes repositories of synthetic submissions (a submission.json and a results file each, all numbers
different) and runs `verify_repository` on them in a new process. Printed: wall time, peak memory
of the process and its children together, and what ten times as many cost (goal: under 12 times).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOOD = ROOT / "tests" / "bot" / "data" / "results" / "v4.json"
JOBS = 2
CODE = """
import sys
from pathlib import Path
from bot.repository import verify_repository
verdicts = verify_repository(Path(sys.argv[1]), jobs=int(sys.argv[2]))
good = sum(v.status == "verified" for v in verdicts)
print(len(verdicts), good)
"""


def make(root: Path, count: int) -> None:
    """A repository of `count` good submissions, no two with the same run or numbers."""
    (root / "tracks").mkdir(parents=True)
    shutil.copy(ROOT / "tracks" / "fineweb-edu.toml", root / "tracks")
    value = json.loads(GOOD.read_text(encoding="utf-8"))
    info = value["runs"][0]["run_info"]
    seconds, flops = info["training_time"], info["training_hardware_flops"]
    for index in range(count):
        folder = root / "submissions" / "fineweb-edu" / f"entry-{index}"
        folder.mkdir(parents=True)
        scale = 1 + index / (10 * count)
        info |= {
            "wandb_run_link": f"https://wandb.ai/example-user/bench/runs/run{index}",
            "training_time": seconds * scale,
            "training_hardware_flops": flops * scale,
            "eval/paloma/c4_en/bpb": 1.1 + index / count,
        }
        (folder / "speedrun_results.json").write_text(json.dumps(value), encoding="utf-8")
        (folder / "submission.json").write_text(
            json.dumps(
                {
                    "schema_version": 1,
                    "track": "fineweb-edu",
                    "title": f"Entry {index}",
                    "summary": "One of many synthetic submissions for this measurement.",
                    "contributors": [{"github": "example-user", "roles": ["runs"]}],
                    "runs": [{"source": "results", "path": "speedrun_results.json"}],
                }
            ),
            encoding="utf-8",
        )


def memory_bytes(pid: int) -> int:
    """Proportional memory of a process and its children, as /proc gives it."""
    total, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text(encoding="ascii").splitlines()
            total += sum(int(s.split()[1]) * 1024 for s in lines if s.startswith("Pss:"))
            children = Path(f"/proc/{one}/task/{one}/children").read_text(encoding="ascii")
            waiting.extend(int(child) for child in children.split())
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return total


def measure(root: Path, count: int) -> tuple[float, int]:
    """(seconds, peak bytes) of checking the repository in a new process."""
    peak = 0
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, str(root), str(JOBS)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.1):
            peak = max(peak, memory_bytes(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    out, _ = process.communicate()
    taken = time.perf_counter() - start
    done.set()
    watcher.join()
    if process.returncode or out.split() != [str(count), str(count)]:
        raise SystemExit(f"expected {count} verified submissions, got {out!r}")
    return taken, peak


def main() -> int:
    """Measure the small and the large repository and print how the cost grows."""
    parser = argparse.ArgumentParser(description="Time and memory of many submissions.")
    parser.add_argument("--many", type=int, default=10_000)
    parser.add_argument("--few", type=int, default=1_000)
    arguments = parser.parse_args()
    os.environ.pop("WANDB_API_KEY", None)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (arguments.few, arguments.many):
            root = Path(folder) / str(count)
            make(root, count)
            taken, peak = measure(root, count)
            results.append(taken)
            print(f"{count:,} submissions: {taken:.1f} s, {peak / 2**20:.0f} MiB, {JOBS} processes")
    ratio = results[1] / results[0]
    print(f"{arguments.many:,} cost {ratio:.1f} times {arguments.few:,} (goal < 12)")
    return int(results[1] > 60 or peak > 2**30 or ratio >= 12)


if __name__ == "__main__":
    raise SystemExit(main())
