"""What was recorded of an entry when it was merged, from a checkout of the branch `evidence`."""

from __future__ import annotations

import json
from pathlib import Path

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
    for path in sorted((evidence / VERDICTS).glob("*.json")) if evidence else ():
        if path.is_symlink() or path.stat().st_size > _MAX_BYTES or path.stem == f"{but:06d}":
            continue
        try:
            for item in json.loads(path.read_bytes())["verdicts"]:
                if item["submission"] == submission:
                    found = Verdict.from_json(item)
        except (ValueError, TypeError, KeyError):
            continue  # what a person broke by hand is as if it were not there
    return found
