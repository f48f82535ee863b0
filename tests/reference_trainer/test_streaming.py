"""FineWeb-Edu from a server on this machine: a cache that tensorstore wrote in Levanter's layout,
trained on before it is here, resumed, and without a network."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from reference_trainer import downloads
from reference_trainer.downloads import LLAMA3, PALOMA
from reference_trainer.errors import DataError
from reference_trainer.marin import Order
from reference_trainer.shards import TrainingBatches, open_corpus
from reference_trainer.streaming import Ids
from tests.doubles.hub import Hub
from tests.reference_trainer.conftest import ROOT, invented, need

EDU = "marin-community/fineweb-edu-pretokenized-10B"
END, PIECE, FILE = 256, 512, 4096  # ids of a piece, and of a file
DATA = "train/input_ids/data/c/"


def ids_of_texts(count: int) -> tuple[np.ndarray, np.ndarray]:
    """The stream of invented documents, each with its end behind it, and where they end."""
    documents = [[*text.encode(), END] for text in invented(count)]
    return np.concatenate(documents).astype(np.int32), np.cumsum([len(d) for d in documents])


def write(folder: pathlib.Path, ids: np.ndarray, ends: np.ndarray) -> None:
    """Arrays of files that are made of compressed pieces, as Levanter's store configures them."""
    import tensorstore

    for name, values in (("data", ids), ("offsets", np.array([len(ends), *ends], np.int64))):
        inner = {
            "chunk_shape": [PIECE],
            "codecs": [{"name": "blosc", "configuration": {"clevel": 5}}],
        }
        metadata = {
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [FILE]}},
            "codecs": [{"name": "sharding_indexed", "configuration": inner}],
        }
        place = {"driver": "file", "path": str(folder / "train" / "input_ids" / name)}
        array = tensorstore.open(
            {"driver": "zarr3", "kvstore": place, "metadata": metadata},
            create=True,
            dtype=values.dtype,
            shape=list(values.shape),
        ).result()
        array.write(values).result()


@pytest.fixture
def hub(tmp_path: pathlib.Path) -> Iterator[Hub]:
    for package in ("huggingface_hub", "zarr", "tensorstore", "aiohttp"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; make test-full installs it")
    write(tmp_path / "source", *ids_of_texts(150))
    source = tmp_path / "source"
    vocab = {chr(0x100 + i): i for i in range(256)}
    coder = {"model": {"vocab": vocab}, "added_tokens": [{"content": "<|end_of_text|>", "id": END}]}
    with Hub() as server:
        paths = [path for path in source.rglob("*") if path.is_file()]
        server.files[EDU] = {p.relative_to(source).as_posix(): p.read_bytes() for p in paths}
        server.files[LLAMA3] = {"tokenizer.json": json.dumps(coder).encode()}
        yield server


def environment(url: str, home: pathlib.Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("HF_TOKEN", "HF_HUB_OFFLINE")}
    settings = {"HF_ENDPOINT": url, "HF_HOME": str(home / "hf"), "HF_HUB_DISABLE_XET": "1"}
    return {**kept, **settings, "SPEEDRUN_DATA": str(home / "data"), "OMP_NUM_THREADS": "1"}


def run(url: str, home: pathlib.Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "reference_trainer", *more],
        env=environment(url, home),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
    )


def training(home: pathlib.Path, *more: str) -> list[str]:
    settings = {
        "data.corpus": "fineweb-edu-10B", "model.seq_len": 32, "model.hidden": 32,
        "model.intermediate": 64, "train.batch": 4, "train.micro_batch": 2, "train.eval_every": 0,
        "train.steps": 8, "train.checkpoint_every": 2, "schedule.warmup_steps": 1,
        "data.order": "marin",
    }  # fmt: skip
    parts = [part for k, v in settings.items() for part in ("--set", f"{k}={v}")]
    return [*parts, "--wandb", "off", "--quiet", "--out", str(home / "run"), *more]


def pieces_fetched(hub: Hub) -> int:
    return len([1 for verb, file, r in hub.seen if verb == "GET" and DATA in file and r])


def test_a_run_begins_before_the_corpus_is_here(hub: Hub, tmp_path: pathlib.Path) -> None:
    need("torch")
    done = run(hub.url, tmp_path, *training(tmp_path, "--backend", "torch"))
    assert done.returncode == 0, done.stderr
    corpus = open_corpus(tmp_path / "data" / "fineweb-edu-10B")
    log = (tmp_path / "run" / "log.txt").read_text(encoding="utf-8")
    assert f"validation: the last {corpus.train.held_out:,} tokens of fineweb-edu-10B" in log
    ids, _ = ids_of_texts(150)
    here = len(list((corpus.folder / "pieces").glob("*.npy")))
    assert corpus.train.tokens == len(ids) and here < 0.75 * len(ids) / PIECE
    whole = {f for verb, f, r in hub.seen if verb == "GET" and DATA in f and r is None}
    assert not whole
    before = len(hub.seen)
    (tmp_path / "run" / "speedrun_results.json").unlink()
    more = ("--backend", "torch", "--resume", "--force-run-failed")
    again = run("http://127.0.0.1:9", tmp_path, *training(tmp_path, *more))
    assert again.returncode == 0, again.stderr  # what it needs is here
    assert len(hub.seen) == before


def test_without_a_network_it_ends_with_one_sentence(hub: Hub, tmp_path: pathlib.Path) -> None:
    nowhere = "http://127.0.0.1:9"
    done = run(nowhere, tmp_path, "data", "fineweb-edu-10B")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert f"Error: the files of {EDU} could not be listed: " in last and "go online once" in last
    assert run(hub.url, tmp_path, "data", "fineweb-edu-10B").returncode == 0
    for file in list(hub.files[EDU]):
        if DATA in file:
            del hub.files[EDU][file]
    for piece in (tmp_path / "data" / "fineweb-edu-10B" / "pieces").iterdir():
        piece.unlink()
    need("torch")
    done = run(hub.url, tmp_path, *training(tmp_path, "--backend", "torch"))
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert "could not be fetched: " in said and "go on with --resume once there is" in said


def streamed(hub: Hub, home: pathlib.Path) -> pathlib.Path:
    done = run(hub.url, home, "data", "fineweb-edu-10B")
    assert done.returncode == 0, done.stderr
    return home / "data" / "fineweb-edu-10B"


def test_rows_are_those_of_the_stream(hub: Hub, tmp_path: pathlib.Path) -> None:
    corpus, (ids, ends) = open_corpus(streamed(hub, tmp_path)), ids_of_texts(150)
    assert len(list((corpus.folder / "pieces").iterdir())) <= 3  # the validation text
    rows = TrainingBatches(corpus.train, 32, 8, "marin", seed=0)(0)
    order = Order(len(ids) // 32)
    assert rows[:, :32].tolist() == [ids[32 * order(i) :][:32].tolist() for i in range(8)]
    in_turn = TrainingBatches(corpus.train, 32, 8, "sequential", seed=0)
    assert in_turn(3).tolist() == [ids[32 * i :][:33].tolist() for i in range(24, 32)]
    held_out = len(ids) - in_turn.windows * 32
    assert corpus.train.held_out < held_out <= corpus.train.held_out + 32
    assert corpus.train.held_out in (len(ids) - ends).tolist()
    flat = np.concatenate(corpus.validation.arrays)
    assert flat[flat != END].tolist() == [
        i for i in ids[len(ids) - corpus.train.held_out :] if i < END
    ]


def test_an_id_of_another_tokenizer_is_refused(hub: Hub, tmp_path: pathlib.Path) -> None:
    stream = json.loads((streamed(hub, tmp_path) / "manifest.json").read_text())
    facts = stream["splits"]["train"]["stream"]
    with pytest.raises(DataError, match="holds id 256, the tokenizer has 256"):
        Ids(tmp_path / "pieces", **{**facts, "vocab": 256})[0 : 2 * PIECE]
    assert Ids(tmp_path / "pieces", **facts)[PIECE : PIECE + 3].tolist() == (
        ids_of_texts(150)[0][PIECE : PIECE + 3].tolist()
    )


def test_paloma_is_read_by_the_pattern_of_its_files(hub: Hub, tmp_path: pathlib.Path) -> None:
    line = lambda text: gzip.compress(json.dumps({"text": text}).encode() + b"\n")  # noqa: E731
    texts = {"val/val_b.jsonl.gz": "two", "val/val_a.jsonl.gz": "one", "val/other.jsonl.gz": "no"}
    hub.files[PALOMA] = {f"c4_en/{name}": line(text) for name, text in texts.items()}
    hub.files[PALOMA]["mc4/val/val.jsonl.gz"] = line("another")
    code = (
        "import pathlib, sys; from reference_trainer import downloads as d;"
        "print(list(d.paloma_texts(d._paloma_files(pathlib.Path(sys.argv[1])))))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "paloma")]
    kept = environment(hub.url, tmp_path)
    done = subprocess.run(command, env=kept, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.stdout == "['one', 'two']\n", done.stderr
    for name in texts:
        hub.files[PALOMA].pop(f"c4_en/{name}")
    done = subprocess.run(command, env=kept, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert f"{PALOMA} at 65cd6fc has no file {downloads.PALOMA_FILES}" in done.stderr
