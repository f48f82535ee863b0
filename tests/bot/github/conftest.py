"""The competition of `tests.bot.github.competition`, made anew for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.github.competition import Competition
from tests.doubles.github import GitHubDouble
from tests.doubles.wandb import WandbDouble

MOST = {"answer": 15, "record": 15, "command": 15, "remember": 10}
"""Requests of a step, an experiment's included, beyond one a blob read or written, one a hundred
changed files, and for suggestions two and one for each that is taken back."""


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the key of the person who runs it."""
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NETRC", "/nonexistent")
    monkeypatch.setenv("SPEEDRUN_RELEASES", "http://127.0.0.1:9")
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")


@pytest.fixture
def github() -> Iterator[GitHubDouble]:
    """A running double; at the end nothing may have broken GitHub's own description."""
    with GitHubDouble() as double:
        yield double
        assert double.violations == []


@pytest.fixture
def competition(
    github: GitHubDouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Competition]:
    """A repository with two tracks and one record; no W&B key unless `wandb` is asked for.

    In every test each step stays below its bound of requests.
    """
    monkeypatch.setenv("GITHUB_API_URL", github.url)
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    made = Competition(github, tmp_path)
    yield made
    if not github.faulty:
        assert [step for step in made.costs if step[1] > MOST[step[0]]] == []


@pytest.fixture(scope="session")
def wandb_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WandbDouble]:
    """One W&B for all tests of this folder: its client keeps one process for one address."""
    pytest.importorskip("wandb", reason="needs the wandb client (extra `bot`)")
    with WandbDouble() as server:
        yield server


@pytest.fixture
def wandb(
    wandb_server: WandbDouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[WandbDouble]:
    """The W&B double, empty, with its key in the environment and no trace in the home folder."""
    wandb_server.world.runs.clear()
    wandb_server.world.access.clear()
    wandb_server.requests.clear()
    home = tmp_path / "home"
    home.mkdir()
    for name in ("HOME", "WANDB_CACHE_DIR", "WANDB_DATA_DIR", "WANDB_CONFIG_DIR", "WANDB_DIR"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("NETRC", str(home / "netrc"))
    monkeypatch.setenv("WANDB_BASE_URL", wandb_server.url)
    monkeypatch.setenv("WANDB_API_KEY", wandb_server.key)
    yield wandb_server
    assert wandb_server.unknown == []
