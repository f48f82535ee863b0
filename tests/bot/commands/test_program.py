"""What `reproduce` runs of a starter's entry: its file, with the settings of its runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.commands.program import Plan, differences, plan
from bot.commands.root import Unusable
from bot.evidence.recorded import Recorded
from bot.local import Local
from bot.parse.track_toml import load_tracks
from tests.conftest import ROOT

pytest.importorskip("wandb")
ENTRY = "submissions/tutorial/mine"
FROZEN = "tracks/baselines/tutorial/baseline.json"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The tutorial, and an entry that is its baseline again."""
    for name in ("tracks/tutorial.toml", FROZEN):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("baseline", "mine"):
        place = tmp_path / "submissions/tutorial" / name
        shutil.copytree(ROOT / "submissions/tutorial/baseline", place)
    edit(tmp_path / ENTRY / "submission.json", {"based_on": "baseline"})
    return tmp_path


def edit(path: Path, fields: Mapping[str, object]) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def code(root: Path, old: str, new: str) -> None:
    path = root / ENTRY / "main.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def made(root: Path) -> Plan:
    return plan(root / ENTRY, Local(root, load_tracks(root)), False, None)


def test_the_file_as_it_is_needs_no_setting(root: Path) -> None:
    found = made(root)
    assert "--set" not in found.command
    place = found.command.index("--interleave") + 1
    assert Path(found.command[place]) == root / FROZEN
    assert not any("has changed" in note for note in found.notes)
    assert (found.found.backend, found.found.seeds) == ("jax", (0, 1, 2))


def test_settings_of_the_runs_that_the_file_does_not_say_are_passed(root: Path) -> None:
    code(root, '# "train.steps": 100', '"train.steps": 60, "data.corpus": "english"')
    found = made(root)
    words = {word for word in found.command if "=" in word}
    assert words == {"data.corpus=sotu", "train.steps=80"}
    assert "main.py is not the file that its runs recorded; it has changed since" in found.notes


def test_a_file_whose_settings_its_text_does_not_tell_gets_them_all(root: Path) -> None:
    code(root, '# "train.steps": 100', '"train.steps": 4 * 20')
    found = made(root)
    assert found.command.count("--set") == len(found.found.settings) > 30
    assert {"schedule.kind=wsd", "model.gated=false"} <= set(found.command)


def test_runs_that_record_nothing_are_said_to(root: Path) -> None:
    edit(root / ENTRY / "submission.json", {"runs": [{"source": "log", "path": "logs/seed0.log"}]})
    assert "its runs recorded no settings; those of the file are used" in made(root).notes


def test_a_command_of_the_author_s_own_is_said_to_decide(root: Path) -> None:
    own = {"path": "main.py", "command": "python main.py {out}"}
    edit(root / ENTRY / "submission.json", {"code": own})
    found = made(root)
    assert found.command[1:] == ("main.py", "{out}")
    assert any("its author's command decides the settings" in note for note in found.notes)


def test_a_baseline_that_cannot_run_beside_it_is_refused(root: Path) -> None:
    path = root / "submissions/tutorial/baseline/main.py"
    path.write_text(path.read_text().replace("run_jax", "run_torch"))
    with pytest.raises(Unusable, match="written in jax and the baseline baseline in torch"):
        made(root)
    edit(root / FROZEN, {"code": None})
    with pytest.raises(Unusable, match="frozen without code that can be run"):
        made(root)


def test_an_entry_without_code_is_refused(root: Path) -> None:
    (root / ENTRY / "main.py").unlink()
    with pytest.raises(Unusable, match=r'its code, "main\.py", is not in its folder'):
        made(root)
    data = json.loads((root / ENTRY / "submission.json").read_text())
    del data["code"]
    (root / ENTRY / "submission.json").write_text(json.dumps(data))
    with pytest.raises(Unusable, match="neither in the repository nor attached to its W&B runs"):
        made(root)


def test_what_the_new_runs_record_otherwise_is_named() -> None:
    old = Recorded({"train.steps": 80}, backend="jax", code_sha256={"main.py": "1"}, data="a")
    new = Recorded({"train.steps": 60}, backend="torch", code_sha256={"main.py": "2"}, data="a")
    assert differences(old, new) == [
        "train.steps 60, in place of 80",
        "the backend torch, in place of jax",
        "the code of main.py",
    ]
    assert differences(old, old) == []
    assert differences(old, Recorded()) == []


def test_a_starter_that_the_baseline_cannot_run_beside_is_named(root: Path) -> None:
    def said(name: str, kind: str) -> str:
        words = ["new", f"tutorial/{name}", "--starter", kind, "--root", str(root)]
        made = CliRunner().invoke(main, words)
        assert made.exit_code == 0
        return made.output

    assert "The baseline of tutorial is written in jax" in said("wrong", "torch")
    assert "is written in" not in said("right", "jax")
