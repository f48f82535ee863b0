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

FIRM = frozenset(
    """arms-differ claim-differs-from-run clock-not-monotonic code-differs-from-submission
    code-unusual copied-result data-fingerprint-mismatch duplicate-run entry-unknown
    evidence-changed evidence-unavailable hardware-differs-from-run history-gap host-not-allowed
    key-mapped link-not-a-run maintainer-decides metric-implausible metric-not-finite
    mfu-impossible nonce-mismatch out-of-scope-change project-not-public recipe-differs
    run-not-found-or-private run-of-another secret-in-text summary-differs-from-history
    train-validation-overlap uncorroborated unsafe-name unsafe-text witnesses-disagree""".split()
)
"""Rules on what contradicts itself, whose it is, and whether runs are runs: a track may make their
errors warnings, and no less, so that what it is weak in never hides what is strong. What is about
luck alone, as runs left out or a seed used twice, is not among them: there are tracks where that
counts."""

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


def weighs(level: Level) -> int:
    """More for a level that weighs more, from 0."""
    return len(Level) - 1 - list(Level).index(level)


def level_on(name: str, asked: str, own: Level) -> Level | None:
    """The level at which a track that asks for `asked` for a rule shows a finding that the rule
    itself gives at `own`; None where it is not shown ("off").

    A weaker level is for what a rule usually says. A finding that weighs more than that, and every
    one of the firm rules, stays a warning.
    """
    wanted = None if asked == "off" else Level(asked)
    strong = name in FIRM or weighs(own) > weighs(default_level(name))
    least = Level.WARNING if strong and weighs(own) >= weighs(Level.WARNING) else None
    if least is not None and (wanted is None or weighs(wanted) < weighs(least)):
        return least
    return wanted


def default_level(name: str) -> Level:
    """The default level of a rule. Raises KeyError for an unknown name."""
    return Level(catalogue()[name]["level"])
