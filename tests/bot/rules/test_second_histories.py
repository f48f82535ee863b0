"""A W&B history states a quantity more than once, and contradicts itself."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.evidence.wandb.offline import read_offline
from bot.evidence.wandb.resumed import in_one_piece
from bot.model.run import Run
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL
from tests.bot.rules.second_cases import (
    PARETO,
    TOTAL,
    TUTORIAL,
    bits,
    config,
    log,
    loss_at,
    offline,
    rows,
    said,
    told,
)
from tests.doubles.wandb.offline_file import offline_file

HISTORIES: list[tuple[str, str, Run, Run]] = [
    ("a duration", "`train/dt`", offline(rows(lambda s: {"train/dt": 0.1})),
     offline(rows(lambda s: {"train/dt": 0.055}))),
    ("the machine's clock", "`_runtime`", offline(rows(lambda s: {"_runtime": 9 + 0.09 * s})),
     offline(rows(lambda s: {"_runtime": 9 + 0.065 * s + 7200 * (s > 900)}))),
    ("stamps", "`_timestamp`", offline(rows(lambda s: {"_timestamp": 1.79e9 + 0.1 * s})),
     offline(rows(lambda s: {"_timestamp": 1.79e9 + 0.06 * s}))),
    ("tokens a second", "`tokens_per_second`",
     offline(rows(lambda s: {"tokens": s * 1e5, "tokens_per_second": 1e6})),
     offline(rows(lambda s: {"tokens": s * 1e5, "tokens_per_second": 2.05e6 / 8}))),
    ("another counter", "`trainer/global_step`",
     offline(rows(lambda s: {"trainer/global_step": 2 * s})),
     offline(rows(lambda s: {"trainer/global_step": s, "micro_step": 4 * s}))),
    ("a batch", "`global_batch_size`",
     offline(rows(lambda s: {"tokens": s * 1_048_576}), **config(global_batch_size=524_288)),
     offline(rows(lambda s: {"tokens": s * 524_288}), **config(global_batch_size=524_288))),
    ("a batch of sequences", "`train_batch_size`",
     offline(rows(lambda s: {"tokens": s * 1_048_576}),
             **config(train_batch_size=512, seq_len=1024)),
     offline(rows(lambda s: {"tokens": s * 524_288}),
             **config(train_batch_size=512, seq_len=1024))),
    ("a plan", "`max_steps`", offline(rows(), **config(max_steps=4000)),
     offline(rows(), **config(max_steps=-1, eval_steps=4000))),
    ("a nested plan", "`train.steps`", offline(rows(), **config(train={"steps": 4000})),
     offline(rows(), **config(scheduler={"max_steps": 4000}))),
    ("devices", "`world_size`", offline(rows(), **config(chips=1, world_size=8)),
     offline(rows(), **config(chips=1, local_rank=0))),
    ("ranks", "`num_ranks`", offline(rows(), **config(chips=1, num_ranks=8)),
     offline(rows(), **config(chips=1, num_ranks=1))),
    ("a split model", "parallel sizes", offline(rows(), **config(chips=1, tp_size=2, pp_size=2)),
     offline(rows(), **config(chips=4, tp_size=2, tensor_parallel_size=2))),
    ("slices", "parallel sizes", offline(rows(), **config(chips=4, replica_dcn_axis_size=8)),
     offline(rows(), **config(chips=4, replica_dcn_axis_size=2))),
    ("machines", "nodes", offline(rows(), **config(chips=8, nnodes=2, nproc_per_node=8)),
     offline(rows(), **config(chips=8, nnodes=2, nproc_per_node=4))),
    ("a higher loss", "`val_loss_full`",
     offline(rows(lambda s: {"val_loss_full": loss_at(s) + 0.3})),
     offline(rows(lambda s: {"data/x/val_loss": loss_at(s) + 0.3}))),
    ("one loss", "equals", offline(rows(lambda s: {"train_loss": loss_at(s)})),
     offline(rows(lambda s: {"train_loss": loss_at(s) + 0.01}))),
    ("nearly one loss", "is within",
     offline(rows(lambda s: {"train_loss": loss_at(s) + 0.0008 + 0.3 * (s == 700)})),
     offline(rows(lambda s: {"train_loss": loss_at(s) + 0.003 * (s % 7)}))),
    ("a share of the peak", "`perf/mfu`", offline(rows(lambda s: {"perf/mfu": 812.0})),
     offline(rows(lambda s: {"perf/mfu": 43.0}))),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "says", "run", "other"), HISTORIES, ids=[r[0] for r in HISTORIES])
def test_a_history_that_contradicts_itself(kind: str, says: str, run: Run, other: Run) -> None:
    (item,) = told(run)
    assert item[1] is Level.WARNING and says in item[0], (kind, item)
    assert told(other) == [], kind


def test_one_step_cut_short_does_not_turn_a_share_of_the_peak_into_per_cent() -> None:
    def shares(run: Run) -> list[float]:
        return [w.value for w in run.witnesses if w.quantity == "mfu"]

    assert shares(offline(rows(lambda s: {"mfu": 0.38}))) == [0.38]
    assert shares(offline(rows(lambda s: {"mfu": 38.0}))) == [0.38]
    cut = offline(rows(lambda s: {"mfu": 7.7 if s == 700 else 0.38}))
    assert shares(cut) == [], "0.38 may be 38 % or 0.38 %"


def test_bits_per_byte_go_with_the_loss_of_the_same_text() -> None:
    (item,) = told(bits(lambda s: 0.36 + 0.1 * s / TOTAL), PARETO)
    assert "bits per byte end at 0.95" in item[0]
    assert told(bits(lambda s: 0.36 + 1e-5 * (s % 300)), PARETO) == []


def test_fewer_devices_than_the_machine_has_need_a_model_where_they_rank() -> None:
    def pareto(**model: int) -> Run:
        run = bits(lambda s: 0.36)
        given = {"chips": 1, "total_steps": TOTAL, **model}
        again = offline_file(rows(lambda s: {"throughput/duration": 1.0}), config=given)
        return dc.replace(read_offline(again, "run.wandb", PARETO.keys), history=run.history)

    (item,) = told(pareto(), PARETO)
    assert "counted with 1 of the 8 devices" in item[0]
    assert told(pareto(parameter_count=1000), PARETO) == []
    assert told(offline(rows(), config={"chips": 1})) == [], "where time ranks one of eight is fine"


@pytest.mark.parametrize(("moved", "is_told"), [(0.0, False), (0.003, True)])
def test_files_that_show_one_validation_with_two_losses(moved: float, is_told: bool) -> None:
    later = [r | {"val_loss": r["val_loss"] + moved} if "val_loss" in r else r for r in rows()]
    parts = [
        read_offline(offline_file(made), "run.wandb", SMALL.keys)
        for made in (
            [row for row in rows() if row["_step"] <= 700],
            [row for row in later if row["_step"] >= 640],
        )
    ]
    joined = in_one_piece(parts)
    assert joined is not None
    said = [text for rule, text in joined.problems if rule == "history-gap"]
    assert ["losses at step 700 are not those of" in text for text in said] == [True] * is_told


@pytest.mark.parametrize(("begin", "whole"), [(720, True), (740, False), (0, False)])
def test_a_file_goes_on_one_row_after_the_file_before(begin: int, whole: bool) -> None:
    parts = [
        read_offline(offline_file(made), "run.wandb", SMALL.keys)
        for made in (
            [row for row in rows() if row["_step"] <= 700],
            [row for row in rows() if row["_step"] >= begin],
        )
    ]
    joined = in_one_piece(parts)
    assert (joined is not None) is whole
    if joined is not None:
        assert [v.step for v in joined.validation] == list(range(0, TOTAL + 1, 100))


def durations(first: int, last: int, every: int = 1) -> bytes:
    """The rows of a run on one clock of durations, 0.05 s a step, that bits per byte go with."""
    timed = sorted({first, *range(first + every - first % every, last + 1, every)})
    made = [{"_step": s, "throughput/duration": 0.05} for s in timed]
    made += [{"_step": s, "eval/paloma/c4_en/bpb": 0.9 + loss_at(s)}
             for s in range(100, TOTAL + 1, 100) if first <= s <= last]  # fmt: skip
    made.sort(key=lambda row: row["_step"])
    return offline_file(made, config={"trainer": {"num_train_steps": TOTAL}})


@pytest.mark.parametrize(("begin", "every", "gaps"), [(701, 1, 0), (651, 1, 0), (701, 10, 1)])
def test_a_clock_of_durations_goes_on_over_files(begin: int, every: int, gaps: int) -> None:
    parts = [
        read_offline(made, "run.wandb", PARETO.keys)
        for made in (durations(1, 700), durations(begin, TOTAL, every))
    ]
    joined = in_one_piece(parts)
    assert joined is not None
    steps = TOTAL if every == 1 else 700 + 1 + 70
    assert joined.metrics["training_time_s"] == pytest.approx(0.05 * steps)
    said = [text for _, text in joined.problems if "the sum of them" in text]
    assert len(said) == gaps and all(f"{steps} of {TOTAL} steps" in text for text in said)


def test_a_clock_that_begins_anew_in_the_later_file_is_of_two_runs() -> None:
    def part(first: int, last: int) -> Run:
        made = [row for row in rows() if first <= row["_step"] <= last]
        for row in made:
            row.pop("val_loss", None)
            row["train_time_s"] = (row["_step"] - first) * 0.05
        return offline(made)

    assert in_one_piece([part(0, 700), part(720, TOTAL)]) is None


@pytest.mark.parametrize(("stated", "is_told"), [(32, False), (8, False), (1, False), (12, True)])
def test_one_machine_of_several_shows_a_part_of_the_devices(stated: int, is_told: bool) -> None:
    model = {"parameter_count": 1000, "num_devices": stated}
    run = dc.replace(bits(lambda s: 0.36), validation=())
    made = read_offline(offline_file(rows(), config=model), "run.wandb", PARETO.keys)
    assert made.hardware.count == stated
    run = dc.replace(run, hardware=made.hardware, config=made.config, witnesses=made.witnesses)
    said = [text for text, _ in told(run, PARETO) if "is counted with" in text]
    assert ["W&B's record of the machines says 8" in text for text in said] == [True] * is_told


@pytest.mark.parametrize(
    ("name", "seen", "config", "counted"),
    [
        ("v4", 4, {}, 4),
        ("v4", 4, {"num_devices": 64}, 64),
        ("v3", 4, {"num_devices": 32}, 16),
        ("v3", 4, {"num_chips": 16}, 16),
    ],
)
def test_an_offline_file_of_a_tpu_names_it(
    name: str, seen: int, config: dict[str, int], counted: int
) -> None:
    data = offline_file(rows(), device=name, count=seen, tpu=True, config=config)
    run = read_offline(data, "run.wandb", PARETO.keys)
    assert (run.hardware.device, run.hardware.count) == (name, counted)


def test_a_history_whose_tokens_begin_late_goes_on_from_other_training() -> None:
    warm = offline(rows(lambda s: {"tokens": (s + 5000) * 524_288}))
    assert [rule for rule, _ in warm.problems] == ["history-gap"]
    assert "those of 5,000 steps more" in warm.problems[0][1]
    assert offline(rows(lambda s: {"tokens": (s + 20) * 524_288})).problems == ()


def test_a_history_without_the_machines_clock_says_so() -> None:
    bare = [{k: v for k, v in row.items() if k != "_runtime"} for row in rows()]
    last = [row | {} for row in rows()]
    del last[-1]["_runtime"]
    for made, says in ((bare, "no row of the history has"), (last, "at step 1400, has no")):
        (problem,) = offline(made).problems
        assert problem[0] == "history-gap" and says in problem[1]
    assert offline(rows()).problems == ()


def test_a_file_without_its_last_record_counts_where_everything_is_there() -> None:
    made = rows()
    assert offline(made, ended=False).state is None
    no_total = read_offline(offline_file(made, ended=False), "run.wandb", SMALL.keys)
    assert (no_total.state, no_total.finished) == (None, None)
    assert offline(made[:-20], ended=False).state == "crashed"
    cut = offline_file(made, ended=False)[:-40]
    assert read_offline(cut, "run.wandb", SMALL.keys).state == "crashed"


def beside(step: int, last: float) -> str:
    """Training losses of the ten steps up to the next validation, the last of them `last` higher
    beside it than the others."""
    lines = []
    for at in range(step + 10, min(step + 100, TOTAL) + 1, 10):
        value = loss_at(at) - 0.02 + 0.01 * (at % 30 / 10 - 1) + last * (at > TOTAL - 100)
        lines.append(f"\nstep:{at}/{TOTAL} train_loss:{value:.4f}")
    return "".join(lines)


@pytest.mark.parametrize(("last", "told"), [(0.12, True), (0.0, False), (0.02, False)])
def test_a_last_validation_that_fell_alone(last: float, told: bool) -> None:
    found = said(log(lambda step: beside(step, last)))
    assert [level for text, level in found if "the training loss before it" in text] == (
        [Level.WARNING] if told else []
    )


@pytest.mark.parametrize(
    ("later", "told"),
    [
        ({"seed": 2}, True),
        ({"data_fingerprint": "sha256:" + "b" * 64}, True),
        ({"seed": 1}, False),
        ({"note": "ended"}, False),
    ],
)
def test_a_setting_that_a_wandb_file_states_twice(later: dict[str, Any], told: bool) -> None:
    rows = [{"_step": s, "val_loss": loss_at(s), "_runtime": s / 10} for s in (0, 700, TOTAL)]
    config = {"seed": 1, "data_fingerprint": "sha256:" + "a" * 64, "note": "begun"}
    run = read_offline(offline_file(rows, config=config, later=later), "run.wandb", TUTORIAL.keys)
    assert any("and later as" in text for _, text in run.problems) is told
