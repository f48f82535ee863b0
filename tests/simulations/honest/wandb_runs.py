"""Runs on W&B, online and in offline files, as programs and clients of several ages leave them."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import json
import random
from collections.abc import Mapping
from typing import Any

from tests.doubles.wandb import WandbDouble
from tests.doubles.wandb.offline_file import blocks, pb
from tests.simulations.honest.training import Trained

Row = dict[str, Any]
OLD = 17
"""Clients before 0.17 name the GPUs of a machine otherwise."""
CLIENTS = ("0.16.6", "0.18.7", "0.19.11", "0.21.4", "0.22.3", "0.28.2", "0.31.0")
FORM = "%Y-%m-%dT%H:%M:%S"


@dc.dataclass(frozen=True)
class Names:
    """What a program calls its quantities; `ms` says the unit of the clock, `sums` that it logs the
    time of each step and not their sum."""

    loss: str = "val_loss"
    train: str = "train_loss"
    time: str = "train_time_ms"
    tokens: str | None = None
    step: str | None = None
    total: str | None = "num_iterations"
    ms: bool = True
    sums: bool = False
    bpb: str | None = None


NANOGPT = (
    Names(),
    Names(
        "val/loss", "train/loss", "train_time_s", "tokens", "train/step", "train_steps", ms=False
    ),
    Names("eval/loss", "train/loss", "training_time_s", None, "step", "total_steps", ms=False),
    Names("validation/loss", "train/loss", "train_time_ms", "train/tokens", None, "num_iterations"),
)
TRAINER = Names(
    "eval/loss", "train/loss", "time/train_s", "throughput/total_tokens", None, "total_steps",
    ms=False, bpb="eval/bpb",
)  # fmt: skip


@dc.dataclass(frozen=True)
class Habits:
    """How a program logs. `late`: validations are logged so many steps later, under a step key of
    their own. `zero_based`: steps are counted from 0. `every`: steps between training rows.
    `running`: the run never said that it ended. `client`: its version. `resumed`: the last step
    before a stop, after which the run went on under its id."""

    every: int = 10
    late: int = 0
    zero_based: bool = False
    running: bool = False
    client: str = "0.31.0"
    resumed: int | None = None
    extra: bool = False
    writers: int = 1

    @property
    def minor(self) -> int:
        """The middle part of the client's version."""
        return int(self.client.split(".")[1])


def rows(run: Trained, names: Names, habits: Habits, began: float) -> list[Row]:
    """The history, in the order logged."""
    if habits.late:
        return _late(run, names, habits, began)
    kept: dict[int, Row] = {}
    end, back = run.recipe.steps, int(habits.zero_based)
    for step in range(back, end + 1):
        row = {} if step % habits.every and step != end else _training(run, names, habits, step)
        if step in run.losses:
            row |= _validation(run, names, step)
        if row:
            kept[step] = row
    return [_stamped(row, at - back, run.wall(at), began) for at, row in sorted(kept.items())]


def _late(run: Trained, names: Names, habits: Habits, began: float) -> list[Row]:
    """Each call makes a row of its own, and a validation's comes some steps later."""
    made: list[Row] = []
    end = run.recipe.steps
    for at in range(end + habits.late + 1):
        wall = run.wall(min(at, end)) + 0.05 * max(at - end, 0)
        if at <= end:
            row = _training(run, names, habits, at)
            made.append(_stamped(row, len(made), wall, began))
        if at - habits.late in run.losses:
            row = _validation(run, names, at - habits.late)
            made.append(_stamped(row, len(made), wall + 0.01, began))
    return made


def _stamped(row: Row, number: int, wall: float, began: float) -> Row:
    return {"_step": number, "_runtime": wall, "_timestamp": began + wall, **row}


def _training(run: Trained, names: Names, habits: Habits, step: int) -> Row:
    row: Row = {names.train: run.train_losses[step]} if step else {}
    row |= _clock(run, names, step, habits.every)
    if names.tokens:
        row[names.tokens] = step * run.recipe.tokens
    if names.step:
        row[names.step] = step
    if habits.extra:
        row |= {"lr": 0.0036 * (1 - step / run.recipe.steps), "grad_norm": 0.41}
        row |= {"epoch": step / run.recipe.steps, "memory/peak_gb": 31.2}
    return row


def _clock(run: Trained, names: Names, step: int, every: int) -> Row:
    if names.sums:
        before = run.clock[max(step - every, 0)]
        return {names.time: run.clock[step] - before} if step else {}
    return {names.time: run.clock[step] * (1000 if names.ms else 1)}


def _validation(run: Trained, names: Names, step: int) -> Row:
    row: Row = {names.loss: run.losses[step]}
    if not names.sums:
        row |= _clock(run, names, step, 1)
    if names.bpb:
        row[names.bpb] = run.losses[step] / 0.6931471805599453
    if names.tokens:
        row[names.tokens] = step * run.recipe.tokens
    if names.step:
        row[names.step] = step
    return row


def client(draw: random.Random, *, offline: bool) -> str:
    """A version. Offline files of clients before 0.20 say nothing of the machine."""
    if offline and draw.random() < 0.95:
        return draw.choice(CLIENTS[3:])
    return draw.choice(CLIENTS)


def client_config(run: Stored) -> dict[str, Any]:
    """What the client adds to a configuration; writers of one machine state the same host."""
    habits, machine = run.habits, run.metadata or {"os": "Linux", "program": "train.py"}
    features = [2, 13, 16, 23, 55] + ([5] if habits.resumed is not None else [])
    features += [67] if habits.writers > 1 else []
    own: dict[str, Any] = {
        "cli_version": habits.client,
        "python_version": "3.12.7",
        "t": {"1": [1, 5, 53], "2": [1, 5, 53], "3": features, "4": "3.12.7", "5": habits.client},
    }
    if habits.minor >= 20:
        hosts = [f"host-{n % run.run.machine.nodes}" for n in range(habits.writers)]
        own["e"] = {f"w{n}": {**machine, "host": host} for n, host in enumerate(hosts)}
    return {"_wandb": own}


@dc.dataclass(frozen=True)
class Stored:
    """A run to be stored: its history, settings, machine and times."""

    run: Trained
    id: str
    history: list[Row]
    config: dict[str, Any]
    metadata: dict[str, Any] | None
    habits: Habits
    began: float
    name: str = ""
    tags: tuple[str, ...] = ("speedrun:example-user",)
    files: Mapping[str, bytes] = dc.field(default_factory=dict)
    summary: Mapping[str, Any] = dc.field(default_factory=dict)


def put_online(server: WandbDouble, project: str, run: Stored) -> str:
    """Store it on the server; the link of its page."""
    end = run.began + run.history[-1]["_runtime"] + 8
    files = dict(run.files)
    if run.metadata is not None:
        files["wandb-metadata.json"] = json.dumps(run.metadata).encode()
    server.add_run(
        "example-team", project, run.id,
        history=run.history,
        state="running" if run.habits.running else "finished",
        display_name=run.name,
        config=run.config | client_config(run),
        summary={**run.summary, **run.history[-1]},
        files=files,
        tags=list(run.tags),
        created_at=_moment(run.began - 3),
        heartbeat_at=_moment(end),
    )  # fmt: skip
    return f"https://wandb.ai/example-team/{project}/runs/{run.id}"


def _moment(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime(FORM)


def offline(run: Stored) -> list[bytes]:
    """The offline file; two of a run that was stopped and went on, each with its own rows."""
    stop = run.habits.resumed
    if stop is None:
        return [_file(run, run.history, ended=not run.habits.running)]
    before = [row for row in run.history if row["_step"] <= stop]
    after = [row for row in run.history if row["_step"] > stop]
    later = run.began + before[-1]["_runtime"] + 600
    return [_file(run, before, ended=False), _file(run, after, ended=True, began=later)]


def _file(run: Stored, history: list[Row], *, ended: bool, began: float | None = None) -> bytes:
    first = began is None
    records = [_header(run, run.began if first else began or 0.0, resumed=not first)]
    if run.metadata is not None and run.habits.minor >= 20:
        records.append(_environment(run.metadata))
    records += [_row(row) for row in history]
    summary = pb.Record()
    for key, value in {**run.summary, **history[-1]}.items():
        item = summary.summary.update.add()
        item.key, item.value_json = key, json.dumps(value)
    records.append(summary)
    if ended:
        record = pb.Record()
        record.exit.exit_code, record.exit.runtime = 0, int(history[-1]["_runtime"])
        records.append(record)
    return blocks(record.SerializeToString() for record in records)


def _header(run: Stored, began: float, *, resumed: bool) -> Any:
    record = pb.Record()
    record.run.run_id, record.run.project, record.run.display_name = run.id, "speedrun", run.name
    record.run.start_time.FromSeconds(int(began))
    record.run.resumed = resumed
    record.run.tags.extend(run.tags)
    record.run.telemetry.cli_version = run.habits.client
    for name, value in run.config.items():
        item = record.run.config.update.add()
        item.key, item.value_json = name, json.dumps(value)
    return record


def _environment(metadata: Mapping[str, Any]) -> Any:
    record = pb.Record()
    machine = record.environment
    machine.os, machine.python, machine.program = (
        str(metadata[key]) for key in ("os", "python", "program")
    )
    machine.gpu_type, machine.gpu_count = metadata.get("gpu", ""), metadata.get("gpu_count", 0)
    for gpu in metadata.get("gpu_nvidia", metadata.get("gpu_devices", [])):
        found = machine.gpu_nvidia.add()
        found.name = gpu["name"]
        found.memory_total = int(gpu.get("memoryTotal", gpu.get("memory_total", 0)))
    for gpu in metadata.get("gpu_amd", []):
        found = machine.gpu_amd.add()
        found.series, found.id, found.sku = gpu["series"], gpu["id"], gpu["sku"]
    if "tpu" in metadata:
        machine.tpu.name, machine.tpu.count = metadata["tpu"]["name"], metadata["tpu"]["count"]
    if "apple" in metadata:
        machine.apple.name = metadata["apple"]["name"]
    for key, value in metadata.get("slurm", {}).items():
        machine.slurm[key] = value
    return record


def _row(row: Mapping[str, Any]) -> Any:
    record = pb.Record()
    record.history.step.num = int(row["_step"])
    for name, value in row.items():
        item = record.history.item.add()
        item.nested_key.append(name)
        item.value_json = json.dumps(value)
    return record


def config_of(run: Trained, names: Names, draw: random.Random, code: str) -> dict[str, Any]:
    """The settings that a program of one's own logs."""
    machine = run.machine
    config: dict[str, Any] = {
        "seed": run.seed,
        "lr": 0.0036,
        "batch_tokens": run.recipe.tokens,
        "grad_accum_steps": draw.choice((1, 2, 8)),
        "dtype": machine.precision,
        "device": machine.device,
        "world_size": machine.world,
        "code_sha256": code,
        "data_path": machine.metadata(draw)["program"].replace("train.py", "data"),
    }
    if names.total:
        config[names.total] = run.recipe.steps
    if draw.random() < 0.3:
        config["args"] = {"val_tokens": 10485760, "val_loss_every": run.recipe.val_every}
    return config
