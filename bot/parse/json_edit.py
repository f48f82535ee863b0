"""Change a JSON object in its text: lines that the change does not concern stay as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from bot.parse.json_scan import Index, escape

_KEY = re.compile(r'"(?:[^"\\]|\\.)*"\s*:\s*', re.DOTALL)


def edited(text: str, new: Mapping[str, Any]) -> str:
    """The text of an object with the values of `new`, in the layout that the text has.

    Keys are changed and added, never removed.
    """
    layout = _Layout(text)
    old = json.loads(text)
    for key, value in new.items():
        if key not in old:
            layout.add(key, value)
        elif old[key] != value:
            layout.change(key, old[key], value)
    return layout.text


class _Layout:
    """A text while it is changed, with its own indentation and line ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._end = "\r\n" if "\r\n" in text else "\n"
        step = re.search(r"\n([ \t]+)\S", text)
        self._step = step[1] if step else "  " if "\n" in text.strip() else None

    def add(self, key: str, value: Any) -> None:
        """A key at the end."""
        inside = self.text.rstrip()[:-1].rstrip()
        rest = self.text[len(inside) :]
        lead = " " if self._step is None else f"{self._end}{self._step}"
        comma = "" if inside == "{" else ","
        written = self._written(value, self._step or "")
        self.text = f"{inside}{comma}{lead}{self._string(key)}: {written}{rest}"

    def change(self, key: str, old: Any, value: Any) -> None:
        """Another value of a key; a list that grows keeps what it has."""
        start = self._start(f"/{escape(key)}")
        stop = json.JSONDecoder().raw_decode(self.text, start)[1]
        grows = isinstance(old, list) and isinstance(value, list) and old
        if grows and value[: len(old)] == old:
            last = self._start(f"/{escape(key)}/{len(old) - 1}", item=True)
            self._grow(start, last, stop, value[len(old) :])
        else:
            line = self.text[self.text.rfind("\n", 0, start) + 1 : start]
            margin = re.match(r"[ \t]*", line)
            written = self._written(value, margin[0] if margin else "")
            self.text = self.text[:start] + written + self.text[stop:]

    def _grow(self, start: int, last: int, stop: int, items: list[Any]) -> None:
        """Items after the last one, written and set apart as it is."""
        inside = self.text[: stop - 1].rstrip()
        space = re.match(r"\s*", self.text[start + 1 :])
        lead = (space[0] if space else "") or " "
        margin = lead.rpartition("\n")[2] if "\n" in inside[last:] else None
        written = [self._written(item, margin) for item in items]
        self.text = inside + "".join(f",{lead}{one}" for one in written) + self.text[len(inside) :]

    def _start(self, pointer: str, item: bool = False) -> int:
        """Where a value begins, behind its key."""
        offset = Index(self.text).find(pointer)
        key = None if item else _KEY.match(self.text, offset)
        return key.end() if key else offset

    def _written(self, value: Any, margin: str | None) -> str:
        """A value as text, on one line without a margin."""
        if margin is None or self._step is None:
            return self._string(value)
        text = json.dumps(value, indent=self._step, ensure_ascii=False)
        return text.replace("\n", f"{self._end}{margin}")

    def _string(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)
