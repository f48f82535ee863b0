"""Cases of the statistics rules: runs of given losses and times on this repository's tracks."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

from bot.model.case import Case, Context, RunEvidence, Standing
from bot.model.run import Hardware, Run, Validation
from bot.model.submission import Claim, Folder, RunSpec, Submission
from bot.model.track import Track
from bot.model.verdict import Finding
from bot.rules import RULES
from tests.plain_tracks import plain_tracks

TRACKS = plain_tracks()
SMALL, STEPS, SINGLE = (
    TRACKS[name] for name in ("nanogpt-small", "nanogpt-optimization", "single-gpu-fineweb")
)
GOOD = [3.2771, 3.2768, 3.2775, 3.277, 3.2769]
MEAN, SD = 3.27706, 0.000270185


def run(loss: float, time_s: float | None, index: int, file: str, step: int = 100) -> Run:
    points = (Validation(0, 10.0 + index / 1000, 0.0), Validation(step, loss, time_s))
    return Run(
        source="log", file=file, index=index, validation=points, total_steps=step,
        last_step=step, finished=True, hardware=Hardware("NVIDIA H100 80GB HBM3", 8),
    )  # fmt: skip


def evidence(
    losses: list[float], times: list[float] | None = None, arm: str = "candidate", **fields: Any
) -> RunEvidence:
    step = fields.pop("step", 100)
    runs = tuple(
        run(loss, times[i] if times else 90.0, i, f"{arm}.log", step)
        for i, loss in enumerate(losses)
    )
    return RunEvidence(RunSpec("log", f"{arm}.log", arm, **fields), runs)


def case(track: Track, *items: RunEvidence, claims: tuple[Claim, ...] = (), **fields: Any) -> Case:
    standing = fields.pop("standing", Standing())
    unlisted = fields.pop("unlisted", ())
    path = f"submissions/{track.id}/x"
    track = dc.replace(track, imported=(path,))
    submission = Submission(path, track.id, "x", claims=claims, **fields)
    return Case(
        submission, track, Folder(path, {}), {}, evidence=items,
        context=Context(standing=standing), unlisted=unlisted,
    )  # fmt: skip


def found(name: str, subject: Case) -> list[Finding]:
    return list(RULES[name](subject))


def loss_claim(**values: Any) -> Claim:
    values = {"value": MEAN, **values}
    return Claim("loss", pointer="/claims/loss", scalar=False, **values)
