"""Rules on text and form: strict JSON, the schema, safe names and texts, no secrets."""

from __future__ import annotations

import codecs
import itertools as it
import re
from collections.abc import Callable, Iterator

from bot.model.case import Case
from bot.model.document import Document
from bot.model.verdict import Finding, finding
from bot.parse.json_file import strings
from bot.parse.schema_advice import advise_file
from bot.parse.schema_version import version_problem
from bot.patterns import SLUG
from bot.render.untrusted import plain, secrets_in, shown, unsafe_in
from bot.rules.about import quoted

MAX_PER_FILE = 5
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])")
_FILE_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,119}")
_PIECE, _SEAM = 20_000, 400
_LOCAL = re.compile(
    r"(?:^|[\s\"'(=,;])("
    r"/(?:home|Users|root|gscratch|scratch|mnt|lustre|workspace|tmp|data|nfs|work|private"
    r"|var|opt|srv|media|afs|projects?|gpfs|fsx|storage|volumes?)/[^\s\"']+"
    r"|~/[^\s\"']+|[A-Za-z]:\\[^\s\"']+|\\\\[A-Za-z0-9._-]+\\[^\s\"']+|file:/[^\s\"']+)"
)


def json_invalid(case: Case) -> Iterator[Finding]:
    """JSON files are strict JSON, so that every program reads the same thing.

    UTF-8 without a byte order mark, no NaN or Infinity, no number that overflows a double, no key
    twice in one object, no lone surrogate; at most 1 MB and 40 levels. Otherwise two programs could
    read one file differently and disagree on the result. Write the file with a JSON library (in
    Python: `json.dump(..., allow_nan=False)`), not by hand.
    """
    yield from case.problems_of("json-invalid")


def schema(case: Case) -> Iterator[Finding]:
    """Files have the fields of their schema, each of the right type.

    The schemas are in `schemas/`; an editor that supports JSON Schema checks the file while you
    type. A results file may have extra keys, but one that looks like a misspelling of a missing key
    is reported. The address of an author's page must start with `https://`.
    """
    yield from case.problems_of("schema")
    for document in case.documents.values():
        yield from advise_file(document)


def schema_version_unknown(case: Case) -> Iterator[Finding]:
    """The `schema_version` of each file is one that this program knows.

    A file of an unknown version is refused as a whole, because guessing what its fields mean would
    be worse. Update this program, or write the file in the version that the message names.
    """
    yield from case.problems_of("schema-version-unknown")
    for document in case.documents.values():
        found = version_problem(document)
        if found is not None:
            yield found


def unsafe_name(case: Case) -> Iterator[Finding]:
    """Folders, files and points have plain names, because they become addresses and file names.

    A submission's folder and its points: lower-case letters, digits, `_` and `-`, at most 64 and up
    to four folders deep, and no name that Windows reserves. Files inside: letters, digits and
    `._@+-`. No entry lies inside another: the outer one would hide it from the board.
    """
    yield from case.problems_of("unsafe-name")
    folder = case.folder
    if folder.bare:
        return
    yield from _nested(case)
    if folder.path.startswith("submissions/"):
        parts = folder.path.split("/")[2:]
        if len(parts) > 4:
            message = f"{shown(folder.path)} lies {len(parts)} folders deep, at most 4"
            yield finding("unsafe-name", message, file=quoted(folder.path), fix="move it up")
        for part in parts:
            if not plain_name(part):
                yield bad_name("the folder", part, folder.path)
    for point in case.submission.points:
        if not plain_name(point):
            yield bad_name("the point", point, folder.full("submission.json"))
    for name in (*folder.files, *folder.skipped):
        if not all(_FILE_PART.fullmatch(part) for part in name.split("/")):
            yield finding(
                "unsafe-name",
                f"the file name {shown(name)} is not valid: use only letters, digits and ._@+-, "
                "and begin with a letter or digit",
                file=quoted(folder.full(name)),
                fix="rename it, or remove it",
            )


def _nested(case: Case) -> Iterator[Finding]:
    """An entry above or below this one: a folder with a submission in it is one entry, whole."""
    mine = case.folder.path.rstrip("/")
    for neighbour in case.context.neighbours:
        theirs = neighbour.path.rstrip("/")
        if mine.startswith(f"{theirs}/") or theirs.startswith(f"{mine}/"):
            side = "inside" if mine.startswith(f"{theirs}/") else "around"
            yield finding(
                "unsafe-name",
                f"the folder lies {side} the entry {quoted(theirs)}",
                file=quoted(mine),
                claimed=quoted(mine),
                expected=None,
                fix="give it a folder of its own, beside the other",
            )
            return


def plain_name(name: str) -> bool:
    """Whether a component of a path may have this name."""
    return SLUG.fullmatch(name) is not None and _RESERVED.fullmatch(name) is None


def bad_name(what: str, name: str, file: str) -> Finding:
    """A name that is not allowed, and one that would be."""
    slug = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:64] or "name"
    return finding(
        "unsafe-name",
        f"{what} is named {shown(name)}, expected only lower-case letters, digits, _ and -",
        file=quoted(file),
        claimed=plain(name),
        fix=f'rename it, for instance to "{slug}"',
    )


def unsafe_text(case: Case) -> Iterator[Finding]:
    """Texts hold no characters that hide or reorder what a reader sees.

    Bidirectional controls, zero-width and other invisible characters, and control characters other
    than tab and line breaks can make a line read differently from what it is. Letters of every
    script and emoji are fine.
    """
    for document in case.documents.values():
        for pointer, found in _texts(document, lambda text, key: unsafe_in(text)):
            yield finding(
                "unsafe-text",
                f"the text contains {found}",
                file=document.file,
                line=document.line(pointer),
                pointer=quoted(pointer),
                fix="remove it",
            )
    for name, number, found in it.islice(_hits(case, (".md",), unsafe_in), MAX_PER_FILE):
        yield finding(
            "unsafe-text",
            f"the text contains {found}",
            file=case.folder.full(name),
            line=number,
            fix="remove it",
        )


def secret_in_text(case: Case) -> Iterator[Finding]:
    """No file holds an access token, an API key or a private key.

    Everything in a pull request is public at once and stays public after it is deleted. Revoke the
    key where you got it, then remove it from the file. The key itself is never repeated here. A
    link to a W&B report with `accessToken=` counts too: link the run's page.
    """
    for document in case.documents.values():
        for pointer, what in _texts(document, secrets_in):
            yield _secret(what, document.file, document.line(pointer), pointer)
    for name, number, what in it.islice(_hits(case, ("",), secrets_in), MAX_PER_FILE):
        yield _secret(what, case.folder.full(name), number, None)


def _secret(what: str, file: str, line: int | None, pointer: str | None) -> Finding:
    return finding(
        "secret-in-text",
        f"the text seems to contain {what}",
        file=file,
        line=line,
        pointer=None if pointer is None else quoted(pointer),
        fix="revoke it where it was issued, then remove it from the file",
    )


def local_path_in_text(case: Case) -> Iterator[Finding]:
    """Texts contain no paths of your own machine.

    Such a path may reveal who you are, and it helps nobody to repeat the run. Name the data by its
    public address (`gs://...`, `https://...`, `hf://...`, or `owner/name` on a hub).
    """
    for run in case.results:
        dataset = run.text("dataset")
        if dataset is not None and _LOCAL.search(dataset) is None and _is_local(dataset):
            yield _local(dataset, run.document, run.where("dataset"))
    for document in case.documents.values():
        for pointer, path in _texts(document, _local_path):
            yield _local(path, document, pointer)


def _local_path(text: str, key: str) -> str | None:
    found = _LOCAL.search(text) if len(text) < 10_000 else None
    return None if found is None else found.group(1)


def _is_local(dataset: str) -> bool:
    """Whether the address of a data set is a path: no scheme, and no `owner/name` of a hub."""
    path = dataset.strip().rstrip("/")
    return "://" not in path and (path.count("/") > 1 or path.startswith((".", "/")))


def _local(path: str, document: Document, pointer: str) -> Finding:
    return finding(
        "local-path-in-text",
        f"the text contains a local path, {shown(path)}",
        file=document.file,
        line=document.line(pointer),
        pointer=quoted(pointer),
        claimed=plain(path),
        fix="write the path inside this folder"
        if pointer.startswith("/runs/") and pointer.endswith("/path")
        else "write the public address of the data",
    )


def _texts(document: Document, look: Callable[[str, str], str | None]) -> Iterator[tuple[str, str]]:
    """(pointer, what was found) over the texts of a document, the first MAX_PER_FILE."""
    hits = (
        (place, found)
        for place, text in strings(document.value)
        if (found := look(text, str(place.key))) is not None
    )
    return ((place.pointer, found) for place, found in it.islice(hits, MAX_PER_FILE))


def _hits(
    case: Case, endings: tuple[str, ...], look: Callable[[str], str | None]
) -> Iterator[tuple[str, int, str]]:
    """(file, line number, what was found) over the lines of the files of a folder that have one of
    the endings; ("",) for all."""
    for name, data in case.folder.files.items():
        if name in case.documents or not name.lower().endswith(endings):
            continue
        for number, line in enumerate(_text(data).split("\n"), 1):
            # A long line is looked at piece by piece, with the seams in two pieces.
            pieces = (line[at : at + _PIECE] for at in range(0, len(line), _PIECE - _SEAM))
            found = next((what for piece in pieces if (what := look(piece)) is not None), None)
            if found is not None:
                yield name, number, found


def _text(data: bytes) -> str:
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if wide else "utf-8", "replace")
