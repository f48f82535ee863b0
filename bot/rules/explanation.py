"""Whether a submission says what was done: summary, README, head of the code, results or PR."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.model.case import Case
from bot.model.verdict import Finding, finding
from bot.render.numbers import count

_MIN_WORDS = 5
_HEAD_BYTES = 20_000
_COMMENTS = re.compile(r"\A(?:[ \t]*(?:#[^\n]*)?\n)*")
_QUOTES = ('"""', "'''")


def explanation_missing(case: Case) -> Iterator[Finding]:
    """The submission says what was done.

    Two sentences in `summary`, a README.md in the folder, the docstring or comments at the head of
    the code, or a link to a report: what was changed, why it should help, and what did not work.
    Others build on it. A reproduction or a challenge says it by naming the entry.
    """
    submission = case.submission
    if case.folder.bare or case.brought_over or not submission.raw or submission.reply is not None:
        return
    words = max(len(text.split()) for text in _texts(case))
    if words < _MIN_WORDS and not submission.links:
        yield finding(
            "explanation-missing",
            f"the explanation has {count(words, 'word')}, expected at least {_MIN_WORDS}",
            file=case.list_file,
            pointer="/summary",
            claimed=words,
            expected=_MIN_WORDS,
            fix="say in `summary`, README.md or the head of the code what you changed and why",
        )


def _texts(case: Case) -> Iterator[str]:
    """Every place where a submission may explain itself."""
    yield case.submission.summary or ""
    for name, data in case.folder.files.items():
        if name.lower() == "readme.md":
            yield data[:_HEAD_BYTES].decode("utf-8", "replace")
        elif name == "main.py" or name == case.submission.code_path:
            yield head_of(data)
    for run in case.results:
        described = run.info.get("description")
        yield described if isinstance(described, str) else ""
    if case.context.pull_request is not None:
        yield case.context.pull_request.body


def head_of(source: bytes) -> str:
    """The comments at the head of a Python file and its docstring, without their marks.

    The text is searched, never parsed or run.
    """
    text = source[:_HEAD_BYTES].decode("utf-8", "replace").removeprefix("\ufeff")
    below = _COMMENTS.sub("", text)
    lines = [line.strip() for line in text.removesuffix(below).splitlines()]
    said = [line.lstrip("# ") for line in lines if not line.startswith(("#!", "# -*-"))]
    rest = below.lstrip("rRuU")
    for quotes in _QUOTES:
        if rest.startswith(quotes):
            said.append(rest[3:].partition(quotes)[0])
    return " ".join(said).strip()
