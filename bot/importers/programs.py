"""`speedrun import programs FILES --into LIST`: how accepted programs measure, as digests.

A file is a program, or a log that begins with one; a folder stands for all of its logs. Programs
that do not read as Python are left out: what nobody could read is nothing to compare with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from bot.evidence.log.header import embedded_source, stated_by_source
from bot.evidence.log.text import decode
from bot.evidence.program import read_program
from bot.importers import SourceError, files_of
from bot.model.known import KnownPrograms
from bot.model.run import Stated
from bot.model.submission import MAX_LOG_BYTES

LOGS = (".txt", ".log", ".out", ".stdout")


def programs_of(sources: Iterable[Path]) -> KnownPrograms:
    """What the programs of these files and folders measure by. Raises SourceError."""
    statements, orders, seen = set[str](), set[str](), set[str]()
    for file in sources:
        for path in files_of(file) if file.is_dir() else (file,):
            if file.is_dir() and path.suffix not in LOGS:
                continue
            for stated in _stated(path, seen):
                if stated.kind == "measures":
                    statements.add(stated.name)
                elif stated.kind == "order":
                    orders.add(stated.name)
    return KnownPrograms("", frozenset(statements), frozenset(orders), True)


def together(*programs: KnownPrograms) -> KnownPrograms:
    """The programs of several lists."""
    return KnownPrograms(
        programs[0].file,
        frozenset().union(*(p.statements for p in programs)),
        frozenset().union(*(p.orders for p in programs)),
        True,
    )


def _stated(path: Path, seen: set[str]) -> Iterator[Stated]:
    """What the program of a file states, once for all logs that hold the same one."""
    try:
        data = path.read_bytes() if path.stat().st_size <= MAX_LOG_BYTES else b""
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from error
    text, _ = decode(data)
    if path.suffix == ".py":
        yield from read_program(text)
        return
    lines = text.split("\n")
    end, code = embedded_source(lines)
    if code and seen.isdisjoint(code.values()):
        seen.update(code.values())
        yield from stated_by_source(lines, end)
