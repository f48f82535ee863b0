"""Throughput of whole training steps, optimizer included, on random tokens.

MFU follows the convention named in the report: model FLOPs by `bot.compute.accounting` (full
attention, embedding lookup not counted) over the dense peak of the precision. A measurement runs
steps back to back and waits for the device only at its two ends; the best of three is kept, and
the spread is shown. Under torchrun, or on several JAX devices, every device gets the micro-batch
and tokens/s are those of all devices. With `whole_batch` a step is the configuration's own: its
batch, split over the devices and added up in micro-batches, so that devices exchange gradients as
often as in training.
"""

import dataclasses as dc
import json
import time
from typing import Any

import numpy as np

from reference_trainer.config import Config, check
from reference_trainer.devices import Device
from reference_trainer.errors import TrainerError
from reference_trainer.formulas import accounting
from reference_trainer.loop import MakeBackend, rows_of_process

CONVENTION = "3 x forward FLOPs (full attention) / dense peak"
ROUNDS = 3


def measure(
    config: Config,
    make_backend: MakeBackend,
    batches: tuple[int, ...],
    steps: int,
    against: float | None = None,
    whole_batch: bool = False,
) -> dict[str, Any]:
    """One row a micro-batch (one micro-batch a step, or the `whole_batch`); a batch that does not
    fit says so. `against` is what a peer reaches in tokens/s, and is compared with the best row."""
    rows = []
    device, rank = _device(config, make_backend)
    world = device.world
    for batch in batches or (config.train.micro_batch,):
        step = config.train.batch if whole_batch else batch * world
        train = dc.replace(config.train, batch=step, micro_batch=batch)
        sized = dc.replace(config, train=train)
        check(sized)
        try:
            row = _measure_one(sized, make_backend, steps)
        except (TrainerError, RuntimeError) as error:
            reason = str(error).splitlines()[0][:160]
            row = {"micro_batch": batch, "tokens_per_s": None, "error": reason}
        rows.append(row)
    measured = [row for row in rows if row["tokens_per_s"]]
    best = max(measured, key=lambda row: row["tokens_per_s"], default=None)
    return {
        "config": config.name,
        "device": device.name,
        "devices": world,
        "rank": rank,
        "precision": device.precision,
        "software": device.software,
        "peak_flops": device.peak_flops,
        "mfu_convention": CONVENTION,
        "rows": rows,
        "best": best,
        "against_tokens_per_s": against,
        "over_peer": best["tokens_per_s"] / against if best and against else None,
    }


def _device(config: Config, make_backend: MakeBackend) -> tuple[Device, int]:
    """The devices and the rank of this process, asked of the smallest model."""
    model = dc.replace(config.model, layers=1, vocab=64)
    backend = make_backend(dc.replace(config, model=model), 0)
    return backend.device, backend.rank


def _measure_one(config: Config, make_backend: MakeBackend, steps: int) -> dict[str, Any]:
    began = time.perf_counter()
    backend = make_backend(config, 0)
    rng = np.random.default_rng(backend.rank)
    _, count = rows_of_process(config, backend)
    shape = (count, config.model.seq_len + 1)
    rows = rng.integers(0, config.model.vocab, shape, dtype=np.int32)
    at_once = config.train.micro_batch * backend.device.world // backend.processes
    backend.warm_up(rows, np.ones((min(at_once, len(rows)), shape[1] - 1), np.float32))
    backend.train_step(rows, 1.0)()
    backend.train_step(rows, 1.0)()
    compiled = time.perf_counter() - began
    speeds = []
    for _ in range(ROUNDS):
        backend.synchronize()
        start = time.perf_counter()
        pending = [backend.train_step(rows, 1.0) for _ in range(steps)]
        loss = pending[-1]()
        backend.synchronize()
        speeds.append(steps * config.tokens_per_step / (time.perf_counter() - start))
    device = backend.device
    seconds = config.tokens_per_step / max(speeds)
    flops = (
        3 * accounting.forward_flops_per_token(config.model.transformer()) * config.tokens_per_step
    )
    memory = backend.peak_memory_bytes()
    return {
        "micro_batch": config.train.micro_batch,
        "batch": config.train.batch,
        "tokens_per_s": max(speeds),
        "slowest_tokens_per_s": min(speeds),
        "step_ms": seconds * 1000,
        "mfu": device.utilisation(flops, seconds),
        "peak_memory_gib": memory / 2**30 if memory else None,
        "start_s": compiled,
        "loss": loss,
    }


def to_json(report: dict[str, Any]) -> str:
    """The report as JSON."""
    return json.dumps(report, indent=1)


def to_text(report: dict[str, Any]) -> str:
    """The report as a table."""
    software = ", ".join(f"{k} {v}" for k, v in report["software"].items())
    lines = [
        f"{report['config']} on {_cards(report)} ({report['precision']}, {software})",
        f"MFU: {report['mfu_convention']}",
        "micro-batch    tokens/s    ms/step     MFU   memory GiB",
    ]
    for row in report["rows"]:
        if row["tokens_per_s"] is None:
            lines.append(f"{row['micro_batch']:11}  {row['error']}")
            continue
        mfu = "     -" if row["mfu"] is None else f"{row['mfu']:6.1%}"
        memory = "-" if row["peak_memory_gib"] is None else f"{row['peak_memory_gib']:.1f}"
        lines.append(
            f"{row['micro_batch']:11} {row['tokens_per_s']:11,.0f} {row['step_ms']:10.1f}  {mfu} "
            f"{memory:>12}"
        )
    if report["over_peer"] is not None:
        peer = report["against_tokens_per_s"]
        lines.append(f"best: {report['over_peer']:.3f} times the peer's {peer:,.0f} tokens/s")
    return "\n".join(lines)


def _cards(report: dict[str, Any]) -> str:
    return (
        report["device"] if report["devices"] == 1 else f"{report['devices']} x {report['device']}"
    )
