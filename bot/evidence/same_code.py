"""What stands for the code of a submission, so that a copy of it is found.

    codes_of(submission, folder, runs)      frozenset({"program:...", "source:...", ...})

The program is compared without what changes nothing in it: comments, docstrings, white space, and
the names of its run, its author and its description. Short programs say too little to be compared.
A text is a stranger's: it is read as tokens, in time linear in its size, and never run.
"""

from __future__ import annotations

import functools as ft
import hashlib
import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bot.evidence.code_hash import hashes_of, without_id
from bot.model.run import TRAINER, Run
from bot.model.submission import LOG_ENDINGS, Folder, Submission

LEAST = 500
"""Characters of a program, without white space and comments."""
_MOST = 1_000_000
_TOKEN = re.compile(
    r"(?P<long>\"\"\"(?s:.*?)\"\"\"|'''(?s:.*?)''')"
    r"|\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+\"?|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'?"
    r"|(?P<nothing>\#[^\n]*|\s+)"
)
_INDENT = 200
_ABOUT = re.compile(
    r"^(?:AUTHOR|DESCRIPTION|TITLE|SUMMARY|NAME|(?:wandb_)?(?:run_)?(?:name|notes|group|project))"
    r"[ \t]*=[ \t]*[^\n]*$",
    re.MULTILINE,
)
_RULE = re.compile(rb"^={60,}[ \t\r]*$", re.MULTILINE)
_IMPORT = re.compile(r"^(?:import|from) \w", re.MULTILINE)
_STATED = re.compile(rb"^code_sha256: (?:(\S{1,200}) )?([0-9a-f]{64})[ \t\r]*$", re.MULTILINE)


def program_key(text: str) -> str | None:
    """The key of a program; None for one that is too short, or is the starter as it is copied."""
    key = _key(text)
    return None if key in _starters() else key


def _key(text: str) -> str | None:
    bare = _ABOUT.sub("", without_id(text[:_MOST]))
    program = _TOKEN.sub(_token, bare)
    if len(program) < LEAST:
        return None
    return f"program:{hashlib.sha256(program.encode('utf-8', 'replace')).hexdigest()}"


def _token(match: re.Match[str]) -> str:
    """A string of the program as it is; nothing for a comment, white space, or a long string that
    stands alone on its lines."""
    if match["nothing"] is not None:
        return ""
    if match["long"] is None:
        return match[0]
    text, begin, end = match.string, match.start(), match.end()
    before = text[max(begin - _INDENT, 0) : begin].rpartition("\n")[2]
    after = text[end : end + _INDENT].partition("\n")[0]
    return match[0] if before.strip() or after.strip() else ""


@ft.cache
def _starters() -> frozenset[str | None]:
    """The keys of the starters of the trainer, where it is installed: everybody begins with one."""
    try:
        # By name: nothing of the bot depends on the trainer.
        starters: Any = importlib.import_module("reference_trainer.starters")
    except ImportError:
        return frozenset()
    return frozenset(_key(starters.source(kind)) for kind in starters.KINDS)


def codes_of(submission: Submission, folder: Folder, runs: Iterable[Run] = ()) -> frozenset[str]:
    """The keys of the code of a submission: of the file that `code` names, of the source that its
    first log holds, and the hashes that its candidate runs state. `runs` are those that were read
    already."""
    texts = [*_submitted(submission, folder), *_embedded(submission, folder)]
    found = {key for data in texts for key in _keys(data)}
    stated = [run.code_sha256 for run in runs] or list(_stated(submission, folder))
    found |= {key for names in stated if (key := _of_names(names)) is not None}
    return frozenset(found)


def _keys(data: bytes) -> Iterator[str]:
    key = program_key(data.decode("utf-8", "replace"))
    if key is not None:
        yield key
        yield from (f"source:{digest}" for digest in hashes_of(data))


def _of_names(hashes: Mapping[str, str]) -> str | None:
    """One key for the hashes that a run states, of all its files but the trainer's own."""
    digests = sorted(digest for name, digest in hashes.items() if name != TRAINER)
    if len(digests) < 2:
        return f"source:{digests[0]}" if digests else None
    return f"sources:{hashlib.sha256(' '.join(digests).encode()).hexdigest()}"


def _submitted(submission: Submission, folder: Folder) -> Iterator[bytes]:
    """The file that `code` names; of a folder its Python files, as one."""
    path = (submission.code_path or "").removeprefix(f"{folder.path}/").strip("/")
    if path in folder.files:
        yield folder.files[path]
    elif path:
        names = sorted(n for n in folder.files if n.startswith(f"{path}/") and n.endswith(".py"))
        yield b"\n".join(folder.files[name] for name in names)


def _logs(submission: Submission, folder: Folder) -> Iterator[bytes]:
    """The files of the candidate's logs."""
    for spec in submission.runs:
        if spec.arm == "candidate" and spec.source == "log":
            below = f"{spec.target.rstrip('/')}/"
            for name in sorted(folder.files):
                if (name == spec.target or name.startswith(below)) and name.endswith(LOG_ENDINGS):
                    yield folder.files[name]


def _embedded(submission: Submission, folder: Folder) -> Iterator[bytes]:
    """The source that the first log begins with: before its first rule of `=`, or between the first
    two where it begins with one."""
    data = next(_logs(submission, folder), b"")[:_MOST]
    rules = [found.span() for found in _RULE.finditer(data)][:2]
    begin = 0
    if rules and not data[: rules[0][0]].strip():
        begin = rules.pop(0)[1]
    if rules and _IMPORT.search((source := data[begin : rules[0][0]]).decode("utf-8", "replace")):
        yield source


def _stated(submission: Submission, folder: Folder) -> Iterator[Mapping[str, str]]:
    """The hashes that the first log states in the words of the trainer."""
    data = next(_logs(submission, folder), b"")[:_MOST]
    names = {
        (n or b"source").decode("utf-8", "replace"): d.decode() for n, d in _STATED.findall(data)
    }
    if names:
        yield names
