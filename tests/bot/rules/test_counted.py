"""Counters, plans, sizes and seeds that contradict what a run is counted with, under any name."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bot.evidence.log.training_log import read_log
from bot.model.run import Run
from bot.model.submission import RunSpec
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL, TRACKS, a_case, a_run, found, results_file
from tests.bot.rules.second_cases import (
    PARETO,
    SOURCE,
    TOTAL,
    config,
    general,
    log,
    loss_at,
    offline,
    rows,
    told,
)

STEPS = TRACKS["nanogpt-optimization"]
BATCH = 524_288
SAMPLES = {"train_batch_size": 512, "seq_len": 1024}


def in_log(data: bytes, track: Any = SMALL) -> list[tuple[str, Level]]:
    (run,) = read_log(data, "run.log")
    return told(run, track)


def counting(name: str, each: float) -> Callable[[int], str]:
    return lambda step: f" tokens:{step * BATCH} {name}:{step * each:.0f}"


def logged(name: str, each: float) -> Callable[[int], Mapping[str, Any]]:
    return lambda step: {"tokens": step * BATCH, name: step * each}


HEAD = "train_batch_size: 512 seq_len: 1024"
COUNTERS = [
    ("num_tokens", 2 * BATCH, BATCH),
    ("train/tokens_seen", 2 * BATCH, BATCH / 8),
    ("consumed_samples", 1024, 512),
    ("samples", 1024, 64),
    ("n_updates", 2, 1),
    ("opt_count", 3, 1),
    ("consumed_train_tokens", 1.2 * BATCH, 1.001 * BATCH),
]


@pytest.mark.parametrize(("name", "more", "same"), COUNTERS, ids=[row[0] for row in COUNTERS])
def test_a_second_counter_under_any_name(name: str, more: float, same: float) -> None:
    for said, other in (
        [in_log(log(counting(name, each), head=HEAD)) for each in (more, same)],
        [told(offline(rows(logged(name, each)), **config(**SAMPLES))) for each in (more, same)],
    ):
        assert said and {level for _, level in said} == {Level.WARNING}, name
        assert all(f"`{name}`" in text for text, _ in said)
        assert other == [], name


@pytest.mark.parametrize("name", ["optimizer_step", "num_updates", "backward_passes", "iter"])
def test_a_second_counter_in_a_log_of_words(name: str) -> None:
    ((text, level),) = in_log(general(lambda s: f" | {name} {2 * s}"), STEPS)
    assert level is Level.WARNING and "counts 1,375 steps" in text and "2,750" in text
    assert in_log(general(lambda s: f" | {name} {s}"), STEPS) == []
    explained = general(lambda s: f" | {name} {2 * s}", "grad_accum_steps: 2")
    # What accumulates gradients passes twice for an update; it does not update twice.
    assert bool(in_log(explained, STEPS)) is (name in ("optimizer_step", "num_updates"))


def test_a_counter_of_parts_of_a_step_is_nothing_where_time_ranks() -> None:
    assert in_log(general(lambda s: f" | iter {8 * s}")) == []


def seen(each: float) -> Callable[[int], str]:
    return lambda step: f" | seen {step * each:.12g}"


def test_a_counter_of_no_known_name_beside_a_stated_batch() -> None:
    head = "global_batch_size: 512 seq_len: 1024"
    ((text, _),) = in_log(general(seen(1024 * 1024), head))
    assert "`seen`" in text and "2,750" in text
    for each in (512, 512 * 1024, 1.37):
        assert in_log(general(seen(each), head)) == [], each


@pytest.mark.parametrize("name", ["val_tokens", "micro_samples", "tokens_per_sample", "lr_count"])
def test_what_counts_no_training_is_no_counter(name: str) -> None:
    assert told(offline(rows(logged(name, 7 * BATCH)), **config(**SAMPLES))) == []


SETTINGS: list[tuple[str, Any, str, str, Any, Any]] = [
    ("updates", STEPS, "num_inner_steps", "updates", 2, 1),
    ("updates", STEPS, "optimizer_steps_per_step", "updates", 4, 1),
    ("not of the weights", STEPS, "muon_ns_inner_steps", "", 5, 5),
    ("a schedule", SMALL, "lr_scheduler.total_steps", "2 times as many", 2800, 2000),
    ("a decay", SMALL, "lr_decay_iters", "2 times as many", 2800, 1400),
    ("a shorter plan", SMALL, "max_steps", "plans 700", 700, 1360),
    ("validation", SMALL, "val_tokens", "validates on", 1_048_576, 10_485_760),
    ("tokens of a batch", SMALL, "batch_tokens", "tokens a step", 2 * BATCH, BATCH),
]


@pytest.mark.parametrize(("kind", "track", "name", "says", "bad", "good"), SETTINGS)
def test_a_setting_that_contradicts_the_run(
    kind: str, track: Any, name: str, says: str, bad: Any, good: Any
) -> None:
    def judged(value: Any) -> list[list[tuple[str, Level]]]:
        text = log(lambda s: f" tokens:{s * BATCH}", head=f"{name}: {value}")
        history = offline(rows(lambda s: {"tokens": s * BATCH}), **config(**{name: value}))
        return [in_log(text, track), told(history, track)]

    for said in judged(bad) if says else ():
        ((text, level),) = said
        assert says in text and level is Level.WARNING, kind
    assert judged(good) == [[], []], kind


def test_two_sizes_of_one_batch_contradict_each_other() -> None:
    head = "batch_tokens: 524288 tokens_per_step: {}"
    ((text, _),) = in_log(log(head=head.format(1_048_576)))
    assert "`tokens_per_step` in the log's lines says 1,048,576 tokens" in text
    assert "but `batch_tokens` says 524,288" in text
    assert in_log(log(head=head.format(524_288))) == []


def test_a_batch_that_grows_contradicts_no_size() -> None:
    grown = log(lambda s: f" tokens:{s * s * 187}", head=f"batch_tokens: {BATCH}")
    assert in_log(grown) == []


@pytest.mark.parametrize(
    ("value", "is_told"), [("1048576", True), ("20 * 524288", False), ("2 * 524288  # few", True)]
)
def test_the_size_of_the_validation_in_the_source(value: str, is_told: bool) -> None:
    source = SOURCE.format(f"val_tokens: int = {value}").encode()
    assert ["validates on" in text for text, _ in in_log(source + log())] == [True] * is_told


@pytest.mark.parametrize("name", ["val_tokens", "val/tokens", "eval_num_tokens"])
@pytest.mark.parametrize(
    ("first", "last", "is_told"),
    [
        (10_485_760, 524_288, True),
        (524_288, 524_288, True),
        (524_288, 10_485_760, False),  # a quick look in between is not a score
        (10_485_760, 20_971_520, False),
    ],
)
def test_the_size_of_the_last_validation_beside_it(
    name: str, first: int, last: int, is_told: bool
) -> None:
    def size(step: int) -> int:
        return last if step == TOTAL else first

    for said in (
        in_log(log(lambda step: f" {name}:{size(step)}")),
        told(offline(rows(lambda step: {name: size(step)} if step % 100 == 0 else {}))),
    ):
        assert [level for text, level in said if "validates on 524,288" in text] == (
            [Level.WARNING] * is_told
        )
        assert len(said) == is_told


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("train_files: data/fineweb_val_000000.bin", True),
        ("val_files: data/fineweb_train_000000.bin", True),
        ("val_files: train/fineweb_val_000000.bin eval_train_files: train_1.bin", False),
        ("train_data='data/heldout/valid.npy' val_data='data/heldout/valid.npy'", True),
        ("training on data/fineweb_val_000000.bin", True),
        ("train_files: data/fineweb_train_*.bin val_files: data/fineweb_val_*.bin", False),
        ("trained on a_train_0.bin, validated on a_val_0.bin", False),
        ("train_valued_files: data/values.bin", False),
    ],
)
def test_a_run_that_names_validation_text_as_what_it_trains_on(line: str, is_told: bool) -> None:
    (run,) = read_log(log(head=line), "run.log")
    assert [f.level for f in found("train-validation-overlap", a_case([run]))] == (
        [Level.WARNING] * is_told
    )


@pytest.mark.parametrize(("value", "is_told"), [("x_val_*.bin", True), ("x_train_*.bin", False)])
def test_a_configuration_that_names_validation_text(value: str, is_told: bool) -> None:
    run = offline(rows(), **config(data={"train_files": value, "val_files": "x_val_*.bin"}))
    assert bool(found("train-validation-overlap", a_case([run]))) is is_told
    file = results_file({"train_config": {"train_files": value}})
    assert bool(found("train-validation-overlap", a_case([], results=file))) is is_told


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("best of 20 seeds", True),
        ("kept the lowest loss from 12 runs", True),
        ("num_seeds: 20", True),
        ("best of 2 seeds", False),
        ("best loss of 3.2 at 20 runs an hour", False),
    ],
)
def test_seeds_that_were_drawn_and_are_not_listed(line: str, is_told: bool) -> None:
    runs = [dc.replace(read_log(log(head=line), f"{n}.log")[0]) for n in range(2)]
    said = [
        f for f in found("witnesses-disagree", a_case(runs)) if "the submission lists" in f.message
    ]
    assert bool(said) is is_told


def test_seeds_that_a_configuration_says_were_drawn() -> None:
    for name in ("best_of", "best_seed_of", "top_from_runs", "n_trials", "run_cap", "count"):
        for count, is_told in ((20, True), (1, False)):
            run = offline(rows(), **config(sweep={name: count}))
            said = found("witnesses-disagree", a_case([run]))
            assert [f.level for f in said] == [Level.WARNING] * is_told, name
    for near in ({"n_trials": 2}, {"count": 20}, {"eval_n_trials": 20}, {"trial": 20}):
        runs = [offline(rows(), **config(search=near)), a_run(1)]
        assert list(found("witnesses-disagree", a_case(runs))) == [], near


def test_a_listed_seed_is_that_of_the_run() -> None:
    def judged(listed: int | None) -> list[Level]:
        spec = RunSpec("wandb", a_run(7).file, pointer="/runs/0", seed=listed)
        case = a_case([a_run(7)])
        evidence = (dc.replace(case.evidence[0], spec=spec),)
        said = found("claim-differs-from-run", dc.replace(case, evidence=evidence))
        return [f.level for f in said if "seed" in f.message]

    assert (judged(8), judged(7), judged(None)) == ([Level.WARNING], [], [])


@pytest.mark.parametrize(
    ("settings", "seed", "is_told"),
    [
        ({"seed": 1, "train": {"seed": 7}}, 1, True),
        ({"train": {"seed": 7}}, 7, False),
        ({"seed": 1, "train": {"seed": 1}, "data": {"seed": 3}, "data_seed": 9}, 1, False),
    ],
)
def test_a_seed_that_lies_deeper(settings: dict[str, Any], seed: int, is_told: bool) -> None:
    run = offline(rows(), config=settings)
    assert run.seed == seed
    assert any("several seeds" in text for _, text in run.problems) is is_told
    flat = {"seed": 1} if "seed" in settings else {}
    lines = "\n".join(f"{k}: {v}" for k, v in flat.items())
    nested = f"train.seed: {settings['train']['seed']}"
    (logged_run,) = read_log(log(head=f"{lines}\n{nested}"), "run.log")
    assert logged_run.seed == seed
    assert any("several seeds" in text for _, text in logged_run.problems) is is_told


@pytest.mark.parametrize(
    ("name", "times", "is_told"),
    [
        ("micro_bpb", 1.04, True),
        ("bpb_mean", 1.02, True),
        ("avg_bpb", 1.04, True),
        ("micro_bpb", 1.001, False),
        ("micro_bpb", 0.96, False),
        ("macro_bpb", 1.04, False),
        ("../micro_bpb", 1.04, False),
    ],
)
def test_bits_per_byte_under_two_names_of_one_path(name: str, times: float, is_told: bool) -> None:
    path = "eval/paloma/" if name.startswith("../") else "eval/paloma/c4_en/"

    def more(step: int) -> dict[str, float]:
        found = {"throughput/duration": 1.0, "throughput/total_tokens": step * 1e5}
        if step % 100 == 0:
            value = 1.1 + (1 - step / TOTAL)
            other = path + name.removeprefix("../")
            found |= {"eval/paloma/c4_en/bpb": value, other: value * times}
        return found

    said = told(offline(rows(more), PARETO), PARETO)
    assert [level for text, level in said if "bits per byte end at 1.1, but" in text] == (
        [Level.WARNING] * is_told
    )
    assert len(said) == is_told


def bits(scale: float) -> Run:
    def more(step: int) -> dict[str, float]:
        nats = 3.0 + (1 - step / TOTAL)
        found = {"throughput/duration": 1.0, "throughput/total_tokens": step * 1e5}
        if step % 100 == 0:
            found |= {"eval/paloma/c4_en/loss": nats, "eval/paloma/c4_en/bpb": nats * 0.36 * scale}
        return found

    return offline(rows(more), PARETO)


def test_bits_per_byte_go_with_the_bytes_of_a_token() -> None:
    track = dc.replace(PARETO, bytes_per_token=1 / (0.36 * 0.6931471805599453))
    ((text, level),) = told(bits(0.95), track)
    assert "bytes a token" in text and level is Level.WARNING
    assert told(bits(1.004), track) == []
    assert told(bits(0.95), PARETO) == [], "a track that does not say compares nothing"


def test_a_validation_loss_in_words_beside_a_classical_step() -> None:
    line = "step:{0}/1000 train_loss:3.9 | val loss {1:.4f} | train_time:{0}00ms\n"
    text = "".join(line.format(s, loss_at(s)) for s in range(0, 1001, 250))
    (run,) = read_log(text.encode(), "run.log")
    assert [v.step for v in run.validation] == [0, 250, 500, 750, 1000]
    assert (run.loss, run.time_s, run.total_steps) == (round(loss_at(1000), 4), 100.0, 1000)
    (other,) = read_log(text.replace("val loss", "tail loss").encode(), "run.log")
    assert other.validation == ()
