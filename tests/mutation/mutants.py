"""Every small fault that can be put into a file: one comparison, one constant, one branch.

    for mutant in mutants_of(path, text): mutant.apply(text)

A mutant replaces one expression of the source, found in the syntax tree; annotations, docstrings
and what is only for type checkers are left alone.
"""

from __future__ import annotations

import ast
import dataclasses as dc
from collections.abc import Iterator

COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">"),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<"),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
}
OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
    ast.Pow: "*",
    ast.BitOr: "&",
    ast.BitAnd: "|",
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dc.dataclass(frozen=True, order=True)
class Mutant:
    """Replace `before` (from `start` to `end`, in characters of the file) by `after`."""

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str

    @property
    def name(self) -> str:
        """What stands for this mutant from run to run."""
        return f"{self.file}:{self.line}:{self.start} {self.before!r} -> {self.after!r}"

    def apply(self, text: str) -> str:
        """The source with the fault."""
        return text[: self.start] + self.after + text[self.end :]


def mutants_of(file: str, text: str) -> list[Mutant]:
    """Every mutant of a file that still is Python, each once, in order of place."""
    places = _Places(text)
    found: dict[tuple[int, int, str], Mutant] = {}
    for node, after in _changes(ast.parse(text), places):
        start, end = places.of(node)
        before = text[start:end]
        mutant = Mutant(file, node.lineno, start, end, before, after)
        if before != after and _parses(mutant.apply(text)):
            found.setdefault((start, end, after), mutant)
    return sorted(found.values())


class _Places:
    """From lines and columns in bytes, as the tree has them, to characters of the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def of(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(
            node.end_lineno, node.end_col_offset
        )

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def source(self, node: ast.expr) -> str:
        start, end = self.of(node)
        return self.text[start:end]


def _changes(tree: ast.AST, places: _Places) -> Iterator[tuple[ast.expr, str]]:
    """(expression, what to write instead) of every expression that runs."""
    for node in _running(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = places.source(node.left), places.source(node.comparators[0])
            for sign in COMPARISONS[type(node.ops[0])]:
                yield node, f"{left} {sign} {right}"
        elif isinstance(node, ast.BoolOp):
            sign = " or " if isinstance(node.op, ast.And) else " and "
            yield node, "(" + sign.join(f"({places.source(v)})" for v in node.values) + ")"
            yield from ((node, f"({places.source(v)})") for v in node.values[:2])
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            if not isinstance(node.left, ast.Constant | ast.JoinedStr) or _is_number(node.left):
                sign = OPERATORS[type(node.op)]
                yield node, f"({places.source(node.left)}) {sign} ({places.source(node.right)})"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            yield node, f"({places.source(node.operand)})"
        elif isinstance(node, ast.IfExp):
            yield node, f"({places.source(node.body)})"
            yield node, f"({places.source(node.orelse)})"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in CALLS:
                yield node.func, CALLS[node.func.id]
        elif isinstance(node, ast.Constant):
            yield from ((node, after) for after in _constants(node.value))


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _constants(value: object) -> Iterator[str]:
    if isinstance(value, bool):
        yield str(not value)
    elif isinstance(value, int):
        yield str(value + 1)
        if value > 1:
            yield str(value - 1)
    elif isinstance(value, float):
        yield repr(value * 2 if value else 1.0)


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run: no annotation, no docstring, nothing for type checkers alone."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.Import | ast.ImportFrom):
                continue
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                continue
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            if isinstance(node, ast.JoinedStr | ast.Assert):
                continue  # the wording of a message, and what only a fault of ours could break
            yield node
            yield from _running(node)


def _parses(text: str) -> bool:
    try:
        compile(text, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
