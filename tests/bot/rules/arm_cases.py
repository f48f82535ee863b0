"""Cases of two arms with given losses and times, on a track with a frozen baseline of 100 s."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import Any

from bot.model.case import Case
from bot.model.run import Hardware, Run, Validation
from bot.model.track import Baseline, Track
from tests.bot.rules.run_cases import TRACKS, a_case, a_run

FROZEN = Baseline(
    "first", "submissions/single-gpu-fineweb/first", "2026-01-01", "training_time_s",
    (100.0, 100.0), (4.0, 4.0), device="H100 SXM", count=1,
)  # fmt: skip
SINGLE = TRACKS["single-gpu-fineweb"]
QUALITY = dc.replace(SINGLE.quality, target=5.0)
TRACK = dc.replace(
    SINGLE, baseline_id="first", baselines=(FROZEN,), quality=QUALITY, reproduction=None
)
H100, A100, V100, CPU = (
    Hardware(name, 1)
    for name in ("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "Tesla V100-SXM2-16GB", "cpu")
)


def frozen(track: Track = TRACK, **changes: Any) -> Track:
    """The track with another frozen baseline."""
    return dc.replace(track, baselines=(dc.replace(FROZEN, **changes),))


def a_run_of(n: int, loss: float, seconds: float | None, **changes: Any) -> Run:
    points = (Validation(0, 20.0 + n, 0.0), Validation(1000, loss, seconds))
    fields = {"validation": points, "hardware": H100, "metrics": {}, "source": "log", "config": {}}
    return a_run(n, **fields | changes)


def armed(
    theirs: Sequence[tuple[float, float]],
    ours: Sequence[tuple[float, float]] = ((4.0, 60.0), (4.0, 60.0)),
    track: Track = TRACK,
    hardware: Hardware = H100,
    **changes: Any,
) -> Case:
    """A case with the (loss, seconds) of the runs of both arms."""
    both = [(pair, "candidate") for pair in ours] + [(pair, "baseline") for pair in theirs]
    runs = [a_run_of(n, *pair, hardware=hardware) for n, (pair, _) in enumerate(both)]
    return a_case(runs, arms=[arm for _, arm in both], track=track, **changes)
