"""One quantity under two names of a W&B history."""

from __future__ import annotations

from typing import Any

import pytest

from bot.evidence.wandb.contradictions import contradictions
from bot.evidence.wandb.history import flatten
from bot.model.track import Keys
from bot.parse.track_toml import load_tracks
from tests.conftest import ROOT

KEYS = load_tracks(ROOT)["nanogpt-small"].keys


def rows(**more: Any) -> list[dict[str, Any]]:
    """Three validations; each of `more` is a factor by which a value of them stands there again."""
    made = []
    for step in (0, 200, 400):
        row: dict[str, Any] = {"step": step, "val_loss": 9.0 - step / 70, "train_time_s": step / 4}
        for name, (of, factor) in more.items():
            row[name.replace("__", "/")] = row[of] * factor
        made.append(row)
    return made


@pytest.mark.parametrize(
    ("more", "config", "says"),
    [
        ({"val__loss": ("val_loss", 1.01)}, {}, "val_loss 3.285714 and val/loss 3.318571"),
        ({"training_time_s": ("train_time_s", 2)}, {}, "train_time_s 100 and training_time_s 200"),
        ({"train_time": ("train_time_s", 1500)}, {}, "train_time_s 100 and train_time 150"),
        ({}, {"train_steps": 400, "num_iterations": 800}, "two lengths, 400 and 800 steps"),
        ({"total_steps": ("step", 1)}, {"speedrun": {"train_steps": 800}}, "400 and 800 steps"),
    ],
)
def test_two_names_that_differ(
    more: dict[str, tuple[str, float]], config: dict[str, Any], says: str
) -> None:
    ((rule, message),) = contradictions(rows(**more), KEYS, flatten(config))
    assert rule == "history-gap" and says in message


@pytest.mark.parametrize(
    ("more", "config"),
    [
        ({}, {}),
        ({"val__loss": ("val_loss", 1.000001)}, {"train_steps": 400}),
        ({"train_time": ("train_time_s", 1000.2)}, {"train_steps": 400, "num_iterations": 400.0}),
        ({"total_steps": ("step", 1)}, {"train_steps": 400}),
        ({"train_loss": ("val_loss", 2)}, {"lr": 0.1, "total_steps": "many"}),
    ],
)
def test_two_names_that_agree(more: dict[str, tuple[str, float]], config: dict[str, Any]) -> None:
    assert list(contradictions(rows(**more), KEYS, config)) == []


@pytest.mark.parametrize(("every", "told"), [(1, False), (2, True), (10, True)])
def test_steps_that_are_not_timed(every: int, told: bool) -> None:
    keys = load_tracks(ROOT)["fineweb-edu"].keys
    made = [{"_step": step, "eval/paloma/c4_en/bpb": 1.0} for step in range(100)]
    for row in made[::every]:
        row["throughput/duration"] = 0.5
    found = list(contradictions(made, keys, {}))
    assert [rule for rule, _ in found] == ["history-gap"] * told
    assert not told or f"{100 // every} of {100 - every + 1} steps" in found[0][1]


def test_names_without_a_step_in_common_contradict_nothing() -> None:
    other = [{"step": step + 7, "val/loss": 1.0} for step in (0, 200, 400)]
    assert (
        list(contradictions([*rows(), *other, {"val_loss": "NaN", "val/loss": 2}], KEYS, {})) == []
    )


def test_durations_of_the_end_alone_are_no_training_time() -> None:
    """200 steps, of which the last ten have a duration: the sum is a twentieth of the time."""
    keys = Keys(loss=("val_loss",), step_time_s=("dt",))
    rows = [{"_step": s, "val_loss": 3.0, **({"dt": 1.0} if s >= 190 else {})} for s in range(200)]
    assert any("for 10 of 200 steps" in text for _, text in contradictions(rows, keys, {}))
    whole = [{"_step": s, "val_loss": 3.0, **({"dt": 1.0} if s else {})} for s in range(200)]
    assert list(contradictions(whole, keys, {})) == []
