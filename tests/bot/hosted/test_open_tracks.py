"""Competitions of other kinds, hosted by a track file alone; their own files stay as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.model.track import TrackError
from bot.parse.track_toml import load_track
from tests.track_texts import highest_core

GOLF = """
schema_version = 1
id = "golf"
title = "Golf: bits per byte in 16 MB"
objective = "best"
[quality]
metric = "final_bpb"
unit = "bits/byte"
[metrics.final_bpb]
label = "Bits per byte after compression"
unit = "bits/byte"
digits = 4
from = ['^final_roundtrip_exact .*val_bpb:(\\S+)', "/val_bpb"]
[metrics.artifact_bytes]
label = "Artifact size"
unit = "bytes"
from = ['^Total submission size: (\\d+) bytes', "/bytes_total"]
[limits]
artifact_bytes = 16000000
training_time_s = 600
[significance]
margin = 0.005
[finish]
by = "time-limit"
[evidence]
accepts = ["log", "results"]
[submissions]
globs = ["records/golf/*/"]
"""


def golf_log(final: str = "1.2244", size: int = 15_800_000, ms: int = 599_900) -> str:
    """Stopped by the clock at step 13780 of 20000; the compressed model is scored afterwards."""
    lines = [
        f"step:{s}/20000 val_loss:{2.2 - s / 1e5:.4f} train_time:{ms * s // 13780}ms"
        for s in (0, 5000, 10000, 13780)
    ]
    tail = [
        f"Total submission size: {size} bytes",
        f"final_roundtrip_exact val_loss:2.0727 val_bpb:{final}",
    ]
    return "\n".join(["8 x NVIDIA H100 80GB HBM3", *lines, *tail]) + "\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tracks").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "tracks/golf.toml").write_text(GOLF)
    (tmp_path / "tracks/core.toml").write_text(highest_core())
    return tmp_path


def entry(root: Path, name: str, log: str | None = None, data: Any = None) -> Path:
    folder = root / "records/golf" / name
    folder.mkdir(parents=True)
    if log is not None:
        (folder / "train.log").write_text(log)
    if data is not None:
        (folder / "submission.json").write_text(json.dumps(data))
    return folder


def check(root: Path, *paths: Path, track: str | None = None) -> dict[str, Any]:
    args = ["check", *map(str, paths), "--offline", "--format", "json", "--root", str(root)]
    done = CliRunner().invoke(main, args + (["--track", track] if track else []))
    assert done.exit_code in (0, 1), done.output
    verdict: dict[str, Any] = json.loads(done.stdout)["verdicts"][0]
    return verdict


def rules(verdict: dict[str, Any], level: str = "error") -> set[str]:
    return {f["rule"] for f in verdict["findings"] if f["level"] == level}


def test_the_official_final_line_outranks_the_last_step_line(root: Path) -> None:
    verdict = check(root, entry(root, "a", golf_log()))
    assert rules(verdict) == set(), verdict["findings"]
    assert verdict["track"] == "golf"
    assert verdict["points"][0]["quality"] == 1.2244
    assert verdict["metrics"]["artifact_bytes"] == 15_800_000
    assert verdict["metrics"]["training_time_s"] == pytest.approx(599.9)


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (golf_log(size=16_000_001), "Artifact size is 16,000,001 bytes"),
        (golf_log(ms=600_100), "training_time_s is 600.1 s, and the track allows at most 600 s"),
        (golf_log().replace("Total submission", "Whole submission"), "Artifact size is not stated"),
    ],
)
def test_limits_are_kept(root: Path, log: str, message: str) -> None:
    verdict = check(root, entry(root, "a", log))
    assert rules(verdict) == {"limit-exceeded"}
    assert any(message in f["message"] for f in verdict["findings"])


@pytest.mark.parametrize(
    ("log", "level"),
    [
        (golf_log("-1.2244"), "error"),
        (golf_log(size=0), "error"),
        (golf_log("0.0612"), "warning"),
        (golf_log("0.6012"), None),
        (golf_log(size=1), None),
    ],
)
def test_a_metric_of_its_own_is_one_that_a_model_may_have(
    root: Path, log: str, level: str | None
) -> None:
    verdict = check(root, entry(root, "a", log))
    told = [f["level"] for f in verdict["findings"] if f["rule"] == "metric-implausible"]
    assert told == ([] if level is None else [level])


@pytest.mark.parametrize(("step", "told"), [(20_000, True), (13_790, False)])
def test_training_beyond_the_limit_is_told(root: Path, step: int, told: bool) -> None:
    later = f"step:{step}/20000 train_loss:2.0600 train_time:900000ms\nTotal submission"
    log = golf_log().replace("Total submission", later)
    verdict = check(root, entry(root, "a", log))
    assert ("witnesses-disagree" in rules(verdict, "warning")) is told


def test_exactly_at_a_limit_is_within_it(root: Path) -> None:
    log = golf_log(size=16_000_000, ms=600_000)
    assert rules(check(root, entry(root, "a", log))) == set()


def test_a_json_of_another_competition_is_read_in_place(root: Path) -> None:
    """Its own file happens to be called submission.json and is never taken for ours."""
    data = {"author": "example-user", "val_bpb": 1.19, "bytes_total": 15_900_000}
    verdict = check(root, entry(root, "a", data=data))
    assert "schema" not in rules(verdict), verdict["findings"]
    assert verdict["points"][0]["quality"] == 1.19
    assert verdict["evidence"] == "self-reported"


def test_a_json_beside_a_log_does_not_replace_the_log(root: Path) -> None:
    data = {"author": "example-user", "val_bpb": 1.10, "bytes_total": 15_900_000}
    verdict = check(root, entry(root, "a", golf_log(), data))
    assert verdict["points"][0]["quality"] == 1.2244


def test_larger_is_better_from_a_log_of_another_format(root: Path, tmp_path: Path) -> None:
    lines = [f"step {s}/9000 | loss: {3 - s / 9000:.3f} | clock: {s}.5s" for s in (0, 4000, 8000)]
    log = tmp_path / "run.log"
    log.write_text("\n".join([*lines, "CORE metric: 0.2565"]) + "\n")
    verdict = check(root, log, track="core")
    assert verdict["points"][0]["quality"] == 0.2565
    assert verdict["runs"][0]["val"][-1] == [8000, pytest.approx(2.111, abs=1e-3), 8000.5]


def test_the_board_ranks_by_quality_and_a_record_needs_the_margin(root: Path) -> None:
    from bot.commands.board import boards

    for name, bpb in (("a", "1.2244"), ("b", "1.2210"), ("c", "1.2000")):
        entry(root, name, golf_log(bpb))
    board = boards(root, None, only="golf", jobs=1).boards["golf"]
    assert [e.submission.rpartition("/")[2] for e in board.entries] == ["c", "b", "a"]
    assert [e.quality for e in board.entries] == [1.2, 1.221, 1.2244]
    assert [step.submission.rpartition("/")[2] for step in board.records] == ["a", "c"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('metric = "final_bpb"', 'metric = "final_bbp"', 'did you mean "final_bpb"?'),
        ("artifact_bytes = 16000000", "bytes = 1", '[limits] names "bytes", which'),
        ('accepts = ["log", "results"]', 'accepts = ["wandb"]', "nothing can supply it"),
        ("val_bpb:(\\S+)'", "val_bpb:(\\S+'", "does not compile as RE2"),
        ("val_bpb:(\\S+)'", "(val)_bpb:(\\S+)'", "has 2 groups, expected one"),
        ("val_bpb:(\\S+)'", "val_bpb:'", "the pattern has no group, expected one, the value"),
        ("training_time_s = 600", "training_time_s = -1", "is -1, expected a number above 0"),
        ('objective = "best"', 'objective = "pareto"', "lacks a table [cost]"),
        ("[significance]", '[significance]\ntest = "t"', "there is no quality.target"),
        ('label = "Artifact size"\n', "", "lacks the key label"),
        ('by = "time-limit"', 'by = "clock"', 'expected "steps", "time-limit" or "target"'),
    ],
)
def test_a_track_that_nothing_can_satisfy_is_refused(
    root: Path, old: str, new: str, words: str
) -> None:
    path = root / "tracks/golf.toml"
    assert old in GOLF
    path.write_text(GOLF.replace(old, new, 1))
    with pytest.raises(TrackError) as caught:
        load_track(path)
    assert words in str(caught.value) and "line " in str(caught.value)


def test_a_pattern_takes_time_linear_in_a_hostile_line(root: Path) -> None:
    """The backtracking engine would need 2^4000 steps for this line."""
    import time

    text = GOLF.replace("'^Total submission size: (\\d+) bytes'", "'^((?:a+)+)b$'")
    (root / "tracks/golf.toml").write_text(text)
    began = time.monotonic()
    check(root, entry(root, "a", golf_log() + "a" * 100_000 + "\n"))
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("end", "value", "status"),
    [
        ("CORE metric: 0.21", 0.21, "verified"),
        ("CORE metric: 0.21\nCORE metric: 0.21", 0.21, "verified"),
        ("CORE metric: 0.21\nCORE metric: 0.99", 0.99, "needs-review"),
        ("CORE metric: 0.31\nCORE metric: nan", None, "needs-runs"),
    ],
)
def test_a_metric_that_is_printed_twice(
    root: Path, end: str, value: float | None, status: str
) -> None:
    log = root / "run.log"
    line = "step {0:04d}/8000 (1%) | loss: 2.1{0} | dt: 1000.00ms | total time: {0}.5s"
    steps = [line.format(step) for step in range(0, 8001, 500)]
    middle = [*steps[:4], "CORE metric: 0.11", *steps[4:]]
    log.write_text("\n".join([*middle, end]) + "\n")
    verdict = check(root, log, track="core")
    assert verdict["status"] == status
    assert [point["quality"] for point in verdict["points"]] in ([value], [])
