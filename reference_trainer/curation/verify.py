"""Shards held against their manifest and the track's validation text. See `check`.

Manifest and shards are a stranger's: names lead nowhere but into the folder, links are not
followed, sizes are compared before anything is read, and nothing is unpacked.
"""

import os
import pathlib
import stat
from collections.abc import Iterator, Mapping
from typing import Any

from reference_trainer.curation.build import Say, validation_index
from reference_trainer.curation.overlap import Overlap
from reference_trainer.errors import DataError
from reference_trainer.shards import (
    HEADER_BYTES,
    Corpus,
    file_sha256,
    fingerprint,
    open_shard,
    split_documents,
)
from reference_trainer.tokenizers import tokenizer


def check(
    manifest: Mapping[str, Any], shards: pathlib.Path, corpus: Corpus, say: Say
) -> dict[str, Any]:
    """What the shards in a folder show: `problems`, each one sentence, none if the manifest holds;
    `train_fingerprint`; and the `overlap` with the validation split of `corpus`, None if the shards
    are not those of the manifest.

    `manifest` has the shape of `schemas/data_manifest.schema.json`.
    """
    train = manifest["splits"]["train"]
    problems = list(_of_validation(manifest, corpus))
    coder = tokenizer(corpus.tokenizer)
    found = fingerprint(manifest["tokenizer"]["sha256"], train["shards"])
    broken = list(_of_files(train["shards"], shards, say))
    if broken or problems:
        return {"problems": problems + broken, "train_fingerprint": found, "overlap": None}
    arrays = [open_shard(shards / shard["file"]) for shard in train["shards"]]
    say("comparing with the validation text")
    overlap = Overlap(validation_index(corpus, coder))
    counts = {"documents": 0, "bytes": 0, "tokens": sum(map(len, arrays))}
    try:
        for data in split_documents(arrays, coder.pieces(), coder.end_of_text):
            counts["documents"] += 1
            counts["bytes"] += len(data)
            overlap.add(data.decode("utf-8", "replace"))
    except DataError as error:
        return {"problems": [str(error)], "train_fingerprint": found, "overlap": None}
    problems += _of_counts(train, counts)
    figures = overlap.figures()
    problems += _of_overlap(manifest["data"]["overlap"], figures)
    return {"problems": problems, "train_fingerprint": found, "overlap": figures}


def _of_validation(manifest: Mapping[str, Any], corpus: Corpus) -> Iterator[str]:
    said = manifest["tokenizer"]["sha256"]
    if said != corpus.tokenizer_sha256:
        yield (
            f"the tokenizer is {manifest['tokenizer']['name'][:60]} ({said[:12]}...), the track's "
            f"is {corpus.tokenizer} ({corpus.tokenizer_sha256[:12]}...)"
        )
        return
    validates = fingerprint(said, manifest["splits"]["validation"]["shards"])
    if validates != corpus.validation.fingerprint:
        yield (
            f"the validation split is {validates[:19]}..., the track's is "
            f"{corpus.validation.fingerprint[:19]}..."
        )


def _of_files(listed: list[dict[str, Any]], folder: pathlib.Path, say: Say) -> Iterator[str]:
    """What is wrong with the files themselves."""
    names = [shard["file"] for shard in listed]
    if len(set(names)) < len(names):
        yield "the manifest lists one shard twice"
        return
    for number, shard in enumerate(listed, 1):
        say(f"shard {number} of {len(listed)}: {shard['file']}")
        if (wrong := _of_file(shard, folder)) is not None:
            yield wrong


def _of_file(shard: Mapping[str, Any], folder: pathlib.Path) -> str | None:
    name = shard["file"]
    if pathlib.PurePath(name).name != name or name in ("", ".", ".."):
        return f'the shard "{name[:80]}" is not a plain file name'
    try:
        info = os.lstat(folder / name)
    except OSError as error:
        return (
            f"{name}: {(error.strerror or 'cannot be read').lower()}; fetch it into {folder.name}"
        )
    if not stat.S_ISREG(info.st_mode):
        return f"{name} is a link or no regular file; fetch the file itself"
    sizes = [HEADER_BYTES + width * shard["tokens"] for width in (2, 4)]
    if info.st_size not in sizes:
        return (
            f"{name} has {info.st_size:,} bytes; {shard['tokens']:,} tokens, as the manifest says, "
            f"take {sizes[0]:,}"
        )
    found = file_sha256(folder / name)
    if found != shard["sha256"]:
        return f"{name} has SHA-256 {found[:12]}..., the manifest says {shard['sha256'][:12]}..."
    try:
        array = open_shard(folder / name)
    except DataError as error:
        return str(error)
    if len(array) != shard["tokens"]:
        return f"{name} has {len(array):,} tokens, the manifest says {shard['tokens']:,}"
    return None


def _of_counts(said: Mapping[str, Any], counts: Mapping[str, int]) -> list[str]:
    return [
        f"the shards have {value:,} {name}, the manifest says {said[name]:,}"
        for name, value in counts.items()
        if said[name] != value
    ]


def _of_overlap(said: Mapping[str, Any], found: Mapping[str, int]) -> list[str]:
    """Overlap that there is, and figures that are not those found."""
    problems = []
    if found["documents"] or found["ngrams"]:
        problems.append(
            f"{found['documents_with_ngrams']:,} training documents share text with the "
            f"validation split: {found['documents']:,} whole documents, {found['ngrams']:,} runs "
            f"of {found['ngram']} words; expected none"
        )
    keys = [key for key, value in found.items() if said.get(key) != value]
    problems += [
        f"overlap.{key} is {found[key]:,}, the manifest says {said.get(key):,}" for key in keys
    ]
    return problems
