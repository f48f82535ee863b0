"""A pool: the texts that a corpus is chosen from, as `pool.toml` lists them.

    name = "my-pool"
    licence = "CC0-1.0"          # of the result
    url = "https://..."          # where the shards will be, for those who verify them

    [[sources]]
    name = "speeches"
    path = "texts/*.txt"         # a document a file; or .jsonl, .jsonl.gz with a "text" a line
    licence = "CC0-1.0"

    [score]                      # optional: what a good document is, see `score`
    command = ["python", "score.py"]
    sample = 200
    keep = 0.5

    [filters]
    min_words = 50
    max_words = 100000
    near_duplicates = 0.8        # Jaccard similarity of word 5-grams; 1: none are removed

Paths are relative to the file. A wrong key or value is a DataError of one sentence.
"""

import dataclasses as dc
import gzip
import hashlib
import json
import pathlib
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from reference_trainer.errors import DataError

MAX_DOCUMENT_BYTES = 20_000_000
MAX_SOURCE_BYTES = 100_000_000_000  # of one file, decompressed
ENDINGS = (".txt", ".jsonl", ".jsonl.gz")


@dc.dataclass(frozen=True)
class Source:
    """Texts of one origin and licence."""

    name: str
    path: str
    licence: str
    url: str | None = None


@dc.dataclass(frozen=True)
class Score:
    """What rates a document: a command, or a model behind an endpoint with a prompt."""

    sample: int = 200  # documents that are rated; a classifier learns from them
    keep: float = 0.5  # share of the documents that is kept, the best ones
    command: tuple[str, ...] = ()
    endpoint: str = ""
    model: str = ""
    prompt: str = ""


@dc.dataclass(frozen=True)
class Filters:
    """Bounds on a document, in words, and how alike two may be."""

    min_words: int = 20
    max_words: int = 1_000_000
    near_duplicates: float = 0.8


@dc.dataclass(frozen=True)
class Pool:
    """A `pool.toml`, checked."""

    name: str
    licence: str
    sources: tuple[Source, ...]
    about: str = ""
    url: str = ""
    score: Score | None = None
    filters: Filters = Filters()
    folder: pathlib.Path = pathlib.Path()
    sha256: str = ""


@dc.dataclass(frozen=True)
class Document:
    """One text and the name of its source."""

    text: str
    source: str


def load_pool(path: pathlib.Path) -> Pool:
    """Read a `pool.toml`. Raises DataError."""
    try:
        data = path.read_bytes()
        raw = tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path.name} is not readable as TOML: {error}") from error
    sources = raw.pop("sources", None)
    if not isinstance(sources, list) or not sources:
        raise DataError(f"{path.name} lists no [[sources]]; name at least one, with a path")
    parts: dict[str, Any] = {
        "sources": tuple(_made(Source, item, f"{path.name}: [[sources]]") for item in sources),
        "filters": _made(Filters, raw.pop("filters", {}), f"{path.name}: [filters]"),
    }
    if "score" in raw:
        parts["score"] = _made(Score, raw.pop("score"), f"{path.name}: [score]")
    rest = _fields(Pool, raw, path.name, ("name", "about", "licence", "url"))
    digest = hashlib.sha256(data).hexdigest()
    pool = Pool(**rest, **parts, folder=path.parent, sha256=digest)
    _check(pool, path.name)
    return pool


def _check(pool: Pool, where: str) -> None:
    names = [source.name for source in pool.sources]
    if len(set(names)) < len(names):
        raise DataError(f"{where}: two sources have one name; give each its own")
    filters, score = pool.filters, pool.score
    if not 0 < filters.min_words <= filters.max_words:
        raise DataError(
            f"{where}: filters.min_words is {filters.min_words} and filters.max_words "
            f"{filters.max_words}; expected 0 < min_words <= max_words"
        )
    if not 0 < filters.near_duplicates <= 1:
        raise DataError(
            f"{where}: filters.near_duplicates is {filters.near_duplicates}, expected a "
            "similarity above 0 and at most 1, such as 0.8"
        )
    if score is None:
        return
    if not 0 < score.keep <= 1:
        raise DataError(f"{where}: score.keep is {score.keep}, expected a share such as 0.5")
    if score.sample < 20:
        raise DataError(f"{where}: score.sample is {score.sample}; a classifier needs at least 20")
    if bool(score.command) == bool(score.endpoint):
        raise DataError(f"{where}: [score] needs either command or endpoint")
    if score.endpoint and not (score.model and "{text}" in score.prompt):
        raise DataError(
            f"{where}: an endpoint needs score.model, and score.prompt with {{text}} in it"
        )


def _made(kind: Any, values: Any, where: str) -> Any:
    if not isinstance(values, Mapping):
        raise DataError(f"{where} is a table of settings")
    return kind(**_fields(kind, values, where, tuple(f.name for f in dc.fields(kind))))


def _fields(
    kind: Any, values: Mapping[str, Any], where: str, known: tuple[str, ...]
) -> dict[str, Any]:
    """The values of a dataclass's fields, each of its type."""
    for key in values:
        if key not in known:
            raise DataError(f'{where}: unknown key "{key}"; known are {", ".join(known)}')
    found = {}
    for field in dc.fields(kind):
        if field.name not in known:
            continue
        if field.name not in values:
            if field.default is dc.MISSING:
                raise DataError(f"{where}: {field.name} is missing")
            continue
        found[field.name] = _typed(values[field.name], field.type, f"{where}: {field.name}")
    return found


def _typed(value: Any, kind: Any, where: str) -> Any:
    if kind is int and type(value) is int:
        return value
    if kind is float and type(value) in (int, float):
        return float(value)
    if kind in (str, str | None) and isinstance(value, str) and (value or kind is not str):
        return value
    if kind == tuple[str, ...] and isinstance(value, list):
        if value and all(isinstance(part, str) and part for part in value):
            return tuple(value)
    wanted = {int: "a whole number", float: "a number"}.get(kind, "a text")
    wanted = "a list of texts" if kind == tuple[str, ...] else wanted
    raise DataError(f"{where} is {value!r}, expected {wanted}")


def documents(pool: Pool) -> Iterator[Document]:
    """The documents of every source, in the order of sources and file names. Raises DataError."""
    for source in pool.sources:
        if pathlib.PurePath(source.path).is_absolute():
            raise DataError(f'the path "{source.path}" is absolute; write it relative to the pool')
        paths = sorted(path for path in pool.folder.glob(source.path) if path.is_file())
        if not paths:
            raise DataError(f'the source {source.name} has no file "{source.path}"')
        for path in paths:
            for text in _texts(path):
                if text.strip():
                    yield Document(text, source.name)


def _texts(path: pathlib.Path) -> Iterator[str]:
    if not path.name.endswith(ENDINGS):
        raise DataError(f"{path.name} does not end in {' or '.join(ENDINGS)}")
    try:
        if path.suffix == ".txt":
            yield _decoded(_bounded(path), path.name)
            return
        for number, line in enumerate(_lines(path), 1):
            yield _text_of(line, f"{path.name}, line {number}")
    except (OSError, EOFError) as error:  # a cut or damaged gzip file among them
        raise DataError(f"{path.name} cannot be read: {error}") from error


def _bounded(path: pathlib.Path) -> bytes:
    if path.stat().st_size > MAX_DOCUMENT_BYTES:
        raise DataError(
            f"{path.name} is one document of {path.stat().st_size:,} bytes, at most "
            f"{MAX_DOCUMENT_BYTES:,} are read; split it"
        )
    return path.read_bytes()


def _lines(path: pathlib.Path) -> Iterator[bytes]:
    """Lines of a JSONL file; what a compressed one unpacks to is bounded, by line and in all."""
    opened = gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")
    total = 0
    with opened as file:
        while line := file.readline(MAX_DOCUMENT_BYTES + 1):
            total += len(line)
            if len(line) > MAX_DOCUMENT_BYTES or total > MAX_SOURCE_BYTES:
                raise DataError(
                    f"{path.name} unpacks to a line of more than {MAX_DOCUMENT_BYTES:,} bytes, or "
                    f"to more than {MAX_SOURCE_BYTES:,} in all; split it"
                )
            if line.strip():
                yield bytes(line)


def _text_of(line: bytes, where: str) -> str:
    try:
        text = json.loads(_decoded(line, where))["text"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f'{where}: expected an object with the key "text"') from error
    if not isinstance(text, str):
        raise DataError(f"{where}: text is {type(text).__name__}, expected a text")
    return text


def _decoded(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{where} is not UTF-8 text (byte {error.start})") from error
