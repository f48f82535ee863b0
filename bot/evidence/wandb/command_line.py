"""The arguments of the command that started a run, as W&B's client recorded them by itself.

    settings_of(["--lr", "0.1", "train.steps=900", "--fast"])
    {"_argv.lr": 0.1, "_argv.train.steps": 900, "_argv.fast": True}

They are read as settings are. Of a run nothing is kept of them but options in which two arms may
differ, by the names that begin with `_argv.`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from bot.evidence.wandb.history import Raw, flatten

PREFIX = "_argv."
_MOST, _LONGEST = 400, 200
_NAME = re.compile(r"[A-Za-z][\w./-]{0,79}")
_NUMBER = re.compile(r"[+-]?\d[\d_]{0,17}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,2})?")
_ASSIGNED = re.compile(
    r"(?<![\w.])([A-Za-z]\w{1,60})=('[^']{0,200}'|\"[^\"]{0,200}\"|[\w.+-]{1,60})"
)
_LONGEST_PACKED = 20_000
_OPTION = re.compile(r"^-|\s--[A-Za-z][\w.-]{1,60}(?:[\s=]|$)")
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


def stated_by(raw: Raw) -> dict[str, object]:
    """What a run states: its configuration by flat names, what that holds packed, and the arguments
    of its command."""
    settings = flatten(raw.config)
    return settings | _packed(settings) | dict(raw.arguments)


def _packed(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings that stand in the text or the list of another: JSON, `Namespace(lr=0.1)`, or the
    arguments of a command."""
    found: dict[str, object] = {}
    for name, value in settings.items():
        inner = _inside(value) if isinstance(value, str | list) else {}
        # A command is one, whatever the setting is called that holds it.
        found |= {n if n.startswith(PREFIX) else f"_{name}.{n}": v for n, v in inner.items()}
    return dict(list(found.items())[:_MOST])


def _inside(value: str | list[object]) -> dict[str, object]:
    if isinstance(value, list):
        return (
            settings_of(value) if any(str(item).startswith("--") for item in value[:_MOST]) else {}
        )
    if len(value) > _LONGEST_PACKED:
        return {}
    if value.lstrip().startswith("{"):
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            return {}
        return flatten(read) if isinstance(read, dict) else {}
    if _OPTION.search(value):
        return settings_of(value.split())
    if re.match(r"\w{1,40}\(", value):
        return {n: _value(v) for n, v in _ASSIGNED.findall(value)[:_MOST]}
    return {}


def _value(text: str) -> object:
    """A number, a switch or nothing where a text is one of them."""
    plain = text.strip("'\"")
    if _NUMBER.fullmatch(plain):
        number = float(plain.replace("_", ""))
        return int(number) if number == int(number) else number
    return _WORDS.get(plain.lower(), plain)
