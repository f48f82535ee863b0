"""The starter files as pages to read from top to bottom: prose on one side, code on the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

import markdown
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from leaderboard_site.pages.environment import page, render
from reference_trainer.walkthrough import Section, sections

STARTERS = {"torch": ("PyTorch", "walkthrough"), "jax": ("JAX", "walkthrough-jax")}


def walkthrough_files() -> Iterator[tuple[str, str]]:
    """One page for each starter."""
    for name, (title, file) in STARTERS.items():
        body = render(
            "walkthrough.html",
            base="../",
            name=name,
            lines=len(starter(name).splitlines()),
            others=[
                {"title": words, "url": f"{place}/", "here": place == file}
                for words, place in STARTERS.values()
            ],
            parts=[_part(s) for s in sections(starter(name))],
        )
        words = f"The starter file for {title}, explained part by part."
        yield f"{file}.md", page(f"The starter in {title}", words, body)


def starter(name: str) -> str:
    """The source of a starter file."""
    place = resources.files("reference_trainer") / "starters" / name / "main.py"
    return place.read_text(encoding="utf-8")


def _part(section: Section) -> dict[str, Any]:
    title = section.title
    return {
        "title": title[:1].upper() + title[1:] if section.level == 1 else title,
        "id": "part-" + re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-"),
        "level": section.level,
        "prose": markdown.markdown(section.prose),
        "code": coloured(section.code),
        "first": section.first_line,
        "last": section.first_line + len(section.code.splitlines()) - 1,
    }


def coloured(code: str) -> str:
    """Python as spans that the theme colours; on one line, as a page's HTML has no empty ones."""
    found: str = highlight(code, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
    return found.strip("\n").replace("\n", "&#10;")
