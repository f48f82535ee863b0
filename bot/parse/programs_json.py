"""The programs that a track accepts: the file that `[evidence] programs` names, as plain data.

    {"$schema": "...", "schema_version": 1, "about": "...",
     "orders": ["..."], "statements": ["..."]}

Digests alone, each in order: no line of anybody's program is in the file. `bot.importers.programs`
writes it.
"""

from __future__ import annotations

import functools as ft
import json
import re
from collections.abc import Iterable
from pathlib import Path

from bot.model.known import KnownPrograms
from bot.patterns import SLUG

SCHEMA = "https://speedrun-bot.github.io/schemas/programs.schema.json"
SCHEMA_VERSION = 1
_MOST_PARTS = 4
_DIGEST = re.compile(r"[0-9a-f]{20}")
_MAX_BYTES = 10_000_000


def read_programs(folder: Path, name: str) -> KnownPrograms:
    """The list `name` of the folder of the tracks; one that is not read if there is none, as beside
    a track file that was copied alone. Raises ValueError in one sentence that names the file."""
    parts = name.removesuffix(".json").split("/")
    plain = len(parts) <= _MOST_PARTS and all(map(SLUG.fullmatch, parts))
    if not plain or not name.endswith(".json"):
        raise ValueError(
            f"evidence.programs is {name!r}, expected a JSON file below tracks/, "
            'such as "programs/nanogpt.json"'
        )
    path = folder / name
    if not path.exists() and not path.is_symlink():
        return KnownPrograms(name)
    if not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{path}: evidence.programs names this file, and tracks/ does not hold it")
    return read_list(path, name)


def read_list(path: Path, name: str = "") -> KnownPrograms:
    """The list of a file; `name` is what a track calls it. Raises ValueError in one sentence that
    names the file."""
    stat = path.stat()
    return _read(path, name, stat.st_size, stat.st_mtime_ns)


@ft.lru_cache(maxsize=8)
def _read(path: Path, name: str, size: int, changed: int) -> KnownPrograms:
    """The list of one file; tracks that share it read it once."""
    try:
        if size > _MAX_BYTES:
            raise ValueError(f"has more than {_MAX_BYTES:,} bytes")
        data = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(data, dict):
            raise ValueError("is not a JSON object")
        if data.get("schema_version") != SCHEMA_VERSION:
            raise ValueError(
                f"schema_version is {data.get('schema_version')!r}, we know {SCHEMA_VERSION}"
            )
        about = str(data.get("about", ""))
        statements, orders = _digests(data, "statements"), _digests(data, "orders")
    except (ValueError, OSError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from error
    return KnownPrograms(name, statements, orders, True, about)


def written(programs: KnownPrograms, about: str) -> bytes:
    """The bytes of a list: the same for the same programs."""
    data = {
        "$schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "about": about,
        "orders": sorted(programs.orders),
        "statements": sorted(programs.statements),
    }
    return (json.dumps(data, indent=1) + "\n").encode()


def _digests(data: dict[str, object], key: str) -> frozenset[str]:
    values = data.get(key)
    if not isinstance(values, Iterable) or isinstance(values, str | dict):
        raise ValueError(f"{key} is {type(values).__name__}, expected a list of digests")
    odd = next((v for v in values if not isinstance(v, str) or not _DIGEST.fullmatch(v)), None)
    if odd is not None:
        raise ValueError(f"{key} holds {str(odd)[:40]!r}, expected 20 hexadecimal digits")
    return frozenset(str(v) for v in values)
