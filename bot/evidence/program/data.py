"""What a source states about sizes and files: part of `bot.evidence.program`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from bot.evidence import counters, second
from bot.evidence.program.source import VALIDATION, Bound, Source, name_of, parts_of
from bot.evidence.second import words
from bot.model.run import Stated

_LIMIT = re.compile(
    r"^(?:max_|num_|n_|limit_|total_)?(?:val|valid|validation|eval)_(?:iters|batches)$"
    r"|^(?:max_|num_|n_|limit_)?(?:val|valid|validation)_steps$"
    r"|^(?:max|limit|num|n)_eval_steps$"
)
_BATCH = re.compile(r"(?:^|_)(?:val|valid|validation|eval)_(?:\w{1,20}_)?batch(?:_size|_tokens)?$"
                    r"|(?:^|_)batch_size$|^(?:batch_tokens|total_batch_size)$")  # fmt: skip
_LOCAL = frozenset("device local micro gpu rank".split())
_PATH = re.compile(r"[\w{}$./\\*?\[\]-]{0,200}[./*_][\w{}$./\\*?\[\]-]{1,200}")
_SEQUENCES_AT_MOST = 8192
"""A larger batch counts tokens."""
_USUAL_BATCH = 2.0**20
"""Tokens of a validation batch whose size is not stated, at the most."""


def sizes(source: Source) -> Iterator[Stated]:
    """Planned lengths, sizes of the validation, of the vocabulary."""
    for item, value in source.numbers:
        if value <= 0:
            continue
        if counters.is_validation_size(item.name):
            yield source.stated("validation", item.line, value, item.name)
        elif _LIMIT.search(words(item.name)):
            yield from _limited(source, item, value)
        elif second.states_length(item.name):
            yield source.stated("plan", item.line, value, item.name)
        elif words(item.name) in ("vocab_size", "n_vocab", "padded_vocab_size"):
            yield source.stated("vocabulary", item.line, value, item.name)


def _limited(source: Source, item: Bound, value: float) -> Iterator[Stated]:
    """The tokens that a number of validation batches makes at the most, by the largest batch."""
    if value < 1:
        yield source.stated("share", item.line, value, item.name)
        return
    batches = [(b.name, v) for b, v in source.numbers if _BATCH.search(words(b.name)) and v > 0]
    own = [(n, v) for n, v in batches if VALIDATION & parts_of(n)] or batches
    lengths = [v for b, v in source.numbers if words(b.name) in second.SEQUENCES]
    sizes = [v * max([*lengths, 1.0]) * (8 if _LOCAL & parts_of(n) else 1)
             if v <= _SEQUENCES_AT_MOST else v for n, v in own]  # fmt: skip
    tokens = value * max([*sizes, _USUAL_BATCH if not own else 0.0])
    yield source.stated("validation", item.line, tokens, item.name)


def files(source: Source) -> Iterator[Stated]:
    """Validation text that is trained on, and the other way round."""
    named = [(b, path) for b in source.bound if (path := path_of(b.value))]
    sides = {b: _side(b.name, {n.name for n, _ in named}) for b, _ in named}
    train = [(b, p) for b, p in named if sides[b] == "train"]
    held = [(b, p) for b, p in named if sides[b] == "val"]
    for item, path in train:
        if counters.trains_on_validation(f"train_{item.name}", path):
            yield source.stated("overlap", item.line, name=item.name)
    for item, path in held:
        if _is_training(path) or any(_covers(path, p) or _covers(p, path) for _, p in train):
            yield source.stated("overlap", item.line, name=item.name)
    yield from _loaders(source)


def _side(name: str, others: set[str]) -> str:
    """Whether a name is that of files to train on, to validate on, or of others."""
    parts = words(name).split("_")
    if VALIDATION & set(parts):
        return "val" if set(parts) - VALIDATION <= counters.DATA_WORDS else ""
    beside = {"_".join(w for w in words(n).split("_") if w not in VALIDATION)
              for n in others if VALIDATION & parts_of(n)}  # fmt: skip
    return "train" if {"train", "training"} & set(parts) or words(name) in beside else ""


def path_of(node: ast.AST) -> str:
    """The path that an expression holds, with `*` for what is not known; "" for none."""
    if isinstance(node, ast.Constant):
        text = node.value if isinstance(node.value, str) else ""
    elif isinstance(node, ast.JoinedStr):
        text = "".join(str(v.value) if isinstance(v, ast.Constant) else "*" for v in node.values)
    elif isinstance(node, ast.Call) and name_of(node.func) in ("join", "Path", "glob", "sorted"):
        text = "/".join(filter(None, map(path_of, node.args)))
    elif isinstance(node, ast.List | ast.Tuple) and node.elts:
        text = path_of(node.elts[0])
    else:
        text = ""
    return text if len(text) <= 400 and _PATH.fullmatch(text) else ""


def _is_training(path: str) -> bool:
    last = parts_of(re.split(r"[/\\]", path)[-1])
    return bool({"train", "training"} & last) and not VALIDATION & last


def _covers(pattern: str, path: str) -> bool:
    """Whether a pattern of file names takes the files of another, or is the same."""
    if pattern == path:
        return bool(re.search(r"\.\w{1,8}$|\*", path))
    return "*" in pattern and fnmatchcase(path.replace("*", "000001"), pattern)


def _loaders(source: Source) -> Iterator[Stated]:
    """A loader of one part of the data that is given the files of the other."""
    for item in source.bound:
        mine = parts_of(item.name) & (VALIDATION | {"train", "training"})
        if "loader" not in words(item.name) or not mine or not isinstance(item.value, ast.Call):
            continue
        given = [parts_of(name_of(n) or path_of(n)) for n in ast.walk(item.value)
                 if isinstance(n, ast.Name | ast.Attribute | ast.Constant)]  # fmt: skip
        files = [p for p in given if p & counters.DATA_WORDS]
        other = {"train", "training"} if mine & VALIDATION else VALIDATION
        if any(p & other for p in files) and not any(p & mine for p in files):
            yield source.stated("overlap", item.line, name=item.name)
