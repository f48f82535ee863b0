"""`speedrun init`, `doctor` and `upgrade`: what an organiser types."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.github.host.settings import load_settings
from bot.github.terminal import open_named, plainly, the_root
from bot.model.track import OBJECTIVES

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.github.host.source import Source

    Command = Callable[..., None]

_root = click.option(
    "--root", type=click.Path(exists=True, file_okay=False), help="Checkout of the default branch."
)


def _source_options(command: Command) -> Command:
    """`--bot` and `--wheel`: which bot the workflows install."""
    for option in (
        click.option(
            "--wheel",
            type=click.Path(exists=True, dir_okay=False),
            help="Wheel of the bot to install [default: the one that this program came from].",
        ),
        click.option(
            "--bot",
            metavar="OWNER/REPO@SHA",
            help="Run the bot of a repository, at one commit, instead of a wheel.",
        ),
    ):
        command = option(command)
    return command


def _source(bot: str | None, wheel: str | None, folder: Path) -> Source:
    from bot.github.host.source import from_wheel, pinned, split
    from bot.model.report import Settings

    if not bot:
        return from_wheel(Path(wheel) if wheel else None, folder)
    return pinned(bot, open_named(split(bot)[0], Settings()))


@click.command()
@click.argument("directory", type=click.Path(file_okay=False))
@click.option("--repo", metavar="OWNER/REPO", help="The repository that is set up.")
@click.option("--branch", default="", help="Its default branch [default: that of the clone].")
@click.option(
    "--adopt",
    metavar="GLOB",
    multiple=True,
    help='Existing entries: files, "experiments/**/*_results.json", or folders with their '
    'logs, "records/short/*/".',
)
@click.option(
    "--track",
    default="",
    help="Id of a track to write [default: my-track, if there is none yet].",
)
@click.option(
    "--objective",
    type=click.Choice(OBJECTIVES),
    help="What that track ranks by [default: target; pareto if results files are adopted].",
)
@click.option(
    "--reviewer",
    "reviewers",
    metavar="LOGIN",
    multiple=True,
    help="Who reviews: a login or ORGANISATION/TEAM [default: the owner of the repository].",
)
@_source_options
def init(
    directory: str,
    repo: str | None,
    branch: str,
    adopt: tuple[str, ...],
    track: str,
    objective: str | None,
    reviewers: tuple[str, ...],
    bot: str | None,
    wheel: str | None,
) -> None:
    """Set a competition up in a repository, new or with an existing layout.

    Writes workflows, forms, settings and one track; existing files are never touched.
    """
    from bot.github.host.initialise import InitError, Wishes, initialise

    with plainly():
        try:
            wishes = Wishes(
                _source(bot, wheel, Path(directory)),
                repo or "",
                branch,
                adopt,
                track,
                objective or "",
                reviewers,
            )
            for line in initialise(Path(directory), wishes):
                click.echo(line)
        except InitError as error:
            raise click.UsageError(str(error)) from error


@click.command()
@click.option("--repo", metavar="OWNER/REPO", help="Open the pull request here.")
@click.option("--write", is_flag=True, help="Change the files of this checkout instead.")
@_source_options
@_root
def upgrade(
    repo: str | None, write: bool, bot: str | None, wheel: str | None, root: str | None
) -> None:
    """Bring workflows, forms and the installed bot to this version, as a pull request.

    Tracks, settings and CODEOWNERS stay as they are.
    """
    from bot.github.host import upgrade as steps
    from bot.github.host.checkout import default_branch, origin
    from bot.github.host.releases import wheel_in

    with plainly():
        place = the_root(root)
        name = repo or (origin(place) or ("", ""))[1]
        if not name:
            raise click.UsageError("which repository? This clone has no remote; give --repo")
        source = _source(bot, wheel, place)
        wheel_line = wheel_in(source.files)
        if wheel_line is not None:
            click.echo(wheel_line.text)
        if not write:
            click.echo(steps.propose(open_named(name, load_settings(place)), place, source))
            return
        files = steps.wanted(place, name, default_branch(place), source)
        lines = list(steps.write(place, files))
        click.echo("\n".join(lines) or "nothing to change: this version is installed")


@click.command()
@click.option("--repo", metavar="OWNER/REPO", help="Also look at the repository on GitHub.")
@click.option("--watch", is_flag=True, help="Look for unanswered pull requests and failing keys.")
@click.option(
    "--report",
    type=click.Path(exists=True, file_okay=False),
    help="Keep the one audit issue up to date with the files in this folder.",
)
@_root
def doctor(repo: str | None, watch: bool, report: str | None, root: str | None) -> None:
    """Check secrets, permissions, rules, Pages, workflows and keys; say what to do.

    Exit: 0 all is well, 1 something is wrong, 3 something could not be seen.
    """
    from bot.github.host.doctor import examine
    from bot.github.host.watch import keep_issue, unanswered

    with plainly():
        place = the_root(root)
        settings = load_settings(place)
        if repo is None and (report or watch):
            raise click.UsageError(f"--{'report' if report else 'watch'} needs --repo OWNER/REPO")
        if report and repo:
            click.echo(keep_issue(open_named(repo, settings), Path(report)))
            return
        target = open_named(repo, settings) if repo else None
        if watch and target:
            look = unanswered(target, settings, place)
        else:
            look = examine(place, target, settings)
    for line in look:
        click.echo(line.text)
    seen = 3 if any(line.unknown for line in look) else 0
    sys.exit(1 if any(line.bad for line in look) else seen)
