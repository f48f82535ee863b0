"""Where the root of a competition is looked for, and where the search ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.paths import as_typed, find_root, schema_path
from tests.conftest import ROOT


@pytest.fixture
def competition(tmp_path: Path) -> Path:
    (tmp_path / "repo/tracks").mkdir(parents=True)
    (tmp_path / "repo/submissions/one/mine").mkdir(parents=True)
    return tmp_path / "repo"


def test_the_nearest_folder_with_tracks(competition: Path) -> None:
    assert find_root(competition / "submissions/one/mine") == competition
    assert find_root(competition) == competition


@pytest.mark.parametrize("worktree", [False, True])
def test_the_search_ends_at_the_repository(competition: Path, worktree: bool) -> None:
    """In a worktree `.git` is a file."""
    mark = competition / "submissions/.git"
    mark.write_text("gitdir: elsewhere") if worktree else mark.mkdir()
    assert find_root(competition / "submissions/one/mine") is None


def test_a_repository_with_tracks_is_its_own_root(competition: Path) -> None:
    (competition / ".git").mkdir()
    assert find_root(competition / "submissions") == competition


def test_a_test_never_leaves_its_temporary_folder(tmp_path: Path) -> None:
    above = next(p for p in tmp_path.parents if (p / ".git").exists())
    assert find_root(tmp_path) is None
    assert above != ROOT and ROOT not in above.parents


def test_files_that_ship_with_the_program() -> None:
    assert schema_path("rules.json").is_file()


def test_a_path_below_the_current_folder_is_shown_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert as_typed(tmp_path / "submissions" / "a") == "submissions/a"
    assert as_typed(tmp_path.parent / "elsewhere") == str(tmp_path.parent / "elsewhere")
    assert as_typed(Path("../b")) == "../b"
