"""Where the files that ship with the program lie, in a checkout and in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent


def schema_path(name: str) -> Path:
    """The path of a file of `schemas/`: beside `bot/` in a checkout, inside it in a wheel."""
    shipped = _HERE / "schemas" / name
    return shipped if shipped.exists() else _HERE.parent / "schemas" / name


def find_root(start: Path) -> Path | None:
    """The nearest folder at or above `start` that holds `tracks/`, or None."""
    start = start.resolve()
    return next((p for p in (start, *start.parents) if (p / "tracks").is_dir()), None)
