"""A verdict in all the words that there are for it, for tests that look for something in them."""

from __future__ import annotations

from bot.model.report import Settings
from bot.model.verdict import Verdict
from bot.render.answer import answer
from bot.render.comment import to_markdown
from bot.render.terminal import to_annotations, to_text


def printed(verdict: Verdict) -> list[str]:
    """Terminal, Markdown and annotations."""
    item = answer(verdict)
    text = to_text(item, verbose=True)
    return [text, to_markdown(item, Settings()), *to_annotations(item)]
