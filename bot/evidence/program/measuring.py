"""Which statements of a source have a part in what it measures: part of `bot.evidence.program`.

    measuring(source)       one `Stated` for each, by its digest, and one for their order

`bot.rules.known_programs` compares them with those of the programs that a track accepts. Whatever
touches the validation, the loss, the clock, the data or what is printed mentions it by name at
least once, so every statement that does is one; and so is what updates the weights, and what can
reach them without a name: text that is run, hooks, attributes of modules that are replaced, names
that are bound anew, arguments by position, and in a model what can mix up the places of a text or
remember one.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Sequence

from bot.evidence.program.canonical import (
    FUNCTIONS,
    Placed,
    TooDeepError,
    digest,
    form,
    texts,
    words_of,
)
from bot.evidence.program.reach import LOSSES, PRINTS, Reach
from bot.evidence.program.source import VALIDATION, Source, called, name_of
from bot.model.run import Stated

MEASURES, ORDER, UNPARSED = "measures", "order", "unparsed"
KINDS = (MEASURES, ORDER, UNPARSED)
_MOST = 5_000
"""Measuring statements of one program that are kept."""
_BUILT_IN = frozenset(dir(builtins))
_ANYWHERE = (
    VALIDATION
    | LOSSES
    | frozenset("time times timer clock perf elapsed ms synchronize t0 duration seconds".split())
)
"""Words that make a statement a measuring one wherever it stands."""
_IN_MODEL = frozenset(
    "target targets label labels ignore "
    "causal mask masks tril triu flip fliplr roll shift document doc docs window "
    "load loader loaders open file files glob fromfile memmap shard shards bin generator dataset "
    "buffer hook hooks".split()
)
"""Words that do in what belongs to the model, and outside all functions: elsewhere an optimizer has
masks and buffers of its own."""
_REACHES = frozenset(
    "load_state_dict state_dict exec __import__ delattr setattr globals locals vars __dict__ "
    "importlib ctypes inspect __class__ __globals__ __code__ __bases__ __closure__ f_globals "
    "f_locals f_back _getframe __builtins__ patch sys gc threading subprocess Thread atexit signal "
    "register_forward_hook register_forward_pre_hook register_module_forward_hook "
    "register_module_forward_pre_hook lru_cache is_grad_enabled set_grad_enabled".split()
)
"""Names by which a program reaches what it does not name."""
_IN_FUNCTIONS = frozenset(
    "training no_grad inference_mode enable_grad requires_grad grad_fn requires_grad_ "
    "is_inference is_inference_mode_enabled".split()
)
"""Names that tell a model whether it is validated."""
_MIXES = frozenset(
    "cat concat concatenate stack pad conv1d Conv1d conv2d gather index_select take take_along_dim "
    "cumsum cumprod cummax sort argsort unfold as_strided fft ifft rfft irfft einsum mT T "
    "transpose permute scatter scatter_add index_add swapaxes movedim narrow rot90".split()
)
"""Methods and functions that can bring a later token to an earlier place."""
_REMEMBERS = frozenset("append extend update setdefault insert".split())
_TRAINS = frozenset("backward zero_grad autograd".split())
_OWN = frozenset("forward train eval __call__ __class__".split())
_PLAIN_DUNDERS = frozenset("__init__ __len__ __iter__ __next__ __post_init__".split())


def measuring(source: Source) -> Iterator[Stated]:
    """Every measuring statement of a source by its digest, and the digest of their order; one that
    says so of a source that does not parse. A source that is too long gives nothing."""
    if source.is_cut:
        return  # The caller says so.
    if not source.is_whole:
        yield source.stated(UNPARSED, 1)
        return
    reach = Reach(source.body)
    judge = _Judge(reach)
    defined = frozenset(reach.defined)
    try:
        chosen = [p for p in reach.placed if judge.measures(p)]
        again = judge.again
        forms = [again(p) + form(p.stmt, defined) for p in chosen]
        found = [(p.stmt.lineno, digest(f)) for p, f in zip(chosen, forms, strict=True)]
        # A program that leaves the validation to a library is known by all that it says of it.
        order = (
            reach.order({id(p.stmt) for p in chosen}, defined)
            if reach.validates
            else digest("\n".join(forms))
        )
    except TooDeepError:
        yield source.stated(UNPARSED, 1)
        return
    if len(found) > _MOST:
        yield source.stated(UNPARSED, 1)
        return
    first = reach.regions[0][1][0].stmt.lineno if reach.regions else 1
    yield source.stated(ORDER, first, float(reach.validates), order)
    once = dict(reversed([(value, line) for line, value in found]))
    for value, line in sorted(once.items(), key=lambda item: item[1]):
        yield source.stated(MEASURES, line, 0.0, value)


class _Judge:
    """Whether a statement measures."""

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        imports = [p.stmt for p in reach.placed if isinstance(p.stmt, ast.Import | ast.ImportFrom)]
        names = (a.asname or a.name.partition(".")[0] for s in imports for a in s.names)
        self.imported = frozenset(names)
        self.models = {getattr(p.stmt, "name", "") for p in reach.placed
                       if id(p.stmt) in reach.models}  # fmt: skip
        self.later = _later(reach.placed)
        self.lists: dict[int, set[str]] = {}
        """The names that a function binds to an empty list, which it may fill."""
        for placed in reach.placed:
            if _empty_list(placed.stmt):
                key = id(placed.function)
                self.lists.setdefault(key, set()).update(texts(reach.nodes[id(placed.stmt)]))

    def again(self, placed: Placed) -> str:
        """What the form of a statement begins with that defines a name of its scope again."""
        return "again " if id(placed.stmt) in self.later else ""

    def measures(self, placed: Placed) -> bool:
        """Whether a statement has a part in what the program measures."""
        stmt, reach = placed.stmt, self.reach
        if isinstance(stmt, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal):
            return True
        if id(stmt) in reach.inside or reach.is_whole(placed):
            return True
        nodes, of_model = reach.nodes[id(stmt)], reach.is_model(placed)
        found = list(texts(nodes))
        if not _REACHES.isdisjoint(found) or self._binds(placed, nodes) or _is_odd(stmt, nodes):
            return True
        words = frozenset[str]().union(*map(words_of, found))
        classes = [name for n in nodes if (name := called(n)) and self._is_class(name)]
        words_in_model = words - frozenset[str]().union(*map(words_of, classes))
        if words & _ANYWHERE or of_model and words_in_model & _IN_MODEL:
            return True
        function = placed.function
        if _prints_anything(nodes, words) or _trains(nodes, found):
            return True
        if function is None:
            return False
        if "y" in found and "y" in {a.arg for a in function.args.args}:
            return True
        return of_model and self._in_model(placed, nodes, found)

    def _is_class(self, name: str) -> bool:
        return any(isinstance(s, ast.ClassDef) for s in self.reach.defined.get(name, ()))

    def _in_model(self, placed: Placed, nodes: Sequence[ast.AST], found: Sequence[str]) -> bool:
        """What a function of the model may do that mixes up places, remembers, or tells training
        from validation."""
        if not _IN_FUNCTIONS.isdisjoint(found):
            return True
        function = placed.function
        makes = function is not None and function.name in ("__init__", "reset_parameters")
        if makes and not any(isinstance(n, ast.Lambda) for n in nodes):
            return False
        fresh = self.lists.get(id(function), set())
        return any(_mixes(n) or _remembers(n, fresh) or _switches(n) for n in nodes)

    def _binds(self, placed: Placed, nodes: Sequence[ast.AST]) -> bool:
        """Whether a statement binds a name that a region reads, one of Python's own or of a module,
        or an attribute that decides what runs."""
        stmt, reach, function = placed.stmt, self.reach, placed.function
        in_class = bool(placed.path) and isinstance(placed.path[-1][0], ast.ClassDef)
        if isinstance(stmt, (*FUNCTIONS, ast.ClassDef)):
            taken = _BUILT_IN | self.imported if not in_class else frozenset[str]()
            wanted = reach.attributes if in_class else reach.names
            is_class = isinstance(stmt, ast.ClassDef)
            if (
                id(stmt) in self.later
                or is_class
                and any(name_of(base) in self.models for base in getattr(stmt, "bases", ()))
            ):
                return True
            if stmt.name in taken or stmt.name in wanted and not is_class:
                return True
        local = function is not None and id(function) not in reach.functions
        for node in nodes:
            stored = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
            if isinstance(node, ast.Name) and stored:
                wanted = reach.names | reach.attributes if in_class else reach.names
                if node.id in _BUILT_IN | self.imported or not local and node.id in wanted:
                    return True
                if function is None and not in_class and node.id in reach.defined:
                    return True
            elif isinstance(node, ast.Attribute) and stored:
                owner: ast.expr = node.value
                while isinstance(owner, ast.Attribute):
                    owner = owner.value
                if node.attr in _OWN or node.attr in reach.attributes:
                    return True
                if isinstance(owner, ast.Name) and owner.id in self.imported:
                    return True
        return False


def _later(placed: Sequence[Placed]) -> set[int]:
    """Definitions of a name that the same list of statements, or one around it, defines before."""
    seen, later = set[tuple[int, str]](), set[int]()
    for item in placed:
        if isinstance(item.stmt, (*FUNCTIONS, ast.ClassDef)):
            scopes = [s for s, _ in item.path if isinstance(s, (*FUNCTIONS, ast.ClassDef))]
            key = (id(scopes[-1]) if scopes else 0, item.stmt.name)
            if key in seen:
                later.add(id(item.stmt))
            seen.add(key)
    return later


def _is_odd(stmt: ast.stmt, nodes: Sequence[ast.AST]) -> bool:
    """Arguments by position, methods that Python calls by itself, names that are computed."""
    if isinstance(stmt, FUNCTIONS) and stmt.name.startswith("__"):
        if stmt.name not in _PLAIN_DUNDERS:
            return True
    for node in nodes:
        if isinstance(node, ast.arguments) and (node.vararg or node.kwarg):
            return True
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("eval", "compile") or name == "type" and len(node.args) > 1:
            return True
        literal = len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
        if name == "getattr" and not literal:
            return True
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("train", "eval"):
            return True
    return False


def _prints_anything(nodes: Sequence[ast.AST], words: frozenset[str]) -> bool:
    """Whether a statement prints a value that it computes, or writes to a stream directly."""
    if not words & PRINTS and not words & {"stdout", "stderr"}:
        return False
    for node in nodes:
        if isinstance(node, ast.Call) and words_of(name_of(node.func)) & PRINTS:
            inside = [n for a in node.args for n in ast.walk(a)]
            if any(isinstance(n, ast.Call | ast.Subscript | ast.Starred) for n in inside):
                return True
    return bool(words & {"stdout", "stderr"})


def _trains(nodes: Sequence[ast.AST], found: Collection[str]) -> bool:
    """Whether a statement takes a batch, or a part in an update, wherever it stands: an optimizer
    of one's own, or a function before the clock, may train as well."""
    if not _TRAINS.isdisjoint(found):
        return True
    for node in nodes:
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == "next":
                return True
            if isinstance(node.func, ast.Attribute) and node.func.attr == "step":
                return True
    return False


def _empty_list(stmt: ast.stmt) -> bool:
    """Whether a statement binds a name to an empty list."""
    if not isinstance(stmt, ast.Assign) or not isinstance(stmt.value, ast.List):
        return False
    return not stmt.value.elts and isinstance(stmt.targets[0], ast.Name)


def _mixes(node: ast.AST) -> bool:
    if isinstance(node, ast.Slice):
        return node.lower is not None or node.step is not None
    if isinstance(node, ast.Attribute):
        return node.attr in _MIXES
    return isinstance(node, ast.Call) and name_of(node.func) in _MIXES


def _remembers(node: ast.AST, fresh: Collection[str]) -> bool:
    """A value that is written into something that was there before."""
    if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
        return True
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    name, owner = node.func.attr, node.func.value
    if name in _REMEMBERS:
        return not (isinstance(owner, ast.Name) and owner.id in fresh)
    return name.endswith("_") and not name.endswith("__")


def _switches(node: ast.AST) -> bool:
    """Nothing, or a truth value, in the place of an argument or under a name."""
    if isinstance(node, ast.Call):
        plain = [a.value for a in node.args if isinstance(a, ast.Constant)]
        named = [k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)]
        return any(v is None or isinstance(v, bool) for v in plain) or None in named
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
        return node.value.value is None or isinstance(node.value.value, bool)
    return False
