"""What people name on the command line by mistake: one sentence or findings, never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli import main
from tests.conftest import ROOT
from tests.corpus.variants import GOOD

LINK = "a symbolic link"


Done = subprocess.CompletedProcess[str]


def check(*arguments: str) -> Done:
    """The command in this process, with its exit status and what it says."""
    got = CliRunner().invoke(main, ["check", *arguments])
    assert got.exception is None or isinstance(got.exception, SystemExit), got.exception
    return Done([*arguments], got.exit_code, got.stdout, got.stderr)


def in_a_process(*arguments: str) -> Done:
    """The same in a process of its own, as it is started from a shell."""
    command = [sys.executable, "-c", "from bot.cli import main; main()", "check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert "Traceback" not in done.stderr + done.stdout
    return done


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.close()


MAKERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda p: None, "no such file"),
    "empty-folder": (lambda p: p.mkdir(), "nothing to check"),
    "folder-of-others": (lambda p: (p.mkdir(), (p / "notes.md").write_text("x")), "nothing to"),
    "link-to-file": (lambda p: p.symlink_to(GOOD / "v4.json"), LINK),
    "link-to-folder": (lambda p: p.symlink_to(GOOD), LINK),
    "dangling-link": (lambda p: p.symlink_to("nowhere"), LINK),
    "loop": (lambda p: p.symlink_to(p.name), LINK),
    "pipe": (fifo, "neither a file nor a folder"),
    "socket": (listening, "neither a file nor a folder"),
    "two-gigabytes": (lambda p: sparse(p, 2 << 30), "at most"),
    "long-name": (lambda p: None, "no such file"),
}


@pytest.mark.parametrize("name", MAKERS)
def test_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    make, words = MAKERS[name]
    path = tmp_path / name
    make(path)
    run = in_a_process if name == "missing" else check
    done = run(str(path), "--track", "fineweb-edu")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and words in done.stderr, done.stderr


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", "/proc/self/mem", "a\x01b", "x" * 5000])
def test_devices_and_impossible_names(path: str) -> None:
    done = check(path, "--track", "fineweb-edu")
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ") and "\x01" not in done.stderr


def test_large_and_truncated_files_are_findings(tmp_path: Path) -> None:
    cut = tmp_path / "cut.json"
    cut.write_bytes((GOOD / "v4.json").read_bytes()[:700])
    done = check(str(cut), "--track", "fineweb-edu", "--format", "json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["verdicts"][0]["findings"][0]["rule"] == "json-invalid"


def test_a_folder_with_a_link_out_of_it_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "entry"
    folder.mkdir()
    # beside tracks alone: a folder is compared with every submission that there is
    shutil.copytree(ROOT / "tracks", tmp_path / "tracks")
    (folder / "speedrun_results.json").write_bytes((GOOD / "v4.json").read_bytes())
    (folder / "notes.md").symlink_to("/etc/passwd")
    root = str(tmp_path)
    done = check(str(folder), "--track", "fineweb-edu", "--offline", "--root", root)
    assert done.returncode == 1
    assert LINK in done.stdout and "root:" not in done.stdout


def test_one_bad_path_among_good_ones_is_named_and_the_rest_is_checked(tmp_path: Path) -> None:
    done = check(
        str(GOOD / "v4.json"),
        str(tmp_path / "none.json"),
        "--track",
        "fineweb-edu",
        "--format",
        "json",
    )
    assert done.returncode == 2
    assert len(json.loads(done.stdout)["verdicts"]) == 1
    assert "none.json" in done.stderr


def test_a_folder_of_results_files_is_checked_file_by_file(tmp_path: Path) -> None:
    for name in ("v3", "v4"):
        (tmp_path / f"results_{name}.json").write_bytes((GOOD / f"{name}.json").read_bytes())
    done = check(str(tmp_path), "--track", "fineweb-edu", "--format", "json")
    assert done.returncode == 0
    assert [v["status"] for v in json.loads(done.stdout)["verdicts"]] == ["consistent"] * 2


@pytest.mark.parametrize(
    ("track", "words"),
    [
        ("fineweb-edo", 'did you mean "fineweb-edu"'),
        ("x" * 300, "there is no track"),
        ("../tracks/fineweb-edu", "there is no track"),
    ],
)
def test_an_unknown_track_is_a_usage_error(track: str, words: str) -> None:
    done = check(str(GOOD / "v4.json"), "--track", track)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1


def test_without_a_track_the_known_ones_are_named() -> None:
    done = check(str(GOOD / "v4.json"))
    assert done.returncode == 2 and "fineweb-edu" in done.stderr


def test_a_root_without_tracks(tmp_path: Path) -> None:
    done = check(str(GOOD / "v4.json"), "--root", str(tmp_path))
    assert done.returncode == 2 and "tracks/" in done.stderr


def test_a_broken_track_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "tracks").mkdir()
    (tmp_path / "tracks" / "x.toml").write_text("id = [")
    done = check(str(GOOD / "v4.json"), "--root", str(tmp_path), "--track", "x")
    assert done.returncode == 2 and "x.toml" in done.stderr


def test_nothing_heavy_is_imported_for_a_results_file() -> None:
    code = (
        "import sys; sys.argv = ['speedrun', 'check', sys.argv[1], '--track', 'fineweb-edu']\n"
        "from bot.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0, end.code\n"
        "heavy = {'wandb', 'pandas', 'torch', 'jax', 'numpy', 'scipy', 'scipy.stats', 'github',"
        " 'jinja2', 'requests', 'bot.github.api.client'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(GOOD / "v4.json")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
