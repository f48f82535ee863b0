"""The page *One GPU*, word for word, with a CPU in place of the card.

The maintainer writes the track that the page shows and types its commands; then a student with one
machine goes from nothing to a place in three commands, and somebody else runs that again. What
stands in for the card: the name of the track (the model of `single-gpu` takes half a minute of an
H100), the framework (its baseline is PyTorch's, the one made here is JAX's), ten steps to an easier
target, two seeds, and both arms on one thread.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bot.github.host.first_track import track_text
from bot.parse.track_toml import load_track
from bot.repository import Repository
from tests.conftest import ROOT, in_a_full_run
from tests.reference_trainer.conftest import ONE_DEVICE

PAGE = (ROOT / "leaderboard_site/docs/single-gpu.md").read_text(encoding="utf-8")
SHORT = "--set train.steps=10"
THREADS = f"{ONE_DEVICE} intra_op_parallelism_threads=1"
SPEEDRUN = "from bot.cli import main; main(prog_name='speedrun')"
pytestmark = pytest.mark.skipif(not importlib.util.find_spec("jax"), reason="the starter is JAX's")


def commands(heading: str) -> list[str]:
    """The command lines of a section, as they stand there."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^    ((?:speedrun|python) .+)$", section, re.MULTILINE)


def typed(root: Path, line: str, login: str, more: str = "") -> str:
    """One line as somebody types it in the root of the repository; what it prints."""
    line = line.replace("single-gpu", "my-track").replace("--starter torch", "--starter jax")
    program, _, rest = line.partition(" ")
    start = [sys.executable, *(["-c", SPEEDRUN] if program == "speedrun" else [])]
    env = os.environ | {"GITHUB_USER": login, "WANDB_SILENT": "true", "XLA_FLAGS": THREADS}
    done = subprocess.run(
        [*start, *rest.split(), *more.split()],
        cwd=root,
        env=env,
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return " ".join(done.stdout.split())


def test_the_page_has_the_commands_that_are_tried_here() -> None:
    assert len(commands("A place in three commands")) == 3
    assert len(commands("Start a competition of your own")) == 4
    assert len(commands("Help by running it again")) == 1


def test_from_an_empty_repository_to_a_confirmed_entry(tmp_path: Path) -> None:
    in_a_full_run("trains ten times")
    (tmp_path / "tracks").mkdir()
    (tmp_path / "submissions").mkdir()
    track = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert track is not None and track[1] == track_text("my-track", "baseline", ())
    path = tmp_path / "tracks/my-track.toml"
    path.write_text(track[1].replace("target = 1.9", "target = 6.0"), encoding="utf-8")

    # the maintainer
    _, make, status, _ = commands("Start a competition of your own")
    said = typed(tmp_path, make, "example-user", f"--seeds 2 --backend jax -- {SHORT}")
    assert "baseline of my-track: baseline, " in said and "(2 runs) on 1x cpu" in said
    assert "my-track: baseline baseline, " in typed(tmp_path, status, "example-user")
    (frozen,) = load_track(path).baselines
    assert (frozen.id, len(frozen.costs)) == ("baseline", 2)

    # the student
    new, train, submit = commands("A place in three commands")
    assert "is ready" in typed(tmp_path, new, "student")
    said = typed(tmp_path, train, "student", f"--seeds 2 {SHORT}")
    assert "with train.steps=10 as its runs recorded" in said
    said = typed(tmp_path, submit, "student")
    assert "training time than the baseline" in said, said
    folder = tmp_path / "submissions/my-track/my-idea"
    data = json.loads((folder / "submission.json").read_text())
    assert [run.get("arm", "candidate") for run in data["runs"]].count("baseline") == 2
    assert data["contributors"][0]["github"] == "student"

    # somebody else, who runs what the student ran
    (again,) = commands("Help by running it again")
    said = typed(tmp_path, again.replace("faster", "my-idea"), "another-user", "--yes --seeds 2")
    assert "--set train.steps=10 --interleave" in said and "Written: " in said
    assert "differs from the entry's runs" not in said
    made = tmp_path / "submissions/my-track/my-idea-by-another-user/submission.json"
    assert json.loads(made.read_text())["reproduces"] == "my-track/my-idea"
    board = Repository(tmp_path).board("my-track")
    (reply,) = board.states["submissions/my-track/my-idea"].replies
    assert (reply.people, reply.pairs, reply.kind) == (("another-user",), 2, "reproduction")
    ranked = {e.submission.rpartition("/")[2] for e in board.entries}
    assert ranked <= {"baseline", "my-idea"} and "baseline" in ranked
