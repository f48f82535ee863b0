"""Lines of a log that no print of the source in it makes.

A log that begins with its program's source was written by that program: a step line that it cannot
print is a second witness that contradicts the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.evidence.log.text import MAX_LINE
from bot.model.run import Stated
from bot.render.untrusted import plain

UNPRINTED = "unprinted"
_EFFORT, _OF_A_LINE = 50_000, 4
_SHOWN = 110


def unprinted(lines: Sequence[str], begin: int, numbers: Sequence[int]) -> Iterator[Stated]:
    """The first of the lines, by number from 1 and in order, that the source does not print, with
    the count of the others as its value; nothing where it prints them all, or where what it prints
    cannot be told. `begin` is the index of the first line after the source."""
    if not begin or not numbers:
        return
    from bot.evidence.program.printed import prints_of

    printed = prints_of("\n".join(lines[:begin]))
    if printed is None or not printed.measures:
        return  # another program printed the steps, which a list of accepted ones tells
    from bot.evidence.program.pattern import Effort, TooMuch

    effort, found = Effort(_EFFORT + _OF_A_LINE * len(numbers)), list[int]()
    try:
        for number in numbers:
            line = lines[number - 1].strip()
            if len(line) <= MAX_LINE and not printed.explains(line, effort):
                found.append(number)
    except TooMuch:
        pass
    if found:
        quoted = plain(lines[found[0] - 1].strip(), _SHOWN).replace("`", "'")
        yield Stated(UNPRINTED, found[0], quoted, float(len(found) - 1))
