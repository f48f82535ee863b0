"""`speedrun upgrade`: bring the workflows and the bot that they install to this version, as a PR.

It runs on a maintainer's machine with the maintainer's token, because a workflow may not change
workflows. What people keep is left alone: tracks, settings, CODEOWNERS.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator, Mapping
from pathlib import Path

from bot import __version__
from bot import files as disk
from bot.github.api import branches
from bot.github.api.client import Repo, told
from bot.github.host.checkout import default_branch
from bot.github.host.files import Target, github_files, titles_of
from bot.github.host.initialise import earlier, foreign_pages
from bot.github.host.settings import load_settings
from bot.github.host.source import FOLDER, HOME, OWN, Source
from bot.github.pull_request.pull import Trees, blob_sha
from bot.parse.track_toml import load_tracks

BRANCH = "speedrun/upgrade"


def wanted(folder: Path, repo: str, branch: str, source: Source) -> dict[str, bytes | None]:
    """Path -> content that this version has, None for a file that it replaces or drops."""
    settings = load_settings(folder)
    if foreign_pages(folder):
        settings = dc.replace(settings, pages=False)
    tracks = titles_of(load_tracks(folder).values())
    source = Source(OWN) if repo == HOME else source
    files: dict[str, bytes | None] = {}
    files |= github_files(Target(repo, branch, source, settings, tracks))
    files |= {f".github/workflows/{name}": None for name in earlier(folder)}
    for path in sorted((folder / FOLDER).glob("speedrun_bot-*.whl")):
        files.setdefault(f"{FOLDER}/{path.name}", None)
    return files


def write(folder: Path, files: Mapping[str, bytes | None]) -> Iterator[str]:
    """Bring a checkout to these files; a line for each that changes."""
    for name, content in files.items():
        path = folder / name
        if content is None and path.exists():
            path.unlink()
            yield f"removed {name}"
        elif content is not None and (not path.is_file() or path.read_bytes() != content):
            disk.write(path, content)
            yield f"written {name}"


def propose(repo: Repo, folder: Path, source: Source) -> str:
    """The address of the pull request, or that there is nothing to change. Raises GitHubTrouble."""
    with told("reading the default branch"):
        base = repo.api.default_branch
        start = branches.tip(repo.api, base)
    files = wanted(folder, repo.name, base or default_branch(folder), source)

    def edit(tip: str | None) -> Mapping[str, bytes | None]:
        trees = Trees(repo, tip or start or "")
        return {name: data for name, data in files.items() if _differs(trees, name, data)}

    message = f"Upgrade the speedrun bot to {__version__}"
    with told("opening the pull request"):
        done = branches.commit(repo.api, BRANCH, edit, message, start)
        if done is None and branches.tip(repo.api, BRANCH) is None:
            return "nothing to change: this version is installed"
        return str(branches.open_pull(repo, BRANCH, base, message, _BODY).html_url)


def _differs(trees: Trees, name: str, data: bytes | None) -> bool:
    entry = trees.find(name)
    if data is None or entry is None:
        return (data is None) != (entry is None)
    return entry.sha != blob_sha(data)


_BODY = (
    "Workflows, forms and the bot that they install, as `speedrun upgrade` writes them. Tracks, "
    "settings and CODEOWNERS stay as they are.\n"
)
