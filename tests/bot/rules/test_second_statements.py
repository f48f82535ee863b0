"""A run that says twice what ranks, and not alike: at every door, with near misses."""

from __future__ import annotations

import dataclasses as dc
import re
from collections.abc import Callable
from math import exp
from typing import Any

import pytest

from bot.evidence.log.training_log import read_log
from bot.evidence.warm import label_of, setting_of
from bot.model.run import SOURCE_READ, Hardware
from bot.registry import Level
from tests.bot.rules.run_cases import SMALL, a_case, a_run, found
from tests.bot.rules.second_cases import (
    PARETO,
    SOURCE,
    TOTAL,
    bits,
    general,
    log,
    loss_at,
    offline,
    rows,
    said,
    told,
)


def minutes(step: int, each: float) -> str:
    seconds = round(step * each)
    return f"[2026-08-01 10:{seconds // 60:02d}:{seconds % 60:02d}] "


def glog(step: int, each: float) -> str:
    seconds = step * each
    return f"I0801 10:{int(seconds // 60):02d}:{seconds % 60:06.3f} 99 train.py:12] "


BATCH = "global_batch_size: 512\nsequence_length: 1024"
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
    ("stamps of glog", "`_timestamp`", log(stamp=lambda s: glog(s, 0.1)),
     log(stamp=lambda s: glog(s, 0.06))),
    ("steps a second", "`it/s`", log(lambda s: " it/s:10.1"), log(lambda s: " it/s:19.5")),
    ("written steps a second", "`it/s`", log(lambda s: " (10.1it/s)"),
     log(lambda s: " (19.5it/s)")),
    ("per second", "`steps_per_sec`", log(lambda s: " steps_per_sec:10"),
     log(lambda s: " steps_per_sec:19.5")),
    ("seconds a step", "`s/step`", log(lambda s: " 0.1s/it"), log(lambda s: " 0.051s/it")),
    ("samples a second", "`samples/s`", log(lambda s: " samples/s:5120", head=BATCH),
     log(lambda s: " samples/s:10100", head=BATCH)),
    ("tokens a second", "`tok/s`", log(lambda s: " 5,243k tok/s", head=BATCH),
     log(lambda s: " 10,340k tok/s", head=BATCH)),
    ("a progress bar", "`elapsed`", log(lambda s: f" [{minutes(s, 0.1)[15:20]}<00:00]"),
     log(lambda s: f" [{minutes(s, 0.06)[15:20]}<00:00]")),
    ("a total", "`total_training_time`", log(tail="total_training_time: 95.0s"),
     log(tail="total_training_time: 70.4s")),
    ("a whole job", "`total_wall_time`", log(tail="Total wall time: 3h12m"),
     log(tail="Total wall time: 4m10s")),
    ("the training took", "`Training took`", log(tail="Training took 3m10s"),
     log(tail="Training took 2m40s")),
    ("the usual step", "`average_step_time_ms`", log(tail="average step time: 90.5 ms"),
     log(tail="average step time: 70.5 ms")),
    ("the usual rate", "`it/s`", log(tail="average throughput: 10.1 it/s"),
     log(tail="average throughput: 14.1 it/s")),
    ("begin and end in words", "stated begin",
     log(head="Start time: Fri Aug 1 10:00:00 2026", tail="End time: Fri Aug 1 10:00:40 2026"),
     log(head="Start time: Fri Aug 1 10:00:00 2026", tail="End time: Fri Aug 1 10:02:40 2026")),
    ("begin and end", "stated begin",
     log(head="Run UTC timestamp=2026-08-01T10:00:00Z", tail="finished at 2026-08-01T10:00:40Z"),
     log(head="Run UTC timestamp=2026-08-01T10:00:00Z", tail="finished at 2026-08-01T10:02:40Z")),
    ("another counter", "`iter`", log(lambda s: f" iter:{2 * s}"), log(lambda s: f" iter:{s}")),
    ("a plan", "`num_iterations`", log(head="Hyperparameters: num_iterations=6000 cooldown=0.4"),
     log(head="Hyperparameters: num_iterations=1400 warmup_steps=6000")),
    ("devices", "GPUs", log(head="Running on 16 GPUs"), log(head="Running on 8 GPUs")),
    ("machines", "nodes", log(head="nnodes: 2 nproc_per_node: 8"),
     log(head="nnodes: 1 nproc_per_node: 8")),
    ("ranks", "nranks", log(head="[0] NCCL INFO comm 0x5 rank 0 nranks 16 cudaDev 0 - Init"),
     log(head="[0] NCCL INFO comm 0x5 rank 0 nranks 4 cudaDev 0 - Init")),
    ("a higher loss", "`val_loss_full`", log(lambda s: f" val_loss_full:{loss_at(s) + 0.3:.4f}"),
     log(lambda s: f" val_loss_ema:{loss_at(s) - 0.01:.4f}")),
    ("a final loss", "the final loss", log(tail="Final val_loss: 3.41"),
     log(tail="Final val_loss: 3.28")),
    ("seconds since 1970", "`t_timestamp`", log(lambda s: f" t:{1.79e9 + s * 0.1:.1f}"),
     log(lambda s: f" t:{1.79e9 + s * 0.06:.1f}")),
    ("the loss by another name", "`v2`", log(lambda s: f" v2:{loss_at(s) + 0.02:.4f}"),
     log(lambda s: f" v2:{0.5 * loss_at(s) + 0.02:.4f}")),
    ("the loss in bits", "`val_loss_bits`",
     log(lambda s: f" val_loss_bits:{(loss_at(s) + 0.02) * 1.442695:.4f}"),
     log(lambda s: f" val_loss_bits:{loss_at(s) * 1.442695:.4f}")),
    ("what goes with the loss", "`aux`",
     log(lambda s: f" aux:{0.5 * (loss_at(s) + 0.02 * (s == TOTAL)) + 1:.4f}"),
     log(lambda s: f" aux:{0.5 * loss_at(s) + 1 - s / 9999:.4f}")),
    ("a test loss", "`test_loss`", log(lambda s: f" test_loss:{loss_at(s) + 0.02:.4f}"),
     log(lambda s: f" test_loss:{loss_at(s):.4f} wikitext_loss:{1.1 * loss_at(s) + 0.1:.4f}")),
    ("a perplexity", "`ppl`", log(lambda s: f" ppl={exp(loss_at(s) + 0.02):.3f}"),
     log(lambda s: f" ppl={exp(loss_at(s) + 0.004):.3f}")),
    ("the last perplexity", "`val_ppl`",
     log(lambda s: f" val_ppl {exp(loss_at(s) + 0.006 * (s == TOTAL)):.3f}"),
     log(lambda s: f" val_ppl {exp(loss_at(s) + 0.006):.3f}")),
    ("bits per byte", "`val_bpb`", log(lambda s: f" val_bpb:{(loss_at(s) + 0.03) * 0.31:.4f}"),
     log(lambda s: f" val_bpb:{loss_at(s) * 0.31:.4f}")),
    ("the last bits per byte", "`bits_per_byte`",
     log(lambda s: f" bits_per_byte:{(loss_at(s) + 0.02 * (s == TOTAL)) * 0.31:.4f}"),
     log(lambda s: f" bits_per_byte:{(loss_at(s) + 0.1 * (1 - s / TOTAL)) * 0.3:.4f}")),
    ("one loss", "equals", log(lambda s: f" train_loss:{loss_at(s):.4f}"),
     log(lambda s: f" train_loss:{loss_at(s) + 0.01:.4f}")),
    ("memory", "GiB", log(tail="peak memory allocated: 139000 MiB reserved: 140000 MiB"),
     log(tail="peak memory allocated: 39000 MiB reserved: 40000 MiB")),
    ("memory of a device", "GiB", log(tail="GPU memory used: 139 GiB"),
     log(tail="CPU memory used: 139 GiB")),
    ("memory of one", "GiB", log(tail="max memory usage: 139 GiB"),
     log(tail="memory usage: 139 GiB, sum of 8 devices")),
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


CLOSING = [
    "final validation loss {}", "Final eval: loss={}", "best val loss: {}", "Test loss: {}",
    "wandb:       val_loss {}", "loss (validation): {}", '{{"final_val_loss": {}}}',
    "final val: {}", "Final: val={}", '{{"result": {{"val": {}}}}}', "final nll on val: {}",
    "step:1400/1400 test_loss:{}", "Evaluating on the full validation set ... loss {}",
]  # fmt: skip


@pytest.mark.parametrize("form", [log, general])
@pytest.mark.parametrize("line", CLOSING)
def test_a_loss_that_no_validation_has(line: str, form: Callable[..., bytes]) -> None:
    last = round(loss_at(TOTAL if form is log else 1375), 4)
    (item,) = said(form() + line.format(f"{last + 0.02:.4f}").encode())
    assert f"ends at {last + 0.02:.6g}" in item[0]
    assert said(form() + line.format(f"{last:.3f}").encode()) == []


@pytest.mark.parametrize(
    "line",
    [
        "target val loss: 3.31",
        "val loss on wikitext 3.31",
        "if val_loss < 3.31:",
        "best val loss so far: 3.27",
        "previous best val loss: 3.31",
        "train loss 3.31 after the last evaluation",
        "val loss fell by 3.31%",
        "final_int8_roundtrip val_loss:3.31",
        "val loss after quantization: 3.31",
    ],
)
def test_a_line_that_states_another_loss(line: str) -> None:
    assert said(log() + line.encode()) == []
    middle = log().replace(b"step:1400/", b"Initial eval loss: 3.31\nstep:1400/")
    assert said(middle) == []


@pytest.mark.parametrize(("more", "is_told"), [(0.02, True), (0.0, False)])
def test_a_final_perplexity(more: float, is_told: bool) -> None:
    found = said(log() + f"final val perplexity {exp(3.275 + more):.3f}".encode())
    assert ["the final loss" in text for text, _ in found] == [True] * is_told


def test_a_second_loss_of_a_line_in_words() -> None:
    (item,) = said(general(lambda s: f" | eval loss {loss_at(s) + 0.02:.4f}"))
    assert "`val_loss_beside`" in item[0]
    assert said(general(lambda s: f" | eval loss {loss_at(s) - 0.02:.4f}")) == []


def test_a_perplexity_that_is_another_one() -> None:
    both = " | train loss {:.4f} | ppl {:.3f}"
    assert said(general(lambda s: both.format(loss_at(s) + 0.04, exp(loss_at(s) + 0.04)))) == []
    in_bits = log(lambda s: f" val_ppl:{2 ** loss_at(s):.4f} word_ppl:{exp(loss_at(s) + 1):.3f}")
    assert said(in_bits) == []


@pytest.mark.parametrize(("more", "is_told"), [(0.02, True), (0.0, False)])
def test_a_perplexity_in_a_history(more: float, is_told: bool) -> None:
    found = told(offline(rows(lambda s: {"val/ppl": exp(loss_at(s) + more)})))
    assert ["`val/ppl`" in text for text, _ in found] == [True] * is_told


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
        ("Initialized model from checkpoint ckpt_1000.pt", True),
        ("Fine-tuning gpt2-base", True),
        ("Continuing training from the weights of run 7", True),
        ("Initializing a new model from scratch", False),
        ("finetune: False", False),
        ("warm start: none", False),
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
    ("teacher_model", "gpt2-xl", True),
    ("loss.kd_alpha", "0.5", True),
    ("distill_from", "runs/a", True),
    ("distillation", "true", True),
    ("soft_labels", "logits.bin", True),
    ("base_checkpoint", "gpt2.pt", True),
    ("base_model", "llama", False),
    ("distillation.model", "gpt2-xl", True),
    ("soup_from", "a.pt", True),
    ("cooldown_from", "0.4", False),
    ("teacher_forcing", "true", False),
    ("kd_alpha", "0.0", False),
    ("distill", "false", False),
    ("soft_cap", "15.0", False),
]


@pytest.mark.parametrize(("name", "value", "is_told"), WEIGHTS)
def test_a_setting_that_names_other_weights(name: str, value: str, is_told: bool) -> None:
    said = [text for _, text in offline(rows(), config={name: value}).problems]
    assert ["builds on other training" in text for text in said] == [True] * is_told
    for head in (f"{name}: {value}", f'"{name}": "{value}",', f"args: a=1 {name}={value} b=2"):
        (run,) = read_log(log(head=head), "run.log")
        assert ["before its first step" in text for _, text in run.problems] == [True] * is_told


LABELS: list[tuple[dict[str, str], bool]] = [
    ({"display_name": "warm-start-2"}, True),
    ({"display_name": "ckpt_5000"}, True),
    ({"run_group": "distillation"}, True),
    ({"job_type": "resumed"}, True),
    ({"notes": "Resumed from the run of last week."}, True),
    ({"display_name": "activation-ckpt-off"}, False),
    ({"display_name": "no-pretrained"}, False),
    ({"run_group": "finetune-lr"}, False),
    ({"job_type": "train"}, False),
    ({"notes": "Nothing was resumed or fine-tuned here, without distillation."}, False),
]


@pytest.mark.parametrize(("said", "is_told"), LABELS)
def test_a_name_or_note_that_says_so(said: dict[str, str], is_told: bool) -> None:
    found = [t for _, t in offline(rows(), said=said).problems if "by its name" in t]
    assert len(found) == is_told


def test_a_run_that_was_resumed_may_be_called_so() -> None:
    assert label_of(["resumed"]) == label_of([], "resumed from 300")[:7] == "resumed"
    assert label_of(["resumed"], "resumed from 300", ["resumed"]) is None
    assert label_of(["from-ckpt"], None, ["resumed"]) == "from-ckpt"


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


@pytest.mark.parametrize(("head", "read"), [(SOURCE, True), (f"code_sha256: {'ab' * 32}\n", False)])
def test_only_a_source_in_the_log_is_code_at_hand(head: str, read: bool) -> None:
    (run,) = read_log(head.encode() + log(), "run.log")
    assert run.code_sha256 and (SOURCE_READ in run.client_marks) is read
    assert run.record().source_read is read
