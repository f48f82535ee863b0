"""What a print statement can print: literal text with holes for the values, matched against lines.

    pattern = Pattern(["step:", VALUE, " val_loss:", number_of(".4f")])
    pattern.fits("step:125 val_loss:3.2801", Effort(100))      True

A value may be any text that names no quantity; a number has the digits of its format. Both the text
and the line are a stranger's: a match looks for the literal parts in order, each at its first
place, and `Effort` bounds how often it looks.
"""

from __future__ import annotations

import functools as ft
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from bot.evidence.log.prefix import is_prefix
from bot.evidence.log.text import decode

_LABEL = re.compile(
    r"loss|bpb|nll|entropy|perplex|(?<![a-z])(?:ppl|t[er]l)(?![a-z])|time|elapsed", re.IGNORECASE
)
_SPEC = re.compile(
    r"(?P<align>(?:[ 0]?[<>=^])?)[-+ ]?z?#?(?P<width>0?\d{0,3})(?P<group>[,_]?)"
    r"(?:\.(?P<digits>\d{1,2}))?(?P<type>[dfFeE%]?)"
)
_PAIR = re.compile(r"(?:^|\s)[A-Za-z_]\w{0,40}[:=][\d.-]")
"""A name with a number, which no value prints."""
_NAME = re.compile(r"[A-Za-z_]\s?[:=]")
_NOT_FINITE = "nan|inf|NAN|INF"
_MOST_PIECES, _LONGEST_PREFIX = 200, 600


class Hole(NamedTuple):
    """The place of a value. `number` is the expression of a number with a format."""

    kind: str
    number: str = ""


VALUE = Hole("value")
"""Text without the name of a quantity: a number, a shape, a device."""
MESSAGE = Hole("message")
"""Text that names no quantity, or else is one that the program makes elsewhere."""
TEXT = Hole("text")
"""Any text."""

Piece = str | Hole


class TooMuch(Exception):
    """The effort for one log is used up."""


class Effort:
    """How often a match may still look for a part of a pattern in a line."""

    def __init__(self, most: int) -> None:
        self.most, self.used = most, 0

    def spend(self, looks: int = 1) -> None:
        """Count some looks; `TooMuch` if there are none left."""
        self.used += looks
        if self.used > self.most:
            raise TooMuch


@ft.lru_cache(maxsize=256)
def number_of(spec: str) -> Hole:
    """What a format such as `.4f` or `>8d` prints; a value where it is not that of a number."""
    found = _SPEC.fullmatch(spec)
    if found is None or not found["type"] or found["align"][-1:] in ("<", "^", "="):
        return VALUE
    digits = int(found["digits"] or 6)
    point = rf"\.\d{{{digits}}}" if digits else ""
    whole = rf"\d{{1,3}}(?:{found['group']}\d{{3}}){{0,12}}" if found["group"] else r"\d{1,40}"
    kind = found["type"].lower()
    if kind == "d":
        text = whole
    elif kind == "e":
        text = rf"\d{point}[eE][-+]\d{{2,3}}"
    else:
        text = whole + point
    per_cent = "%" if kind == "%" else ""
    pad = " {0,60}" if found["width"] or " " in spec else ""
    return Hole("number", f"{pad}[-+]?(?:{text}|0{{0,60}}(?:{_NOT_FINITE})){per_cent}")


def names_quantity(text: str) -> bool:
    """Whether a text names a loss or a time."""
    return _LABEL.search(text) is not None


def names_value(text: str) -> bool:
    """Whether a text names a quantity, or anything else that a value follows."""
    return names_quantity(text) or _NAME.search(text) is not None


def in_lines(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """The pieces of each line of a text, literals as a reader of logs sees them."""
    lines: list[list[Piece]] = [[]]
    for piece in pieces:
        if isinstance(piece, Hole):
            lines[-1].append(piece)
            continue
        for n, part in enumerate(_clean(piece).split("\n")):
            if n:
                lines.append([])
            if "\x1b" in part:  # a code of a terminal with a value inside
                before, _, _ = part.partition("\x1b")
                lines[-1] += [before, TEXT]
            elif part:
                lines[-1].append(part)
    return lines


@ft.lru_cache(maxsize=1024)
def _clean(text: str) -> str:
    return decode(text.encode("utf-8", "replace"))[0]


class _Segment:
    """Literal text, with the numbers between its parts."""

    def __init__(self, items: Sequence[Piece]) -> None:
        self.first = str(items[0])
        self.rest = [i if isinstance(i, str) else re.compile(i.number) for i in items[1:]]

    def end(self, line: str, begin: int) -> int | None:
        """Where the segment ends if its first text stands at `begin`."""
        at = begin + len(self.first)
        for item in self.rest:
            if isinstance(item, str):
                if not line.startswith(item, at):
                    return None
                at += len(item)
            elif (match := item.match(line, at)) is not None:
                at = match.end()
            else:
                return None
        return at

    def find(
        self, line: str, at: int, effort: Effort, is_right: Callable[[int, int], bool]
    ) -> tuple[int, int] | None:
        """Begin and end of the first place from `at` on that is right."""
        begin = line.find(self.first, at)
        effort.spend()
        while begin >= 0:
            effort.spend(1 + len(self.rest))
            end = self.end(line, begin)
            if end is not None and is_right(begin, end):
                return begin, end
            begin = line.find(self.first, begin + 1)
        return None


class Pattern:
    """One line that a print can make."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = _joined(pieces)
        literal = " ".join(p for p in self.pieces if isinstance(p, str))
        self.holes = {p.kind for p in self.pieces if isinstance(p, Hole)}
        self.is_measured = names_quantity(literal) and bool(self.holes)
        self.is_bare = not literal.strip()
        self._parts: list[tuple[str, _Segment]] = []
        self._tail = ""
        kind, items = "", list[Piece]()
        for piece in self.pieces:
            if isinstance(piece, Hole) and piece.kind != "number":
                if items:
                    self._parts.append((kind, _Segment(items)))
                kind, items = piece.kind, []
            else:
                items.append(piece)
        if items:
            self._parts.append((kind, _Segment(items)))
        else:
            self._tail = kind

    @property
    def first(self) -> str:
        """The text that every line of it begins with."""
        return self._parts[0][1].first if self._parts and not self._parts[0][0] else ""

    def relaxed(self) -> Pattern:
        """The same with numbers of any format."""
        return Pattern([VALUE if isinstance(p, Hole) and p.number else p for p in self.pieces])

    def fits(
        self, line: str, effort: Effort, is_message: Callable[[str], bool] = lambda text: False
    ) -> bool:
        """Whether a line without white space around it is one that this prints, after whatever a
        logger puts before it."""
        at = 0
        for n, (kind, segment) in enumerate(self._parts):
            last = n == len(self._parts) - 1 and not self._tail
            place = self._place(segment, kind, line, at, last, effort)
            if place is None:
                return False
            if kind and not _holds(kind, line[at : place[0]], is_message):
                return False
            at = place[1]
        return _holds(self._tail, line[at:], is_message)

    def _place(
        self, segment: _Segment, kind: str, line: str, at: int, last: bool, effort: Effort
    ) -> tuple[int, int] | None:
        def is_right(begin: int, end: int) -> bool:
            if last and end != len(line):
                return False
            return bool(kind) or begin == 0 or begin <= _LONGEST_PREFIX and is_prefix(line[:begin])

        if last and kind and not segment.rest:
            effort.spend()
            begin = len(line) - len(segment.first)
            return (begin, len(line)) if begin >= at and line.endswith(segment.first) else None
        return segment.find(line, at, effort, is_right)


def _holds(kind: str, text: str, is_message: Callable[[str], bool]) -> bool:
    if kind == "text" or not text:
        return True
    if not kind:
        return False
    if kind == "message":
        return not names_quantity(text) or is_message(text)
    return not names_quantity(text) and _PAIR.search(text) is None


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces without white space around them, texts and holes next to each other as one."""
    if len(pieces) > _MOST_PIECES:
        return [TEXT]
    made: list[Piece] = []
    for piece in pieces:
        before = made[-1] if made else None
        if isinstance(piece, str) and isinstance(before, str):
            made[-1] = before + piece
        elif isinstance(piece, Hole) and isinstance(before, Hole):
            made[-1] = VALUE if {piece.kind, before.kind} <= {"value", "number"} else TEXT
        elif piece != "":
            made.append(piece)
    if made and isinstance(made[0], str):
        made[0] = made[0].lstrip()
    if made and isinstance(made[-1], str):
        made[-1] = made[-1].rstrip()
    made = [p for p in made if p != ""]
    for n, piece in enumerate(made):
        after = made[n + 1] if n + 1 < len(made) else ""
        if isinstance(piece, Hole):
            if piece.number and (n == 0 or isinstance(after, str) and after[:1].isdigit()):
                made[n] = VALUE
            elif piece.kind == "message" and n + 1 < len(made):
                made[n] = TEXT
    if TEXT in made:  # which hole has which part of a line is not told
        made = [TEXT if isinstance(p, Hole) and not p.number else p for p in made]
    return made
