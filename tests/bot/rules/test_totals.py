"""Totals under any name, at every door, that are far more than what a run is counted with."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.evidence.totals import Total, total_of
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL, TRACKS
from tests.bot.rules.second_cases import TOTAL, config, log, offline, rows, told
from tests.bot.rules.test_counted import in_log
from tests.bot.rules.test_settings import STEPS, TOKENS
from tests.bot.rules.test_settings import told as in_file

FIXED = dc.replace(TRACKS["nanogpt-optimization"], validation_tokens=None)
MACHINE = {"device": "NVIDIA H100 80GB HBM3", "world_size": 8}

NAMES: list[tuple[str, float, Total | None]] = [
    ("train_tokens_b", 2.0, Total("tokens", 2e9)),
    ("tokensB", 2.0, Total("tokens", 2e9)),
    ("total-tokens.millions", 300, Total("tokens", 3e8)),
    ("tokens_b", 2e9, Total("tokens", 2e9)),  # no letter makes so many more
    ("max_tokens_k", 5, Total("tokens", 5e3, allowed=True)),
    ("tokens_per_second", 9e5, None),
    ("dataset.num_tokens", 1e10, None),
    ("real_optimizer_updates", 2800, Total("steps", 2800)),
    ("stepsDone", 2800, Total("steps", 2800)),
    ("final_step", 2800, Total("steps", 2800)),
    ("log_step", 2800, None),
    ("lr_decay_steps", 2800, None),
    ("effectiveBatchTokens", 9e5, Total("batch_tokens", 9e5)),
    ("GPUHours", 2, Total("device_s", 7200)),
    ("gpuhours", 2, Total("device_s", 7200)),
    ("h100_hours", 2, Total("device_s", 7200)),
    ("device-seconds", 2, Total("device_s", 2)),
    ("h100s_used", 16, Total("chips", 16)),
    ("gpu", 3, None),
    ("gpus_per_node", 16, None),
    ("train_time_min", 5, Total("seconds", 300)),
    ("min_train_time_s", 5, Total("seconds", 5, allowed=True)),
    ("training_time_in_hours", 1, Total("seconds", 3600)),
    ("nccl_timeout_minutes", 30, None),
    ("totalPFLOPs", 3, Total("flops", 3e15)),
    ("total_exaflops", 3, Total("flops", 3e18)),
    ("peak_flops", 1e15, None),
    ("cost_usd", 3, Total("dollars", 3)),
    ("usd_per_hour", 3, None),
    ("_runtime", 3, None),
    ("", 3, None),
]


def test_what_a_name_says_of_a_whole_training() -> None:
    assert {name: total_of(name, value) for name, value, _ in NAMES} == {
        name: total for name, _, total in NAMES
    }


MEANT: list[tuple[Any, dict[str, float], dict[str, float], str]] = [
    (FIXED, {"steps_we_really_do": 2 * TOTAL}, {"steps_we_really_do": 1.4 * TOTAL}, "1,400 steps"),
    (FIXED, {"train_tokens_b": 2.0}, {"train_tokens_b": 0.8}, "tokens"),
    (FIXED, {"effectiveBatch": 1024, "seq_len": 1024}, {"effectiveBatch": 512, "seq_len": 1024},
     "tokens a step"),
    (SMALL, {"h100s_used": 16}, {"h100s_used": 8}, "8 devices"),
    (SMALL, {"gpu_hours": 0.6}, {"gpu_hours": 0.3}, "0.1556 device-hours"),
    (SMALL, {"train_minutes": 10}, {"max_train_minutes": 10}, "70 s"),
    (SMALL, {"total_exaflops": 1.0}, {"total_exaflops": 0.7}, "FLOPs of its devices"),
]  # fmt: skip
"""Settings that say far more than is counted of 1400 steps in 70 s on eight H100, and those that do
not."""


@pytest.mark.parametrize(("track", "more", "fits", "says"), MEANT)
def test_a_setting_of_any_name(
    track: Any, more: dict[str, float], fits: dict[str, float], says: str
) -> None:
    def judged(settings: dict[str, float]) -> list[list[tuple[str, Level]]]:
        head = "\n".join(f"{name}: {value}" for name, value in settings.items())
        kept = offline(rows(), track, **config(**MACHINE, **settings))
        if "flops" in head:  # only W&B's reader computes them
            return [told(kept, track)]
        return [told(kept, track), in_log(log(head=head), track)]

    for found in judged(more):
        ((text, level),) = found
        assert text.startswith("the run counts") and says in text and level is Level.WARNING
        assert next(iter(more)) in text
    assert [found for found in judged(fits) if found] == []


def test_what_is_planned_matters_where_runs_end_by_their_steps() -> None:
    track = dc.replace(FIXED, finish="target")
    run = offline(rows(), track, **config(**MACHINE, steps_we_really_do=2 * TOTAL))
    assert told(run, track) == []


DONE: list[tuple[dict[str, float], dict[str, float], str]] = [
    ({"gpu_hours": 0.6}, {"gpu_hours": 0.3}, "0.1556 device-hours"),
    ({"gpuSeconds": 2400}, {"gpuSeconds": 1000}, "device-hours"),
    ({"cost_usd": 20.0}, {"cost_usd": 5.0}, "20 dollars"),
    ({"cost_usd": 2.0, "price_per_gpu_hour": 2.0}, {"cost_usd": 0.5, "price_per_gpu_hour": 2.0},
     "1"),
    ({"cost_usd": 2.0, "hourly_cost": 20.0}, {"cost_usd": 0.5, "hourly_cost": 20.0}, "360"),
    ({"total_tokens_millions": 2000.0}, {"total_tokens_millions": 734.0}, "tokens"),
    ({"optimizer_updates_made": 2800}, {"optimizer_updates_made": 1400}, "1,400 steps"),
    ({"h100s_used": 16}, {"h100s_used": 8}, "8 devices"),
]  # fmt: skip


@pytest.mark.parametrize("in_summary", [True, False], ids=["summary", "history"])
@pytest.mark.parametrize(("more", "fits", "says"), DONE)
def test_a_total_at_the_end(
    in_summary: bool, more: dict[str, float], fits: dict[str, float], says: str
) -> None:
    def judged(totals: dict[str, float]) -> list[tuple[str, Level]]:
        made = rows(lambda s: {} if in_summary or s < TOTAL else totals)
        fields: dict[str, Any] = {"summary": totals} if in_summary else {}
        return told(offline(made, FIXED, **fields, **config(**MACHINE)), FIXED)

    ((text, level),) = judged(more)
    assert text.startswith("the run counts") and says in text and level is Level.WARNING
    assert ("the summary" if in_summary else "the history") in text
    assert judged(fits) == []


FILES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"gpu_hours": 3.0}, {"gpu_hours": 2.4}, "the file counts 1.022 device-hours"),
    ({"cost_usd": 80.0}, {"cost_usd": 30.0}, "dollars"),
    ({"wall_hours": 0.4}, {"wall_hours": 0.2}, "the file counts 460 s"),
    ({"tokens_trained_b": 8.0}, {"tokens_trained_b": 3.2}, "tokens"),
    ({"h100s_used": 16}, {"h100s_used": 8}, "the file counts 8 devices"),
    ({"compute_exaflops": 9.0}, {"compute_exaflops": 1.5}, "FLOPs of its devices"),
]


@pytest.mark.parametrize(("more", "fits", "says"), FILES)
def test_a_number_of_any_name_in_a_results_file(
    more: dict[str, Any], fits: dict[str, Any], says: str
) -> None:
    # What a run costs is known at its end.
    doors = ("info",) if "cost_usd" in more else ("train", "info")
    for door in doors:
        (text,) = in_file(**{door: more})
        assert says in text and next(iter(more)) in text
        assert in_file(**{door: fits}) == []


def test_a_plan_of_any_name_in_a_results_file() -> None:
    (text,) = in_file({"steps_we_really_do": 2 * STEPS})
    assert "says 12,000, but the file counts 6,000 steps" in text
    (text,) = in_file({"batch_in_truth": 1024, "seq_len": 1024})
    assert "tokens a step" in text and TOKENS / STEPS == 524_288
    assert in_file({"steps_we_really_do": STEPS, "batch_in_truth": 512, "seq_len": 1024}) == []
