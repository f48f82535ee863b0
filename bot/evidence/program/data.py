"""What a source states about sizes and files: part of `bot.evidence.program`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from bot.evidence import amounts, counters, second
from bot.evidence.program.figures import is_loss
from bot.evidence.program.source import (
    VALIDATION,
    Bound,
    Source,
    args_of,
    called,
    is_number,
    name_of,
    parts_of,
)
from bot.evidence.second import words
from bot.model.run import Stated, Witness

_STEPS = re.compile(r"^((?:max_|num_|n_|limit_)?(?:val|valid|validation))_steps$")
"""A number of batches, under a name that is an interval for `eval`."""
_PATH = re.compile(r"[\w{}$./\\*?\[\]-]{0,200}[./*_][\w{}$./\\*?\[\]-]{1,200}")
_USUAL_BATCH = 2.0**20
"""Tokens of a validation batch whose size is not stated, at the most."""
_USUAL_LENGTH = 1024.0
_MOST_CHIPS, _MOST = 8, 100
_LISTS = frozenset("glob iglob rglob listdir scandir iterdir".split())
_ALL = re.compile(r"(?:.*[/\\\\])?\*(?:\.(\w{1,8}|\*))?", re.DOTALL)
"""A pattern whose last part takes every name, but for its ending."""
_NO_TEXT = frozenset("py pyx pyi cu cuh cpp cc c h hpp sh md json yaml yml toml log txt".split())
_NO_FOLDER = frozenset(
    "log logs logfile logdir ckpt ckpts checkpoint checkpoints out output outputs result results "
    "code script run runs save saved model models cache tmp".split()
)
_OF_DATA = counters.DATA_WORDS | {"train", "training", "path", "paths", "filename", "filenames"}


def sizes(source: Source) -> Iterator[Stated]:
    """Planned lengths, sizes of the validation, of the vocabulary."""
    for item, value in source.numbers:
        if counters.is_validation_size(item.name) and value > 0:
            yield source.stated("validation", item.line, value, item.name)
        elif second.states_length(item.name) and value > 0:
            yield source.stated("plan", item.line, value, item.name)
        elif words(item.name) in ("vocab_size", "n_vocab", "padded_vocab_size"):
            yield source.stated("vocabulary", item.line, value, item.name)
    yield from _batches(source)


def _batches(source: Source) -> Iterator[Stated]:
    """The tokens that numbers of validation batches make, the least value of each name."""
    least: dict[str, tuple[float, int]] = {}
    for item, value in (*source.numbers, *_loops(source)):
        name = _STEPS.sub(r"\1_iters", words(item.name))
        if value > 0 and not counters.is_validation_size(name):
            least[name] = min(least.get(name, (value, item.line)), (value, item.line))
    settings = {name: value for name, (value, _) in least.items()}
    if not any(name in second.SEQUENCES for name in settings):
        settings["seq_len"] = _USUAL_LENGTH
    unknown = {**settings, "val_batch_tokens": _USUAL_BATCH}
    found: dict[str, Witness] = {}
    for witness in (*amounts.validation(settings, _MOST_CHIPS, ""),
                    *amounts.validation(unknown, _MOST_CHIPS, "")):  # fmt: skip
        found.setdefault(witness.source, witness)
    for witness in found.values():
        kind = "share" if witness.quantity == "validation_share" else "validation"
        name = witness.source.split("`")[1]
        line = least[name][1] if name in least else 0
        yield source.stated(kind, line, float(witness.value), name)


def _loops(source: Source) -> Iterator[tuple[Bound, float]]:
    """How often loops run that add up a validation loss."""
    for node in source.nodes:
        if isinstance(node, ast.For) and called(node.iter) == "range" and args_of(node.iter):
            times = source.fold(args_of(node.iter)[min(1, len(args_of(node.iter)) - 1)])
            summed = (s.target for s in node.body if isinstance(s, ast.AugAssign))
            if is_number(times) and any(is_loss(name_of(target)) for target in summed):
                yield Bound("val_iters", node.iter, node.lineno), float(times)


def files(source: Source) -> Iterator[Stated]:
    """Validation text that is trained on, and the other way round."""
    named = [(b, path) for b in source.bound if (path := path_of(b.value))]
    beside = {"_".join(w for w in words(b.name).split("_") if w not in VALIDATION)
              for b, _ in named if VALIDATION & parts_of(b.name)}  # fmt: skip
    sides = [(_side(b.name, beside), b, path) for b, path in named]
    sides += [
        (side, b, path)
        for b in source.bound
        if "loader" in words(b.name) and isinstance(b.value, ast.Call)
        for path in filter(None, map(path_of, b.value.args[:3]))
        if (side := "val" if VALIDATION & parts_of(b.name) else "train")
    ]
    train = [(b, path) for side, b, path in sides if side == "train"]
    held = [(b, path) for side, b, path in sides if side == "val"]
    patterns = {path for _, path in train[:_MOST]}
    for item, path in train:
        if counters.trains_on_validation(f"train_{item.name}", path):
            yield source.stated("overlap", item.line, name=item.name)
    for item, path in held[:_MOST]:
        if _is_training(path) or any(_covers(path, p) or _covers(p, path) for p in patterns):
            yield source.stated("overlap", item.line, name=item.name)
    yield from _loaders(source)
    yield from _whole_folders(source)
    for item in source.bound:
        side, given = _side(item.name, beside), _side(name_of(item.value), set())
        if side and given and side != given:
            yield source.stated("overlap", item.line, name=item.name)


def _side(name: str, beside: set[str]) -> str:
    """Whether a name is that of files to train on, to validate on, or of others; `beside` are names
    of files to validate on, without the words that say so."""
    found = parts_of(name)
    if VALIDATION & found:
        return "val" if found - VALIDATION <= counters.DATA_WORDS else ""
    return "train" if {"train", "training"} & found or words(name) in beside else ""


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


def _whole_folders(source: Source) -> Iterator[Stated]:
    """Every file of the folder in which a pattern of data files lies: those of validation too."""
    found = [
        node
        for node in source.nodes
        if isinstance(node, ast.Call) and called(node) in _LISTS and _takes_all(node)
    ][:_MOST]
    found = [node for node in found if any(map(_is_of_data, _folders(source, node)))]
    choosing = [node for node in source.nodes if _chooses(node)] if found else []
    chosen = {id(n) for node in choosing for n in ast.walk(node)}
    for node in found:
        if id(node) not in chosen:
            yield source.stated("overlap", node.lineno, name=called(node))


def _chooses(node: ast.AST) -> bool:
    """Whether an expression or a loop takes only some of what it goes through."""
    if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
        return any(g.ifs for g in node.generators)
    if isinstance(node, ast.For):
        return any(isinstance(part, ast.If) for part in node.body)
    return called(node) == "filter"


def _takes_all(node: ast.Call) -> bool:
    """Whether a call lists every file of a folder, or every one with an ending of data."""
    if called(node) in ("listdir", "scandir", "iterdir"):
        return True
    texts = [n.value for a in node.args[:1] for n in ast.walk(a)
             if isinstance(n, ast.Constant) and isinstance(n.value, str)]  # fmt: skip
    found = _ALL.fullmatch(texts[-1]) if texts else None
    return found is not None and (found[1] or "").lower() not in _NO_TEXT


def _folders(source: Source, node: ast.Call) -> Iterator[ast.expr]:
    """What `dirname(x)` and `x.parent` within a call, or a name in it, are taken of."""
    parts = [*ast.walk(node)]
    for name in [n.id for n in parts if isinstance(n, ast.Name)]:
        parts += source.values.get(name, [])[:_MOST]
    for part in parts:
        if called(part) == "dirname":
            yield from args_of(part)[:1]
        elif isinstance(part, ast.Attribute) and part.attr == "parent":
            yield part.value


def _is_of_data(node: ast.expr) -> bool:
    names = [name for n in ast.walk(node) if (name := name_of(n))]
    found = frozenset[str]().union(*map(parts_of, names))
    return bool(found & _OF_DATA) and not found & _NO_FOLDER and "__file__" not in names
