"""A small corpus of invented text, small configurations, and strict modes of both libraries."""

from __future__ import annotations

import dataclasses as dc
import importlib.util
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

# Two devices on this host, so that sharding is exercised; set before JAX is imported.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# One thread: models this small gain nothing from more, and idle threads spin on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# On a busy machine one of two devices may reach a sum long after the other; the usual 40 s abort.
PATIENT = "--xla_cpu_collective_call_terminate_timeout_seconds=280"
# Half of the time of these tests is compiling, and steps this small gain nothing from code that
# took long to optimize.
LIGHTLY = "--xla_backend_optimization_level=1 --xla_llvm_disable_expensive_passes=true"
ONE_DEVICE = f"--xla_cpu_multi_thread_eigen=false {LIGHTLY}"
"""XLA_FLAGS of a process that is to have one device."""
os.environ["XLA_FLAGS"] += f" {ONE_DEVICE} {PATIENT}"
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"

np = pytest.importorskip("numpy", reason="the trainer needs numpy")

from reference_trainer import corpus as corpora  # noqa: E402
from reference_trainer import levanter  # noqa: E402
from reference_trainer.config import Config, load_config  # noqa: E402
from reference_trainer.manifests import Recipe  # noqa: E402
from reference_trainer.outputs import Job  # noqa: E402
from reference_trainer.shards import Corpus, open_corpus  # noqa: E402
from reference_trainer.tokenizers import ByteTokenizer  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
WORDS = (
    "river stone lantern quiet morning harbour letter garden window Zürich naïve café winter "
    "copper signal market ribbon thunder meadow engine silver orchard pocket station"
).split()


def invented(count: int) -> Iterator[str]:
    """Texts of random words, always the same, with characters of more than one byte."""
    rng = np.random.default_rng(7)
    for _ in range(count):
        yield " ".join(rng.choice(WORDS, 120)) + "."


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """60 documents in bytes; a tenth of them validates."""
    folder = tmp_path_factory.mktemp("data") / "invented"
    recipe = Recipe("invented", "byte", "", lambda: invented(60), validation_one_in=10)
    corpora.build(recipe, folder)
    return open_corpus(folder, verify=True)


@pytest.fixture
def small(corpus: Corpus) -> Config:
    """Two layers on short sequences: a step takes milliseconds."""
    config = load_config("tiny")
    return dc.replace(
        config,
        model=dc.replace(
            config.model, layers=2, hidden=32, heads=4, kv_heads=2, intermediate=64, seq_len=32
        ),
        data=dc.replace(config.data, corpus=str(corpus.folder), val_tokens=0),
        train=dc.replace(config.train, steps=12, batch=8, micro_batch=4, eval_every=4, log_every=1),
        schedule=dc.replace(config.schedule, warmup_steps=2),
    )


@pytest.fixture(params=["torch", "jax"])
def backend_name(request: pytest.FixtureRequest) -> str:
    """Each backend that is installed; the other is skipped with the reason."""
    need(request.param)
    return str(request.param)


def need(package: str) -> None:
    """Skip where a package is missing."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; make test-full installs it")


@pytest.fixture
def out(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "run"


def with_(config: Config, **train: Any) -> Config:
    """The configuration with other settings of training."""
    return dc.replace(config, train=dc.replace(config.train, **train))


def job(config: Config, corpus: Corpus, out: pathlib.Path, **more: Any) -> Job:
    """A quiet job without W&B."""
    return Job(config=config, corpus=corpus, out=out, wandb="off", quiet=True, **more)


def with_paloma(folder: pathlib.Path) -> pathlib.Path:
    """A corpus of invented text with another one where C4-EN of Paloma would be."""
    corpora.build(
        Recipe("invented", "byte", "", lambda: invented(60), validation_one_in=10), folder
    )
    inside = folder / "paloma-c4_en"
    texts = Recipe("paloma-c4_en", "byte", "", lambda: invented(40), validation_one_in=4)
    corpora.build(texts, inside)
    levanter.write(inside, ByteTokenizer(), invented(12))
    return folder
