"""`speedrun check` and `speedrun explain`: the bot's verdict on this machine, and its rules."""

from __future__ import annotations

import inspect
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.commands.root import ROOT, Unusable, root_of, tracks_of
from bot.local import Local
from bot.model.submission import LOG_ENDINGS, Folder
from bot.model.track import Track
from bot.model.verdict import exit_code
from bot.parse.folder import Parsed, ReadError, parse_submission, read_path
from bot.parse.listing import loose
from bot.parse.submission_json import SUBMISSION
from bot.render.untrusted import plain

if TYPE_CHECKING:
    from bot.render.answer import Answer


FORMATS = ("text", "json", "markdown", "github")


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--track", "track_id", help="The track to judge by, if the path does not say.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="What to print.",
)
@click.option("--offline", is_flag=True, help="Do not ask W&B about linked runs.")
@click.option("-v", "--verbose", is_flag=True, help="Show all findings, numbers and runs.")
@ROOT
def check(
    paths: tuple[str, ...],
    track_id: str | None,
    form: str,
    offline: bool,
    verbose: bool,
    root: Path | None,
) -> None:
    """Verify submission folders or results files, as the bot would.

    A file is judged alone; a folder is also compared with the submissions of the repository. Exit
    status: 0 verified or needs review, 1 needs changes or more runs, 3 not checked yet for a reason
    on our side, 2 nothing could be checked.
    """
    root = root_of(root, Path(paths[0]).parent, shipped=True)
    tracks = tracks_of(root)
    if not tracks:
        raise Unusable(f"{root / 'tracks'} has no track file; `speedrun init` writes one")
    read, problems = _read([Path(p) for p in paths], tracks, root, track_id)
    judged = Local(root, tracks, offline).answers(read)
    if judged:
        _print(judged, form, verbose, root)
    for line in filter(None, (loose(f, p.submission) for f, p in read if form == "text")):
        click.echo(f"Note: {line}.", err=True)
    for problem in problems:
        click.echo(f"Error: {problem}", err=True)
    sys.exit(2 if problems else exit_code(item.verdict for item in judged))


def _read(
    paths: Sequence[Path], tracks: dict[str, Track], root: Path, track_id: str | None
) -> tuple[list[tuple[Folder, Parsed]], list[str]]:
    """What can be checked, and a sentence for each path that cannot."""
    read, problems = [], []
    for path in paths:
        try:
            found = (
                [read_path(path, root)]
                if not path.is_dir()
                else [read_path(inner, root) for inner in _inside(path)]
            )
            read += [(folder, parse_submission(folder, tracks, track_id)) for folder in found]
        except (ReadError, OSError) as error:
            problems.append(str(error))
    return read, problems


def _inside(path: Path) -> list[Path]:
    """The submissions that a folder stands for: itself, each of several results files in it, or
    the submission folders below it. Raises ReadError if there is nothing to check."""
    if path.is_symlink():
        return [path]
    names = sorted(entry.name for entry in path.iterdir() if entry.is_file())
    results = [name for name in names if "results" in name and ".json" in name]
    if SUBMISSION in names or len(results) == 1:
        return [path]
    if results:
        return [path / name for name in results]
    from bot.repository import folders_below

    below = list(folders_below(path))
    if not below and not any(name.lower().endswith(LOG_ENDINGS) for name in names):
        raise ReadError(
            f"{plain(str(path), 200)}: nothing to check; a submission folder has submission.json, "
            "a results file or logs directly in it (`speedrun new TRACK/NAME --log FOLDER` writes "
            "one)"
        )
    return below or [path]


def _print(answers: Sequence[Answer], form: str, verbose: bool, root: Path) -> None:
    from bot.render import terminal

    verdicts = [item.verdict for item in answers]
    if form == "json":
        click.echo(terminal.to_json(verdicts))
    elif form == "markdown":
        from bot.github.host.settings import load_settings
        from bot.render.comment import to_markdown

        settings = load_settings(root)
        click.echo("\n---\n\n".join(to_markdown(item, settings) for item in answers))
    elif form == "github":
        for item in answers:
            click.echo("\n".join(terminal.to_annotations(item)))
    else:
        colour = sys.stdout.isatty()
        width = min(100, shutil.get_terminal_size().columns)
        texts = (
            terminal.to_text(item, verbose=verbose, colour=colour, width=width) for item in answers
        )
        click.echo("\n\n".join(texts))
        if len(verdicts) > 1:
            click.echo(f"\n{terminal.summary_line(verdicts)}")


@click.command()
@click.argument("rule", required=False)
def explain(rule: str | None) -> None:
    """Explain what a rule checks, why, and how to satisfy it; without RULE, list all rules."""
    from bot.registry import catalogue
    from bot.rules import RULES

    rules = catalogue()
    if rule is None:
        _list_rules()
        return
    if rule not in rules:
        from bot.model.values import near_key

        near = near_key(rule, set(rules))
        alike = [name for name in rules if rule and rule.lower() in name]
        hint = (
            f' Did you mean "{near}"?'
            if near
            else (
                f" Rules that contain it: {', '.join(alike)}."
                if alike
                else " `speedrun explain` lists all rules."
            )
        )
        raise Unusable(f'there is no rule "{rule[:60]}".{hint}')
    entry = rules[rule]
    click.echo(click.style(rule, bold=True) + f"  ({entry['level']}, family {entry['family']})")
    check_function = RULES.get(rule)
    page = inspect.getdoc(check_function) if check_function is not None else None
    click.echo(f"\n{page or entry['title']}")


def _list_rules() -> None:
    from bot.registry import catalogue

    family = None
    for name, entry in catalogue().items():
        if entry["family"] != family:
            family = entry["family"]
            click.echo(click.style(f"\n{family}" if family != "text" else family, bold=True))
        click.echo(f"  {name:32} {entry['level']:8} {entry['title']}")
