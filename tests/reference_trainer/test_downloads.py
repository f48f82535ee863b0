"""Pre-tokenised caches, read from small ones written in their layout."""

from __future__ import annotations

import importlib.util
import pathlib

import numpy as np
import pytest

from reference_trainer import downloads
from reference_trainer.errors import DataError
from reference_trainer.shards import open_corpus
from reference_trainer.tokenizers import ByteTokenizer
from reference_trainer.treecache import read_documents
from tests.reference_trainer.conftest import invented


def write_cache(folder: pathlib.Path, documents: list[np.ndarray]) -> None:
    if importlib.util.find_spec("zarr") is None:
        pytest.skip("zarr is not installed; make test-full installs it")
    import zarr

    ids = np.concatenate(documents).astype(np.int32)
    ends = np.cumsum([len(d) for d in documents])
    for name, values in (("data", ids), ("offsets", np.array([len(documents), *ends], np.int64))):
        (folder / "input_ids").mkdir(parents=True, exist_ok=True)
        array = zarr.create_array(
            store=str(folder / "input_ids" / name),
            shape=values.shape,
            dtype=values.dtype,
            chunks=(1000,),
        )
        array[:] = values


def texts() -> list[bytes]:
    return [text.encode() for text in invented(40)]


@pytest.mark.filterwarnings("ignore")
def test_cache_becomes_shards(tmp_path: pathlib.Path) -> None:
    documents = [np.frombuffer(t, np.uint8) for t in texts()]
    write_cache(tmp_path / "cache" / "train", documents)
    read = list(read_documents(tmp_path / "cache" / "train"))
    assert [bytes(d.astype(np.uint8)) for d in read] == texts()
    out = tmp_path / "out"
    out.mkdir()
    downloads.from_cache(tmp_path / "cache", out, "small", ByteTokenizer(), one_in=8)
    corpus = open_corpus(out, verify=True)
    assert (corpus.train.utf8_bytes or 0) + (corpus.validation.utf8_bytes or 0) == sum(
        map(len, texts())
    )


@pytest.mark.filterwarnings("ignore")
def test_cache_cut_short_and_foreign_ids(tmp_path: pathlib.Path) -> None:
    write_cache(tmp_path / "cache", [np.array([1, 2, 999]), np.array([3])])
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(DataError, match="id 999, the tokenizer has 257"):
        downloads.from_cache(tmp_path / "cache", out, "small", ByteTokenizer())
    with pytest.raises(DataError, match="no TreeCache"):
        list(read_documents(tmp_path))
    import zarr

    offsets = zarr.open_array(str(tmp_path / "cache" / "input_ids" / "offsets"), mode="r+")
    offsets[2] = 50
    with pytest.raises(DataError, match="cut short"):
        list(read_documents(tmp_path / "cache"))
