"""Token shards (`.bin`), their manifest, and the batches that a run draws from them.

A shard is a header of 256 little-endian int32 (magic, version, tokens, zeros) and then the
tokens: uint16 with magic 20240520 and version 1 (the layout of llm.c and modded-nanogpt), uint32
with magic 20240801 and version 7 for vocabularies over 65,536. `manifest.json` beside them says
what the header cannot: tokenizer and its hash, tokens, UTF-8 bytes, documents, SHA-256.
"""

import dataclasses as dc
import hashlib
import json
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from reference_trainer import marin
from reference_trainer.errors import DataError
from reference_trainer.streaming import Ids

HEADER_BYTES = 1024
FORMATS: dict[tuple[int, int], type[np.generic]] = {
    (20240520, 1): np.uint16,
    (20240801, 7): np.uint32,
}
MANIFEST = "manifest.json"


@dc.dataclass(frozen=True)
class Split:
    """One split of a corpus: what the manifest says of it and its tokens, memory-mapped."""

    name: str
    fingerprint: str
    tokens: int
    utf8_bytes: int | None
    documents: int | None
    arrays: tuple[np.ndarray, ...]
    stream: Ids | None = None  # where the tokens are if not in `arrays`
    held_out: int = 0  # tokens at its end that validate, in a stream

    def window(self, start: int, length: int) -> np.ndarray:
        """`length` tokens from `start`, across shards; shorter at the end of the split."""
        if self.stream is not None:
            return self.stream[start : min(start + length, self.tokens)]
        parts, offset = [], 0
        for array in self.arrays:
            first, last = max(start - offset, 0), min(start + length - offset, len(array))
            if first < last:
                parts.append(array[first:last])
            offset += len(array)
        return np.concatenate(parts) if parts else np.empty(0, np.uint16)


@dc.dataclass(frozen=True)
class Corpus:
    """A folder of shards with its manifest."""

    name: str
    folder: pathlib.Path
    tokenizer: str
    tokenizer_sha256: str
    vocab: int
    end_of_text: int
    byte_lengths: np.ndarray | None
    train: Split
    validation: Split


def write_shard(path: pathlib.Path, tokens: np.ndarray) -> None:
    """Write one shard; the width follows the array's type (uint16 or uint32)."""
    kinds = {np.dtype(kind): key for key, kind in FORMATS.items()}
    magic, version = kinds[tokens.dtype]
    header = np.zeros(256, "<i4")
    header[:3] = magic, version, len(tokens)
    temporary = path.with_name(path.name + ".part")
    with temporary.open("wb") as file:
        file.write(header.tobytes())
        file.write(tokens.astype(tokens.dtype.newbyteorder("<")).tobytes())
    temporary.replace(path)


def open_shard(path: pathlib.Path) -> np.ndarray:
    """Memory-map a shard. Raises DataError for a file that is foreign or cut short."""
    if not path.is_file():
        raise DataError(f"{path.name} is missing from {path.parent.name}; build the corpus again")
    size = path.stat().st_size
    header = np.fromfile(path, "<i4", 256) if size >= HEADER_BYTES else np.zeros(0)
    kind = FORMATS.get((int(header[0]), int(header[1]))) if len(header) == 256 else None
    if kind is None:
        raise DataError(
            f"{path.name} is not a token shard: its header has another magic or version"
        )
    width, count = np.dtype(kind).itemsize, int(header[2])
    if size != HEADER_BYTES + width * count:
        raise DataError(
            f"{path.name} has {size:,} bytes, its header promises {count:,} tokens and "
            f"{HEADER_BYTES + width * count:,} bytes; it is cut short, fetch it again"
        )
    return np.memmap(path, np.dtype(kind).newbyteorder("<"), "r", HEADER_BYTES, (count,))


def file_sha256(path: pathlib.Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(tokenizer_sha256: str, shards: list[dict[str, Any]]) -> str:
    """Identity of a split: SHA-256 over the tokenizer's hash and the hashes of its shards."""
    text = "\n".join([tokenizer_sha256, *(shard["sha256"] for shard in shards)])
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def open_corpus(folder: pathlib.Path, verify: bool = False) -> Corpus:
    """Read manifest and headers; with `verify` the SHA-256 of every shard too. Raises DataError."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        splits, known, name = manifest["splits"], manifest["tokenizer"], manifest["name"]
        facts = [known[key] for key in ("name", "sha256", "size", "end_of_text")]
    except FileNotFoundError:
        raise DataError(
            f"{folder.name} has no {MANIFEST}; build it with: python -m reference_trainer data"
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{MANIFEST} of {folder.name} is not readable ({error})") from error
    lengths = folder / "byte_lengths.npy"
    return Corpus(
        name=name,
        folder=folder,
        tokenizer=facts[0],
        tokenizer_sha256=facts[1],
        vocab=facts[2],
        end_of_text=facts[3],
        byte_lengths=np.load(lengths) if lengths.is_file() else None,
        train=open_split(folder, known["sha256"], "train", splits, verify),
        validation=open_split(folder, known["sha256"], "validation", splits, verify),
    )


def open_split(
    folder: pathlib.Path, tokenizer_sha256: str, name: str, splits: Mapping[str, Any], verify: bool
) -> Split:
    """One split of a manifest. Raises DataError."""
    if name not in splits:
        raise DataError(f"{MANIFEST} of {folder.name} has no split {name}")
    split, arrays = splits[name], []
    stream = Ids(folder / "pieces", **split["stream"]) if "stream" in split else None
    for shard in split["shards"] if stream is None else ():
        array = open_shard(folder / shard["file"])
        if len(array) != shard["tokens"]:
            raise DataError(
                f"{shard['file']} has {len(array):,} tokens, {MANIFEST} says {shard['tokens']:,}"
            )
        if verify and file_sha256(folder / shard["file"]) != shard["sha256"]:
            raise DataError(f"{shard['file']} differs from its SHA-256 in {MANIFEST}; rebuild it")
        arrays.append(array)
    return Split(
        name=name,
        fingerprint=fingerprint(tokenizer_sha256, split["shards"]),
        tokens=sum(map(len, arrays)) if stream is None else len(stream),
        utf8_bytes=split.get("bytes"),
        documents=split.get("documents"),
        arrays=tuple(arrays),
        stream=stream,
        held_out=split.get("held_out", 0),
    )


def split_documents(
    arrays: Iterable[np.ndarray], pieces: list[bytes], end_of_text: int
) -> Iterator[bytes]:
    """The bytes of every document of a split. Raises DataError for an id that no piece has."""
    known, open_document = len(pieces), [b""]
    for array in arrays:
        ends = np.flatnonzero(array == end_of_text)
        for part in np.split(array, ends):
            if len(part) and part.max() >= known:
                raise DataError(
                    f"a shard has the token id {part.max():,}; the tokenizer has {known:,} ids; "
                    "name the tokenizer that the shards were made with"
                )
            if len(part) and part[0] == end_of_text:
                if any(open_document):
                    yield b"".join(open_document)
                open_document = []
            open_document.append(b"".join(map(pieces.__getitem__, part.tolist())))
    if any(open_document):
        yield b"".join(open_document)


class TrainingBatches:
    """The batch of every step, a pure function of seed and step: a resumed run needs no state.

    The split is cut into windows of `seq_len` (each with one token more, the last target). An
    epoch visits every window once, in a random order (`shuffled`), as they lie (`sequential`), or
    in the order of `marin`, where the last token of a row is not a target.
    """

    def __init__(self, split: Split, seq_len: int, batch: int, order: str, seed: int) -> None:
        self.split, self.seq_len, self.batch = split, seq_len, batch
        self.order, self.seed = order, seed
        tokens = split.tokens if order == "marin" else split.tokens - split.held_out - 1
        self.windows = tokens // seq_len
        if self.windows < batch:
            raise DataError(
                f"the {split.name} split has {split.tokens:,} tokens, one batch needs "
                f"{batch * seq_len + 1:,}; lower train.batch or model.seq_len"
            )
        self._epoch, self._permutation = -1, np.empty(0, np.int64)
        self._marin = marin.Order(self.windows) if order == "marin" else None

    def __call__(self, step: int, first: int = 0, count: int | None = None) -> np.ndarray:
        """Rows `first : first + count` of the step's batch, shape (count, seq_len + 1)."""
        count = self.batch if count is None else count
        starts = self._starts(step, first, count)
        if (stream := self.split.stream) is not None:
            for start in [*starts, *self._starts(step + 1, first, count)]:
                stream.want(start, start + self.seq_len + 1)
        return np.stack([self._row(start) for start in starts]).astype(np.int32)

    def _row(self, start: int) -> np.ndarray:
        row = self.split.window(start, self.seq_len + 1)
        return np.pad(row, (0, self.seq_len + 1 - len(row)))  # the last one of Marin's may be short

    def _starts(self, step: int, first: int, count: int) -> list[int]:
        begin = step * self.batch + first
        return [self._window(index) * self.seq_len for index in range(begin, begin + count)]

    def _window(self, index: int) -> int:
        if self._marin is not None:
            return self._marin(index)
        epoch, place = divmod(index, self.windows)
        return int(self._shuffled(epoch)[place]) if self.order == "shuffled" else place

    def _shuffled(self, epoch: int) -> np.ndarray:
        if epoch != self._epoch:
            rng = np.random.Generator(np.random.Philox(key=[self.seed, epoch]))
            self._epoch, self._permutation = epoch, rng.permutation(self.windows)
        return self._permutation


def validation_batches(
    split: Split, seq_len: int, batch: int, tokens: int, end_of_text: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The validation text once, in order: tokens (batch, seq_len + 1) and weights (batch, seq_len).

    Each target is scored once, the last window padded. A weight is 1 for a target of the text
    and 0 for the end-of-text id and for padding. `tokens` limits the targets (0: all).
    """
    targets = split.tokens - 1 if tokens == 0 else min(tokens, split.tokens - 1)
    stride = seq_len * batch
    for start in range(0, targets, stride):
        count = min(stride, targets - start)
        flat = split.window(start, count + 1).astype(np.int32)
        flat = np.concatenate([flat, np.full(stride - count, end_of_text, np.int32)])
        rows = np.stack([flat[i * seq_len : (i + 1) * seq_len + 1] for i in range(batch)])
        weights = (rows[:, 1:] != end_of_text).astype(np.float32)
        weights.reshape(-1)[count:] = 0
        yield rows, weights
