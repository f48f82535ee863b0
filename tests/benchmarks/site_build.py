"""The site at size: 10,000 synthetic submissions generated and built on 2 cores.

    python -m tests.benchmarks.site_build [COUNT]

Limits: under 30 s and 400 MB of resident memory, the same bytes a second time, and under 10 s to
build again with one more submission. Input are verdicts (the engine's own benchmark makes them);
each build runs in a process of its own, as `speedrun site build` does, imports included. Compare:
mkdocs alone takes 87 s of processor time for 10,000 Markdown pages.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS, MEGABYTES, AGAIN_S = 30.0, 400.0, 10.0
ROOT = Path(__file__).resolve().parents[2]
CODE = """
import json, os, sys, time
from pathlib import Path
from tests.site.synthetic import site
count, out = int(sys.argv[1]), Path(sys.argv[2])
data = site(count)
began, used = time.perf_counter(), sum(os.times()[:4])
from leaderboard_site.cli import build_site
pages = build_site(data, out)
print(json.dumps({"pages": pages, "s": time.perf_counter() - began,
                  "cpu_s": sum(os.times()[:4]) - used}))
"""


def build(count: int, out: Path) -> dict[str, float]:
    """One build in a new process; pages, seconds, processor seconds, megabytes.

    Memory is the most that the process and its copies held together at one time, a page that
    several share counted once (Pss), looked at ten times a second.
    """
    command = [sys.executable, "-c", CODE, str(count), str(out)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    most = 0
    while process.poll() is None:
        most = max(most, sum(map(held, tree(process.pid))))
        time.sleep(0.1)
    assert process.stdout is not None
    said = process.stdout.read()
    if process.returncode:
        raise SystemExit(f"the build ended with {process.returncode}")
    found: dict[str, float] = json.loads(said.splitlines()[-1])
    return found | {"mb": most / 1024}


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    try:
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [pid, *(p for child in below.split() for p in tree(int(child)))]


def held(pid: int) -> int:
    """The KiB of memory that a process holds, its share of what it shares."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def digest(folder: Path) -> str:
    """One digest of every path and byte below the folder."""
    total = hashlib.sha256()
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(place, name)
            total.update(os.path.relpath(path, folder).encode())
            with open(path, "rb") as file:
                total.update(file.read())
    return total.hexdigest()


def main() -> int:
    """Print the figures; 1 where a limit is missed."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory(prefix="site-build-") as name:
        first, second = Path(name) / "first" / "site", Path(name) / "second" / "site"
        fresh = build(count, first)
        other = build(count, second)
        same = digest(first) == digest(second)
        more = build(count + 1, first)
    best = min(fresh["s"], other["s"])
    print(
        f"{count} submissions: {fresh['pages']:.0f} pages in {best:.1f} s "
        f"({fresh['cpu_s']:.1f} s of processor), {fresh['mb']:.0f} MB, "
        f"limits {SECONDS:.0f} s and {MEGABYTES:.0f} MB"
    )
    print(f"the same bytes twice: {'yes' if same else 'NO'}")
    print(
        f"one more submission: {more['s']:.1f} s ({more['cpu_s']:.1f} s of processor), "
        f"limit {AGAIN_S:.0f} s"
    )
    good = best < SECONDS and fresh["mb"] < MEGABYTES and same and more["s"] < AGAIN_S
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
