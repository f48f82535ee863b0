"""Submissions to the quality-against-compute track: Marin's results files and Levanter's runs."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import random
from typing import Any

from tests.simulations.honest import results, wandb_runs
from tests.simulations.honest.entry import Calendar, Entry, hex_id
from tests.simulations.honest.machines import PEAKS, SEVERAL, SINGLE, TPUS, Machine
from tests.simulations.honest.results import SHAPES, Shape, as_bytes
from tests.simulations.honest.training import Recipe, Trained, train
from tests.simulations.honest.wandb_runs import Habits, Names, Stored

LEVANTER = Names(
    "eval/paloma/c4_en/bpb", "train/loss", "throughput/duration", "throughput/total_tokens", None,
    None, ms=False, sums=True,
)  # fmt: skip
LARGE = tuple(m for m in SINGLE if m.memory_gb >= 24 and m.id in PEAKS)


def fill(entry: Entry) -> None:
    """Write a submission to it."""
    draw = entry.draw
    shape = draw.choice(SHAPES)
    machine = draw.choice((*SEVERAL, *TPUS, *TPUS, *LARGE))
    steps = draw.randrange(800, 2400, 10)
    batch = draw.choice((128, 256, 512))
    recipe = Recipe(
        steps, batch * shape.seq_len, 3 * shape.forward, 3.4, shape.bpb * draw.uniform(0.98, 1.05),
        0.002, draw.choice((100, 200, 500)), draw.uniform(0.15, 0.5),
    )  # fmt: skip
    seed = draw.choice((0, 0, 1, 42))
    stall = 130.0 if entry.maybe("stall 130 s", 0.08) else 0.0
    slow = draw.uniform(3, 8) if entry.maybe("slow validation", 0.1) else 1.0
    save_s = draw.uniform(1, 30) if entry.maybe("checkpoints", 0.2) else 0.0
    run = train(recipe, machine, seed, draw, stall_s=stall, slow=slow, save_s=save_s)
    began = Calendar(draw).begin(run)
    zero = entry.maybe("last step total - 1", 0.5)
    habits = Habits(every=1, zero_based=zero, client=_client(entry))
    if machine.nodes > 1 and entry.maybe("several writers", 0.2):
        habits = dc.replace(habits, writers=machine.nodes)
    if entry.door == "offline" and entry.maybe("state running", 0.12):
        habits = dc.replace(habits, running=True)
    if entry.maybe("resumed", 0.15):
        habits = dc.replace(habits, resumed=sorted(run.losses)[len(run.losses) // 2] - int(zero))
    metadata = machine.metadata(draw, old=habits.minor < wandb_runs.OLD)
    history, config = _history(run, habits, began), _config(run, shape)
    name = f"llama_{shape.name}"
    run_id = f"{name}-{hex_id(draw, 6)}"
    stored = Stored(
        run, run_id, history, config, metadata, habits, began, name=name,
        summary=_summary(machine),
    )  # fmt: skip
    _show(entry, stored, shape)
    _close(entry, machine, run, shape)


def _client(entry: Entry) -> str:
    return wandb_runs.client(entry.draw, offline=entry.door == "offline")


def _history(run: Trained, habits: Habits, began: float) -> list[dict[str, Any]]:
    history = wandb_runs.rows(run, LEVANTER, habits, began)
    flops, machine = run.recipe.flops, run.machine
    for row in history:
        seconds = row.get("throughput/duration")
        if seconds:
            speed = run.recipe.tokens / seconds
            row["throughput/tokens_per_second"] = speed
            row["throughput/mfu"] = 100 * speed * flops / (machine.peak * machine.count)
        row["global_step"] = row["_step"]
        row["optim/learning_rate"] = 0.006
    return history


def _config(run: Trained, shape: Shape) -> dict[str, Any]:
    """As Levanter writes it: the trainer's settings are nested."""
    return {
        "trainer": {
            "num_train_steps": run.recipe.steps,
            "train_batch_size": run.recipe.tokens // shape.seq_len,
            "seed": run.seed,
            "mp": "p=f32,c=bfloat16" if run.machine.precision == "bf16" else "p=f32,c=f16",
        },
        "model": {
            "hidden_dim": shape.hidden, "intermediate_dim": shape.intermediate,
            "num_layers": shape.layers, "num_heads": shape.heads, "num_kv_heads": shape.heads,
            "max_seq_len": shape.seq_len,
        },
        "optimizer": {"learning_rate": 0.006, "weight_decay": 0.1, "type": "adam"},
    }  # fmt: skip


def _summary(machine: Machine) -> dict[str, Any]:
    """What Levanter tells of the machine: it goes to the summary alone."""
    return {
        "num_devices": machine.count,
        "num_hosts": machine.nodes,
        "backend": "tpu" if machine.kind == "tpu" else "gpu",
        "throughput/device_kind": machine.device,
    }


def _show(entry: Entry, stored: Stored, shape: Shape) -> None:
    run, draw = stored.run, entry.draw
    link = f"https://wandb.ai/example-team/{entry.project}/runs/{stored.id}"
    if entry.door == "online":
        entry.online.append(stored)
        entry.runs.append({"source": "wandb", "link": link, "seed": run.seed})
    elif entry.door == "offline":
        for part, data in enumerate(wandb_runs.offline(stored)):
            name = f"logs/run-{stored.id}{f'-part{part}' if part else ''}.wandb"
            entry.add_file("wandb", name, data, seed=run.seed)
    else:
        entry.online.append(stored)
        finished = dt.datetime.fromtimestamp(stored.began + run.wall(run.recipe.steps), dt.UTC)
        text = finished.strftime("%Y-%m-%d %H:%M:%S UTC")
        document = results.marin(run, shape, link, text)
        entry.add_file("results", "speedrun_results.json", as_bytes(document))
    entry.files["train.py"] = _program(draw).encode()


def _program(draw: random.Random) -> str:
    return f'"""Train on FineWeb-Edu."""\n\nLEARNING_RATE = {draw.choice((0.006, 0.004))}\n'


def _close(entry: Entry, machine: Machine, run: Trained, shape: Shape) -> None:
    fields: dict[str, Any] = {}
    if entry.maybe("claims", 0.6):
        fields["claims"] = {"bpb": round(run.loss, 5)}
        if entry.draw.random() < 0.5:
            fields["claims"]["hardware_flops"] = run.seconds * machine.count * machine.peak
    summary = f"Llama {shape.name} on {machine.count} {machine.device}: {run.loss:.2f} bits a byte."
    entry.finish(machine, track=entry.track, summary=summary, **fields)
