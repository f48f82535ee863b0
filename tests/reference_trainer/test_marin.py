"""Marin's data order: against numbers of Levanter itself, and every rule of it on small arrays."""

from __future__ import annotations

import dataclasses as dc
import pathlib
from typing import Any

import numpy as np
import pytest

from reference_trainer import levanter, marin
from reference_trainer.cli import make_backend
from reference_trainer.config import Config
from reference_trainer.errors import TrainerError
from reference_trainer.loop import train
from reference_trainer.shards import Corpus, Split, TrainingBatches
from tests.reference_trainer.conftest import job, need

# Examples and their windows, printed by Levanter 9263f81 (its linear permutation and its mixture of
# one data set) with jax 0.10.2 and data_seed 42. 2,441,406 windows of 4096 are 10 billion tokens.
LEVANTER = {
    2441406: {
        0: 1909879,
        1: 335277,
        2: 2165778,
        127: 296552,
        2047: 44920,
        2048: 266200,
        634751: 58456,
    },
    1000: {0: 114, 1: 312, 999: 233, 1000: 325, 2048: 335, 5000: 206},
    7: {0: 3, 1: 5, 2: 0, 3: 5},
}
END = 256


@pytest.mark.parametrize("windows", LEVANTER)
def test_windows_come_in_levanters_order(windows: int) -> None:
    order = marin.Order(windows)
    assert {example: order(example) for example in LEVANTER[windows]} == LEVANTER[windows]


def test_an_epoch_visits_every_window_once() -> None:
    order = marin.Order(2 * marin.BLOCK)
    assert sorted(map(order, range(2 * marin.BLOCK))) == list(range(2 * marin.BLOCK))
    assert marin.Order(2 * marin.BLOCK, seed=1)(0) != order(0)


@pytest.mark.parametrize("seed", [0, 42, 2**31 - 1])
def test_random_bits_are_jaxs(seed: int) -> None:
    need("jax")
    import jax

    key = jax.random.key(seed)
    ours = (0, seed)
    assert [jax.random.key_data(k).tolist() for k in jax.random.split(key)] == [
        list(k) for k in marin._split(ours)
    ]
    assert jax.random.bits(key, (50,)).tolist() == marin._bits(ours, 50).tolist()
    folded = jax.random.key_data(jax.random.fold_in(key, 77)).tolist()
    assert folded == list(marin._threefry(ours, 0, 77))


def numbered(tokens: int) -> Split:
    return Split("train", "sha256:0", tokens, None, None, (np.arange(tokens, dtype=np.uint16),))


def test_windows_are_whole_and_the_last_position_has_no_target() -> None:
    batches = TrainingBatches(numbered(32), 8, 4, "marin", seed=5)
    rows = batches(0)
    assert batches.windows == 4 and rows.shape == (4, 9)
    assert set(rows[:, 0]) <= {0, 8, 16, 24} and all(
        np.diff(row[:8]).tolist() == [1] * 7 for row in rows
    )
    assert np.array_equal(rows, TrainingBatches(numbered(32), 8, 4, "marin", seed=6)(0))
    assert TrainingBatches(numbered(32), 8, 3, "sequential", seed=5).windows == 3


def masked(small: Config) -> Config:
    model = dc.replace(small.model, document_end=END)
    return dc.replace(small, model=model, data=dc.replace(small.data, order="marin"))


def window(config: Config) -> np.ndarray:
    """Rows of three documents, the ends at the same places in none of two rows."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 256, (8, config.model.seq_len + 1), dtype=np.int32)
    for i, row in enumerate(rows):
        row[[5 + i, 20 + i % 7]] = END
    return rows


@pytest.mark.full("compiles twice")
def test_attention_ends_where_a_document_does(backend_name: str, small: Config) -> None:
    """The losses of a window are those of its documents, each in a row of its own."""
    # With larger first values attention matters before any training.
    small = dc.replace(small, model=dc.replace(small.model, init_std=0.3))
    config, T = masked(small), small.model.seq_len
    rows = window(config)
    weights = np.ones((8, T), np.float32)
    weights[:, -1] = 0
    apart = make_backend(backend_name)(config, 0)
    nats = apart.evaluate(rows, weights)()
    plain = make_backend(backend_name)(small, 0)
    found = [pair for row in rows for pair in levanter._documents(row[:T], END)]
    alone = sum(
        plain.evaluate(np.stack([r] * 2), np.stack([w, np.zeros_like(w)]))() for r, w in found
    )
    assert nats == pytest.approx(alone, rel=1e-5)
    assert abs(plain.evaluate(rows, weights)() - nats) > 1e-3 * nats
    loss = apart.train_step(rows, 1.0)()
    assert loss == pytest.approx(nats / (8 * (T - 1)), rel=1e-5)


def test_both_backends_train_alike_in_marins_order(
    small: Config, corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    for package in ("torch", "jax"):
        need(package)
    config = dc.replace(small, data=dc.replace(small.data, order="marin"))
    losses = []
    for name in ("torch", "jax"):
        asked = job(config, corpus, tmp_path / name)
        info = train(asked, make_backend(name))["runs"][0]["run_info"]
        assert info["train_config"]["data_order"] == "marin"
        log = (tmp_path / name / "log.txt").read_text(encoding="utf-8")
        assert "trains on too" not in log  # this corpus keeps its validation text apart
        losses.append([loss for _, loss, _ in info["speedrun"]["validation"]])
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    assert losses[0][-1] < losses[0][0] - 0.1


def test_a_model_that_sees_across_documents_is_refused(backend_name: str, small: Config) -> None:
    backend: Any = make_backend(backend_name)
    if backend_name == "torch":
        from reference_trainer.torch_backend.engine import reference_model

        def model(config: Config, dtype: Any) -> Any:
            module = reference_model(config, dtype)
            module.documents = False
            return module
    else:
        from reference_trainer.jax_backend.step import reference_losses

        def model(config: Config, dtype: Any, attend: Any) -> Any:
            return reference_losses(config, dtype, attend)

    with pytest.raises(TrainerError, match='data.order "marin" ends attention at every document'):
        backend(masked(small), 0, model)
    backend(small, 0, model)
