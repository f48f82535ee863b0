"""What a log says of its clock, its validation, its devices and of other runs."""

from __future__ import annotations

import pytest

from bot.evidence.log.admitted import admitted, devices_in, tried
from bot.evidence.log.names import amount
from bot.evidence.log.training_log import read_log
from tests.bot.rules.second_cases import general, log, loss_at, said


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("the first 200 steps are not timed", True),
        ("timer starts after 100 warmup steps", True),
        ("clock paused during the first 300 steps", True),
        ("validating on 1/8 of the validation set", True),
        ("evaluating a subset of the val data", True),
        ("val shard 0 only", True),
        ("smoothed val loss (window 5)", True),
        ("val loss averaged over the last 10 evals", True),
        ("skipping hard batches in validation", True),
        ("loss of the best 50% of documents", True),
        ("the first 10 steps are not timed", False),
        ("300 warmup steps", False),
        ("clock: 300 steps a minute", False),
        ("validating on 100% of the validation set", False),
        ("val loss averaged over 8 ranks", False),
        ("3/8 of the training data", False),
        ("validation took 12 seconds, 3% of validation", False),
    ],
)
def test_what_a_reader_must_look_at(line: str, told: bool) -> None:
    assert admitted(line) is told
    (run,) = read_log(log(head=line), "run.log")
    assert [f"the log says: {line}" in text for _, text in run.problems] == [True] * told


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("attempt 3 of 5", 5),
        ("retry #4", 4),
        ("trial 12/20", 20),
        ("kept the best of three seeds", 3),
        ("run 9 of 40", 40),
        ("a sweep of 40 seeds", 40),
        ("restarting after run 7 missed", 7),
        ("retry 4/5: download of the data", None),
        ("attempt to compile", None),
        ("the best of them", None),
        ("trial 1.5", None),
    ],
)
def test_how_many_runs_were_tried(line: str, count: int | None) -> None:
    assert tried(line) == count


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("Running on 16 GPUs", 16),
        ("Launching 16xH100", 16),
        ("2 nodes x 8 GPUs", 16),
        ("World size: 16", 16),
        ("[rank 0/16] ready", 16),
        ("Using 16 accelerators", 16),
        ("a box of 8 x H100", None),
        ("using 4 workers for 3 x 5 tiles", 4),
        ("rank 0 ready", None),
        ("16 x 1024 tokens", None),
    ],
)
def test_devices_in_words(line: str, count: int | None) -> None:
    assert devices_in(line) == count


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.05B", 1.05e9),
        ("393k", 393e3),
        ("1,048,576", 1048576.0),
        ("52.1%", 52.1),
        ("3.28", 3.28),
        ("1e3", 1000.0),
        ("1,04", None),
        ("3.28x", None),
    ],
)
def test_a_number_that_is_no_loss(text: str, value: float | None) -> None:
    assert amount(text) == value


BATCH = "tokens_per_step: 1000000"


@pytest.mark.parametrize("form", [" tokens:{}", " tokens_seen={}", " ({} tokens)"])
@pytest.mark.parametrize(("times", "told"), [(2, True), (1, False)])
def test_tokens_with_a_letter(form: str, times: int, told: bool) -> None:
    for data in (log, general):
        found = said(data(lambda s: form.format(f"{times * s}.0M"), head=BATCH))
        assert any("tokens a step" in text for text, _ in found) is told


@pytest.mark.parametrize(("share", "told"), [("1.34", True), ("134%", True), ("52%", False)])
def test_more_than_the_peak(share: str, told: bool) -> None:
    found = said(log(lambda s: f" mfu:{share}"))
    assert ["times the peak" in text for text, _ in found] == [True] * told


def test_a_hidden_run_of_the_same_file() -> None:
    other = [f"step {s} | val loss {loss_at(s) + 0.04:.4f}" for s in range(100, 1401, 100)]
    copy = [f"step {s} | val loss {loss_at(s):.3f}" for s in range(100, 1401, 100)]
    prefixed = [
        f"attempt1 >> step:{s}/1400 val_loss:{loss_at(s) + 0.04:.4f}" for s in (100, 200, 300)
    ]
    for lines, told in ((other, True), (prefixed, True), (copy, False), (other[:2], False)):
        text = "\n".join(lines).encode() + b"\n"
        for data in (text + log(), log() + text):
            (run,) = read_log(data, "run.log")
            found = [t for _, t in run.problems if "that no run of the file has" in t]
            assert [f"{len(lines)} lines" in t for t in found] == [True] * told
