"""The lines that a program can print, from its source: part of `bot.evidence.program`.

    printed = prints_of(source)
    printed.explains("step:125/3200 val_loss:3.2801", Effort(10_000))

Every text that the source makes may be printed: f-strings, both ways to format, joins, sums, the
arguments of a call side by side. A text that nobody can know, given to what prints, makes that the
prints cannot be told (None).
"""

from __future__ import annotations

import ast
import functools as ft
import itertools
import re
from collections.abc import Iterator, Sequence, Set

from bot.evidence.program.pattern import (
    TEXT,
    Effort,
    Pattern,
    Piece,
    in_lines,
    names_quantity,
)
from bot.evidence.program.source import MOST_CHARS, Source, args_of, called, dotted, name_of
from bot.evidence.program.texts import Texts

_MOST, _LONGEST = 400, 4000
_WRITES = frozenset("write writelines".split())
PRINTS = frozenset(
    "print write writelines info warning warn error debug critical exception echo "
    "set_description set_description_str set_postfix set_postfix_str pprint".split()
)
_BARS = frozenset("set_description set_description_str set_postfix set_postfix_str".split())
_QUIET = frozenset(
    "torch numpy triton math time os sys glob json argparse dataclasses pathlib typing uuid copy "
    "random subprocess contextlib functools itertools collections threading queue gc io re struct "
    "datetime shutil platform string warnings abc enum inspect pickle socket signal hashlib "
    "tiktoken tqdm einops jax jaxlib flax optax __future__ mlx scipy huggingface_hub datasets "
    "wandb types operator statistics tempfile concurrent multiprocessing logging ast traceback "
    "zoneinfo urllib csv heapq bisect importlib textwrap secrets atexit ctypes fcntl errno "
    "safetensors transformer_engine flash_attn kernels xformers torchao bitsandbytes pynvml psutil "
    "weakref numbers decimal fractions cProfile pstats resource select stat sysconfig zlib gzip "
    "base64 binascii array unittest pprint asyncio".split()
)
"""Modules that print no steps of a training."""

_RUNS = frozenset("exec eval import_module run_path run_module execv execvp execve".split())
_STARTS = frozenset("run Popen call check_call check_output getoutput system popen".split())
_ASKS = frozenset("nvidia-smi rocm-smi git pip uname lscpu nvcc free hostname date ls".split())
"""Programs that print no steps."""
_RULE = re.compile(r"^[ \t]{0,20}(?:={20,}|-{20,}|\*{20,})[ \t]{0,20}$", re.MULTILINE)
_FILE = re.compile(r"^[ \t]{0,8}#.{0,200}?(?<![\w.])(\w{1,60})\.py\b", re.MULTILINE)
"""A line that says which file follows."""
_PRINTS = re.compile(r"\b(?:print\w*|write\w*|log\w*|info|echo)\s{0,3}\(")


class Printed:
    """The lines that a program can print. `talks`: whether a module that it imports may print
    lines of its own."""

    def __init__(self, patterns: Sequence[Pattern], talks: bool) -> None:
        self.talks = talks
        self._patterns = list(patterns)
        self._plain = [p for p in patterns if "message" not in p.holes]
        measured = [p for p in patterns if p.is_measured]
        self._near = [p.relaxed() for p in measured]
        self._begins = tuple({p.first for p in measured if len(p.first) > 3})

    @property
    def measures(self) -> bool:
        """Whether it prints a line that names a measured quantity."""
        return bool(self._near)

    def explains(self, line: str, effort: Effort) -> bool:
        """Whether the program can have made a line without white space around it."""

        def is_message(text: str) -> bool:
            return any(p.fits(text.strip(), effort) for p in self._plain)

        for n, pattern in enumerate(self._patterns):
            if pattern.fits(line, effort, is_message):
                self._patterns.insert(0, self._patterns.pop(n))  # the next line is often its like
                return True
        return self.talks and not (
            bool(self._begins)
            and line.startswith(self._begins)
            or any(p.fits(line, effort) for p in self._near)
        )


@ft.lru_cache(maxsize=16)
def _patterns(text: str) -> tuple[tuple[Pattern, ...], bool] | None:
    source = Source(_RULE.sub("", text))
    if source.is_cut or any(_PRINTS.search("\n".join(source.lines[a:b])) for a, b in source.unread):
        return None
    texts = Texts(source)
    sinks = PRINTS | {name for name, values in source.values.items() if any(map(_is_print, values))}
    calls = [n for n in source.nodes if isinstance(n, ast.Call)]
    if not any(called(c) in PRINTS for c in calls):
        return None
    if any(called(c) in sinks and _is_dynamic(texts, c) for c in calls):
        return None
    found: dict[tuple[Piece, ...], Pattern] = {}
    for pieces in itertools.chain(_texts(texts, source.nodes), _calls(texts, calls, sinks)):
        for line in in_lines(pieces):
            pattern = Pattern(line)
            if _is_of_use(pattern):
                found.setdefault(tuple(pattern.pieces), pattern)
        if len(found) > _MOST:
            return None
    inside = {m[1] for m in _FILE.finditer(text)}
    talks = any(map(_starts, calls)) or any(
        name not in _QUIET and name not in inside for name in _imported(source.nodes)
    )
    return tuple(found.values()), talks


def prints_of(text: str) -> Printed | None:
    """The lines that the program of a source can print; None where that cannot be told, or where
    it prints nothing at all."""
    try:
        made = _patterns(text) if len(text) <= MOST_CHARS else None
    except RecursionError:
        return None
    return None if made is None else Printed(*made)


def _is_of_use(pattern: Pattern) -> bool:
    """Whether a pattern may make a line that measures something."""
    if pattern.is_bare and not pattern.pieces[1:]:
        return False
    return (
        pattern.is_measured
        or bool(pattern.holes & {"text", "message"})
        or any(
            isinstance(p, str) and names_quantity(p) and any(c.isdigit() for c in p)
            for p in pattern.pieces
        )
    )


def _is_print(node: ast.AST) -> bool:
    """Whether a value is a function that prints, under another name."""
    if called(node) == "partial" and isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    return not isinstance(node, ast.Call) and name_of(node) in PRINTS


def _is_dynamic(texts: Texts, call: ast.Call) -> bool:
    """Whether what prints is given text that nobody can know."""
    given = [k.value for k in call.keywords if k.arg is None] if called(call) in _BARS else []
    filled = called(call) != "print" and any(texts.filled(call))
    return any(texts.kind(a) == TEXT.kind for a in (*call.args[: 1 if filled else None], *given))


def _texts(texts: Texts, nodes: Sequence[ast.AST]) -> Iterator[list[Piece]]:
    """The lines that each text of a source makes, unless it is part of another text."""
    parts = set[int]()
    for node in nodes:
        if id(node) in parts or not isinstance(node, ast.expr | ast.AugAssign):
            continue
        if isinstance(node, ast.AugAssign):
            for pieces in texts.of(node.value) if isinstance(node.op, ast.Add) else ():
                yield [TEXT, *pieces]
                yield [TEXT, *pieces, TEXT]
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str) and len(node.value) <= _LONGEST:
                yield [node.value]
        elif called(node) == "print":
            parts |= {id(n) for a in args_of(node) if texts.of(a) for n in ast.walk(a)}
        elif found := texts.of(node):
            parts |= {id(n) for n in ast.walk(node)}
            yield from found


def _calls(texts: Texts, calls: Sequence[ast.Call], sinks: Set[str]) -> Iterator[list[Piece]]:
    """What calls make of their arguments: side by side, filled into the first, with an open end."""
    for call in calls:
        keys = {k.arg: k.value for k in call.keywords if k.arg}
        name = called(call)
        lines = list(_side_by_side(texts, call, keys.get("sep")))
        if name in sinks or texts.takes_rest(name):
            yield from lines
        elif texts.is_elsewhere(name):
            yield from (line for line in lines if Pattern(line).is_measured)
        ends = keys.get("end")
        if name in _BARS:
            yield [TEXT, "|", TEXT]
        if name in _WRITES:
            open_ended = [x for x in lines if not str(x[-1]).endswith(("\n", "\r"))]
        elif ends is not None and name != "open":
            end = ends.value if isinstance(ends, ast.Constant) else ""
            open_ended = [] if {"\n", "\r"} & {*str(end)} else lines
        else:
            continue
        yield from ([*line, TEXT] for line in open_ended)


def _side_by_side(texts: Texts, call: ast.Call, sep: ast.expr | None) -> Iterator[list[Piece]]:
    between: Piece = " "
    if sep is not None:
        between = str(sep.value) if isinstance(sep, ast.Constant) else TEXT
    if not call.args:
        return
    yield from texts.filled(call)
    options = [texts.pieces(a) for a in call.args[:40]]
    for choice in itertools.islice(itertools.product(*options), 16):
        line: list[Piece] = []
        for part in choice:
            line += [between, *part] if line else part
        yield line or [""]


def _starts(call: ast.Call) -> bool:
    """Whether a call runs another program, or text as one, that may print steps."""
    name, owner = called(call), dotted(call.func).partition(".")[0]
    if name in _RUNS:
        return owner == name or owner in ("importlib", "runpy", "os")
    if owner not in ("subprocess", "os") or name not in _STARTS or not call.args:
        return False
    words = [n.value for n in ast.walk(call.args[0]) if isinstance(n, ast.Constant)]
    return not any(str(w).split(" ")[0] in _ASKS for w in words[:1])


def _imported(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The outermost names of the modules that are imported."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            yield (node.module or ".").partition(".")[0]
        elif isinstance(node, ast.Import):
            yield from (a.name.partition(".")[0] for a in node.names)
