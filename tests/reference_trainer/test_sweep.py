"""Sweeps: which runs there are, and that a run which fails is tried again."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest
from click.testing import CliRunner

from reference_trainer import sweep
from reference_trainer.cli import train
from reference_trainer.errors import TrainerError
from reference_trainer.shards import Corpus
from tests.reference_trainer.conftest import need
from tests.reference_trainer.test_distributed import command


def test_members_are_seeds_of_arms(tmp_path: pathlib.Path) -> None:
    asked = ["x", "--seeds", "2", "--seed=3", "--out", str(tmp_path)]
    plain = sweep.members_of(asked, [])
    assert [m.name for m in plain] == ["seed3", "seed4"]
    assert plain[1].command == ["x", "--seed", "4", "--out", str(tmp_path / "seed4")]
    found = sweep.members_of(asked, ["low=optimizer.lr=0.1", "both=optimizer.lr=1,train.steps=5"])
    assert [m.name for m in found] == ["low/seed3", "low/seed4", "both/seed3", "both/seed4"]
    settings = ["--set", "optimizer.lr=1", "--set", "train.steps=5"]
    assert found[3].command == [
        "x", *settings, "--seed", "4", "--out", str(tmp_path / "both/seed4")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "arms", "said"),
    [
        (["--seeds", "2"], [], "a sweep needs --out FOLDER"),
        (["--seeds", "0", "--out", "o"], [], "--seeds is 0 and --seed is 0; write whole numbers"),
        (["--seed", "a", "--out", "o"], [], "--seed is a; write whole numbers"),
        (["--out"], [], "--out needs a value"),
        (["--out", "o"], ["low"], '"low" is not an arm; write NAME=SECTION.KEY=VALUE'),
        (["--out", "o"], ["../x=a.b=1"], "is not an arm"),
        (["--out", "o"], ["x=optimizer.lr"], "is not an arm"),
        (["--out", "o"], ["x=a.b=1", "x=a.b=2"], "two arms have the same name"),
    ],
)
def test_a_sweep_that_cannot_be_run_is_one_sentence(
    arguments: list[str], arms: list[str], said: str
) -> None:
    with pytest.raises(TrainerError, match=said):
        sweep.members_of(arguments, arms)


def test_failed_runs_are_tried_again_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    tried: list[tuple[str, bool]] = []

    def launch(command: list[str], slot: int) -> int:
        assert slot in (0, 1)
        tried.append((command[0], "--resume" in command))
        return {"good": 0, "bad": 7}.get(command[0], int("--resume" not in command))

    members = [sweep.Member(name, [name]) for name in ("good", "once", "bad")]
    with pytest.raises(TrainerError, match="2 of 3 runs are finished, not bad; the same command"):
        sweep.run(members, launch, workers=2, retries=2)
    assert sorted(tried) == [
        ("bad", False), ("bad", True), ("bad", True), ("good", False), ("once", False),
        ("once", True),
    ]  # fmt: skip
    assert "bad failed (exit 7), 0 tries left" in capsys.readouterr().err
    sweep.run(members[:2], launch, workers=1, retries=1)


def test_a_command_trains_every_member(corpus: Corpus, tmp_path: pathlib.Path) -> None:
    """The first try of each is ended by what launches it."""
    need("torch")
    failing = tmp_path / "launch.py"
    failing.write_text(
        "import subprocess, sys\n"
        "first = '--resume' not in sys.argv\n"
        "sys.exit(3 if first else subprocess.run(sys.argv[2:]).returncode)\n"
    )
    ours = command("torch", corpus, tmp_path / "sweep", "--seeds", "2")[3:]
    launch = f"{sys.executable} {failing} {{slot}}"
    arguments = [
        "--arm",
        "low=optimizer.lr=0.001",
        "--launch",
        launch,
        "--retries",
        "1",
        "--",
        *ours,
    ]
    done = CliRunner().invoke(train, ["sweep", *arguments])
    assert done.exit_code == 0, done.output
    for seed in (0, 1):
        text = (tmp_path / f"sweep/low/seed{seed}/speedrun_results.json").read_text()
        info = json.loads(text)["runs"][0]["run_info"]
        assert info["speedrun"]["seed"] == seed
        assert info["train_config"]["optimizer_config"]["lr"] == 0.001
    nowhere = ["sweep", "--launch", "no-such-program", "--", *ours]
    done = CliRunner().invoke(train, nowhere)
    assert done.exit_code == 2 and "no-such-program could not be started" in done.output
