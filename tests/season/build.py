"""A season of a single-GPU competition on disk: 61 submissions, as people would send them.

Ratios are exact by construction, so that the boards can be worked out by hand: every arm has runs
of t - 0.09 %, t, t + 0.09 % seconds. 0.09 % is the median spread of the times within the 62 groups
of runs of `tests/golden`, its 90th percentile 0.22 %.
"""

from __future__ import annotations

import dataclasses as dc
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bot.evidence.snapshot import Snapshots
from bot.parse.track_toml import load_track
from bot.rank.baseline import contenders, credit, freeze, rows, write
from bot.repository import Repository
from tests.bot.competition import put
from tests.track_texts import time_to_loss

SPREAD = 0.0009
A100, H100, CARD = "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 3090"
BASE = {A100: 100.0, H100: 60.0, CARD: 240.0}
"""Seconds of the first baseline on each card."""
ID = "season"
REPRODUCTION = """
[baseline]
promote_at = 0.9
[reproduction]
runs = 3
by = "another-person"
alpha = 0.05
"""
TRACK = time_to_loss(
    ID,
    "A season on one card",
    objective="baseline",
    significance='test = "none"',
    accepts='["log"]',
    more=REPRODUCTION,
)


@dc.dataclass(frozen=True)
class Sent:
    """One submission: who sent it, its ratio to the baseline arm of its own card, when."""

    name: str
    day: str
    ratio: float | None
    people: dict[str, list[str]]
    pairs: int = 3
    card: str = A100
    slow: float = 1.0
    """What the baseline arm takes beside what it should."""
    other_card: str | None = None
    """The card of the baseline arm, where it is another."""
    on: float = 1.0
    """What the baseline that it ran is of the first one."""
    accepted: bool = False
    fields: dict[str, Any] = dc.field(default_factory=dict)


def log(loss: float, seconds: float, card: str, salt: int) -> str:
    """One training log that ends at `loss` after `seconds`."""
    lines = [f"Running PyTorch 2.10.0 compiled for CUDA 12.6 on {card} with world_size 1"]
    for step in (0, 250, 500, 750, 1000):
        value = loss + (1000 - step) * (0.005 + salt * 1e-7)
        now = seconds * step / 1000
        lines.append(f"step:{step}/1000 val_loss:{value:.5f} train_time:{now:.4f}s")
    return "\n".join(lines) + "\n"


def times(seconds: float, runs: int) -> Sequence[float]:
    """Seconds of so many runs, whose mean is exact."""
    if runs == 1:
        return [seconds]
    middle = (runs - 1) / 2
    return [seconds * (1 + SPREAD * (n - middle) / max(middle, 1)) for n in range(runs)]


def send(root: Path, sent: Sent, number: int) -> None:
    """Write one submission, and what the bot recorded at its merge."""
    folder = f"submissions/{ID}/{sent.name}"
    runs: list[dict[str, str]] = []
    seconds = BASE[sent.card] * sent.on
    theirs = BASE[sent.other_card or sent.card] * sent.on * sent.slow
    arms = [("candidate", seconds * (1.0 if sent.ratio is None else sent.ratio), sent.card)]
    arms += [] if sent.ratio is None else [("baseline", theirs, sent.other_card or sent.card)]
    for arm, mean, card in arms:
        for index, value in enumerate(times(mean, sent.pairs)):
            path = f"logs/{arm}{index}.log"
            salt = number * 20 + index + 10 * (arm == "baseline")
            put(root, f"{folder}/{path}", log(3.276 + salt * 1e-6, value, card, salt))
            runs.append({"source": "log", "path": path, "arm": arm})
    data = {
        "schema_version": 1,
        "track": ID,
        "title": sent.name,
        "summary": "What was changed, and why it should be faster.",
        "contributors": [{"github": who, "roles": roles} for who, roles in sent.people.items()],
        "runs": runs,
        **sent.fields,
    }
    put(root, f"{folder}/submission.json", json.dumps(data, indent=1))
    accepted = {"maintainer-decides": "three runs agree (host)"} if sent.accepted else {}
    verdict = {
        "submission": folder,
        "status": "verified",
        "date": f"{sent.day}T12:00:00Z",
        "accepted": accepted,
    }
    put(root, f"evidence/.speedrun/verdicts/{number:06d}.json", json.dumps({"verdicts": [verdict]}))


def repository(root: Path) -> Repository:
    """The repository as the board is made of it."""
    return Repository(root, snapshots=Snapshots(root / "evidence"))


def promote(root: Path, on: str) -> str | None:
    """Freeze what is due, as the bot's pull request does; its name."""
    track = load_track(root / f"tracks/{ID}.toml")
    found = repository(root)
    board = found.board(ID, jobs=1)
    entry = next(iter(contenders(board)), None)
    if entry is None:
        return None
    before = f"submissions/{ID}/{board.track.baseline_id}" if board.track.baseline_id else None
    people = credit(entry.submission, submissions(root), before)
    made = freeze(entry.verdict, board.track, on=on, people=people, entry=entry, board=rows(board))
    write(root, track, made)
    return made.id


def submissions(root: Path) -> dict[str, Any]:
    """The submissions by path."""
    from bot.parse.folder import parse_submission, read_path
    from bot.parse.track_toml import load_tracks
    from bot.repository import submission_folders

    tracks = load_tracks(root)
    parsed = (
        parse_submission(read_path(path, root), tracks, name).submission
        for path, name in submission_folders(root, tracks)
    )
    return {item.path: item for item in parsed}
