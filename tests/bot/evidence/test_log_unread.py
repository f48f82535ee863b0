"""Lines of a log that are not read: each is named with the cause and a remedy."""

from __future__ import annotations

import gzip
import time

import pytest

from bot.evidence.log.training_log import read_log
from tests.bot.evidence.log_form_cases import BAR, LINE, end, points, read

# ---- not read, and why --------------------------------------------------------------------------

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
NAMED = {
    "empty": ("", "is empty"),
    "LFS": (LFS, "Git LFS pointer"),
    "gzip": (gzip.compress(LINE.encode()), "compressed with gzip"),
    "zip": (b"PK\x03\x04" + bytes(40), "ZIP archive"),
    "W&B": (b":W&B\xbe\xe1\x00", "W&B offline file"),
    "notebook": ('{"cells": [], "nbformat": 4}', "is a notebook"),
    "TensorBoard": (b"\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22brain.Event:2", "TensorBoard"),
    "web page": ("<!DOCTYPE html><html>step</html>", "web page"),
    "binary": (b"\x00\x01\x02\x03" * 40, "is not a text file"),
    "two encodings": (LINE.encode() + b"\n" + LINE.encode("utf-16-le"), "changes its encoding"),
    "tensor": ("step:9/9 val_loss:tensor(3.2771, device='cuda:0') train_time:9ms", "a tensor"),
    "tensor in words": ("step 9: val loss tensor(3.2771)", "a tensor"),
    "decimal comma": ("step:9/9 val_loss:3,2771 train_time:9000ms", "a comma"),
    "two processes": (f"step:9/9 val_loss:3.2{LINE}", "two processes"),
    "text": ("step:9/9 val_loss:none train_time:9ms", "is not a number"),
    "prefix": (f"~~ run seven ~~ {LINE}", "begins in a way that is not read"),
    "another key": ("step 9 | nll_heldout 3.2771", "names no validation loss that is read"),
    "no step": ("{'eval_loss': 3.2771, 'epoch': 1.0}", "a loss and no step"),
    "no step, bar": (f"Epoch 0: 100%|{BAR}| 9/9 [00:12<00:00, val_loss=3.2]", "a loss and no step"),
    "no step, validation's own": (
        "mmengine - INFO - Iter(train) [ 250/1000]  lr: 1.0e-04  loss: 3.28\n"
        "mmengine - INFO - Iter(val) [50/50]    loss: 3.2771\n",
        "a loss and no step",
    ),
    "column": ("Wall time,Step,Value\n1700000000.1,250,3.2771\n", "no validation loss that is"),
    "no step, table": ("epoch,train_loss,val_loss\n1,3.1,3.2\n", "a loss and no step"),
    "epochs": (
        "Epoch [1/2], Step [100/500], val loss: 3.3\nEpoch [1/2], Step [500/500], val loss: 3.2\n"
        "Epoch [2/2], Step [100/500], val loss: 3.1\n",
        "counts its steps anew each epoch",
    ),
    "value first": ("250 612.1 ms run, 3.2771 loss, 0.0003 LR", "a loss after its value"),
    "half a step": ("step: 0.5, val_loss: 3.2771", "is not a whole number"),
    "unnamed": ("[eval] iteration=1000 ce=3.2771", "no value that is called a loss"),
    "epochs only": ('{"train_loss": 3.1, "test_loss": 3.2, "epoch": 1}', "a training loss and no"),
    "table of val": (
        "| step | train | val |\n|---|---|---|\n| 9 | 3.1 | 3.2 |",
        "no validation loss",
    ),
    "final line": ("step 9 loss 3.1\nFinal validation loss: 3.2771", "a loss and no step"),
    "prose": ("We trained a model and its loss fell at every step.", "no line with a step"),
}


@pytest.mark.parametrize("name", NAMED)
def test_what_is_not_read_is_named_with_the_cause_and_a_remedy(name: str) -> None:
    text, why = NAMED[name]
    found = read(text)
    assert not any(run.validation for run in found.runs) and why in found.why, found
    assert found.fix


def test_the_lines_are_counted_and_the_first_is_shown() -> None:
    head = "Running Python 3.12.7\n" * 13
    found = read(head + f"?? {LINE}\n" * 13)
    assert "13 lines look like steps" in found.why and "line 14 begins" in found.why


def test_a_hole_of_unread_lines_in_a_run_is_told() -> None:
    text = points(0, 500) + "step:600/1000 val_loss:3,9 train_time:30s\n" + points(1000)
    (problem,) = end(text).problems
    assert problem[0] == "history-gap" and "line 3 writes a comma" in problem[1]


def test_the_f_strings_of_a_source_are_no_lines() -> None:
    source = 'print(f"step:{step}/{total} val_loss:{loss:.4f} train_time:{ms}ms")\n'
    assert end(source + LINE).problems == end(LINE).problems


@pytest.mark.parametrize(
    "line",
    [
        "step " * 700,
        "loss " + "1 " * 1900,
        "{" * 3900 + "loss",
        "[" * 2000 + "loss" + "]" * 1900,
        "a:" * 1500 + "step:1/2 val_loss:3",
        "12%|" * 900 + "loss 1",
        "loss (ms" * 480,
        "loss 1" + "(" * 3900,
        '"loss":' * 560,
        "val " * 900 + "loss 3 step 1",
    ],
)
def test_hostile_lines_take_linear_time(line: str) -> None:
    data = (line[:3990] + "\n").encode() * 20
    began = time.process_time()
    read(data)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "junk",
    [
        b"x" * 4_000_000,
        b"step:1/2 val_loss:1 " * 200_000,
        pytest.param(
            b"step:1/9 val_loss:1.0\n" * 100_000, marks=pytest.mark.full("reads 125,000 lines")
        ),
        bytes(range(256)) * 10_000,
    ],
)
def test_large_files_cost_no_more_than_they_are_large(junk: bytes) -> None:
    def spent_s(data: bytes) -> float:
        began = time.process_time()
        read_log(data, "x")
        return time.process_time() - began

    # Four times as much: sixteen times as long if the time grew as the square of the size.
    assert spent_s(junk) < 8 * spent_s(junk[: len(junk) // 4]) + 0.5
