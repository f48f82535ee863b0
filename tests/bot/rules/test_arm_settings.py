"""Settings in which two arms differ: those that trigger the rule, and near misses."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.evidence.snapshot import decode, encode, restrict
from bot.model.case import Case
from bot.model.run import Run
from bot.registry import Level
from bot.rules.arm_settings import unequal
from tests.bot.rules.run_cases import TRACKS, a_case, a_run, found

BASE: dict[str, Any] = {"train": {"micro_batch": 64, "eval_every": 80}, "optimizer": {"lr": 0.003}}


def runs(config: dict[str, Any], first: int = 0, **changes: Any) -> list[Run]:
    return [a_run(n, config=config, **changes) for n in (first, first + 1)]


def said(ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    return unequal(runs(BASE | ours), runs(BASE | theirs, 2))


@pytest.mark.parametrize(
    ("ours", "theirs", "says"),
    [
        ({"micro_batch": 64}, {"micro_batch": 2},
         "micro_batch is 64 in the candidate and 2 in the baseline arm"),
        ({"data": {"val_tokens": 20000}}, {"data": {"val_tokens": 0}}, "data.val_tokens is 20000"),
        ({"data": {"corpus": "other"}}, {"data": {"corpus": "english"}}, "data.corpus is other"),
        ({"model": {"vocab": 32000}}, {"model": {"vocab": 50304}}, "model.vocab is 32000"),
        ({"model": {"seq_len": 512}}, {"model": {"seq_len": 1024}}, "model.seq_len is 512"),
        ({"tp_size": 2}, {},
         "tp_size is 2 in the candidate, but the baseline arm does not state it"),
        ({}, {"torch_compile_mode": "eager"}, "torch_compile_mode is eager in the baseline arm"),
        ({}, {"cudnn_benchmark": False}, "cudnn_benchmark is false in the baseline arm"),
        ({}, {"loader": {"prefetch": 0}}, "loader.prefetch is 0 in the baseline arm"),
        ({}, {"env": {"CUDA_LAUNCH_BLOCKING": 1}}, "env.CUDA_LAUNCH_BLOCKING is 1"),
        ({"omp_num_threads": 16}, {"omp_num_threads": 1}, "omp_num_threads is 16"),
        ({"env.ANY": "a"}, {"env.ANY": "b"}, "env.ANY is a"),
        ({"inference": {"stride": 64}}, {"inference": {"stride": 1024}}, "inference.stride is 64"),
        ({"score_first": False}, {"score_first": True}, "score_first is false"),
        ({}, {"sleep_s": 0.1}, "sleep_s is 0.1 in the baseline arm"),
        ({}, {"save_interval": 1}, "save_interval is 1 in the baseline arm"),
        ({"save_interval": 0}, {"save_interval": 1}, "save_interval is 0 in the candidate and 1"),
        ({}, {"checkpointer": {"every": 1}}, "checkpointer.every is 1 in the baseline arm"),
        ({"logging": {"every": 50}}, {"logging": {"every": 1}}, "logging.every is 50"),
        ({}, {"profiler": {"active": True}}, "profiler.active is true in the baseline arm"),
        ({"adam_foreach": True}, {"adam_foreach": False}, "adam_foreach is true in the candidate"),
        ({"attn_implementation": "sdpa"}, {"attn_implementation": "eager"},
         "attn_implementation is sdpa in the candidate and eager"),
        ({"model": {"attention": "flash"}}, {"model": {"attention": "naive"}},
         "model.attention is flash in the candidate and naive"),
    ],
)  # fmt: skip
def test_settings_that_should_be_equal(
    ours: dict[str, Any], theirs: dict[str, Any], says: str
) -> None:
    message = said(ours, theirs)
    assert message is not None and message.startswith(says)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"optimizer": {"lr": 0.02, "name": "muon"}}, {}),
        ({"model": {"hidden": 640}, "train": BASE["train"] | {"steps": 400, "batch": 32}}, {}),
        ({"tp_size": 1, "use_fp8": False}, {}),
        ({"run_name": "candidate", "log_dir": "a", "eval_id": 1}, {"log_dir": "b"}),
        ({"seed": 1, "data_seed": 4}, {"seed": 2, "data_seed": 5}),
        ({"precision": "bf16"}, {"precision": "fp32"}),
        (
            {"save_path": "a", "checkpoint_dir": "a", "log_file": "a"},
            {"save_path": "b", "checkpoint_dir": "b", "log_file": "b"},
        ),
        ({}, {"save_interval": 0, "profiler": {"active": False}, "debugging": "off"}),
        ({"save_every": None, "gc_interval": 0}, {}),
        ({"attention": "sliding", "attn_heads": 8}, {"attention": "full", "attn_heads": 4}),
    ],
)
def test_what_a_candidate_may_change(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert said(ours, theirs) is None


def test_a_log_states_less_than_a_run_on_wandb() -> None:
    ours, theirs = runs(BASE | {"use_compile": True}), runs({"micro_batch": 64}, 2, source="log")
    assert unequal(ours, theirs) is None
    assert unequal(ours, runs({"micro_batch": 64}, 2)) is not None


def test_what_varies_within_an_arm_is_no_difference_between_them() -> None:
    ours = [a_run(0, config=BASE | {"val_tokens": 5}), a_run(1, config=BASE)]
    theirs = runs(BASE, 2)
    assert unequal(ours, theirs) is None
    mixed = [a_run(n, config={"micro_batch": 8 if n else 4}) for n in range(3)]
    assert unequal(mixed, runs({"micro_batch": 8}, 3)) is None
    assert unequal(runs({"micro_batch": 8}, 3), mixed) is None
    assert unequal(mixed, runs({"micro_batch": 2}, 3)) is not None


def test_one_run_like_the_other_arm_does_not_make_the_arms_alike() -> None:
    arm = [a_run(n, config={"compile_mode": "eager" if n else "default"}) for n in range(3)]
    message = unequal(runs({"compile_mode": "default"}, 3), arm)
    assert message is not None and "default, eager in the baseline arm" in message
    silent = [a_run(n, config={"compile_mode": "eager"} if n else {}) for n in range(3)]
    assert unequal(runs({"compile_mode": "default"}, 3), silent) is not None


def test_settings_beyond_many_others_are_compared() -> None:
    many = {f"val_{n}": n for n in range(500)}
    assert said(many | {"worker_sync": 1}, many | {"worker_sync": 0}) is not None
    assert said(many, many) is None


WORDS = [
    ("torch_compile_mode", "default", "eager"),
    ("fp8_recipe", "delayed", "tensorwise"),
    ("param_dtype", "torch.bfloat16", "torch.float32"),
    ("attn_backend", "the fast one, of 2026", "the slow one"),
    ("data.train_files", "/data/a/train_*.bin", "/data/a/other_*.bin"),
    ("mesh_shape", [8, 1], [1, 8]),
    ("norm_implementation", "fused", "plain"),
    ("attention", "flash_attention_2", "eager"),
]


@pytest.mark.parametrize(("name", "one", "other"), WORDS, ids=[row[0] for row in WORDS])
@pytest.mark.parametrize("kept", [False, True])
def test_a_setting_in_words_is_compared_on_wandb_too(
    name: str, one: Any, other: Any, kept: bool
) -> None:
    def arm(value: Any, first: int) -> list[Run]:
        made = runs(BASE | {name: value}, first)
        return (
            [decode(encode(restrict(run))) for run in made] if kept else list(map(restrict, made))
        )

    message = unequal(arm(one, 0), arm(other, 2))
    assert message is not None and message.startswith(f"{name} is ")
    assert unequal(arm(one, 0), arm(one, 2)) is None


def test_a_path_on_another_disk_is_the_same_file() -> None:
    ours, theirs = (runs({"val_files": f"/scratch/{n}/val_*.bin"}, n) for n in (0, 2))
    assert unequal(list(map(restrict, ours)), list(map(restrict, theirs))) is None


def test_many_settings_are_counted() -> None:
    ours = {f"val_{name}": 1 for name in "abcdef"}
    message = said(ours, dict.fromkeys(ours, 2))
    assert message is not None and message.endswith("; and 2 more") and message.count(" is ") == 4
    four = dict.fromkeys(list(ours)[:4], 1)
    message = said(four, dict.fromkeys(four, 2))
    assert message is not None and "more" not in message and message.count(" is ") == 4
    five = dict.fromkeys(list(ours)[:5], 1)
    assert (said(five, dict.fromkeys(five, 2)) or "").endswith("; and 1 more")


def test_half_of_the_runs_of_one_arm_are_enough() -> None:
    both = [*runs({"micro_batch": 64})[:1], *runs({"micro_batch": 2})[:1]]
    two = runs({"micro_batch": 2}, 2)
    mixed = "micro_batch is 2, 64 in the candidate and 2 in the baseline arm"
    assert unequal(both, two) == mixed
    assert unequal(two, both) == "micro_batch is 2 in the candidate and 2, 64 in the baseline arm"
    assert unequal([*both, *runs({"micro_batch": 2}, 4)], two) is None


def test_what_every_run_of_one_arm_alone_states() -> None:
    """Each arm is counted by its own number of runs."""
    three = [*runs(BASE | {"tp_size": 2}), *runs(BASE | {"tp_size": 2}, 1)[:1]]
    two = runs(BASE, 4)
    assert (unequal(three, two) or "").startswith("tp_size is 2 in the candidate")
    assert (unequal(two, three) or "").startswith("tp_size is 2 in the baseline arm")
    assert unequal([*three, *two], two) is None


@pytest.mark.parametrize(
    ("track", "level"), [("single-gpu", Level.WARNING), ("nanogpt-small", None)]
)
def test_only_a_track_of_ratios_asks(track: str, level: Level | None) -> None:
    every = [*runs(BASE | {"micro_batch": 64}), *runs(BASE | {"micro_batch": 2}, 2)]
    arms = ("candidate", "candidate", "baseline", "baseline")
    case: Case = a_case(every, arms=arms, track=dc.replace(TRACKS[track], baselines=()))
    told = [f.level for f in found("arms-differ", case) if "micro_batch" in f.message]
    assert told == ([] if level is None else [level])
