"""Evidence: whether a program measures as the programs do that the maintainers have accepted.

Part of `code-unusual`, on a track that names a list of accepted programs. What few programs do is
found by `bot.rules.program` on every track; here everything is found that no accepted program does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bot.evidence.code_hash import hashes_of
from bot.model.case import Case
from bot.model.known import KnownPrograms
from bot.model.run import SOURCE_READ, Stated
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.rules.about import per_message, quoted, runs_of

_MOST_BYTES = 1_000_000
_SHOWN = 3
_KINDS = ("measures", "order", "unparsed")
_FIX = (
    "keep the validation, loss and clock of the record's program, or say in the README what the "
    "new lines do; a maintainer then accepts it"
)


def _not_at_hand(case: Case, known: KnownPrograms) -> Finding:
    file = f"tracks/{known.file}"
    return finding(
        "code-unusual",
        f"the program was not compared with the accepted ones: {quoted(file)} is not there",
        Level.NOTE,
        file=case.list_file,
        fix=f"for the maintainers: add {quoted(file)}, or take it out of the track file",
    )


class _Program(NamedTuple):
    """A source, how people call it, its file, and the run that ran it."""

    stated: tuple[Stated, ...]
    name: str
    file: str
    run: str | None = None
    in_file: bool = True
    """Whether the lines are those of `file`."""


def unknown_programs(case: Case) -> Iterator[Finding]:
    """What of a program no accepted program has: one finding for each program."""
    known = case.track.programs
    if known is None or case.brought_over:
        return
    if not known.is_read:
        if any(True for _ in _programs(case)):
            yield _not_at_hand(case, known)
        return
    judged = (_judged(program, known) for program in _programs(case))
    yield from per_message(f for f in judged if f is not None)


def _judged(program: _Program, known: KnownPrograms) -> Finding | None:
    """What a maintainer must look at in a program; None where all of it is known."""
    order = next((s for s in program.stated if s.kind == "order"), None)
    new = [s for s in program.stated if s.kind == "measures" and s.name not in known.statements]
    if order is None:
        line = 1
        says = f"{program.name} does not read as Python, so its way to measure is unknown"
        fix = "show the program as it ran, whole and without other text in it"
    elif not order.value and order.name not in known.orders:
        line = 1
        says = f"{program.name} prints no validation loss, so it is not what the run shows"
        fix = "show the program that ran, whole"
    elif new:
        line = new[0].line
        shown = "; ".join(f"line {s.line}, `{s.text}`" for s in new[:_SHOWN])
        more = f"; and {len(new) - _SHOWN} more" if len(new) > _SHOWN else ""
        s = "s" if len(new) > 1 else ""
        says = (
            f"{program.name} measures by {len(new)} statement{s} that no accepted program has: "
            f"{shown}{more}"
        )
        fix = _FIX
    elif order.name not in known.orders:
        line = order.line
        says = (
            f"{program.name} validates, keeps time and updates in an order that no accepted "
            f"program has, from line {line}, `{order.text}`: a statement is left out, added or "
            "moved"
        )
        fix = _FIX
    else:
        return None
    return finding(
        "code-unusual",
        says,
        Level.WARNING,
        file=program.file,
        line=line if program.in_file else None,
        run=program.run,
        fix=fix,
    )


def _programs(case: Case) -> Iterator[_Program]:
    """The programs of a case: those that the runs hold, and where one holds none, the folder's."""
    standing = case.context.standing
    accepted = standing.record_code | standing.baseline_code
    for _, run in runs_of(case):
        stated = _about_measuring(run.program)
        ran = SOURCE_READ in run.client_marks and not accepted.isdisjoint(run.code_sha256.values())
        if stated and not ran:
            own = run.source in ("log", "wandb-offline")
            file = run.file if own else case.list_file or run.file
            yield _Program(stated, "the source", file, run.file, own)
    if any(not run.program for _, run in runs_of(case)):
        yield from _of_folder(case, accepted)


def _of_folder(case: Case, accepted: frozenset[str]) -> Iterator[_Program]:
    """The programs of the folder that validate: the file that `code` names, or else each. A file
    that does not validate shows nothing of how the runs measured."""
    from bot.evidence.program import read_program

    read: dict[str, tuple[Stated, ...]] = {}
    left = _MOST_BYTES
    for name in _python_files(case):
        data = case.folder.files[name]
        left -= len(data)
        if left < 0:
            read[name] = (Stated("unparsed", 1, ""),)
        elif accepted.isdisjoint(hashes_of(data)):
            text = data.decode("utf-8", "replace").removeprefix("\ufeff")
            read[name] = _about_measuring(read_program(text))
    path = case.submission.code_path
    told = [n for n, stated in read.items() if _tells(stated)]
    for name in [n for n in told if path in (n, case.folder.full(n))] or told:
        yield _Program(read[name], quoted(name), case.folder.full(name))


def _tells(stated: Iterable[Stated]) -> bool:
    """Whether a source validates, or cannot be read."""
    return any(s.kind == "unparsed" or (s.kind == "order" and s.value) for s in stated)


def _python_files(case: Case) -> Sequence[str]:
    return sorted(n for n in case.folder.files if n.lower().endswith(".py"))


def _about_measuring(stated: Iterable[Stated]) -> tuple[Stated, ...]:
    return tuple(s for s in stated if s.kind in _KINDS)
