"""Markdown that a stranger's text cannot break: prose, code spans and tables."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from bot.render.untrusted import plain

_ACTIVE = re.compile(r"[\\`*_{}\[\]()<>#+!|~&$^=-]")


def prose(text: object, limit: int = 600) -> str:
    """Text that shows as itself: no markup, no mention, no reference, no link."""
    escaped = _ACTIVE.sub(lambda match: "\\" + match[0], plain(str(text), limit))
    return _inert(escaped)


def _inert(escaped: str) -> str:
    """GitHub looks for mentions and bare addresses in the rendered text; an empty comment parts
    them and shows nothing."""
    escaped = re.sub(r"(@|\\?#|\b[Gg][Hh](?=\\?-\d))(?=\w|\\?-)", r"\1<!-- -->", escaped)
    return re.sub(r"(?i)\b(https?|www|ftp|mailto)(?=[:.])", r"\1<!-- -->", escaped)


_QUOTED = r"(?<![^\s(\"])`(?=[^`]*\w)([^`\s](?:[^`]{0,298}[^`\s])?)`(?![^\s.,;:!?)\"'/])"
_RUN = r"https://wandb\.ai/(?!ENTITY/)[\w.-]+/[\w.-]+/runs/[\w-]+"
_PIECES = re.compile(rf"{_QUOTED}|({_RUN})", re.ASCII)
RUN_PAGE = re.compile(_RUN, re.ASCII)


def sentence(text: object, limit: int = 900, links: bool = False) -> str:
    """A sentence of ours as prose, in which what stands in back quotes becomes a code span and,
    with `links`, the page of a run a link. A code span shows whatever is in it as itself."""
    whole, said, at = plain(str(text), limit), [], 0
    for piece in _PIECES.finditer(whole):
        if piece[1] or links:
            shown = f"`{piece[1]}`" if piece[1] else run_link(piece[2])
            said += [prose(whole[at : piece.start()], limit), shown]
            at = piece.end()
    return "".join([*said, prose(whole[at:], limit + 3)])


def run_link(run: str) -> str:
    """A run by its short name, as a link where it has a page."""
    name = code(run.rpartition("/")[2] or run)
    return f"[{name}]({run})" if RUN_PAGE.fullmatch(run) else name


def summary(text: object, limit: int = 600) -> str:
    """A sentence for the title of a fold, which is HTML: no Markdown is read there."""
    parts = re.split(_QUOTED, plain(str(text), limit))
    escaped = (html.escape(part, quote=False) for part in parts)
    return "".join(f"<code>{p}</code>" if i % 2 else _inert(p) for i, p in enumerate(escaped))


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
