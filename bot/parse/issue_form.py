"""Filled issue forms: GitHub renders each as sections, `### Heading` and the text below it."""

from __future__ import annotations

MAX_BODY = 60_000
_EMPTY = "_No response_"


def sections(body: str) -> dict[str, str]:
    """Heading -> text of an issue form; the first of two equal headings counts."""
    found: dict[str, str] = {}
    heading = ""
    lines: list[str] = []
    for line in [*body[:MAX_BODY].replace("\r\n", "\n").split("\n"), "### "]:
        if line.startswith("### "):
            if heading:
                text = "\n".join(lines).strip()
                found.setdefault(heading, "" if text == _EMPTY else text)
            heading, lines = line[4:].strip(), []
        else:
            lines.append(line)
    return found
