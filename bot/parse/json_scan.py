"""Where the values of a JSON text stand: from a JSON pointer to the offset, and odd values found.

Works on the text by tokens, without recursion and without spelling out pointers, so that neither
depth nor long keys cost memory. It follows JSON that Python's reader accepted, at least up to the
first odd thing, and stops where the text is not JSON.
"""

from __future__ import annotations

import dataclasses as dc
import json
import math
import re
from collections.abc import Iterator

MAX_INT_DIGITS = 60

_TOKEN = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|-?Infinity|NaN|-?\d[\d.eE+-]*|true|false|null', re.DOTALL
)


@dc.dataclass(slots=True)
class _Frame:
    """An open object or list: `keys` are those seen (None for a list), `key` the current place."""

    keys: set[str] | None
    key: str | int = 0
    wants_key: bool = False


@dc.dataclass(frozen=True, slots=True)
class Event:
    """A value: how deep it lies (0 for the whole), under which key or index, where it begins (at
    its key where it has one), and what is odd about it: `duplicate`, NaN, a number out of range."""

    depth: int
    key: str | int | None
    offset: int
    odd: str | None = None


class Scan:
    """One pass over a text. `events` yields every value; `pointer` is where the last one lies."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._frames: list[_Frame] = []

    @property
    def pointer(self) -> str:
        """The JSON pointer of the value of the last event."""
        return "".join(f"/{escape(str(frame.key))}" for frame in self._frames)

    def events(self) -> Iterator[Event]:
        """The values in text order; an odd scalar comes a second time with its oddity."""
        frames, offset = self._frames, 0
        for match in _TOKEN.finditer(self._text):
            token, frame = match.group(), frames[-1] if frames else None
            if token in "}]":
                if frame is None:
                    return
                frames.pop()
            elif token == ",":
                _advance(frame)
            elif token == ":":
                continue
            elif frame is not None and frame.wants_key:
                event = self._key(token, match.start())
                if event is None:
                    return
                offset = event.offset
                yield event
            else:
                if frame is None or frame.keys is None:
                    offset = match.start()
                    yield Event(len(frames), None if frame is None else frame.key, offset)
                if token in "{[":
                    frames.append(_Frame(set(), "", True) if token == "{" else _Frame(None))
                elif is_odd(token):
                    yield Event(len(frames), None if frame is None else frame.key, offset, token)

    def _key(self, token: str, start: int) -> Event | None:
        """The event of an object's key; None if the token is not a key."""
        frame = self._frames[-1]
        try:
            key = json.loads(token)
        except ValueError:
            return None
        if not isinstance(key, str) or frame.keys is None:
            return None
        odd = "duplicate" if key in frame.keys else None
        frame.keys.add(key)
        frame.key, frame.wants_key = key, False
        return Event(len(self._frames), key, start, odd)


def _advance(frame: _Frame | None) -> None:
    if frame is None:
        return
    if frame.keys is None:
        frame.key = int(frame.key) + 1
    else:
        frame.wants_key = True


class Index:
    """Where every value of a text begins. Values are numbered and known by the number of the one
    that holds them and their key, so that the memory grows with the text and not with pointers."""

    def __init__(self, text: str) -> None:
        self._places: dict[tuple[int, str], tuple[int, int]] = {}
        holders = [0]
        for number, event in enumerate(Scan(text).events(), 1):
            if event.depth:
                del holders[event.depth :]
                place = holders[-1], str(event.key)
                self._places.setdefault(place, (number, event.offset))
                holders.append(number)

    def find(self, pointer: str) -> int:
        """The offset of the value of a JSON pointer, or of its nearest parent that is there."""
        holder, offset = 0, 0
        for token in pointer.split("/")[1:]:
            place = self._places.get((holder, unescape(token)))
            if place is None:
                break
            holder, offset = place
        return offset


def first_deeper(text: str, depth: int) -> int:
    """The offset of the first list or object nested more than `depth` deep; 0 for none."""
    return next((e.offset for e in Scan(text).events() if e.depth > depth), 0)


def line_column(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def escape(key: str) -> str:
    """One token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def unescape(token: str) -> str:
    """The key that a token of a JSON pointer stands for."""
    return token.replace("~1", "/").replace("~0", "~")


def is_odd(token: str) -> bool:
    """Whether a token is NaN, an infinity, or a number that a double or we cannot hold."""
    if token in ("NaN", "Infinity", "-Infinity"):
        return True
    if not (token[0].isdigit() or token[0] == "-"):
        return False
    if re.fullmatch(r"-?\d+", token):
        return len(token) > MAX_INT_DIGITS
    try:
        return not math.isfinite(float(token))
    except ValueError:  # what follows the first odd thing may not be a number
        return False
