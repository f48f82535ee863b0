"""What a training program does that few programs do: part of `bot.evidence.program`.

Weights of other training, a teacher, updates at validation, several attempts, an end that a good
loss decides, a clock that is replaced or stands still during work, text that is run as code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bot.evidence.program.figures import is_clock, is_loss, is_time, reported
from bot.evidence.program.source import (
    UNKNOWN,
    VALIDATION,
    Source,
    args_of,
    called,
    dotted,
    name_of,
    parts,
    parts_of,
)
from bot.model.run import Stated

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ENDS = (ast.Continue, ast.Break, ast.Return)
_BATCHES = frozenset("next next_batch get_batch".split())
LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SCHEDULES = frozenset("sched scheduler schedulers prof profiler timer bar pbar env".split())
_INTERVALS = frozenset("every interval freq frequency do is should run only last step".split())
_ATTEMPTS = frozenset(
    "seed seeds attempt attempts trial trials restart restarts tries retry retries".split()
)
_WEIGHTS = frozenset(
    "ckpt checkpoint weight weights model state pretrained init initial snapshot embed".split()
)
_LOADS = frozenset("load load_file load_model load_checkpoint load_weights".split())
_FETCHES = frozenset("load_state_dict_from_url load_from_checkpoint from_checkpoint".split())
_STORES = ("torch.", "safetensors.", "pickle.", "joblib.", "np.", "numpy.")
_TEACHER = frozenset("teacher teachers distill distillation distil distilled".split())
_RUNS = frozenset("exec eval __import__ import_module run_path run_module execv execve".split())
_OTHER_CLOCKS = frozenset("process_time process_time_ns thread_time thread_time_ns".split())
_FAKES = frozenset({"time.perf_counter", "time.time", "time.monotonic", "torch.cuda.synchronize",
                    "perf_counter", "torch.cuda.Event.elapsed_time"})  # fmt: skip


class _Place(NamedTuple):
    """Where a statement stands."""

    validating: bool = False
    looping: bool = False
    over_text: bool = False
    """Whether in a loop that validates."""


def conduct(source: Source) -> Iterator[Stated]:
    """Every statement about what the program does, in no order."""
    program = _Program(source)
    for body, place in program.blocks(source.body, _Place()):
        yield from _timers(program, body, place)
        if place.looping and (again := _again(body, set())) is not None:
            yield from program.marked(iter([("updates", again)]))
        for stmt in body:
            nodes = own_nodes(stmt)
            yield from program.marked(_odd(program, stmt, nodes, place))
            yield from program.marked(reported(source, stmt, nodes, place.validating))
            yield from program.marked(_cut(program, stmt, nodes, place))
            yield from program.marked(_attempts(program, stmt), _times(source, stmt))
            if place.looping and not place.validating and isinstance(stmt, ast.For):
                if (tokens := _step_tokens(source, stmt)) > 0:
                    yield source.stated("step_tokens", stmt.lineno, tokens)
            yield from program.marked(_replaced(program, stmt, nodes))


class _Program:
    """A source with the functions of its own that update weights."""

    def __init__(self, source: Source) -> None:
        self.source = source
        defined = [n for n in source.nodes if isinstance(n, _FUNCTIONS)]
        calls = {f.name: {name_of(n.func) for n in ast.walk(f) if isinstance(n, ast.Call)}
                 for f in defined}  # fmt: skip
        # A `step` of its own is that of an optimizer, which updates without a call of another.
        self.updaters = {f.name for f in defined if any(map(_is_update, ast.walk(f)))}
        for _ in range(3):
            self.updaters |= {name for name, to in calls.items() if to & self.updaters}
        self.updaters -= {"__init__", "step", "forward"}
        self.calls: dict[str, list[ast.Call]] = {}
        for node in source.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                self.calls.setdefault(node.func.id, []).append(node)
        self.modules = {a.asname or a.name for n in source.nodes
                        if isinstance(n, ast.Import) for a in n.names}  # fmt: skip
        self.restored = {name_of(a) for n in source.nodes if isinstance(n, ast.Call)
                         and name_of(n.func) == "load_state_dict"
                         for arg in n.args for a in ast.walk(arg)} - {""}  # fmt: skip

    def marked(self, found: Iterator[tuple[str, ast.AST]], value: float = 0.0) -> Iterator[Stated]:
        """What was found, as statements of their lines."""
        for kind, node in found:
            yield self.source.stated(kind, getattr(node, "lineno", 0), value)

    def trains(self, nodes: Sequence[ast.AST]) -> ast.AST | None:
        """The first place that updates weights, here or in a function that is called."""
        return next((n for n in nodes if _is_update(n) or called(n) in self.updaters), None)

    def blocks(
        self, body: Sequence[ast.stmt], place: _Place
    ) -> Iterator[tuple[Sequence[ast.stmt], _Place]]:
        """Every list of statements that may run, with where it stands."""
        yield body, place
        for stmt in body:
            if isinstance(stmt, _FUNCTIONS):
                if not self._runs(stmt, body is self.source.body):
                    continue
                named = parts_of(stmt.name)
                inside = _Place(bool(named & VALIDATION) and not named & {"train", "training"})
                yield from self.blocks(stmt.body, inside)
            elif isinstance(stmt, ast.If):
                if not self.source.is_never(stmt.test):
                    now = place.validating or _validates(stmt.test)
                    yield from self.blocks(stmt.body, place._replace(validating=now))
                yield from self.blocks(stmt.orelse, place)
            else:
                within = place
                if isinstance(stmt, LOOPS):
                    within = place._replace(looping=True, over_text=place.validating)
                for inner in _inner(stmt):
                    yield from self.blocks(inner, within)

    def _runs(self, function: ast.FunctionDef | ast.AsyncFunctionDef, outermost: bool) -> bool:
        """Whether a function may run: one of the outermost level that nothing names does not, nor
        does what looks for a file and is given none."""
        if function.name.startswith("test_"):
            return False
        given = [node.args[:1] for node in self.calls.get(function.name, ())]
        if given and all(a and self.source.fold(a[0]) in ("", None) for a in given):
            return False
        return not outermost or function.name in self.source.used or bool(function.decorator_list)


def _inner(stmt: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        if getattr(stmt, name, None):
            yield getattr(stmt, name)
    for part in (*getattr(stmt, "handlers", ()), *getattr(stmt, "cases", ())):
        yield part.body


def own_nodes(stmt: ast.stmt) -> list[ast.AST]:
    """The expressions of a statement, without those of statements within it."""
    apart = (ast.stmt, ast.excepthandler, ast.match_case)
    own = [child for child in ast.iter_child_nodes(stmt) if not isinstance(child, apart)]
    return [stmt, *(node for child in own for node in ast.walk(child))]


def _is_update(node: ast.AST) -> bool:
    """Whether a call updates weights, or makes the gradients for it."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr == "step":
        owner = node.func.value
        named = parts_of(name_of(owner) or called(owner))
        return not named & _SCHEDULES and not called(owner) == "super"
    return node.func.attr == "backward" or dotted(node.func).endswith("autograd.grad")


def _validates(test: ast.expr) -> bool:
    """Whether a condition is that of a validation: `step % val_every == 0`, `do_eval`."""
    nodes = list(ast.walk(test))
    if any(isinstance(n, ast.NotEq | ast.Not) for n in nodes):
        return False
    return any(parts & VALIDATION and parts & _INTERVALS for parts in map(parts, nodes))


# ---- Single statements --------------------------------------------------------------------------


def _odd(
    program: _Program, stmt: ast.stmt, nodes: Sequence[ast.AST], place: _Place
) -> Iterator[tuple[str, ast.AST]]:
    """Weights of other training, a teacher, updates at validation, text that is run."""
    for node in nodes:
        name = name_of(node) or getattr(node, "arg", None) or ""
        if (
            isinstance(name, str)
            and parts_of(name) & _TEACHER
            and program.trains(program.source.nodes)
        ):
            yield "teacher", node
        if not isinstance(node, ast.Call):
            continue
        if _loads_weights(program, stmt, node):
            yield "warm", node
        if called(node) in _RUNS and dotted(node.func) in (called(node), f"os.{called(node)}"):
            yield "executed", node
        if called(node) in _OTHER_CLOCKS:
            yield "replaced_clock", node
    if place.validating and not isinstance(stmt, (*_FUNCTIONS, ast.ClassDef)):
        update = program.trains(nodes)
        if update is not None:
            yield "validation_update", update


def _cut(
    program: _Program, stmt: ast.stmt, nodes: Sequence[ast.AST], place: _Place
) -> Iterator[tuple[str, ast.AST]]:
    """A validation that ends early, and a loop of updates within a step."""
    source = program.source
    if place.over_text and isinstance(stmt, ast.If):
        ends = any(isinstance(s, ast.Break | ast.Return) for s in stmt.body)
        sides = [s for n in nodes if isinstance(n, ast.Compare) for s in (n.left, *n.comparators)]
        if ends and any(isinstance(source.fold(s), int | float) for s in sides):
            yield "validation_cut", stmt
    for node in nodes:
        validates = place.validating or any(parts(n) & VALIDATION for n in ast.walk(node))
        if called(node) == "islice" and validates:
            yield "validation_cut", node
    if place.looping and isinstance(stmt, ast.For) and called(stmt.iter) == "range":
        if _times(source, stmt) > 1 and _steps(stmt.body):
            yield "updates", stmt


def _steps(body: Sequence[ast.stmt]) -> list[ast.Call]:
    """The calls of an optimizer's `step` in a list of statements itself."""
    calls = [n for s in body for n in own_nodes(s) if isinstance(n, ast.Call) and _is_update(n)]
    return [n for n in calls if called(n) == "step"]


def _again(body: Sequence[ast.stmt], seen: set[str]) -> ast.Call | None:
    """A further update by an optimizer in one pass, also if a condition decides on it; `seen` are
    those before, and takes those of the body."""
    for stmt in body:
        if not isinstance(stmt, ast.If):
            for call in _steps([stmt]):
                if ast.dump(call.func) in seen:
                    return call
                seen.add(ast.dump(call.func))
            continue
        before = frozenset(seen)
        for branch in (stmt.body, stmt.orelse):
            inside = set(before)
            if (further := _again(branch, inside)) is not None:
                return further
            if not (branch and isinstance(branch[-1], _ENDS)):
                seen |= inside
    return None


def _step_tokens(source: Source, stmt: ast.For) -> float:
    """The tokens of a step whose loop takes several batches of a loader, by their size; else 0."""
    inside = (n for s in stmt.body for n in ast.walk(s))
    takes = [n for n in inside if isinstance(n, ast.Call) and called(n) in _BATCHES]
    owners = [a for n in takes for a in (*args_of(n), getattr(n.func, "value", None))]
    loaders = {name for owner in owners if "loader" in parts_of(name := name_of(owner))}
    made = [v for name in loaders for v in source.values.get(name, ()) if isinstance(v, ast.Call)]
    given = {name_of(a) for call in made for a in (*call.args, *(k.value for k in call.keywords))}
    sizes = {
        v for item, v in source.numbers if item.name in given and "batch" in parts_of(item.name)
    }
    return _times(source, stmt) * (sizes.pop() if len(sizes) == 1 else 0.0)


def _loads_weights(program: _Program, stmt: ast.stmt, node: ast.Call) -> bool:
    name, owner = called(node), dotted(node.func)
    names = [n for a in ast.walk(stmt) if (n := name_of(a))]
    if name == "from_pretrained":
        return not any(re.search("token|config|processor", n, re.I) for n in names)
    if owner == "torch.hub.load" or name in _FETCHES:
        return True
    if name not in _LOADS or name == "load" and not owner.startswith(_STORES):
        return False
    given = frozenset[str]().union(*map(parts_of, names))
    return bool(given & _WEIGHTS or set(names) & program.restored)


def _attempts(program: _Program, stmt: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """Loops of whole trainings, and an end that a good loss decides."""
    if isinstance(stmt, LOOPS):
        head = [stmt.test] if isinstance(stmt, ast.While) else [stmt.target, stmt.iter]
        named = {w for h in head for n in ast.walk(h) for w in parts(n)}
        inner = [n for s in stmt.body for n in ast.walk(s)]
        if named & _ATTEMPTS and any({"best", "lowest"} & parts(n) for n in inner):
            yield "chosen_attempt", stmt
        elif named & _ATTEMPTS and program.trains(inner):
            yield "attempts", stmt
    if isinstance(stmt, ast.While):
        if any(is_loss(name_of(n)) for n in ast.walk(stmt.test)):
            yield "early_exit", stmt
    if isinstance(stmt, ast.If) and _is_good_loss(stmt.test):
        ends = (ast.Break, ast.Return)
        inner = [n for s in stmt.body for n in ast.walk(s)]
        if any(isinstance(n, ends) or called(n) in ("exit", "_exit") for n in inner):
            yield "early_exit", stmt


def _times(source: Source, stmt: ast.stmt) -> float:
    """How often a loop runs, where it says so; else 0."""
    over = stmt.iter if isinstance(stmt, ast.For) else None
    if isinstance(over, ast.List | ast.Tuple):
        return len(over.elts)
    value: Any = source.fold(args_of(over)[-1]) if over is not None and args_of(over) else UNKNOWN
    return value if isinstance(value, int) and called(over or stmt) == "range" else 0.0


def _is_good_loss(test: ast.expr) -> bool:
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            low, high = node.left, node.comparators[0]
            if isinstance(node.ops[0], ast.Gt | ast.GtE):
                low, high = high, low
            elif not isinstance(node.ops[0], ast.Lt | ast.LtE):
                continue
            if any("loss" in parts(n) for n in ast.walk(low)) and not any(
                {"best", "min", "lowest", "prev", "inf"} & parts(n) for n in ast.walk(high)
            ):
                return True
    return False


def _replaced(
    program: _Program, stmt: ast.stmt, nodes: Sequence[ast.AST]
) -> Iterator[tuple[str, ast.AST]]:
    """A clock or a synchronisation that the program replaces by its own."""
    if isinstance(stmt, (*_FUNCTIONS, ast.ClassDef)):
        real = {dotted(n.func) for n in ast.walk(stmt) if isinstance(n, ast.Call)} & _FAKES
        clock = stmt.name in ("perf_counter", "synchronize")
        module = stmt.name == "time" and "time" in program.modules
        if (clock and not real or module) and stmt in program.source.body:
            yield "replaced_clock", stmt
    targets = stmt.targets if isinstance(stmt, ast.Assign) else []
    for target in targets:
        name = dotted(target)
        same = isinstance(stmt, ast.Assign) and dotted(stmt.value) in _FAKES
        if name in _FAKES and not same or name == "time" and "time" in program.modules:
            if name != "time" or stmt in program.source.body:
                yield "replaced_clock", stmt
    for node in nodes:
        texts = [a.value for a in args_of(node) if isinstance(a, ast.Constant)]
        if called(node) in ("setattr", "patch", "object") and any(
            isinstance(t, str) and t.rpartition(".")[2] in ("perf_counter", "synchronize", "time")
            for t in texts
        ):
            yield "replaced_clock", node


# ---- A clock that stands still ------------------------------------------------------------------


def _timers(program: _Program, body: Sequence[ast.stmt], place: _Place) -> Iterator[Stated]:
    """Work between where a training clock is stopped and where it is started again."""
    stops = [i for i, s in enumerate(body) if is_stop(s)]
    starts = [i for i, s in enumerate(body) if is_start(s)]
    if not stops or not starts:
        return
    gaps = [(i, min(j for j in starts if j > i)) for i in stops if any(j > i for j in starts)]
    if place.looping and not gaps:
        gaps = [(stops[-1], len(body)), (-1, starts[0])]
    for begin, end in gaps:
        nodes = [n for stmt in body[begin + 1 : end] for n in ast.walk(stmt)]
        work = program.trains(nodes)
        if work is not None:
            yield program.source.stated("untimed_work", getattr(work, "lineno", 0))


def is_stop(stmt: ast.stmt) -> bool:
    """`training_time += clock() - t0`, in any spelling."""
    if isinstance(stmt, ast.AugAssign) and isinstance(stmt.op, ast.Add):
        target: Any = stmt.target
    elif isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
        target = stmt.targets[0]
        if not any(name_of(n) == name_of(target) for n in ast.walk(stmt.value)):
            return False
    else:
        return False
    return is_time(name_of(target)) and any(map(is_clock, ast.walk(stmt.value)))


def is_start(stmt: ast.stmt) -> bool:
    """`t0 = clock()`."""
    return isinstance(stmt, ast.Assign) and is_clock(stmt.value)
