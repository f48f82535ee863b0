"""`data_manifest.json`: what an entry of a track with submitted data trains on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.model.document import Document
from bot.model.manifest import DataManifest, Shard, Split

DATA_MANIFEST = "data_manifest.json"


def read_manifest(document: Document | None) -> DataManifest | None:
    """The manifest of a document that its schema accepts; None for any other, of which the rule
    `schema` speaks."""
    if document is None or not isinstance(document.value, dict):
        return None
    try:
        return _read(document.value)
    except (KeyError, TypeError, AttributeError):
        return None


def _read(value: Mapping[str, Any]) -> DataManifest:
    tokenizer, splits, data = value["tokenizer"]["sha256"], value["splits"], value["data"]
    made = DataManifest(
        train=_split(splits["train"], tokenizer),
        validation=_split(splits["validation"], tokenizer),
        offered=sum(source["documents"] for source in data["sources"]),
        removed=sum(item["removed"] for item in data["filters"]),
        overlap={name: _count(count) for name, count in data["overlap"].items()},
    )
    return made


def _split(value: Mapping[str, Any], tokenizer: object) -> Split:
    shards = tuple(
        Shard(_text(shard["file"]), _count(shard["tokens"]), _text(shard["sha256"]))
        for shard in value["shards"]
    )
    documents = value["documents"]
    return Split(
        _text(tokenizer),
        _count(value["tokens"]),
        None if documents is None else _count(documents),
        shards,
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return value
