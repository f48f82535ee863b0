"""Folders that may be local or on an object store, with one set of rules for both.

A location is a path or an fsspec URL (`gs://`, `s3://`, `memory://`). A file appears whole or not
at all: locally through a temporary name, on object stores because an upload is one object. Groups
of files (checkpoints) end with a marker, written last; a group without it does not exist.
"""

import contextlib
import errno
import os
import pathlib
import shutil
from collections.abc import Iterator
from typing import Any, Protocol

from reference_trainer.errors import StorageError


class Folder(Protocol):
    """Names are relative, with forward slashes."""

    location: str

    def write(self, name: str, data: bytes) -> None: ...

    def read(self, name: str) -> bytes: ...

    def exists(self, name: str) -> bool: ...

    def children(self, name: str) -> list[str]:
        """Names directly below `name`, sorted; [] where there is no such folder."""

    def remove(self, name: str) -> None:
        """Remove a file or a folder with all below it; nothing where there is none."""


def open_folder(location: str) -> Folder:
    """A local or remote folder. Raises StorageError for a scheme that cannot be served."""
    if "://" in location:
        return RemoteFolder(location)
    return LocalFolder(pathlib.Path(location))


def copy(source: Folder, target: Folder, names: tuple[str, ...]) -> None:
    """Copy those of the files that `source` has."""
    for name in names:
        if source.exists(name):
            target.write(name, source.read(name))


def prefix() -> str | None:
    """SPEEDRUN_PREFIX, or MARIN_PREFIX: where data, checkpoints and results go by default."""
    return os.environ.get("SPEEDRUN_PREFIX") or os.environ.get("MARIN_PREFIX") or None


class LocalFolder:
    """A folder of this machine's file system."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path, self.location = path, str(path)

    def write(self, name: str, data: bytes) -> None:
        target = self.path / name
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise StorageError(f"{name} could not be written: {reason(error)}") from error

    def read(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes()
        except OSError as error:
            raise StorageError(f"{name} could not be read: {reason(error)}") from error

    def exists(self, name: str) -> bool:
        return (self.path / name).exists()

    def children(self, name: str) -> list[str]:
        folder = self.path / name
        return sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []

    def remove(self, name: str) -> None:
        target = self.path / name
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)


class RemoteFolder:
    """A folder behind fsspec. A put replaces an object as a whole, on every store we know."""

    def __init__(self, url: str) -> None:
        try:
            import fsspec

            self._fs, self._root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            scheme = url.partition("://")[0]
            extra = {"gs": "gcs", "gcs": "gcs"}.get(scheme, "s3")
            raise StorageError(
                f"{scheme}:// needs a package that is not installed, for gs:// and s3:// "
                f"pip install -e '.[{extra}]': {error}"
            ) from error
        self.location = url

    def write(self, name: str, data: bytes) -> None:
        with self._words(name, "written"):
            self._fs.pipe_file(self._path(name), data)

    def read(self, name: str) -> bytes:
        with self._words(name, "read"):
            data: bytes = self._fs.cat_file(self._path(name))
            return data

    def exists(self, name: str) -> bool:
        with self._words(name, "looked up"):
            self._fs.invalidate_cache()
            return bool(self._fs.exists(self._path(name)))

    def children(self, name: str) -> list[str]:
        with self._words(name, "listed"):
            self._fs.invalidate_cache()
            try:
                found = self._fs.ls(self._path(name), detail=False)
            except FileNotFoundError:
                return []
            return sorted(path.rstrip("/").rpartition("/")[2] for path in found)

    def remove(self, name: str) -> None:
        with self._words(name, "removed"), contextlib.suppress(FileNotFoundError):
            self._fs.rm(self._path(name), recursive=True)

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}".rstrip("/")

    @contextlib.contextmanager
    def _words(self, name: str, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"{name} could not be {what} under {self.location}: {error}"
            ) from error


class Lock:
    """One process in one output folder. Held until the process ends, also when it is killed."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._file: Any = None
        self._folder = folder

    def acquire(self) -> None:
        """Raises StorageError while another process has the folder, or nobody may write it."""
        import fcntl

        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = (self._folder / ".lock").open("w")
        except OSError as error:
            raise StorageError(
                f"{self._folder} cannot be written ({error.strerror}); choose another --out"
            ) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            self._file = None
            raise StorageError(
                f"another process is writing into {self._folder.name}; choose another --out, or "
                "end it first"
            ) from None

    def __enter__(self) -> "Lock":
        self.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            (self._folder / ".lock").unlink(missing_ok=True)
            self._file = None


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # no space, no quota, a file past its limit


def reason(error: OSError) -> str:
    """Why a file could not be written, with a remedy where there is one."""
    if error.errno in FULL:
        return "the disk is full; free some space or set SPEEDRUN_PREFIX elsewhere"
    return error.strerror or str(error)
