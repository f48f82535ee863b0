"""The steps that a trainer listed beside its runs, read from `execution*.json` of a submission.

Text of strangers: only what has the shape of a step is taken.
"""

from __future__ import annotations

import dataclasses as dc
import json
from pathlib import PurePosixPath
from typing import Any

from bot.model.submission import Folder
from bot.render.untrusted import plain

MOST = 200
STATUSES = ("finished", "failed", "stopped", "running")


@dc.dataclass(frozen=True, slots=True)
class Step:
    """One step: its name, the hash of code, settings and inputs, and those of its inputs."""

    name: str
    identity: str
    inputs: tuple[str, ...]
    status: str
    file: str


def read_steps(folder: Folder) -> tuple[Step, ...]:
    """The steps in the lists of a submission, each identity once, in the order of the lists."""
    found: dict[str, Step] = {}
    for file in sorted(folder.files):
        if not PurePosixPath(file).match("execution*.json"):
            continue
        try:
            steps = json.loads(folder.files[file])["steps"].items()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue  # its verdict says so, or it is not a list of ours
        for name, step in list(steps)[:MOST]:
            if made := _step(file, name, step):
                found.setdefault(made.identity, made)
    return tuple(found.values())[:MOST]


def _step(file: str, name: str, step: Any) -> Step | None:
    if not isinstance(step, dict) or not isinstance(step.get("identity"), str):
        return None
    inputs = step.get("inputs")
    known = [x for x in inputs if isinstance(x, str)] if isinstance(inputs, list) else []
    status = step.get("status")
    return Step(
        plain(str(name), 40),
        plain(step["identity"], 80),
        tuple(plain(x, 80) for x in known[:20]),
        status if status in STATUSES else "unknown",
        file,
    )
