"""From a `Site` to plain files: what mkdocs reads, the bodies of entry pages, the API.

    generate(site, out)

writes `out/docs` (for mkdocs), `out/bodies` (contents of the entry pages, put into the theme by
`leaderboard_site.build`) and `out/static` (copied beside the built pages). The files depend on
`site` alone. A file that would not change is not written, and what no longer belongs is removed.
"""

from __future__ import annotations

import functools as ft
import hashlib
import json
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from leaderboard_site import cards, feeds, tables
from leaderboard_site.model import Item, Site, TrackBoard
from leaderboard_site.pages.docs import doc_files
from leaderboard_site.pages.entry import (
    Lineage,
    entry_context,
    entry_page,
    heading,
    surroundings,
)
from leaderboard_site.pages.home import home_page
from leaderboard_site.pages.others import other_files
from leaderboard_site.pages.rules import rule_files
from leaderboard_site.pages.track import track_files
from leaderboard_site.text import clean

HERE = Path(__file__).parent
KEYS = "keys.json"
SHELL = "entries/entry/shell.md"
"""A page as deep as an entry's, whose built form is the frame of all of them."""


class Writer:
    """Writes files below a folder, only where their bytes change; `close` removes the rest."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.written = 0
        self._old = {
            os.path.join(folder, name) for folder, _, names in os.walk(self.root) for name in names
        }
        self._folders: set[str] = set()

    def put(self, name: str, data: str | bytes) -> None:
        """Write one file."""
        path = os.path.join(self.root, name)
        blob = data.encode() if isinstance(data, str) else data
        if path in self._old:
            self._old.discard(path)
            with open(path, "rb") as file:
                if file.read() == blob:
                    return
        folder = os.path.dirname(path)
        if folder not in self._folders:
            os.makedirs(folder, exist_ok=True)
            self._folders.add(folder)
        with open(path, "wb") as file:
            file.write(blob)
        self.written += 1

    def keep(self, name: str) -> bool:
        """Leave a file of an earlier time as it is; whether it is there."""
        path = os.path.join(self.root, name)
        if path not in self._old:
            return False
        self._old.discard(path)
        return True

    def close(self) -> None:
        """Remove the files of an earlier time that were not written again, and empty folders."""
        for path in self._old:
            os.unlink(path)
        for folder in sorted({os.path.dirname(p) for p in self._old}, reverse=True):
            while folder != self.root and not os.listdir(folder):
                os.rmdir(folder)
                folder = os.path.dirname(folder)


def generate(site: Site, out: Path) -> int:
    """Write everything below `out`; the number of files whose bytes changed."""
    docs, bodies, static = (Writer(out / name) for name in ("docs", "bodies", "static"))
    for name, data in _docs(site):
        docs.put(name, data)
    for name, data in _static(site):
        static.put(name, data)
    known = read_keys(out / KEYS)
    keys: dict[str, str] = {}
    for name, key, make in _entries(site):
        keys[name] = key
        page, file = f"{name}.html", f"api/v1/entries/{name}.json"
        if known.get(name) == key and bodies.keep(page) and static.keep(file):
            continue
        body, data = make()
        bodies.put(page, body)
        static.put(file, data)
    for writer in (docs, bodies, static):
        writer.close()
    (out / KEYS).write_text(tables.dumps(keys), encoding="utf-8")
    return docs.written + bodies.written + static.written


def read_keys(path: Path) -> dict[str, str]:
    """Entry -> digest of all that its files were made of; empty where there is no such file."""
    if not path.is_file():
        return {}
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


@ft.cache
def _code_digest() -> bytes:
    """A digest of this package: other code makes other pages."""
    total = hashlib.sha256()
    for path in sorted(HERE.rglob("*")):
        if path.suffix in (".py", ".html", ".toml"):
            total.update(path.read_bytes())
    return total.digest()


def _docs(site: Site) -> Iterator[tuple[str, str | bytes]]:
    yield "index.md", home_page(site)
    for board in site.tracks.values():
        for name, data in track_files(site, board):
            yield name, data if isinstance(data, str | bytes) else tables.dumps(data)
    yield from rule_files(site)
    yield from doc_files(site)
    yield from other_files(site)
    yield SHELL, _shell()
    yield "assets/site/card.png", cards.site_card()
    for path in sorted((HERE / "theme" / "assets").rglob("*")):
        if path.is_file():
            yield f"assets/site/{path.relative_to(HERE / 'theme' / 'assets')}", path.read_bytes()


def _shell() -> str:
    # The tokens stand where the theme prints title and description; see `build.frame_of`.
    head = [
        "---",
        "title: SPEEDRUN-TITLE",
        "description: SPEEDRUN-DESCRIPTION",
        "hide:",
        "  - navigation",
        "  - toc",
        "---",
        "",
    ]
    return "\n".join(head) + "\n<div>SPEEDRUN-BODY<h1>SPEEDRUN</h1></div>\n"


def _entries(site: Site) -> Iterator[tuple[str, str, Callable[[], tuple[str, str]]]]:
    """Each entry as (name, key, what makes its body and its JSON).

    The key is a digest of all that the two depend on, so that an entry that is as it was costs
    nothing: pickling gives the same bytes for data made the same way, and where it does not the
    entry is made again, no harm done.
    """
    lineage = Lineage(site)
    common = pickle.dumps((_code_digest(), site.url, site.repository))
    for board in site.tracks.values():
        pictured = {i.path for i in cards.card_holders(board)}
        shared = hashlib.sha256(common + pickle.dumps((board.track, entry_context(board))))
        for item in board.items.values():
            card = f"cards/{board.track.id}/{item.slug}.png" if item.path in pictured else None
            near = surroundings(site, board, item, lineage)
            total = shared.copy()
            total.update(pickle.dumps((item, card, near)))
            make = ft.partial(_make_entry, site, board, item, lineage, card)
            yield f"{board.track.id}/{item.slug}", total.hexdigest(), make


def _make_entry(
    site: Site, board: TrackBoard, item: Item, lineage: Lineage, card: str | None
) -> tuple[str, str]:
    """Body and JSON. The first line of a body is JSON {title, description, image}, the rest is
    HTML."""
    head: dict[str, Any] = {
        "title": clean(item.label, 100),
        "description": clean(f"{heading(item)} {board.track.title}", 200),
    }
    if card:
        head["image"] = card
    packed, digest = tables.entry_data(item)
    body = entry_page(site, board, item, lineage, digest, card)
    return f"{json.dumps(head)}\n{body}", tables.entry_json(site, board, item, packed, digest)


def _static(site: Site) -> Iterator[tuple[str, str | bytes]]:
    yield from tables.api_files(site)
    yield from feeds.feed_files(site)
    for board in site.tracks.values():
        for item in cards.card_holders(board):
            yield f"cards/{board.track.id}/{item.slug}.png", cards.draw_card(board, item)
