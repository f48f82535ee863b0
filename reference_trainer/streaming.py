"""A corpus that stays on the Hub: ids are fetched when a run wants them, and kept.

Levanter keeps the ids of a cache in one zarr array, whose files (512 MB) are made of pieces (1 MB)
that can be read by themselves. A piece is fetched once and lies in the corpus's folder from then
on, so that a resumed run, another run and a run without a network find it there.
"""

import os
import pathlib
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from reference_trainer.errors import DataError

THREADS = 16  # requests at a time
PAUSES_S = (1.0, 2.0, 4.0)  # between tries
TIMEOUT_S = 60


class Ids:
    """Ids of a remote array as an array that is sliced."""

    def __init__(self, folder: pathlib.Path, url: str, tokens: int, piece: int, vocab: int) -> None:
        self._folder, self._url, self._tokens, self._vocab = folder, url, tokens, vocab
        self._piece = piece
        self._array: Any = None
        self._pool = ThreadPoolExecutor(THREADS)
        self._coming: dict[int, Future[None]] = {}

    def __len__(self) -> int:
        return self._tokens

    def __getitem__(self, wanted: slice) -> np.ndarray:
        """Ids from `start` to `stop`. Raises DataError where they cannot be fetched."""
        self.want(wanted.start, wanted.stop)
        numbers = self._pieces(wanted.start, wanted.stop)
        ids = np.concatenate([self._read(number) for number in numbers])
        before = numbers[0] * self._piece
        return ids[wanted.start - before : wanted.stop - before]

    def want(self, start: int, stop: int) -> None:
        """Begin to fetch ids that will be read soon."""
        for number in self._pieces(start, min(stop, self._tokens)):
            if number not in self._coming and not self._place(number).is_file():
                self._coming[number] = self._pool.submit(self._fetch, number)

    def _pieces(self, start: int, stop: int) -> range:
        return range(start // self._piece, -(-stop // self._piece))

    def _place(self, number: int) -> pathlib.Path:
        return self._folder / f"{number}.npy"

    def _read(self, number: int) -> np.ndarray:
        if (coming := self._coming.pop(number, None)) is not None:
            coming.result()
        ids: np.ndarray = np.load(self._place(number), mmap_mode="r")
        return ids

    def _fetch(self, number: int) -> None:
        first = number * self._piece
        last = min(first + self._piece, self._tokens)
        ids = self._tried(first, last)
        if int(ids.max()) >= self._vocab:
            raise DataError(
                f"{self._url} holds id {int(ids.max()):,}, the tokenizer has {self._vocab:,}; "
                "it was made with another one"
            )
        place = self._place(number)
        temporary = place.with_name(f".{number}.{os.getpid()}.part")
        self._folder.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            np.save(file, ids.astype(np.uint32))
        temporary.replace(place)

    def _tried(self, first: int, last: int) -> np.ndarray:
        for pause in (*PAUSES_S, None):
            try:
                if self._array is None:
                    self._array = opened(self._url)
                return np.asarray(self._array[first:last])
            except Exception as error:  # which library raises, changes with zarr's versions
                if pause is None:
                    reason = (str(error).splitlines() or [type(error).__name__])[0]
                    raise DataError(
                        f"ids {first:,} to {last:,} of {self._url} could not be fetched: {reason}; "
                        "go on with --resume once there is a network, or train on the beginning "
                        "of the corpus, as in data.corpus = fineweb-edu-10B@500M"
                    ) from error
                time.sleep(pause)
        raise AssertionError


def opened(url: str) -> Any:
    """The remote array. Raises DataError where a package is missing."""
    try:
        import aiohttp
        import zarr
        from zarr.storage import FsspecStore
    except ImportError as error:
        raise DataError("streaming needs packages: pip install -e '.[corpora]'") from error
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    client = {"timeout": timeout, "trust_env": True}
    store = FsspecStore.from_url(url, storage_options={"client_kwargs": client}, read_only=True)
    array = zarr.open_array(store, mode="r")
    store.allowed_exceptions = ()  # or a file that is missing would be read as zeros
    return array


def documents(ids: Ids, bounds: np.ndarray) -> Iterator[np.ndarray]:
    """The documents between bounds, in order."""
    ids.want(int(bounds[0]), int(bounds[-1]))
    for first, last in zip(bounds[:-1], bounds[1:], strict=True):
        yield ids[int(first) : int(last)]
