"""What the clone on this machine tells of its repository: name, host, default branch."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import requests

from bot.github.api.client import api_url
from bot.github.api.workflows import file_of
from bot.model.report import Settings

_TIMEOUT_S = 5

_REMOTE = re.compile(
    r"(?:https://|ssh://git@|git@)(?P<host>[A-Za-z0-9.-]+)(?::\d+)?[/:]"
    r"(?P<name>[^/]+/[^/]+?)(?:\.git)?/?"
)
_BRANCH = re.compile(r"branches: \[\"?([^\]\"]+)\"?\]")


def git(folder: Path, *arguments: str) -> str:
    """What git prints, empty if it fails or there is no such folder."""
    if not folder.is_dir():
        return ""
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False
    )
    return "" if done.returncode else done.stdout.strip()


def origin(folder: Path) -> tuple[str, str] | None:
    """Host and OWNER/REPO of the remote `origin`; None if it has none on a server."""
    match = _REMOTE.fullmatch(git(folder, "remote", "get-url", "origin"))
    return (match["host"], match["name"]) if match else None


def api_of(host: str) -> str:
    """The API of the GitHub on a host; "" for github.com, also behind a name of SSH's settings."""
    if "." not in host or host in ("github.com", "www.github.com", "ssh.github.com"):
        return ""
    return f"https://api.{host}" if host.endswith(".ghe.com") else f"https://{host}/api/v3"


def is_organisation(login: str, settings: Settings | None = None) -> bool | None:
    """What GitHub says of an account; None if it does not answer. No token is needed."""
    token = os.environ.get("GITHUB_TOKEN", "").strip()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        answer = requests.get(
            f"{api_url(settings)}/users/{login}", headers=headers, timeout=_TIMEOUT_S
        )
        return bool(answer.json()["type"] == "Organization") if answer.ok else None
    except (requests.exceptions.RequestException, ValueError, KeyError, TypeError):
        return None


def default_branch(folder: Path) -> str:
    """The branch of the workflows that are installed, else the one that `origin` names as its head,
    else the one checked out, else `main`."""
    file = folder / ".github/workflows" / file_of("verify")
    installed = _BRANCH.search(file.read_text(encoding="utf-8")) if file.is_file() else None
    if installed:
        return installed[1]
    head = git(folder, "symbolic-ref", "--short", "refs/remotes/origin/HEAD")
    return head.removeprefix("origin/") or git(folder, "branch", "--show-current") or "main"
