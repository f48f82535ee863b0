"""What is stated once: rules, levels, statuses, their names and exit codes, and tolerances.

The lowest module of the package: it imports nothing of it but the path of `schemas/`.
"""

from __future__ import annotations

import enum
import functools as ft
import json
from collections.abc import Mapping

from bot.paths import schema_path


class Level(enum.StrEnum):
    """How much a finding weighs: an error blocks, a warning asks a maintainer, a note informs."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Status(enum.StrEnum):
    """What a verdict says, in order of precedence."""

    REJECTED = "rejected"
    UNVERIFIABLE = "unverifiable"
    NEEDS_RUNS = "needs-runs"
    NEEDS_REVIEW = "needs-review"
    CONSISTENT = "consistent"
    VERIFIED = "verified"

    @property
    def counts(self) -> bool:
        """Whether a verdict of this status ranks and is recorded."""
        return self in (Status.VERIFIED, Status.CONSISTENT, Status.NEEDS_REVIEW)


class Grade(enum.StrEnum):
    """The grade of the evidence, best first. A submission has the grade of its weakest source."""

    REPRODUCED = "reproduced"
    WANDB = "wandb"
    LOG = "log"
    SELF_REPORTED = "self-reported"


OURS = frozenset({"evidence-unavailable"})
"""Rules whose error is a fault on our side: the verdict is `unverifiable`, never `rejected`."""

SHORTFALL = frozenset({"target-not-significant", "too-few-runs", "improvement-not-significant"})
"""Rules that more runs can satisfy: alone they make the verdict `needs-runs`."""

MANY_RUNS = 20
"""More further runs than this are not asked for: a better mean is."""

STATUS_NAMES: Mapping[Status, str] = {
    Status.REJECTED: "Needs changes",
    Status.UNVERIFIABLE: "Not checked yet",
    Status.NEEDS_RUNS: "Needs more runs",
    Status.NEEDS_REVIEW: "Needs review",
    Status.CONSISTENT: "Consistent, self-reported",
    Status.VERIFIED: "Verified",
}
"""The one name of each status, wherever people read it."""

EXIT_CODES: Mapping[Status, int] = {
    status: 0 if status.counts else 3 if status is Status.UNVERIFIABLE else 1 for status in Status
}
EXIT_PRECEDENCE = (4, 2, 1, 3, 0)
"""Of several exit codes the first of these counts: 4 an internal error or the machine's, 2 usage
or nothing to check, 1 rejected or in need of runs, 3 unverifiable, 0 the rest."""

LOSS_TOLERANCE = 6e-5
"""Losses that differ by no more are one number, printed with other decimals."""
TIME_TOLERANCE_S = 0.06
TABLE_TOLERANCE_S = 0.05
"""What a time in a table may be off beyond its own resolution."""
RELATIVE_TOLERANCE = 0.002
"""Other quantities: the rounding of a datasheet."""
P_TOLERANCE = 0.02
"""Relative; a p may be off by LOSS_TOLERANCE as well."""


METRIC_LABELS: Mapping[str, str] = {
    "bpb": "Bits per byte",
    "loss": "Validation loss",
    "training_time_s": "Training time",
    "steps": "Steps",
    "hardware_flops": "Hardware FLOPs",
    "chips": "Chips",
    "peak_flops": "Peak FLOP/s of a chip",
    "tokens": "Tokens",
    "model_flops": "Model FLOPs",
    "mfu": "MFU",
    "parameters": "Parameters",
    "cost_usd": "Cost at stated rates",
    "chip_hours": "Chip hours",
    "ratio": "Time ÷ baseline time",
}
"""Metric -> its name, in the order shown; a track may name its own (`Track.label`)."""


def metric_label(metric: str) -> str:
    """A metric's name as a reader knows it."""
    words = metric.removesuffix("_s").replace("_", " ")
    return METRIC_LABELS.get(metric, words.capitalize())


@ft.cache
def catalogue() -> Mapping[str, Mapping[str, str]]:
    """Rule name -> {family, level}, as in `schemas/rules.json`, in its order."""
    data = json.loads(schema_path("rules.json").read_text(encoding="utf-8"))
    return {entry["name"]: entry for entry in data["rules"]}


def default_level(name: str) -> Level:
    """The default level of a rule. Raises KeyError for an unknown name."""
    return Level(catalogue()[name]["level"])
