"""Names that are public and stand in one place: rules, levels, statuses and their exit codes.

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
    VERIFIED = "verified"


class Grade(enum.StrEnum):
    """The grade of the evidence, best first. A submission has the grade of its weakest run."""

    WANDB = "wandb"
    LOG = "log"
    SELF_REPORTED = "self-reported"


OURS = frozenset({"evidence-unavailable"})
"""Rules whose error is a fault on our side: the verdict is `unverifiable`, never `rejected`."""

SHORTFALL = frozenset({"target-not-significant", "too-few-runs", "improvement-not-significant"})
"""Rules that more runs can satisfy: alone they make the verdict `needs-runs`."""


EXIT_CODES: Mapping[Status, int] = {
    Status.VERIFIED: 0,
    Status.NEEDS_REVIEW: 0,
    Status.REJECTED: 1,
    Status.NEEDS_RUNS: 1,
    Status.UNVERIFIABLE: 3,
}


@ft.cache
def catalogue() -> Mapping[str, Mapping[str, str]]:
    """Rule name -> {family, level}, as in `schemas/rules.json`, in its order."""
    data = json.loads(schema_path("rules.json").read_text(encoding="utf-8"))
    return {entry["name"]: entry for entry in data["rules"]}


def default_level(name: str) -> Level:
    """The default level of a rule. Raises KeyError for an unknown name."""
    return Level(catalogue()[name]["level"])
