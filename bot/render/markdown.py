"""Markdown that a stranger's text cannot break: prose, code spans and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bot.render.untrusted import plain

_ACTIVE = re.compile(r"[\\`*_{}\[\]()<>#+!|~&$^=-]")


def prose(text: object, limit: int = 600) -> str:
    """Text that shows as itself: no markup, no mention, no reference, no link."""
    escaped = _ACTIVE.sub(lambda match: "\\" + match[0], plain(str(text), limit))
    # GitHub looks for mentions and bare addresses in the rendered text; an empty comment parts
    # them and shows nothing.
    escaped = re.sub(r"(@|\\#|\b[Gg][Hh](?=\\-\d))(?=\w|\\-)", r"\1<!-- -->", escaped)
    return re.sub(r"(?i)\b(https?|www|ftp|mailto)(?=[:.])", r"\1<!-- -->", escaped)


_WORD = "[A-Za-z0-9_./:-]{1,60}"
_NAMED = re.compile(rf"(?<!`)`({_WORD}(?: {_WORD}){{0,5}})`(?!`)", re.ASCII)


def sentence(text: object, limit: int = 900) -> str:
    """A rule's own sentence as prose, in which `plain words` in back quotes become code spans."""
    parts = _NAMED.split(plain(str(text), limit))
    return "".join(f"`{part}`" if i % 2 else prose(part, limit) for i, part in enumerate(parts))


def code(text: object, limit: int = 120) -> str:
    """A code span that the text cannot leave, also in a table cell."""
    inner = plain(str(text), limit).replace("|", "\u00a6")
    longest = max((len(run) for run in re.findall("`+", inner)), default=0)
    fence, pad = "`" * (longest + 1), " " if "`" in inner or not inner else ""
    return f"{fence}{pad}{inner}{pad}{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: int = 1) -> list[str]:
    """A table; the columns from `right` on are aligned to the right."""
    rule = ["---" if i < right else "---:" for i in range(len(head))]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]
