"""What runs record of their program, and what a frozen baseline keeps of it."""

import dataclasses as dc
import json
from pathlib import Path

import pytest

from bot.evidence.recorded import NoCode, code_of, recorded
from bot.model.run import Run
from bot.parse.folder import parse_submission, read_path
from bot.parse.track_toml import load_tracks
from tests.conftest import ROOT

CONFIG = {"train.steps": 80, "data.corpus": "sotu", "optimizer.name": "Muon", "backend": "torch"}
RUN = Run(
    "wandb",
    "a",
    config=CONFIG | {"train.sub": None, "total_steps": 80},
    code_sha256={"main.py": "1", "reference_trainer": "2"},
    seed=3,
)


def test_settings_on_which_all_runs_agree() -> None:
    other = dc.replace(RUN, config=CONFIG | {"data.corpus": "english"}, seed=1)
    found = recorded([RUN, other])
    assert found.settings == {"train.steps": 80}
    assert found.varying == {"data.corpus": ("sotu", "english")}
    assert (found.backend, found.seeds) == ("torch", (1, 3))


def test_settings_of_another_program_are_not_the_trainer_s() -> None:
    found = recorded([dc.replace(RUN, code_sha256={"main.py": "1"})])
    assert (found.settings, found.seeds, found.code_sha256) == ({}, (3,), {"main.py": "1"})


def test_the_program_of_a_trainer_s_entry(tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    tracks = load_tracks(ROOT)
    folder = read_path(ROOT / "submissions/tutorial/baseline", ROOT)
    code = code_of(folder, parse_submission(folder, tracks), None)
    assert (code.path, code.settings["train.steps"]) == ("main.py", 80)
    assert code.settings["data.corpus"] == "sotu"

    def of(**changed: object) -> object:
        raw = json.loads(folder.files["submission.json"]) | changed
        files = folder.files | {"submission.json": json.dumps(raw).encode()}
        made = dc.replace(folder, files=files)
        return code_of(made, parse_submission(made, tracks), None)

    with pytest.raises(NoCode, match="not in the repository"):
        of(code={"path": "train.py"})
    with pytest.raises(NoCode, match="logs do not record the settings"):
        of(runs=[{"source": "log", "path": "logs/seed0.log"}])
