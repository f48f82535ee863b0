"""Which values a name may have where it stands: part of `bot.evidence.program`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bot.evidence.program.source import name_of

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_NOWHERE = 1000


class Binding(NamedTuple):
    """What a name is bound to: a `value`, what a `loop` goes over, or the `argument` of a
    `function`, the one at `place` or the `rest` from there on."""

    how: str
    node: ast.expr | None = None
    function: str = ""
    argument: str = ""
    place: int = 0


class Scopes:
    """The functions of a source by name, and the bindings of its names by function."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.functions: dict[str, list[Function]] = {}
        self._of: dict[int, Function | None] = {}
        self._outer: dict[int, Function | None] = {}
        self._bound: dict[tuple[int | None, str], list[Binding]] = {}
        self._named: dict[int, str] = {}
        todo: list[tuple[ast.AST, Function | None]] = [(s, None) for s in reversed(body)]
        while todo:
            node, function = todo.pop()
            for name, binding in self._bindings(node):
                self._bound.setdefault((id(function) if function else None, name), []).append(
                    binding
                )
            if isinstance(node, ast.Name):
                self._of[id(node)] = function
            elif isinstance(node, ast.ClassDef):
                made = (s for s in node.body if isinstance(s, ast.FunctionDef))
                self._named |= {id(f): node.name for f in made if f.name == "__init__"}
            inner = function
            if isinstance(node, Function):
                self._outer[id(node)] = function
                self._define(node)
                inner = node
            todo += [(child, inner) for child in ast.iter_child_nodes(node)]

    def bound(self, node: ast.Name) -> tuple[tuple[int | None, str], list[Binding]]:
        """Where a name is bound that is used at a node, as a key, and what to."""
        function = self._of.get(id(node))
        while function is not None:
            if found := self._bound.get((id(function), node.id)):
                return (id(function), node.id), found
            function = self._outer.get(id(function))
        return (None, node.id), self._bound.get((None, node.id), [])

    def _bindings(self, node: ast.AST) -> Iterator[tuple[str, Binding]]:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _assigned(target, node.value)
            if isinstance(node.value, ast.Lambda):
                self._named[id(node.value)] = name_of(node.targets[0])
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            yield from _assigned(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            yield from _assigned(node.target, node.value)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            for part in ast.walk(node.target):
                if isinstance(part, ast.Name):
                    yield part.id, Binding("loop", node.iter)

    def _define(self, function: Function) -> None:
        """Take the arguments of a function; those of `__init__` are given to the class."""
        own = "" if isinstance(function, ast.Lambda) else function.name
        name = self._named.get(id(function), own)
        self.functions.setdefault(own or name, []).append(function)
        given = function.args
        names = [a.arg for a in (*given.posonlyargs, *given.args)]
        shift = 1 if names[:1] in (["self"], ["cls"]) else 0
        found = [(a, n) for n, a in enumerate(names[shift:])]
        found += [(a.arg, _NOWHERE) for a in given.kwonlyargs]
        bound = [(a, Binding("argument", None, name, a, n)) for a, n in found]
        if given.vararg:
            rest = Binding("rest", None, name, given.vararg.arg, len(names) - shift)
            bound.append((given.vararg.arg, rest))
        last = names[len(names) - len(given.defaults) :]
        usual = [*zip(last, given.defaults, strict=True)]
        usual += [(a.arg, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d]
        bound += [(a, Binding("value", d)) for a, d in usual]
        for argument, binding in bound:
            self._bound.setdefault((id(function), argument), []).append(binding)


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, Binding]]:
    """The names that an assignment binds; of several at once each to the whole, if it is one."""
    if isinstance(target, ast.Name):
        yield target.id, Binding("value", value)
    elif isinstance(target, ast.Tuple | ast.List):
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        if len(values) != len(target.elts):
            values = [value] * len(target.elts)
        for item, part in zip(target.elts, values, strict=True):
            yield from _assigned(item, part)
