"""`speedrun doctor`: is the competition set up so that it works and cannot be fooled?

Every line says what was looked at and, if something is wrong, what to do. What the token cannot see
is `unknown`, which is neither in order nor wrong.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from bot.github.api.client import Repo
from bot.github.api.workflows import WORKFLOWS, file_of
from bot.github.host.doctor_github import Look, on_github
from bot.github.host.doctor_tracks import Line, bad, good, look_at_tracks
from bot.github.host.files import FORMS, titles_of
from bot.github.host.initialise import earlier
from bot.github.host.releases import known_release
from bot.github.host.source import FOLDER
from bot.model.report import Settings
from bot.model.track import TrackError
from bot.parse.track_toml import load_tracks
from bot.patterns import COMMIT_TEXT
from bot.render.untrusted import plain

_USES = re.compile(r"^\s*-?\s*uses:\s*(\S+)", re.MULTILINE)
_PINNED = re.compile(rf".+@{COMMIT_TEXT}")
_LOCKED = re.compile(r"\./(\S+\.whl) --hash=sha256:([0-9a-f]{64})\s*")


def examine(root: Path, repo: Repo | None, settings: Settings) -> list[Line]:
    """Everything that can be seen from here."""
    lines = [
        *look_at_tracks(root),
        *_workflows(root, settings),
        *_forms(root),
        *_wheel(root),
        _owners(root),
    ]
    key = wandb_key(root)
    lines += [key] if key else []
    if repo is None:
        return [*lines, Line("      give --repo to look at the repository on GitHub as well")]
    look = Look(repo, settings, key is not None, _owners_named(root), _answers_queue(root))
    return [*lines, *on_github(look)]


# ---- the checkout -------------------------------------------------------------------------------


def _workflows(root: Path, settings: Settings) -> Iterator[Line]:
    for name in WORKFLOWS:
        if name == "pages" and not settings.pages:
            continue
        path = root / ".github/workflows" / file_of(name)
        if not path.is_file():
            yield bad(f"workflow {path.name} is missing", "run `speedrun init .`")
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        loose = [
            use
            for use in _USES.findall(text)
            if not use.startswith(("./", "$/")) and not _PINNED.fullmatch(use)
        ]
        if loose:
            yield bad(f"{path.name} uses {loose[0]}", "pin it to a full commit hash")
        else:
            yield good(f"workflow {path.name}, every action pinned")
    for name in earlier(root):
        yield bad(f"{name} is from an earlier version of the bot", "run `speedrun upgrade`")


def _forms(root: Path) -> Iterator[Line]:
    """Whether the issue form offers the tracks that there are."""
    form = root / ".github" / FORMS[0]
    try:
        titles = titles_of(load_tracks(root).values())
    except TrackError:
        return  # the track has a line of its own
    text = form.read_text(encoding="utf-8", errors="replace") if form.is_file() else ""
    for title in titles if text else ():
        if json.dumps(title, ensure_ascii=False) not in text:
            words = f'the form "Submit runs" does not offer the track {plain(title, 100)}'
            yield bad(words, "run `speedrun upgrade --write` and commit the form")


def _wheel(root: Path) -> Iterator[Line]:
    """Whether the bot that the workflows install is the one that was put there, and whose."""
    lock = root / FOLDER / "wheel.txt"
    if not lock.is_file():
        return
    match = _LOCKED.fullmatch(lock.read_text(encoding="utf-8", errors="replace"))
    path = root / FOLDER / (Path(match[1]).name if match else "")
    if match is None or not path.is_file():
        yield bad(f"{FOLDER}/wheel.txt names no wheel that is there", "run `speedrun upgrade`")
        return
    if hashlib.sha256(path.read_bytes()).hexdigest() != match[2]:
        yield bad(
            f"{path.name} is not the file that {FOLDER}/wheel.txt names", "run `speedrun upgrade`"
        )
        return
    yield known_release(path.name, path.read_bytes())


def _answers_queue(root: Path) -> bool:
    """Whether the workflow that checks is also started by a merge queue."""
    path = root / ".github/workflows" / file_of("verify")
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return re.search(r"^\s+merge_group:", text, re.MULTILINE) is not None


def _owners(root: Path) -> Line:
    if _owners_named(root):
        return good("CODEOWNERS covers .github and tracks")
    return bad(
        "nobody owns .github or tracks",
        "add lines `/.github/ @maintainers` and `/tracks/ @maintainers` to .github/CODEOWNERS",
    )


def _owners_named(root: Path) -> tuple[str, ...]:
    """Who owns both .github and tracks in the file that GitHub reads, the first of three places;
    empty if one of them has no owner."""
    for place in (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"):
        path = root / place
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            parts = (r"\.github", "tracks")
            found = [
                re.search(rf"^(?:/?{part}/?(?:\*\*?)?|\*)\s+(@\S.*)", text, re.MULTILINE)
                for part in parts
            ]
            names = [
                word for match in found if match for word in match[1].partition("#")[0].split()
            ]
            return tuple(dict.fromkeys(names)) if all(found) else ()
    return ()


def wandb_key(root: Path) -> Line | None:
    """Whether the W&B key of the environment works; None if no track accepts W&B runs, or if there
    is no key and the tracks cannot be read."""
    try:
        if not any("wandb" in track.accepts for track in load_tracks(root).values()):
            return None
    except TrackError:
        if not os.environ.get("WANDB_API_KEY"):
            return None  # the tracks have lines of their own; whether one needs a key is not known
    key = os.environ.get("WANDB_API_KEY", "")
    if not key:
        return bad(
            "no W&B key here: linked runs stay `unverifiable`, never green",
            "put WANDB_API_KEY into the environment `wandb-read` (and here, to check it), or take "
            '"wandb" out of `accepts` in the tracks that read no W&B runs',
        )
    from bot.evidence.wandb.client import Client, Patience
    from bot.evidence.wandb.errors import FetchError

    try:
        Client(key, os.environ.get("WANDB_BASE_URL"), Patience(tries=1)).open()
    except FetchError as error:
        return bad(
            f"the W&B key does not work: {plain(error.failure.message, 200)}",
            "make a new key for the bot's account and replace WANDB_API_KEY in `wandb-read`",
        )
    return good("the W&B key works")
