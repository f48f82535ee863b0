"""Writing on a user's disk: a file is there whole, as before, or not at all.

write("submissions/t/n/submission.json", data)

The bytes go to a temporary file in the same folder, to the disk, and then under the name. A disk
that is full, a signal or a power cut leaves the former file untouched and no half of the new one.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def write(path: str | Path, data: str | bytes, *, durable: bool = True) -> None:
    """Write one file whole, and the folders above it. Raises OSError that names the file.

    A link at `path` is replaced, never followed. Without `durable` the bytes are not forced to
    the disk: for thousands of files that can be made again.
    """
    path = Path(path)
    blob = data.encode() if isinstance(data, str) else data
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        handle = _create(part)
        try:
            _fill(handle, blob, durable)
            os.replace(part, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise
        if durable:
            _sync_folder(path.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror or "cannot be written", str(path)) from error


def _create(part: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        return os.open(part, flags, 0o666)
    except FileNotFoundError:
        part.parent.mkdir(parents=True, exist_ok=True)
        return os.open(part, flags, 0o666)


def _fill(handle: int, blob: bytes, durable: bool) -> None:
    try:
        left = memoryview(blob)
        while left:
            left = left[os.write(handle, left) :]
        if durable:
            os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Make the new name last; not every system can do this with a folder."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
