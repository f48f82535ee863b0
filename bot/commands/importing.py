"""`speedrun import`: bring an existing competition over as submissions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import click

from bot.commands.root import Unusable
from bot.importers import Import, Origin, SourceError, in_repository, write
from bot.model.known import KnownPrograms
from bot.patterns import COMMIT, SLUG

SRC = click.Path(path_type=Path)


@click.group("import")
def import_() -> None:
    """Import an existing competition: facts and source links, without prose and code."""


@import_.command("marin")
@click.argument("src", type=SRC)
@click.option("--out", type=SRC, required=True, help="Repository to write submissions/ into.")
@click.option("--url", help="Web address of the source repository, if SRC does not say.")
@click.option("--commit", help="Commit of the source, if SRC is not a git checkout.")
def marin(src: Path, out: Path, url: str | None, commit: str | None) -> None:
    """Import a tree of Marin Speedrun results files into the track fineweb-edu.

    The newest version of each file is taken, older ones are listed as superseded; odd file names
    and rows of the site's runs.json are found too. What is unsure is said.
    """
    from bot.importers.marin import UPSTREAM, read_marin

    _finish(out, src, lambda: read_marin(src, _origin(url, commit, UPSTREAM)))


@import_.command("modded-nanogpt")
@click.argument("src", type=SRC)
@click.option("--out", type=SRC, required=True, help="Repository to write submissions/ into.")
@click.option(
    "--groups", type=SRC, help="JSON file that says which logs of a record belong to which arm."
)
@click.option("--url", help="Web address of the source repository, if SRC does not say.")
@click.option("--commit", help="Commit of the source, if SRC is not a git checkout.")
def modded_nanogpt(
    src: Path, out: Path, groups: Path | None, url: str | None, commit: str | None
) -> None:
    """Import a tree of record folders with their logs into the tracks nanogpt-*.

    Each log is trimmed to its validation points, clock and hardware. Subfolder and file name say
    which arm a log belongs to; if they do not, the log is left out and reported. How the programs
    measure that the logs begin with goes to tracks/programs/nanogpt.json, as digests.
    """
    from bot.importers.modded_nanogpt import UPSTREAM, read_records
    from bot.importers.programs import programs_of

    _finish(out, src, lambda: read_records(src, groups, _origin(url, commit, UPSTREAM)))
    found = programs_of([src])
    if found.orders:
        _write_programs(out / "tracks/programs/nanogpt.json", found, f"the records of {UPSTREAM}")


@import_.command("table")
@click.argument("file", type=SRC)
@click.option("--track", required=True, help="Track whose board shows the rows.")
@click.option("--out", type=SRC, required=True, help="Repository to write tracks/ into.")
@click.option("--heading", help="Words of the heading above the table, if the file has several.")
@click.option("--url", help="Web address of the source repository, if FILE does not say.")
@click.option("--commit", help="Commit of the source, if FILE is not in a git checkout.")
def table(
    file: Path, track: str, out: Path, heading: str | None, url: str | None, commit: str | None
) -> None:
    """Import the rows of a Markdown table as claims, where a competition has no evidence.

    The board shows them in the table's order, apart from the entries that rank; none of them is a
    record. Kept are numbers, days and people, and no descriptions.
    """
    from bot.files import write as write_file
    from bot.importers import origin_of
    from bot.importers.claims_table import read_claims

    origin = _origin(url, commit, "") or origin_of(file.parent, "")
    if not SLUG.fullmatch(track):
        raise click.UsageError(f"--track is {track!r}, expected the name of a track file")
    if not origin.url:
        raise click.UsageError("where is the table published? Add --url https://github.com/O/R")
    try:
        data = read_claims(file, heading, origin, in_repository(file))
    except SourceError as error:
        raise Unusable(str(error)) from error
    target = out / "tracks" / f"{track}.claimed.json"
    write_file(target, data)
    count = len(json.loads(data)["rows"])
    click.echo(f"{target}: {count} rows as claimed; they are shown on the board and never rank")
    if not target.with_name(f"{track}.toml").is_file():
        click.echo(f"missing   tracks/{track}.toml, and without it no board shows these rows")


@import_.command("programs")
@click.argument("sources", type=SRC, nargs=-1, required=True)
@click.option(
    "--into",
    type=SRC,
    required=True,
    help="List of a track, such as tracks/programs/my-track.json.",
)
def programs(sources: tuple[Path, ...], into: Path) -> None:
    """Add programs that you have accepted to the list of a track: how they measure, as digests.

    A source is a program, a log that begins with one, or a folder of such logs. A submission is
    compared with the list if its track names it under [evidence] programs.
    """
    from bot.importers.programs import programs_of

    try:
        found = programs_of(sources)
    except SourceError as error:
        raise Unusable(str(error)) from error
    _write_programs(into, found, "programs that the maintainers have accepted")


def _write_programs(target: Path, found: KnownPrograms, about: str) -> None:
    """Add programs to a list, which people and importers may have begun."""
    from bot.files import write as write_file
    from bot.importers.programs import together
    from bot.parse.programs_json import read_list, written

    try:
        before = read_list(target) if target.exists() else KnownPrograms("")
    except ValueError as error:
        raise Unusable(str(error)) from error
    now = together(before, found)
    write_file(target, written(now, before.about or about))
    click.echo(
        f"{target}: {len(now.orders)} programs, {len(now.orders) - len(before.orders)} new; "
        f"{len(now.statements)} statements, {len(now.statements) - len(before.statements)} new"
    )


def _origin(url: str | None, commit: str | None, upstream: str) -> Origin | None:
    """The origin that the options give, None if the source itself is to say."""
    if url and not re.fullmatch(r"https://[^\s/]+/\S+", url):
        raise click.UsageError(
            f"--url is {url!r}, expected an address such as https://github.com/OWNER/REPO"
        )
    if commit and not COMMIT.fullmatch(commit):
        raise click.UsageError(
            f"--commit is {commit!r}, expected 40 hexadecimal digits (`git rev-parse HEAD`)"
        )
    return Origin(url or upstream, commit) if url or commit else None


def _write_table(target: Path, data: bytes) -> None:
    """Write an official table; one that is there, and that people may have edited, stays."""
    from bot.files import write as write_file

    count = len(json.loads(data)["records"])
    if not target.exists():
        write_file(target, data)
        click.echo(f"{target}: {count} rows of the official table, on file or not")
    elif target.read_bytes() != data:
        click.echo(
            f"kept      {target}: it differs from the source's {count} rows; delete it "
            "and import again to take those"
        )


def _finish(out: Path, src: Path, read: Callable[[], Import]) -> None:
    """Read, write, and say what was written, left out and unsure."""
    if re.match(r"(?:https?|ssh|git):/|git@", str(src)):
        raise Unusable(f"{src} is a web address; `git clone` it and name the folder")
    try:
        result = read()
        changed, same = write(out, result)
    except SourceError as error:
        raise Unusable(str(error)) from error
    for path, why in result.skipped:
        click.echo(f"left out  {path}: {why}")
    for path, why in result.doubts:
        click.echo(f"unsure    {path}: {why}")
    click.echo(
        f"{len(result.submissions)} submissions under {out / 'submissions'}: {changed} written, "
        f"{same} unchanged; {len(result.skipped)} files left out, {len(result.doubts)} doubtful"
    )
    for track, data in result.tables:
        _write_table(out / "tracks" / f"{track}.records.json", data)
    for track in sorted({item.path.split("/")[0] for item in result.submissions}):
        if not (out / "tracks" / f"{track}.toml").is_file():
            objective = "pareto" if track == "fineweb-edu" else "target"
            click.echo(
                f"missing   tracks/{track}.toml, and without it no board shows these entries; "
                f"`speedrun init {out} --track {track} --objective {objective}` writes one"
            )
    click.echo(
        "list them under [submissions] in each track file, which only maintainers change: "
        'imported = ["submissions/TRACK/NAME", ...]; `imported` has no effect anywhere else'
    )
