"""A planned length by epochs beside the length of the run, in log, W&B and results file."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.evidence.epochs import in_words, planned
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL
from tests.bot.rules.second_cases import TOTAL, config, log, offline, rows, said, told
from tests.bot.rules.test_settings import told as told_of_results

HALF = TOTAL // 2
PLANS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # (what is said, settings that plan another length, those that plan the run's 1400 steps)
    ("`max_epochs` and `steps_per_epoch`", {"max_epochs": 3, "steps_per_epoch": HALF},
     {"max_epochs": 2, "steps_per_epoch": HALF}),
    ("`num_epochs` and `iters_per_epoch`", {"num_epochs": 2, "iters_per_epoch": 1000},
     {"num_epochs": 2, "iters_per_epoch": 700}),
    ("`epochs` and `tokens_per_epoch`",
     {"epochs": 2, "tokens_per_epoch": 1000 * 2**19, "batch_tokens": 2**19},
     {"epochs": 2, "tokens_per_epoch": 700 * 2**19, "batch_tokens": 2**19}),
    ("`epochs` and `dataset_tokens`",
     {"epochs": 2, "dataset_tokens": 1000 * 2**19, "global_batch_size": 512, "seq_len": 1024},
     {"epochs": 2, "dataset_tokens": 700 * 2**19, "global_batch_size": 512, "seq_len": 1024}),
    ("`num_train_epochs` and `train_samples`",
     {"num_train_epochs": 4, "train_samples": 512_000, "global_batch_size": 512},
     {"num_train_epochs": 1.4, "train_samples": 512_000, "global_batch_size": 512}),
    # A batch of one device and of one pass, of 8 devices with 2 passes each.
    ("`epochs` and `dataset_size`",
     {"epochs": 3, "dataset_size": 358_400, "batch_size": 32, "grad_accum_steps": 2},
     {"epochs": 2, "dataset_size": 358_400, "batch_size": 32, "grad_accum_steps": 2}),
]  # fmt: skip


def in_log(settings: dict[str, Any]) -> list[tuple[str, Level]]:
    return said(log(head="\n".join(f"{name}: {value}" for name, value in settings.items())))


def on_wandb(settings: dict[str, Any]) -> list[tuple[str, Level]]:
    return told(offline(rows(), **config(**settings)))


@pytest.mark.parametrize(("says", "other", "same"), PLANS, ids=[row[0] for row in PLANS])
@pytest.mark.parametrize("read", [in_log, on_wandb])
def test_a_plan_by_epochs_that_is_longer_than_the_run(
    read: Any, says: str, other: dict[str, Any], same: dict[str, Any]
) -> None:
    about_tokens = "tokens"  # a stated batch is compared with the track's by another rule
    items = [(t, level) for t, level in read(other) if about_tokens not in t.partition("`")[0]]
    assert [(says in t and "ends at step 1,400" in t, level) for t, level in items] == [
        (True, Level.WARNING)
    ], items
    assert [t for t, _ in read(same) if "epochs" in t] == []


def test_a_plan_by_epochs_in_a_results_file() -> None:
    (message,) = told_of_results({"max_epochs": 2, "steps_per_epoch": 5000})
    assert "`max_epochs` and `steps_per_epoch`" in message or "max_epochs" in message
    assert "plans 10,000, but the file counts 6,000 steps" in message
    assert told_of_results({"max_epochs": 2, "steps_per_epoch": 3000}) == []
    # Two epochs of 3000 steps, of 512 sequences each.
    size = 3000 * 512
    assert told_of_results({"max_epochs": 2, "num_train_samples": size}) == []
    assert len(told_of_results({"max_epochs": 4, "num_train_samples": size})) == 1


@pytest.mark.parametrize(
    ("line", "settings", "is_told"),
    [
        ("training for 2 epochs of 1,000 steps", {"epochs": 2, "steps_per_epoch": 1000}, True),
        ("2 epochs x 700 steps", {"epochs": 2, "steps_per_epoch": 700}, False),
        ("training for 3 epochs; steps per epoch: 700",
         {"epochs": 3, "steps_per_epoch": 700}, True),
        ("running 2 epochs, 700 steps per epoch", {"epochs": 2, "steps_per_epoch": 700}, False),
        ("one epoch is 900 updates of the weights", {"steps_per_epoch": 900}, False),
        ("an epoch has 367,001,600 tokens", {"tokens_per_epoch": 367_001_600}, False),
        ("epoch 3 begins", {}, False),
    ],
)  # fmt: skip
def test_a_plan_in_words(line: str, settings: dict[str, float], is_told: bool) -> None:
    assert dict(in_words(line)) == settings
    assert [("ends at step" in t) for t, _ in said(log(head=line))] == [True] * is_told


@pytest.mark.parametrize(
    "settings",
    [
        {"max_epochs": 3},  # no length of an epoch
        {"steps_per_epoch": 9000},  # no epochs
        {"max_epochs": 3, "steps_per_epoch": HALF, "max_steps": TOTAL},  # the steps end it
        {"epochs": 1, "steps_per_epoch": 9000, "num_iterations": TOTAL},  # nobody asked for one
        {"warmup_epochs": 3, "steps_per_epoch": HALF},
        {"max_epochs": 3, "eval_steps_per_epoch": HALF},
        {"max_epochs": 2, "dataset_tokens": 10**9},  # no batch
    ],
)
def test_epochs_that_plan_nothing_else(settings: dict[str, Any]) -> None:
    assert in_log(settings) == []
    assert on_wandb(settings) == []


def test_epochs_that_are_fewer_than_the_run_has() -> None:
    ((text, level),) = in_log({"max_epochs": 1, "steps_per_epoch": HALF})
    assert level is Level.WARNING and "goes on to step 1,400" in text and "plans 700" in text


def test_a_run_that_a_time_limit_ends_has_no_plan_by_epochs() -> None:
    track = dc.replace(SMALL, finish="time-limit")
    run = offline(rows(), **config(max_epochs=3, steps_per_epoch=HALF))
    assert told(run, track) == [] and told(run) != []


def test_a_plan_of_no_run() -> None:
    assert list(planned({"epochs": 2, "steps_per_epoch": 5}, 0, (), None, "the log")) == []
