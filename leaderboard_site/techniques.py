"""Technique tags: what an entry says that it used, by a small controlled list."""

from __future__ import annotations

import functools as ft
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from leaderboard_site.model import Item

_PARTS = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")


class Technique(NamedTuple):
    """One tag and what in an entry's own title or folder stands for it."""

    id: str
    title: str
    words: frozenset[str]
    phrases: tuple[str, ...]
    anywhere: tuple[str, ...]


@ft.cache
def techniques() -> tuple[Technique, ...]:
    """The list, in the order of its file."""
    path = Path(__file__).parent / "techniques.toml"
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["technique"]
    return tuple(
        Technique(
            row["id"],
            row["title"],
            frozenset(row.get("words", ())),
            tuple(row.get("phrases", ())),
            tuple(row.get("anywhere", ())),
        )
        for row in rows
    )


def techniques_of(item: Item) -> tuple[Technique, ...]:
    """The tags of an entry: what its submission names, else what its title and folder say."""
    stated = item.about.raw.get("techniques") if item.about else None
    if isinstance(stated, list):
        return tuple(t for t in techniques() if t.id in stated)
    return _in_words(item.label, item.title)


@ft.lru_cache(maxsize=20_000)
def _in_words(label: str, title: str) -> tuple[Technique, ...]:
    parts = [p.lower() for words in (label, title) for p in _PARTS.findall(words)]
    whole = "-".join(parts)
    joined = {whole, whole.replace("-", "")}
    return tuple(
        t
        for t in techniques()
        if t.words.intersection(parts)
        or any(p in text for p in (*t.phrases, *t.anywhere) for text in joined)
    )
