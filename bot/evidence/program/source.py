"""A source file, parsed: its statements, and the constants that its names are bound to.

The text is a stranger's: it is parsed, never run, and what does not parse is read line by line.
"""

from __future__ import annotations

import ast
import functools as ft
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bot.evidence.second import words
from bot.model.run import Stated
from bot.render.untrusted import plain

MOST_CHARS, _MOST_LINES, _MOST_NODES, _DEPTH = 600_000, 4_000, 100_000, 40
_LARGEST = 1e18
_RULE = re.compile(r"[-=]{20,}\s*")
"""A line between the files of a program that prints itself."""
UNKNOWN = object()
VALIDATION = frozenset(
    "val valid validate validation eval evaluate evaluation heldout test".split()
)
_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.Pow: operator.pow,
}  # fmt: skip
_CASTS: Mapping[str, Callable[..., Any]] = {"int": int, "float": float, "min": min, "max": max}


class Bound(NamedTuple):
    """A name and what it is bound to."""

    name: str
    value: ast.expr
    line: int


class Source:
    """A parsed source: its statements, and what its names are bound to."""

    def __init__(self, text: str) -> None:
        self.is_cut = len(text) > MOST_CHARS
        self.lines = text[:MOST_CHARS].split("\n")
        self.body, self.nodes = [], list[ast.AST]()
        self.unread: list[tuple[int, int]] = []
        """Begin and end of the parts, from 0, that do not parse and are read line by line."""
        code = ["" if _RULE.fullmatch(line) else line for line in self.lines]
        parsed, self.is_whole = _parsed(code, self.unread)
        for top in parsed:
            if len(self.nodes) > _MOST_NODES:
                self.is_cut = True
                break
            self.body.append(top)
            self.nodes += ast.walk(top)
        self.bound = sorted(_bound(self.nodes), key=lambda b: b.line)
        self.values: dict[str, list[ast.expr]] = {}
        self.known: dict[str, Any] = {}
        self.numbers: list[tuple[Bound, float]] = []
        for item in self.bound:
            choices = [self.fold(choice) for choice in _choices(item.value)]
            self.numbers += [(item, float(v)) for v in choices if is_number(v)]
            value = choices[0] if len(choices) == 1 else UNKNOWN
            self.values.setdefault(item.name, []).append(item.value)
            self.known[item.name] = value
        # Within a program that binds a name twice nobody knows which of both it is.
        self.known |= {n: UNKNOWN for n, values in self.values.items() if len(values) > 1}
        never = (n for n in self.nodes if isinstance(n, ast.If | ast.IfExp))
        dead = {id(d) for n in never if self.is_never(n.test) for d in _walk(n.body)}
        live = (n for n in self.nodes if id(n) not in dead and not _stores(n))
        self.used = {name for n in live if (name := name_of(n))}

    def fold(self, node: ast.AST | None, depth: int = 0) -> Any:
        """The constant that an expression is, or UNKNOWN."""
        if isinstance(node, ast.Constant):
            return _usual(node.value)
        if depth > _DEPTH or node is None:
            return UNKNOWN
        if isinstance(node, ast.Name | ast.Attribute):
            return self.known.get(name_of(node), UNKNOWN)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.fold(node.operand, depth + 1)
            return -value if is_number(value) else UNKNOWN
        if isinstance(node, ast.BinOp):
            left, right = (self.fold(n, depth + 1) for n in (node.left, node.right))
            return _computed(node.op, left, right)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            left, right = (self.fold(n, depth + 1) for n in (node.left, node.comparators[0]))
            known = UNKNOWN not in (left, right) and len(node.ops) == 1
            return (left == right) is isinstance(node.ops[0], ast.Eq) if known else UNKNOWN
        return self._called(node, depth) if isinstance(node, ast.Call) else UNKNOWN

    def _called(self, node: ast.Call, depth: int) -> Any:
        name, args = name_of(node.func), [self.fold(a, depth + 1) for a in node.args]
        if dotted(node.func) in ("os.getenv", "os.environ.get", "getenv", "environ.get"):
            return args[1] if len(args) > 1 else None
        if name in ("strip", "lower") and isinstance(node.func, ast.Attribute) and not args:
            return self.fold(node.func.value, depth + 1)
        usable = args and not node.keywords and all(isinstance(a, int | float | str) for a in args)
        if name not in _CASTS or not usable or any(len(str(a)) > _DEPTH for a in args):
            return UNKNOWN
        try:
            return _usual(_CASTS[name](*args))
        except (TypeError, ValueError, OverflowError):
            return UNKNOWN

    def is_never(self, test: ast.expr) -> bool:
        """Whether a condition is a constant, or a name with such values alone, that is false."""
        values = self.values.get(name_of(test), []) or [test]
        return all((found := self.fold(v)) is not UNKNOWN and not found for v in values)

    def stated(self, kind: str, line: int, value: float = 0.0, name: str = "") -> Stated:
        """A statement of a line, quoted."""
        text = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""
        return Stated(kind, line, plain(text, 110).replace("`", "'"), value, plain(name, 40))


def name_of(node: ast.AST | None) -> str:
    """The last part of a name: `x`, `a.x`, `a["x"]`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return node.slice.value if isinstance(node.slice.value, str) else ""
    return ""


def called(node: ast.AST) -> str:
    """The last part of the name of what is called; "" for what is no call."""
    return name_of(node.func) if isinstance(node, ast.Call) else ""


def args_of(node: ast.AST) -> Sequence[ast.expr]:
    """The arguments of a call; none of what is no call."""
    return node.args if isinstance(node, ast.Call) else ()


def dotted(node: ast.AST) -> str:
    """The whole name of `a.b.c`."""
    found: list[str] = []
    while isinstance(node, ast.Attribute):
        found.append(node.attr)
        node = node.value
    return ".".join(reversed([*found, node.id])) if isinstance(node, ast.Name) else ""


def parts(node: ast.AST) -> frozenset[str]:
    """The words of a name in an expression."""
    return parts_of(name_of(node)) if isinstance(node, ast.Name | ast.Attribute) else frozenset()


@ft.lru_cache(maxsize=4096)
def parts_of(name: str) -> frozenset[str]:
    """The words of a name."""
    return frozenset(words(name).split("_"))


def _choices(node: ast.expr) -> Sequence[ast.expr]:
    """What an expression may be: both sides of a choice, else itself."""
    if isinstance(node, ast.IfExp):
        return (node.body, node.orelse)
    return node.values if isinstance(node, ast.BoolOp) else (node,)


def _walk(body: ast.AST | Sequence[ast.AST]) -> Iterator[ast.AST]:
    for node in [body] if isinstance(body, ast.AST) else body:
        yield from ast.walk(node)


def _stores(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def is_number(value: object) -> bool:
    """Whether a value is a number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _computed(op: ast.operator, left: Any, right: Any) -> Any:
    """The result of an operation on two numbers, where it is one of a usual size."""
    apply = _OPERATORS.get(type(op))
    if apply is None or not is_number(left) or not is_number(right):
        return UNKNOWN
    if isinstance(op, ast.LShift | ast.Pow) and (abs(right) > 62 or abs(left) > 1e6):
        return UNKNOWN
    try:
        value = apply(left, right)
    except (ArithmeticError, TypeError, ValueError):
        return UNKNOWN
    return _usual(value) if is_number(value) else UNKNOWN


def _usual(value: Any) -> Any:
    """A value, unless it is a number that is no size of anything."""
    return value if not is_number(value) or abs(value) < _LARGEST else UNKNOWN


def _parsed(lines: Sequence[str], unread: list[tuple[int, int]]) -> tuple[list[ast.stmt], bool]:
    """The statements of a source, and whether all of it parses; of what does not parse, those of
    each part or line that does. Parts that do not are added to `unread`."""
    whole = _parse("\n".join(lines), 0)
    if whole is not None:
        return whole, True
    found: list[ast.stmt] = []
    tried = 0
    for begin, end in _chunks(lines):
        chunk = _parse("\n".join(lines[begin:end]), begin)
        if chunk is not None:
            found += chunk
            continue
        unread.append((begin, end))
        for number in range(begin, end):
            line = lines[number].strip()
            if tried >= _MOST_LINES or not ("=" in line or "(" in line) or len(line) > 400:
                continue
            tried += 1
            found += _parse(f"{line} pass" if line.endswith(":") else line, number) or ()
    return found, False


def _parse(text: str, begin: int) -> list[ast.stmt] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return None
    if begin:
        for node in (node for top in body for node in ast.walk(top) if hasattr(node, "lineno")):
            node.lineno += begin
    return body


def _chunks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where the statements of the outermost level may begin and end."""
    begin = 0
    for number, line in enumerate(lines):
        opens = line[:1].isalpha() or line[:1] in "_@#"
        goes_on = line.startswith(("else", "elif", "except", "finally"))
        if opens and not goes_on and number > begin and not lines[number - 1].startswith("@"):
            yield begin, number
            begin = number
    yield begin, len(lines)


def _bound(nodes: Sequence[ast.AST]) -> Iterator[Bound]:
    """Names with what they are bound to: assignments, defaults, arguments, keys of a `dict`."""
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _pairs(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            yield from _pairs(node.target, node.value)
        elif isinstance(node, ast.AugAssign) and name_of(node.target):
            changed = ast.BinOp(node.target, node.op, node.value, lineno=node.lineno)
            yield Bound(name_of(node.target), changed, node.lineno)
        elif isinstance(node, ast.keyword) and node.arg:
            yield Bound(node.arg, node.value, node.value.lineno)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield Bound(key.value, value, value.lineno)
        elif isinstance(node, ast.arguments):
            names = [*reversed([*node.posonlyargs, *node.args])][: len(node.defaults)]
            pairs = zip(
                [*names, *node.kwonlyargs],
                [*reversed(node.defaults), *node.kw_defaults],
                strict=True,
            )
            yield from (Bound(a.arg, d, d.lineno) for a, d in pairs if d is not None)
        elif isinstance(node, ast.Call) and name_of(node.func) in ("add_argument", "setattr"):
            yield from _option(node)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[Bound]:
    if name_of(target):
        yield Bound(name_of(target), value, target.lineno)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, other in zip(target.elts, value.elts, strict=False):
            yield from _pairs(one, other)


def _option(node: ast.Call) -> Iterator[Bound]:
    """What `add_argument("--name", default=...)` or `setattr(args, "name", ...)` binds."""
    texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    values = [k.value for k in node.keywords if k.arg == "default"]
    values += node.args[2:3] if name_of(node.func) == "setattr" else []
    for text in texts[:1] if values else ():
        yield Bound(text.lstrip("-").replace("-", "_"), values[0], node.lineno)
