"""What goes wrong in the program or on its machine is one sentence and never a verdict."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from bot.endings import status_of
from tests.conftest import ROOT

PROGRAM = [sys.executable, "-c", "from bot.cli import main; main(prog_name='speedrun')"]
FULL = Path("/dev/full")
ENTRY = "submissions/tutorial/baseline"
CHECK = pytest.param(["check", ENTRY, "--offline"], marks=pytest.mark.full("reads tracks"))


def speedrun(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    given = {"stdout": subprocess.PIPE, "cwd": ROOT} | options
    return subprocess.run([*PROGRAM, *arguments], stderr=subprocess.PIPE, text=True, **given)


def raises(error: BaseException) -> int:
    def work() -> None:
        raise error

    return status_of(work)


def one_sentence(text: str) -> bool:
    return text.startswith("Error: ") and text.count("\n") == 1 and "Traceback" not in text


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one submission: the commands read every one that there is."""
    root = tmp_path_factory.mktemp("small")
    shutil.copytree(ROOT / "tracks", root / "tracks")
    shutil.copytree(ROOT / ENTRY, root / ENTRY)
    return root


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [CHECK, ["--help"], ["explain"]])
def test_an_output_that_is_full_is_the_machines_fault(arguments: list[str], small: Path) -> None:
    with FULL.open("w") as full:
        done = speedrun(*arguments, stdout=full, cwd=small)
    assert done.returncode == 4
    assert one_sentence(done.stderr) and "No space left on device" in done.stderr


@pytest.mark.parametrize("arguments", [CHECK, ["--help"], ["explain"]])
def test_a_closed_pipe_ends_it_silently(arguments: list[str], small: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = speedrun(*arguments, stdout=write, cwd=small)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_machine_without_git(tmp_path: Path) -> None:
    done = speedrun(
        "audit", "--against", "HEAD", "--track", "tutorial", env={"PATH": str(tmp_path)}
    )
    assert done.returncode == 4
    assert one_sentence(done.stderr) and "git cannot be started" in done.stderr


@pytest.mark.full("two processes that read logs")
def test_a_disk_that_fills_up_while_a_submission_is_written(tmp_path: Path) -> None:
    """The next `new` must not find half a submission: it refuses a folder that has one."""
    shutil.copytree(ROOT / "tracks", tmp_path / "tracks")
    log = ROOT / ENTRY / "logs"
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))\n"
        "from bot.cli import main; main(prog_name='speedrun')"
    )
    made = ["new", "tutorial/mine", "--log", str(log), "--root", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", code, *made],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"GITHUB_USER": "example-user"},
    )
    assert done.returncode == 4 and "File too large" in done.stderr.splitlines()[-1]
    assert not list(tmp_path.rglob("submission.json*"))
    again = speedrun(*made, env=os.environ | {"GITHUB_USER": "example-user"})
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (KeyError("bpb"), 4, "an internal error, so nothing was decided (KeyError: 'bpb' at"),
        (RecursionError("too deep"), 4, "RecursionError: too deep"),
        (OSError(28, "No space left on device", "a.json"), 4, "a.json: No space left on device"),
        (FileNotFoundError(2, "No such file", "git"), 4, "git cannot be started"),
        (FileNotFoundError(2, "No such file", "git.json"), 2, "git.json: No such file"),
        (PermissionError(13, "Permission denied", "out"), 2, "out: Permission denied"),
        (TimeoutError(110, "Connection timed out"), 4, "Connection timed out"),
        (click.ClickException("no such page"), 2, "no such page"),
        (click.UsageError("unknown option"), 2, "unknown option"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.Abort(), 130, "interrupted"),
        (SystemExit(1), 1, ""),
        (SystemExit(3), 3, ""),
        (SystemExit(None), 0, ""),
    ],
)
def test_how_each_thing_ends(
    error: BaseException, status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert raises(error) == status
    said = capsys.readouterr().err
    assert words in said and "Traceback" not in said


def test_the_place_of_a_fault_is_shown_on_demand(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPEEDRUN_TRACEBACK", "1")
    assert raises(KeyError("bpb")) == 4
    assert "Traceback" in capsys.readouterr().err
