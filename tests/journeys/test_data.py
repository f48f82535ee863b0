"""Training data as an entry on GitHub: the pull request, the answer, a maintainer's check."""

from __future__ import annotations

import pytest

from tests.bot.github.competition import REPO, Competition
from tests.bot.github.conftest import competition, github, no_key
from tests.bot.github.test_experiments import read
from tests.reference_trainer.test_data_track import World, forged, verified, world

__all__ = ["competition", "github", "no_key", "world"]
pytestmark = pytest.mark.filterwarnings("ignore")
TRACK = "tracks/data-tiny.toml"


def files_of(world: World) -> dict[str, bytes]:
    """The entry as its pull request has it."""
    return {
        path.relative_to(world.root).as_posix(): path.read_bytes()
        for path in world.entry.rglob("*")
        if path.is_file()
    }


def test_from_the_pull_request_to_the_verified_data(
    competition: Competition, world: World, tmp_path_factory: pytest.TempPathFactory
) -> None:
    track = world.root / TRACK
    before = track.read_text()
    competition.github.commit(REPO, "main", {TRACK: before})
    pull = competition.open(files_of(world))
    competition.answer(pull.number)
    said = read(competition.sticky(pull.number))
    assert "training and validation text share nothing rests on the author" in said, said
    assert "speedrun data verify" in said
    folder = forged(world, tmp_path_factory.mktemp("fetched") / "data", [world.validation[0]])
    refused = verified(world, str(world.entry), "--shards", str(folder), "--record")
    assert refused.exit_code == 1 and track.read_text() == before
    held = verified(world, str(world.entry), "--shards", str(world.data), "--record")
    assert held.exit_code == 0, held.output
    competition.github.commit(REPO, "main", {TRACK: track.read_text()})
    track.write_text(before)
    competition.answer(pull.number)
    assert "rests on the author" not in read(competition.sticky(pull.number))
