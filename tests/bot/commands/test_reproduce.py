"""`speedrun reproduce` on a small competition whose code is a script that writes logs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from tests.bot.competition import BASELINE, put, submission

RULES = '\n[reproduction]\nruns = 3\nby = "another-person"\nalpha = 0.05\n'
CODE = """\
import os, pathlib, sys, time
out, seeds, seed, wait = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), 0
print("tokens:", sorted(k for k in os.environ if "TOKEN" in k), "in", os.getcwd())
(pathlib.Path.home() / "started").write_text(str(os.getpid()))
time.sleep(WAIT)
for arm, seconds in (("candidate", 612.0), ("baseline", 700.0)):
    for n in range(seeds):
        lines = ["Running PyTorch 2.10.0 compiled for CUDA 12.6 on NVIDIA A10G with world_size 1"]
        for step in (0, 500, 1000):
            loss = 3.27 + n / 1000 + (1000 - step) * (0.005 + (seed + n + (arm[0] == "b")) * 1e-6)
            lines.append(f"step:{step}/1000 val_loss:{loss:.5f} "
                         f"train_time:{(seconds + n) * step / 1000:.3f}s")
        (out / f"{arm}{n}.log").write_text(chr(10).join(lines) + chr(10))
"""
COMMAND = "python train.py {out} {seeds} {seed}"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SOME_TOKEN", "stays here")
    put(tmp_path, "tracks/one.toml", BASELINE + RULES)
    submission(tmp_path, "one", "base", [(3.27, 600.0), (3.271, 601.0), (3.272, 602.0)])
    assert run(tmp_path, "baseline", "freeze", "one", "base").exit_code == 0
    ours, theirs = ([(3.27 + n / 1000, s + n) for n in range(3)] for s in (610.0, 700.0))
    code = {"path": "train.py", "command": COMMAND}
    people = [{"github": "author", "roles": ["code"]}]
    more: dict[str, Any] = {"based_on": "base", "code": code, "contributors": people}
    submission(tmp_path, "one", "faster", ours, theirs, **more)
    put(tmp_path, "submissions/one/faster/train.py", CODE.replace("WAIT", "0"))
    return tmp_path


def run(root: Path, *words: str, answer: str = "") -> Result:
    return CliRunner().invoke(main, [*words, "--root", str(root)], input=answer)


def again(root: Path, *words: str, answer: str = "") -> Result:
    path = f"{root}/submissions/one/faster"
    return run(root, "reproduce", path, "--author", "other", *words, answer=answer)


def made(root: Path, name: str = "faster-by-other") -> Path:
    return root / "submissions/one" / name


def test_it_shows_what_will_run_and_asks(root: Path) -> None:
    answer = again(root, answer="n\n")
    assert answer.exit_code == 2
    assert "train.py {out} 3 " in answer.output
    assert "by @author" in answer.output and "file: train.py, " in answer.output
    assert "nothing was run" in answer.output
    assert not made(root).exists() and not (root / "started").exists()


def test_a_dry_run_runs_nothing(root: Path) -> None:
    answer = again(root, "--dry-run")
    assert answer.exit_code == 0 and "Nothing was run" in answer.output
    assert not (root / "started").exists()


def test_it_writes_the_reproduction(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    answer = again(root, answer="y\n")
    assert answer.exit_code == 0, answer.output
    assert "`submissions/one/faster` becomes confirmed" in " ".join(answer.output.split())
    data = json.loads((made(root) / "submission.json").read_text())
    assert (data["reproduces"], data["based_on"]) == ("one/faster", "base")
    assert data["contributors"] == [{"github": "other", "roles": ["runs"]}]
    assert sorted(run.get("arm", "candidate") for run in data["runs"]) == (
        ["baseline"] * 3 + ["candidate"] * 3
    )
    printed = capfd.readouterr().out
    assert "tokens: [] in" in printed and "speedrun-run-" in printed


def test_a_challenge_brings_as_many_pairs_as_the_entry(root: Path) -> None:
    answer = again(root, "--yes", "--challenge", "--name", "doubt", "--seed", "5")
    assert answer.exit_code == 0, answer.output
    data = json.loads((made(root, "doubt") / "submission.json").read_text())
    assert data["challenges"] == "one/faster" and len(data["runs"]) == 6


def test_code_that_fails_leaves_nothing(root: Path) -> None:
    put(root, "submissions/one/faster/train.py", "raise SystemExit(3)\n")
    answer = again(root, "--yes")
    assert answer.exit_code == 2
    assert "the code ended with status 3; nothing was written" in answer.output
    assert not made(root).exists()


def test_a_submission_that_does_not_say_how_it_runs(root: Path) -> None:
    path = root / "submissions/one/faster/submission.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"code": {"path": "train.py"}}))
    answer = again(root, "--yes")
    assert answer.exit_code == 2
    assert 'add "command" under "code"' in " ".join(answer.output.split())


def test_one_pair_says_what_it_can_show(root: Path) -> None:
    answer = again(root, "--yes", "--seeds", "1")
    assert answer.exit_code == 0, answer.output
    words = " ".join(answer.output.split())
    assert "by itself it neither confirms nor disputes. A confirmation needs 3 pairs" in words
    assert len(json.loads((made(root) / "submission.json").read_text())["runs"]) == 2
    assert "nor disputes" not in again(root, "--name", "more", "--dry-run", "--seeds", "3").output


def test_a_track_without_a_baseline_is_not_open(root: Path) -> None:
    (root / "tracks/baselines/one/base.json").unlink()
    answer = again(root, "--dry-run")
    assert answer.exit_code == 2
    assert "one is not open yet: no baseline is frozen" in " ".join(answer.output.split())


def test_seeds_of_the_entry_are_named(root: Path) -> None:
    path = root / "submissions/one/faster/submission.json"
    data = json.loads(path.read_text())
    data["runs"][0]["seed"] = 7
    path.write_text(json.dumps(data))
    assert "the entry ran the seed 7 too" in again(root, "--dry-run", "--seed", "6").output
    assert "ran the seed" not in again(root, "--dry-run", "--seed", "8").output


def test_a_reply_is_not_reproduced(root: Path) -> None:
    assert again(root, "--yes").exit_code == 0
    answer = run(root, "reproduce", str(made(root)), "--yes")
    assert answer.exit_code == 2
    assert "reproduces one/faster; name that entry" in answer.output


def test_an_existing_folder_is_kept(root: Path) -> None:
    put(root, "submissions/one/faster-by-other/README.md", "mine\n")
    answer = again(root, "--yes")
    assert answer.exit_code == 2 and "name another folder with --name" in answer.output


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_killed_it_leaves_no_process_and_no_folder(root: Path, sent: signal.Signals) -> None:
    put(root, "submissions/one/faster/train.py", CODE.replace("WAIT", "60"))
    words = ["reproduce", f"{root}/submissions/one/faster", "--author", "other", "--yes"]
    # Whoever starts the tests in the background has them, and what they start, ignore SIGINT.
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{listen}; from bot.cli import main; main(prog_name='speedrun')"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words, "--root", str(root)],
        env=os.environ | {"TMPDIR": str(root)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    started = root / "started"
    try:
        for _ in range(600):
            if started.exists() and started.read_text():
                break
            time.sleep(0.1)
        child = int(started.read_text())
        process.send_signal(sent)
        assert process.wait(60) != 0
    finally:
        process.kill()
        process.wait()
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.kill(child, 0)
            time.sleep(0.1)
    for _ in range(100):  # a guard removes the folder after SIGKILL
        if not list(root.glob("speedrun-run-*")):
            break
        time.sleep(0.1)
    assert not made(root).exists()
    assert list(root.glob("speedrun-run-*")) == []
