"""What is kept of a repository's verdicts, and what makes them be judged again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.rank.audit import Boards, to_json
from bot.rank.ranking import standing
from bot.repository import Repository
from tests.bot.test_repository import add
from tests.conftest import ROOT

TRACK = "fineweb-edu"
ENTRY = f"submissions/{TRACK}/a"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tracks").mkdir()
    shutil.copy(ROOT / "tracks" / f"{TRACK}.toml", tmp_path / "tracks")
    add(tmp_path, ENTRY, "a", 1.1)
    add(tmp_path, f"submissions/{TRACK}/b", "b", 1.2)
    return tmp_path


def board(root: Path) -> dict[str, float]:
    found = Repository(root, cache=root / "cache").board(TRACK)
    return {entry.submission: entry.quality for entry in found.entries}


def kept(root: Path) -> Path:
    (path,) = (root / "cache").rglob(f"{TRACK}.json")
    return path


def marked(root: Path) -> None:
    """Change what is kept of each entry, so that it shows where it was read."""
    value: dict[str, Any] = json.loads(kept(root).read_text())
    for item in value.values():
        item["points"][0]["quality"] = 9.0
    kept(root).write_text(json.dumps(value))


def test_an_unchanged_entry_is_not_judged_again(root: Path) -> None:
    assert board(root) == {ENTRY: 1.1, f"submissions/{TRACK}/b": 1.2}
    marked(root)
    assert set(board(root).values()) == {9.0}


def results(root: Path) -> None:
    path = root / ENTRY / "speedrun_results.json"
    path.write_text(path.read_text() + "\n")


def text(root: Path) -> None:
    path = root / ENTRY / "submission.json"
    path.write_text(path.read_text().replace('"title"', '"summary": "x", "title"'))


def more(root: Path) -> None:
    (root / ENTRY / "README.md").write_text("What changed.")


@pytest.mark.parametrize("change", [results, text, more])
def test_a_changed_entry_is_judged_again_and_it_alone(
    root: Path, change: Callable[[Path], None]
) -> None:
    board(root)
    marked(root)
    change(root)
    assert board(root) == {ENTRY: 1.1, f"submissions/{TRACK}/b": 9.0}


def test_a_changed_track_judges_all_again(root: Path) -> None:
    board(root)
    marked(root)
    path = root / "tracks" / f"{TRACK}.toml"
    path.write_text(path.read_text() + "\n# changed\n")
    assert board(root)[ENTRY] == 1.1


def test_a_new_copy_of_an_entry_judges_it_again(root: Path) -> None:
    board(root)
    marked(root)
    add(root, f"submissions/{TRACK}/copy", "a", 1.1)
    found = board(root)
    assert found[f"submissions/{TRACK}/b"] == 9.0 and found.get(ENTRY) != 9.0


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"x": 1}', b'{"x": {"submission": 1}}'])
def test_a_damaged_cache_is_judged_anew(root: Path, damage: bytes) -> None:
    board(root)
    kept(root).write_bytes(damage)
    assert board(root)[ENTRY] == 1.1
    assert json.loads(kept(root).read_text())


def test_without_a_cache_nothing_is_kept(root: Path) -> None:
    Repository(root).board(TRACK)
    assert not (root / "cache").exists()


@pytest.mark.parametrize(
    "track_id",
    ["tutorial", pytest.param("nanogpt-medium", marks=pytest.mark.full("judges each record"))],
)
def test_the_kept_board_is_that_of_the_verdicts(tmp_path: Path, track_id: str) -> None:
    """Places, ties, frontier, records and reasons; with the standing that rules compare with."""
    root, entries = tmp_path / "root", Path("submissions") / track_id
    shutil.copytree(ROOT / "tracks", root / "tracks")
    shutil.copytree(ROOT / entries, root / entries)
    fresh, again = (Repository(root, cache=tmp_path / "kept").board(track_id) for _ in range(2))
    assert len(fresh.entries) > 0
    boards = (to_json(Boards((), {track_id: board}))["boards"] for board in (fresh, again))
    assert next(boards) == next(boards)
    assert (standing(fresh), fresh.records) == (standing(again), again.records)
