"""`speedrun new` with the link of a project or a sweep: its finished runs are offered."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.commands.new import new
from tests.bot.evidence.wandb.submissions import REFS, fill
from tests.conftest import ROOT
from tests.doubles.wandb import WandbDouble


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tracks").symlink_to(ROOT / "tracks")
    return tmp_path


def said(server: WandbDouble, root: Path, link: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("WANDB_API_KEY", server.key)
    monkeypatch.setenv("WANDB_BASE_URL", server.url)
    made = CliRunner().invoke(new, ["nanogpt-small/x", "--wandb", link, "--root", str(root)])
    assert made.exit_code == 2 and not (root / "submissions").exists()
    return made.output


def test_a_project_offers_its_finished_runs(
    server: WandbDouble, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(server, REFS[:3])
    server.world.runs[tuple(REFS[1])].state = "crashed"
    text = said(server, root, "https://wandb.ai/example-team/nanogpt?nw=x", monkeypatch)
    assert f"--wandb {REFS[0].url}" in text and f"--wandb {REFS[2].url}" in text
    assert REFS[1].url not in text


def test_a_sweep_offers_its_own(
    server: WandbDouble, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(server, REFS[:2])
    server.world.runs[tuple(REFS[1])].sweep = "abc"
    text = said(server, root, "https://wandb.ai/example-team/nanogpt/sweeps/abc", monkeypatch)
    assert REFS[1].url in text and REFS[0].url not in text


def test_a_project_without_runs_says_to_make_it_public(
    server: WandbDouble, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = said(server, root, "https://wandb.ai/nobody/nothing", monkeypatch)
    assert "no finished run that can be read; make it public" in text
