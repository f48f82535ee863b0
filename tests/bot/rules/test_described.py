"""Run information in the description of a pull request is held against the runs."""

from __future__ import annotations

import dataclasses as dc
import time

import pytest

from bot.model.case import PullRequest
from bot.model.run import Hardware, Validation
from bot.model.verdict import Finding
from bot.rules.described import described
from tests.bot.rules.run_cases import PATH, SMALL, a_case, a_run

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
        "Training time: 90 parsecs",
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


SECONDS = {"": 1.0, "s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 0.001}
SECONDS |= dict.fromkeys(("min", "m", "mins", "minutes"), 60.0)
SECONDS |= dict.fromkeys(("h", "hr", "hours"), 3600.0)
COUNTS = {"": 1.0, "k": 1e3, "m": 1e6, "million": 1e6, "b": 1e9, "billion": 1e9, "boards": 1.0}


@pytest.mark.parametrize(
    ("label", "right", "unit", "factor"),
    [("Training time", 60.0, *item) for item in SECONDS.items()]
    + [("Chips", 8.0, *item) for item in COUNTS.items()]
    + [("Final loss", 3.2771, "", 1.0), ("Final loss", 3.2771, "nats", 1.0)],
)
def test_a_number_may_be_off_by_a_hundredth(
    label: str, right: float, unit: str, factor: float
) -> None:
    # 3,600 is told from 3,601, and 3.277 or 3.2772 may be meant by a loss
    for share, agrees in ((0.98, False), (0.99005, True), (1.00995, True), (1.02, False)):
        assert (found(f"{label}: {right * share / factor:.14f} {unit}") == []) is agrees, share


@pytest.mark.parametrize(
    ("number", "agrees"),
    [
        ("3", True),  # half of the last digit
        ("4", True),
        ("2", False),
        ("5", False),
        ("3.4", False),
        ("3.45", False),
        ("3.466", True),  # a hundredth of 3.5 is 0.035
        ("3.464", False),
        ("0.3e1", True),
        ("40e-1", False),
        ("0.04e2", True),
        ("30e-1", False),
        ("0.0000004e7", True),
    ],
)
def test_a_number_may_be_off_by_half_of_its_last_digit(number: str, agrees: bool) -> None:
    run = a_run(validation=(Validation(0, 10.8, 0.0), Validation(1000, 3.5, 60.0)))
    request = PullRequest(7, "example-user", f"Loss: {number}")
    assert (list(described(a_case([run], pull_request=request))) == []) is agrees


@pytest.mark.parametrize(
    ("body", "claimed"), [("Chips: 4", []), ("Chips: 6", []), ("Chips: 8", []), ("Chips: 7", [7])]
)
def test_a_number_is_that_of_a_run_or_their_mean(body: str, claimed: list[int]) -> None:
    four = dc.replace(a_run(1), hardware=Hardware("NVIDIA H100 80GB HBM3", 4))
    case = a_case([a_run(0), four], pull_request=PullRequest(7, "example-user", body))
    told = list(described(case))
    assert [f.claimed for f in told] == claimed
    assert all(f.expected == 6.0 and "the mean of the 2 runs is 6" in f.message for f in told)


@pytest.mark.parametrize(
    ("stated", "claimed"),
    [("40 %", []), ("0.4", []), ("40", [40.0]), ("20 %", [0.2]), ("20 percent", [])],
)
def test_a_utilization_is_a_share_or_a_percentage(stated: str, claimed: list[float]) -> None:
    run = a_run(0, metrics={**a_run(0).metrics, "mfu": 0.4})
    case = a_case([run], pull_request=PullRequest(7, "example-user", f"MFU: {stated}"))
    assert [f.claimed for f in described(case)] == claimed


def test_of_several_numbers_the_last_is_quoted() -> None:
    (item,) = found("Loss: 3.11\nChips: 8\nLoss: 3.17 nats")
    assert (item.claimed, item.expected) == (3.17, pytest.approx(3.2771))


def test_a_long_description_is_read_up_to_its_limit() -> None:
    for end, claimed in ((60_000, [88]), (60_001, []), (59_999, [88])):
        body = "Chips: 88".rjust(end, "\n")
        assert [f.claimed for f in found(body)] == claimed, end
    assert [f.claimed for f in found("Chips: 887".rjust(60_001, "\n"))] == [88]


def test_a_number_has_at_most_40_characters() -> None:
    for length, claimed in ((40, [70.0]), (41, [])):
        assert [f.claimed for f in found("Chips: 70." + "0" * (length - 3))] == claimed


def test_nothing_is_said_of_entries_that_were_brought_over() -> None:
    track = dc.replace(SMALL, imported=(PATH,))
    request = PullRequest(7, "example-user", "Chips: 88")
    imported = {"imported": {"url": "https://example.org"}}
    case = a_case(track=track, submission=imported, pull_request=request, merged=True)
    assert list(described(case)) == []
    assert list(described(dc.replace(case, track=SMALL)))


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
