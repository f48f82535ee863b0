"""Lines that do not say their step, or say it in another way, and what a file counts anew."""

from __future__ import annotations

import json

import pytest

from bot.evidence.files import FileRuns, read_file
from bot.evidence.sources import ANY_TRACK


def read(text: str, name: str = "x.log") -> FileRuns:
    return read_file(text.encode(), name, ANY_TRACK)


def ends(text: str, name: str = "x.log") -> list[tuple[int | None, float | None]]:
    return [(run.step, run.loss) for run in read(text, name).runs]


def test_micro_batches_beside_the_steps_and_alone() -> None:
    lines = []
    for step in range(1, 21):
        lines.append(f"iter {4 * step} step {step} | loss train: {9 - step / 10}, val: n/a")
        if step % 10 == 0:
            lines.append(f"iter {4 * step}: val loss {8 - step / 10:.4f}")
    assert ends("\n".join(lines) + "\n") == [(20, 6.0)]


def test_iterations_alone_are_steps() -> None:
    assert ends("iter 10: val loss 3.5\niter 20: val loss 3.4\n") == [(20, 3.4)]


def lagging(epochs: list[float], bars: dict[float, int]) -> str:
    lines = []
    for epoch in epochs:
        lines.append(f"{{'loss': {3 - epoch / 10:.3f}, 'epoch': {epoch}}}")
        if epoch in bars:
            lines.append(f" 10%|x    | {bars[epoch]}/100 [00:30<05:00,  1.20it/s]")
    lines.append(f"{{'eval_loss': 1.5, 'epoch': {epochs[-1]}}}")
    return "\n".join(lines) + "\n"


def test_a_bar_that_lags_behind_the_epochs() -> None:
    epochs = [round(0.05 * n, 2) for n in range(1, 26)]
    assert ends(lagging(epochs, {0.5: 10, 1.0: 20})) == [(25, 1.5)]


def test_epochs_that_make_no_whole_steps_leave_the_bar_its_word() -> None:
    assert ends(lagging([0.13, 0.29, 0.41, 0.57], {0.29: 10})) == [(10, 1.5)]


def test_a_tag_names_the_series_of_its_value() -> None:
    line = "tag: loss/{} step: {} wall_time: 1680000{}.1 value: {}"
    text = [line.format(k, s, s, 3 - s / 500) for s in (100, 200) for k in ("train", "val")]
    assert ends("\n".join(text) + "\n") == [(200, 2.6)]


def test_thousands_of_steps() -> None:
    text = "step 1.0k/10k val loss 3.3\nstep 1.5k/10k val loss 3.1\n"
    assert ends(text) == [(1500, 3.1)]
    assert read(text).runs[0].total_steps == 10_000


def epochs(validation: str, count: int = 3) -> str:
    lines = []
    for epoch in range(count):
        lines += [f"Train: {epoch} [{n:4}/1251 ({n // 13:3}%)]  Loss: 5.0 (5.1)" for n in (0, 1250)]
        lines.append(validation.format(step=1251 * (epoch + 1), loss=2.0 - epoch / 10))
    return "\n".join(lines) + "\n"


def test_steps_that_begin_anew_each_epoch_are_the_cause() -> None:
    found = read(epochs("Test: [  48/48]  Loss: 1.212 ({loss})"))
    assert found.runs == () and "counts its steps anew each epoch" in found.why


def test_validations_that_count_from_the_beginning_are_one_run() -> None:
    assert ends(epochs("step {step} val_loss {loss}")) == [(3753, 1.8)]


def test_a_process_that_trains_beside_one_that_validates_is_no_run() -> None:
    lines = []
    for step in range(0, 500, 100):
        lines.append(f"0: step {step}: train loss 4.0, val loss {4 - step / 1000}")
        lines += [f"{rank}: iter {step}: loss 4.{rank}, time 3.1ms" for rank in range(4)]
    assert ends("\n".join(lines) + "\n") == [(400, 3.6)]


def test_two_processes_that_both_validate_are_told() -> None:
    lines = [f"{r}: step {s}: val loss {4 + r / 10 - s / 1e4}" for s in (0, 100) for r in (0, 1)]
    assert len(ends("\n".join(lines) + "\n")) == 2


def test_a_state_file_of_a_trainer_is_read() -> None:
    rows = [{"step": 500 * n, "epoch": n, "eval_loss": 3 - n / 10} for n in (1, 2)]
    state = json.dumps({"global_step": 1000, "log_history": rows})
    assert ends(state, "trainer_state.json") == [(1000, 2.8)]


def test_an_accuracy_is_no_loss_and_the_remedy_names_it() -> None:
    found = read("final val_acc:0.9425\n")
    assert "names a metric that is not a loss" in found.why
    assert "[metrics.final_val_acc]" in (found.fix or "")


def test_a_table_of_accuracies_names_them() -> None:
    found = read("|  epoch  |  train_acc  |  val_acc  |\n|  1  |  0.60  |  0.62  |\n")
    assert "train_acc, val_acc" in found.why and "[metrics.val_acc]" in (found.fix or "")


def test_a_bare_loss_without_a_step_is_not_called_the_trainings() -> None:
    found = read("***** Evaluating perplexity, Epoch 1/3 *****\nppl: 20.1, loss: 3.0\n")
    assert "does not say whether it is a validation loss" in found.why
    assert "names a training loss" in read("train_loss: 3.0\n").why


BAR = "|##########| 79/79 [00:00<00:00, 212.41it/s"


@pytest.mark.parametrize("label", ["Validation DataLoader 0", "Validation 3", "Eval shard 12"])
def test_the_label_of_a_bar_is_no_metric(label: str) -> None:
    found = read(f"{label}: 100%{BAR}]\nEpoch 0: 100%{BAR}, v_num=3, val_loss=0.250]\n")
    assert "line 2 names a loss and no step" in found.why, found
    assert "keys" not in (found.fix or "")


def test_a_loss_in_the_label_of_a_bar_is_read() -> None:
    assert ends(f"val loss 3: 100%{BAR}]\n") == [(79, 3.0)]


@pytest.mark.parametrize(
    "counters",
    [
        "epoch=0/micro_step={micro}/global_step={step}, rate=40.1",
        "global_step={step}, micro_step={micro}",
        "local_step={step}, global_step={step}",
    ],
)
def test_counters_of_two_kinds_are_one_process(counters: str) -> None:
    lines = [counters.format(micro=4 * s, step=s) + f", val_loss={4 - s / 20}" for s in (5, 10)]
    assert ends("\n".join(lines) + "\n") == [(10, 3.5)]


def test_one_counter_with_two_values_is_two_processes() -> None:
    found = read("global_step=5, val_loss=3.5 global_step=6, val_loss=3.4\n")
    assert "two processes" in found.why


def counted_by_epoch(train: str, val: str, each: int = 2) -> str:
    lines = []
    for epoch in (1, 2, 3):
        lines += [train.format(e=epoch, b=50 * n) for n in range(1, each + 1)]
        lines.append(val.format(e=epoch))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "train",
    [
        "mmengine - INFO - Epoch(train)  [{e}][{b:3}/196]  lr: 1.0e-02  loss: 2.1000",
        "mmcls - INFO - Epoch [{e}][{b}/196]  lr: 1.0e-02, loss: 2.1000",
    ],
)
@pytest.mark.parametrize("metric", ["accuracy/top1: 41.22", "loss: 1.9", "loss: 1.9  acc: 0.4"])
def test_batches_of_an_epoch_are_no_steps_of_the_run(train: str, metric: str) -> None:
    found = read(counted_by_epoch(train, "INFO - Epoch(val) [{e}][79/79]    " + metric))
    assert not any(run.validation for run in found.runs)
    assert "counts its steps anew each epoch" in found.why, found
    assert ("accuracy/top1" in found.why) == ("top1" in metric)


def test_the_batch_of_a_validation_is_no_step() -> None:
    found = read("Epoch(val) [1][79/79]    loss: 1.9\n")
    assert found.runs == () and "a loss and no step" in found.why


def test_a_step_beside_an_epoch_is_one() -> None:
    assert ends("Epoch [1/2], Step [100/500], val loss: 3.3\n") == [(100, 3.3)]


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_a_table_of_unknown_headings_is_named(mark: str) -> None:
    rows = ["schritt;verlust_train;verlust_val", "0;8,70;8,75", "50;8,32;", "100;7,96;8,01"]
    found = read("\n".join(rows).replace(";", mark) + "\n", "x.csv")
    why = "a table whose headings name no step or loss that is known: schritt, verlust_train, verl"
    assert why in found.why and "rename them" in (found.fix or ""), found


@pytest.mark.parametrize(
    "text", ["a, b\nwords, words\nmore, words\n", "step,val_loss\n1,3.5\n2,3.4\n"]
)
def test_words_and_known_headings_are_no_such_table(text: str) -> None:
    assert "headings" not in read(text, "x.csv").why
