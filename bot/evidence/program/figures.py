"""Losses and clocks that a program changes before it shows them: part of `bot.evidence.program`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.evidence.program.source import (
    UNKNOWN,
    VALIDATION,
    Source,
    args_of,
    called,
    is_number,
    name_of,
    parts,
    parts_of,
)

_CLOCKS = frozenset("perf_counter perf_counter_ns monotonic time time_ns elapsed_time".split())
_OTHER_LOSS = frozenset("every weight coef best min fn target lowest interval".split())
_OTHER_TIME = VALIDATION | frozenset(
    "step avg max limit budget per remaining start t0 epoch".split()
)
_TIMES = frozenset("time elapsed clock seconds ms".split())
_WHOLE_TIMES = frozenset("train training total elapsed approx approximate".split())
_LEFT_OUT = VALIDATION | frozenset(
    "compile compilation compiling warmup warm checkpoint ckpt save saving log logging start "
    "started begin began t0 last prev previous pause paused startup init origin".split()
)
"""What a clock may leave out."""
_BEGINS = frozenset("t0 start begin began tic started".split())
_PASSES = frozenset("micro accum accumulation".split())
_WORK = frozenset(
    "data optimizer optim opt step backward load loading comm sync loader train update overhead "
    "idle".split()
)
_LOWEST = frozenset(
    "min amin minimum nanmin sorted percentile quantile nanquantile kthvalue median topk".split()
)
_COUNTS = frozenset("steps iters batches tokens count n num".split())
_SMOOTHED = frozenset("best lowest ema smoothed".split())
_LN2 = 0.693147
_UNITS = (1.0, 60.0, 3600.0, 1e3, 1e6, 1e9, 6e4, 3.6e6, _LN2)
_LABELS = (
    ("loss", re.compile(r"(?:^|[^a-z_])(?:val|valid|validation|eval)[_ /]?loss\W{0,4}$", re.I)),
    ("time", re.compile(r"(?:^|[^a-z_])(?:train(?:ing)?|total|elapsed)[_ ]?time"
                        r"(?:[_ ]?(?:ms|s))?\W{0,4}$", re.I)),
    ("step", re.compile(r"(?:^|[^a-z_])(?:step|iter|iteration)[:= ]{1,2}$", re.I)),
)  # fmt: skip
_PRINTED = re.compile(
    r"(?:^|[^a-z_])(?:val|validation)[_ ]?loss[:= ]{1,3}\d{1,2}\.\d{2,9}|train_time[:=]\d", re.I
)
_BEST = re.compile(r"\b(?:best|min|lowest|target|goal|required|below|under|per)\b", re.I)
_MOST_NODES, _MOST_NAMES = 600, 4
_METHODS: Mapping[str, ast.operator] = {
    "mul": ast.Mult(), "multiply": ast.Mult(), "div": ast.Div(), "divide": ast.Div(),
    "true_divide": ast.Div(), "sub": ast.Sub(), "subtract": ast.Sub(), "add": ast.Add(),
}  # fmt: skip


def is_clock(node: ast.AST) -> bool:
    """Whether an expression reads a clock."""
    return called(node) in _CLOCKS


def is_loss(name: str) -> bool:
    """Whether a name is that of a validation loss."""
    found = parts_of(name)
    return bool(found & VALIDATION and found & {"loss", "losses"}) and not found & _OTHER_LOSS


def is_time(name: str) -> bool:
    """Whether a name is that of a training time."""
    found = parts_of(name)
    return bool(found & _TIMES and found & _WHOLE_TIMES) and not found & _OTHER_TIME


def reported(
    source: Source, stmt: ast.stmt, nodes: Sequence[ast.AST], validating: bool
) -> Iterator[tuple[str, ast.AST]]:
    """A loss, a clock or a step with a factor or an offset, the lowest of several losses, a number
    in the place of one."""
    for quantity, value, shown in (*_shown(stmt, nodes), *_inside(stmt, validating)):
        for expr in _traced(source, value) if shown else (value,):
            kind = _changed(source, quantity, expr, shown)
            if kind:
                yield kind, expr if hasattr(expr, "lineno") else stmt
                break
    for text in (p for n in nodes for a in args_of(n) for p in ast.walk(a)):
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            if _PRINTED.search(text.value) and not _BEST.search(text.value):
                yield "hard_coded", text


def _traced(source: Source, value: ast.expr) -> Iterator[ast.expr]:
    """An expression, and those that its name stands for."""
    seen, found = set[str](), [value]
    while found:
        expr = found.pop()
        yield expr
        name = name_of(_bare(expr))
        if name and name not in seen and len(seen) < _MOST_NAMES:
            seen.add(name)
            found += source.values.get(name, ())


def _shown(stmt: ast.stmt, nodes: Sequence[ast.AST]) -> Iterator[tuple[str, ast.expr, bool]]:
    """What is assigned to a loss or a clock, or printed or logged under its name."""
    if isinstance(stmt, ast.Assign | ast.AugAssign | ast.AnnAssign) and stmt.value is not None:
        value = stmt.value
        if isinstance(stmt, ast.AugAssign):
            value = ast.BinOp(stmt.target, stmt.op, stmt.value, lineno=stmt.lineno)
        for name in map(name_of, stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]):
            if is_loss(name) or is_time(name):
                yield "loss" if is_loss(name) else "time", value, False
    for label, value in (pair for node in nodes for pair in _labelled(node)):
        for quantity, pattern in _LABELS:
            if pattern.search(label) and not _BEST.search(label[-40:]):
                yield quantity, value, True
                break


def _inside(stmt: ast.stmt, validating: bool) -> Iterator[tuple[str, ast.expr, bool]]:
    """What is made of any loss where a program validates; a clock that begins."""
    if isinstance(stmt, ast.Assign | ast.AugAssign | ast.Return) and stmt.value is not None:
        if validating and any("loss" in parts(n) for n in ast.walk(stmt.value)):
            yield "loss", stmt.value, False
    if isinstance(stmt, ast.Expr) and called(stmt.value).rstrip("_") in _METHODS:
        if any(is_loss(name_of(n)) for n in ast.walk(stmt.value)):
            yield "loss", stmt.value, False
    if isinstance(stmt, ast.Assign) and parts(stmt.targets[0]) & _BEGINS:
        yield "time", stmt.value, False


def _labelled(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Values with the text before them: in an f-string, a dictionary, the arguments of a call."""
    if isinstance(node, ast.JoinedStr):
        for before, after in zip(node.values, node.values[1:], strict=False):
            if isinstance(after, ast.FormattedValue):
                yield _text(before), after.value
    elif isinstance(node, ast.Dict):
        yield from ((_text(k), v) for k, v in zip(node.keys, node.values, strict=True))
    elif isinstance(node, ast.Call):
        yield from ((_text(a), b) for a, b in zip(node.args, node.args[1:], strict=False))
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            yield from _filled(node.func.value, node.args)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        yield from _filled(
            node.left, node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        )


def _text(node: ast.AST | None) -> str:
    text = node.value if isinstance(node, ast.Constant) else ""
    return text[-200:] if isinstance(text, str) else ""


def _filled(text: ast.expr, values: Sequence[ast.expr]) -> Iterator[tuple[str, ast.expr]]:
    """The values that a format takes, each with the text before its place."""
    before = re.split(r"%[-+ #0-9.]{0,8}[a-z]|\{[^{}]{0,20}\}", _text(text))
    yield from zip(before, values, strict=False)


def _bare(node: ast.expr) -> ast.expr:
    """A value without `float(...)`, `.item()` and the like around it."""
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and not node.args:
            node = node.func.value
        elif name_of(node.func) in ("float", "round") and node.args:
            node = node.args[0]
        else:
            break
    return node


def _changed(source: Source, quantity: str, expr: ast.expr, shown: bool) -> str:
    """How a reported value is not the measured one: the kind of statement, or ""."""
    value = source.fold(_bare(expr)) if isinstance(_bare(expr), ast.Constant) else UNKNOWN
    if isinstance(value, float) and value != round(value, 1):
        return "hard_coded"
    nodes = list(ast.walk(expr))[:_MOST_NODES]
    for node in nodes if quantity == "loss" else ():
        limits = [source.fold(a) for a in args_of(node) if isinstance(a, ast.Constant)]
        if called(node) in _LOWEST and all(v != round(v, 1) for v in limits if is_number(v)):
            return "lowest_loss"
        if shown and "loss" in parts(node) and parts(node) & _SMOOTHED:
            return "lowest_loss"
    odd = any(_is_odd(source, quantity, n) for n in map(_operation, nodes) if n is not None)
    return f"{quantity}_changed" if odd else ""


def _operation(node: ast.AST) -> ast.BinOp | None:
    """An operation on two values, also one that is written as a method or a function."""
    if isinstance(node, ast.BinOp):
        return node
    op = _METHODS.get(called(node).rstrip("_"))
    if op is None or not isinstance(node, ast.Call):
        return None
    first = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    sides = node.args if len(node.args) == 2 else [*first, *node.args]
    return ast.BinOp(sides[0], op, sides[1]) if len(sides) == 2 else None


def _is_odd(source: Source, quantity: str, node: ast.BinOp) -> bool:
    """Whether an operation changes a loss or a clock by a constant that is no unit."""
    if quantity == "step":
        return _is_other_step(source, node)
    for side, other in ((node.right, node.left), (node.left, node.right)):
        value: Any = source.fold(side)
        counts = bool(parts(other) & VALIDATION and parts(other) & _COUNTS)
        if not is_number(value) or value == 0 or not counts and source.fold(other) is not UNKNOWN:
            continue
        size = abs(float(value))
        if isinstance(node.op, ast.Mult | ast.Div):
            return not _is_unit(size) and not (quantity == "loss" and _is_whole(size))
        if isinstance(node.op, ast.Add | ast.Sub):
            if quantity == "time":
                return size > 1e-6 and _has_clock(other)
            return 1e-6 < size < 1.0 or counts
    if quantity == "time" and isinstance(node.op, ast.Sub) and _has_clock(node.left):
        taken = frozenset[str]().union(*map(parts, ast.walk(node.right)))
        return bool(taken & _WORK) and not taken & _LEFT_OUT
    return False


def _is_other_step(source: Source, node: ast.BinOp) -> bool:
    """Whether an operation makes fewer steps of them; passes of an accumulation are none."""
    by: Any = source.fold(node.right)
    if isinstance(node.op, ast.Mult) and by is UNKNOWN:
        by = source.fold(node.left)
    named = frozenset[str]().union(*map(parts, ast.walk(node)))
    if not isinstance(by, int | float) or named & _PASSES:
        return False
    return (
        by > 1
        if isinstance(node.op, ast.Div | ast.FloorDiv)
        else (isinstance(node.op, ast.Mult) and 0 < by < 1)
    )


def _has_clock(node: ast.AST) -> bool:
    return any(is_clock(n) or is_time(name_of(n)) for n in ast.walk(node))


def _is_unit(size: float) -> bool:
    return any(abs(size / u - 1) < 1e-3 or abs(size * u - 1) < 1e-3 for u in _UNITS)


def _is_whole(size: float) -> bool:
    return any(abs(x - round(x)) < 1e-6 * x for x in (size, 1 / size) if x >= 1)
