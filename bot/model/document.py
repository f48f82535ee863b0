"""One JSON file of a submission, and where each of its values stands."""

from __future__ import annotations

import dataclasses as dc
import functools as ft
import json
import re

from bot.model.verdict import Finding
from bot.parse.json_scan import Index, line_column, unescape
from bot.render.numbers import exact

_SCALAR = r'(?:-?\d[\d.eE+-]*|"(?:[^"\\]|\\.)*"|true|false|null)'
_LONGEST_LINE = 300


@dc.dataclass(frozen=True)
class Document:
    """One JSON file. `value` is None where `problems` has findings, all of `json-invalid`."""

    file: str
    value: object
    problems: tuple[Finding, ...] = ()
    text: str = ""

    def line(self, pointer: str | None) -> int | None:
        """The line (from 1) where the value of a JSON pointer, or its key, stands; else None.

        A pointer to something that is not there gives the line of its nearest parent.
        """
        position = self.position(pointer)
        return None if position is None else position[0]

    def position(self, pointer: str | None) -> tuple[int, int] | None:
        """Line and column, both from 1, of a JSON pointer or its nearest parent; None outside."""
        if pointer is None or not self.text:
            return None
        return line_column(self.text, self._index.find(pointer))

    def line_with(self, pointer: str, value: str | float) -> str | None:
        """The line of a key, or of an item of a list, with another value in it; None where the line
        does not hold it whole.

        Numbers are written as `bot.render.numbers.exact` does.
        """
        number = self.line(pointer)
        if number is None:
            return None
        line = self.text.split("\n")[number - 1].rstrip("\r")
        if len(line) > _LONGEST_LINE:
            return None
        written = json.dumps(value) if isinstance(value, str) else exact(value)
        pattern = self._place(pointer)
        return re.sub(pattern, lambda m: m[1] + written, line) if _once(pattern, line) else None

    def line_renamed(self, pointer: str, key: str) -> str | None:
        """The line of a key with another name for it."""
        number = self.line(pointer)
        line = self.text.split("\n")[number - 1].rstrip("\r") if number else ""
        pattern = rf"{re.escape(json.dumps(unescape(pointer.rpartition('/')[2])))}(?=\s*:)"
        whole = len(line) <= _LONGEST_LINE and _once(pattern, line)
        return re.sub(pattern, lambda _: json.dumps(key), line) if whole else None

    def _place(self, pointer: str) -> str:
        """A pattern for what stands before a value, and the value."""
        holder, _, last = pointer.rpartition("/")
        try:
            listed = isinstance(at(self.value, holder), list)
            item = json.dumps(at(self.value, pointer), ensure_ascii=False) if listed else ""
        except KeyError:
            listed, item = False, ""
        if listed:
            return rf"([\[\s,]|^){re.escape(item)}(?=\s*(?:[\],]|$))"
        return rf"({re.escape(json.dumps(unescape(last)))}\s*:\s*){_SCALAR}"

    @ft.cached_property
    def _index(self) -> Index:
        return Index(self.text)


def _once(pattern: str, line: str) -> bool:
    return sum(1 for _ in re.finditer(pattern, line)) == 1


def at(value: object, pointer: str) -> object:
    """The value at a JSON pointer. Raises KeyError where there is none."""
    for token in pointer.split("/")[1:]:
        key = unescape(token)
        try:
            if isinstance(value, list):
                value = value[int(key)]
            elif isinstance(value, dict):
                value = value[key]
            else:
                raise KeyError(pointer)
        except (IndexError, KeyError, ValueError):
            raise KeyError(pointer) from None
    return value
