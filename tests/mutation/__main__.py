"""`make mutants`: random faults in compute, rules, rank and charts; does a test notice each?

    python -m tests.mutation [--mutants 1000] [--seed N] [--jobs 2] [--again]

Works in copies of the repository below build/mutants, never in the sources. The tests that run the
changed line (by coverage) are run, quick ones first; a mutant lives when all of them pass. It goes
on where it stopped; --again, or a changed source, begins anew. Ends with 1 below 85 % killed.
"""

from __future__ import annotations

import argparse
import concurrent.futures as cf
import hashlib
import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.mutation.coverage_map import TARGETS
from tests.mutation.mutants import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]
GOAL = 0.85
MOST_TESTS = 400
CANARIES = 10
"""Choices of tests that are tried without a mutant first: they must pass."""
NEEDED = (".github", "bot", "leaderboard_site", "reference_trainer", "schemas", "submissions")
NEEDED += ("tests", "tracks", "pyproject.toml", "README.md", "Makefile")
SKIPPED = shutil.ignore_patterns("__pycache__", "node_modules", ".git")
# A process that has pytest and the large packages loaded runs one mutant in a child of its own.
RUN = """
import os, sys
import jsonschema, numpy, pytest, scipy.stats  # no plugin of pytest: it warns of those
sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())
for line in sys.stdin:
    if (child := os.fork()) == 0:
        os.setpgid(0, 0)
        sys.stdin.close()
        with open(os.devnull, "w") as void:
            os.dup2(void.fileno(), 1)
            os.dup2(void.fileno(), 2)
        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
        os._exit(int(pytest.main([*options, *line.split()])))
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Copy:
    """A copy of the repository with one mutant at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in NEEDED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, symlinks=True, ignore=SKIPPED)
            else:
                shutil.copy(source, folder / name)
        self._process: subprocess.Popen[str] | None = None

    def code(self, tests: list[str], seconds: float) -> int:
        """How pytest ends with these tests: 0 where all pass, 1 where one fails or hangs."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-c", RUN],
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(" ".join(tests) + "\n")
        self._process.stdin.flush()
        child = int(self._process.stdout.readline())
        with cf.ThreadPoolExecutor(1) as waiting:
            answer = waiting.submit(self._process.stdout.readline)
            try:
                return int(answer.result(seconds))
            except TimeoutError:
                os.killpg(child, signal.SIGKILL)
                answer.result()
                return 1

    def survives(self, mutant: Mutant, tests: list[str], seconds: float) -> bool:
        """Whether no test notices the mutant."""
        path = self.folder / mutant.file
        text = path.read_text(encoding="utf-8")
        path.write_text(mutant.apply(text), encoding="utf-8")
        try:
            code = self.code(tests, seconds)
        finally:
            path.write_text(text, encoding="utf-8")
        if code > 1:  # neither passed nor failed: the mutant broke the import, or we did
            self.must_pass(tests, seconds)
        return code == 0

    def must_pass(self, tests: list[str], seconds: float) -> None:
        """Raises SystemExit where the tests do not pass without a mutant."""
        if code := self.code(tests, seconds):
            raise SystemExit(f"pytest ends with {code} without any mutant: {' '.join(tests)[:500]}")

    def close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()


def all_mutants() -> list[Mutant]:
    """Every mutant of the targets."""
    files = sorted(
        p for t in TARGETS for p in ([ROOT / t] if t.endswith(".py") else (ROOT / t).rglob("*.py"))
    )
    return [
        mutant
        for path in files
        for mutant in mutants_of(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
    ]


def digest() -> str:
    """A digest of sources and tests: what was found of others says nothing of these."""
    total = hashlib.sha256()
    for folder in ("bot", "leaderboard_site", "schemas", "tests", "tracks"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".json", ".toml", ".xz"):
                total.update(path.read_bytes())
    return total.hexdigest()


def coverage_of(copy: Copy, out: Path) -> dict[str, Any]:
    """Line -> tests, measured in the copy; a test that fails there kills nothing."""
    if not out.exists():
        command = [
            sys.executable,
            "-m",
            "tests.mutation.coverage_map",
            str(out.with_suffix(".new")),
        ]
        if subprocess.run(command, cwd=copy.folder).returncode:
            raise SystemExit("the tests could not be run")
        out.with_suffix(".new").rename(out)
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    for name in found["failing"]:
        print(f"fails without any mutant, so it is left out: {name}", flush=True)
    return found


def run(chosen: list[Mutant], folder: Path, jobs: int) -> dict[str, bool]:
    """Mutant -> whether it lives, kept in a file line by line."""
    kept = folder / "results.jsonl"
    done: dict[str, bool] = {}
    for line in kept.read_text(encoding="utf-8").splitlines() if kept.exists() else ():
        name, lives = json.loads(line)
        done[name] = lives
    copies: queue.Queue[Copy] = queue.Queue()
    made = [Copy(folder / f"copy-{n}") for n in range(jobs)]
    covered = coverage_of(made[0], folder / "coverage.json")
    for copy in made:
        copies.put(copy)
    began, waiting = time.monotonic(), [m for m in chosen if m.name not in done]

    def selected(mutant: Mutant) -> tuple[list[str], float]:
        """The tests that run the line, quick ones first, and how long they may take."""
        tests = covered["lines"].get(mutant.file, {}).get(str(mutant.line), [])
        tests = sorted(tests, key=lambda t: covered["seconds"].get(t, 0.0))[:MOST_TESTS]
        return tests, 30 + 10 * sum(covered["seconds"].get(t, 0.0) for t in tests)

    def one(mutant: Mutant) -> tuple[str, bool]:
        tests, limit = selected(mutant)
        if not tests:
            return mutant.name, True
        copy = copies.get()
        try:
            return mutant.name, copy.survives(mutant, tests, limit)
        finally:
            copies.put(copy)

    for mutant in waiting[:CANARIES]:
        tests, limit = selected(mutant)
        if tests:
            made[0].must_pass(tests, limit)

    with cf.ThreadPoolExecutor(jobs) as pool, kept.open("a", encoding="utf-8") as file:
        for count, (name, lives) in enumerate(pool.map(one, waiting), 1):
            done[name] = lives
            file.write(json.dumps([name, lives]) + "\n")
            file.flush()
            if lives:
                print(f"lives  {name}", flush=True)
            if count % 50 == 0:
                rate = (time.monotonic() - began) / count
                print(f"{count} of {len(waiting)}, {rate:.1f} s each", flush=True)
    for copy in made:
        copy.close()
    return done


def main() -> int:
    """Choose, run, sum up."""
    parser = argparse.ArgumentParser(description="Random mutants of what decides.")
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None, help="[default: drawn, and printed]")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--again", action="store_true", help="Forget an earlier run.")
    arguments = parser.parse_args()
    folder = ROOT / "build" / "mutants"
    state = folder / "state.json"
    former = json.loads(state.read_text()) if state.exists() and not arguments.again else {}
    seed = arguments.seed if arguments.seed is not None else former.get("seed")
    seed = random.SystemRandom().randrange(2**31) if seed is None else seed
    now = {"seed": seed, "digest": digest()}
    if former != now:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    state.write_text(json.dumps(now))
    everything = all_mutants()
    dice = random.Random(seed)
    chosen = dice.sample(everything, min(arguments.mutants, len(everything)))
    print(f"{len(chosen)} of {len(everything):,} mutants, seed {seed}", flush=True)
    done = run(chosen, folder, arguments.jobs)
    return summed_up(chosen, done)


def summed_up(chosen: list[Mutant], done: dict[str, bool]) -> int:
    """Print the score of each part and the survivors; 1 below the goal."""
    living = [mutant for mutant in chosen if done[mutant.name]]
    parts = Counter(_part(m) for m in chosen)
    for part, count in sorted(parts.items()):
        alive = sum(_part(m) == part for m in living)
        print(f"{part:24} {count - alive:4} of {count:4} killed, {1 - alive / count:.1%}")
    score = 1 - len(living) / len(chosen)
    print(f"{'all':24} {len(chosen) - len(living):4} of {len(chosen):4} killed, {score:.1%}")
    for mutant in sorted(living):
        print(f"lives  {mutant.name}")
    return int(score < GOAL)


def _part(mutant: Mutant) -> str:
    return "/".join(mutant.file.split("/")[:2])


if __name__ == "__main__":
    sys.exit(main())
