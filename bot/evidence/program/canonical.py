"""Statements of a source in a form of their own: part of `bot.evidence.program`.

A statement is a simple one, or the header of a compound one. Its form leaves out what does not
change what it does: white space, comments, annotations, docstrings, where a file lies that is read,
and the length of the training. It is made from the syntax tree by hand, since what `ast.dump` and
`ast.unparse` write depends on the version of Python.
"""

from __future__ import annotations

import ast
import functools as ft
import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bot.evidence.program.source import name_of

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DIGITS = 20
"""Hexadecimal digits of a digest: 80 bits, so that nobody finds a statement of a known digest."""
_DEPTH = 120
_INNER = ("body", "orelse", "finalbody", "handlers", "cases")
_LEFT_OUT = frozenset({*_INNER, "ctx", "type_comment", "kind", "annotation", "returns",
                       "type_params"})  # fmt: skip
_EXPRESSIONS = ("Lambda", "IfExp")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PLAN = re.compile(
    r"(?:(?:num|total|train|max|n)_)?(?:iterations|iters|steps)|\w+_every|\w*interval"
    r"|(?:scheduled|extension)_iterations|iteration_extension|extra_val_steps",
    re.IGNORECASE,
)
"""Names of how long a program trains and how often it validates. Other rules judge these."""
_MOST_TEXT = 2_000


class TooDeepError(ValueError):
    """A statement that is nested too deep to be read."""


class Placed(NamedTuple):
    """A statement, and the compound statements around it with the part that holds it."""

    stmt: ast.stmt
    path: tuple[tuple[ast.stmt, str], ...]

    @property
    def around(self) -> list[ast.stmt]:
        """The compound statements around it, and itself, from the outermost."""
        return [*(stmt for stmt, _ in self.path), self.stmt]

    @property
    def function(self) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The innermost function around it, itself excepted."""
        return next((s for s, _ in reversed(self.path) if isinstance(s, FUNCTIONS)), None)


def statements(body: Sequence[ast.stmt]) -> Iterator[Placed]:
    """Every statement of a list, docstrings excepted, in the order of the source."""
    stack: list[Placed] = [Placed(stmt, ()) for stmt in reversed(body)]
    while stack:
        placed = stack.pop()
        if _is_docstring(placed.stmt):
            continue
        yield placed
        parts = [(name, block) for name, block in inner(placed.stmt)]
        for name, block in reversed(parts):
            path = (*placed.path, (placed.stmt, name))[-_DEPTH:]
            stack += [Placed(stmt, path) for stmt in reversed(block)]


def inner(stmt: ast.stmt) -> Iterator[tuple[str, Sequence[ast.stmt]]]:
    """The lists of statements within a statement, each with its name."""
    for name in _INNER[:3]:
        if block := getattr(stmt, name, None):
            yield name, block
    for name in _INNER[3:]:
        yield from ((name, part.body) for part in getattr(stmt, name, ()))


def header(stmt: ast.stmt) -> list[ast.AST]:
    """The nodes of a statement, without those of statements within it and of annotations."""
    found: list[ast.AST] = [stmt]
    stack = list(reversed(_children(stmt)))
    while stack:
        node = stack.pop()
        found.append(node)
        stack += reversed(_children(node))
    return found


def _children(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for name in _fields(node):
        value = getattr(node, name, None)
        found += [v for v in (value if isinstance(value, list) else [value])
                  if isinstance(v, ast.AST)]  # fmt: skip
    if isinstance(node, ast.Try):
        found += [h.type for h in node.handlers if h.type is not None]
    if isinstance(node, ast.Match):
        found += [n for case in node.cases for n in (case.pattern, case.guard) if n is not None]
    return found


def _fields(node: ast.AST) -> Sequence[str]:
    """The fields of a node that say what it does."""
    return _fields_of(type(node).__name__, node._fields)


@ft.cache
def _fields_of(kind: str, fields: tuple[str, ...]) -> Sequence[str]:
    kept = {"body", "orelse"} if kind in _EXPRESSIONS else set()
    return [name for name in fields if name not in _LEFT_OUT - kept]


def texts(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Every name and every text that nodes mention."""
    for node in nodes:
        for field in ("id", "attr", "arg", "name", "asname", "module", "rest"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                yield value
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value[:_MOST_TEXT]
        if isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names


@ft.lru_cache(maxsize=8192)
def words_of(text: str) -> frozenset[str]:
    """The words of a name or a text, in lower case and without digits; `t0` is one."""
    found = {word.lower() for word in _WORDS.findall(text)}
    return frozenset(found | {text} if text == "t0" else found)


def form(stmt: ast.stmt, defined: frozenset[str] = frozenset()) -> str:
    """The form of a statement. Of an import it tells which names the source itself defines, since
    a log need not hold the file that a name comes from. Raises TooDeepError."""
    own = ""
    if isinstance(stmt, ast.ImportFrom):
        own = "+".join(sorted(a.name for a in stmt.names if a.name in defined))
    parts = [_form(stmt, 0, plan=_is_plan(stmt))]
    parts += [_form(n, 1) for n in _children(stmt)[len(_own_children(stmt)) :]]
    return " ".join([*parts, own])


def _own_children(stmt: ast.stmt) -> list[ast.AST]:
    """The children that the fields of a statement name."""
    values = (getattr(stmt, name, None) for name in _fields(stmt))
    return [v for value in values for v in (value if isinstance(value, list) else [value])
            if isinstance(v, ast.AST)]  # fmt: skip


def digest(text: str) -> str:
    """The digest of a form."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]


def _form(value: object, depth: int, plan: bool = False) -> str:
    if depth > _DEPTH:
        raise TooDeepError
    if isinstance(value, ast.AST):
        bare = isinstance(value, ast.AnnAssign) and value.value is not None
        parts = ["Assign" if bare else type(value).__name__]
        for name in _fields(value):
            field = getattr(value, name, None)
            if bare and name in ("target", "simple"):
                name, field = "targets", [field] if name == "target" else None
            if field is None or field == []:
                continue
            shown = "#" if plan and name == "value" else _form(field, depth + 1)
            parts.append(f"{name}={shown}")
        return f"({' '.join(parts)})"
    if isinstance(value, list):
        return f"[{','.join(_form(item, depth + 1) for item in value)}]"
    if isinstance(value, str) and value.endswith(".bin"):
        return repr(value.rpartition("/")[2])
    return repr(value)


def _is_plan(stmt: ast.stmt) -> bool:
    """Whether a statement gives numbers to a name of the plan, as `num_iterations = 2 * 1400`."""
    if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
        target, value = stmt.targets[0], stmt.value
    elif isinstance(stmt, ast.AnnAssign) and stmt.value is not None:
        target, value = stmt.target, stmt.value
    else:
        return False
    name = target.id if isinstance(target, ast.Name) else name_of(target)
    plain = (ast.Constant, ast.BinOp, ast.operator, ast.Set, ast.List, ast.Tuple, ast.expr_context)
    inside = list(ast.walk(value))
    texts_inside = (n.value for n in inside if isinstance(n, ast.Constant))
    numbers = all(type(v) in (int, float) for v in texts_inside)
    return bool(_PLAN.fullmatch(name)) and all(isinstance(n, plain) for n in inside) and numbers


def _is_docstring(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)
