"""What the commands on GitHub share: the checkout, the connection, failures as one sentence."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.commands.root import root_of

if TYPE_CHECKING:
    from bot.github.api.client import Repo
    from bot.model.report import Settings

TOKEN = "GITHUB_TOKEN"


@contextlib.contextmanager
def plainly() -> Iterator[None]:
    """Failures as one sentence on standard error; usage 2, our side 3."""
    from bot.github.api.branches import Conflict
    from bot.github.api.client import GitHubTrouble
    from bot.github.host.settings import SettingsError
    from bot.github.host.source import SourceError
    from bot.github.pull_request.evaluate import NotOpen
    from bot.github.pull_request.record import NotRecorded
    from bot.github.pull_request.report_file import ReportError
    from bot.model.track import TrackError
    from bot.render.comment import TemplateProblem

    try:
        yield
    except (ReportError, NotOpen, SettingsError, SourceError, TrackError, TemplateProblem) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    except (GitHubTrouble, NotRecorded, Conflict) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(3)


def the_root(root: str | None) -> Path:
    """The checkout of the default branch."""
    return root_of(Path(root) if root else None)


def open_named(repo: str, settings: Settings) -> Repo:
    """The connection with the token of the environment."""
    from bot.github.api.client import api_url, checked_name, connect, open_repo

    token = os.environ.get(TOKEN, "").strip()
    try:
        checked_name(repo)
        if not token:
            raise click.UsageError(f"{TOKEN} is not set; put a token with access to {repo} into it")
        return open_repo(connect(token, url=api_url(settings)), repo, settings.login)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
