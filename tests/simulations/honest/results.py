"""Results files, and all else that the reference trainer writes of a run.

A file of the Marin board is filled in here with the formulas of the documentation; the trainer's
own files come from the code that writes them, with measurements that were drawn.
"""

from __future__ import annotations

import dataclasses as dc
import json
import pathlib
from typing import Any

from reference_trainer import devices, tracking
from reference_trainer.clock import RULE
from reference_trainer.config import Config, as_dict
from reference_trainer.provenance import package_sha256, source_sha256
from reference_trainer.results import Author, Outcome, results, to_json
from reference_trainer.shards import Corpus, Split
from tests.simulations.honest.training import Trained

VERSIONS = {
    "python": "3.12.7", "system": "Linux", "torch": "2.10.0+cu128", "numpy": "2.4.6",
    "wandb": "0.31.0", "tiktoken": "0.14.0", "speedrun-bot": "0.1.0",
}  # fmt: skip


@dc.dataclass(frozen=True)
class Shape:
    """A Llama of the Marin board."""

    name: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    bpb: float
    seq_len: int = 4096
    vocab: int = 128256

    @property
    def parameters(self) -> int:
        """Embedding, head, attention, gated MLP and the weights of the norms."""
        h = self.hidden
        layer = 4 * h * h + 3 * h * self.intermediate + 2 * h
        return 2 * self.vocab * h + self.layers * layer + h

    @property
    def forward(self) -> float:
        """FLOPs of a token."""
        h, f, s, heads = self.hidden, self.intermediate, self.seq_len, self.heads
        layer = 6 * h * f + 2 * h * 3 * h + 2 * h * h + 4 * s * h + 3 * s * heads
        return float(self.layers * layer + 2 * h * self.vocab)


SHAPES = (
    Shape("30m", 4, 128, 448, 2, 1.53),
    Shape("75m", 8, 256, 896, 4, 1.29),
    Shape("130m", 6, 512, 1792, 8, 1.19),
    Shape("300m", 12, 768, 2688, 12, 1.11),
    Shape("520m", 24, 1024, 3584, 16, 1.04),
)


def marin(run: Trained, shape: Shape, link: str | None, finished: str) -> dict[str, Any]:
    """The newest shape of that board's files."""
    machine, recipe = run.machine, run.recipe
    tokens = recipe.tokens * recipe.steps
    info: dict[str, Any] = {
        "author": {
            "name": "Example User",
            "affiliation": "Example Institute",
            "url": "https://example.org",
        },
        "description": f"Llama {shape.name} with AdamW",
        "model_config": _model(shape),
        "train_config": {
            "train_batch_size": recipe.tokens // shape.seq_len,
            "num_train_steps": recipe.steps,
            "learning_rate": 0.006,
            "train_seq_len": shape.seq_len,
            "optimizer_config": {"learning_rate": 0.006, "beta2": 0.98, "weight_decay": 0.1},
            "per_device_parallelism": -1,
            "z_loss_weight": None,
        },
        "resources": _resources(run),
        "tokenized_dataset": "gs://example-bucket/tokenized/subcache/fineweb-edu-10B-ac65f6",
        "run_completion_timestamp": finished,
        "wandb_run_link": link,
        "model_size": shape.parameters,
        "total_tokens": tokens,
        "model_flops_per_token": shape.forward,
        "model_flops": 3 * shape.forward * tokens,
        "training_time": run.seconds,
        "training_hardware_flops": run.seconds * machine.count * machine.peak,
        "num_chips": machine.count,
        "num_devices": machine.count,
        "device_flops": float(machine.peak),
        "eval/paloma/c4_en/bpb": run.loss,
    }
    return {"runs": [{"run_info": info}]}


def _model(shape: Shape) -> dict[str, Any]:
    return {
        "hidden_dim": shape.hidden, "intermediate_dim": shape.intermediate,
        "num_layers": shape.layers, "num_heads": shape.heads, "num_kv_heads": shape.heads,
        "head_dim": None, "max_seq_len": shape.seq_len, "tie_word_embeddings": False,
        "use_bias": False, "use_layer_norm_weight": True, "use_qk_norm": False,
        "activation_function": "silu", "rope": {"theta": 10000, "factor": 1.0},
        "layer_norm_epsilon": 1e-05, "initializer_range": 0.02, "scan_layers": True,
        "gradient_checkpointing": True, "upcast_attn": False,
    }  # fmt: skip


def _resources(run: Trained) -> dict[str, Any]:
    machine = run.machine
    common = {"cpu": 32, "disk": "16g", "preemptible": True, "ram": "128g", "regions": None}
    if machine.kind == "tpu":
        device = {"kind": "tpu", "variant": machine.slice, "topology": None}
        return common | {"device": device, "replicas": machine.nodes}
    device_gpu = {"kind": "gpu", "variant": machine.device, "count": machine.count // machine.nodes}
    return common | {"device": device_gpu, "replicas": machine.nodes}


@dc.dataclass(frozen=True)
class Ours:
    """A run of the reference trainer: what it draws and knows beside the measurements."""

    run: Trained
    config: Config
    corpus: Corpus
    source: str | None
    track: str
    nonce: str
    run_id: str
    arm: str | None = None
    pair: str | None = None

    @property
    def device(self) -> devices.Device:
        """As the trainer describes it."""
        machine, shape = self.run.machine, self.config.model.transformer()
        size = machine.memory_gb * 1024**3
        return devices.describe(machine.device, machine.world, machine.precision, size, {}, shape)

    @property
    def backend(self) -> str:
        """The framework of the starter."""
        return "jax" if self.source and "import jax" in self.source else "torch"

    @property
    def code(self) -> dict[str, str]:
        """Hashes of the starter file and of the trainer."""
        own = {} if self.source is None else {"main.py": source_sha256(self.source)}
        return {**own, "reference_trainer": package_sha256()}

    @property
    def bpb(self) -> float:
        """Bits per byte of the loss, by the bytes of a token of the corpus."""
        split = self.corpus.validation
        return self.run.loss * split.tokens / (0.6931471805599453 * (split.utf8_bytes or 1))


def corpus_of(name: str, train: str, validation: str, *, bytes_a_token: float) -> Corpus:
    """A corpus of which only the manifest is here."""
    tokenizer = "bytes" if bytes_a_token == 1 else "gpt2"
    splits = [
        Split(kind, mark, tokens, int(tokens * bytes_a_token), 1000, ())
        for kind, mark, tokens in (
            ("train", train, 15_500_000),
            ("validation", validation, 900_000),
        )
    ]
    size = 257 if tokenizer == "bytes" else 50257
    return Corpus(
        name, pathlib.Path(), tokenizer, "ab" * 32, size, size - 1, None, splits[0], splits[1]
    )


def document(ours: Ours, link: str | None = None) -> bytes:
    """`speedrun_results.json` of the run."""
    run = ours.run
    steps = [b - a for a, b in zip(run.clock, run.clock[1:], strict=False)]
    outcome = Outcome(
        loss=run.loss,
        bpb=ours.bpb,
        training_time_s=run.seconds,
        step_times_s=steps,
        untimed_s={"compilation_s": run.start_s, "validation_s": run.val_s, "checkpoints_s": 0.0},
        history=run.validations,
        peak_memory_bytes=None,
        overlap=0,
        extra_metrics={},
        parameters=_parameters(ours.config),
        optimizer=optimizer(ours.config),
    )
    identity = {
        "nonce": ours.nonce, "run_id": ours.run_id, "track": ours.track,
        "github_login": "example-user", "seed": run.seed, "arm": ours.arm, "pair": ours.pair,
        "backend": ours.backend, "config": ours.config.name, "code_sha256": ours.code, "git": None,
        "environment": VERSIONS,
    }  # fmt: skip
    author = Author("Example User", "Example Institute", "https://example.org")
    return to_json(results(ours.config, ours.device, ours.corpus, outcome, identity, author, link))


def optimizer(config: Config) -> dict[str, Any]:
    """What the trainer notes of the optimizer that ran."""
    o = config.optimizer
    return {
        "name": "AdamW + Muon", "lr": o.lr, "muon_lr": o.muon_lr, "weight_decay": o.weight_decay,
        "muon_momentum": o.muon_momentum,
    }  # fmt: skip


def _parameters(config: Config) -> int:
    """Embedding, head and the layers of the starter's model."""
    m = config.model
    layer = 4 * m.hidden**2 + (3 if m.gated else 2) * m.hidden * m.intermediate
    norms = (2 * m.layers + 1) * m.hidden if m.norm_weights else 0
    return 2 * m.vocab * m.hidden + m.layers * layer + norms


def wandb_config(ours: Ours) -> dict[str, Any]:
    """The configuration that the trainer gives to W&B."""
    device = ours.device
    return {
        **as_dict(ours.config),
        "optimizer": optimizer(ours.config),
        "speedrun": "example-user",
        "nonce": ours.nonce,
        "seed": ours.run.seed,
        "code_sha256": ours.code,
        "data_fingerprint": ours.corpus.train.fingerprint,
        "validation_fingerprint": ours.corpus.validation.fingerprint,
        "device": device.name,
        "world_size": device.world,
        "chips": device.chips,
        "precision": device.precision,
        "peak_flops": device.peak_flops,
        "backend": ours.backend,
        "total_steps": ours.run.recipe.steps,
        "total_tokens": ours.run.recipe.steps * ours.run.recipe.tokens,
        "versions": VERSIONS,
    }


def trainer_log(ours: Ours) -> bytes:
    """The log of the trainer. That of a resumed run is cut back to its checkpoint and goes on."""
    run, device = ours.run, ours.device
    lines = [] if ours.source is None else [ours.source.rstrip(), "=" * 100]
    peak = f"{device.peak_flops / 1e12:.1f} TFLOP/s" if device.peak_flops else "unknown"
    lines += tracking.header_lines(
        {
            "device": device.name,
            "world_size": device.world,
            "chips": device.chips,
            "peak": f"{peak} {device.precision}",
            "backend": ours.backend,
            "versions": ", ".join(f"{k} {v}" for k, v in VERSIONS.items()),
            "detected": [f"precision: {device.precision}, which {device.name} computes"],
            "clock": RULE,
            "parameters": f"{_parameters(ours.config):,}",
            "corpus": ours.corpus.name,
            "data_fingerprint": ours.corpus.train.fingerprint,
            "validation_fingerprint": ours.corpus.validation.fingerprint,
            "seed": run.seed,
            "nonce": ours.nonce,
            "code_sha256": ours.code,
            "github_login": "example-user",
        }
    )
    lines.append("=" * 100)
    every, end = ours.config.train.log_every, run.recipe.steps
    for step in range(end + 1):
        at = run.clock[step]
        if step and (step % every == 0 or step == end):
            loss = run.train_losses[step]
            lines.append(tracking.step_line(step, end, at, loss, validation=False, bpb=None))
        if step in run.losses:
            loss = run.losses[step]
            bits = loss * ours.bpb / run.loss
            lines.append(tracking.step_line(step, end, at, loss, validation=True, bpb=bits))
    return ("\n".join(lines) + "\n").encode()


def as_bytes(value: Any) -> bytes:
    """JSON with an indent."""
    return (json.dumps(value, indent=2) + "\n").encode()
