"""`speedrun reproduce` of an entry of links: its code is what its run on W&B has attached."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli import main
from reference_trainer.starters import source
from tests.conftest import ROOT
from tests.doubles.wandb import WandbDouble

FROZEN = "tracks/baselines/tutorial/baseline.json"
CODE = source("jax").encode()
SHA = hashlib.sha256(CODE).hexdigest()


def said(server: WandbDouble, root: Path, patch: pytest.MonkeyPatch, sha: str = SHA) -> str:
    """What `reproduce` shows of an entry whose one run has the starter attached."""
    patch.setenv("WANDB_API_KEY", server.key)
    patch.setenv("WANDB_BASE_URL", server.url)
    patch.setenv("SPEEDRUN_CACHE", "")
    for name in ("tracks/tutorial.toml", FROZEN, "submissions/tutorial/baseline/main.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    link = "https://wandb.ai/team/idea/runs/abc"
    hashes = {"main.py": sha, "reference_trainer": "0" * 64}
    rows = [{"_step": n, "eval/loss": 2.0, "time/train_s": float(n)} for n in range(3)]
    config = {"train": {"steps": 74}, "backend": "jax", "code_sha256": hashes, "seed": 4}
    attached = {"main.py": CODE, "../escape.py": b"1"}
    server.add_run("team", "idea", "abc", history=rows, config=config, files=attached)
    place = root / "submissions/tutorial/linked"
    place.mkdir(parents=True)
    data = {
        "schema_version": 1,
        "track": "tutorial",
        "title": "Linked",
        "based_on": "baseline",
        "contributors": [{"github": "someone"}],
        "runs": [{"source": "wandb", "link": link}],
    }
    (place / "submission.json").write_text(json.dumps(data))
    words = ["reproduce", str(place), "--author", "other", "--dry-run", "--root", str(root)]
    return " ".join(CliRunner().invoke(main, words).output.split())


def test_the_attached_file_runs_with_the_recorded_settings(
    server: WandbDouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = said(server, tmp_path, monkeypatch)
    assert "main.py --set train.steps=74 --interleave" in words
    assert f"file: main.py, {len(CODE):,} bytes" in words and "escape" not in words


def test_an_attached_file_that_did_not_run_is_refused(
    server: WandbDouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = said(server, tmp_path, monkeypatch, "1" * 64)
    assert "is not the file that the run says it ran" in words
