"""What a reader of the comment sees: visible words, and those before the next step."""

from __future__ import annotations

import re


def visible(markdown: str) -> str:
    """The text of a comment as GitHub shows it before anything is unfolded."""
    text = re.sub(r"<!--.*?-->", "", markdown, flags=re.DOTALL)
    text = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    text = re.sub(r"(?ms)^ *(`{3,}).*?^ *\1\n?", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"<[^>]+>|^\|[\s:|-]+\|$", "", text, flags=re.MULTILINE)
    return re.sub(r"\\(.)", r"\1", text)


def rules(text: str) -> list[str]:
    """The rules of the groups that a reader sees, in order."""
    return re.findall(r"\(`([a-z-]+)`\)$", text, re.MULTILINE)


def words(text: str) -> list[str]:
    """Words of a text; marks and icons alone are none."""
    return re.findall(r"[^\s|#*·:]*\w[^\s|#*]*", text)


def before_next(markdown: str) -> int:
    """How many words come before the next step."""
    return len(words(visible(markdown).split("Next:")[0]))
