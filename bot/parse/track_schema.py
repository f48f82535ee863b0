"""What is wrong in the text of a track file, in sentences for the maintainer who wrote it.

`problems_in(data, text)` holds the parsed TOML against `schemas/track.schema.json` and against
what the schema cannot say (dates, ranges, names of rules). Each sentence names the line, the key,
what stands there and what to write. The schema is walked here: the jsonschema package knows no
days of TOML, and loading it would double the time of a command that only reads tracks.
"""

from __future__ import annotations

import datetime as dt
import functools as ft
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bot.model.values import near_key
from bot.parse import track_sense
from bot.paths import schema_path
from bot.registry import catalogue

Path = tuple[str | int, ...]
Problem = tuple[Path, str]

_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "a text in quotes"),
    "array": ((list, tuple), "a list in [ ]"),
    "integer": ((int,), "a whole number"),
    "number": ((int, float), "a number"),
    "boolean": ((bool,), "true or false"),
    "object": ((dict,), "a table of keys"),
}
_DATES = ("date",)
_RANGES: Mapping[Path, tuple[float, float, str]] = {
    ("significance", "alpha"): (0, 1, "a number between 0 and 1, such as 0.01"),
    ("significance", "sigma"): (0, math.inf, "a number above 0"),
    ("significance", "pooled_sd"): (0, math.inf, "a number above 0"),
    ("significance", "pooled_df"): (0, math.inf, "a whole number above 0"),
    ("significance", "margin"): (0, math.inf, "a number above 0"),
    ("significance", "min_runs"): (0, math.inf, "a whole number above 0"),
    ("hardware", "count"): (0, math.inf, "a whole number above 0"),
    ("reproduction", "runs"): (1, math.inf, "a whole number, at least 2"),
    ("reproduction", "alpha"): (0, 1, "a number between 0 and 1, such as 0.05"),
    ("compute_grant", "top"): (0, math.inf, "a whole number above 0"),
    ("compute_grant", "gpu_hours"): (0, math.inf, "a number above 0"),
    ("baseline", "promote_at"): (0, math.inf, "a ratio above 0, such as 0.9"),
}
_DECIDING: tuple[tuple[str, ...], ...] = (
    ("objective",),
    ("evidence", "accepts"),
    ("significance", "test"),
)
_OPENING = re.compile(r"\"\"\"|'''|\"(?:[^\"\\]|\\.)*\"|'[^']*'|#")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,60}")
_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?\s*(?:#.*)?$")
_ENTRY = re.compile(rf"\s*({_DOTTED})\s*=")


def problems_in(data: Mapping[str, Any], text: str = "") -> Iterator[str]:
    """Every problem, in the order of the schema; none for a file that can be used."""
    lines: Mapping[Path, int] | None = None
    for path, words in _problems(data):
        lines = _lines(text) if lines is None else lines
        line = next((lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in lines), 1)
        yield f"line {line}: {words}" if text else words


def _problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    schema = _schema()
    found = list(_object(data, schema, ()))
    yield from found
    for path, (low, high, wanted) in _RANGES.items():
        value = _at(data, path)
        if _is(value, "number") and not low < value < high:
            yield path, f"{_name(path)} is {_shown(value)}, expected {wanted}"
    levels = data.get("levels")
    if isinstance(levels, dict) and levels:
        for name in levels:
            if name not in catalogue():
                near = _near(name, catalogue()) or "; `speedrun explain` lists the rules"
                yield ("levels", name), f"[levels] names the rule {_shown(name)}, unknown{near}"
    rule = data.get("significance")
    if isinstance(rule, dict) and rule.get("test") == "z":
        if "sigma" not in rule and "threshold" not in rule:
            yield (
                ("significance",),
                ('test "z" needs a known deviation; write sigma = NUMBER under [significance]'),
            )
    yield from track_sense.problems(_without_unsound(data, found))
    quality = data.get("quality")
    if data.get("objective") == "target" and isinstance(quality, dict) and "target" not in quality:
        yield (
            ("quality",),
            ('objective "target" needs the value to reach; write target = NUMBER under [quality]'),
        )


def _without_unsound(data: Mapping[str, Any], found: list[Problem]) -> Mapping[str, Any]:
    """The file less the deciding keys that have a problem of their own: what follows from a typo
    is no second problem."""
    unsound = {path[:length] for path, _ in found for length in range(1, len(path) + 1)}
    for path in _DECIDING:
        if path in unsound:
            *tables, key = path
            if not tables:
                data = {name: value for name, value in data.items() if name != key}
            elif isinstance(table := data.get(tables[0]), dict):
                data = {**data, tables[0]: {k: v for k, v in table.items() if k != key}}
    return data


@ft.cache
def _schema() -> Mapping[str, Any]:
    schema: Mapping[str, Any] = json.loads(
        schema_path("track.schema.json").read_text(encoding="utf-8")
    )
    return schema


def _value(value: Any, schema: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    name = _name(path)
    if path[-1] in _DATES:
        if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
            yield (
                path,
                (f"{name} is {_shown(value)}, expected a day without quotes, such as 2026-05-24"),
            )
        return
    if "const" in schema and (value != schema["const"] or isinstance(value, bool)):
        yield path, f"{name} is {_shown(value)}, this program knows {schema['const']}"
        return
    if "enum" in schema and value not in schema["enum"]:
        near = _near(value, schema["enum"]) if isinstance(value, str) else ""
        yield path, f"{name} is {_shown(value)}, expected {_any_of(schema['enum'])}{near}"
        return
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        wanted = " or ".join(_KINDS[kind][1] for kind in kinds)
        yield path, f"{name} is {_shown(value)}, expected {wanted}{_unquoted(value, kinds)}"
    elif "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        yield path, f"{name} is {_shown(value)}, expected above {schema['exclusiveMinimum']}"
    elif "pattern" in schema and not re.search(schema["pattern"], value):
        yield path, f"{name} is {_shown(value)}, expected lower-case letters, digits, - and _"
    elif isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from _value(item, schema["items"], (*path, index))
    elif isinstance(value, dict):
        if path[-1] == "before":
            schema = {**_schema(), "required": ()}
        yield from _object(value, schema, path)


def _object(value: Mapping[str, Any], schema: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    properties = schema.get("properties", {})
    extra = schema.get("additionalProperties")
    where = f"[{_name(path)}]" if path else "the file"
    for key, item in value.items():
        inner = properties.get(key, extra)
        if isinstance(inner, dict):
            yield from _value(item, inner, (*path, key))
        else:
            near = _near(key, properties) or f", expected {_any_of(properties)}"
            yield (*path, key), f"{where} has the unknown key {_shown(key)}{near}"
    for key in schema.get("required", ()):
        if key not in value:
            wanted = "a table " if properties[key].get("type") == "object" else "the key "
            text = f"[{key}]" if wanted == "a table " else key
            yield path, f"{where} lacks {wanted}{text}: {_lower(properties[key]['description'])}"


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool) and kind != "boolean":
        return False
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, _KINDS[kind][0])


def _at(data: Any, path: Path) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _name(path: Path) -> str:
    """A key as people write it: `quality.target`, `rules[2].date` (counted from 1)."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key + 1}]"
            continue
        shown = key if _BARE_KEY.fullmatch(key) else _shown(key)
        text += f".{shown}" if text else shown
    return text


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, dt.date):
        return value.isoformat()
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _any_of(names: Any) -> str:
    shown = [json.dumps(name) if isinstance(name, str) else str(name) for name in names]
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _near(name: str, names: Any) -> str:
    near = near_key(name, {str(known) for known in names}, 0.7)
    return f"; did you mean {json.dumps(near)}?" if near else ""


def _unquoted(value: Any, kinds: Any) -> str:
    """A remedy where the value is right but for its quotes or brackets."""
    if isinstance(value, str) and any(kind in ("number", "integer") for kind in kinds):
        try:
            return f"; write {json.loads(value)} without quotes"
        except ValueError:
            return ""
    if isinstance(value, str) and kinds == ("array",):
        return f"; write [{_shown(value)}]"
    return ""


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


# ---- where the keys stand -----------------------------------------------------------------------


def _lines(text: str) -> Mapping[Path, int]:
    """Path of a key or table -> its line. Keys of inline tables stand for themselves in no line."""
    found: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    depth, quotes = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        bare, after = _bare(line, quotes)
        if depth == 0 and not quotes:
            header, entry = _HEADER.match(line), _ENTRY.match(line)
            if header:
                table = _table(_keys(header[2]), header[1] == "[[", counts)
                found.setdefault(table, number)
                continue
            if entry:
                found.setdefault((*table, *_keys(entry[1])), number)
        quotes = after
        depth = max(0, depth + sum(map(bare.count, "[{")) - sum(map(bare.count, "]}")))
    return found


def _bare(line: str, quotes: str) -> tuple[str, str]:
    """The line without texts and comments, and the triple quotes that are open at its end."""
    bare, place = [], 0
    while place < len(line):
        if quotes:
            end = line.find(quotes, place)
            if end < 0:
                break
            quotes, place = "", end + 3
        cut = _OPENING.search(line, place)
        bare.append(line[place : len(line) if cut is None else cut.start()])
        if cut is None or cut[0] == "#":
            break
        place = cut.end()
        quotes = cut[0] if cut[0] in ('"""', "'''") else ""
    return "".join(bare), quotes


def _keys(dotted: str) -> Path:
    return tuple(key.strip("\"'") for key in re.findall(_KEY, dotted))


def _table(keys: Path, listed: bool, counts: dict[Path, int]) -> Path:
    """The path of a table's header, with the index of the [[list]] that it belongs to."""
    path: Path = ()
    for place, key in enumerate(keys):
        path = (*path, key)
        if listed and place == len(keys) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path
