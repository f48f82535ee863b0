"""Copies of the repository, each with one mutant at a time."""

from __future__ import annotations

import concurrent.futures as cf
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.mutation.mutants import Mutant

ROOT = Path(__file__).resolve().parents[2]
NEEDED = (".github", "bot", "leaderboard_site", "reference_trainer", "schemas", "submissions")
NEEDED += ("tests", "tracks", "pyproject.toml", "README.md", "CHANGELOG.md", "Makefile")
SKIPPED = shutil.ignore_patterns("__pycache__", "node_modules", ".git")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Ended(NamedTuple):
    """How the tests ended: pytest's code and the first test that failed, if any."""

    code: int
    failed: str | None


def copied(folder: Path) -> Path:
    """The repository's files in `folder`, writable, without what was compiled."""
    for name in NEEDED:
        if (source := ROOT / name).is_dir():
            shutil.copytree(source, folder / name, symlinks=True, ignore=SKIPPED)
        elif source.exists():
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / name)
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | 0o600)
    return folder


def environment(folder: Path) -> dict[str, str]:
    """That of a process, and of those it starts, which imports from the copy."""
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    plain = {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COVERAGE_CORE": "ctrace"}
    return {**os.environ, **ONE_THREAD, **plain}


class Copy:
    """A copy and the process that runs its tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process: subprocess.Popen[str] | None = None

    def run(self, tests: list[str], seconds: float) -> Ended:
        """The tests, as the copy stands: 1 if one of them fails or hangs."""
        process = self._started()
        assert process.stdin and process.stdout
        arguments = [f"--basetemp={self.folder}.tmp", *tests]
        process.stdin.write(json.dumps(arguments) + "\n")
        process.stdin.flush()
        child = int(process.stdout.readline())
        with cf.ThreadPoolExecutor(1) as waiting:
            answer = waiting.submit(process.stdout.readline)
            try:
                return Ended(**json.loads(answer.result(seconds)))
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child, signal.SIGKILL)
                answer.result()
                return Ended(1, "hangs")

    def with_mutant(self, mutant: Mutant, tests: list[str], seconds: float) -> Ended:
        """The tests with the mutant in place; afterwards the copy is as it was."""
        path = self.folder / mutant.file
        text, times = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(mutant.apply(text), encoding="utf-8")
        os.utime(path, (0, 0))  # unlike that of the source, so what was compiled is not used
        try:
            return self.run(tests, seconds)
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.mutation.worker"],
                cwd=self.folder,
                env=environment(self.folder),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        return self._process

    def close(self) -> None:
        """End the process."""
        if process := self._process:
            process.communicate()
