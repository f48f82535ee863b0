"""Strict JSON with a way back to the line: the only reader of JSON that strangers send.

`read_json` never raises on bad input: what is wrong comes back as findings of the rule
`json-invalid`, each one sentence with its line. UTF-8 only, no NaN or Infinity, no number that
overflows, no duplicate keys, no lone surrogates, bounded size, depth and digits. Lines are
computed only when somebody asks for one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from bot.model.document import Document
from bot.model.submission import MAX_JSON_BYTES
from bot.model.verdict import Finding, finding
from bot.parse.json_scan import (
    MAX_INT_DIGITS,
    Index,
    Scan,
    escape,
    first_deeper,
    line_column,
)
from bot.render.untrusted import shown

MAX_DEPTH = 40
MAX_PROBLEMS = 20

_HALF_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BOMS = {
    b"\xef\xbb\xbf": "a byte order mark",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


class Place:
    """Where a value lies, spelled out as a pointer only when somebody asks."""

    __slots__ = ("key", "_parent")

    def __init__(self, key: str | int, parent: Place | None) -> None:
        self.key, self._parent = key, parent

    @property
    def pointer(self) -> str:
        """The JSON pointer."""
        keys, place = [], self
        while place._parent is not None:
            keys.append(escape(str(place.key)))
            place = place._parent
        return "".join(f"/{key}" for key in reversed(keys))


def strings(value: Any) -> Iterator[tuple[Place, str]]:
    """Every text in a JSON value with its place, keys included (at their own place)."""
    root = Place("", None)
    if isinstance(value, str):
        yield root, value
    stack = [(root, value)] if isinstance(value, (dict, list)) else []
    while stack:
        place, item = stack.pop()
        inside: Iterable[tuple[Any, Any]] = (
            item.items() if isinstance(item, dict) else enumerate(item)
        )
        for key, inner in inside:
            if isinstance(key, str):
                yield Place(key, place), key
            if isinstance(inner, str):
                yield Place(key, place), inner
            elif inner and isinstance(inner, (dict, list)):
                stack.append((Place(key, place), inner))


def read_json(data: bytes, file: str) -> Document:
    """Read one file. Never raises for what `data` holds; see the module's text."""
    problem = _refuse_bytes(data, file)
    if problem is not None:
        return Document(file, None, (problem,))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        bad = data[error.start]
        return Document(
            file,
            None,
            (
                _invalid(
                    file, f"the byte 0x{bad:02x} is not UTF-8", "save the file as UTF-8", line=line
                ),
            ),
        )
    return _parse(text, file)


class _Strange(ValueError):
    """Something that Python's reader would accept and that is not strict JSON."""


def _parse(text: str, file: str) -> Document:
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_int,
        )
        problems = _value_problems(value, text, file)
    except json.JSONDecodeError as error:
        problems = (_syntax(error, text, file),)
    except RecursionError:
        problems = (_too_deep(file),)
    except _Strange:
        value, problems = (
            None,
            tuple(_strange(text, file))
            or (_invalid(file, "this is not strict JSON", "write it with a JSON library"),),
        )
    return Document(file, None if problems else value, problems, text)


def _refuse_bytes(data: bytes, file: str) -> Finding | None:
    if len(data) > MAX_JSON_BYTES:
        return _invalid(
            file,
            f"the file has {len(data):,} bytes, at most {MAX_JSON_BYTES:,} are read",
            "keep the results in this file and put long series in a log",
            claimed=len(data),
            expected=MAX_JSON_BYTES,
        )
    if not data.strip():
        return _invalid(file, "the file is empty", "write the results into it", line=1)
    for mark, what in _BOMS.items():
        if data.startswith(mark):
            return _invalid(
                file,
                f"the file begins with {what}",
                "save it as UTF-8 without a byte order mark (BOM)",
                line=1,
            )
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        return _invalid(
            file,
            "the file contains a zero byte, so it is not a text file",
            "submit the JSON file itself, not an archive or a binary",
            line=line,
        )
    return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _Strange("duplicate key")
    return value


def _constant(name: str) -> Any:
    raise _Strange(name)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _Strange(digits)
    return value


def _int(digits: str) -> int:
    if len(digits) > MAX_INT_DIGITS:
        raise _Strange(digits)
    return int(digits)


def _strange(text: str, file: str) -> Iterator[Finding]:
    """Findings with lines for duplicate keys, constants and numbers out of range."""
    scan, count = Scan(text), 0
    for event in scan.events():
        if event.odd is None:
            continue
        count += 1
        if count > MAX_PROBLEMS:
            return
        if event.odd == "duplicate":
            message = f"the key {shown(event.key)} appears twice in one object"
            fix = "keep one of the two"
        elif event.odd.lstrip("-") in ("NaN", "Infinity"):
            message = f"{event.odd} is not a number in JSON"
            fix = "write a number, or null if there is none"
        else:
            message = f"the number {_digits(event.odd)} is out of range"
            fix = "write a number that fits in a double"
        line = line_column(text, event.offset)[0]
        yield _invalid(file, message, fix, line=line, pointer=scan.pointer)


def _digits(number: str) -> str:
    return number if len(number) <= 30 else f"{number[:20]}... ({len(number)} digits)"


def _value_problems(value: Any, text: str, file: str) -> tuple[Finding, ...]:
    if _is_too_deep(value):
        line = line_column(text, first_deeper(text, MAX_DEPTH))[0]
        return (_too_deep(file, line),)
    if not _HALF_SURROGATE.search(text):
        return ()
    for place, string in strings(value):
        if any("\ud800" <= c <= "\udfff" for c in string):
            pointer = place.pointer
            line = line_column(text, Index(text).find(pointer))[0]
            return (
                _invalid(
                    file,
                    "the text contains a lone surrogate (\\ud800 to \\udfff)",
                    "write the character itself in UTF-8",
                    line=line,
                    pointer=pointer,
                ),
            )
    return ()


def _is_too_deep(value: Any) -> bool:
    """Whether lists and objects are nested more than MAX_DEPTH deep."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for item in level
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, (dict, list))
        ]
    return bool(level)


def _too_deep(file: str, line: int | None = None) -> Finding:
    return _invalid(
        file,
        f"values are nested more than {MAX_DEPTH} deep",
        "flatten the configuration",
        line=line,
        expected=MAX_DEPTH,
    )


def _syntax(error: json.JSONDecodeError, text: str, file: str) -> Finding:
    """A syntax error in words, with the likely cause where the text tells it."""
    rest = text[error.pos : error.pos + 60].lstrip()
    before = text[: error.pos].rstrip()
    line = error.lineno
    why, fix = _number_cause(text[: error.pos][-60:], rest) or _cause(error.msg, before, rest)
    return _invalid(file, f"column {error.colno}: {why}", fix, line=line)


def _cause(message: str, before: str, rest: str) -> tuple[str, str]:
    if not rest:
        return "the file ends too early", "save the whole file again; it looks cut off"
    if message.startswith("Extra data"):
        return "there is text after the end of the JSON value", "keep one object in the file"
    if rest[0] in "}]" and before.endswith(",") or message.startswith("Illegal trailing comma"):
        return "there is a comma before a closing bracket", "remove that comma"
    if rest.startswith(("//", "#", "/*")):
        return "there is a comment, which JSON does not allow", "remove the comment"
    if rest.startswith(("<<<<<<<", "=======", ">>>>>>>")):
        return (
            "a merge conflict marker was left in the file",
            "keep one side and remove the markers",
        )
    if rest[0] in "'\u201c\u201d\u2018\u2019":
        return 'a text is in other quotes than "', 'use straight double quotes "'
    if rest.startswith(("True", "False", "None")):
        return "a value is spelled as in Python, not JSON", "write true, false or null"
    if message.startswith("Unterminated string"):
        return (
            "the file ends inside the text that starts here: it has no closing quote",
            'save the whole file if it was cut off, or add the closing "',
        )
    if message.startswith("Invalid control character"):
        return "a text contains a line break or control character", "write it as \\n"
    if message.startswith("Invalid") and "escape" in message:
        return "a text contains a backslash that escapes nothing", "write \\\\ for a backslash"
    if "delimiter" in message:
        what = '":"' if "':'" in message else '","'
        return f"{what} is missing", f"add the {what}"
    if "property name" in message:
        return "expected a key in double quotes here", 'write keys as "key"'
    return "this is not JSON", "write one JSON object; check this place"


def _number_cause(before: str, rest: str) -> tuple[str, str] | None:
    """What is wrong with a number: a unit, a comma in it, a form that JSON does not have."""
    ends = re.search(r"(?:[\s:\[]|^)(-?\d[\d.eE+-]*)(,?)(\s*)$", before)
    if ends is None:
        opened = before.rstrip().endswith((":", "[", ","))
        plus = re.match(r"\+?\.?\d", rest) if opened else None
        return (
            None
            if plus is None
            else ("a number starts with + or a point", "start it with a digit, such as 0.5")
        )
    unit = re.match(r"[%A-Za-z\u00b5][^,\n}\]]*", rest)
    if unit is not None and not ends[2] and not re.match(r"(true|false|null)\b", rest):
        return (
            f"{shown(unit.group().rstrip(), 30)} follows a number",
            "write the number alone, without a unit",
        )
    more = re.match(r"[0-9._:][0-9._:eE+-]*", rest) if not ends[3] else None
    if more is not None:
        whole = f"{ends[1]}{ends[2]}{more[0]}"
        return f"{shown(whole, 40)} is not one number", "write only digits and one decimal point"
    return None


def _invalid(file: str, message: str, fix: str, **fields: Any) -> Finding:
    return finding("json-invalid", message, file=file, fix=fix, **fields)
