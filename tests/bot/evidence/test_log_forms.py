"""Logs of other trainers, in forms that public training scripts print: read, or named by cause."""

from __future__ import annotations

import pytest

from bot.model.track import Keys
from tests.bot.evidence.log_form_cases import BAR, LINE, end, late, points, read


@pytest.mark.parametrize(("after", "count"), [(6, 1), (1, 2), (7, 2)])
def test_a_first_validation_printed_late_begins_no_run(after: int, count: int) -> None:
    runs = read(late(0, after)).runs
    assert len(runs) == count
    assert [(v.step, v.loss) for v in runs[-1].validation] == [(0, 10.8), (20, 3.2771)]


@pytest.mark.parametrize(
    ("head", "count"),
    [("Running on device_name=NVIDIA H100 80GB HBM3 with world_size=8\n", 8), ("A note\n", None)],
)
def test_a_table_has_the_machine_that_is_named_above_it(head: str, count: int | None) -> None:
    table = "step,train_loss,val_loss\n0,10.9,10.8\n250,3.1,3.2771\n"
    run = end(head + table)
    assert (run.hardware.count, len(run.validation)) == (count, 2)
    assert run.hardware.device == ("NVIDIA H100 80GB HBM3" if count else None)


# ---- read ---------------------------------------------------------------------------------------

READ = {
    "words": "step 0: train loss 10.9, val loss 10.8\n"
    "iter 0: loss 10.92, time 1350.11ms, mfu -100.00%\n"
    "step 250: train loss 3.1012, val loss 3.2771\niter 250: loss 3.11, time 135.32ms, mfu 4%\n",
    "key=value": "step=250 train_loss=3.1000 val_loss=3.2771\n",
    "spaces after colons": "step: 250 | train_loss: 3.10 | val_loss: 3.2771\n",
    "JSONL": '{"step": 250, "train_loss": 3.1, "val_loss": 3.2771}\n',
    "JSONL, nested": '{"step": 250, "val": {"loss": 3.2771}, "train": {"loss": 3.1}}\n',
    "JSON with numbers as text": '| INFO | valid | {"epoch": 1, "valid_loss": "3.2771", '
    '"valid_ppl": "9", "valid_num_updates": "250"}\n',
    "state of a trainer": '{"log_history": [{"loss": 2.5, "step": 125, "epoch": 0.5},\n'
    ' {"eval_loss": 3.2771, "step": 250, "epoch": 1.0}]}\n',
    "dictionary after a bar": f" 50%|{BAR}| 250/500 [05:00<05:00, 1.67it/s]"
    "{'loss': 2.5, 'epoch': 0.5}\r"
    f"100%|{BAR}| 50/50 [00:10<00:00, 5it/s]\n{{'eval_loss': 3.2771, 'epoch': 0.5}}\n",
    "CSV": "epoch,step,train_loss,val_loss\n0,125,3.5,\n0,125,,3.4\n1,250,3.3,\n1,250,,3.2771\n",
    "TSV": "step\ttrain_loss\tval_loss\n0\t10.9\t10.8\n250\t3.1\t3.2771\n",
    "Markdown": "| step | train_loss | val_loss |\n|---|---|---|\n| 250 | 3 | 3.2771 |\n",
    "export of W&B": '"Step","sunny - val_loss","sunny - val_loss__MIN"\n"250","3.2771","3.1"\n',
    "validation in other words": "Validation loss at step 250: 3.2771\n",
    "at sign": "val loss @ step 250 = 3.2771\n",
    "bracket": "[eval] step 250 loss 3.2771 ppl 26.5\n",
    "logger's bracket": "I0304 10:11:12.345678 12345 writer.py:48] [250] eval_loss=3.2771\n",
    "validate before step": "[rank0]:2026-03-04 10:11:12,345 - root - INFO - step: 250  loss:  3\n"
    "[rank0]:2026-03-04 10:11:12,345 - root - INFO - validate step: 250  loss:  3.2771  tps: 1\n",
    "pipeline": " [2026-03-04 10:11:12] iteration      250/    1000 | elapsed time (ms): 123.4 | "
    "learning rate: 1.000E-04 | lm loss: 3.200000E+00 |\n"
    " validation loss at iteration 250 | lm loss value: 3.277100E+00 | lm loss PPL: 2.6E+01 | \n",
    "checkpoint line": "Epoch 3, global step 250: 'val_loss' reached 3.27710 (best 3.27710)\n",
    "eval metrics": "completed step: 250, seconds: 1.23, TFLOP/s/device: 100.1, loss: 3.100\n"
    "eval metrics after step: 250, loss=3.2771, total_weights=1000.0\n",
    "[step=S/T]": "[step=250/1000,epoch=1] train/loss=3.1 val/loss=3.2771\n",
    "date with slashes": "03/04/2026 10:11:12 - INFO - __main__ - step 250: eval_loss: 3.2771\n",
    "bare words": "0 val 10.8\n0 train 10.9\n250 val 3.2771\n250 hella 0.2950\n251 train 3.28\n",
    "current_steps": '{"current_steps": 250, "total_steps": 1000, "eval_loss": 3.2771}\n',
    "capitals": "STEP 250 | TRAIN LOSS 3.28 | VAL LOSS 3.2771\n",
    "logfmt": 'time="2026-03-04T10:11:12Z" level=info msg="eval" step=250 val_loss=3.2771\n',
    "structlog": "2026-03-04 10:11:12 [info     ] validation           loss=3.2771 step=250\n",
    "split in JSON": '10:11:12 INFO {"step": 250, "split": "val", "loss": 3.2771}\n',
    "split after the loss": "loss: 3.2771 | step: 250 | split: val\n",
    "split of the training": "step=250 split=train loss=3.1\nstep=250 split=val loss=3.2771\n",
    "nested, quoted once": "step 250 | {'val': {'loss': 3.2771}, 'train': {'loss': 3.1}}\n",
    "wide colons": "step\uff1a250 val_loss\uff1a3.2771\n",
    "notebook's table": "[250/250 05:00]\nStep\tTraining Loss\tValidation Loss\n250\t3.3\t3.2771\n",
    "repr": "Metrics(step=250, val_loss=3.2771, train_loss=3.28)\n",
    "Iter": "Iter 250: Train loss 3.1, It/sec 2.1\nIter 250: Val loss 3.2771, Val took 2.1s\n",
}


@pytest.mark.parametrize("name", READ)
def test_a_form_is_read(name: str) -> None:
    run = end(READ[name])
    assert (run.step, run.loss, run.time_s) == (250, 3.2771, None)


PREFIXES = {
    "logging": "2026-03-04 10:11:12,345 - INFO - ",
    "logging with a name": "2026-03-04 10:11:12,345 - speedrun.train - INFO - ",
    "logging's default": "INFO:speedrun.train:",
    "Hydra": "[2026-03-04 10:11:12,345][__main__][INFO] - ",
    "loguru": "2026-03-04 10:11:12.345 | INFO     | __main__:train:123 - ",
    "torchrun": "[rank0]: ",
    "torchrun with a role": "[default0]:[rank0]:",
    "srun": "0: ",
    "Kubernetes": "2026-03-04T10:11:12.345678901Z stdout F ",
    "compose": "trainer-1  | ",
    "syslog": "Mar 04 10:11:12 node1 python[123]: ",
    "Ray": "(TrainWorker pid=123, ip=10.0.0.1) ",
    "glog": "I0304 10:11:12.345678 12345 train.py:123] ",
    "colours": "\x1b[32m2026-03-04 10:11:12\x1b[0m | \x1b[1mINFO\x1b[0m | \x1b[2K",
    "a bar, overwritten": f"\r 10%|{BAR}| 125/250 [00:06<01:04, 19.6it/s]\r",
    "a bar, glued": f" 10%|{BAR}| 125/250 [00:06<01:04, 19.6it/s]",
    "backspaces": "training...\b\b\b\b\b",
}


@pytest.mark.parametrize("name", PREFIXES)
def test_what_stands_before_the_line_is_taken_away(name: str) -> None:
    run = end(f"{PREFIXES[name]}{LINE}\n")
    assert (run.step, run.loss, run.time_s, run.total_steps) == (250, 3.2771, 12.77, 250)


@pytest.mark.parametrize(
    "wrapped",
    [
        '{"log":"%s\\n","stream":"stdout","time":"2026-03-04T10:11:12Z"}\n',
        '{"severity":"INFO","message":"%s","time":"2026-03-04T10:11:12Z"}\n',
    ],
)
def test_lines_that_a_container_wrapped_in_json(wrapped: str) -> None:
    run = end(wrapped % "starting" + wrapped % LINE)
    assert (run.step, run.loss, run.time_s) == (250, 3.2771, 12.77)


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32"])
def test_encodings(code: str) -> None:
    assert end(f"{LINE}\r\n".encode(code)).loss == 3.2771


def test_each_rank_prints_and_the_run_counts_once() -> None:
    text = "".join(f"[default{r}]:[rank{r}]:{LINE}\n" for r in range(2))
    assert len(read(text).runs) == 1


def test_a_training_loss_is_no_validation_loss() -> None:
    found = read("step 10: loss 3.1\nstep 20: train loss 3.0, lr 0.1\n")
    assert found.runs[0].validation == () and "names no validation loss" in found.why
    assert "train_loss" in (found.fix or "") and '"keys": {"loss": "NAME"}' in (found.fix or "")


def test_what_is_told_of_the_best_checkpoint_is_no_step() -> None:
    run = end("step 250: val loss 3.2771\nbest checkpoint at step 200, val loss 3.20\n")
    assert run.step == 250


# ---- names --------------------------------------------------------------------------------------


def test_a_mapped_name_is_read_and_another_is_named() -> None:
    text = "step 250 | heldout_nll_loss 3.2771 | elapsed 12.77s\n"
    found = read(text)
    assert found.runs == () and "heldout_nll_loss" in (found.fix or "")
    keys = Keys(loss=("heldout_nll_loss",), time_s=("elapsed",))
    run = end(text, keys, "loss", "time_s")
    assert (run.loss, run.time_s) == (3.2771, 12.77)


def test_a_name_may_be_mapped_in_the_usual_form_too() -> None:
    run = end("step:250/250 my_loss:3.2771 train_time:12770ms\n", Keys(loss=("my_loss",)), "loss")
    assert run.loss == 3.2771


def test_the_units_of_wandb_keys_are_not_those_of_a_log() -> None:
    keys = Keys(time_ms=("train_time",))
    text = "step=250 val_loss=3.2771 train_time=12770\n"
    assert end(text, keys).time_s is None
    assert end(text, keys, "time_ms").time_s == 12.77


# ---- clocks -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "clock", ["71000ms", "71,000ms", "71.0s", "1m11.0s", "1:11.0", "0:01:11", "0h1m11s", "71sec"]
)
def test_a_clock_is_read(clock: str) -> None:
    assert end(f"step:9/9 val_loss:3.2 train_time:{clock}\n").time_s == 71.0


@pytest.mark.parametrize(
    "text", ["train_time_ms=71000", "train_time_s: 71.0", "train time 71.0 sec"]
)
def test_a_clock_with_its_unit_in_the_name_or_after_it(text: str) -> None:
    assert end(f"step 9 | val_loss 3.2 | {text}\n").time_s == 71.0


@pytest.mark.parametrize(
    "clock, why",
    [
        ("71.0", "has no unit"),
        ("71,5s", "decimal point"),
        ("71,000s", "decimal point"),
        ("7l.0s", "not a clock"),
    ],
)
def test_a_clock_that_is_not_read_is_named_with_its_line(clock: str, why: str) -> None:
    text = f"step:0/9 val_loss:9.0 train_time:0ms\nstep:9/9 val_loss:3.2 train_time:{clock}\n"
    run = end(text)
    assert run.time_s is None and run.metrics["training_time_s"] is None
    ((rule, message),) = run.problems
    assert rule == "metric-missing" and "line 2, step 9" in message and why in message


def test_the_clock_of_another_point_is_not_the_last_ones() -> None:
    run = end("step:0/9 val_loss:9.0 train_time:0ms\nstep:9/9 val_loss:3.2\n")
    assert run.time_s is None and run.metrics["training_time_s"] is None
    assert [rule for rule, _ in run.problems] == ["metric-missing"]


def test_a_log_without_any_clock_has_no_problem() -> None:
    assert end("s:0 tel:9.0\ns:250 tel:3.2\n").problems == ()


def test_a_stall_is_no_fault() -> None:
    assert end(points(*range(0, 1001, 100), late=130.0)).problems == ()


def test_the_last_step_may_be_counted_from_0() -> None:
    assert end(points(0, 500, 999)).finished is True
    assert end(points(0, 500, 998)).finished is False


def test_a_run_resumed_with_its_clock_carried_on_is_one() -> None:
    found = read(points(0, 200, 400, 600) + points(400, 600, 800, 1000))
    (run,) = found.runs
    assert (run.step, run.time_s, run.finished, run.problems) == (1000, 50.0, True, ())
    assert [v.step for v in run.validation] == [0, 200, 400, 600, 800, 1000]


@pytest.mark.parametrize(
    ("loss", "says"),
    [
        ("3.9000", []),
        ("3.9003", ["the validation losses at step 400 are not those of the first time"]),
    ],
)
def test_a_part_that_was_trained_again_is_told(loss: str, says: list[str]) -> None:
    """From a checkpoint at step 200, after a validation at 400 had been printed."""
    first = "step:{}/1000 val_loss:{} train_time:{}s\n"
    before = first.format(100, 4.5, 5) + first.format(200, 4.0, 10) + first.format(400, 3.9, 20)
    after = first.format(200, 4.0, 10) + first.format(400, loss, 21) + first.format(1000, 3.2, 50)
    (run,) = read(before + after).runs
    assert [rule for rule, _ in run.problems] == ["history-gap"] * len(says)
    assert all(want in text for want, (_, text) in zip(says, run.problems, strict=True))


@pytest.mark.parametrize(("moved", "is_told"), [(0.0004, False), (0.02, True)])
def test_a_part_that_was_trained_again_on_other_data(moved: float, is_told: bool) -> None:
    """No validation stands between the checkpoint and the step that the first part came to."""
    line = "step:{}/1000 train_loss:{} train_time:{}s\n"
    part = [(step, 4.0 - step / 1000, step / 20) for step in range(210, 300, 10)]
    first = "".join(line.format(*values) for values in part)
    again = "".join(line.format(s, f"{x + moved:.4f}", t + 1) for s, x, t in part)
    runs = read(
        points(0, 100, 200) + first + points(200) + again + points(400, 600, 800, 1000)
    ).runs
    (run,) = runs
    said = [text for rule, text in run.problems if rule == "history-gap"]
    assert ["training losses at steps 210 to 290 are not" in text for text in said] == [
        True
    ] * is_told


def test_a_run_whose_clock_begins_anew_is_another() -> None:
    later = points(400, 1000).replace("train_time:20.0s", "train_time:0.0s")
    runs = read(points(0, 200, 400, 600) + later).runs
    assert len(runs) == 2 and "history-gap" in [rule for rule, _ in runs[1].problems]


def test_a_validation_may_be_printed_late_under_its_own_step() -> None:
    train = "".join(f"step:{s}/300 train_loss:4.0 train_time:{s * 50}ms\n" for s in range(1, 301))
    late = train.replace(
        "step:110/300 train", "step:100/300 val_loss:3.9 train_time:5000ms\nstep:110/300 train"
    )
    run = end(late + "step:300/300 val_loss:3.2 train_time:15000ms\n")
    assert [v.step for v in run.validation] == [100, 300] and run.problems == ()


def test_rocm_says_what_it_is() -> None:
    head = "Running PyTorch 2.9.0+rocm6.4 compiled for CUDA None on AMD Instinct MI300X"
    run = end(f"{head} with world_size 8\n{LINE}")
    assert (run.hardware.device, run.hardware.count) == ("AMD Instinct MI300X", 8)
    table = "".join(f"GPU[{n}]\t\t: Card Series: \t\tAMD Instinct MI300X\n" for n in range(8))
    run = end(table + LINE)
    assert (run.hardware.device, run.hardware.count) == ("AMD Instinct MI300X", 8)


def test_devices_listed_by_name_complete_a_table_that_cut_them_off() -> None:
    row = "|   0  NVIDIA H100 80G...  On  | 00000000:13:00.0 Off |                    0 |\n"
    listed = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000)\n"
    assert end(row + LINE).hardware.device == "NVIDIA H100 80G..."
    assert end(row + listed + LINE).hardware.device == "NVIDIA H100 80GB HBM3"


def test_the_hash_of_the_source_in_the_log_counts() -> None:
    source = "import torch\ndef main():\n    pass\n" + "=" * 100 + "\n"
    own = end(source + LINE).code_sha256["source"]
    lied = end(f"{source}code_sha256: main.py {'0' * 64}\n{LINE}")
    assert dict(lied.code_sha256) == {"source": own}
    assert {w.value for w in lied.witnesses} == {own, "0" * 64}
    named = end(f"{source}code_sha256: main.py {own}\n{LINE}")
    assert dict(named.code_sha256) == {"main.py": own} and named.witnesses == ()
