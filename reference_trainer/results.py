"""`speedrun_results.json`: the newest shape of the Marin board plus our `speedrun` object."""

import dataclasses as dc
import datetime as dt
import json
import statistics
from collections.abc import Sequence
from typing import Any

from reference_trainer import clock, names
from reference_trainer.config import Config
from reference_trainer.devices import Device
from reference_trainer.formulas import accounting
from reference_trainer.shards import Corpus


@dc.dataclass(frozen=True)
class Author:
    """Who ran it; all of it optional."""

    name: str | None = None
    affiliation: str | None = None
    url: str | None = None


@dc.dataclass(frozen=True)
class Outcome:
    """What one finished run came to."""

    loss: float
    bpb: float | None
    training_time_s: float
    step_times_s: Sequence[float]
    untimed_s: dict[str, float]
    history: Sequence[tuple[int, float, float]]  # step, validation loss, training seconds
    peak_memory_bytes: int | None
    overlap: int | None
    extra_metrics: dict[str, float]
    parameters: int  # counted in the model
    optimizer: dict[str, Any]  # what ran: see `recorded`


def results(
    config: Config,
    device: Device,
    corpus: Corpus,
    outcome: Outcome,
    identity: dict[str, Any],
    author: Author,
    link: str | None,
) -> dict[str, Any]:
    """The whole file as plain values. `identity` holds nonce, seed, hashes, versions, arm, pair."""
    shape = config.model.transformer()
    tokens, peak = config.total_tokens, device.peak_flops
    hardware = (
        accounting.hardware_flops(outcome.training_time_s, device.chips, peak) if peak else None
    )
    info = {
        "author": dc.asdict(author),
        "description": config.description,
        "model_config": model_config(config),
        "train_config": train_config(config, outcome.optimizer),
        "resources": _resources(device),
        "tokenized_dataset": corpus.name,
        "run_completion_timestamp": dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "wandb_run_link": link,
        "model_size": outcome.parameters,
        "total_tokens": tokens,
        "model_flops": accounting.model_flops(shape, tokens),
        "model_flops_per_token": float(accounting.forward_flops_per_token(shape)),
        "training_time": outcome.training_time_s,
        "training_hardware_flops": hardware,
        "num_chips": device.chips,
        "num_devices": device.world,
        "device_flops": peak,
        names.LOSS: outcome.loss,
        names.BPB: outcome.bpb,
        **outcome.extra_metrics,
        "speedrun": _ours(device, corpus, outcome, identity),
    }
    return {"runs": [{"run_info": info}]}


def to_json(document: dict[str, Any]) -> bytes:
    """UTF-8, indented; a number that is not finite is refused with ValueError."""
    return (json.dumps(document, indent=2, allow_nan=False) + "\n").encode()


def model_config(config: Config) -> dict[str, Any]:
    """The model in the field names of the Marin board. `activation_function` says that the MLP is
    gated; a plain one (squared ReLU) has no such field, as in that board's files."""
    model = config.model
    fields: dict[str, Any] = {
        "hidden_dim": model.hidden,
        "intermediate_dim": model.intermediate,
        "num_layers": model.layers,
        "num_heads": model.heads,
        "num_kv_heads": model.key_value_heads,
        "head_dim": model.head_dim or None,
        "max_seq_len": model.seq_len,
        "vocab_size": model.vocab,
        "tie_word_embeddings": model.tied,
        "use_layer_norm_weight": model.norm_weights,
        "use_qk_norm": model.qk_norm,
        "use_bias": False,
        "rope": {"theta": model.rope_theta},
        "layer_norm_epsilon": model.norm_eps,
        "initializer_range": model.init_std,
        "zero_init": model.zero_init,
    }
    if model.gated:
        fields["activation_function"] = "silu"
    return fields


def train_config(config: Config, optimizer: dict[str, Any]) -> dict[str, Any]:
    """Batch, steps, length, schedule, and the optimizer that ran."""
    return {
        "train_batch_size": config.train.batch,
        "num_train_steps": config.train.steps,
        "train_seq_len": config.model.seq_len,
        "optimizer_config": optimizer,
        "schedule_config": dc.asdict(config.schedule),
        "micro_batch": config.train.micro_batch,
        "data_order": config.data.order,
        "sharding": config.train.sharding,
    }


def _resources(device: Device) -> dict[str, Any]:
    kind = device.accelerator.kind if device.accelerator else "cpu"
    if kind == "tpu":
        return {"accelerator_type": device.name, "chip_count": device.chips}
    return {"device": {"kind": kind, "variant": device.name, "count": device.chips}}


def _ours(
    device: Device, corpus: Corpus, outcome: Outcome, identity: dict[str, Any]
) -> dict[str, Any]:
    return {
        "schema_version": 1,
        **identity,
        "device": device.name,
        "precision": device.precision,
        "peak_source": device.peak_source,
        "data_fingerprint": data_fingerprint(corpus),
        "data": {
            "corpus": corpus.name,
            "tokenizer": corpus.tokenizer,
            "tokenizer_sha256": corpus.tokenizer_sha256,
            "train_fingerprint": corpus.train.fingerprint,
            "validation_fingerprint": corpus.validation.fingerprint,
            "documents_in_both": outcome.overlap,
        },
        "clock": {"rule": clock.RULE, **outcome.untimed_s},
        "step_time_s": distribution(outcome.step_times_s),
        "validation": [list(point) for point in outcome.history],
        "peak_memory_bytes": outcome.peak_memory_bytes,
    }


def data_fingerprint(corpus: Corpus) -> str:
    """One word for the data of a run; the splits' own stand in `data`."""
    return corpus.train.fingerprint


def distribution(times_s: Sequence[float]) -> dict[str, float | int] | None:
    """Count, mean, spread and quantiles of the step times, in seconds."""
    if not times_s:
        return None
    ordered = sorted(times_s)

    def quantile(q: float) -> float:
        return ordered[min(len(ordered) - 1, round(q * (len(ordered) - 1)))]

    return {
        "count": len(ordered),
        "mean": statistics.fmean(ordered),
        "sd": statistics.stdev(ordered) if len(ordered) > 1 else 0.0,
        "min": ordered[0],
        "median": quantile(0.5),
        "p90": quantile(0.9),
        "p99": quantile(0.99),
        "max": ordered[-1],
    }
