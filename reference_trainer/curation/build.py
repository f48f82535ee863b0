"""A corpus from a pool: filtered, compared with the validation text, rated, written as shards.

The folder is one that the trainer takes (`--set data.corpus=FOLDER`): its training split is what
was chosen, its validation split that of the track, unchanged. `manifest.json` says what was done.
"""

import dataclasses as dc
import hashlib
import importlib.metadata
import json
import os
import pathlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from reference_trainer import corpus as corpora
from reference_trainer import provenance
from reference_trainer.curation import score
from reference_trainer.curation.overlap import Index, Overlap, words_of
from reference_trainer.curation.pool import Document, Pool, documents
from reference_trainer.errors import DataError
from reference_trainer.manifests import SplitWriter, write_manifest
from reference_trainer.shards import MANIFEST, Corpus, fingerprint, open_corpus, split_documents
from reference_trainer.storage import reason
from reference_trainer.tokenizers import Tokenizer, tokenizer

SHINGLE = 5  # words; what near-duplicates have in common
PERMUTATIONS = 64
Say = Callable[[str], None]


def validation_corpus(name: str, wanted: str | None, say: Say) -> Corpus:
    """The corpus whose validation split a track scores, built or fetched. Raises DataError."""
    corpus = open_corpus(corpora.prepare(name, say), verify=True)
    found = corpus.validation.fingerprint
    if wanted is not None and found != wanted:
        raise DataError(
            f"the validation split of {name} came out as {found[:19]}..., the track has "
            f"{wanted[:19]}...; another version of a package is installed"
        )
    return corpus


def validation_index(corpus: Corpus, coder: Tokenizer) -> Index:
    """What the validation text of a corpus holds."""
    arrays = corpus.validation.arrays
    texts = split_documents(arrays, coder.pieces(), coder.end_of_text)
    return Index(data.decode("utf-8", "replace") for data in texts)


def build(
    pool: Pool, corpus: Corpus, folder: pathlib.Path, allow_endpoint: bool, say: Say
) -> dict[str, Any]:
    """Curate a pool into `folder`; returns the manifest. Nothing is left of a build that fails.

    Raises DataError.
    """
    if folder.exists():
        raise DataError(f"{folder} exists; remove it or choose another --out")
    coder = tokenizer(corpus.tokenizer)
    index = validation_index(corpus, coder)
    chosen, facts = curate(pool, index, allow_endpoint, say)
    temporary = folder.with_name(f"{folder.name}.building-{os.getpid()}")
    try:
        temporary.mkdir(parents=True)
        splits = {
            "train": _write(temporary, chosen, coder),
            "validation": _copied(corpus, temporary),
        }
        kept = Overlap(index)
        for document in chosen:
            kept.add(document.text)
        more = {"data": {**facts, "overlap": kept.figures()}}
        manifest = write_manifest(temporary, pool.name, pool.about, coder, splits, **more)
        temporary.rename(folder)
    except OSError as error:
        raise DataError(f"{folder} could not be written: {reason(error)}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    found = fingerprint(coder.sha256, splits["train"]["shards"])
    say(f"{len(chosen):,} documents, {splits['train']['tokens']:,} tokens, {found}")
    return manifest


# ---- choosing -----------------------------------------------------------------------------------


def curate(
    pool: Pool, index: Index, allow_endpoint: bool, say: Say
) -> tuple[list[Document], dict[str, Any]]:
    """The documents that stay, in the order of the pool, and what the manifest says of it all."""
    left, sources = _read(pool)
    removed: list[dict[str, Any]] = []

    def stage(name: str, kept: list[Document], **settings: Any) -> list[Document]:
        removed.append({"name": name, "removed": len(left) - len(kept), **settings})
        say(f"{name}: {len(left) - len(kept):,} of {len(left):,} documents removed")
        return kept

    bounds = {"min_words": pool.filters.min_words, "max_words": pool.filters.max_words}
    left = stage("length", [d for d in left if _has_length(pool, d)], **bounds)
    left = stage("exact-duplicates", _distinct(left))
    left = stage("validation-overlap", [d for d in left if not _shares(index, d)], ngram=13)
    like = pool.filters.near_duplicates
    left = stage("near-duplicates", _unlike(left, like), similarity=like)
    facts: dict[str, Any] = {
        "licence": pool.licence,
        **({"url": pool.url} if pool.url else {}),
        "pool_sha256": pool.sha256,
        "sources": sources,
        "filters": removed,
        "versions": {**provenance.versions(), **_libraries()},
    }
    if pool.score is not None:
        kept, facts["score"] = _best(pool, left, allow_endpoint)
        left = stage("score", kept, keep=pool.score.keep)
    if not left:
        raise DataError(f"no document of {pool.name} is left; loosen the filters of the pool")
    return left, facts


def _read(pool: Pool) -> tuple[list[Document], list[dict[str, Any]]]:
    """Every document, and what is said of each source."""
    found = list(documents(pool))
    sources = []
    for source in pool.sources:
        texts = [d.text.encode("utf-8", "replace") for d in found if d.source == source.name]
        digest = hashlib.sha256()
        for text in texts:
            digest.update(hashlib.sha256(text).digest())
        stated = {k: v for k, v in dc.asdict(source).items() if k != "path" and v is not None}
        counted = {"documents": len(texts), "bytes": sum(map(len, texts))}
        sources.append({**stated, **counted, "sha256": digest.hexdigest()})
    return found, sources


def _has_length(pool: Pool, document: Document) -> bool:
    return pool.filters.min_words <= len(words_of(document.text)) <= pool.filters.max_words


def _distinct(items: list[Document]) -> list[Document]:
    """Without those whose words came before."""
    return list({" ".join(words_of(d.text)): d for d in reversed(items)}.values())[::-1]


def _shares(index: Index, document: Document) -> bool:
    words = words_of(document.text)
    return index.holds(words) or bool(len(index.shared(words)))


def _unlike(items: list[Document], similarity: float) -> list[Document]:
    """Without those that are nearly a document before them, by MinHash of their shingles."""
    if similarity >= 1:
        return items
    from datasketch import MinHash, MinHashLSH

    known, kept = MinHashLSH(threshold=similarity, num_perm=PERMUTATIONS), []
    for number, document in enumerate(items):
        sketch = MinHash(num_perm=PERMUTATIONS, seed=1)
        sketch.update_batch(list(_shingles(document.text)))
        if not known.query(sketch):
            known.insert(number, sketch)
            kept.append(document)
    return kept


def _shingles(text: str) -> set[bytes]:
    words = words_of(text)
    last = max(len(words) - SHINGLE, 0) + 1
    return {" ".join(words[i : i + SHINGLE]).encode("utf-8", "replace") for i in range(last)}


def _best(
    pool: Pool, items: list[Document], allow_endpoint: bool
) -> tuple[list[Document], dict[str, Any]]:
    """The best share of the documents by the classifier, and how they were rated."""
    assert pool.score is not None
    texts = [document.text for document in items]
    sample = _sample(texts, pool.score.sample)
    if len(sample) < 20:
        raise DataError(f"{len(texts)} documents are left to rate; a classifier needs 20")
    ratings = score.rated(pool, [texts[i] for i in sample], allow_endpoint)
    values, facts = score.classified(texts, sample, ratings)
    count = max(1, round(pool.score.keep * len(items)))
    chosen = sorted(np.argsort(-values, kind="stable")[:count].tolist())
    command = [_without_folder(part) for part in pool.score.command]
    by = {"command": command} if pool.score.command else {
        "endpoint": pool.score.endpoint, "model": pool.score.model, "prompt": pool.score.prompt
    }  # fmt: skip
    return [items[i] for i in chosen], {**by, "sample": len(sample), **facts}


def _without_folder(word: str) -> str:
    """A word of a command as it may be published: of an absolute path the name alone."""
    path = pathlib.PurePath(word)
    return path.name if path.is_absolute() else word


def _sample(texts: Sequence[str], size: int) -> list[int]:
    """The documents of the smallest hashes: the same ones for everybody, from all over the pool."""
    keys = [hashlib.sha256(text.encode("utf-8", "replace")).digest() for text in texts]
    return sorted(range(len(texts)), key=keys.__getitem__)[:size]


def _libraries() -> dict[str, str]:
    names = ("scikit-learn", "datasketch")
    return {name: importlib.metadata.version(name) for name in names}


# ---- writing ------------------------------------------------------------------------------------


def _write(folder: pathlib.Path, items: list[Document], coder: Tokenizer) -> dict[str, Any]:
    kind = np.uint16 if coder.size <= 2**16 else np.uint32
    writer = SplitWriter(folder, "train", coder, kind)
    for some in _batches(items, corpora.BATCH_DOCUMENTS):
        texts = [document.text for document in some]
        for text, ids in zip(texts, coder.encode(texts), strict=True):
            data = text.encode("utf-8")
            writer.add(ids, len(data), hashlib.sha256(data).digest())
    return writer.finish()


def _batches(items: list[Document], size: int) -> Iterator[list[Document]]:
    yield from (items[start : start + size] for start in range(0, len(items), size))


def _copied(corpus: Corpus, folder: pathlib.Path) -> dict[str, Any]:
    """The validation split of the track's corpus, file by file, and its entry of the manifest."""
    stated = json.loads((corpus.folder / MANIFEST).read_text(encoding="utf-8"))
    split: dict[str, Any] = stated["splits"]["validation"]
    names = [*(shard["file"] for shard in split["shards"]), "validation.documents"]
    for name in names:
        if (corpus.folder / name).is_file():
            shutil.copyfile(corpus.folder / name, folder / name)
    return split
