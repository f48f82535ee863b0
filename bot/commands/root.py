"""What the commands share: the root of a competition, its tracks, and errors in one sentence."""

from __future__ import annotations

from pathlib import Path

import click

from bot.model.track import Track, TrackError
from bot.parse.track_toml import load_tracks
from bot.paths import find_root, shipped_root

ROOT = click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    help="Repository with tracks/ [default: the nearest folder at or above this one that has it].",
)


class Unusable(click.ClickException):
    """The command cannot be carried out; one sentence says why."""

    exit_code = 2


def root_of(root: Path | None, *near: Path, shipped: bool = False) -> Path:
    """The root that is given, else the one at or above the folders in `near`, else above here;
    with `shipped` at last the one of the program's checkout. Raises Unusable."""
    if root is None:
        found = (find_root(folder) for folder in (*near, Path.cwd()))
        root = next((place for place in found if place is not None), None)
        if root is None and shipped and (shipped_root() / "tracks").is_dir():
            root = shipped_root()
        if root is None:
            raise Unusable(
                f"no folder tracks/ in {Path.cwd()} or above it; name the root of a competition "
                "with --root"
            )
    if not (root / "tracks").is_dir():
        raise Unusable(f"{root} has no folder tracks/; name the root of a competition with --root")
    return root


def tracks_of(root: Path) -> dict[str, Track]:
    """The tracks. Raises Unusable for a broken one."""
    try:
        return load_tracks(root)
    except TrackError as error:
        raise Unusable(str(error)) from error


def track_of(root: Path, name: str) -> Track:
    """One track. Raises Unusable that names those there are."""
    tracks = tracks_of(root)
    if name not in tracks:
        raise Unusable(f'there is no track "{name}"; known tracks: {", ".join(tracks) or "none"}')
    return tracks[name]
