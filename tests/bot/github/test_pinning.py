"""The commit that workflows are pinned to is the program's, never that of a repository around."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from bot.github.host.pinning import commit_in, commit_of

COMMIT = "0123456789" * 4


def repository(folder: Path) -> str:
    def git(*arguments: str) -> str:
        who = ["-c", "user.name=example-user", "-c", "user.email=user@example.org"]
        done = subprocess.run(
            ["git", "-C", str(folder), *who, *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    folder.mkdir(parents=True, exist_ok=True)
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    return git("rev-parse", "HEAD")


def test_an_installation_inside_another_repository_is_not_that_repository(tmp_path: Path) -> None:
    head = repository(tmp_path)
    inside = tmp_path / ".venv/lib"
    inside.mkdir(parents=True)
    assert commit_of(tmp_path) == head
    assert commit_of(inside) is None
    assert commit_of(tmp_path / "gone") is None


def test_pip_says_from_which_commit_or_folder_it_built(tmp_path: Path) -> None:
    head = repository(tmp_path / "a b")
    folder = (tmp_path / "a b").as_uri()
    assert commit_in(json.dumps({"url": folder, "dir_info": {}})) == head
    vcs = {"vcs": "git", "commit_id": COMMIT}
    assert commit_in(json.dumps({"url": "https://example.org/x", "vcs_info": vcs})) == COMMIT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"url": "https://example.org/a.whl", "archive_info": {}}',
        '{"vcs_info": {"commit_id": "main"}}',
        '{"vcs_info": 3}',
        '{"url": "file:///nowhere/at/all"}',
    ],
)
def test_else_nothing_is_said(text: str) -> None:
    assert commit_in(text) is None
