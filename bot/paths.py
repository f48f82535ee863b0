"""Where things lie: the files that ship with the program, a competition, the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

_HERE = Path(__file__).resolve().parent

WHEELS = ".github/speedrun"
"""Where a competition keeps the wheel that its workflows install."""


def schema_path(name: str) -> Path:
    """The path of a file of `schemas/`: beside `bot/` in a checkout, inside it in a wheel."""
    shipped = _HERE / "schemas" / name
    return shipped if shipped.exists() else _HERE.parent / "schemas" / name


def program_files() -> list[Path]:
    """Every file that decides what the program says: its code and its tables, in order."""
    schemas = schema_path("rules.json").parent
    return [*sorted(_HERE.rglob("*.py")), *sorted(schemas.glob("*.json"))]


def cache_folder() -> Path | None:
    """Where this user keeps what can be made again: SPEEDRUN_CACHE, empty for nowhere."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.environ.get("SPEEDRUN_CACHE", os.path.join(base, "speedrun"))
    return Path(folder) if folder else None


def build_folder(root: Path) -> Path:
    """Where a command builds by default, a folder that keeps itself out of git."""
    folder = root / "build"
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    return folder


def as_typed(path: Path) -> str:
    """A path as the user would type it: from the current folder, if it lies below that."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


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
