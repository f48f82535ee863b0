"""Digests of what a page is made of, to know a page that need not be made again.

Equal inputs may give different bytes (two equal strings that are one object in one process and two
in another); then the page is made again, no harm done. Different inputs never give the same bytes.
"""

from __future__ import annotations

import dataclasses as dc
import functools as ft
import hashlib
import io
import operator
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bot import registry
from bot.model import verdict
from bot.model.official import OfficialRecord
from bot.model.submission import Claim, Contributor, RunSpec, Submission
from bot.rank import ranking
from leaderboard_site import model

HERE = Path(__file__).parent
CLASSES = (
    model.Item,
    model.Place,
    ranking.Entry,
    ranking.Progress,
    verdict.Verdict,
    verdict.Point,
    verdict.Finding,
    Submission,
    Contributor,
    RunSpec,
    Claim,
    OfficialRecord,
)
ENUMS = (registry.Status, registry.Grade, registry.Level)


def pickled(value: Any) -> bytes:
    """The bytes of a value made of the site's classes, for a digest; never to be loaded."""
    out = io.BytesIO()
    pickler = pickle.Pickler(out, protocol=5)
    pickler.dispatch_table = _table()
    pickler.dump(value)
    return out.getvalue()


@ft.cache
def code_digest() -> bytes:
    """A digest of this package: other code makes other pages."""
    total = hashlib.sha256()
    for path in sorted(HERE.rglob("*")):
        if path.suffix in (".py", ".html", ".toml"):
            total.update(path.read_bytes())
    return total.digest()


@ft.cache
def _table() -> dict[type, Callable[[Any], Any]]:
    # What a frozen dataclass does by itself to be pickled takes three times as long.
    table: dict[type, Callable[[Any], Any]] = {}
    for cls in CLASSES:
        fields = operator.attrgetter(*(f.name for f in dc.fields(cls)))
        table[cls] = ft.partial(_reduced, fields)
    return table | dict.fromkeys(ENUMS, _text)


def _reduced(fields: Callable[[Any], Any], value: Any) -> Any:
    return tuple, (fields(value),)


def _text(value: Any) -> Any:
    return str, (value.value,)
