"""`speedrun credits`: who did what, for people, for all-contributors and for CITATION.cff."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bot import files as disk
from bot.commands.board import SNAPSHOTS, boards, snapshots_of
from bot.commands.root import ROOT, root_of, track_of, tracks_of
from bot.parse.folder import ReadError, parse_submission, read_path
from bot.rank.credits import FOUND, REPRODUCED, Tally, tally
from bot.render.untrusted import plain
from bot.repository import submission_folders

_KINDS = {
    "idea": "ideas",
    "code": "code",
    "runs": "data",
    "writing": "doc",
    "review": "review",
    "pr": "maintenance",
    REPRODUCED: "test",
    FOUND: "bug",
}
"""What all-contributors calls our roles."""
_WORDS = {REPRODUCED: "reproductions", FOUND: "mistakes found"}


@click.command()
@click.option("--track", "only", metavar="TRACK", help="One competition alone [default: all].")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "all-contributors", "cff"]),
    default="text",
    show_default=True,
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
@SNAPSHOTS
@ROOT
def credits(
    only: str | None, form: str, out: Path | None, snapshots: str | None, root: Path | None
) -> None:
    """List everyone that a submission names, and what each did.

    `--format all-contributors --out .all-contributorsrc` writes the list that the All Contributors
    bot reads; `--format cff --out CITATION.cff` writes GitHub's citation file.
    """
    place = root_of(root)
    tracks = tracks_of(place) if only is None else {only: track_of(place, only)}
    with snapshots_of(place, snapshots) as kept:
        found = boards(place, kept, only=only).boards.values()
    states = {path: state for board in found for path, state in board.states.items()}
    submissions = []
    for path, name in submission_folders(place, tracks):
        if only in (None, name):
            try:
                submissions.append(
                    parse_submission(read_path(path, place), tracks, name).submission
                )
            except ReadError as error:
                click.echo(f"left out: {error}", err=True)
    text = _FORMS[form](tally(submissions, states), place.resolve().name)
    if out is None:
        click.echo(text, nl=False)
        return
    disk.write(out, text)
    click.echo(f"written: {out}")


def _text(people: Sequence[Tally], project: str) -> str:
    return "".join(
        plain(
            f"@{p.github}{f' ({p.name})' if p.name else ''}: "
            + ", ".join(f"{_WORDS.get(role, role)} {n}" for role, n in p.done.items())
            + f"; on {', '.join(p.tracks)}",
            400,
        )
        + "\n"
        for p in people
    )


def _json(people: Sequence[Tally], project: str) -> str:
    rows = [{"github": p.github, "name": p.name, "done": dict(p.done), "tracks": list(p.tracks)}
            for p in people]  # fmt: skip
    return _dumped({"schema_version": 1, "people": rows})


def _all_contributors(people: Sequence[Tally], project: str) -> str:
    rows = [
        {
            "login": p.github,
            "name": p.name or p.github,
            "profile": f"https://github.com/{p.github}",
            "contributions": [_KINDS[role] for role in p.done],
        }
        for p in people
    ]
    return _dumped({"projectName": project, "files": ["README.md"], "contributors": rows})


def _cff(people: Sequence[Tally], project: str) -> str:
    """The Citation File Format 1.2.0. A JSON string is a YAML one."""
    lines = [
        "cff-version: 1.2.0",
        f"title: {json.dumps(project, ensure_ascii=False)}",
        "message: Please cite this competition and the people of the entries that you build on.",
        "type: software",
        "authors:",
    ]
    for p in people:
        lines.append(f"  - name: {json.dumps(plain(p.name or p.github, 120), ensure_ascii=False)}")
        lines.append(f"    website: https://github.com/{plain(p.github, 60)}")
    if not people:
        lines[-1:] = ["authors:", "  - name: The participants"]
    return "\n".join(lines) + "\n"


def _dumped(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


_FORMS: Mapping[str, Callable[[Sequence[Tally], str], str]] = {
    "text": _text,
    "json": _json,
    "all-contributors": _all_contributors,
    "cff": _cff,
}
