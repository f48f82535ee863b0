"""From a `Site` to plain files: what mkdocs reads, the bodies of entry pages, the API.

    generate(site, out)

writes `out/docs` (for mkdocs), `out/parts` (the entries: what `leaderboard_site.build` puts into
the theme's frame, and their JSON) and `out/static` (copied beside the built pages). The files
depend on `site` alone. A file that would not change is not written, and what no longer belongs is
removed; an entry all of whose inputs are as they were is taken over from the earlier time.
"""

from __future__ import annotations

import functools as ft
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bot import files as disk
from leaderboard_site import cards, feeds, tables
from leaderboard_site.about import about
from leaderboard_site.badges import badge_files
from leaderboard_site.beside import beside
from leaderboard_site.digests import code_digest, pickled
from leaderboard_site.files import Writer, remembered, write_parts
from leaderboard_site.model import Item, Site, TrackBoard
from leaderboard_site.pages.commands import command_files
from leaderboard_site.pages.docs import doc_files
from leaderboard_site.pages.entry import (
    Lineage,
    entry_context,
    entry_page,
    heading,
    surroundings,
)
from leaderboard_site.pages.experiments import experiment_files
from leaderboard_site.pages.home import home_page
from leaderboard_site.pages.others import other_files
from leaderboard_site.pages.people import people_index, people_parts
from leaderboard_site.pages.reference import reference_files
from leaderboard_site.pages.rules import rule_files
from leaderboard_site.pages.search import search_data
from leaderboard_site.pages.story import score_over_time, story
from leaderboard_site.pages.track import track_card_name, track_files
from leaderboard_site.pages.walkthrough import walkthrough_files
from leaderboard_site.pages.wanted import wanted_files
from leaderboard_site.text import clean

HERE = Path(__file__).parent
CARDS = "cards.json"
PEOPLE = "people.jsonl"
SHELL = "entries/entry/shell.md"
"""A page as deep as an entry's, whose built form is the frame of all of them."""


def generate(site: Site, out: Path) -> int:
    """Write everything below `out`; the number of files whose bytes changed."""
    with beside(ft.partial(_beside_docs, site, out)) as others:
        docs = Writer(out / "docs")
        for name, data in _docs(site):
            docs.put(name, data)
        docs.close()
        # The entries come when the copy is gone: two processes that touch them hold all twice.
        return docs.written + others() + write_parts(out, entries(site))


def _beside_docs(site: Site, out: Path) -> int:
    """Everything but the entries that mkdocs does not read."""
    static = Writer(out / "static")
    for name, data in _static(site):
        static.put(name, data)
    _cards(site, static, out / CARDS)
    static.close()
    lines = [json.dumps(part, ensure_ascii=False) + "\n" for part in people_parts(site)]
    people = Writer(out / "people")
    people.put(PEOPLE, "".join(lines).encode("utf-8", "replace"))
    people.close()
    return static.written + people.written


def _docs(site: Site) -> Iterator[tuple[str, str | bytes]]:
    yield "index.md", home_page(site)
    for board in site.tracks.values():
        for name, data in track_files(site, board):
            yield name, data if isinstance(data, str | bytes) else tables.dumps(data)
    yield from rule_files(site)
    documents = dict(doc_files(site))
    yield from documents.items()
    yield "assets/site/search.json", tables.dumps(search_data(site, documents))
    yield from other_files(site)
    yield from experiment_files(site)
    yield from wanted_files(site)
    yield from reference_files(site)
    yield "people/index.md", people_index(site)
    yield from walkthrough_files()
    yield from command_files()
    yield SHELL, _shell()
    yield "assets/site/card.png", cards.site_card(about(site))
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


def entries(site: Site) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Each entry as (name, key, what makes its text).

    The key is a digest of all that the text depends on (see `digests`), so that an entry that is
    as it was costs nothing.
    """
    lineage = Lineage(site)
    common = pickled((code_digest(), site.url, site.repository))
    for board in site.tracks.values():
        pictured = {i.path for i in cards.card_holders(board)}
        shared = hashlib.sha256(common + pickled((board.track, entry_context(board))))
        for item in board.items.values():
            card = f"cards/{board.track.id}/{item.slug}.png" if item.path in pictured else None
            near = surroundings(site, board, item, lineage)
            total = shared.copy()
            total.update(pickled((item, card, near)))
            make = ft.partial(_make_entry, site, board, item, lineage, card)
            yield f"{board.track.id}/{item.slug}", total.hexdigest(), make


def _make_entry(
    site: Site, board: TrackBoard, item: Item, lineage: Lineage, card: str | None
) -> str:
    """A line of JSON {title, description, image}, the line of the entry's own JSON file, and the
    HTML of its page's body."""
    head: dict[str, Any] = {
        "title": clean(item.label, 100),
        "description": clean(f"{heading(item)} {board.track.title}", 200),
    }
    if card:
        head["image"] = card
    packed, digest = tables.entry_data(item)
    body = entry_page(site, board, item, lineage, digest, card)
    return f"{json.dumps(head)}\n{tables.entry_json(site, board, item, packed, digest)}{body}"


def _static(site: Site) -> Iterator[tuple[str, str | bytes]]:
    yield from tables.api_files(site)
    yield from feeds.feed_files(site)
    yield from badge_files(site)


def _cards(site: Site, static: Writer, path: Path) -> None:
    """Draw the share cards whose words are new; `path` remembers the words."""
    known = remembered(path)
    drawn: dict[str, str] = {}
    for board in site.tracks.values():
        for item in cards.card_holders(board):
            name = f"cards/{board.track.id}/{item.slug}.png"
            words = cards.card_words(board, item)
            drawn[name] = hashlib.sha256(pickled((code_digest(), words))).hexdigest()
            if known.get(name) != drawn[name] or not static.keep(name):
                static.put(name, cards.draw_card(words))
    for board in site.tracks.values():
        told = story(board, "")
        if told is None:
            continue
        name = track_card_name(board)
        parts = board.track.title, told["title"], score_over_time(board)[1]
        drawn[name] = hashlib.sha256(pickled((code_digest(), parts))).hexdigest()
        if known.get(name) != drawn[name] or not static.keep(name):
            static.put(name, cards.track_card(*parts))
    disk.write(path, json.dumps(drawn))
