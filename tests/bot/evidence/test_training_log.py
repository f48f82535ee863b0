"""Training logs: golden logs of every form, generated logs, and files that try to break it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.evidence.code_hash import source_sha256
from bot.evidence.log.problems import begins_late
from bot.evidence.log.training_log import read_log
from bot.model.run import Run, Validation
from tests.conftest import some, tried

LOGS = Path(__file__).parent.parent / "data" / "logs"
EXPECTED: dict[str, Any] = json.loads((LOGS / "expected.json").read_text())


def read(text: str) -> tuple[Run, ...]:
    return read_log(text.encode(), "x.log")


def problems(run: Run) -> list[str]:
    return [rule for rule, _ in run.problems]


def close(got: Iterable[float | None], want: Iterable[float | None]) -> bool:
    return all(
        a is b or (a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9))
        for a, b in zip(got, want, strict=True)
    )


def steps(*values: tuple[int, str, str], total: int = 300) -> str:
    return "".join(f"step:{s}/{total} val_loss:{v} train_time:{t}\n" for s, v, t in values)


# ---- Real forms --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPECTED)
def test_a_log_of_each_known_form_reads_as_computed_elsewhere(name: str) -> None:
    want = EXPECTED[name]
    runs = read_log((LOGS / name).read_bytes(), name)
    assert len(runs) == len(want["runs"])
    assert {r.hardware.device for r in runs} == {want["hardware"]}
    assert {r.hardware.count for r in runs} == {want["gpu_count"]}
    assert runs[0].software.get("torch") == want["torch"]
    for index, (run, w) in enumerate(zip(runs, want["runs"], strict=True)):
        assert run.index == index
        got = run.total_steps, run.step, run.finished, run.loss
        assert got == (w["total"], w["step"], w["finished"], w["loss"])
        assert close([run.time_s], [w["time_s"]])
        assert len(run.validation) == w["n_val"]
        assert close(run.validation[0], w["first"])
        assert close(run.validation[w["n_val"] // 2], w["middle"])
        assert not problems(run)


def test_extra_tokens_are_kept_in_the_history() -> None:
    (run,) = read_log((LOGS / "tokens_between.log").read_bytes(), "x")
    assert {"val_avg_loss", "val_ema_loss"} <= set(run.history)
    assert len(run.history["val_ema_loss"]) == len(run.validation)


@pytest.mark.more
def test_every_published_log_reads_as_the_truth(golden: Path) -> None:
    here = golden / "nanogpt"
    logs = json.loads((here / "truth.json").read_text())["logs"]
    for log in some(logs, 8):
        runs = read_log((here / log["trimmed"]).read_bytes(), log["trimmed"])
        assert len(runs) == len(log["runs"]), log["trimmed"]
        for run, want in zip(runs, log["runs"], strict=True):
            assert len(run.validation) == len(want["val"]), log["trimmed"]
            assert all(map(close, run.validation, want["val"])), log["trimmed"]
            assert run.finished == want["finished"], log["trimmed"]
            assert run.hardware.count == log["n_gpus"], log["trimmed"]
    assert len(logs) == 928


# ---- Generated logs ----------------------------------------------------------------------------

PRELUDE = """import torch
def main():
    print0(f"step:{step}/{train_steps} val_loss:{val_loss:.4f} train_time:{ms:.0f}ms")
    # step:1/2 val_loss:9.9 train_time:1ms
step:1/2 val_loss:9.9 train_time:1ms
"""
token = st.sampled_from(["lr:0.001", "norm:1.5", "handoff:none", "x:1e-3", "bpb:0.9", "plain"])


@st.composite
def rendered(draw: st.DrawFn) -> tuple[str, list[list[Validation]]]:
    """A log in a random form, and the validation points in it."""
    decimals = draw(st.integers(3, 6))
    unit = draw(st.sampled_from(["ms", "s"]))
    space = draw(st.sampled_from([" ", "\t", "  "]))
    lines = [*PRELUDE.splitlines(), "=" * 100] if draw(st.booleans()) else []
    expected = []
    for _ in range(draw(st.integers(1, 4))):
        total = draw(st.integers(2, 9)) * 125
        points = []
        for step in range(0, total + 1, 125):
            loss = round(draw(st.floats(0.5, 12)), decimals)
            clock = step * 57 + draw(st.integers(0, 9))
            shown = f"{clock}ms" if unit == "ms" else f"{clock / 1000:.3f}s"
            extra = draw(st.lists(token, max_size=2, unique=True))
            parts = [f"step:{step}/{total}", f"val_loss:{loss:.{decimals}f}", *extra]
            if step:
                lines.append(f"step:{step}/{total}{space}train_time:{shown}")
            lines.append(space.join([*parts, f"train_time:{shown}", "step_avg:57.00ms"]))
            points.append(Validation(step, loss, clock / 1000))
        expected.append(points)
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = end.join(lines) + draw(st.sampled_from(["", end]))
    return ("\ufeff" if draw(st.booleans()) else "") + text, expected


@given(rendered())
@settings(max_examples=tried(150))
def test_what_a_trainer_prints_is_read_back(case: tuple[str, list[list[Validation]]]) -> None:
    text, expected = case
    runs = read(text)
    assert [list(run.validation) for run in runs] == expected
    assert all(run.finished for run in runs)
    assert all(run.step_times_s == () or min(run.step_times_s) >= 0 for run in runs)


@given(st.binary(max_size=400))
def test_no_bytes_raise(data: bytes) -> None:
    for run in read_log(data, "x"):
        assert all(math.isfinite(v.loss) for v in run.validation)


@given(st.text(alphabet="step:0129/ \tval_lostrain_timemsnaninfe+-.=|\r\n", max_size=300))
def test_no_text_of_the_right_letters_raises(text: str) -> None:
    for run in read(text):
        assert [v.step for v in run.validation] == sorted({v.step for v in run.validation})


def test_a_log_of_a_million_falling_steps_stops_at_a_bound() -> None:
    runs = read("".join(f"step:{1 - i % 2}/9 train_time:1ms\n" for i in range(20_000)))
    assert len(runs) == 1000


# ---- What is in the file besides steps ---------------------------------------------------------


def test_source_before_the_steps_is_hashed_as_the_file_itself() -> None:
    source = PRELUDE + "\n\n"
    log = f"{source}{'=' * 100}\n{steps((0, '9.0', '0ms'), (300, '3.1', '9ms'))}"
    (run,) = read(log)
    plain = hashlib.sha256((PRELUDE.rstrip() + "\n").encode()).hexdigest()
    assert run.code_sha256 == {"source": plain} == {"source": source_sha256(PRELUDE)}
    assert len(run.validation) == 2


def test_a_log_that_begins_with_a_rule_has_its_source_after_it() -> None:
    rule = "=" * 100
    (run,) = read(f"{rule}\n{PRELUDE}{rule}\n{steps((300, '3.1', '9ms'))}")
    assert run.code_sha256 == {"source": source_sha256(PRELUDE)}


def test_text_before_a_rule_that_is_no_source_is_no_source() -> None:
    (run,) = read(f"{steps((300, '3.1', '9ms'))}{'=' * 100}\nbye\n")
    assert not run.code_sha256 and run.loss == 3.1


def test_lines_of_our_own_trainer() -> None:
    digest = "ab" * 32
    head = (
        f"nonce: {'0f' * 16}\nseed: 7\ncode_sha256: {digest}\ndata_fingerprint: fp1\n"
        "device: NVIDIA H100 80GB HBM3\nworld_size: 8\nprecision: bf16\n"
        "validation_fingerprint: fp2\n"
    )
    (run,) = read(head + "step:300/300 val_loss:3.1 bpb:0.99 train_time:9ms step_avg:1ms\n")
    assert (run.nonce, run.seed, run.data_fingerprint) == ("0f" * 16, 7, "fp1")
    assert run.code_sha256 == {"source": digest}
    assert (run.hardware.device, run.hardware.count) == ("NVIDIA H100 80GB HBM3", 8)
    assert run.config == {"precision": "bf16", "validation_fingerprint": "fp2"}
    assert run.metrics["bpb"] == 0.99


def test_each_run_of_a_file_has_the_header_that_stands_before_it() -> None:
    first = "Using seed=1\n" + steps((0, "9.0", "0s"), (300, "3.2", "9s"))
    second = "Using seed=2\n" + steps((0, "9.1", "0s"), (300, "3.3", "9s"))
    assert [run.seed for run in read(first + second)] == [1, 2]


def test_a_new_table_replaces_the_old_one() -> None:
    row = "|   {}  NVIDIA L40S       On  |   00000000:0{}:00.0 Off |   0 |\n"
    title = "| NVIDIA-SMI 570.1   Driver Version: 570.1   CUDA Version: 12.8 |\n"
    eight = title + "".join(row.format(i, i) for i in range(8))
    runs = read(
        eight + steps((300, "3.2", "9s")) + title + row.format(0, 1) + steps((0, "3.3", "9s"))
    )
    assert [run.hardware.count for run in runs] == [8, 1]
    assert runs[0].hardware.driver == "570.1"


def test_ranks_that_print_the_same_training_count_once() -> None:
    text = ""
    for step in (0, 150, 300):
        for rank in (1, 0):
            text += f"[rank{rank}]: step:{step}/300 val_loss:{9 - step / 100} train_time:{step}ms\n"
    (run,) = read(text)
    assert [v.step for v in run.validation] == [0, 150, 300]


def test_two_trainings_with_prefixes_stay_apart() -> None:
    text = "".join(
        f"{rank}: step:{step}/300 val_loss:{9 - step / 100 - rank / 10:.2f} train_time:{step}ms\n"
        for step in (0, 150, 300)
        for rank in (0, 1)
    )
    first, second = read(text)
    assert [first.loss, second.loss] == [6.0, 5.9]
    # They may be ranks of one training that did not average their losses: somebody looks.
    ((rule, message),) = second.problems
    assert rule == "history-gap" and "as ranks of one training they are one run" in message
    one_after_the_other = "".join(sorted(text.splitlines(True)))
    assert [run.problems for run in read(one_after_the_other)] == [(), ()]


def test_colours_and_time_stamps_before_a_line_are_passed_over() -> None:
    (run,) = read("2026-01-02 03:04:05,678 INFO \x1b[32mstep:300/300 val_loss:3.1\x1b[0m\n")
    assert run.loss == 3.1


def test_utf_16_is_read() -> None:
    (run,) = read_log(steps((300, "3.1", "9s")).encode("utf-16"), "x")
    assert run.loss == 3.1


# ---- What is wrong with a run ------------------------------------------------------------------


def test_a_loss_that_is_not_finite_is_no_number_and_the_run_did_not_finish() -> None:
    (run,) = read(steps((0, "9.0", "0s"), (150, "nan", "5s"), (300, "nan", "9s")))
    assert (run.loss, run.finished) == (9.0, False)
    assert problems(run) == ["metric-not-finite"]
    assert "step 150 and 1 later" in run.problems[0][1]


def test_a_loss_too_large_for_a_number_is_not_finite() -> None:
    (run,) = read(steps((300, "1e999", "9s")))
    assert run.loss is None and problems(run) == ["metric-not-finite", "history-gap"]


def test_a_clock_that_falls_is_found() -> None:
    (run,) = read(steps((0, "9.0", "0s"), (150, "4.0", "8s"), (300, "3.2", "7s")))
    assert problems(run) == ["clock-not-monotonic"]
    assert "from 8.000 s to 7.000 s at step 300" in run.problems[0][1]


def test_the_untimed_first_steps_of_early_logs_are_no_fall() -> None:
    lines = [f"step:{i}/300 train_time:{900 + i}ms step_avg:nanms\n" for i in range(1, 11)]
    lines.append("step:11/300 train_time:90ms step_avg:90.00ms\n")
    (run,) = read("".join(lines) + steps((300, "3.2", "9s")))
    assert not problems(run)


def test_a_hole_in_regular_validations_is_found() -> None:
    points = [(s, f"{9 - s / 100}", f"{s}s") for s in (0, 25, 50, 75, 100, 200, 225, 300)]
    (run,) = read(steps(*points))
    assert problems(run) == ["history-gap"]
    assert "between step 100 and step 200" in run.problems[0][1]


def test_validations_that_grow_dense_or_sparse_from_the_start_are_no_hole() -> None:
    for at in ((0, 100, 200, 250, 260, 270, 280, 300), (1, 2, 4, 8, 16, 32, 64, 128, 300)):
        (run,) = read(steps(*((s, f"{9 - s / 100}", f"{s}s") for s in at)))
        assert not problems(run)


def test_a_run_that_goes_on_in_the_middle_of_a_file_says_so() -> None:
    first = steps((0, "9.0", "0s"), (150, "4.0", "4s"))
    crashed, resumed = read(first + steps((100, "5.0", "3s"), (300, "3.2", "9s")))
    assert crashed.finished is False
    assert problems(resumed) == ["history-gap"]


def test_a_run_that_starts_again_at_step_0_is_a_run_of_its_own() -> None:
    runs = read(steps((0, "9.0", "0s")) + steps((0, "9.1", "0s"), (300, "3.2", "9s")))
    assert [len(run.validation) for run in runs] == [1, 2]


def test_the_same_first_loss_after_training_lines_is_a_new_run() -> None:
    first = steps((0, "10.8258", "0s")) + "step:50/300 train_time:3s\n"
    crashed, again = read(first + steps((0, "10.8258", "0s"), (300, "3.2", "9s")))
    assert (crashed.step, again.step) == (0, 300)
    assert [v.step for v in again.validation] == [0, 300]


def test_a_line_cut_at_the_end_of_the_file_does_not_count() -> None:
    whole = steps((0, "9.0000", "0s"), (150, "4.0000", "4s"))
    for cut in (
        "step:300/300 val_loss:3.2",
        "step:300/300 val_loss:3.2411 train_time:8",
        "step:300/300 val_lo",
        "step:300/3",
    ):
        (run,) = read(whole + cut)
        assert (run.loss, run.finished) == (4.0, False)


def test_the_last_line_counts_without_a_line_end_when_it_is_whole() -> None:
    (run,) = read(steps((0, "9.0000", "0s"), (300, "3.2411", "8s")).rstrip())
    assert (run.loss, run.finished) == (3.2411, True)


def test_a_line_that_is_printed_twice_counts_once() -> None:
    text = steps((0, "9.0", "0s"), (300, "3.2", "8s"))
    (run,) = read("".join(line + line for line in text.splitlines(keepends=True)))
    assert len(run.validation) == 2 and not problems(run)


def test_two_losses_at_one_step_are_found_and_the_last_counts() -> None:
    (run,) = read(steps((0, "9.0", "0s"), (300, "3.2", "8s"), (300, "3.1", "9s")))
    assert run.loss == 3.1 and problems(run) == ["history-gap"]


def test_an_unknown_total_leaves_the_end_unknown() -> None:
    (run,) = read("s:0 tel:9.0\ns:250 trl:4.1 lr:0.1 norm:1.0\ns:250 tel:4.0\n")
    assert (run.finished, run.total_steps, run.step) == (None, None, 250)
    assert run.history["train_loss"] == ((250, 4.1),)


def test_a_training_line_beyond_the_last_validation_does_not_split_the_run() -> None:
    text = "step:0/300 val_loss:9.0 train_time:0s\nstep:151/300 train_time:4.1s\n"
    (run,) = read(text + steps((150, "4.0", "4s"), (300, "3.2", "8s")))
    assert [v.step for v in run.validation] == [0, 150, 300]


def test_a_log_without_a_length_begins_at_its_beginning() -> None:
    """Its end alone, with a clock that began there, is half a training."""
    late = "".join(f"step:{s} val_loss:3.3 train_time:{s - 700}000ms\n" for s in (750, 1000, 1390))
    (run,) = read_log(late.encode(), "a.log")
    assert any("begins at step 750 of 1390" in text for _, text in run.problems)
    whole = "".join(f"step:{s} val_loss:3.3 train_time:{s}000ms\n" for s in (125, 250, 375, 500))
    (run,) = read_log(whole.encode(), "a.log")
    assert run.problems == ()


@pytest.mark.parametrize(
    ("shown", "is_told"),
    [
        ((0, 750, 875, 1000), True),
        ((0, 250, 375, 500, 625, 750, 875, 1000), False),
        ((0, 500, 1000), False),
        ((0, 200, 900, 950, 1000), False),
    ],
)
def test_a_log_that_shows_its_begin_and_its_second_half(
    shown: tuple[int, ...], is_told: bool
) -> None:
    found = begins_late(shown, 1000)
    assert (found == "shows nothing from step 0 to step 750 of 1000") is is_told
    assert is_told or found is None


def resumed(fall: float, line: str = "resuming from ckpt/step_600.pt") -> list[str]:
    """What is said of a run that a line in its middle calls resumed, whose loss falls there."""
    lines = []
    for n in range(13):
        loss = 5.0 - 0.1 * n - fall * (n > 6)
        lines.append(f"step:{100 * n}/1200 val_loss:{loss:.4f} train_time:{5000 * n}ms\n")
    lines.insert(7, f"{line}\n")
    (run,) = read_log("".join(lines).encode(), "run.log")
    return [text for _, text in run.problems]


def test_a_loss_that_falls_where_the_run_was_resumed() -> None:
    (said,) = resumed(0.15)
    assert "the run was resumed, and the validation loss falls by 0.25 from step 600" in said
    assert resumed(0.1) == []
    assert resumed(0.15, line="saving a checkpoint") == []
