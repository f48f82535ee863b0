"""What a source measures its loss and its time on: part of `bot.evidence.program`.

The loss of a track is the mean over every token of the validation text, of a model that sees what
came before a token alone. Here are losses that are capped or of which a part is taken, tokens that
are left out, what a model may see that differs between training and validation, and a clock that is
read before the work is done that it times.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterator, Sequence

from bot.evidence.program.conduct import LOOPS, is_start, is_stop, own_nodes
from bot.evidence.program.source import Source, called, is_number, name_of, parts, parts_of
from bot.model.run import Stated

_LOSSES = frozenset("cross_entropy nll_loss softmax_cross_entropy_with_integer_labels".split())
_PART = frozenset(
    "clamp clamp_max clip minimum fmin topk quantile nanquantile median nanmedian kthvalue sort "
    "trim_mean trimmed_mean huber".split()
)
"""What is made of the losses of tokens so that the high ones count less."""
_SEEN = frozenset("causal mask window".split())
_FROM_FILES = frozenset("from_file fromfile memmap frombuffer loadtxt genfromtxt".split())
_LEFT_OUT = "ignore_index"
_MOST_INSIDE = 400
_WAITS = frozenset("synchronize item tolist cpu barrier block_until_ready wait".split())


def measured(source: Source) -> Iterator[Stated]:
    """Losses of a part of the tokens, and attention that depends on training."""
    losses = {b.name for b in source.bound if _is_loss_of_tokens(b.value)}
    flags = {b.name for b in source.bound if _by_training(b.value, frozenset())}
    for node in source.nodes:
        if isinstance(node, ast.keyword) and node.arg:
            if node.arg == _LEFT_OUT and _leaves_out(source, node.value):
                yield source.stated("tokens_left_out", node.value.lineno, name=node.arg)
            if node.arg == "is_causal" and _is_computed(node.value):
                yield source.stated("causal_at_times", node.value.lineno, name=node.arg)
            elif parts_of(node.arg) & _SEEN and _by_training(node.value, flags):
                yield source.stated("other_at_validation", node.value.lineno, name=node.arg)
        elif isinstance(node, ast.Expr | ast.Assign) and _fills_weights(node):
            yield source.stated("warm", node.lineno)
        elif called(node) in _PART and _takes(node, losses):
            yield source.stated("part_of_losses", getattr(node, "lineno", 0))
        elif isinstance(node, ast.If) and _by_training(node.test, flags) and _looks_ahead(node):
            yield source.stated("other_at_validation", node.lineno)
        elif isinstance(node, LOOPS):
            yield from _unfinished(source, node)


def _is_computed(value: ast.expr) -> bool:
    """Whether attention is causal by a comparison, as of the length of the text. That no mask is
    given is none: then the mask says what may be seen."""
    compared = [n for n in ast.walk(value) if isinstance(n, ast.Compare)]
    return any(not any(isinstance(op, ast.Is | ast.IsNot) for op in n.ops) for n in compared)


def _fills_weights(stmt: ast.Expr | ast.Assign) -> bool:
    """Whether a statement writes numbers of a file into a parameter of a model."""
    inside = list(itertools.islice(ast.walk(stmt), _MOST_INSIDE))
    if not any(called(n) in _FROM_FILES for n in inside):
        return False
    targets = stmt.targets if isinstance(stmt, ast.Assign) else []
    return any(
        isinstance(t, ast.Attribute) and t.attr in ("data", "weight") for t in targets
    ) or any(isinstance(n, ast.Call) and called(n) in ("copy_", "set_") for n in inside)


def _is_loss_of_tokens(value: ast.expr) -> bool:
    """Whether an expression is the losses of single tokens, in any shape."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if called(value) in _LOSSES:
            return True
        value = value.func.value
    return called(value) in _LOSSES


def _takes(node: ast.AST, losses: set[str]) -> bool:
    """Whether a call works on losses: on its first argument, or on what it is a method of."""
    if not isinstance(node, ast.Call):
        return False
    own: Sequence[ast.expr] = node.args[:1]
    if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
        own = [node.func.value]
    return any(_is_loss_of_tokens(n) or name_of(_first(n)) in losses for n in own)


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("torch", "np", "numpy", "jnp", "F")


def _first(node: ast.expr) -> ast.expr:
    """What a chain of methods begins with: `x` of `x.view(-1).float()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node


def _leaves_out(source: Source, value: ast.expr) -> bool:
    """Whether one of the tokens that a text may have is left out; -1 and -100 are none."""
    sides = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    found = [source.fold(side) for side in sides]
    return any(is_number(v) and v >= 0 for v in found)


def _by_training(value: ast.expr, flags: Collection[str]) -> bool:
    """Whether an expression depends on whether the model trains; `flags` are names that do."""
    inside = list(ast.walk(value))[:_MOST_INSIDE]
    return any(
        isinstance(n, ast.Attribute)
        and parts(n) == {"training"}
        or isinstance(n, ast.Name | ast.Attribute)
        and name_of(n) in flags
        or called(n) == "is_grad_enabled"
        for n in inside
    )


def _looks_ahead(node: ast.If) -> bool:
    """Whether attention is causal in one branch and not, or otherwise, in the other."""
    said = []
    for branch in (node.body, node.orelse):
        inside = [n for stmt in branch for n in ast.walk(stmt)]
        named = [n for n in inside if isinstance(n, ast.keyword) and n.arg]
        said.append({ast.dump(n.value) for n in named if "causal" in parts_of(n.arg or "")})
    return said[0] != said[1]


def _unfinished(source: Source, loop: ast.For | ast.AsyncFor | ast.While) -> Iterator[Stated]:
    """A clock that is stopped while the device works on, and started once all work is done."""
    always = [n for stmt in loop.body for n in own_nodes(stmt) if not isinstance(stmt, LOOPS)]
    if any(called(n) in _WAITS for n in always):
        return
    for block in (n for n in ast.walk(loop) if isinstance(n, ast.If)):
        end = next((i for i, s in enumerate(block.body) if is_stop(s)), None)
        begin = next((i for i, s in enumerate(block.body) if is_start(s) and i > (end or 0)), None)
        if end is None or begin is None:
            continue
        stop = block.body[end]
        before = (n for n in ast.walk(loop) if getattr(n, "lineno", stop.lineno) < stop.lineno)
        after = [called(n) for s in block.body[end + 1 : begin] for n in ast.walk(s)]
        if "synchronize" in after and not any(called(n) in _WAITS for n in before):
            yield source.stated("unfinished_work", stop.lineno)
