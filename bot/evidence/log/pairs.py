"""The numbers of a line of words, each with its name: `step 250: val loss 4.09`, `key=value`, a
dictionary.

    pairs_of("step 250 | val loss 4.0917")     [("step", "250", ...), ("val_loss", "4.0917", ...)]
"""

from __future__ import annotations

import functools as ft
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bot.evidence.log import names as N
from bot.evidence.log.names import VALIDATION, normal

_MOST_VALUES = 60
_VALUE = re.compile(
    r"(?<![\w.])([-+]?\.?\d[\w.,:+%'-]{0,40}(?:/\s{0,12}\d{1,15})?|[-+]?(?:nan|inf)(?!\w))"
    rf"(?:\s({N.UNITS})(?![\w/=:.]))?"
)
_SPLIT = re.compile(r"[|,;{}()\[\]<>]|\s[-–]\s|[:=]\s|\s{3,}|=[a-z_]{1,20}\s", re.I)
_AT_STEP = re.compile(
    r"(.{0,60}?)[\s:,-]*(?:\b(?:at|after|for|of)\s+|@\s*)?(?:global[ _]|training )?"
    r"(?<!per[ _/])(?:step|iter|iteration|update)s?\s*#?", re.IGNORECASE,
)  # fmt: skip
_PAIR = re.compile(
    r"""['"]([^'"]{1,80})['"]\s?[:=]\s?(?:'([^']{0,80})'|"([^"]{0,80})"|([^\s,{}\[\]]{1,80}))"""
)
_MEANT = re.compile(r"step|iter|update|loss|bpb|entropy|nll", re.IGNORECASE)
_VERB = re.compile(r"\s+(?:reached|is|was|now|of|equals)\s*$", re.IGNORECASE)
_CLOSED = re.compile(r"\s{0,3}(?:[\])]|\(\s{0,3}\d{1,3}%\))")  # [ 100/1251 (  8%)]
_UNIT_BEFORE = re.compile(rf"(.*)\(({N.UNITS})\)\s*", re.DOTALL)


def pairs_of(line: str) -> tuple[list[tuple[str, str, str]], str]:
    """(name, value as printed, the text before it) of a line, and what the line is about: its text
    before the first value, or the words of a dictionary."""
    start, end = line.find("{"), line.rfind("}")
    if 0 <= start < end:
        inside = list(_dictionary(line[start : end + 1]))
        if inside:
            words = " ".join(text for _, text in inside if text[:1].isalpha() and len(text) < 20)
            before = line[:start]
            steps = [p for p in _text(before)[0] if p[0] in ("step", "iter", "iteration")]
            return [*((n, t, "") for n, t in inside), *steps], f"{before[-80:]} {words}"
    return _text(line)


def _dictionary(text: str) -> Iterator[tuple[str, str]]:
    """Names and values of a JSON object or of a printed Python dictionary, nested ones joined."""
    try:
        value = json.loads(text if '"' in text else text.replace("'", '"'))
    except (ValueError, RecursionError):
        for match in _PAIR.finditer(text):
            yield normal(match[1]), next(part for part in match.groups()[1:] if part is not None)
        return
    if isinstance(value, dict):
        yield from _flat(value, "", 0)


def _flat(value: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    for name, item in value.items():
        if isinstance(item, dict) and depth < 4:
            yield from _flat(item, f"{prefix}{name}/", depth + 1)
        elif isinstance(item, str | int | float) and not isinstance(item, bool):
            yield normal(prefix + name), str(item).strip()[:80]


def _text(line: str) -> tuple[list[tuple[str, str, str]], str]:
    """The numbers of a line of words, each with the name before it."""
    pairs: list[tuple[str, str, str]] = []
    last, about, pending = 0, "", ""
    for match in _VALUE.finditer(line):
        gap = line[last : match.start()]
        last = match.end()
        text = match[1].rstrip(",.;:'-") + (f" {match[2]}" if match[2] else "")
        name = _name(gap)
        inside = gap.rstrip().endswith(("[", "(")) and bool(_CLOSED.match(line, last))
        counted = "/" in text and not VALIDATION.search(gap) or gap.endswith("] [")
        if not name and inside and counted:
            name = "step"
            if pairs and pairs[-1][0] in ("train", "training", "epoch", "train_epoch"):
                pairs[-1] = (N.EPOCH, *pairs[-1][1:])  # Train: 3 [  50/1251 (  4%)]
        at = _AT_STEP.fullmatch(name)
        if at is not None:
            pending, name = (at[1] if at[1].strip() else pending), "step"
        elif not name and pending:
            name, pending = pending, ""
        if not about and _MEANT.search(name):
            about = line[max(0, match.start() - 160) : match.start()]
        pairs.append((normal(name), text, gap[-80:] or " "))
        if len(pairs) == _MOST_VALUES:
            break
    return pairs, about


@ft.lru_cache(maxsize=1024)
def _name(gap: str) -> str:
    """The name of a value: the words before it, from the last separator on."""
    if unit := _UNIT_BEFORE.fullmatch(gap.rstrip(" :=\t")):
        gap = f"{unit[1].rstrip()}_{unit[2]}"
    name = _SPLIT.split(gap.rstrip(" \t:=~>-[(<\"'#"))[-1]
    return _VERB.sub("", name).strip()
