"""A metric of the track's own as the quality: which way is better, its history, its target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.github.host.doctor_tracks import look_at_tracks
from bot.model.track import TrackError
from bot.parse.track_toml import load_track

TRACK = """
schema_version = 1
id = "digits"
title = "Digits to 94 %"
objective = "{objective}"
[quality]
metric = "accuracy"
{quality}
[cost]
metric = "training_time_s"
unit = "s"
[metrics.accuracy]
label = "Test accuracy"
{metric}
from = ['test accuracy ([0-9.]+)']
[finish]
by = "{finish}"
[log]
patterns = ['epoch (?P<step>\\d+)/(?P<total>\\d+) loss (?P<train_loss>\\S+) (?P<time_s>\\S+) s']
[evidence]
accepts = ["log"]
"""


def a_track(root: Path, quality: str = "", metric: str = 'goal = "max"', **words: str) -> Path:
    path = root / "tracks/digits.toml"
    path.parent.mkdir(exist_ok=True)
    filled = {"objective": "best", "finish": "steps", **words}
    text = TRACK.format(quality=quality, metric=metric, **filled)
    if filled["objective"] == "best":
        text = text.replace('[cost]\nmetric = "training_time_s"\nunit = "s"\n', "")
    path.write_text(text)
    return path


def check(root: Path, name: str, log: str) -> dict[str, Any]:
    path = root / f"{name}.log"
    path.write_text(log)
    args = ["check", str(path), "--root", str(root), "--track", "digits", "--format", "json"]
    found: dict[str, Any] = json.loads(CliRunner().invoke(main, args).stdout)["verdicts"][0]
    return found


def log_of(accuracies: list[float], apart: bool = True, total: int = 10) -> str:
    """A line an epoch of two seconds, and the accuracy on a line of its own or at its end."""
    lines = []
    for epoch, accuracy in enumerate(accuracies, 1):
        lines.append(f"epoch {epoch}/{total} loss {2 / epoch:.4f} {2 * epoch}.0 s")
        said = f"test accuracy {accuracy:.4f}"
        lines[-1:] = [lines[-1], said] if apart else [f"{lines[-1]} {said}"]
    return "\n".join(lines) + "\n"


RISING = [0.6661, 0.71, 0.75, 0.79, 0.83, 0.87, 0.9, 0.92, 0.9426, 0.95]


def test_which_way_is_better_may_stand_in_either_table(tmp_path: Path) -> None:
    for quality, metric in (("", 'goal = "max"'), ('goal = "max"', "")):
        track = load_track(a_track(tmp_path, quality, metric))
        assert (track.quality.goal, track.cost.goal) == ("max", "max")
        assert track.metrics["accuracy"].goal == "max"
    assert load_track(a_track(tmp_path, "", "")).quality.goal == "min"


def test_two_tables_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    path = a_track(tmp_path, 'goal = "min"')
    with pytest.raises(TrackError, match='quality.goal is "min" and metrics.accuracy.goal is "max'):
        load_track(path)
    assert load_track(a_track(tmp_path, 'goal = "max"')).quality.goal == "max"


@pytest.mark.parametrize("apart", [True, False])
def test_values_of_different_steps_are_a_history(tmp_path: Path, apart: bool) -> None:
    a_track(tmp_path)
    found = check(tmp_path, "a", log_of(RISING, apart))
    assert (found["status"], found["findings"]) == ("verified", [])
    assert found["points"][0]["quality"] == 0.95


def test_a_log_that_counts_epochs_in_lines_that_are_no_steps(tmp_path: Path) -> None:
    a_track(tmp_path)
    lines = [f"Epoch {n}: test accuracy {value}" for n, value in enumerate(RISING, 1)]
    found = check(tmp_path, "a", "\n".join(lines) + "\n")
    assert [f["rule"] for f in found["findings"] if f["rule"] == "history-gap"] == []


def test_two_values_of_one_epoch_are_a_contradiction(tmp_path: Path) -> None:
    a_track(tmp_path)
    found = check(tmp_path, "a", log_of(RISING) + "test accuracy 0.99\n")
    assert found["status"] == "needs-review"
    said = [f["message"] for f in found["findings"] if f["rule"] == "history-gap"]
    assert any("stated as 0.9500 and as 0.99, with no step between" in text for text in said)


def test_the_target_ends_a_run_at_the_first_epoch_that_reaches_it(tmp_path: Path) -> None:
    a_track(tmp_path, "target = 0.94", objective="target", finish="target")
    found = check(tmp_path, "a", log_of(RISING, total=40))
    assert found["status"] == "verified"
    point = found["points"][0]
    assert (point["quality"], point["cost"]) == (0.9426, 18.0)


def test_a_run_that_stops_below_the_target_did_not_finish(tmp_path: Path) -> None:
    a_track(tmp_path, "target = 0.94", objective="target", finish="target")
    found = check(tmp_path, "a", log_of(RISING[:8], total=40))
    assert found["status"] in ("rejected", "needs-runs")


def test_a_clock_beside_a_training_loss_is_the_time_of_the_run(tmp_path: Path) -> None:
    a_track(tmp_path, "target = 0.94", objective="target")
    found = check(tmp_path, "a", log_of(RISING))
    assert (found["status"], found["points"][0]["cost"]) == ("verified", 20.0)


def test_a_device_that_is_unknown_is_one_wrong_line_with_the_nearest_names(tmp_path: Path) -> None:
    path = a_track(tmp_path)
    path.write_text(path.read_text() + '[hardware]\naccelerator = "NVIDIA A100 SXM 81GB"\n')
    lines = [line.text for line in look_at_tracks(tmp_path)]
    assert len(lines) == 1 and '"a100-sxm"' in lines[0]
    path.write_text(path.read_text().replace(" SXM 81GB", ""))
    assert [line.text[:16] for line in look_at_tracks(tmp_path)] == ["ok    track digi"]
