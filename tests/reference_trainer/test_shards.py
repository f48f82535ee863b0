"""Shards, manifests, batches, and what is said of broken ones."""

from __future__ import annotations

import dataclasses as dc
import json
import pathlib
import shutil

import numpy as np
import pytest

from reference_trainer import corpus as corpora
from reference_trainer.errors import DataError
from reference_trainer.manifests import Recipe
from reference_trainer.shards import (
    Corpus,
    TrainingBatches,
    open_corpus,
    open_shard,
    validation_batches,
    write_shard,
)
from tests.reference_trainer.conftest import invented


@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
def test_shard_round_trip(kind: type, tmp_path: pathlib.Path) -> None:
    tokens = np.arange(1000, dtype=kind)
    write_shard(tmp_path / "a.bin", tokens)
    assert np.array_equal(open_shard(tmp_path / "a.bin"), tokens)


def test_layout_is_that_of_the_public_shards(tmp_path: pathlib.Path) -> None:
    write_shard(tmp_path / "a.bin", np.array([50256, 1, 2], np.uint16))
    data = (tmp_path / "a.bin").read_bytes()
    assert np.frombuffer(data[:12], "<i4").tolist() == [20240520, 1, 3]
    assert data[1024:] == b"\x50\xc4\x01\x00\x02\x00" and len(data) == 1030


def test_truncated_and_foreign_shards_are_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.bin"
    write_shard(path, np.arange(100, dtype=np.uint16))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match="cut short"):
        open_shard(path)
    path.write_bytes(b"not a shard" * 200)
    with pytest.raises(DataError, match="another magic"):
        open_shard(path)
    path.write_bytes(b"")
    with pytest.raises(DataError, match="is not a token shard"):
        open_shard(path)


def copied(corpus: Corpus, tmp_path: pathlib.Path) -> pathlib.Path:
    shutil.copytree(corpus.folder, tmp_path / "copy")
    return tmp_path / "copy"


def test_changed_shard_is_found_by_its_hash(corpus: Corpus, tmp_path: pathlib.Path) -> None:
    folder = copied(corpus, tmp_path)
    path = folder / "train_000000.bin"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match="SHA-256"):
        open_corpus(folder, verify=True)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"splits": {}, "tokenizer": {}}'])
def test_broken_manifest_is_one_sentence(text: str, corpus: Corpus, tmp_path: pathlib.Path) -> None:
    folder = copied(corpus, tmp_path)
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError):
        open_corpus(folder)


def test_manifest_counts_the_original_bytes(corpus: Corpus) -> None:
    texts = list(invented(60))
    total = sum(len(text.encode()) for text in texts)
    assert corpus.train.utf8_bytes is not None and corpus.validation.utf8_bytes is not None
    assert corpus.train.utf8_bytes + corpus.validation.utf8_bytes == total
    documents = (corpus.train.documents or 0) + (corpus.validation.documents or 0)
    assert documents == 60 and corpora.overlap(corpus.folder) == 0


def test_duplicate_documents_count_once(tmp_path: pathlib.Path) -> None:
    texts = [*invented(20), *invented(20)]
    recipe = Recipe("twice", "byte", "", lambda: iter(texts), validation_one_in=5)
    manifest = corpora.build(recipe, tmp_path / "twice")
    assert sum(split["documents"] for split in manifest["splits"].values()) == 20


def test_overlap_is_counted(corpus: Corpus, tmp_path: pathlib.Path) -> None:
    folder = copied(corpus, tmp_path)
    hashes = (folder / "train.documents").read_bytes()
    with (folder / "validation.documents").open("ab") as file:
        file.write(hashes[:16])
    assert corpora.overlap(folder) == 2


def test_a_wrong_fingerprint_leaves_nothing(tmp_path: pathlib.Path) -> None:
    recipe = Recipe("wrong", "byte", "", lambda: invented(20), "sha256:00", 5)
    with pytest.raises(DataError, match="another version of a package"):
        corpora.build(recipe, tmp_path / "wrong")
    assert list(tmp_path.iterdir()) == []


def test_an_epoch_visits_every_window_once(corpus: Corpus) -> None:
    batches = TrainingBatches(corpus.train, 32, 4, "shuffled", seed=3)
    seen = [row.tobytes() for step in range(batches.windows // 4) for row in batches(step)]
    plain = TrainingBatches(corpus.train, 32, 1, "sequential", seed=0)
    all_rows = {plain(i)[0].tobytes() for i in range(batches.windows)}
    assert len(set(seen)) > 0.99 * len(seen)
    assert set(seen) <= all_rows


def test_batches_depend_on_seed_and_step_alone(corpus: Corpus) -> None:
    one = TrainingBatches(corpus.train, 32, 4, "shuffled", seed=1)
    one(0)
    two = TrainingBatches(corpus.train, 32, 4, "shuffled", seed=1)
    other = TrainingBatches(corpus.train, 32, 4, "shuffled", seed=2)
    far = one.windows // 4 + 3  # in the second epoch
    assert np.array_equal(one(far), two(far))
    assert not np.array_equal(one(far), other(far))
    assert np.array_equal(one(5)[2:3], one(5, first=2, count=1))


def test_targets_follow_tokens_across_shards(tmp_path: pathlib.Path, corpus: Corpus) -> None:
    whole = corpus.train.window(0, corpus.train.tokens)
    split = dc.replace(corpus.train, arrays=(whole[:70], whole[70:71], whole[71:]))
    rows = TrainingBatches(split, 32, 1, "sequential", 0)
    assert np.array_equal(rows(2)[0], whole[64:97].astype(np.int32))


def test_validation_scores_every_text_byte_once(corpus: Corpus) -> None:
    total = 0.0
    for rows, weights in validation_batches(corpus.validation, 32, 4, 0, corpus.end_of_text):
        assert rows.shape == (4, 33) and weights.shape == (4, 32)
        total += float(weights.sum())
    assert total == corpus.validation.utf8_bytes


def test_corpus_too_small_for_a_batch(corpus: Corpus) -> None:
    with pytest.raises(DataError, match=r"lower train\.batch"):
        TrainingBatches(corpus.validation, 512, 4096, "shuffled", 0)


def test_unknown_corpus_lists_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="sotu"):
        corpora.prepare("nothing-of-this-name")


def test_manifest_is_plain_json(corpus: Corpus) -> None:
    manifest = json.loads((corpus.folder / "manifest.json").read_text(encoding="utf-8"))
    assert set(manifest["splits"]["train"]) == {"tokens", "bytes", "documents", "shards"}
