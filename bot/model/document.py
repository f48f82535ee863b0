"""One JSON file of a submission, and where each of its values stands."""

from __future__ import annotations

import dataclasses as dc
import functools as ft

from bot.model.verdict import Finding
from bot.parse.json_scan import Index, line_column, unescape


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

    @ft.cached_property
    def _index(self) -> Index:
        return Index(self.text)


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
