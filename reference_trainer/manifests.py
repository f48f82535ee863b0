"""What a corpus is made of: its recipe, the writer of its splits, and its manifest."""

import dataclasses as dc
import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from reference_trainer.errors import DataError
from reference_trainer.shards import MANIFEST, file_sha256, write_shard
from reference_trainer.tokenizers import Tokenizer

SHARD_TOKENS = 100_000_000  # 200 MB as uint16, like the public FineWeb shards


@dc.dataclass(frozen=True)
class Recipe:
    """How a named corpus comes to be. `documents` yields texts in a fixed order."""

    name: str
    tokenizer: str
    about: str
    documents: Callable[[], Iterator[str]]
    train_fingerprint: str | None = None  # a build that gives another is refused
    validation_one_in: int = 20


def write_manifest(
    folder: pathlib.Path,
    name: str,
    about: str,
    coder: Tokenizer,
    splits: dict[str, Any],
    **more: Any,
) -> dict[str, Any]:
    """Write manifest and byte lengths; the manifest comes last and makes the corpus complete."""
    manifest = {
        "schema_version": 1,
        "name": name,
        "about": about,
        "tokenizer": {
            "name": coder.name,
            "sha256": coder.sha256,
            "size": coder.size,
            "end_of_text": coder.end_of_text,
        },
        "splits": splits,
        **more,
    }
    np.save(folder / "byte_lengths.npy", coder.byte_lengths())
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return manifest


class SplitWriter:
    """Collects the tokens of one split and writes shards of at most SHARD_TOKENS."""

    def __init__(self, folder: pathlib.Path, name: str, coder: Tokenizer, kind: Any) -> None:
        self.folder, self.name, self.kind = folder, name, kind
        self.end = np.array([coder.end_of_text], kind)
        self.parts: list[np.ndarray] = []
        self.pending = self.bytes = self.documents = 0
        self.shards: list[dict[str, Any]] = []
        self.digests: list[bytes] = []

    def add(self, ids: np.ndarray, utf8_bytes: int, digest: bytes) -> None:
        """A document by its ids, the length of its text and its hash."""
        self.parts += [self.end, ids.astype(self.kind)]
        self.pending += 1 + len(ids)
        self.bytes += utf8_bytes
        self.documents += 1
        self.digests.append(digest[:8])
        if self.pending >= SHARD_TOKENS:
            self._flush()

    def finish(self) -> dict[str, Any]:
        if self.parts:
            self._flush()
        if not self.shards:
            raise DataError(f"the {self.name} split has no documents")
        (self.folder / f"{self.name}.documents").write_bytes(b"".join(self.digests))
        return {
            "tokens": sum(shard["tokens"] for shard in self.shards),
            "bytes": self.bytes,
            "documents": self.documents,
            "shards": self.shards,
        }

    def _flush(self) -> None:
        tokens = np.concatenate(self.parts)
        path = self.folder / f"{self.name}_{len(self.shards):06d}.bin"
        write_shard(path, tokens)
        self.shards.append({"file": path.name, "tokens": len(tokens), "sha256": file_sha256(path)})
        self.parts, self.pending = [], 0
