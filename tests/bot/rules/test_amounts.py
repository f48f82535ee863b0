"""How much a validation reads and a step trains on, by settings of any name, at every door."""

from __future__ import annotations

import dataclasses as dc
import json
from typing import Any

import pytest

from bot.registry import Level
from tests.bot.rules.second_cases import SMALL, TOTAL, log, offline, rows, told
from tests.bot.rules.test_counted import STEPS, in_log
from tests.bot.rules.test_settings import FINEWEB
from tests.bot.rules.test_settings import told as in_file

LENGTH, LEAST, BATCH = 1024, 10_485_760, 524_288
FEW: list[tuple[dict[str, float], dict[str, float]]] = [
    ({"eval_iters": 20, "eval_batch_size": 8}, {"eval_iters": 1280, "eval_batch_size": 8}),
    ({"max_eval_batches": 5, "val_batch_tokens": BATCH}, {"max_eval_batches": 20,
                                                          "val_batch_tokens": BATCH}),
    ({"val_batches": 100, "micro_batch_size": 8}, {"val_batches": 1280, "micro_batch_size": 8}),
    ({"limit_val_batches": 50, "per_device_eval_batch_size": 4},
     {"limit_val_batches": 2560, "per_device_eval_batch_size": 4}),
    ({"max_eval_samples": 512}, {"max_eval_samples": 10_240}),
    ({"eval_iters": 20}, {"eval_interval": 20}),
]  # fmt: skip
"""Settings of a validation that is smaller than the track's, and of one that is not."""
KEPT = {"train_batch_size": 64, "seq_len": LENGTH}


def validations(track: Any, **settings: float) -> list[list[tuple[str, Level]]]:
    head = "\n".join(f"{name}: {value}" for name, value in (KEPT | settings).items())
    found = told(offline(rows(), track, config=KEPT | settings), track)
    return [found, in_log(log(head=head), track)]


@pytest.mark.parametrize(("few", "enough"), FEW)
def test_a_validation_of_few_tokens(few: dict[str, float], enough: dict[str, float]) -> None:
    track = dc.replace(SMALL, validation_tokens=LEAST)
    for found in validations(track, **few):
        ((text, level),) = found
        assert "validates on" in text and "10,485,760" in text and level is Level.WARNING
    assert validations(track, **enough) == [[], []]
    assert validations(dc.replace(track, validation_tokens=None), **few) == [[], []]


@pytest.mark.parametrize(("few", "enough"), FEW[:5])
def test_a_results_file_that_validates_on_few_tokens(
    few: dict[str, float], enough: dict[str, float]
) -> None:
    track = dc.replace(FINEWEB, validation_tokens=LEAST)
    (text,) = in_file(few, track=track)
    assert "validates on" in text
    assert in_file(enough, track=track) == []


def test_a_share_of_the_validation_text() -> None:
    for found in validations(SMALL, limit_val_batches=0.1):
        ((text, _),) = found
        assert "validates on 0.1 of the validation text" in text
    assert validations(SMALL, limit_val_batches=1.0, val_fraction=0.1) == [[], []]
    (message,) = in_file({"eval_subset_fraction": 0.5})
    assert "validates on 0.5" in message
    assert in_file({"eval_subset_fraction": 1.0}) == []


OTHER: list[tuple[dict[str, float], dict[str, float]]] = [
    ({"train_batch_size": 1024}, {"train_batch_size": 512}),
    ({"train_batch_size": 256}, {"train_batch_size": 64}),  # of each of eight devices
    ({"batch_tokens": 2 * BATCH}, {"batch_tokens": BATCH}),
    ({"batch_size": 640}, {"batch_size": 16, "gradient_accumulation_steps": 4}),
    ({"total_batch_size": 4 * BATCH}, {"total_batch_size": BATCH}),
]
"""Settings of another batch than the track's, and of that one."""


@pytest.mark.parametrize(("other", "same"), OTHER)
def test_another_batch_where_the_track_fixes_it(
    other: dict[str, float], same: dict[str, float]
) -> None:
    def judged(track: Any, settings: dict[str, float]) -> list[list[str]]:
        stated = {"seq_len": LENGTH} | settings
        head = "\n".join(f"{name}: {value}" for name, value in stated.items())
        online = told(
            offline(rows(), track, config={"world_size": 8, "device": "H100"} | stated), track
        )
        return [[t for t, _ in found] for found in (online, in_log(log(head=head), track))]

    for found in judged(STEPS, other):
        (text,) = found
        assert "the track's batch is 524,288" in text
    assert judged(STEPS, same) == [[], []]
    assert judged(dc.replace(STEPS, batch_tokens=None), other) == [[], []]


@pytest.mark.parametrize("settings", [{"early_stopping_patience": 5}, {"early_stop": True}])
def test_a_run_that_its_loss_may_stop(settings: dict[str, Any]) -> None:
    ((text, _),) = told(offline(rows(), SMALL, config=settings))
    assert "lets the loss end the run" in text
    assert told(offline(rows(), config=settings), dc.replace(SMALL, finish="target")) == []
    off = dict.fromkeys(settings, False) | {"early_stop_min_delta": 0.1}
    assert told(offline(rows(), SMALL, config=off)) == []


@pytest.mark.parametrize(("each", "named"), [(2 * BATCH, True), (BATCH, False), (None, False)])
def test_another_batch_by_the_count_of_tokens(each: int | None, named: bool) -> None:
    counted = (lambda s: {}) if each is None else (lambda s: {"tokens": s * each})
    printed = (lambda s: "") if each is None else (lambda s: f" tokens:{s * each}")
    for found in (told(offline(rows(counted), STEPS), STEPS), in_log(log(printed), STEPS)):
        assert [("the track's batch is" in text) for text, _ in found] == [True] * named


def test_a_results_file_with_another_batch() -> None:
    (text,) = in_file(track=dc.replace(FINEWEB, batch_tokens=BATCH // 2))
    assert "the track's batch is 262,144" in text
    assert in_file(track=dc.replace(FINEWEB, batch_tokens=BATCH)) == []


MORE: list[tuple[Any, dict[str, Any], dict[str, Any], str]] = [
    (STEPS, {"total_tokens": 4 * TOTAL * BATCH}, {"total_tokens": TOTAL * BATCH}, "plans"),
    (STEPS, {"tokens_per_update": 2 * BATCH}, {"tokens_per_update": BATCH}, "tokens a step"),
    (STEPS, {"val_max_bytes": 10**6}, {"val_max_bytes": 10**8}, "validates on"),
    (SMALL, {"slurm_ntasks": 16}, {"slurm_ntasks": 8}, "says 16"),
]
"""Settings of more work, less text or more processes, and of what the run has."""


@pytest.mark.parametrize(("track", "wrong", "right", "says"), MORE)
def test_what_else_is_stated(
    track: Any, wrong: dict[str, Any], right: dict[str, Any], says: str
) -> None:
    def judged(settings: dict[str, Any]) -> list[list[str]]:
        stated = {"world_size": 8, "device": "H100"} | settings
        head = "\n".join(f"{name}: {value}" for name, value in settings.items())
        online = told(offline(rows(), track, config=stated), track)
        return [[t for t, _ in found] for found in (online, in_log(log(head=head), track))]

    for texts in judged(wrong):
        assert any(says in text for text in texts)
    assert judged(right) == [[], []]


PACKED: list[tuple[Any, Any]] = [
    ('{"eval": {"val_tokens": 1000}}', '{"eval": {"val_tokens": 10485760}}'),
    ("Namespace(lr=0.1, val_tokens=1000)", "Namespace(lr=0.1, val_tokens=10485760)"),
    (["--val_tokens", "1000"], ["--val_tokens", "10485760"]),
    ("--val_tokens=1000 --fast", "--fast"),
]


@pytest.mark.parametrize(("few", "enough"), PACKED)
def test_settings_in_the_text_of_another(few: Any, enough: Any) -> None:
    ((text, _),) = told(offline(rows(), config={"hparams": few}))
    assert "validates on 1,000 tokens" in text
    for other in (enough, "{", '{"a": 1', "{" * 5000, "f(", [1, 2], ["a"]):
        assert told(offline(rows(), config={"hparams": other})) == []


def test_a_checkpoint_in_the_text_of_a_setting() -> None:
    packed = json.dumps({"model": {"init_from": "gpt2"}})
    (problem,) = offline(rows(), config={"hparams": packed}).problems
    assert problem[1].endswith("builds on other training: hparams.model.init_from: gpt2")


def test_arguments_of_the_command_are_settings() -> None:
    def judged(*args: str) -> list[str]:
        config = {"world_size": 8, "device": "H100"}
        return [text for text, _ in told(offline(rows(), STEPS, config=config, args=args), STEPS)]

    (text,) = judged("--batch-tokens", str(2 * BATCH), "--lr=0.1")
    assert "the track's batch is 524,288" in text
    (text,) = judged("eval.val_tokens=1_000_000")
    assert "validates on 1,000,000 tokens" in text
    assert judged("--batch-tokens", str(BATCH), "-v", "--val_tokens=10485760") == []


@pytest.mark.parametrize(("value", "told_of"), [("short", True), (True, True), (False, False)])
def test_a_validation_that_leaves_something_out(value: Any, told_of: bool) -> None:
    texts = [text for _, text in offline(rows(), config={"val_filter": value}).problems]
    assert ["leaves out a part of the validation text" in t for t in texts] == [True] * told_of
    assert offline(rows(), config={"filter": "short"}).problems == ()
