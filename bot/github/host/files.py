"""What `speedrun init` writes below `.github/`, made from the templates beside this module.

The templates are those of this project's own repository, so each is valid as it stands; what
differs from one repository to the next is replaced, and a text that is not there is an error.
"""

from __future__ import annotations

import dataclasses as dc
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from bot.github.api.workflows import WORKFLOWS, file_of
from bot.github.host.source import HOME, OWN, Source
from bot.model.report import Settings
from bot.model.track import Track

TEMPLATES = Path(__file__).resolve().parent / "templates"
FORMS = ("ISSUE_TEMPLATE/submission.yml", "ISSUE_TEMPLATE/preregistration.yml")
AS_THEY_ARE = ("ISSUE_TEMPLATE/config.yml", "pull_request_template.md")
_DEFAULT = Settings()
_SCALAR = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")


@dc.dataclass(frozen=True, slots=True)
class Target:
    """The repository that the files are for."""

    repo: str
    branch: str
    source: Source
    settings: Settings = _DEFAULT
    titles: tuple[str, ...] = ()
    """Titles of the tracks that a form offers."""


def titles_of(tracks: Iterable[Track]) -> tuple[str, ...]:
    """What the form offers: tracks that take W&B links, by title."""
    return tuple(dict.fromkeys(t.title for t in tracks if "wandb" in t.accepts))


def github_files(target: Target) -> Mapping[str, bytes]:
    """Path -> content of the workflows, the forms and the bot that they install."""
    return {**{name: text.encode() for name, text in _texts(target)}, **target.source.files}


def _texts(target: Target) -> Iterator[tuple[str, str]]:
    for name in WORKFLOWS:
        if name != "pages" or target.settings.pages:
            text = (TEMPLATES / "workflows" / file_of(name)).read_text(encoding="utf-8")
            yield f".github/workflows/{file_of(name)}", adapted(text, target)
    options = "".join(f"        - {json.dumps(t, ensure_ascii=False)}\n" for t in target.titles)
    for name in FORMS:
        text = (TEMPLATES / name).read_text(encoding="utf-8")
        yield f".github/{name}", _replaced(text, "        - TRACKS\n", options or _NO_TRACK)
    for name in AS_THEY_ARE:
        yield f".github/{name}", (TEMPLATES / name).read_text(encoding="utf-8")


_NO_TRACK = '        - "The only track"\n'


def adapted(text: str, target: Target) -> str:
    """A workflow for the target: its name in the guards, its branch, runner, schedule and bot."""
    settings = target.settings
    branch = target.branch if _SCALAR.fullmatch(target.branch) else json.dumps(target.branch)
    text = _replaced(text, f"'{HOME}'", f"'{target.repo}'")
    text = text.replace("branches: [main]", f"branches: [{branch}]")
    text = text.replace(f"runs-on: {_DEFAULT.runs_on}", f"runs-on: {settings.runs_on}")
    text = text.replace(f'"{_DEFAULT.schedule}"', f'"{settings.schedule}"')
    return _replaced(text, f"uses: {OWN}", f"uses: {target.source.uses}")


def _replaced(text: str, old: str, new: str) -> str:
    if old not in text:
        raise AssertionError(f"a template does not hold {old!r}")
    return text.replace(old, new)
