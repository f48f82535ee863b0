"""One training run, the same object whatever its source.

Sources are W&B online, a W&B offline file, a training log, a results file, or a snapshot; the
modules of `bot.evidence` make runs, everything else reads them.
"""

from __future__ import annotations

import dataclasses as dc
import enum
from collections.abc import Mapping
from typing import NamedTuple

FROM_LOG = "attached log"
"""The mark of a W&B run whose numbers stand in a text file attached to it, and not in its history:
it is graded as a log."""

SUMMED = "summed clock"
"""The mark of an offline file whose clock is the sum of its own durations of steps: where the file
goes on with a run, its clock begins anew."""

SOURCE_READ = "source read"
"""The mark of a run whose code is at hand: its hash was computed, and not only stated."""

DIGEST = "config_sha256"
"""The name under which a snapshot keeps the digest of a run's whole configuration."""

MACHINE = "machine."
"""What the quantities of witnesses begin with that tell two machines apart; they are not shown."""

SOURCES = ("wandb", "wandb-offline", "log", "results", "snapshot")

BINDING = "speedrun:"
"""What stands before the login in the tag that says whose run it is."""

TRAINER = "reference_trainer"
"""The name under which `code_sha256` holds the trainer's hash of itself, which is not code of a
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


class WitnessKind(enum.StrEnum):
    """Who states a quantity, the most independent first."""

    SERVICE = "service"
    """Times that W&B's or GitHub's servers keep: created, last heartbeat."""
    MACHINE = "machine"
    """What the client recorded by itself: devices, `_runtime`, system metrics."""
    PROGRAM = "program"
    """What the training program wrote: history rows, log lines, the source inside a log."""
    AUTHOR = "author"
    """The author's word: a claim, a results file, a sentence in a header."""


class Witness(NamedTuple):
    """One source's statement of one quantity of a run.

    `quantity` is a metric's name (`training_time_s`, `chips`, `steps`, ...) or `device`, `code`,
    `data`; `source` says where it stands, as people call it: "the last row of the history".
    """

    quantity: str
    value: float | str
    kind: WitnessKind
    source: str


class Stated(NamedTuple):
    """What one line of a training program's source states; `bot.rules.program` knows the kinds.

    `text` is the line, on one line and escaped; `value` and `name` are those of a number.
    """

    kind: str
    line: int
    text: str
    value: float = 0.0
    name: str = ""


class BranchPoint(NamedTuple):
    """Where a run continues another one: the run's id and the step, None where not told."""

    run_id: str | None
    step: int | None


@dc.dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as a verdict keeps it: allow-listed fields, and how the submission lists it.

    `claimed` is what a results file states of it, by metric, or None.
    """

    file: str
    index: int = 0
    source: str | None = None
    run_id: str | None = None
    hardware: str | None = None
    gpu_count: int | None = None
    step: int | None = None
    total: int | None = None
    finished: bool | None = None
    state: str | None = None
    loss: float | None = None
    time_s: float | None = None
    seed: int | None = None
    code_sha256: Mapping[str, str] = dc.field(default_factory=dict)
    val: tuple[Validation, ...] = ()
    arm: str = "candidate"
    point: str | None = None
    claimed: Mapping[str, float] | None = None
    config_sha256: str | None = None
    source_read: bool = False


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

    What the client or the service recorded by itself: `runtime_s` is W&B's `_runtime` at the end
    and `runtimes` holds (step, `_runtime`) at the validations; `created_at` and `heartbeat_at` are
    the server's, ISO 8601, None for a run that was synced later; `branch_point` says that the run
    continues another one; `nodes` counts the machines that wrote to it; `client_marks` are words
    for the client's own marks: `resumed`, `rewound`, `forked`, `offline`, `shared`. `witnesses`
    are further statements of a quantity that the reader met, and `program` those of the source
    that the file holds.
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
    config: Mapping[str, object] = dc.field(default_factory=dict)
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
    runtime_s: float | None = None
    runtimes: tuple[tuple[int, float], ...] = ()
    heartbeat_at: str | None = None
    branch_point: BranchPoint | None = None
    nodes: int | None = None
    client_marks: tuple[str, ...] = ()
    witnesses: tuple[Witness, ...] = ()
    program: tuple[Stated, ...] = ()

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

    def record(self) -> RunRecord:
        """The record of the run; allow-listed fields only."""
        digest = self.config.get(DIGEST)
        return RunRecord(
            file=self.file,
            index=self.index,
            source=self.source,
            run_id=self.run_id,
            hardware=self.hardware.device,
            gpu_count=self.hardware.count,
            step=self.step,
            total=self.total_steps,
            finished=self.finished,
            state=self.state,
            loss=self.loss,
            time_s=self.time_s,
            seed=self.seed,
            code_sha256=dict(self.code_sha256),
            val=self.validation,
            config_sha256=digest if isinstance(digest, str) else None,
            source_read=SOURCE_READ in self.client_marks,
        )
