"""Hardware FLOPs and tokens: how far off is wrong, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from bot.model.verdict import Finding
from bot.registry import Level
from tests.bot.rules.run_cases import a_case, found, results_file
from tests.bot.rules.test_text_and_accounting import findings
from tests.corpus.variants import Change, both, drop, put, scaled

RIGHT = 60.0 * 8 * 989.5e12


def stated(**info: Any) -> tuple[Finding, ...]:
    return found("hardware-flops-mismatch", a_case((), results=results_file(info)))


@pytest.mark.parametrize(
    ("share", "right"),
    [(0.9979, False), (0.9981, True), (1.0, True), (1.0019, True), (1.0021, False), (0.0, True),
     (-1.0, True), (1 / RIGHT, False)],
)  # fmt: skip
def test_hardware_flops_may_be_off_by_two_in_a_thousand(share: float, right: bool) -> None:
    told = stated(training_hardware_flops=share * RIGHT)
    assert (told == ()) is right
    for item in told:
        assert item.message.endswith("= 60 s x 8 chips x 9.895e14 FLOP/s")
        assert (item.claimed, item.expected) == (share * RIGHT, pytest.approx(RIGHT))
        assert item.ratio == pytest.approx(share) and item.write == item.expected
        assert (item.fix or "").startswith("write 4.7496e17 (")


def test_without_the_factors_nothing_is_said() -> None:
    assert not stated(training_hardware_flops=1.0, training_time=0.0)
    assert not stated(training_hardware_flops=1.0, device_flops=None)
    assert not stated(training_hardware_flops=None)
    silent = both(put(**NO_ESTIMATE), drop("run_stats__training_time_in_minutes"))
    assert RULE not in {f.rule for f in findings("v0", silent)}


@pytest.mark.parametrize(
    ("seconds", "claimed", "model", "then"),
    [
        (1e5, 2e20, 1.0e20, "; MFU is then 100 %, above 75 %"),
        (1e5, 2e20, 1.5e20, "; MFU is then 150 %, above 75 %"),  # 75 % now
        (1e5, 2e20, 1.6e20, ""),  # 80 % now: that is said already
        (1e5, 4e20, 0.75e20, ""),  # 75 % then
        (1e5, 4e20, 0.8e20, "; MFU is then 80 %, above 75 %"),
        (1e5, 0.5e20, 1.0e18, ""),  # 1 % then
        (1e5, 0.5e20, 0.9e18, "; MFU is then 0.9 %, below 1 %"),
        (2e5, 1e20, 1.0e18, "; MFU is then 0.5 %, below 1 %"),  # 1 % now
        (2e5, 1e20, 0.9e18, ""),
        (1e5, 2e20, None, ""),
    ],
)
def test_the_warning_that_comes_up_then_is_announced(
    seconds: float, claimed: float, model: float | None, then: str
) -> None:
    info = {"training_time": seconds, "num_chips": 1, "num_devices": 1, "device_flops": 1e15}
    (item,) = stated(training_hardware_flops=claimed, model_flops=model, **info)
    end = f"{then}: check the training time too" if then else ")"
    assert (item.fix or "").endswith(end)
    assert "x 1 chip x 1e15" in item.message


def test_a_time_in_minutes_is_what_is_wrong() -> None:
    (item,) = stated(training_time=1.0, training_hardware_flops=RIGHT, model_flops=0.4 * RIGHT)
    assert "because `training_time` is in minutes" in item.message
    assert (item.fix, item.write) == ("write 60 in `training_time`", None)


def test_old_files_count_in_minutes() -> None:
    def formula(name: str, change: Change) -> str:
        (item,) = (f for f in findings(name, change) if f.rule == RULE)
        return item.message.partition(" = ")[2]

    assert " minutes) x " in formula("v1_minutes", put(run_stats__total_training_flops=1e20))
    assert "minutes" not in formula("v4", scaled("training_hardware_flops", 3.0))


def test_an_estimate_counts_to_its_last_digit() -> None:
    def wrong(name: str) -> list[float | None]:
        change = put(run_stats__final_flops_estimate=name)
        return [f.claimed for f in findings("v0", change) if f.rule == RULE]

    (right,) = (f.expected for f in findings("v0", put(**NO_ESTIMATE)) if f.rule == RULE)
    # 48.65 minutes x 64 chips x 275 TFLOP/s
    assert right == pytest.approx(5.138e19, rel=1e-4)
    # half a unit of the last of one, two and three digits; of four, two in a thousand
    assert wrong("4e19") == wrong("5.0e19") == wrong("5.12e19") == wrong("5.130e19") == []
    assert wrong("2e19") == [2e19] and wrong("4.8e19") == [4.8e19]
    assert wrong("5.10e19") == [5.1e19] and wrong("5.120e19") == [5.12e19]


RULE = "hardware-flops-mismatch"
NO_ESTIMATE = {"run_stats__final_flops_estimate": "unknown"}


# ---- tokens -------------------------------------------------------------------------------------


def tokens(total: float | None, train: dict[str, Any], **model: Any) -> tuple[Finding, ...]:
    info = {"total_tokens": total, "train_config": train, "model_config": model}
    return found("token-count-mismatch", a_case((), results=results_file(info)))


TRAIN = {"train_batch_size": 8, "num_train_steps": 100}


@pytest.mark.parametrize(
    ("total", "train", "right"),
    [
        (409_600, TRAIN, True),
        (410_400, TRAIN, True),
        (410_500, TRAIN, False),
        (0, TRAIN, True),
        (-1, TRAIN, True),
        (1, TRAIN, False),
        (None, TRAIN, True),
        (1, {"train_batch_size": 8}, True),
    ],
)
def test_tokens_are_batch_times_steps_times_length(
    total: float | None, train: dict[str, Any], right: bool
) -> None:
    told = tokens(total, train, seq_len=512)
    assert (told == ()) is right
    for item in told:
        assert (item.level, item.claimed, item.expected) == (Level.ERROR, total, 409_600)
        assert item.ratio == pytest.approx(float(total or 0) / 409_600)
        assert "409,600 = batch size 8 x 100 steps x sequence length 512" in item.message


FIX = "keep the one that the run used: remove seq_len or max_seq_len"


@pytest.mark.parametrize(
    ("total", "follows", "wrong"),
    [
        (409_600, "; `total_tokens` follows from max_seq_len", False),
        (819_200, "", False),
        (614_400, "", True),
        (None, "", False),
    ],
)
def test_of_two_sequence_lengths_one_was_used(
    total: float | None, follows: str, wrong: bool
) -> None:
    first, *others = tokens(total, TRAIN, max_seq_len=512, seq_len=1024)
    assert (first.claimed, first.expected, first.ratio) == (1024, 512, 2.0)
    assert (first.fix, first.level) == (FIX + follows, Level.WARNING)
    assert first.message == (
        "two sequence lengths are stated, max_seq_len 512 and seq_len 1024; with the second, "
        "tokens and model FLOPs would be 2 times as many"
    )
    assert (first.pointer or "").endswith("/model_config/seq_len")
    assert [f.level for f in others] == [Level.ERROR] * wrong


def test_one_length_that_is_stated_twice_is_one() -> None:
    assert not tokens(409_600, {**TRAIN, "train_seq_len": 512}, max_seq_len=512, seq_len=512)
    (item,) = tokens(None, {**TRAIN, "train_seq_len": 512}, max_seq_len=512, seq_len=256)
    assert (item.claimed, item.expected, item.ratio) == (256, 512, 0.5)
