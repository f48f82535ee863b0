"""The hash by which source code is known, in a log, a folder or a commit."""

from __future__ import annotations

import hashlib
import re

_ID = re.compile(
    r"^(\s*(?:wandb_)?(?:run|exp|experiment|job|log)_?(?:id|uid|uuid|name)(?:\s*:\s*str)?\s*=\s*)"
    r"([\"'])[\w.:-]{0,64}\2(?=\s*,?\s*(?:#.*)?$)",
    re.MULTILINE,
)
"""A run's own id or name as a script assigns it: a word, which no two runs need to share."""


def source_sha256(text: str) -> str:
    """The hash that identifies a source file, the same embedded in a log or as a file.

    Line ends become LF and white space at the end of the text is cut, because a log adds a line
    feed of its own after the source; a byte order mark does not count. The id or name that a
    script gives its run, as in `run_id = "a1b2c3"`, counts as empty. SHA-256 of the UTF-8.
    """
    return _digest(without_id(text))


def without_id(text: str) -> str:
    """A source with LF line ends, and the id or name that it gives its run empty."""
    return _ID.sub(r"\1\2\2", _plain(text))


def file_sha256(text: str) -> str:
    """The hash of a source file by which the trainer knows it: of every character."""
    return _digest(_plain(text))


def hashes_of(data: bytes) -> frozenset[str]:
    """The hashes by which a run may name this file: ours, that with the id, and of the bytes."""
    text = data.decode("utf-8", "replace")
    bare = hashlib.sha256(data).hexdigest()
    return frozenset({source_sha256(text), file_sha256(text), bare})


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").rstrip()


def _digest(plain: str) -> str:
    return hashlib.sha256((plain + "\n").encode("utf-8", "replace")).hexdigest()
