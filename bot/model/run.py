"""One training run, the same object whatever its source.

Sources are W&B online, a W&B offline file, a training log, a results file, or a snapshot; the
modules of `bot.evidence` make runs, everything else reads them.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from typing import Any, NamedTuple

SOURCES = ("wandb", "wandb-offline", "log", "results", "snapshot")


TRAINER = "reference_trainer"
"""The name under which `code_sha256` holds the trainer's hash of itself, which is no code of a
submission: all who use one version of it share it."""


class Validation(NamedTuple):
    """One validation point. `time_s` is the track's clock, None where the source has none."""

    step: int
    loss: float
    time_s: float | None


@dc.dataclass(frozen=True, slots=True)
class Hardware:
    """What a run says it ran on: the device's own name, how many, and the driver."""

    device: str | None = None
    count: int | None = None
    driver: str | None = None


@dc.dataclass(frozen=True, slots=True)
class Run:
    """One training run.

    `file` is the path as given or the canonical link `https://wandb.ai/E/P/runs/ID`; `index`
    counts the runs of one file from 0. `validation` is in order of step. `history` maps each
    further metric to ((step, value), ...), `step` monotonic. `step_times_s` are durations of
    single steps where the source has them. `total_steps` is the stated length or None. `finished`
    is True when the stated total was reached, False when it was not, None when no total is known.
    `state` is W&B's word (`finished`, `running`, `crashed`, `failed`, `killed`) or None.
    `code_sha256` maps a file name to the SHA-256 of the source that the run logged or embeds.
    `metrics` are final values with units in their names, recomputed from this run alone:
    `training_time_s`, `bpb`, `loss`, `tokens`, `hardware_flops`, ...
    `problems` are (rule, message) pairs found while reading: `clock-not-monotonic`, ...
    """

    source: str
    file: str
    index: int = 0
    run_id: str | None = None
    name: str | None = None
    entity: str | None = None
    project: str | None = None
    validation: tuple[Validation, ...] = ()
    history: Mapping[str, tuple[tuple[int, float], ...]] = dc.field(default_factory=dict)
    step_times_s: tuple[float, ...] = ()
    total_steps: int | None = None
    last_step: int | None = None
    finished: bool | None = None
    state: str | None = None
    hardware: Hardware = Hardware()
    software: Mapping[str, str] = dc.field(default_factory=dict)
    config: Mapping[str, Any] = dc.field(default_factory=dict)
    tags: tuple[str, ...] = ()
    code_sha256: Mapping[str, str] = dc.field(default_factory=dict)
    seed: int | None = None
    nonce: str | None = None
    data_fingerprint: str | None = None
    created_at: str | None = None
    finished_at: str | None = None
    metrics: Mapping[str, float | int | None] = dc.field(default_factory=dict)
    summary_values: Mapping[str, float] = dc.field(default_factory=dict)
    problems: tuple[tuple[str, str], ...] = ()

    @property
    def loss(self) -> float | None:
        """The last validation loss."""
        return self.validation[-1].loss if self.validation else None

    @property
    def time_s(self) -> float | None:
        """The clock at the last validation."""
        return self.validation[-1].time_s if self.validation else None

    @property
    def step(self) -> int | None:
        """The step of the last validation."""
        return self.validation[-1].step if self.validation else None

    def at_step(self, step: int) -> Validation | None:
        """The validation point at exactly `step`, or None."""
        return next((v for v in self.validation if v.step == step), None)

    def summary(self) -> dict[str, Any]:
        """The record of `speedrun runs --format json`; allow-listed fields only."""
        return {
            "file": self.file,
            "index": self.index,
            "source": self.source,
            "run_id": self.run_id,
            "hardware": self.hardware.device,
            "gpu_count": self.hardware.count,
            "step": self.step,
            "total": self.total_steps,
            "finished": self.finished,
            "state": self.state,
            "loss": self.loss,
            "time_s": self.time_s,
            "seed": self.seed,
            "code_sha256": dict(self.code_sha256),
            "val": [list(v) for v in self.validation],
        }
