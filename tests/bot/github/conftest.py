"""The competition of `tests.bot.github.competition`, made anew for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bot.github.competition import Competition
from tests.doubles.github import GitHubDouble


@pytest.fixture
def github() -> Iterator[GitHubDouble]:
    """A running double; at the end nothing may have broken GitHub's own description."""
    with GitHubDouble() as double:
        yield double
        assert double.violations == []


@pytest.fixture
def competition(
    github: GitHubDouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Competition:
    """A repository with two tracks and one record; no W&B key unless a test sets one."""
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("GITHUB_API_URL", github.url)
    return Competition(github, tmp_path)
