"""Which commit of the bot is running: what the workflows of a new competition are pinned to."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path

from bot.patterns import COMMIT

DISTRIBUTION = "speedrun-bot"
_PROJECT = Path(__file__).resolve().parents[3]


def own_commit() -> str | None:
    """The full hash of this program's commit, None where nothing tells.

    In a checkout it is the commit checked out; an installed wheel knows from which commit or
    folder pip built it (`direct_url.json`, PEP 610). A repository that merely lies around the
    installation, as around a `.venv` in it, says nothing about the program.
    """
    if not _is_installed():
        return commit_of(_PROJECT)
    try:
        text = importlib.metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
        return commit_in(text or "{}")
    except importlib.metadata.PackageNotFoundError:
        return None


def _is_installed() -> bool:
    return not (_PROJECT / "pyproject.toml").is_file()


def commit_in(direct_url: str) -> str | None:
    """The commit that a `direct_url.json` names, itself or by the folder that pip built from."""
    try:
        data = json.loads(direct_url)
        commit = data.get("vcs_info", {}).get("commit_id", "")
        address = urllib.parse.urlsplit(str(data.get("url", "")))
    except (ValueError, AttributeError):
        return None
    if isinstance(commit, str) and COMMIT.fullmatch(commit):
        return commit
    if address.scheme != "file":
        return None
    return commit_of(Path(urllib.request.url2pathname(address.path)))


def commit_of(folder: Path) -> str | None:
    """HEAD of the repository whose top folder is `folder`; None for a folder inside another's."""
    if not folder.is_dir():
        return None
    done = subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "--show-toplevel", "HEAD"],
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    if done.returncode or len(lines) != 2 or Path(lines[0]).resolve() != folder.resolve():
        return None
    return lines[1] if COMMIT.fullmatch(lines[1]) else None
