"""Folders of logs, and a log whose copies the rules must find."""

from __future__ import annotations

import json
import re

from bot.model.submission import Folder
from bot.model.verdict import Verdict
from bot.parse.track_toml import load_tracks
from tests.conftest import ROOT
from tests.corpus.variants import put

TRACKS = load_tracks(ROOT)
OTHER_RUN = put(wandb_run_link="https://wandb.ai/example-user/marin/runs/other")
LOGS = ROOT / "tests" / "bot" / "data" / "logs"


def rules(verdict: Verdict) -> set[str]:
    return {f.rule for f in verdict.findings}


def log_folder(name: str, *logs: bytes, arm: str = "candidate") -> Folder:
    files = {f"{i}.log": data for i, data in enumerate(logs)}
    listed = {
        "schema_version": 1,
        "track": "nanogpt-small",
        "title": "x",
        "contributors": [{"github": "example-user"}],
        "runs": [{"source": "log", "path": path, "arm": arm} for path in files],
    }
    return Folder(
        f"submissions/nanogpt-small/{name}",
        {"submission.json": json.dumps(listed).encode(), **files},
    )


CLOCKS = [s * 23417 // 100 + s * 31 % 90 for s in range(0, 401, 25)]
LINES = [
    f"step:{s}/400 val_loss:{10 - s / 99:.4f} train_time:{t}ms"
    for s, t in zip(range(0, 401, 25), CLOCKS, strict=True)
]


def noisy(line: str) -> str:
    return re.sub(r"val_loss:([\d.]+)", lambda m: f"val_loss:{float(m[1]) + 3e-4:.4f}", line)
