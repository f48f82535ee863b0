"""The manifest of submitted training data, as far as rules read it."""

from __future__ import annotations

import dataclasses as dc
import hashlib


@dc.dataclass(frozen=True, slots=True)
class Shard:
    """One file of tokens."""

    file: str
    tokens: int
    sha256: str


@dc.dataclass(frozen=True, slots=True)
class Split:
    """One of the two parts of a corpus, and its identity."""

    tokenizer_sha256: str
    tokens: int
    documents: int | None
    shards: tuple[Shard, ...]

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the hashes of tokenizer and shards, as the trainer writes it to a run."""
        text = "\n".join([self.tokenizer_sha256, *(shard.sha256 for shard in self.shards)])
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@dc.dataclass(frozen=True, slots=True)
class DataManifest:
    """What an author says of their training data. `offered` are the documents of all sources,
    `removed` those that filters took out, `overlap` the author's figures by name."""

    train: Split
    validation: Split
    offered: int
    removed: int
    overlap: dict[str, int]
