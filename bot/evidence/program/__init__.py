"""What the source of a training program states: sizes, files, and what few programs do.

    read_program(text)      its statements, in order of line

The text is a stranger's: it is parsed, never run. `bot.rules.program` judges the statements.
"""

from __future__ import annotations

import functools as ft

from bot.evidence.program.conduct import conduct
from bot.evidence.program.data import files, sizes
from bot.evidence.program.measured import measured
from bot.evidence.program.measuring import measuring
from bot.evidence.program.source import Source
from bot.model.run import Stated

__all__ = ["read_program"]


@ft.lru_cache(maxsize=64)
def read_program(text: str) -> tuple[Stated, ...]:
    """Everything that a source states, in order of line. Never raises on what it holds."""
    source = Source(text)
    found = [*sizes(source), *files(source), *conduct(source), *measured(source)]
    if source.is_cut:
        found.append(source.stated("unread", len(source.lines), len(text)))
    once = {(s.kind, s.line, s.value): s for s in found}
    return tuple(sorted((*once.values(), *measuring(source)), key=lambda s: s.line))
