"""Which parts of a source make what it prints: part of `bot.evidence.program`.

A **region** is a stretch of a list of statements from the one that stops a clock, or prints a
validation loss, to the last that does, or starts a clock; the statement before it, which waits for
the device, belongs to it. What a region calls by name belongs to the measurement as a whole, and so
do functions that by their name read the data, make the loss or print. What a class with a
`forward` mentions by name belongs to the **model**.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from bot.evidence.program.canonical import (
    FUNCTIONS,
    Placed,
    digest,
    form,
    header,
    statements,
    texts,
    words_of,
)
from bot.evidence.program.conduct import LOOPS, is_start, is_stop
from bot.evidence.program.source import VALIDATION, called

LOSSES = frozenset(
    "loss losses nll entropy xent ce bpb perplexity logit logits softcap softcapped lse".split()
)
PRINTS = frozenset("print log write info logger".split())
_WHOLE = VALIDATION | LOSSES | frozenset("loader loaders generator shard shards print".split())
_LOCAL = frozenset({"self", "torch", "_"})
_STEERS = frozenset("load_state_dict state_dict train eval".split())


class Reach:
    """The regions of a source, what they name, and what belongs to the measurement or the model."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.placed = list(statements(body))
        self.nodes = {id(p.stmt): header(p.stmt) for p in self.placed}
        self.defined: dict[str, list[ast.stmt]] = defaultdict(list)
        for placed in self.placed:
            if isinstance(placed.stmt, (*FUNCTIONS, ast.ClassDef)):
                self.defined[placed.stmt.name].append(placed.stmt)
        self.models = {id(p.stmt) for p in self.placed if _has_forward(p.stmt)}
        self.regions = list(self._regions())
        self.inside = {id(p.stmt) for _, block in self.regions for p in block}
        measured = [p for _, block in self.regions for p in block if not _is_definition(p.stmt)]
        named = [n for p in measured for n in self.nodes[id(p.stmt)]]
        self.names = {n.id for n in named if isinstance(n, ast.Name)} - _LOCAL
        self.attributes = {n.attr for n in named if isinstance(n, ast.Attribute)}
        self.functions = {id(f) for _, block in self.regions for p in block if (f := p.function)}
        asked = {called(n) for n in named} | {n for n in self.defined if words_of(n) & _WHOLE}
        self.whole = self._reached(asked, _calls)
        models = (self._mentioned(p.stmt) for p in self.placed if id(p.stmt) in self.models)
        self.of_model = self._reached({name for names in models for name in names}, _mentions)

    @property
    def validates(self) -> bool:
        """Whether a region prints a validation loss."""
        return any(self._prints_loss(p.stmt) for _, block in self.regions for p in block)

    def order(self, measuring: Collection[int], defined: frozenset[str]) -> str:
        """The digest of what runs outside functions, or in one with a region, in order: the
        regions, the measuring statements (`measuring` are their ids) of the loops around them, and
        what updates, loads or switches the model. Raises TooDeepError."""
        loops = {id(s) for path, _ in self.regions for s, _ in path if isinstance(s, LOOPS)}
        told: list[str] = []
        for placed in self.placed:
            main = placed.function is None or id(placed.function) in self.functions
            if not main or _is_definition(placed.stmt):
                continue
            around = placed.around
            looping = id(placed.stmt) in measuring and any(id(s) in loops for s in around)
            if id(placed.stmt) in self.inside or looping or self._steers(placed.stmt):
                where = "/".join(f"{type(s).__name__}.{part}" for s, part in placed.path)
                told.append(f"{where} {form(placed.stmt, defined)}")
        return digest("\n".join(told))

    def _steers(self, stmt: ast.stmt) -> bool:
        """Whether a statement updates the weights, loads them, or switches the model's mode."""
        names = (n.func.attr for n in self.nodes[id(stmt)]
                 if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))  # fmt: skip
        return any(name in _STEERS or words_of(name) & {"step", "backward"} for name in names)

    def is_whole(self, placed: Placed) -> bool:
        """Whether a statement belongs to a function or a class that measures as a whole."""
        return any(_name(s) in self.whole and self._measures(s) for s in placed.around)

    def is_model(self, placed: Placed) -> bool:
        """Whether a statement belongs to the model, or to no function and no class."""
        scopes = [s for s in placed.around if _is_definition(s)]
        return not scopes or any(
            id(s) in self.models or isinstance(s, FUNCTIONS) and s.name in self.of_model
            for s in scopes
        )

    def _measures(self, stmt: ast.stmt) -> bool:
        """Whether what is named measures as a whole: a model does only by its own name."""
        return id(stmt) not in self.models or bool(words_of(_name(stmt)) & _WHOLE)

    def _regions(self) -> Iterator[tuple[tuple[tuple[ast.stmt, str], ...], list[Placed]]]:
        """The regions, each with the compound statements around it and its statements."""
        lists: dict[tuple[int, str, int], list[int]] = defaultdict(list)
        for index, placed in enumerate(self.placed):
            around, part = placed.path[-1] if placed.path else (None, "")
            lists[id(around), part, len(placed.path)].append(index)
        taken = -1
        spans = []
        for indices in lists.values():
            ends = [i for i, k in enumerate(indices) if self._marks(self.placed[k].stmt)]
            if ends:
                spans.append((indices[max(ends[0] - 1, 0)], indices[ends[-1]]))
        for first, last in sorted(spans):
            if first <= taken:
                continue
            depth = len(self.placed[last].path)
            end = last + 1
            while end < len(self.placed) and len(self.placed[end].path) > depth:
                end += 1
            taken = end - 1
            yield self.placed[first].path, self.placed[first:end]

    def _marks(self, stmt: ast.stmt) -> bool:
        return is_stop(stmt) or is_start(stmt) or self._prints_loss(stmt)

    def _prints_loss(self, stmt: ast.stmt) -> bool:
        if not isinstance(stmt, ast.Expr):
            return False
        found = frozenset[str]().union(*map(words_of, texts(self.nodes[id(stmt)])))
        return bool(found & PRINTS and found & VALIDATION and found & LOSSES)

    def _mentioned(self, stmt: ast.stmt) -> set[str]:
        return set(_mentions(stmt)) & self.defined.keys()

    def _reached(
        self, names: Iterable[str], follow: Callable[[ast.stmt], Iterator[str]]
    ) -> Collection[str]:
        """Names of definitions that are reached from these by the functions among them."""
        reached: set[str] = set()
        left = [n for n in names if n in self.defined]
        while left:
            name = left.pop()
            if name in reached:
                continue
            reached.add(name)
            for stmt in self.defined[name]:
                if isinstance(stmt, FUNCTIONS):
                    left += [n for n in follow(stmt) if n in self.defined and n not in reached]
        return reached


def _has_forward(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.ClassDef) and any(
        isinstance(s, FUNCTIONS) and s.name == "forward" for s in stmt.body
    )


def _is_definition(stmt: ast.stmt) -> bool:
    return isinstance(stmt, (*FUNCTIONS, ast.ClassDef))


def _name(stmt: ast.stmt) -> str:
    return str(getattr(stmt, "name", "")) if _is_definition(stmt) else ""


def _mentions(stmt: ast.stmt) -> Iterator[str]:
    """Every name and attribute in a statement and below it."""
    for node in ast.walk(stmt):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _calls(stmt: ast.stmt) -> Iterator[str]:
    """What a statement, and those below it, call by a bare name or as a method of their own."""
    for node in ast.walk(stmt):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id == "self":
                yield node.func.attr
