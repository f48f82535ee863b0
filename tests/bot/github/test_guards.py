"""Each guard is removed once in a copy of the project; the test that it names must fail there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bot.github.guards import GUARDS, Guard
from tests.conftest import ROOT

PARTS = ("bot", "schemas", "tests", ".github", "pyproject.toml")
IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", "benchmarks", "leaderboard_site")


def test_every_guard_is_there() -> None:
    """The list follows the code: a text that is gone would remove nothing."""
    for guard in GUARDS:
        assert guard.text in (ROOT / guard.file).read_text(), guard
        assert guard.text != guard.without
        name = guard.test.partition("::")
        assert f"def {name[2]}(" in (ROOT / name[0]).read_text(), guard.test


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=IGNORED)
        else:
            shutil.copy(source, folder / part)
    return folder


@pytest.mark.parametrize("number", range(len(GUARDS)))
def test_without_the_guard_its_test_fails(copy: Path, number: int) -> None:
    if not os.environ.get("SPEEDRUN_FULL"):
        pytest.skip("slow: removes each guard in turn; make test-full runs it")
    guard: Guard = GUARDS[number]
    path = copy / guard.file
    whole = path.read_text()
    path.write_text(whole.replace(guard.text, guard.without))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", guard.test],
            cwd=copy,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=120,
        )
    except subprocess.TimeoutExpired:
        return  # without this guard the bot waits for ever, which is what the test is about
    finally:
        path.write_text(whole)
    # A crash of the test runner itself also ends with 1.
    failed = done.returncode == 1 and "short test summary info" in done.stdout
    assert failed, f"{guard}\n{done.stdout[-2000:]}\n{done.stderr[-500:]}"
