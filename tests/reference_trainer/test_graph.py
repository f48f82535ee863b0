"""Finished steps are reused, failed ones refused until forced; identities follow their inputs."""

from __future__ import annotations

import json
import pathlib

import pytest

from reference_trainer.errors import TrainerError
from reference_trainer.graph import Execution, identity
from reference_trainer.storage import LocalFolder


def test_identity_follows_code_config_and_inputs() -> None:
    base = identity({"main.py": "1"}, {"lr": 1}, ["a", "b"])
    assert base == identity({"main.py": "1"}, {"lr": 1}, ["b", "a"])
    others = (
        identity({"main.py": "2"}, {"lr": 1}, ["a", "b"]),
        identity({"main.py": "1"}, {"lr": 2}, ["a", "b"]),
        identity({"main.py": "1"}, {"lr": 1}, ["a"]),
    )
    assert len({base, *others}) == 4


def test_a_failed_step_is_refused_until_forced(tmp_path: pathlib.Path) -> None:
    with pytest.raises(TrainerError, match="boom"):
        with Execution(LocalFolder(tmp_path)).step("train", "id", ["x"], force=False):
            raise TrainerError("boom")
    with pytest.raises(TrainerError, match="--force-run-failed"):
        with Execution(LocalFolder(tmp_path)).step("train", "id", ["x"], force=False):
            pass
    with Execution(LocalFolder(tmp_path)).step("train", "other", ["x"], force=False):
        pass
    with Execution(LocalFolder(tmp_path)).step("train", "id", ["x"], force=True):
        pass
    assert Execution(LocalFolder(tmp_path)).finished("train", "id")
    written = json.loads((tmp_path / "execution.json").read_text(encoding="utf-8"))
    assert written["steps"]["train"]["status"] == "finished"
    assert written["steps"]["train"]["inputs"] == ["x"]
