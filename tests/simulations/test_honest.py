"""The short form of `python -m tests.simulations.honest`: nobody honest is turned away."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from bot.registry import Status
from tests.conftest import ROOT
from tests.simulations.honest.judge import DOORS, drawn, judged

SEED = 3
NUMBERS = (0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 12, *range(14, 22), 23, 25, 26, 27, *range(28, 32))
"""Every track, by all its ways but one, with few runs or short ones."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The tracks with their baselines, and no imported entries, which take long to read."""
    shutil.copytree(ROOT / "tracks", tmp_path / "tracks")
    for track in ("tutorial", "tutorial-h100"):
        shutil.copytree(ROOT / "submissions" / track, tmp_path / "submissions" / track)
    return tmp_path


@pytest.mark.full("judges a hundred submissions")
def test_nobody_honest_is_turned_away(root: Path) -> None:
    found = list(judged(root, NUMBERS, SEED))
    turned_away = [
        (item.entry.number, item.about, [str(f.message) for f in item.verdict.findings])
        for item in found
        if item.verdict.status in (Status.REJECTED, Status.UNVERIFIABLE)
    ]
    assert len(found) == len(NUMBERS) and turned_away == []


def test_a_number_and_a_seed_draw_the_same_submission_again() -> None:
    first, again, other = drawn(1, 0), drawn(1, 0), drawn(1, 1)
    assert first.files == again.files != other.files


def test_every_track_is_drawn_by_each_way_that_it_accepts() -> None:
    ways = {"wandb": {"online", "offline"}, "log": {"log"}, "results": {"results"}}
    for path in (ROOT / "tracks").glob("*.toml"):
        accepts = tomllib.loads(path.read_text(encoding="utf-8"))["evidence"]["accepts"]
        assert set(DOORS[path.stem]) == set().union(*(ways[kind] for kind in accepts)), path.stem
