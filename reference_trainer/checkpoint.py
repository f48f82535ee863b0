"""Checkpoints: everything that a resumed run needs to go on as if nothing had happened.

`checkpoints/step-00000100/` holds `state.npz` (parameters and optimizer, by name), `run.json`
(step, clock, losses so far, nonce, fingerprints) and, last, `DONE`. The data position is the step
itself, because batches are a function of seed and step; no random state is drawn on besides.

Where processes share the state out (`train.sharding = "fsdp"`), each writes the blocks that it
holds into `state.I-of-N.npz` and then `DONE.I-of-N`: nothing is gathered, and any number of
processes puts the blocks together again. The format is our own, because both backends read it
(torch's and JAX's libraries do not read each other's). Files are written in the background, from a
copy.
"""

import contextlib
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from reference_trainer.errors import StorageError
from reference_trainer.storage import Folder

ROOT = "checkpoints"
MARKER = "DONE"
KEEP = 2  # the newest ones; an older one serves when the newest turns out bad
_PART = re.compile(rf"{MARKER}\.(\d+)-of-(\d+)")


class Block(NamedTuple):
    """What a process holds of an array of `shape`: `values`, which begin at `start`."""

    shape: tuple[int, ...]
    start: tuple[int, ...]
    values: np.ndarray


State = Sequence[tuple[str, Block]]  # what one process saves, with the names of the arrays


def whole(values: np.ndarray) -> Block:
    """The block that is all of an array."""
    return Block(values.shape, (0,) * values.ndim, values)


class Saver:
    """Writes the checkpoints of one process, each in the background; the next waits for the last.

    `writer` of `writers` processes; one writer alone has whole arrays.
    """

    def __init__(self, folder: Folder, writer: int = 0, writers: int = 1) -> None:
        self._folder, self._writer, self._writers = folder, writer, writers
        self._thread = ThreadPoolExecutor(1)
        self._last: Future[None] | None = None

    def save(self, step: int, state: State, run: Mapping[str, Any]) -> None:
        """Begin to write a checkpoint. Raises StorageError for the one before."""
        self.wait()
        text = json.dumps(run).encode()  # now: what it lists goes on growing
        write = save if self._writers == 1 else self._save_part
        self._last = self._thread.submit(write, self._folder, step, state, text)

    def wait(self) -> None:
        """Until everything is written. Raises StorageError where that failed."""
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def _save_part(self, folder: Folder, step: int, state: State, run: bytes) -> None:
        name, part = _name(step), f"{self._writer}-of-{self._writers}"
        named = {f"{key}@{_numbers(b.start)}@{_numbers(b.shape)}": b.values for key, b in state}
        folder.write(f"{name}/state.{part}.npz", _npz(named))
        if self._writer == 0:
            folder.write(f"{name}/run.json", run)
        folder.write(f"{name}/{MARKER}.{part}", b"")
        if self._writer == 0:
            drop_old(folder)


def save(folder: Folder, step: int, state: State, run: bytes) -> None:
    """Write a checkpoint of whole arrays and drop what is older than the newest two.

    Raises StorageError; a failed checkpoint leaves nothing behind.
    """
    name = _name(step)
    folder.remove(name)
    try:
        folder.write(f"{name}/state.npz", _npz({key: block.values for key, block in state}))
        folder.write(f"{name}/run.json", run)
        folder.write(f"{name}/{MARKER}", b"")
    except StorageError:
        folder.remove(name)
        raise
    drop_old(folder)


def drop_old(folder: Folder) -> None:
    """Remove what is older than the newest complete ones, whatever a killed process left too."""
    kept = steps(folder)[-KEEP:]
    for name in folder.children(ROOT):
        if kept and name < f"step-{kept[0]:08d}":
            folder.remove(f"{ROOT}/{name}")


def steps(folder: Folder) -> list[int]:
    """Steps of the complete checkpoints, ascending."""
    found = []
    for name in folder.children(ROOT):
        number = name.removeprefix("step-")
        if number.isdigit() and _files(folder.children(f"{ROOT}/{name}")):
            found.append(int(number))
    return sorted(found)


def load(folder: Folder, step: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Whole arrays and run of a checkpoint. Raises StorageError where it cannot be read."""
    name = _name(step)
    run = json.loads(folder.read(f"{name}/run.json"))
    files = _files(folder.children(name))
    try:
        with contextlib.ExitStack() as stack:
            opened = (io.BytesIO(folder.read(f"{name}/{file}")) for file in files)
            parts = [stack.enter_context(np.load(part)) for part in opened]
            if len(files) == 1 and files[0] == "state.npz":
                return {k.replace("|", "/"): parts[0][k] for k in parts[0].files}, run
            return _joined(_blocks(parts)), run
    except (ValueError, zipfile.BadZipFile) as error:
        raise StorageError(
            f"checkpoint step {step} is damaged ({error}); remove {name}, then an older one serves"
        ) from error


def _files(names: list[str]) -> list[str]:
    """The files of a complete state; [] if it is not one."""
    if MARKER in names:
        return ["state.npz"]
    done: dict[int, set[int]] = {}
    for match in filter(None, map(_PART.fullmatch, names)):
        done.setdefault(int(match[2]), set()).add(int(match[1]))
    of = next((n for n, parts in sorted(done.items()) if len(parts) == n), 0)
    return [f"state.{i}-of-{of}.npz" for i in range(of)]


def _blocks(parts: list[Any]) -> Iterator[tuple[str, Block]]:
    for part in parts:
        for key in part.files:
            name, start, shape = key.replace("|", "/").split("@")
            yield name, Block(_tuple(shape), _tuple(start), part[key])


def _joined(blocks: Iterator[tuple[str, Block]]) -> dict[str, np.ndarray]:
    """Whole arrays. Raises ValueError where a block is missing or does not fit."""
    out: dict[str, np.ndarray] = {}
    filled: dict[str, int] = {}
    for name, block in blocks:
        array = out.setdefault(name, np.empty(block.shape, block.values.dtype))
        ends = zip(block.start, block.values.shape, strict=True)
        array[tuple(slice(a, a + n) for a, n in ends)] = block.values
        filled[name] = filled.get(name, 0) + block.values.size
    short = next((name for name, array in out.items() if filled[name] != array.size), None)
    if short is not None:
        raise ValueError(f"{filled[short]} of the {out[short].size} numbers of {short} are there")
    return out


def _name(step: int) -> str:
    return f"{ROOT}/step-{step:08d}"


def _npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    named: dict[str, Any] = {key.replace("/", "|"): value for key, value in arrays.items()}
    np.savez(buffer, **named)
    return buffer.getvalue()


def _numbers(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))


def _tuple(text: str) -> tuple[int, ...]:
    return tuple(map(int, filter(None, text.split(","))))
