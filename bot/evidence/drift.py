"""Drift: is the evidence still what it was when it was verified?

    for item in drift(submissions, Snapshots(path), fetcher):
        print(item.ref.url, item.kind, item.message)

`speedrun audit --evidence` pulls every linked run again and compares it with its snapshot.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bot.evidence.fetcher import Fetcher
from bot.evidence.links import RunRef, parse_link
from bot.evidence.snapshot import SnapshotError, Snapshots, metrics_sha256
from bot.evidence.wandb.errors import NOT_FOUND, NOT_PUBLIC
from bot.model.run import Run
from bot.model.submission import Submission
from bot.model.track import Track

if TYPE_CHECKING:
    from bot.evidence.wandb.online import Fetched

KINDS = ("same", "changed", "gone", "private", "unavailable", "no-snapshot")


@dc.dataclass(frozen=True, slots=True)
class Drift:
    """What became of one run. `kind` is one of KINDS; `message` is a sentence."""

    submission: str
    ref: RunRef
    kind: str
    message: str

    @property
    def drifted(self) -> bool:
        """Whether somebody must look: the evidence is not what was verified."""
        return self.kind in ("changed", "gone", "private")


def drift(
    submissions: Iterable[tuple[Submission, Track]], snapshots: Snapshots, fetcher: Fetcher
) -> tuple[Drift, ...]:
    """Pull every linked run of the submissions again, and say of each what became of it."""
    found: list[Drift] = []
    for submission, track in submissions:
        links = [parse_link(s.target) for s in submission.runs if s.source == "wandb"]
        refs = [link for link in links if isinstance(link, RunRef)]
        if not refs:
            continue
        fetched = fetcher.fetch(refs, track.keys)
        for ref in dict.fromkeys(refs):
            kind, message = _compare(snapshots, ref, fetched[ref])
            found.append(Drift(submission.path, ref, kind, message))
    return tuple(found)


def _compare(snapshots: Snapshots, ref: RunRef, fetched: Fetched) -> tuple[str, str]:
    try:
        kept = snapshots.latest(ref)
    except (SnapshotError, OSError) as error:
        return "no-snapshot", f"the snapshot cannot be used: {error}"
    if kept is None:
        return "no-snapshot", "there is no snapshot of the run"
    message = difference(kept, fetched)
    if message is None:
        same = fetched.run is not None
        return ("same", "as it was") if same else ("unavailable", _reason(fetched))
    if fetched.run is not None:
        return "changed", message
    private = fetched.failure is not None and fetched.failure.rule == NOT_PUBLIC
    return ("private" if private else "gone"), message


def difference(kept: Run, fetched: Fetched) -> str | None:
    """How a run differs from its snapshot, in a sentence; None where it does not, or where W&B
    could not be asked."""
    run = fetched.run
    if run is None:
        rule = None if fetched.failure is None else fetched.failure.rule
        if rule == NOT_FOUND:
            return "the run was verified before, but is now deleted or not public"
        if rule == NOT_PUBLIC:
            return "the run was verified before, but its project is no longer public"
        return None
    if metrics_sha256(run) == metrics_sha256(kept):
        return None
    before, now = len(kept.validation), len(run.validation)
    if before != now:
        return f"the history had {before} validation points when it was verified, now {now}"
    for a, b in zip(kept.validation, run.validation, strict=True):
        if a != b:
            was, is_ = (f"loss {v.loss:.6g} at {_seconds(v.time_s)}" for v in (a, b))
            return f"at step {a.step} the history had {was} when it was verified, now {is_}"
    return "the history has different values than when it was verified"


def _seconds(value: float | None) -> str:
    return "an unknown time" if value is None else f"{value:.3f} s"


def _reason(fetched: Fetched) -> str:
    return "it could not be fetched" if fetched.failure is None else fetched.failure.message
