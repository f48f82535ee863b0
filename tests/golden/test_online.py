"""Runs that were read from the real W&B, against the numbers that a person read on its page.

`online/NAME.json.xz` is a snapshot of the rehearsal (the page *Go live*, step 3), and `NAME.json`
beside it says what is right: last_step, loss, time_s, and the number of validation points.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.evidence.snapshot import decode, encode
from bot.model.run import Run, Validation

ONLINE = Path(__file__).parent / "online"


def differences(snapshot: bytes, truth: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Quantity -> (what was read, what is right), where they differ."""
    run = decode(snapshot)
    read = {"last_step": run.step, "loss": run.loss, "time_s": run.time_s}
    read["points"] = len(run.validation)
    return {
        name: (read[name], right)
        for name, right in truth.items()
        if read[name] != pytest.approx(right, rel=1e-4)
    }


def test_every_real_run_is_read_as_its_page_shows_it() -> None:
    for path in sorted(ONLINE.glob("*.json.xz")):
        truth = json.loads((ONLINE / f"{path.name.partition('.')[0]}.json").read_text())
        assert {"last_step", "loss", "time_s"} <= set(truth)
        assert differences(path.read_bytes(), truth) == {}, path.name


def test_a_number_that_differs_is_named() -> None:
    points = (Validation(10, 3.5, 60.0), Validation(20, 3.25, 120.0))
    snapshot = encode(Run(source="wandb", file="e/p/runs/1", validation=points, finished=True))
    right = {"last_step": 20, "loss": 3.25, "time_s": 120.0, "points": 2}
    assert differences(snapshot, right) == {}
    assert differences(snapshot, {**right, "loss": 3.26}) == {"loss": (3.25, 3.26)}
