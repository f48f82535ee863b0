"""A run that says twice what ranks, and not alike: at every door, with near misses."""

from __future__ import annotations

import dataclasses as dc
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bot.evidence.log.training_log import read_log
from bot.evidence.wandb.offline import read_offline
from bot.evidence.wandb.resumed import in_one_piece
from bot.evidence.warm import setting_of
from bot.model.run import Hardware, Run
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL, TRACKS, a_case, a_run, found
from tests.doubles.wandb.offline_file import offline_file

RULE = "witnesses-disagree"
TOTAL, SECONDS = 1400, 70.0
TUTORIAL, PARETO = TRACKS["tutorial"], TRACKS["fineweb-edu"]


def loss_at(step: int) -> float:
    return 3.275 + 5 * (1 - step / TOTAL) ** 2


def log(
    more: Callable[[int], str] = lambda step: "",
    *,
    head: str = "",
    tail: str = "",
    stamp: Callable[[int], str] = lambda step: "",
    total: bool = True,
    pace: float = SECONDS / TOTAL,
) -> bytes:
    """A run of 1400 steps in 70 s with a validation every 100, on 8 H100."""
    lines = ["device: NVIDIA H100 80GB HBM3", "world_size: 8", head]
    for step in range(0, TOTAL + 1, 100):
        length = f"/{TOTAL}" if total else f"/{TOTAL}"
        clock = f"val_loss:{loss_at(step):.4f} train_time:{1000 * pace * step:.0f}ms"
        lines.append(f"{stamp(step)}step:{step}{length} {clock}{more(step)}")
    return "\n".join([*lines, tail, ""]).encode()


def said(data: bytes) -> list[tuple[str, Level]]:
    (run,) = read_log(data, "run.log")
    return told(run)


def told(run: Run, track: Any = SMALL) -> list[tuple[str, Level]]:
    return [(item.message, item.level) for item in found(RULE, a_case([run], track=track))]


def minutes(step: int, each: float) -> str:
    seconds = round(step * each)
    return f"[2026-08-01 10:{seconds // 60:02d}:{seconds % 60:02d}] "


SOURCE = "import torch\nfor x in y:\n    {}\n" + "=" * 100 + "\n"
LOGS: list[tuple[str, str, bytes, bytes]] = [
    ("a duration", "`dt`", log(lambda s: " dt:100.2ms"), log(lambda s: " dt:55ms")),
    ("without a unit", "`dt`", log(lambda s: " dt:0.1002"), log(lambda s: " dt:50.1")),
    ("a clock", "`wall_time`", log(lambda s: f" wall_time:{s * 0.1:.2f}s"),
     log(lambda s: f" wall_time:{s * 0.07:.2f}s")),
    ("a clock that is behind", "`elapsed`", log(lambda s: f" elapsed:{s * 0.02:.2f}s"),
     log(lambda s: f" elapsed:{9 + s * 0.051:.2f}s")),
    ("stamps", "`_timestamp`", log(stamp=lambda s: minutes(s, 0.1)),
     log(stamp=lambda s: minutes(s, 0.06))),
    ("stamps that stand", "`_timestamp`", log(stamp=lambda s: minutes(0, 0)),
     log(stamp=lambda s: minutes(s, 0.051))),
    ("a total", "`total_training_time`", log(tail="total_training_time: 95.0s"),
     log(tail="total_training_time: 70.4s")),
    ("a whole job", "`total_wall_time`", log(tail="Total wall time: 3h12m"),
     log(tail="Total wall time: 4m10s")),
    ("begin and end", "stated begin",
     log(head="Run UTC timestamp=2026-08-01T10:00:00Z", tail="finished at 2026-08-01T10:00:40Z"),
     log(head="Run UTC timestamp=2026-08-01T10:00:00Z", tail="finished at 2026-08-01T10:02:40Z")),
    ("another counter", "`iter`", log(lambda s: f" iter:{2 * s}"), log(lambda s: f" iter:{s}")),
    ("a plan", "`num_iterations`", log(head="Hyperparameters: num_iterations=6000 cooldown=0.4"),
     log(head="Hyperparameters: num_iterations=1400 warmup_steps=6000")),
    ("devices", "GPUs", log(head="Running on 16 GPUs"), log(head="Running on 8 GPUs")),
    ("machines", "nodes", log(head="nnodes: 2 nproc_per_node: 8"),
     log(head="nnodes: 1 nproc_per_node: 8")),
    ("a higher loss", "`val_loss_full`", log(lambda s: f" val_loss_full:{loss_at(s) + 0.3:.4f}"),
     log(lambda s: f" val_loss_ema:{loss_at(s) - 0.01:.4f}")),
    ("a final loss", "the final loss", log(tail="Final val_loss: 3.41"),
     log(tail="Final val_loss: 3.28")),
    ("one loss", "equals", log(lambda s: f" train_loss:{loss_at(s):.4f}"),
     log(lambda s: f" train_loss:{loss_at(s) + 0.01:.4f}")),
    ("memory", "GiB", log(tail="peak memory allocated: 139000 MiB reserved: 140000 MiB"),
     log(tail="peak memory allocated: 39000 MiB reserved: 40000 MiB")),
    ("a source's plan", "`num_iterations`",
     SOURCE.format("num_iterations = 6000").encode() + log(),
     SOURCE.format("num_iterations = 1400").encode() + log()),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "says", "data", "other"), LOGS, ids=[row[0] for row in LOGS])
def test_a_log_that_contradicts_itself(kind: str, says: str, data: bytes, other: bytes) -> None:
    (item,) = said(data)
    assert item[1] is Level.WARNING and says in item[0], (kind, item)
    assert said(other) == [], kind


@pytest.mark.parametrize("name", ["val/loss", "val-loss", "val.loss", "loss/val"])
@pytest.mark.parametrize(("more", "is_told"), [(0.03, True), (0.0, False)])
def test_a_loss_of_the_same_words_with_another_value(name: str, more: float, is_told: bool) -> None:
    in_a_log = said(log(lambda s: f" {name}:{loss_at(s) + more:.4f}"))
    assert [f"`{name}`" in text for text, _ in in_a_log] == [True] * is_told
    if name not in SMALL.keys.loss:  # those are compared where they are read
        history = told(offline(rows(lambda s: {name: loss_at(s) + more})))
        assert [f"`{name}`" in text for text, _ in history] == [True] * is_told


def test_a_run_that_goes_on_after_its_last_validation_chose_its_end() -> None:
    text = re.sub(rb"(step:\d+)/\d+", rb"\1/2000", log())
    on = b"".join(b"step:%d/2000 train_loss:3.1 train_time:99000ms\n" % s for s in (1500, 1900))
    general = re.sub(rb"step:(\d+)/\d+ val_loss:", rb"step \1 val loss ", log())
    went_on = general + b"step 1500 train loss 3.1 train_time:75000ms\n"
    went_on += b"step 1900 train loss 3.1 train_time:95000ms\n"
    (item,) = said(went_on)
    assert "training goes on to 1,900" in item[0]
    assert said(general + b"step 1450 train loss 3.1 train_time:72500ms\n") == []
    assert said(text + on) == []  # a stated end is judged by `run-unfinished`


# ---- W&B ----------------------------------------------------------------------------------------


def rows(more: Callable[[int], Mapping[str, Any]] = lambda step: {}) -> list[dict[str, Any]]:
    """A history that logs its clock every 20 steps and a validation every 100."""
    made = []
    for step in range(0, TOTAL + 1, 20):
        row = {
            "_step": step,
            "step": step,
            "train_time_s": step * 0.05,
            "_runtime": 9 + step * 0.06,
        }
        row |= {"val_loss": loss_at(step)} if step % 100 == 0 else {}
        made.append(row | dict(more(step)))
    return made


def offline(made: list[dict[str, Any]], track: Any = SMALL, **fields: Any) -> Run:
    fields["config"] = {"total_steps": TOTAL} | fields.get("config", {})
    return read_offline(offline_file(made, **fields), "run.wandb", track.keys)


def config(**values: Any) -> dict[str, Any]:
    return {"config": values}


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


def bits(factor: Callable[[int], float], loss: float | None = None) -> Run:
    def more(step: int) -> dict[str, float]:
        bpb = 0.95 + (1 - step / TOTAL)
        found = {"throughput/duration": 0.05 * 20, "throughput/total_tokens": step * 1e5}
        if step % 100 == 0:
            found["eval/paloma/c4_en/bpb"] = bpb
            found["eval/paloma/c4_en/loss"] = bpb / factor(step)
        return found

    return offline(rows(more), PARETO)


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


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("seed: 1\nUsing seed=2", True),
        ("data_fingerprint: sha256:aa\ndata_fingerprint: sha256:bb", True),
        ("seed: 1\nUsing seed=1", False),
    ],
)
def test_a_setting_that_a_log_states_twice(lines: str, told: bool) -> None:
    (run,) = read_log(log(head=lines), "run.log")
    assert any("two values of" in text for _, text in run.problems) is told


def test_each_run_of_a_log_has_a_seed_of_its_own() -> None:
    first, second = (log(head=f"seed: {seed}") for seed in (1, 2))
    assert [run.seed for run in read_log(first + second, "run.log")] == [1, 2]
    assert all(run.problems == () for run in read_log(first + second, "run.log"))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("resuming from ckpt/step_3000.pt", True),
        ("Loaded pretrained weights of gpt2", True),
        ("resume_from: None", False),
        ("loading kernels from the cache", False),
    ],
)
def test_a_log_that_begins_with_other_weights(line: str, told: bool) -> None:
    (run,) = read_log(log(head=line), "run.log")
    assert any("before its first step" in text for _, text in run.problems) is told


WEIGHTS: list[tuple[str, Any, bool]] = [
    ("initialize_from_hf", "meta-llama/Llama-3.2-1B", True),
    ("initialize_from_checkpoint_path", "gs://bucket/step-50000", True),
    ("trainer.load_checkpoint_path", "gs://bucket/old/step-50000", True),
    ("init_from", "gpt2", True),
    ("resume_from", "ckpt/step_3000.pt", True),
    ("resume_from_checkpoint", "True", True),
    ("model.pretrained", "true", True),
    ("use_pretrained", "yes", True),
    ("pretrained_model_name_or_path", "gpt2-medium", True),
    ("warmstart_path", "/data/a.pt", True),
    ("initialize_from_hf", "false", False),
    ("load_checkpoint", "null", False),
    ("init_from", "scratch", False),
    ("start_from_scratch", "true", False),
    ("pretrained_tokenizer", "gpt2", False),
    ("load_best_model_at_end", "true", False),
    ("checkpoint_path", "out/run.pt", False),
]


@pytest.mark.parametrize(("name", "value", "is_told"), WEIGHTS)
def test_a_setting_that_names_other_weights(name: str, value: str, is_told: bool) -> None:
    said = [text for _, text in offline(rows(), config={name: value}).problems]
    assert ["weights of other training" in text for text in said] == [True] * is_told
    for head in (f"{name}: {value}", f'"{name}": "{value}",', f"args: a=1 {name}={value} b=2"):
        (run,) = read_log(log(head=head), "run.log")
        assert ["before its first step" in text for _, text in run.problems] == [True] * is_told


def test_settings_without_text_that_name_other_weights() -> None:
    for value, is_told in ((True, True), (False, False), (None, False)):
        nested = {"trainer": {"load_checkpoint": value}}
        assert bool(offline(rows(), config=nested).problems) is is_told


def test_a_run_that_goes_on_from_itself_names_no_other_weights() -> None:
    own = {
        "output_dir": "out/a/",
        "data_dir": ["a", "b"],
        "resume_from_checkpoint": "out/a/checkpoint-300",
    }
    assert offline(rows(), config=own).problems == ()
    assert offline(rows(), config=own | {"output_dir": "out/b"}).problems != ()
    assert offline(rows(), config=own | {"init_from": "gpt2"}).problems != ()
    elsewhere = {"resume_from": "gs://b/run-a1/step-300"}
    assert setting_of(elsewhere) == "resume_from: gs://b/run-a1/step-300"
    assert setting_of(elsewhere, run_id="run-a1") is None
    assert setting_of(elsewhere, marks=("resumed",)) is None
    assert setting_of({"init_from": "gs://b/run-a1/step-300"}, "run-a1", ("resumed",)) is not None


def test_a_run_that_was_resumed_with_its_clock_is_one() -> None:
    lines = log().decode().splitlines(True)
    middle = next(n for n, line in enumerate(lines) if "step:700/" in line)
    whole = [*lines[:middle], "resuming from ckpt/step_600.pt\n", *lines[middle - 1 :]]
    (run,) = read_log("".join(whole).encode(), "run.log")
    assert run.problems == ()


@pytest.mark.parametrize(("digits", "told"), [("123456", True), ("123457", False)])
def test_two_runs_that_began_in_one_microsecond(digits: str, told: bool) -> None:
    begins = [f"2026-08-01T10:00:00.{part}Z" for part in ("123456", digits)]
    case = a_case([dc.replace(a_run(n), created_at=at) for n, at in enumerate(begins)])
    assert any("began at" in item.message for item in found("duplicate-run", case)) is told


@pytest.mark.parametrize(
    ("device", "count", "message", "fix"),
    [
        (None, 4, "they name no device", '`device: "v4"` and `chips: 4`'),
        ("XPU 9", 4, 'the device "XPU 9" is not known', "the vendor's name"),
        ("TPU v4", None, "they do not say how many devices", "`chips: 4`"),
    ],
)
def test_runs_without_flops_say_what_to_log(
    device: str | None, count: int | None, message: str, fix: str
) -> None:
    run = dc.replace(bits(lambda s: 0.36), hardware=Hardware(device, count))
    run = dc.replace(run, metrics={"bpb": 0.95, "training_time_s": 50.0})
    (item,) = found("metric-missing", a_case([run], track=PARETO))
    assert item.message.startswith("the runs have no hardware_flops: ") and message in item.message
    assert fix in (item.fix or "")
