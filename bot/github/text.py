"""Strangers' text in comments: shown as it is, and unable to do anything.

What must not happen: a mention, a reference to another issue, an image or link of a stranger's
choice, a marker of ours, a way out of a table cell, hidden or reordered characters.
"""

from __future__ import annotations

import re
import unicodedata

# Bidirectional controls, zero-width and tag characters, soft hyphen, control characters.
_HIDDEN = re.compile(
    "[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad\u061c\u180e\ufe00-\ufe0f\U000e0000-\U000e007f"
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]"
)
_ACTIVE = re.compile(r"[\\`*_{}\[\]()<>#+!|~@&:/$^=-]")
LONGEST = 120


def visible(value: object, longest: int | None = None) -> str:
    """One line without hidden characters, cut with an ellipsis at `longest`."""
    text = unicodedata.normalize("NFC", _HIDDEN.sub("\ufffd", str(value)))
    text = " ".join(text.split())
    if longest is not None and len(text) > longest:
        text = text[: longest - 1] + "…"
    return text


def code(value: object, longest: int = LONGEST) -> str:
    """A code span that the text cannot leave, safe in a table cell."""
    # a pipe splits a table row even inside a code span
    text = visible(value, longest).replace("|", "¦")
    if not text:
        return "`(empty)`"
    longest_run = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest_run + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def plain(value: object, longest: int = 2000) -> str:
    """Text that reads as prose and renders as itself: no markup, mention, reference or link.

    Punctuation that Markdown gives a meaning becomes a backslash escape. GitHub finds mentions,
    references and bare links in the rendered text, where an escape is gone, so an empty HTML
    comment parts their first character from the rest.
    """
    text = visible(value, longest)
    text = _ACTIVE.sub(lambda m: "\\" + m[0], text)
    text = re.sub(r"(?<=\\[@#])(?=\w)|(?<=\bGH)(?=\\-\d)|(?<=\bgh)(?=\\-\d)", "<!-- -->", text)
    return re.sub(r"(?i)\b(https?|www|ftp|mailto)(?=\\:|\.)", r"\1<!-- -->", text)
