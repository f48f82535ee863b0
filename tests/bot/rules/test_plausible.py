"""Runs that are possible and odd: a baseline arm that is not what the baseline was."""

from __future__ import annotations

import dataclasses as dc
import json
from typing import Any

import pytest

from bot.model.submission import Folder
from bot.model.verdict import Finding
from bot.parse.track_toml import load_tracks
from bot.registry import Level
from bot.verify import verify
from tests.conftest import ROOT

TRACKS = load_tracks(ROOT)
H100 = "NVIDIA H100 80GB HBM3"


def log(loss: float, seconds: float, device: str) -> bytes:
    head = f"Running on device_name={device} with world_size=1\n"
    return (
        head
        + "".join(
            f"step:{s}/80 val_loss:{6 - (6 - loss) * s / 80:.4f} "
            f"train_time:{seconds * s / 80:.3f}s\n"
            for s in range(0, 81, 20)
        )
    ).encode()


def found(track: str, loss: float, seconds: float, device: str = H100) -> list[Finding]:
    """What is odd about two arms of one run each, of which the baseline is the one given."""
    arms = {
        "mine.log": log(TRACKS[track].quality.target or 0, 9.131, device),
        "base.log": log(loss, seconds, device),
    }
    listed: dict[str, Any] = {
        "schema_version": 1,
        "track": track,
        "title": "An example",
        "contributors": [{"github": "example-user"}],
        "runs": [
            {"source": "log", "path": "mine.log"},
            {"source": "log", "path": "base.log", "arm": "baseline"},
        ],
    }
    files = {"submission.json": json.dumps(listed).encode(), **arms}
    verdict = verify(Folder(f"submissions/{track}/example", files), TRACKS)
    return [f for f in verdict.findings if f.rule == "metric-implausible"]


@pytest.mark.parametrize(
    ("track", "loss", "seconds", "says"),
    [
        ("single-gpu-fineweb", 3.9, 900.0, "ends at loss 3.9 and misses the target 3.28"),
        ("single-gpu-fineweb", 2.6, 900.0, "ends at loss 2.6, far beyond the target 3.28"),
        ("tutorial", 1.95, 9.0, "ends at loss 1.95, the baseline at 1.8501"),
        ("tutorial-h100", 2.9, 28.0, "ends at loss 2.9, the baseline at 3.1868"),
    ],
)
def test_a_baseline_arm_that_is_another(track: str, loss: float, seconds: float, says: str) -> None:
    (finding,) = found(track, loss, seconds)
    assert finding.level is Level.WARNING and says in finding.message


@pytest.mark.parametrize(
    ("track", "loss", "seconds", "device"),
    [
        ("single-gpu-fineweb", 3.2791, 900.0, H100),
        ("single-gpu-fineweb", 3.3, 900.0, H100),
        ("tutorial", 1.86, 500.0, "cpu"),
        ("tutorial-h100", 3.2208, 29.0, H100),
        ("tutorial-h100", 3.19, 60.0, "NVIDIA A100-SXM4-80GB"),
    ],
)
def test_a_baseline_arm_that_may_be_the_baseline(
    track: str, loss: float, seconds: float, device: str
) -> None:
    assert found(track, loss, seconds, device) == []


def test_other_tracks_have_arms_of_their_own() -> None:
    tracks = {name: dc.replace(t, objective="target") for name, t in TRACKS.items()}
    files = {"mine.log": log(3.27, 9.131, H100), "base.log": log(3.9, 900.0, H100)}
    listed = {
        "schema_version": 1,
        "track": "single-gpu-fineweb",
        "title": "x",
        "runs": [
            {"source": "log", "path": "mine.log"},
            {"source": "log", "path": "base.log", "arm": "baseline"},
        ],
    }
    folder = Folder(
        "submissions/single-gpu-fineweb/x",
        {"submission.json": json.dumps(listed).encode(), **files},
    )
    assert "metric-implausible" not in {f.rule for f in verify(folder, tracks).findings}
