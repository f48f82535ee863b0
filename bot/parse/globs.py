"""Globs over paths of a repository, `**` standing for any number of folders. A leaf."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath


@functools.lru_cache(maxsize=4096)
def matches(path: str, pattern: str) -> bool:
    """Whether a path matches a glob, `**` standing for any number of folders."""
    parts, wanted = path.strip("/").split("/"), pattern.strip("/").split("/")
    return _match_parts(parts, wanted)


def _match_parts(parts: list[str], wanted: list[str]) -> bool:
    if not wanted:
        return not parts
    if wanted[0] == "**":
        return any(_match_parts(parts[i:], wanted[1:]) for i in range(len(parts) + 1))
    return (
        bool(parts)
        and PurePosixPath(parts[0]).match(wanted[0])
        and _match_parts(parts[1:], wanted[1:])
    )


def only_match(paths: Iterable[str], globs: Mapping[str, Iterable[str]]) -> str | None:
    """The one name whose globs take in any of the paths; None for none, and for several."""
    listed = tuple(paths)
    found = [
        name
        for name, patterns in globs.items()
        if any(matches(path, pattern) for pattern in patterns for path in listed)
    ]
    return found[0] if len(found) == 1 else None
