"""Folders adopted in place: one answer from every command."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

from click.testing import CliRunner

from bot.cli import main

TRACK = """
schema_version = 1
id = "short"
title = "Short"
objective = "target"
[quality]
metric = "loss"
unit = "nats/token"
target = 3.28
[cost]
metric = "training_time_s"
unit = "s"
[evidence]
accepts = ["log"]
[submissions]
globs = ["records/*/"]
"""


def entry(root: Path, name: str, step_ms: int) -> Path:
    folder = root / "records" / name
    folder.mkdir(parents=True)
    noise = random.Random(name)
    lines = ["8 x NVIDIA H100 80GB HBM3"]
    for step in range(0, 1001, 100):
        loss = 3.26 + (1000 - step) / 300 + noise.random() / 50
        lines.append(f"step:{step}/1000 val_loss:{loss:.4f} train_time:{step * step_ms}ms")
    (folder / "run.log").write_text("\n".join(lines) + "\n")
    return folder


def status(root: Path, *args: str) -> dict[str, str]:
    command = [args[0], *args[1:], "--root", str(root), "--format", "json"]
    found = json.loads(CliRunner().invoke(main, command).stdout)
    return {v["submission"]: v["status"] for v in found["verdicts"]}


def git(root: Path, *args: str) -> None:
    who = ("-c", "user.name=example-user", "-c", "user.email=user@example.org")
    subprocess.run(["git", "-C", str(root), *who, *args], check=True, capture_output=True)


def test_check_and_audit_say_the_same_of_a_merged_folder(tmp_path: Path) -> None:
    (tmp_path / "tracks").mkdir()
    (tmp_path / "tracks/short.toml").write_text(TRACK)
    entry(tmp_path, "2026-01-01_first", 200)
    second = entry(tmp_path, "2026-02-01_second", 180)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "tracks", "records/2026-01-01_first")
    git(tmp_path, "commit", "-qm", "first")
    name = "records/2026-02-01_second"
    assert status(tmp_path, "check", str(second)) == {name: "needs-review"}
    args = ["check", str(second), "--root", str(tmp_path), "--format", "json"]
    verdict = json.loads(CliRunner().invoke(main, args).stdout)["verdicts"][0]
    fixes = [f["fix"] for f in verdict["findings"]]
    assert any("ask a maintainer to time both" in fix for fix in fixes)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "second")
    merged = status(tmp_path, "check", str(second))
    assert merged == {name: "verified"} and merged.items() <= status(tmp_path, "audit").items()
