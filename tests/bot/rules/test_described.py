"""Run information in the description of a pull request is held against the runs."""

from __future__ import annotations

import time

import pytest

from bot.model.case import PullRequest
from bot.model.verdict import Finding
from bot.rules.described import described
from tests.bot.rules.run_cases import a_case, a_run

SIXTY_SECONDS = [(60, "s"), (60, "sec"), (60, "seconds"), (60_000, "ms"), (1.0, "min"), (1.0, "m")]
SIXTY_SECONDS += [(1.0, "mins"), (1.0, "minutes")]
SIXTY_SECONDS += [(0.01667, unit) for unit in ("h", "hr", "hours")]
EIGHT = [("8", ""), ("0.008", "k"), ("8e-6", "m"), ("8e-6", "million"), ("8e-9", "b")]
EIGHT += [("8e-9", "billion")]


def found(body: str) -> list[Finding]:
    """The runs are of 60 s on 8 H100, with losses 3.277 and 3.2772: mean 3.2771."""
    request = PullRequest(7, "example-user", body)
    return list(described(a_case(pull_request=request)))


@pytest.mark.parametrize(
    "body",
    [
        "Training time: 60 s",
        "Training time: 1 min",
        "- **Training time**: 60.2 seconds",
        "| training time | 1.0 minutes |",
        '  "training_time": 60.0,',
        "training_time_s = 60",
        *(f"Training time: {n} {u}" for n, u in SIXTY_SECONDS),
        *(f"Number of devices: {n} {u}" for n, u in EIGHT),
        "Validation loss: 3.277",
        "val_loss: 3.28",
        "Number of devices: 8",
        "hardware FLOPs      4.75e+17",
        "Loss: 3.31 at first, and now\nLoss: 3.277",
        "Loss: 3 things were tried",
        "We reached the loss of the record in 31 seconds less.",
        "hardware FLOPs at MFU 0.5  1e+17",
        "Training time: unknown",
        "Training time: 60 parsecs",
        "Learning rate: 0.02",
        "",
    ],
)
def test_what_agrees_or_says_nothing_of_the_runs(body: str) -> None:
    assert found(body) == []


@pytest.mark.parametrize(
    ("body", "level", "words"),
    [
        ("Training time: 31.42 s", "warning", "training_time_s is 31.42, but the mean of the 2"),
        ("Training time: 120 ms", "warning", "training_time_s is 0.12, but the mean of the 2"),
        ("Number of devices: 8 k", "note", "chips is 8,000, but the mean of the 2"),
        ("Training time: 2 min", "warning", "training_time_s is 120, but the mean of the 2"),
        ("| Loss | 3.17 |", "warning", "loss is 3.17, but the mean of the 2 runs is 3.277"),
        ("Number of chips: 64", "note", "chips is 64, but the mean of the 2 runs is 8"),
        ("Hardware FLOPs: 1.2e+18", "note", "hardware_flops is 1.2e18, but"),
        ("Total training hardware FLOPs: 1,200,000", "note", "hardware_flops is 1,200,000, but"),
    ],
)
def test_what_no_run_shows_is_said(body: str, level: str, words: str) -> None:
    [item] = found(f"What I did.\n\n{body}\n")
    assert item.rule == "claim-differs-from-run" and item.level == level
    assert words in item.message, item.message


def test_one_run_is_no_mean() -> None:
    request = PullRequest(7, "example-user", "Training time: 31.42 s")
    [item] = described(a_case([a_run()], pull_request=request))
    assert item.message.endswith("training_time_s is 31.42, but the run shows 60")


def test_a_description_made_to_be_slow_is_not() -> None:
    began = time.process_time()
    for text in (
        "a " * 30_000,
        "training time " + ": " * 20_000,
        "| " * 30_000,
        "loss:" + "9" * 60_000,
    ):
        found(text)
        found("\n".join([text[:200]] * 300))
    assert time.process_time() - began < 5
