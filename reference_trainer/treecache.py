"""Levanter's TreeCache: tokenised documents in zarr arrays, as the Marin board publishes them.

`input_ids/offsets` holds the number of documents and then the end of each document in
`input_ids/data`, which is one long array of ids.
"""

import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from reference_trainer.errors import DataError

PIECE = 4_000_000  # ids read at a time


def open_cache(folder: pathlib.Path, limit: int | None = None) -> tuple[Any, np.ndarray]:
    """The array of ids, and the bounds of documents, shape (documents + 1,); with `limit`, of the
    documents that end within the first so many ids. Raises DataError, also for a missing file,
    which zarr would read as zeros."""
    ids, bounds = described(folder, limit)
    for number in range(-(-int(bounds[-1]) // ids_of_file(ids))):
        places = [folder / "input_ids" / "data" / part / str(number) for part in ("c", "")]
        if not any(place.is_file() for place in places):
            raise DataError(
                f"{folder.name} is cut short: file {number} of its ids is missing; fetch it again"
            )
    return ids, bounds


def described(folder: pathlib.Path, limit: int | None = None) -> tuple[Any, np.ndarray]:
    """As `open_cache`, of a cache whose ids need not be there yet."""
    try:
        import zarr
    except ImportError as error:
        raise DataError("a TreeCache needs a package: pip install -e '.[corpora]'") from error
    root = folder / "input_ids"
    if not (root / "offsets").is_dir() or not (root / "data").is_dir():
        raise DataError(f"{folder.name} is not a TreeCache: it has no input_ids/offsets and data")
    try:
        ids = zarr.open_array(str(root / "data"), mode="r")
        offsets = np.asarray(zarr.open_array(str(root / "offsets"), mode="r")[:], np.int64)
    except (ValueError, KeyError, OSError) as error:
        raise DataError(f"{folder.name} is not readable as a TreeCache ({error})") from error
    count = int(offsets[0]) if len(offsets) else 0
    bounds = np.concatenate([np.zeros(1, np.int64), offsets[1 : count + 1]])
    whole = len(bounds) == count + 1 and bool(np.all(np.diff(bounds) >= 0))
    if count < 1 or not whole or bounds[-1] > ids.shape[0]:
        raise DataError(
            f"{folder.name} is cut short: it promises {count:,} documents and {bounds[-1]:,} ids, "
            f"{ids.shape[0]:,} ids are there; download it again"
        )
    if limit is not None:
        bounds = bounds[: max(2, int(np.searchsorted(bounds, limit, "right")))]
    return ids, bounds


def ids_of_file(ids: Any) -> int:
    """How many ids one file of the array holds."""
    return int((getattr(ids, "shards", None) or ids.chunks)[0])


def file_number(file: str) -> int | None:
    """The place of a file among those of its array, as in `data/c/3` or `data/3`; None for those
    that describe it."""
    last = file.rpartition("/")[2]
    return int(last) if last.isdigit() else None


def files_needed(folder: pathlib.Path, limit: int | None) -> int | None:
    """How many files hold the documents up to `limit`, None for all. The offsets are there."""
    if limit is None:
        return None
    ids, bounds = described(folder, limit)
    return -(-int(bounds[-1]) // ids_of_file(ids))


def read_documents(folder: pathlib.Path, limit: int | None = None) -> Iterator[np.ndarray]:
    """The ids of each document, in order; few documents are in memory at a time."""
    ids, bounds = open_cache(folder, limit)
    first = 0
    while first < len(bounds) - 1:
        last = int(np.searchsorted(bounds, bounds[first] + PIECE, "right")) - 1
        last = min(max(last, first + 1), len(bounds) - 1)
        piece = np.asarray(ids[int(bounds[first]) : int(bounds[last])])
        start = int(bounds[first])
        for i in range(first, last):
            yield piece[int(bounds[i]) - start : int(bounds[i + 1]) - start]
        first = last
