"""Where the workflows of a competition get the bot from.

By default from the wheel that `init` runs from, kept in `.github/speedrun/` of the competition with
the hashes of everything that is installed; with `--bot OWNER/REPO@SHA` from a repository. The
bot's own repository uses itself.
"""

from __future__ import annotations

import dataclasses as dc
import hashlib
import importlib.metadata
import json
import re
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from bot import __version__
from bot.github.api.client import Repo, checked_name
from bot.github.pull_request.pull import Incomplete, Trees
from bot.paths import WHEELS
from bot.patterns import COMMIT_TEXT

DISTRIBUTION = "speedrun-bot"
HOME = "speedrun-bot/speedrun"
FOLDER = WHEELS
OWN = "$/.github/actions/setup"
LOCKS = ("uv", "bot", "site", "publish")
"""The installer; what the bot needs; what builds the site; what a job needs that only answers."""
_HERE = Path(__file__).resolve().parent
_PROJECT = _HERE.parents[2]
_WHEEL = re.compile(r"speedrun_bot-[A-Za-z0-9.+_]{1,60}-py3-none-any\.whl")
_PINNED = re.compile(rf"([^@]+)@({COMMIT_TEXT})")


class SourceError(ValueError):
    """The bot to install cannot be determined or found; one sentence with the remedy."""


@dc.dataclass(frozen=True, slots=True)
class Source:
    """What the workflows write after `uses:`, the files it needs, and what to say of it."""

    uses: str
    files: Mapping[str, bytes] = dc.field(default_factory=dict)
    says: str = ""


def from_wheel(given: Path | None, folder: Path | None = None) -> Source:
    """The wheel that this program runs from, or the one given. Raises SourceError.

    One that pip no longer has is taken from the competition in `folder`, if that keeps it.
    """
    name, data = _read(given) if given else _own_wheel(folder)
    digest = hashlib.sha256(data).hexdigest()
    files = {
        "action.yml": (_HERE / "templates/speedrun/action.yml").read_bytes(),
        "wheel.txt": f"./{name} --hash=sha256:{digest}\n".encode(),
        name: data,
        **{f"{lock}.txt": requirements(lock) for lock in LOCKS},
    }
    says = f"the workflows install {name} (sha256 {digest[:12]}) from {FOLDER}"
    return Source(
        f"$/{FOLDER}", {f"{FOLDER}/{path}": content for path, content in files.items()}, says
    )


def requirements(lock: str) -> bytes:
    """One of LOCKS: versions and hashes."""
    shipped = _HERE / "requirements"
    folder = shipped if shipped.is_dir() else _PROJECT / ".github/requirements"
    return (folder / f"{lock}.txt").read_bytes()


def _read(path: Path) -> tuple[str, bytes]:
    if not _WHEEL.fullmatch(path.name):
        raise SourceError(f"{path.name} is not a wheel of {DISTRIBUTION}")
    try:
        return path.name, path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from error


def _own_wheel(folder: Path | None) -> tuple[str, bytes]:
    """The file that pip installed this program from, or one built from this checkout."""
    if (_PROJECT / "pyproject.toml").is_file():
        return _built()
    installed = _installed_from() or kept(folder)
    if installed is None:
        raise SourceError(
            "the wheel that this program was installed from is gone: give it with --wheel FILE, "
            "or name a repository with --bot OWNER/REPO@SHA"
        )
    return _read(installed)


def _installed_from() -> Path | None:
    """The local file that pip noted (`direct_url.json`, PEP 610), if it is there still."""
    try:
        text = importlib.metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
        address = urllib.parse.urlsplit(str(json.loads(text or "{}").get("url", "")))
    except (importlib.metadata.PackageNotFoundError, ValueError, AttributeError):
        return None
    path = Path(urllib.request.url2pathname(address.path))
    return path if address.scheme == "file" and path.is_file() else None


def kept(folder: Path | None) -> Path | None:
    """The wheel of this version that a competition keeps."""
    found = (folder / FOLDER).glob(f"speedrun_bot-{__version__}-*.whl") if folder else ()
    return next(iter(found), None)


def _built() -> tuple[str, bytes]:
    try:
        from hatchling.builders.wheel import WheelBuilder
    except ImportError as error:
        raise SourceError(
            "building a wheel from a checkout needs hatchling: `pip install hatchling`, or give a "
            "built wheel with --wheel FILE"
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        builder = WheelBuilder(str(_PROJECT))
        return _read(Path(next(iter(builder.build(directory=folder, versions=["standard"])))))


def pinned(given: str, repo: Repo | None) -> Source:
    """The bot of a repository at one commit, after a look whether it is there.

    `repo` is that repository; None where no token is at hand, then it cannot be looked at.
    Raises SourceError, GitHubTrouble.
    """
    name, sha = split(given)
    if repo is None:
        raise SourceError(f"cannot tell whether {given} exists; set GITHUB_TOKEN and run again")
    try:
        found = Trees(repo, sha).find(".github/actions/setup/action.yml")
    except Incomplete as error:
        raise SourceError(f"{given} cannot be read: {error}") from error
    if found is None:
        raise SourceError(f"{given} has no .github/actions/setup/action.yml, so it is not the bot")
    return Source(f"{name}/.github/actions/setup@{sha}", says=f"the workflows run {name} at {sha}")


def split(given: str) -> tuple[str, str]:
    """OWNER/REPO and commit of `--bot`. Raises SourceError."""
    match = _PINNED.fullmatch(given)
    try:
        return checked_name(match[1] if match else ""), match[2] if match else ""
    except ValueError as error:
        raise SourceError(
            f"{given!r} names no fixed version of the bot, expected OWNER/REPO@ and a full commit "
            "hash of 40 digits"
        ) from error
