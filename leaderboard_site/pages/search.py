"""What the search box looks through: fetched when it is opened, never before."""

from __future__ import annotations

import re
from typing import Any

from bot.registry import catalogue
from leaderboard_site import text
from leaderboard_site.model import Site
from leaderboard_site.pages.docs import TITLES
from leaderboard_site.pages.people import people
from leaderboard_site.pages.reference import technique_groups

MOST_TEXT = 12_000
_MARKUP = re.compile(r"```.*?```|[`*_#>|\[\](){}]|https?://\S+", re.DOTALL)
PAGES = (
    ("All entries", "entries/"),
    ("People", "people/"),
    ("Techniques", "techniques/"),
    ("Compare", "compare/"),
    ("Cite and reuse", "cite/"),
    ("Pending", "pending/"),
    ("Runs wanted", "wanted/"),
    ("Experiments", "experiments/"),
    ("Models", "models/"),
    ("Rules", "rules/"),
    ("The starter in PyTorch", "walkthrough/"),
    ("The starter in JAX", "walkthrough-jax/"),
    ("Commands", "commands/"),
)


def search_data(site: Site, documents: dict[str, str]) -> dict[str, Any]:
    """`pages` are [title, address, what it is, text]; `entries` are [slug, title, number] by track,
    whose address follows from both. `documents` maps `NAME.md` to its Markdown."""
    pages = [[title, url, "", ""] for title, url in PAGES]
    pages += [
        [text.clean(b.track.title, 80), f"tracks/{b.track.id}/", "board", b.track.id]
        for b in site.tracks.values()
    ]
    pages += [[text.clean(p.name, 60), p.url, "person", ""] for p in people(site).values()]
    pages += [
        [g["technique"].title, f"techniques/#{g['technique'].id}", "technique", g["technique"].id]
        for g in technique_groups(site)
    ]
    pages += [
        [f"{name}: {entry.get('title', '')}", f"rules/{name}/", "rule", ""]
        for name, entry in catalogue().items()
    ]
    pages += [
        [title, f"{name}/", "document", words_of(documents.get(f"{name}.md", ""))]
        for name, title in TITLES.items()
    ]
    entries = {
        b.track.id: [
            [i.slug, text.clean(i.title, 60) if i.title != i.label else "", i.number or 0]
            for i in b.items.values()
        ]
        for b in site.tracks.values()
    }
    return {"pages": pages, "entries": entries}


def words_of(markdown: str) -> str:
    """The words of a document, without its marks."""
    return " ".join(_MARKUP.sub(" ", markdown).split())[:MOST_TEXT].lower()
