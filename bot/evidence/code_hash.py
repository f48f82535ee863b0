"""The hash by which source code is known, in a log, a folder or a commit."""

from __future__ import annotations

import hashlib


def source_sha256(text: str) -> str:
    """The hash that identifies a source file, the same embedded in a log or as a file.

    Line ends become LF and white space at the end of the text is cut, because a log adds a line
    feed of its own after the source; a byte order mark is no part of it. SHA-256 of the UTF-8.
    """
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").rstrip()
    return hashlib.sha256((plain + "\n").encode("utf-8", "replace")).hexdigest()
