"""A submission being written: its document, its files, and what of it lies on W&B."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import random
import statistics
from collections.abc import Sequence
from typing import Any

from reference_trainer.provenance import source_sha256
from tests.fixtures.program import PROGRAM
from tests.simulations.honest.machines import Machine
from tests.simulations.honest.results import as_bytes
from tests.simulations.honest.training import Trained
from tests.simulations.honest.wandb_runs import Stored

DOORS = ("log", "online", "offline", "results")


@dc.dataclass
class Entry:
    """One submission. `traits` say what is unusual about it."""

    number: int
    track: str
    door: str
    draw: random.Random
    traits: list[str] = dc.field(default_factory=list)
    files: dict[str, bytes] = dc.field(default_factory=dict)
    online: list[Stored] = dc.field(default_factory=list)
    runs: list[dict[str, Any]] = dc.field(default_factory=list)
    document: dict[str, Any] = dc.field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of the folder."""
        return f"honest-{self.number}"

    @property
    def project(self) -> str:
        """On W&B: each has its own."""
        return f"speedrun-{self.number}"

    def maybe(self, trait: str, chance: float) -> bool:
        """Whether it has this trait."""
        found = self.draw.random() < chance
        if found:
            self.traits.append(trait)
        return found

    def add_file(self, source: str, name: str, data: bytes, **spec: Any) -> None:
        """A file of the folder that shows a run."""
        self.files[name] = data
        self.runs.append({"source": source, "path": name, **spec})

    def finish(self, machine: Machine, *, track: str, summary: str, **fields: Any) -> None:
        """Write submission.json."""
        accelerator = self.draw.choice((machine.id, machine.device))
        if machine.kind == "tpu":
            accelerator = self.draw.choice((machine.id, machine.device, machine.slice))
        if machine.id in ("rtx-4060-laptop", "cpu"):
            accelerator = machine.device
        self.document = {
            "$schema": "https://speedrun-bot.github.io/schemas/submission.schema.json",
            "schema_version": 1,
            "track": track,
            "title": f"Honest {self.number}",
            "summary": summary,
            "contributors": [
                {"github": "example-user", "roles": ["idea", "code", "runs", "writing"]}
            ],
            "code": {"path": "train.py"},
            "hardware": {"accelerator": accelerator, "count": machine.count},
            "runs": self.runs,
            **fields,
        }
        self.files["submission.json"] = as_bytes(self.document)


class Calendar:
    """When runs began: some weeks ago, one after another."""

    def __init__(self, draw: random.Random) -> None:
        today = dt.datetime.now(dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        self._next = today.timestamp() - draw.uniform(20, 60) * 86400

    def begin(self, run: Trained) -> float:
        """When a run began; the next one begins after it."""
        began = self._next
        self._next += run.wall(run.recipe.steps) + 90
        return began


def source_text(run: Trained, lr: float, run_id: str) -> str:
    """The program of somebody who trains as modded-nanogpt does."""
    recipe = run.recipe
    settings = {
        'run_id: str = "default"': f'run_id: str = "{run_id}"',
        "val_loss_every: int = 125": f"val_loss_every: int = {recipe.val_every}",
        "num_iterations: int = 1400": f"num_iterations: int = {recipe.steps}",
        "learning_rate: float = 0.0036": f"learning_rate: float = {lr}",
    }
    text = PROGRAM
    for line, own in settings.items():
        text = text.replace(line, own)
    return text


def hash_of(text: str) -> str:
    """SHA-256 of a source, as the trainer writes it."""
    return source_sha256(text)


def summary_of(values: Sequence[float]) -> dict[str, Any]:
    """Mean, sample standard deviation and number, as a claim gives them."""
    if len(values) == 1:
        return {"mean": values[0], "n": 1}
    return {
        "mean": statistics.fmean(values), "sd": statistics.stdev(values), "n": len(values)
    }  # fmt: skip


def hex_id(draw: random.Random, digits: int = 8) -> str:
    """An id as programs draw it."""
    return f"{draw.getrandbits(4 * digits):0{digits}x}"
