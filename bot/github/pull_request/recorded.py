"""What was recorded of an entry when it was merged, from a checkout of the branch `evidence`."""

from __future__ import annotations

import dataclasses as dc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bot.model.experiment import Plan
from bot.model.serial import read
from bot.model.verdict import Verdict

VERDICTS = ".speedrun/verdicts"
_MAX_BYTES = 5_000_000


def verdict_path(number: int) -> str:
    """Where the verdict of a pull request lies on the evidence branch."""
    return f"{VERDICTS}/{number:06d}.json"


def recorded(evidence: Path | None, submission: str, but: int = 0) -> Verdict | None:
    """The verdict on a submission that the last merge recorded, other than that of one pull
    request; None if there is none that can be read."""
    found: Verdict | None = None
    for data in _files(evidence):
        try:
            for item in data["verdicts"] if data["pr"] != but else ():
                if item["submission"] == submission:
                    found = Verdict.from_json(item)
        except (ValueError, TypeError, KeyError):
            continue  # what a person broke by hand is as if it were not there
    return found


@dc.dataclass(frozen=True, slots=True)
class Merge:
    """The pull request that brought an entry: its number, its commit, when it was recorded, and
    the experiment that it belongs to."""

    pull: int
    commit: str
    at: str
    plan: Plan | None = None


def merges(evidence: Path | None) -> dict[str, Merge]:
    """Submission -> the last recorded pull request with it."""
    found: dict[str, Merge] = {}
    for data in _files(evidence):
        try:
            plans = {name: read(Plan, plan) for name, plan in data.get("plans", {}).items()}
            merge = Merge(int(data["pr"]), str(data["head_sha"]), str(data["recorded_at"]))
            for item in data["verdicts"]:
                name = str(item["submission"])
                found[name] = dc.replace(merge, plan=plans.get(name))
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
    return found


def _files(evidence: Path | None) -> Iterator[dict[str, Any]]:
    """The recorded reports, oldest pull request first."""
    for path in sorted((evidence / VERDICTS).glob("*.json")) if evidence else ():
        if path.is_symlink() or path.stat().st_size > _MAX_BYTES:
            continue
        try:
            data = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            yield data
