"""The texts that the expressions of a source make: part of `bot.evidence.program.printed`."""

from __future__ import annotations

import ast
import itertools
import re
import string
from collections.abc import Iterator, Sequence

from bot.evidence.program.kinds import (
    CHANGES,
    EACH,
    MEASURES,
    MODULES,
    NUMBERS,
    SAYS,
    highest,
    is_told,
    kind_of,
)
from bot.evidence.program.pattern import MESSAGE, TEXT, VALUE, Hole, Piece, number_of
from bot.evidence.program.scopes import Binding, Function, Scopes
from bot.evidence.program.source import Source, called, dotted, name_of, parts_of

_CHOICES, _DEPTH, _MOST_CALLS = 16, 30, 300
_PER_CENT = re.compile(
    r"%(?:\((\w{1,60})\))?([-+ #0]{0,5})(\d{0,3}|\*)(?:\.(\d{0,3}|\*))?[lh]?([diouxXeEfFgGcrsa%])"
)
_COMPREHENSIONS = (ast.GeneratorExp, ast.ListComp, ast.SetComp)


class Texts:
    """What the expressions of a source make: texts as pieces, anything else as a kind of hole."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._scopes = Scopes(source.body)
        self._calls: dict[str, list[ast.Call]] = {}
        for node in source.nodes:
            if isinstance(node, ast.Call) and (name := name_of(node.func)):
                self._calls.setdefault(name, []).append(node)
        self._classes = {n.name for n in source.nodes if isinstance(n, ast.ClassDef)}
        self._kinds: dict[object, str] = {}
        self._made: dict[int, list[list[Piece]]] = {}
        self._depth = 0

    # ---- Texts ---------------------------------------------------------------------------------

    def pieces(self, node: ast.expr, depth: int = 0) -> list[list[Piece]]:
        """What an expression prints as: one of several lists of pieces."""
        return self.of(node, depth) or [[Hole(self.kind(node, depth))]]

    def of(self, node: ast.expr, depth: int = 0) -> list[list[Piece]]:
        """The texts that an expression makes; nothing if it makes no text."""
        if isinstance(node, ast.Constant):
            return [[node.value]] if isinstance(node.value, str) else []
        if depth > _DEPTH:
            return []
        if id(node) not in self._made:
            self._made[id(node)] = self._text(node, depth)
        return self._made[id(node)]

    def _text(self, node: ast.expr, depth: int) -> list[list[Piece]]:
        if isinstance(node, ast.JoinedStr):
            return self._product([self._part(v, depth) for v in node.values])
        if isinstance(node, ast.IfExp):
            sides = [self.of(s, depth + 1) for s in (node.body, node.orelse)]
            if not any(sides):
                return []
            return [*self.pieces(node.body, depth + 1), *self.pieces(node.orelse, depth + 1)]
        if isinstance(node, ast.BinOp):
            return self._computed(node, depth)
        if isinstance(node, ast.Dict):
            return self._dictionary(node, "'", depth)
        return self._called(node, depth) if isinstance(node, ast.Call) else []

    def _product(self, options: Sequence[list[list[Piece]]]) -> list[list[Piece]]:
        choices = itertools.islice(itertools.product(*options), _CHOICES + 1)
        found = [[p for part in choice for p in part] for choice in choices]
        if len(found) <= _CHOICES:
            return found
        return [[p for o in options for p in (o[0] if len(o) == 1 else [TEXT])]]

    def _part(self, node: ast.expr, depth: int) -> list[list[Piece]]:
        """A part of an f-string."""
        if not isinstance(node, ast.FormattedValue):
            return self.pieces(node, depth + 1)
        if node.format_spec is None:
            return self.pieces(node.value, depth + 1)
        spec = node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else []
        if all(isinstance(v, ast.Constant) for v in spec):
            text = "".join(str(v.value) for v in spec if isinstance(v, ast.Constant))
            return [[self._formatted(node.value, text, depth)]]
        return [[Hole(self._of_text(node.value, depth))]]

    def _formatted(self, node: ast.expr, spec: str, depth: int) -> Hole:
        found = number_of(spec)
        return found if found.number else Hole(self._of_text(node, depth))

    def _of_text(self, node: ast.expr, depth: int) -> str:
        """The kind of a value once it is padded or cut: a message no longer counts as one."""
        kind = self.kind(node, depth + 1)
        return TEXT.kind if kind == MESSAGE.kind else kind

    def _computed(self, node: ast.BinOp, depth: int) -> list[list[Piece]]:
        if isinstance(node.op, ast.Add):
            left, right = self.of(node.left, depth + 1), self.of(node.right, depth + 1)
            if not left and not right:
                return []
            sides = (left or self.pieces(node.left, depth + 1),
                     right or self.pieces(node.right, depth + 1))  # fmt: skip
            return self._product(sides)
        if isinstance(node.op, ast.Mult):
            for text, times in ((node.left, node.right), (node.right, node.left)):
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    count = self._source.fold(times)
                    known = isinstance(count, int) and 0 <= count * len(text.value) <= 1000
                    return [[text.value * count if known else VALUE]]
        if isinstance(node.op, ast.Mod) and self._formats(node.left):
            values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            return [x for f in self._formats(node.left) for x in self._per_cent(f, values, depth)]
        return []

    def _formats(self, node: ast.expr) -> list[str]:
        """The constant texts that an expression may be."""
        if isinstance(node, ast.Name | ast.Attribute):
            values = self._source.values.get(name_of(node), [])
            if len(values) > _CHOICES:
                return []
        else:
            values = [node]
        texts = [v.value for v in values if isinstance(v, ast.Constant)]
        found = [t for t in texts if isinstance(t, str)]
        return found if len(found) == len(values) else []

    def _per_cent(self, text: str, values: Sequence[ast.expr], depth: int) -> list[list[Piece]]:
        """A text with `%` filled in."""
        made: list[Piece] = []
        left, last = list(values), 0
        for match in _PER_CENT.finditer(text):
            name, flags, width, digits, kind = match.groups()
            made.append(text[last : match.start()])
            last = match.end()
            if kind == "%":
                made.append("%")
                continue
            value = left.pop(0) if left and not name else None
            if "*" in (width, digits):
                return [[TEXT]]
            size = f"{'<' if '-' in flags else ''}{width}"
            if kind in "eEfF":
                made.append(number_of(f"{size}.{6 if digits is None else digits or 0}{kind}"))
            elif kind in "diu":
                made.append(number_of(f"{size}d"))
            elif kind in "rsa" and value is not None:
                options = self.pieces(value, depth + 1)
                plain = len(options) == 1 and not width and digits is None
                made += options[0] if plain else [TEXT if self.of(value) else
                                                  Hole(self._of_text(value, depth))]  # fmt: skip
            else:
                made.append(TEXT if kind in "rsa" else VALUE)
        return [[*made, text[last:]]]

    def filled(self, call: ast.Call) -> Iterator[list[Piece]]:
        """The first argument of a call with the others filled in, as loggers do: by `%`, or by
        braces."""
        for text in self._formats(call.args[0]) if len(call.args) > 1 else ():
            if "%" in text:
                yield from self._per_cent(text, call.args[1:], 0)
            if "{" in text:
                yield self._braces(text, call.args[1:], call.keywords, 0)

    def _braces(
        self, text: str, values: Sequence[ast.expr], keywords: Sequence[ast.keyword], depth: int
    ) -> list[Piece]:
        """A text with `{}` filled in."""
        made: list[Piece] = []
        named = {k.arg: k.value for k in keywords if k.arg}
        count = itertools.count()
        try:
            fields = list(string.Formatter().parse(text))
        except ValueError:
            return [TEXT]
        for before, field, spec, _ in fields:
            made.append(before)
            if field is None:
                continue
            place = next(count) if field == "" else int(field) if field.isdecimal() else None
            value = named.get(field)
            if place is not None and place < len(values):
                value = values[place]
            if value is None:
                made.append(number_of(spec or "") if spec else TEXT)
            elif spec:
                made.append(self._formatted(value, spec, depth))
            else:
                options = self.pieces(value, depth + 1)
                made += options[0] if len(options) == 1 else [TEXT]
        return made

    def _called(self, node: ast.Call, depth: int) -> list[list[Piece]]:
        """The texts of a call of a method of a text, `str`, or of what writes a dictionary."""
        name, func = called(node), node.func
        first = node.args[0] if node.args else None
        if name in ("str", "format") and isinstance(func, ast.Name) and len(node.args) == 1:
            return self.of(node.args[0], depth + 1)
        if name == "dumps" and isinstance(first, ast.Dict):
            return self._dictionary(first, '"', depth) if not node.keywords else [[TEXT]]
        if not isinstance(func, ast.Attribute):
            return []
        if name == "format" and (texts := self._formats(func.value)):
            return [self._braces(t, node.args, node.keywords, depth) for t in texts]
        if name == "join" and first is not None and (seps := self.of(func.value, depth + 1)):
            return self._join(seps[0], first, depth)
        if name in CHANGES and (texts_ := self.of(func.value, depth + 1)):
            plain = name in ("strip", "rstrip", "lstrip")
            return texts_ if plain else [[TEXT]] if any(map(is_told, texts_)) else [[VALUE]]
        return []

    def _join(self, sep: list[Piece], node: ast.expr, depth: int) -> list[list[Piece]]:
        if isinstance(node, ast.List | ast.Tuple):
            made = list[list[list[Piece]]]()
            for item in node.elts:
                made += [[sep]] if made else []
                made.append(self.pieces(item, depth + 1))
            return self._product(made)
        if isinstance(node, _COMPREHENSIONS):
            return [[*x, TEXT] for x in self.of(node.elt, depth + 1)] or [[TEXT]]
        return (
            [[Hole(self._of_text(node, depth))]] if called(node) in ("map", "sorted") else [[TEXT]]
        )

    def _dictionary(self, node: ast.Dict, quote: str, depth: int) -> list[list[Piece]]:
        made = list[list[list[Piece]]]()
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant):
                return [[TEXT]]
            told = f"{quote}{key.value}{quote}" if isinstance(key.value, str) else str(key.value)
            made.append([[f"{', ' if made else '{'}{told}: "]])
            made.append([[TEXT if self.of(value) else Hole(self.kind(value, depth + 1))]])
        return self._product([*made, [["}" if made else "{}"]]])

    def is_elsewhere(self, name: str) -> bool:
        """Whether a function is one of another module."""
        return name not in self._scopes.functions

    def takes_rest(self, name: str) -> bool:
        """Whether a function of the source takes any number of arguments."""
        return any(f.args.vararg for f in self._scopes.functions.get(name, ()))

    # ---- Kinds ---------------------------------------------------------------------------------

    def kind(self, node: ast.expr | None, depth: int = 0) -> str:
        """What an expression may print as: a value, a message of the program, or any text."""
        if node is None or depth > _DEPTH:
            return TEXT.kind
        key = "kind", id(node)
        if key not in self._kinds:
            self._kinds[key] = self._kind(node, depth)
        return self._kinds[key]

    def _kind(self, node: ast.expr, depth: int) -> str:
        texts = self.of(node, depth)
        if texts:
            return highest(*(kind_of(t) for t in texts))
        if isinstance(node, ast.Name | ast.Attribute):
            return self._named(node)
        if isinstance(node, ast.Call):
            return self._kind_of_call(node, depth)
        if isinstance(node, ast.Subscript):
            return self.kind(node.value, depth + 1)
        if isinstance(node, ast.Starred | ast.NamedExpr):
            return self.kind(node.value, depth + 1)
        if isinstance(node, ast.BoolOp):
            return highest(*(self.kind(v, depth + 1) for v in node.values))
        if isinstance(node, ast.IfExp):
            return highest(*(self.kind(v, depth + 1) for v in (node.body, node.orelse)))
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            kinds = [self.kind(v, depth + 1) for v in node.elts]
            return TEXT.kind if highest(*kinds) != VALUE.kind else VALUE.kind
        if isinstance(node, _COMPREHENSIONS):
            return self._of_text(node.elt, depth)
        computed = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Constant, ast.Lambda)
        return VALUE.kind if isinstance(node, computed) else TEXT.kind

    def _named(self, node: ast.Name | ast.Attribute) -> str:
        name = name_of(node)
        key: object
        bound: Sequence[Binding] = ()
        if isinstance(node, ast.Name):
            key, bound = self._scopes.bound(node)
        else:
            key = f".{name}"
        if not bound:
            bound = [Binding("value", v) for v in self._source.values.get(name, ())]
        if key in self._kinds:
            return self._kinds[key]
        if self._depth > _DEPTH:
            return TEXT.kind
        self._kinds[key] = VALUE.kind  # while it is looked for: a name that goes on from itself
        self._depth += 1
        kinds = [self._of_binding(b) for b in bound]
        self._depth -= 1
        if parts_of(name) & SAYS:
            kinds = kinds or [TEXT.kind]
        elif parts_of(name) & NUMBERS:
            kinds = [k for k in kinds if k != TEXT.kind]
        self._kinds[key] = highest(*kinds)
        return self._kinds[key]

    def _of_binding(self, bound: Binding) -> str:
        if bound.how == "value":
            return self.kind(bound.node, 1)
        if bound.how == "loop":
            key = "loop", id(bound.node)
            if key not in self._kinds:
                self._kinds[key] = self._of_loop(bound.node)
            return self._kinds[key]
        return self._given(bound)

    def _of_loop(self, over: ast.expr | None) -> str:
        if over is None:
            return TEXT.kind
        names = {name_of(n) or called(n) for n in ast.walk(over)} | {
            called(n) for n in ast.walk(over)
        }
        if isinstance(over, ast.List | ast.Tuple):
            return self.kind(over, 1)
        return VALUE.kind if names & EACH or "loader" in "".join(names) else self.kind(over, 1)

    def _given(self, bound: Binding) -> str:
        """The kind of what the calls of a function give for an argument."""
        calls = self._calls.get(bound.function, [])
        kinds = [TEXT.kind] if len(calls) > _MOST_CALLS else []
        for call in calls[:_MOST_CALLS]:
            end = None if bound.how == "rest" else bound.place + 1
            given = call.args[bound.place : end]
            given += [a for a in call.args[: bound.place] if isinstance(a, ast.Starred)]
            given += [k.value for k in call.keywords if k.arg in (bound.argument, None)]
            kinds += [self.kind(a, 1) for a in given]
        return highest(*kinds)

    def _kind_of_call(self, node: ast.Call, depth: int) -> str:
        name = called(node)
        if functions := self._scopes.functions.get(name):
            return highest(*(self._returned(f) for f in functions))
        if name in self._classes:
            return VALUE.kind
        if name in ("str", "repr", "format", "pformat") and node.args:
            return self._of_text(node.args[0], depth)
        if name in CHANGES and isinstance(node.func, ast.Attribute):
            return self._of_text(node.func.value, depth)
        if name in MEASURES or dotted(node.func).partition(".")[0] in MODULES:
            return VALUE.kind
        return TEXT.kind

    def _returned(self, function: Function) -> str:
        if isinstance(function, ast.Lambda):
            return self.kind(function.body, 1)
        key = id(function)
        if key not in self._kinds:
            if self._depth > _DEPTH:
                return TEXT.kind
            self._kinds[key] = VALUE.kind
            self._depth += 1
            ends = (n for s in function.body for n in ast.walk(s))
            values = [n.value for n in ends if isinstance(n, ast.Return | ast.Yield)]
            self._kinds[key] = highest(*(self.kind(v, 1) for v in values if v is not None))
            self._depth -= 1
        return self._kinds[key]
