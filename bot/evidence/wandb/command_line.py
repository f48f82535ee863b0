"""The arguments of the command that started a run, as W&B's client recorded them by itself.

    settings_of(["--lr", "0.1", "train.steps=900", "--fast"])
    {"_argv.lr": 0.1, "_argv.train.steps": 900, "_argv.fast": True}

They are read as settings are. Of a run nothing is kept of them but options in which two arms may
differ, by the names that begin with `_argv.`.
"""

from __future__ import annotations

import re

PREFIX = "_argv."
_MOST, _LONGEST = 400, 200
_NAME = re.compile(r"[A-Za-z][\w./-]{0,79}")
_NUMBER = re.compile(r"[+-]?\d[\d_]{0,17}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,2})?")
_WORDS = {"true": True, "false": False, "none": None, "null": None}


def settings_of(arguments: object) -> dict[str, object]:
    """The named arguments; nothing of anything that is not a list of texts."""
    listed = arguments if isinstance(arguments, list) else []
    texts = [text for text in listed[:_MOST] if isinstance(text, str) and len(text) <= _LONGEST]
    found: dict[str, object] = {}
    waiting: str | None = None
    for text in texts:
        option = text.startswith("-") and not _NUMBER.fullmatch(text)
        name, equals, value = text.lstrip("-+").partition("=")
        if waiting is not None:
            found[waiting] = True if option or equals else _value(text)
        waiting = None
        if not _NAME.fullmatch(name):
            continue
        if equals:
            found[PREFIX + name] = _value(value)
        elif option:
            waiting = PREFIX + name
    if waiting is not None:
        found[waiting] = True
    return found


def _value(text: str) -> object:
    """A number, a switch or nothing where a text is one of them."""
    plain = text.strip("'\"")
    if _NUMBER.fullmatch(plain):
        number = float(plain.replace("_", ""))
        return int(number) if number == int(number) else number
    return _WORDS.get(plain.lower(), plain)
