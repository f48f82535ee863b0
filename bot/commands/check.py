"""`speedrun check` and `speedrun explain`: the bot's verdict on this machine, and its rules."""

from __future__ import annotations

import datetime as dt
import functools as ft
import inspect
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.commands.root import ROOT, Unusable, root_of, tracks_of
from bot.model.case import Context, Neighbour
from bot.model.submission import LOG_ENDINGS, Folder
from bot.model.track import Track
from bot.model.verdict import exit_code
from bot.parse.folder import Parsed, ReadError, parse_submission, read_path
from bot.parse.submission_json import SUBMISSION
from bot.paths import cache_folder
from bot.render.place import place
from bot.render.untrusted import plain

if TYPE_CHECKING:
    from bot.render.answer import Answer
    from bot.repository import Repository


FORMATS = ("text", "json", "markdown", "github")


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--track", "track_id", help="The track to judge by, where the path does not tell.")
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
        raise Unusable(f"{root / 'tracks'} holds no track file; `speedrun init` writes one")
    read, problems = _read([Path(p) for p in paths], tracks, root, track_id)
    judged = _verdicts(read, root, tracks, offline)
    if judged:
        _print(judged, form, verbose, root)
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
    the submission folders below it. Raises ReadError where there is nothing to check."""
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
            f"{plain(str(path), 200)}: nothing to check there; a submission holds submission.json, "
            "a results file or logs, and no folder between; speedrun new TRACK/NAME --log FOLDER "
            "writes one"
        )
    return below or [path]


def _verdicts(
    read: Sequence[tuple[Folder, Parsed]], root: Path, tracks: dict[str, Track], offline: bool
) -> list[Answer]:
    """The answer to each."""
    if all(folder.bare for folder, _ in read) and len(read) < 2:
        return [_verdict(folder, parsed, offline, (), None) for folder, parsed in read]
    from bot.repository import Repository

    repository = Repository(root, tracks, cache=cache_folder())
    neighbours = _neighbours(read, repository)
    return [
        _verdict(folder, parsed, offline, neighbours[i], repository)
        for i, (folder, parsed) in enumerate(read)
    ]


def _holds(root: Path, folder: Folder, parsed: Parsed) -> bool:
    """Whether a folder is an imported entry of the board already: only there `imported` counts,
    as in the bot's answer to a pull request."""
    from bot.parse.git_tree import on_main

    return parsed.submission.imported is not None and on_main(root, folder.path)


def _verdict(
    folder: Folder,
    parsed: Parsed,
    offline: bool,
    neighbours: tuple[Neighbour, ...],
    repository: Repository | None,
) -> Answer:
    from bot.render.answer import Where, answer
    from bot.verify import verify_parsed

    today = dt.datetime.now(dt.UTC).date()
    where = Where.FILE if folder.bare else Where.FOLDER
    if folder.bare or parsed.track is None or repository is None:
        context = Context(tuple(neighbours), today=today)
        alone = verify_parsed(parsed, folder, context=context)
        words = None if parsed.track is None else place(alone, parsed.track, None)
        return answer(alone, words, where)
    from bot.evidence.gather import ENVIRONMENT, gather
    from bot.rank.ranking import place_of, standing, why_not

    board = repository.board(parsed.track.id)
    merged, known = _holds(repository.root, folder, parsed), standing(board, folder.path)
    verdict = verify_parsed(
        parsed,
        folder,
        context=Context(neighbours=neighbours, today=today, merged=merged, standing=known),
        gather=ft.partial(gather, online=None if offline else ENVIRONMENT),
    )
    stands = place_of(board, verdict)
    why = why_not(board, verdict) if stands is None else None
    words = place(verdict, board.track, stands, record_cost=known.record_cost, why_not=why)
    return answer(verdict, words, Where.BOARD if merged else where)


def _neighbours(
    read: Sequence[tuple[Folder, Parsed]], repository: Repository
) -> list[tuple[Neighbour, ...]]:
    """What each path is compared with: the other paths, and for folders the repository."""
    folders = [folder for folder, _ in read]
    from bot.evidence.neighbours import NAMES, as_neighbour
    from bot.repository import same_file

    given = [
        as_neighbour(
            item.submission,
            item.submission.track,
            item.results,
            folder,
            item.track.keys if item.track else NAMES,
        )
        for folder, item in read
    ]
    stored = repository.neighbours if any(not f.bare for f in folders) else ()
    paths = {folder.path for folder in folders}
    return [
        tuple(n for j, n in enumerate(given) if j != i and not same_file(n.path, folder.path))
        + (() if folder.bare else tuple(n for n in stored if n.path not in paths))
        for i, folder in enumerate(folders)
    ]


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
    """Say what a rule checks, why, and how to satisfy it; without RULE, list them all."""
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
                f" Rules with this word: {', '.join(alike)}."
                if alike
                else " `speedrun explain` lists them."
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
