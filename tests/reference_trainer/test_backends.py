"""Both backends: parity, what they write, and the same curve on two devices."""

from __future__ import annotations

import dataclasses as dc
import hashlib
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

from reference_trainer import checkpoint
from reference_trainer.cli import make_backend
from reference_trainer.config import Config
from reference_trainer.errors import ConfigError
from reference_trainer.initial import initial_values
from reference_trainer.loop import train
from reference_trainer.schedule import multiplier
from reference_trainer.shards import Corpus, TrainingBatches
from reference_trainer.storage import LocalFolder
from tests.reference_trainer.conftest import LIGHTLY, PATIENT, invented, job, need, with_
from tests.reference_trainer.test_schema import SCHEMA, undescribed

Options = dict[str, Any]


def losses(config: Config, corpus: Corpus, name: str, steps: int) -> list[float]:
    backend = make_backend(name)(config, 0)
    batches = TrainingBatches(corpus.train, config.model.seq_len, config.train.batch, "shuffled", 0)
    rates = (multiplier(config.schedule, step, steps) for step in range(steps))
    return [backend.train_step(batches(s), r)() for s, r in enumerate(rates)]


# ---- parity --------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [{}, {"gated": False, "norm_weights": False}, {"tied": True}])
def test_same_weights_give_the_same_loss_and_gradients(
    change: Options, small: Config, corpus: Corpus
) -> None:
    need("torch")
    need("jax")
    import jax
    import torch

    from reference_trainer.jax_backend import attention, step
    from reference_trainer.torch_backend.model import Transformer, parameter_name

    config = dc.replace(small, model=dc.replace(small.model, **change))
    values = initial_values(config.model, 0)
    rows = TrainingBatches(corpus.train, config.model.seq_len, 4, "shuffled", 0)(0)
    module = Transformer(config.model, torch.float32)
    for name, p in module.named_parameters():
        p.data.copy_(torch.from_numpy(values[parameter_name(name)]))
    tokens = torch.from_numpy(rows).long()
    ours = module(tokens[:, :-1], tokens[:, 1:]).mean()
    ours.backward()
    attend, _ = attention.choose("cpu", np.float32, 8, 32)
    function = step.reference_losses(config, np.float32, attend)
    theirs, gradients = jax.value_and_grad(lambda p: function(p, rows[:, :-1], rows[:, 1:]).mean())(
        values
    )
    assert float(theirs) == pytest.approx(float(ours.detach()), rel=1e-5)
    for name, p in module.named_parameters():
        assert p.grad is not None
        expected = np.asarray(gradients[parameter_name(name)])
        error = np.linalg.norm(p.grad.numpy() - expected) / np.linalg.norm(expected)
        assert error < 1e-4, name


@pytest.mark.parametrize(
    ("optimizer", "zero_init"),
    [({"name": "adamw"}, False), ({"name": "muon"}, False), ({"embed_lr": 0.02}, True)],
)
def test_fifty_steps_stay_together(
    optimizer: Options, zero_init: bool, small: Config, corpus: Corpus
) -> None:
    need("torch")
    need("jax")
    changed = dc.replace(small.optimizer, weight_decay=0.1, clip_norm=1.0, **optimizer)
    model = dc.replace(small.model, zero_init=zero_init)
    config = dc.replace(with_(small, steps=50, micro_batch=4), model=model, optimizer=changed)
    ours, theirs = (losses(config, corpus, name, 50) for name in ("torch", "jax"))
    assert np.abs(np.array(ours) - np.array(theirs)).max() < 1e-3
    assert ours[-1] < ours[0] - 0.3


def test_an_optimizer_that_a_backend_lacks_is_named(backend_name: str, small: Config) -> None:
    optimizer = dc.replace(small.optimizer, name="lion")
    with pytest.raises(ValueError, match=r"optimizer\.name is lion, which `build` of"):
        make_backend(backend_name)(dc.replace(small, optimizer=optimizer), 0)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.full("compiles four times")
def test_the_embedding_moves_at_its_own_rate(
    tied: bool, backend_name: str, small: Config, corpus: Corpus
) -> None:
    """Three times the rate is three times the first step; every other parameter steps as before."""

    def step(embed_lr: float) -> dict[str, np.ndarray]:
        optimizer = dc.replace(small.optimizer, lr=0.001, embed_lr=embed_lr)
        model = dc.replace(small.model, tied=tied)
        backend = make_backend(backend_name)(dc.replace(small, model=model, optimizer=optimizer), 0)
        rows = TrainingBatches(corpus.train, model.seq_len, small.train.batch, "shuffled", 0)(0)
        first = initial_values(model, 0)
        backend.train_step(rows, 1.0)()
        state = {name: block.values for name, block in backend.state()}
        return {name: state[f"param/{name}"] - value for name, value in first.items()}

    plain, fast = step(0.0), step(0.003)
    assert np.abs(plain["embed"]).max() > 5e-4
    for name, moved in plain.items():
        expected = moved * (3 if name == "embed" else 1)
        assert fast[name] == pytest.approx(expected, abs=2e-6), name


@pytest.mark.full("trains")
def test_bits_per_byte_equal_a_computation_from_the_raw_bytes(
    backend_name: str, small: Config, corpus: Corpus, out: pathlib.Path
) -> None:
    """The model once more in numpy and float64, over the bytes of the validation texts."""
    config = with_(small, checkpoint_every=12)
    document = train(job(config, corpus, out), make_backend(backend_name))
    state, _ = checkpoint.load(LocalFolder(out), 12)
    p = {n.removeprefix("param/"): v.astype(float) for n, v in state.items() if "param/" in n}
    held_out = set(np.fromfile(corpus.folder / "validation.documents", "<u8").tolist())
    stream: list[int] = []
    for text in invented(60):
        data = text.encode()
        if int.from_bytes(hashlib.sha256(data).digest()[:8], "little") in held_out:
            stream += [256, *data]
    T = config.model.seq_len
    nats = sum(nats_of(stream[i : i + T + 1], p, config) for i in range(0, len(stream) - 1, T))
    expected = nats / math.log(2) / sum(token < 256 for token in stream)
    reported = document["runs"][0]["run_info"]["eval/bpb"]
    assert reported == pytest.approx(expected, abs=1e-6)


def nats_of(tokens: list[int], p: dict[str, Any], config: Config) -> float:
    """Loss of every byte of one window, summed."""
    m, d = config.model, config.model.width_of_head
    T = len(tokens) - 1

    def norm(x: Any, weight: Any) -> Any:
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + m.norm_eps) * weight

    def rotate(x: Any) -> Any:
        angle = np.arange(T)[:, None, None] * m.rope_theta ** -(np.arange(0, d, 2) / d)
        z = (x[..., : d // 2] + 1j * x[..., d // 2 :]) * np.exp(1j * angle)
        return np.concatenate([z.real, z.imag], -1)

    x = p["embed"][tokens[:-1]]
    for i in range(m.layers):
        w = {n.split(".")[2]: v for n, v in p.items() if n.startswith(f"layers.{i}.")}
        h = norm(x, w["attention_norm"])
        q, k, v = ((h @ w[n].T).reshape(T, -1, d) for n in ("wq", "wk", "wv"))
        q, k = rotate(norm(q, w["q_norm"])), rotate(norm(k, w["k_norm"]))
        k, v = (np.repeat(y, m.heads // m.key_value_heads, axis=1) for y in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(d)
        scores = np.where(np.tri(T, dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        x = x + np.einsum("hqk,khd->qhd", weights, v).reshape(T, -1) @ w["wo"].T
        h = norm(x, w["mlp_norm"])
        gate = h @ w["w_gate"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ w["w_up"].T)) @ w["w_down"].T
    logits = norm(x, p["norm"]) @ p["head"].T
    top = logits.max(-1, keepdims=True)
    total = (top + np.log(np.exp(logits - top).sum(-1, keepdims=True)))[:, 0]
    losses = total - logits[np.arange(T), tokens[1:]]
    return float(losses[np.array(tokens[1:]) < 256].sum())


# ---- the loop ------------------------------------------------------------------------------------


def test_a_run_writes_log_and_results(
    backend_name: str, small: Config, corpus: Corpus, out: pathlib.Path
) -> None:
    document = train(job(small, corpus, out, seed=3, track="tutorial"), make_backend(backend_name))
    written = json.loads((out / "speedrun_results.json").read_text(encoding="utf-8"))
    assert written == document
    info = written["runs"][0]["run_info"]
    ours, log = info["speedrun"], (out / "log.txt").read_text(encoding="utf-8")
    assert ours["seed"] == 3 and ours["track"] == "tutorial" and len(ours["nonce"]) == 32
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert list(undescribed(ours, schema["$defs"]["speedrun"])) == []
    assert f"nonce: {ours['nonce']}" in log and "world_size: " in log
    assert f"data_fingerprint: {corpus.train.fingerprint}" in log
    assert info["total_tokens"] == 12 * 8 * 32 and info["num_chips"] >= 1
    assert info["training_time"] == pytest.approx(ours["step_time_s"]["mean"] * 12)
    assert [point[0] for point in ours["validation"]] == [0, 4, 8, 12]
    assert ours["validation"][-1][1] < ours["validation"][0][1]
    assert "step:12/12 val_loss:" in log


def test_the_bot_reads_what_the_trainer_writes(
    backend_name: str, small: Config, corpus: Corpus, out: pathlib.Path
) -> None:
    from bot.evidence.log.training_log import read_log

    document = train(job(small, corpus, out), make_backend(backend_name))
    info = document["runs"][0]["run_info"]
    (run,) = read_log((out / "log.txt").read_bytes(), "log.txt")
    assert run.finished and run.seed == 0 and run.nonce == info["speedrun"]["nonce"]
    assert run.loss == pytest.approx(info["eval/loss"], abs=1e-6)
    assert run.time_s == pytest.approx(info["training_time"], abs=6e-4)
    assert run.data_fingerprint == corpus.train.fingerprint
    assert run.hardware.device == "cpu"
    # Twelve steps of milliseconds on a busy machine may have no steady pace.
    assert [rule for rule, _ in run.problems if rule != "history-gap"] == []


def test_vocabulary_larger_than_the_model(
    backend_name: str, small: Config, corpus: Corpus, out: pathlib.Path
) -> None:
    config = dc.replace(small, model=dc.replace(small.model, vocab=256))
    with pytest.raises(ConfigError, match=r"257 token ids .*set model.vocab = 320"):
        train(job(config, corpus, out), make_backend(backend_name))


# ---- several devices -----------------------------------------------------------------------------

WORKER = """
    import dataclasses as dc, json, pathlib, sys
    from reference_trainer import distributed, joining
    from reference_trainer.cli import make_backend
    from reference_trainer.config import load_config
    from reference_trainer.loop import train
    from reference_trainer.outputs import Job
    from reference_trainer.shards import open_corpus
    name, folder, out, sharding = sys.argv[1:]
    small = dict(layers=2, hidden=32, heads=4, kv_heads=2, intermediate=64, seq_len=32)
    config = load_config("tiny")
    config = dc.replace(
        config,
        model=dc.replace(config.model, **small),
        data=dc.replace(config.data, val_tokens=0),
        train=dc.replace(config.train, steps=8, batch=8, micro_batch=2, eval_every=4, log_every=1,
                         checkpoint_every=4, sharding=sharding),
        schedule=dc.replace(config.schedule, warmup_steps=2),
    )
    job = Job(config=config, corpus=open_corpus(pathlib.Path(folder)), out=pathlib.Path(out),
              wandb="off", quiet=True)
    group = joining.join(name, "auto")
    with distributed.together(group):
        train(job, make_backend(name), group=group)
"""


def run_worker(
    name: str, devices: int, corpus: Corpus, out: pathlib.Path, sharding: str
) -> list[float]:
    script = out.parent / f"{out.name}.py"
    script.write_text(textwrap.dedent(WORKER), encoding="utf-8")
    command = [sys.executable]
    if name == "torch" and devices > 1:
        command += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={devices}"]
    flags = f"--xla_force_host_platform_device_count={devices} --xla_cpu_multi_thread_eigen=false"
    flags += f" {LIGHTLY} {PATIENT}"
    environment = {**os.environ, "XLA_FLAGS": flags, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(script), name, str(corpus.folder), str(out), sharding],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        cwd=pathlib.Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr[-3000:]
    info = json.loads((out / "speedrun_results.json").read_text(encoding="utf-8"))
    run = info["runs"][0]["run_info"]
    assert run["num_devices"] == devices
    log = (out / "log.txt").read_text(encoding="utf-8")
    return [float(x.split("_loss:")[1].split()[0]) for x in log.splitlines() if "_loss:" in x]


@pytest.mark.parametrize("sharding", ["data", "fsdp"])
@pytest.mark.full("trains twice")
def test_two_devices_give_the_curve_of_one(
    sharding: str, backend_name: str, corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    one = run_worker(backend_name, 1, corpus, tmp_path / "one", "data")
    two = run_worker(backend_name, 2, corpus, tmp_path / "two", sharding)
    assert len(one) == len(two) == 11
    assert np.abs(np.array(one) - np.array(two)).max() < 1e-5 * max(one)


def test_wandb_offline_file_is_bound_to_the_run(
    small: Config, corpus: Corpus, out: pathlib.Path
) -> None:
    need("jax")
    if importlib.util.find_spec("wandb") is None:
        pytest.skip("wandb is not installed; pip install '.[bot]'")
    asked = dc.replace(job(small, corpus, out), wandb="offline")
    document = train(asked, make_backend("jax"))
    data = (out / "run.wandb").read_bytes()
    nonce = document["runs"][0]["run_info"]["speedrun"]["nonce"]
    assert nonce.encode() in data
    assert str(out).encode() not in data and os.uname().nodename.encode() + b"\x00" not in data
