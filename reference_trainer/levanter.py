"""Bits per byte as Levanter computes them, which the Marin board ranks by. `bpb` has our own.

What is different, and kept as it is so that numbers compare:

- documents are BOS, text, a space, EOS, in one stream cut into windows of `seq_len`; what is left
  over is dropped, the last position of a window has no target, attention ends at EOS;
- special ids are scored and stand for no bytes; the space before EOS is scored and is a byte;
- an id stands for the bytes of its text behind a full stop: half a character is a U+FFFD, 3 bytes;
- a batch (of `train.batch` windows) has its own ratio, and the result is the mean of these ratios
  weighted by targets.

Attention that ends at EOS is computed by giving each document of a window a row of its own: with
rotary positions the distance between two tokens is all that counts.
"""

import dataclasses as dc
import math
import pathlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from reference_trainer.tokenizers import Tokenizer

STREAM, LENGTHS = "levanter.npy", "levanter_bytes.npy"


@dc.dataclass(frozen=True)
class Text:
    """A validation text in Levanter's form: ids, bytes of every id, the id that ends a document."""

    ids: np.ndarray
    byte_lengths: np.ndarray
    end_of_text: int


@dc.dataclass(frozen=True)
class Batch:
    """Rows (n, seq_len + 1) and weights (n, seq_len) of one batch, its targets and their bytes."""

    rows: np.ndarray
    weights: np.ndarray
    targets: int
    utf8_bytes: int


def write(folder: pathlib.Path, coder: Tokenizer, texts: Iterable[str]) -> None:
    """Keep a text in Levanter's form in `folder`."""
    parts = [document(coder, text) for text in texts]
    np.save(folder / STREAM, np.concatenate(parts))
    np.save(folder / LENGTHS, byte_lengths(coder))


def read(folder: pathlib.Path, end_of_text: int) -> Text:
    """The text that `write` kept."""
    ids = np.load(folder / STREAM, mmap_mode="r")
    return Text(ids, np.load(folder / LENGTHS), end_of_text)


def document(coder: Tokenizer, text: str) -> np.ndarray:
    """The ids of one document. A tokenizer that writes BOS itself puts no space behind it."""
    begin = coder.begin_of_text
    spaced = "" if begin is None or coder.begins_itself else " "
    (ids,) = coder.encode([f"{spaced}{text} "])
    first = [] if begin is None else [begin]
    return np.concatenate([first, ids, [coder.end_of_text]]).astype(np.uint32)


def byte_lengths(coder: Tokenizer) -> np.ndarray:
    """Bytes of every id decoded alone, as text; 0 for special ids."""
    decoded = ((b"." + piece).decode("utf-8", "replace").encode() for piece in coder.pieces())
    return np.array([len(data) - 1 for data in decoded], np.int64)


def batches(text: Text, seq_len: int, batch: int) -> Iterator[Batch]:
    """The batches of a text."""
    count = len(text.ids) // seq_len
    for first in range(0, count, batch):
        last = min(first + batch, count)
        windows = np.asarray(text.ids[first * seq_len : last * seq_len]).reshape(-1, seq_len)
        found = [row for window in windows for row in _documents(window, text.end_of_text)]
        yield Batch(
            rows=np.stack([row for row, _ in found]).astype(np.int32),
            weights=np.stack([weights for _, weights in found]),
            targets=len(windows) * (seq_len - 1),
            utf8_bytes=int(text.byte_lengths[windows[:, 1:]].sum()),
        )


def _documents(window: np.ndarray, end: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The documents of a window, each a row with its weights, padded behind."""
    size = len(window)
    ends = [int(i) + 1 for i in np.flatnonzero(window == end)]
    starts = [0, *(i for i in ends if i < size)]
    for start, stop in zip(starts, [*starts[1:], size], strict=True):
        row, weights = np.full(size + 1, end, window.dtype), np.zeros(size, np.float32)
        kept = window[start : stop + 1]  # with the first token of the next one, a target
        row[: len(kept)] = kept
        weights[: len(kept) - 1] = 1
        yield row, weights


def score(
    text: Text, seq_len: int, batch: int, nats: Callable[[np.ndarray, np.ndarray], Any]
) -> float:
    """Bits per byte; `nats(rows, weights)` is a model's weighted sum of losses over all rows."""
    weighted = targets = 0.0
    for item in batches(text, seq_len, batch):
        bits = nats(item.rows, item.weights) / max(item.utf8_bytes, 1) / math.log(2)
        weighted, targets = weighted + bits * item.targets, targets + item.targets
    return weighted / targets
