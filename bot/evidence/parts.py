"""The size of an artifact that is stated in parts: files, shards, or the compressed model and code.

    in_line("model_part_1: 9,000,000 bytes")            [("model_part_1", 9000000.0)]
    sums({"model_part_1": 9e6, "model_part_2": 9e6})    [("`model_part_1` and ...", 18000000.0)]

Shared by logs, W&B and JSON files. What is not compressed, and shards of data, are no parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bot.model.run import Witness, WitnessKind
from bot.model.values import finite
from bot.render.untrusted import plain

_UNITS = {
    "bytes": 1.0, "byte": 1.0, "b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2.0**10,
    "mib": 2.0**20, "gib": 2.0**30,
}  # fmt: skip
_SIZE = re.compile(
    r"(?<![\w.,])(\d[\d,_]{0,15}(?:\.\d{1,6})?)\s?(bytes|[KMG]i?B|B)(?![\w/])", re.IGNORECASE
)
_HAS_UNIT = re.compile(r"\d\s?(?:[kmg]i?)?b\b")
_ENDS = re.compile(r"[|,;(){}\[\]]")
_NAMED = re.compile(r"(?<![\w.])([A-Za-z][\w./+-]{0,60}_(?:bytes|size))['\"]?\s{0,2}[:=]\s{0,4}"
                    r"(\d[\d,_]{0,15})(?![\w.%])")  # fmt: skip
_INDEX = re.compile(
    r"(?:part|shard|chunk|piece|slice|volume|file|weights|model|artifact|blob|bin)s?[ _.#-]{0,2}"
    r"(\d{1,5}|[a-h])(?:\s?(?:/|of|-of-)\s?\d{1,5})?(?![a-z0-9])|(\d{1,5})-of-\d{1,5}"
)
_LISTED = re.compile(
    r"(?:^|\.)(?:(?:model|artifact|weight|weights|submission)_)?(?:parts|shards|chunks|pieces)"
    r"(?:_bytes|_sizes?)?\."
)
_NOT_OF_IT = re.compile(
    r"(?<![a-z])(?:train|training|val|valid|validation|data|dataset|token|tokens|corpus|text|cache"
    r"|fineweb|loader|optimizer|grad|rank|memory|activation|gpu|peak|raw|uncompressed|unquantized"
    r"|before|original|fp32|bf16|checkpoint|log|limit|budget|max|allowed|remaining|free|disk)"
    r"(?![a-z])"
)
_CODE = re.compile(r"(?<![a-z])(?:code|script|source)(?![a-z])")
_COMPRESSED = re.compile(
    r"(?<![a-z])(?:compressed|zlib|zstd|brotli|lzma|xz|gzip|int8|int6|int5|int4|quantized|packed)"
    r"(?![a-z])"
)
_WHOLE = re.compile(r"(?<![a-z])(?:total|sum|whole|overall|all|submission|combined)(?![a-z])")
_MOST, _DEEPEST, _LEAST, _LONGEST = 400, 6, 1024, 400
_MOST_NAMED = 4


def in_line(line: str) -> Iterator[tuple[str, float]]:
    """The sizes in bytes that a line states, each by its name."""
    line = line[:_LONGEST]
    lower = line.lower()
    if "byte" not in lower and "_size" not in lower and not _HAS_UNIT.search(lower):
        return
    for found in _SIZE.finditer(line):
        before = line[max(found.start() - 90, 0) : found.start()].rstrip(" \t:='\"(|")
        name = _ENDS.split(before)[-1].strip(" '\"")
        if name:
            yield name, _number(found[1]) * _UNITS[found[2].lower()]
    for name, text in _NAMED.findall(line):
        yield name, _number(text)


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("_", ""))


def in_json(value: object, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, float]]:
    """The numbers of nested objects and lists that may be sizes, by their dotted names."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, item in list(value.items())[:_MOST]:
            yield from in_json(item, f"{prefix}{key}.", depth + 1)
    elif isinstance(value, list | tuple):
        for n, item in enumerate(value[:_MOST]):
            yield from in_json(item, f"{prefix}{n}.", depth + 1)
    elif finite(value) and float(value) >= _LEAST:
        name = prefix[:-1]
        if _LISTED.search(name.lower()) or re.search(r"bytes|size", name.lower()):
            yield name, float(value)


def may_be_part(name: str) -> bool:
    """Whether a name may be the size of a part of an artifact."""
    lower = name.lower()
    kind = _INDEX.search(lower) or _CODE.search(lower) or _COMPRESSED.search(lower)
    return re.search(r"bytes|size", lower) is not None and kind is not None


def sums(sizes: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """What sizes that are parts of one artifact make together: the numbered parts of each name,
    and the smallest compressed model with the code."""
    groups: dict[str, dict[str, tuple[str, float]]] = {}
    for name, size in list(sizes.items())[:_MOST]:
        lower = name.lower()
        if _NOT_OF_IT.search(lower) or _WHOLE.fullmatch(lower.rpartition(".")[2]):
            continue
        if (listed := _LISTED.search(lower)) is not None:
            index = re.sub(r"[._](?:bytes|size)$", "", lower[listed.end() :])
            groups.setdefault(lower[: listed.end()], {})[index] = (name, size)
        elif (found := _INDEX.search(lower)) is not None:
            stem = f"{lower[: found.start()]}#{lower[found.end() :]}"
            groups.setdefault(stem, {})[found[1] or found[2]] = (name, size)
    for parts in groups.values():
        if len(parts) > 1:
            yield _told(sorted(parts.values()))
    code = [(n, s) for n, s in sizes.items() if _CODE.search(n.lower()) and not _is_whole(n)]
    models = [
        (n, s)
        for n, s in sizes.items()
        if _COMPRESSED.search(n.lower()) and not _is_whole(n) and not _CODE.search(n.lower())
    ]
    if code and models:
        yield _told([min(models, key=lambda item: item[1]), max(code, key=lambda item: item[1])])


def witnesses(sizes: Mapping[str, float], where: str) -> Iterator[Witness]:
    """What the parts of an artifact make together, as statements of a run."""
    for source, total in sums(sizes):
        yield Witness("bytes_in_parts", total, WitnessKind.PROGRAM, f"{source} in {where}")


def _is_whole(name: str) -> bool:
    lower = name.lower()
    return bool(_WHOLE.search(lower) or _NOT_OF_IT.search(lower))


def _told(parts: list[tuple[str, float]]) -> tuple[str, float]:
    """Parts in words, and their sum."""
    names = [f"`{plain(name, 40)}`" for name, _ in parts[:_MOST_NAMED]]
    more = [f"{len(parts) - _MOST_NAMED} more"] if len(parts) > _MOST_NAMED else []
    *first, last = [*names, *more]
    return f"{', '.join(first)} and {last}", sum(size for _, size in parts)
