"""Where the files that ship with the program lie, in a checkout and in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent


def schema_path(name: str) -> Path:
    """The path of a file of `schemas/`: beside `bot/` in a checkout, inside it in a wheel."""
    shipped = _HERE / "schemas" / name
    return shipped if shipped.exists() else _HERE.parent / "schemas" / name


def shipped_root() -> Path:
    """The competition that comes with a checkout of the program; a wheel has none there."""
    return _HERE.parent


def find_root(start: Path) -> Path | None:
    """The nearest folder at or above `start` that holds `tracks/`, or None.

    The search ends at the root of a repository (a folder with `.git`): a `tracks/` further up
    belongs to something else.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / "tracks").is_dir():
            return folder
        if (folder / ".git").exists():
            return None
    return None
