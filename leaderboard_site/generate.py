"""From a `Site` to plain files: what mkdocs reads, the bodies of entry pages, the API.

    generate(site, out)

writes `out/docs` (for mkdocs), `out/bodies` (contents of the entry pages, put into the theme by
`leaderboard_site.build`) and `out/static` (copied beside the built pages). The files depend on
`site` alone. A file that would not change is not written, and what no longer belongs is removed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leaderboard_site import cards, feeds, tables
from leaderboard_site.model import Site
from leaderboard_site.pages.docs import doc_files
from leaderboard_site.pages.entry import Lineage, entry_page, heading
from leaderboard_site.pages.home import home_page
from leaderboard_site.pages.others import other_files
from leaderboard_site.pages.rules import rule_files
from leaderboard_site.pages.track import track_files
from leaderboard_site.text import clean

HERE = Path(__file__).parent
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
    for name, body, data in _entries(site):
        bodies.put(f"{name}.html", body)
        static.put(f"api/v1/entries/{name}.json", data)
    for writer in (docs, bodies, static):
        writer.close()
    return docs.written + bodies.written + static.written


def _docs(site: Site) -> Iterator[tuple[str, str | bytes]]:
    yield "index.md", home_page(site)
    for board in site.tracks.values():
        for name, data in track_files(site, board):
            yield name, data if isinstance(data, str | bytes) else tables.dumps(data)
    yield from rule_files(site)
    yield from doc_files(site)
    yield from other_files(site)
    yield SHELL, _shell()
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


def _entries(site: Site) -> Iterator[tuple[str, str, str]]:
    """Each entry as (name, body, JSON). The first line of a body is JSON {title, description,
    image}; the rest is HTML."""
    lineage = Lineage(site)
    for board in site.tracks.values():
        pictured = {i.path for i in cards.card_holders(board)}
        for item in board.items.values():
            head: dict[str, Any] = {
                "title": clean(item.label, 100),
                "description": clean(f"{heading(item)} {board.track.title}", 200),
            }
            if item.path in pictured:
                head["image"] = f"cards/{board.track.id}/{item.slug}.png"
            packed, digest = tables.entry_data(item)
            body = entry_page(site, board, item, lineage, digest, head.get("image"))
            data = tables.entry_json(site, board, item, packed, digest)
            yield f"{board.track.id}/{item.slug}", f"{json.dumps(head)}\n{body}", data


def _static(site: Site) -> Iterator[tuple[str, str | bytes]]:
    yield from tables.api_files(site)
    yield from feeds.feed_files(site)
    for board in site.tracks.values():
        for item in cards.card_holders(board):
            yield f"cards/{board.track.id}/{item.slug}.png", cards.draw_card(board, item)
