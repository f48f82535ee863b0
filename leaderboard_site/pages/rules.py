"""The rules' pages, from the docstrings of the checks and the catalogue."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from bot.registry import Level, catalogue
from bot.rules import RULES
from leaderboard_site.model import Item, Site
from leaderboard_site.pages.environment import page, render

FAMILIES = {
    "text": "Text and schema",
    "accounting": "Accounting",
    "evidence": "Evidence",
    "provenance": "Provenance",
    "statistics": "Statistics",
}
EFFECT = {
    Level.ERROR: "An error: the submission does not pass until it is fixed.",
    Level.WARNING: "A warning: a maintainer weighs it; the entry may rank.",
    Level.NOTE: "A note: it informs and changes nothing.",
}


def rule_files(site: Site) -> Iterator[tuple[str, str]]:
    """`rules/index.md` and one page a rule."""
    checks = RULES
    found: dict[str, list[Item]] = {}
    for item in site.items:
        for name in {f.rule for f in item.verdict.findings}:
            found.setdefault(name, []).append(item)
    entries = [dict(entry) for entry in catalogue().values()]
    for entry in entries:
        entry["count"] = str(len(found.get(entry["name"], ())))
    groups: dict[str, list[dict[str, str]]] = {}
    for entry in entries:
        groups.setdefault(entry["family"], []).append(entry)
    body = render("rules.html", base="../", groups=groups, families=FAMILIES)
    yield "rules/index.md", page("Rules", "Every check that a submission meets, by name.", body)
    for entry in entries:
        name = entry["name"]
        check = checks.get(name)
        paragraphs = prose(inspect.getdoc(check) or "") if check else []
        body = render(
            "rule.html",
            base="../../",
            rule=entry,
            family=FAMILIES.get(entry["family"], ""),
            effect=EFFECT[Level(entry["level"])],
            paragraphs=paragraphs,
            items=found.get(name, [])[:20],
            count=len(found.get(name, ())),
        )
        yield f"rules/{name}.md", page(name, entry.get("title", name), body)


def prose(doc: str) -> list[list[tuple[str, str]]]:
    """A docstring as paragraphs of (kind, text) spans, where kind is `text` or `code`."""
    out: list[list[tuple[str, Any]]] = []
    for block in re.split(r"\n\s*\n", doc.strip()):
        words = " ".join(block.split())
        parts = re.split(r"`+([^`]+)`+", words)
        out.append([("code" if i % 2 else "text", p) for i, p in enumerate(parts) if p])
    return out
