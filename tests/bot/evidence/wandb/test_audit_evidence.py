"""`speedrun audit --evidence`: linked runs pulled again from the double and compared."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.commands.audit import audit
from bot.commands.board import default_snapshots
from bot.evidence.snapshot import Snapshots
from bot.evidence.wandb.online import WandbFetcher
from bot.parse.track_toml import load_track
from tests.bot.competition import commit, git
from tests.bot.evidence.wandb.submissions import REFS, document, fill
from tests.bot.evidence.wandb.training import history
from tests.doubles.wandb import WandbDouble
from tests.plain_tracks import plain_text

pytestmark = pytest.mark.one_in(3)


@pytest.fixture
def root(
    server: WandbDouble, fetcher: WandbFetcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A repository with one submission of two linked runs, and snapshots of both."""
    monkeypatch.setenv("WANDB_API_KEY", server.key)
    monkeypatch.setenv("WANDB_BASE_URL", server.url)
    track = tmp_path / "tracks/nanogpt-small.toml"
    track.parent.mkdir()
    track.write_text(plain_text("nanogpt-small"), encoding="utf-8")
    folder = tmp_path / "submissions/nanogpt-small/example"
    folder.mkdir(parents=True)
    (folder / "submission.json").write_text(json.dumps(document(REFS[:2])))
    (folder / "train.py").write_text("import this\n")
    fill(server, REFS[:2])
    kept = Snapshots(tmp_path / "kept")
    for fetched in fetcher.fetch(REFS[:2], load_track(track).keys).values():
        assert fetched.run is not None
        kept.add(fetched.run)
    return tmp_path


def run(root: Path, *arguments: str) -> Result:
    given = ["--root", str(root), "--snapshots", str(root / "kept"), *arguments]
    return CliRunner().invoke(audit, given)


def test_what_is_as_it_was_passes(root: Path) -> None:
    answer = run(root, "--evidence")
    assert answer.exit_code == 0, answer.output
    assert "evidence: 2 same" in answer.output


def test_without_asking_the_snapshots_are_the_evidence(root: Path, server: WandbDouble) -> None:
    asked = server.count()
    data = json.loads(run(root, "--format", "json").output)
    (verdict,) = data["verdicts"]
    assert verdict["evidence"] == "wandb"
    assert verdict["statistics"]["n"] == 2
    assert server.count() == asked


def test_a_changed_a_deleted_and_a_private_run_are_found(root: Path, server: WandbDouble) -> None:
    server.world.runs[tuple(REFS[0])].replace_history(history(0, final=3.25))
    del server.world.runs[tuple(REFS[1])]
    data = json.loads(run(root, "--evidence", "--format", "json").output)
    assert [(d["run"], d["kind"]) for d in data["evidence"]] == [
        (REFS[0].url, "changed"),
        (REFS[1].url, "gone"),
    ]
    answer = run(root, "--evidence")
    assert answer.exit_code == 1
    assert "when it was verified" in answer.output
    server.set_access(*REFS[0][:2], "restricted")
    kinds = {
        d["kind"]
        for d in json.loads(run(root, "--evidence", "--format", "json").output)["evidence"]
    }
    assert kinds <= {"private", "gone"}


def test_an_outage_is_ours(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    answer = run(root, "--evidence")
    assert answer.exit_code == 3
    assert "2 unavailable" in answer.output
    assert "0" * 40 not in answer.output


def test_a_run_without_a_snapshot_is_named(root: Path) -> None:
    shutil.rmtree(root / "kept" / REFS[0].entity / REFS[0].project / REFS[0].id)
    answer = run(root, "--evidence")
    assert "1 no-snapshot, 1 same" in answer.output


def test_snapshots_are_found_in_a_checkout_and_on_the_branch(root: Path) -> None:
    """Without --snapshots: evidence/ below the root, else the branch of that name."""
    (root / "kept").rename(root / "evidence")
    shown = ["--root", str(root), "--format", "json"]

    def grade() -> str:
        answer = CliRunner().invoke(audit, shown)
        return str(json.loads(answer.output)["verdicts"][0]["evidence"])

    assert grade() == "wandb"
    commit(root / "evidence")
    branch = git(root / "evidence", "rev-parse", "HEAD")
    commit(root)
    git(root, "fetch", "-q", str(root / "evidence"), f"{branch}:refs/heads/evidence")
    shutil.rmtree(root / "evidence")
    assert grade() == "wandb"
    git(root, "branch", "-q", "-D", "evidence")
    assert grade() == "self-reported"


def test_of_a_local_and_a_fetched_branch_the_newer_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "first").write_text("1")
    commit(tmp_path)
    git(tmp_path, "branch", "-q", "evidence")
    git(tmp_path, "update-ref", "refs/remotes/origin/evidence", "HEAD")
    assert default_snapshots(tmp_path) == "evidence"
    assert not capsys.readouterr().err
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "newer")
    git(tmp_path, "update-ref", "refs/remotes/origin/evidence", "HEAD")
    assert default_snapshots(tmp_path) == "origin/evidence"
    assert "differ: origin/evidence is used" in capsys.readouterr().err
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "newest")
    git(tmp_path, "branch", "-q", "-f", "evidence")
    assert default_snapshots(tmp_path) == "evidence"
