"""What the commands on a whole repository share: its snapshots and its boards."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.commands.root import tracks_of
from bot.model.track import TrackError
from bot.parse.git_tree import GitError, descends, export, resolve
from bot.parse.track_toml import load_tracks
from bot.rank.audit import Boards, boards_of

if TYPE_CHECKING:
    from bot.evidence.snapshot import Snapshots

EVIDENCE_FOLDER = "evidence"
EVIDENCE_REFS = ("evidence", "origin/evidence")
"""Where snapshots are by default: a checkout of the branch that the bot appends to,
below the root, or that branch itself: the newer of the local one and the fetched one."""

SNAPSHOTS = click.option(
    "--snapshots",
    metavar="DIR|REF",
    help="Snapshots of linked runs: a folder or a git ref [default: evidence/ or that branch].",
)


def many(count: int, what: str) -> str:
    """`1 place`, `2 places`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def default_snapshots(root: Path) -> str | None:
    """Where the snapshots of a clone are by default: a folder or a ref, if there is any."""
    if (root / EVIDENCE_FOLDER).is_dir():
        return str(root / EVIDENCE_FOLDER)
    commits: dict[str, str] = {}
    for ref in EVIDENCE_REFS:
        with contextlib.suppress(GitError):
            commits[ref] = resolve(root, ref)
    if len(set(commits.values())) < 2:
        return next(iter(commits), None)
    local, fetched = EVIDENCE_REFS
    used = local if descends(root, commits[local], commits[fetched]) else fetched
    click.echo(
        f"the branches {local} and {fetched} of this clone differ: {used} is used; name another "
        "folder or ref to use that",
        err=True,
    )
    return used


@contextlib.contextmanager
def snapshots_of(root: Path, where: str | None) -> Iterator[Snapshots | None]:
    """The snapshots of a folder or a ref; None if nothing is named and no branch has any."""
    from bot.evidence.snapshot import Snapshots

    where = default_snapshots(root) if where is None else where
    if where is None:
        yield None
        return
    if Path(where).is_dir():
        yield Snapshots(Path(where))
        return
    with tempfile.TemporaryDirectory(prefix="speedrun-") as out:
        try:
            export(root, resolve(root, where), ["."], Path(out))
        except GitError as error:
            raise click.UsageError(f"--snapshots: {error}") from error
        yield Snapshots(Path(out))


def export_competition(root: Path, revision: str, out: Path) -> None:
    """Write tracks and submissions of a revision below `out`. Raises GitError or TrackError."""
    export(root, revision, ["tracks"], out)
    (out / "tracks").mkdir(exist_ok=True)
    folders = {"submissions"}
    for track in load_tracks(out).values():
        folders |= {pattern.split("/")[0] for pattern in track.globs}
    wild = any(set(name) & set("*?[") for name in folders)
    export(root, revision, ["."] if wild else sorted(folders), out)


def boards(
    root: Path, snapshots: Snapshots | None, *, only: str | None = None, jobs: int | None = None
) -> Boards:
    """Every verdict and board of a repository, or of one track."""
    from bot.repository import verify_repository

    tracks = tracks_of(root)
    if only is not None:
        tracks = {name: track for name, track in tracks.items() if name == only}
    verdicts = verify_repository(root, snapshots=snapshots, jobs=jobs, only=only)
    try:
        return boards_of(verdicts, tracks)
    except TrackError as error:
        raise click.UsageError(str(error)) from error
