"""`make mutants`: random faults in compute, rules, rank and charts; does a test notice each?

    python -m tests.mutation [--mutants 1000] [--seed N] [--jobs 2] [--minutes M] [--again]
    python -m tests.mutation --targets bot/rank --tests tests/bot/rank    (one area, quick)

Works in copies of the repository in the temporary folder, never in the sources, and needs no git.
The tests that run the changed line (by coverage) are run, those of its folder first; a mutant lives
when all of them pass. The coverage takes half of the time at most; what lives before all of it is
known is tried again by the next run. Writes build/mutants (or --out) as it goes. It goes on where
it stopped; --again, or a changed source, begins anew. Ends with 1 below 85 % killed, and with 2 if
--minutes were too few.
"""

from __future__ import annotations

import argparse
import concurrent.futures as cf
import hashlib
import itertools as it
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.mutation.copies import ROOT, Copy, copied, environment
from tests.mutation.coverage_map import FIRST, LAST, PLUGINS, TARGETS, TESTS, Choice, merged
from tests.mutation.mutants import Mutant, mutants_of

GOAL = 0.85
Results = dict[str, dict[str, Any]]
"""Mutant -> {"lives": ..., "by": the test that failed, "tests": how many ran, "seconds": ...}."""


def all_mutants(targets: tuple[str, ...] = TARGETS) -> list[Mutant]:
    """Every mutant of the targets."""
    files = sorted(
        p for t in targets for p in ([ROOT / t] if t.endswith(".py") else (ROOT / t).rglob("*.py"))
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
            if path.suffix in (".py", ".json", ".toml", ".xz") and "node_modules" not in path.parts:
                total.update(path.read_bytes())
    return total.hexdigest()


def coverage_of(copy: Path, parts: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Line -> tests, measured in the copy within half of the time; what is quick and near to the
    mutants comes first. A test that fails there kills nothing."""
    files = {path for t in asked.tests for path in _test_files(copy / t)}
    until = time.monotonic() + 60 * asked.minutes / 2
    parts.mkdir(exist_ok=True)

    def part(path: Path) -> dict[str, Any]:
        name = path.relative_to(copy).as_posix()
        made = parts / (name.replace("/", "-") + ".json")
        return mapped(copy, name, made, until)

    with cf.ThreadPoolExecutor(asked.jobs) as pool:
        found = merged(pool.map(part, sorted(files, key=lambda p: order(copy, p))))
    if not found["seconds"]:
        raise SystemExit("the tests could not be run")
    for name in found["failing"]:
        print(f"fails without any mutant, so it is left out: {name}", flush=True)
    if found["unmapped"]:
        print(f"not mapped in half of the time: {' '.join(found['unmapped'])}", flush=True)
    return found


def mapped(copy: Path, name: str, made: Path, until: float) -> dict[str, Any]:
    """What one test file runs, kept in `made`; nothing if the time is up before it is known."""
    left = until - time.monotonic()
    if not made.exists() and left > 0:
        command = [sys.executable, "-m", "tests.mutation.coverage_map", str(made), name]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(
                command, cwd=copy, env=environment(copy), stdout=subprocess.DEVNULL, timeout=left
            )
    if made.exists():
        found: dict[str, Any] = json.loads(made.read_text(encoding="utf-8"))
        return found
    late = time.monotonic() >= until
    failing, unmapped = ([], [name]) if late else ([f"all of {name}"], [])
    return {"lines": {}, "seconds": {}, "failing": failing, "unmapped": unmapped}


def order(copy: Path, path: Path) -> tuple[int, int]:
    """Unit tests of what is mutated first, slow files last; of equals the large ones first."""
    name = path.relative_to(copy).as_posix()
    rank = 0 if name.startswith(FIRST) else 2 if name.startswith(LAST) else 1
    return rank, -path.stat().st_size


def _test_files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("test_*.py"))


def not_collected(copy: Path, tests: list[str]) -> set[str]:
    """Test files that cannot be imported here: one of them would end every run that names it. What
    can be is compiled by this."""
    command = [sys.executable, "-m", "pytest", *PLUGINS, "-q", "--collect-only", *tests]
    told = subprocess.run(command, cwd=copy, env=environment(copy), capture_output=True, text=True)
    broken = set(re.findall(r"^ERROR (\S+\.py)", told.stdout, re.MULTILINE))
    for name in sorted(broken):
        print(f"cannot be imported, so it is left out: {name}", flush=True)
    return broken


@contextmanager
def copies(
    count: int, folder: Path, asked: argparse.Namespace
) -> Iterator[tuple[list[Copy], Choice]]:
    """Copies of the repository, with what their tests run."""
    memory = Path("/dev/shm")
    beside = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="mutants-", dir=beside) as temporary:
        first = copied(Path(temporary) / "0")
        covered = coverage_of(first, folder / "coverage", asked)
        broken = not_collected(first, asked.tests)
        for number in range(1, count):  # with what was compiled
            shutil.copytree(first, Path(temporary) / str(number), symlinks=True)
        made = [Copy(Path(temporary) / str(number)) for number in range(count)]
        choice = Choice(first, covered)
        choice.dropped |= {t for t in covered["seconds"] if t.partition("::")[0] in broken}
        try:
            yield made, choice
        finally:
            for copy in made:
                copy.close()


class Trial:
    """Tries one mutant at a time; only what passes without a mutant can kill one."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._trusted: set[str] = set()

    def of(self, copy: Copy, mutant: Mutant) -> dict[str, Any]:
        """What `Results` keeps of a mutant."""
        began = time.monotonic()
        while tests := self._choice.tests(mutant):
            ended = copy.with_mutant(mutant, tests, self._choice.limit(tests))
            if ended.code == 0 or self._trusts(copy, ended.failed, tests):
                break
        took = round(time.monotonic() - began, 2)
        lives = not tests or ended.code == 0
        killer = None if lives else ended.failed or f"pytest ends with {ended.code}"
        return {"lives": lives, "by": killer, "tests": len(tests), "seconds": took}

    def _trusts(self, copy: Copy, failed: str | None, tests: list[str]) -> bool:
        """Whether what failed passes without the mutant; if not, it is dropped. Where no test is
        named, each file that was run is asked."""
        suspects = [failed.partition("[")[0]] if failed and failed != "hangs" else tests
        if self._trusted.issuperset(suspects):
            return True
        files = [list(f) for _, f in it.groupby(sorted(suspects), lambda t: t.partition("::")[0])]
        failing = [some for some in files if copy.run(some, self._choice.limit(some)).code]
        for some in failing:
            print(f"fails without any mutant: {' '.join(some)[:300]}", flush=True)
            self._choice.dropped.update(some)
        if not failing:
            self._trusted.update(suspects)
        return not failing


def run(chosen: list[Mutant], folder: Path, asked: argparse.Namespace) -> Results:
    """Try what was not tried yet, until the clock says so; kept in a file line by line."""
    until = time.monotonic() + 60 * asked.minutes
    kept = folder / "results.jsonl"
    done: Results = {}
    for line in kept.read_text(encoding="utf-8").splitlines() if kept.exists() else ():
        found = json.loads(line)
        done[found.pop("mutant")] = found
    waiting = [mutant for mutant in chosen if mutant.name not in done]
    if not waiting or not asked.minutes:
        return done
    with copies(min(asked.jobs, len(waiting)), folder, asked) as (made, choice):
        free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for copy in made:
            free.put(copy)
        trial, began = Trial(choice), time.monotonic()

        def one(mutant: Mutant) -> tuple[Mutant, dict[str, Any] | None]:
            if time.monotonic() > until:
                return mutant, None
            copy = free.get()
            try:
                return mutant, trial.of(copy, mutant)
            finally:
                free.put(copy)

        with cf.ThreadPoolExecutor(len(made)) as pool, kept.open("a", encoding="utf-8") as file:
            tries = [pool.submit(one, mutant) for mutant in waiting]
            for count, attempt in enumerate(cf.as_completed(tries), 1):
                mutant, found = attempt.result()
                if found is None:
                    continue
                done[mutant.name] = found
                if choice.whole or not found["lives"]:  # else a test not mapped may notice it
                    file.write(json.dumps({"mutant": mutant.name, **found}) + "\n")
                    file.flush()
                if found["lives"]:
                    print(f"lives  {mutant.name}", flush=True)
                if count % 50 == 0:
                    rate = (time.monotonic() - began) / count
                    print(f"{count} of {len(waiting)}, {rate:.1f} s each", flush=True)
    return done


def main() -> int:
    """Choose, run, sum up."""
    parser = argparse.ArgumentParser(description="Random mutants of what decides.")
    parser.add_argument("--mutants", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None, help="[default: drawn, and printed]")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--minutes", type=float, default=180.0, help="0: sum up alone.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants")
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), help="What is mutated.")
    parser.add_argument("--tests", nargs="+", default=list(TESTS), help="Who should notice.")
    parser.add_argument("--again", action="store_true", help="Forget an earlier run.")
    arguments = parser.parse_args()
    folder = arguments.out
    state = folder / "state.json"
    former = json.loads(state.read_text()) if state.exists() and not arguments.again else {}
    seed = arguments.seed if arguments.seed is not None else former.get("seed")
    seed = random.SystemRandom().randrange(2**31) if seed is None else seed
    now = {"seed": seed, "digest": digest(), "tests": arguments.tests}
    if former != now:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    state.write_text(json.dumps(now))
    everything = all_mutants(tuple(arguments.targets))
    dice = random.Random(seed)
    chosen = dice.sample(everything, min(arguments.mutants, len(everything)))
    print(f"{len(chosen)} of {len(everything):,} mutants, seed {seed}", flush=True)
    return summed_up(chosen, run(chosen, folder, arguments))


def summed_up(chosen: list[Mutant], done: Results) -> int:
    """Print the score of each part and the survivors; 1 below the goal, 2 if some were left."""
    tried = [mutant for mutant in chosen if mutant.name in done]
    if not tried:
        print("no mutant was tried: the time went into the tests' coverage")
        return 2
    living = [mutant for mutant in tried if done[mutant.name]["lives"]]
    parts = Counter(_part(m) for m in tried)
    for part, count in sorted(parts.items()):
        alive = sum(_part(m) == part for m in living)
        print(f"{part:24} {count - alive:4} of {count:4} killed, {1 - alive / count:.1%}")
    score = 1 - len(living) / len(tried)
    print(f"{'all':24} {len(tried) - len(living):4} of {len(tried):4} killed, {score:.1%}")
    for mutant in sorted(living):
        print(f"lives  {mutant.name}")
    if len(tried) < len(chosen):
        print(f"{len(chosen) - len(tried)} were not tried; the same command goes on")
        return 2
    return int(score < GOAL)


def _part(mutant: Mutant) -> str:
    return "/".join(mutant.file.split("/")[:2])


if __name__ == "__main__":
    sys.exit(main())
