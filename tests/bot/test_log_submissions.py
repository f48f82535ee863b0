"""Submissions of training logs, whole: what each kind of bad log gets, the rest still checked."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from bot.model.submission import Folder
from bot.model.verdict import Verdict
from bot.registry import Status
from bot.verify import verify
from tests.bot.rules.run_cases import results_file
from tests.plain_tracks import plain_tracks

TRACKS = plain_tracks()
PATH = "submissions/nanogpt-small/example"
LOSSES = ("3.2771", "3.2768", "3.2775", "3.2770", "3.2769")
Logs = dict[str, str]


def log(loss: str, seed: int, device: str = "NVIDIA H100 80GB HBM3", stop: int = 400) -> str:
    lines = [f"Running on device_name={device} with world_size=8", f"Using seed={seed}"]
    for step in range(0, stop + 1, 50):
        value = loss if step == 400 else f"{10.8 - step / 60 + seed / 300:.4f}"
        lines.append(f"step:{step}/400 val_loss:{value} train_time:{step * 225}ms step_avg:225ms")
    return "\n".join(lines) + "\n"


def logs() -> Logs:
    return {f"logs/{seed}.log": log(loss, seed) for seed, loss in enumerate(LOSSES)}


def judged(files: Logs, listed: list[str] | None = None, **fields: Any) -> Verdict:
    runs = [{"source": "log", "path": path} for path in listed or sorted(files)]
    summary = "Momentum of the embeddings is warmed up over the first hundred steps, which helps."
    submission = {
        "schema_version": 1, "track": "nanogpt-small", "title": "Warm embeddings",
        "summary": summary, "contributors": [{"github": "example-user"}], "runs": runs,
        "hardware": {"accelerator": "H100", "count": 8}, **fields,
    }  # fmt: skip
    data = {name: text.encode() for name, text in files.items()}
    data["submission.json"] = json.dumps(submission).encode()
    return verify(Folder(PATH, data), TRACKS)


def rules(verdict: Verdict) -> set[str]:
    return {f.rule for f in verdict.findings}


SCRIPT = """import time


@dataclass
class Hyperparameters:
    {name}: str = "{value}"  # of the log
    lr: float = {lr}
"""


@pytest.mark.parametrize(
    ("name", "value", "lr", "is_told"),
    [
        ("run_id", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "0.1", False),
        ("wandb_run_name", "2026-01-01_seed0", "0.1", False),
        ("run_id", "default", "0.2", True),
        ("optimizer", "muon", "0.1", True),
        ("run_id", "exec(open('x').read())", "0.1", True),
    ],
)
def test_the_id_of_a_run_in_its_source_is_no_other_code(
    name: str, value: str, lr: str, is_told: bool
) -> None:
    submitted = SCRIPT.format(name=name, value="default", lr="0.1")
    ran = SCRIPT.format(name=name, value=value, lr=lr)
    files = {path: f"{ran}{'=' * 100}\n{text}" for path, text in logs().items()}
    found = rules(judged(files | {"train.py": submitted}, sorted(files), code={"path": "train.py"}))
    assert ("code-differs-from-submission" in found) is is_told


def test_good_logs_are_verified() -> None:
    verdict = judged(logs(), claims={"loss": {"mean": 3.2771, "n": 5}, "training_time_s": 90.0})
    assert (verdict.status, rules(verdict)) == (Status.VERIFIED, set())
    assert verdict.statistics is not None and verdict.statistics.n == 5
    assert verdict.points[0].cost == 90.0
    assert verdict.points[0].quality == pytest.approx(3.27706)


def nan(text: str) -> str:
    return text.replace("val_loss:3.27", "val_loss:nan 3.27")


def killed(text: str) -> str:
    return text[: text.index("step:400")]


def restarted(text: str) -> str:
    return text.replace("train_time:78750ms", "train_time:3750ms")


def holed(text: str) -> str:
    kept = [line for line in text.splitlines() if not line.startswith(("step:250", "step:300"))]
    return "\n".join(kept) + "\n"


def falling(text: str) -> str:
    return text.replace("step:400/400", "step:100/400 val_loss:9.0 train_time:1ms\nstep:400/400")


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (nan, "metric-not-finite"),
        (killed, "run-unfinished"),
        (restarted, "clock-not-monotonic"),
        (holed, "history-gap"),
        (falling, "run-unfinished"),
        (
            lambda text: text.replace("H100 80GB HBM3", "A100-SXM4-80GB"),
            "hardware-differs-from-run",
        ),
        (lambda text: text.replace("world_size=8", "world_size=4"), "hardware-differs-from-run"),
        (lambda text: text.replace("seed=2", "seed=1"), "seed-reused"),
    ],
)
def test_each_kind_of_bad_log_gets_its_rule_and_the_rest_is_checked(
    spoil: Callable[[str], str], rule: str
) -> None:
    files = logs()
    files["logs/2.log"] = spoil(files["logs/2.log"])
    verdict = judged(files, claims={"loss": {"mean": 3.2, "n": 5}})
    assert {rule, "reported-statistics-wrong"} <= rules(verdict)
    assert verdict.status is Status.REJECTED
    assert verdict.statistics is not None and verdict.statistics.n >= 4


def test_a_log_listed_twice() -> None:
    files = logs()
    verdict = judged(files, [*sorted(files), "logs/0.log"])
    assert "duplicate-run" in rules(verdict)
    assert verdict.statistics is not None and verdict.statistics.n == 5


def test_a_copy_of_a_log_under_another_name() -> None:
    files = logs()
    files["logs/9.log"] = files["logs/0.log"]
    verdict = judged(files)
    assert "duplicate-run" in rules(verdict)
    assert verdict.statistics is not None and verdict.statistics.n == 5


def test_two_runs_in_one_file_are_two_runs() -> None:
    files = logs()
    files["logs/0.log"] += files.pop("logs/1.log")
    verdict = judged(files)
    assert verdict.statistics is not None and verdict.statistics.n == 5


def test_too_few_runs_ask_for_more_and_reject_nothing() -> None:
    files = dict(list(logs().items())[:1])
    verdict = judged(files)
    assert (verdict.status, rules(verdict)) == (Status.NEEDS_RUNS, {"too-few-runs"})


def test_runs_that_spread_too_much_need_more() -> None:
    files = {f"logs/{i}.log": log(v, i) for i, v in enumerate(("3.2771", "3.2795", "3.2790"))}
    verdict = judged(files)
    assert (verdict.status, rules(verdict)) == (Status.NEEDS_RUNS, {"target-not-significant"})
    assert verdict.statistics is not None and verdict.statistics.needed_runs == 5


def test_a_mean_above_the_target_is_rejected() -> None:
    files = {f"logs/{i}.log": log(v, i) for i, v in enumerate(("3.2821", "3.2815"))}
    assert judged(files).status is Status.REJECTED


def _slower(text: str, i: int) -> str:
    return text.replace(":90000ms step_avg:225ms", f":{99000 + i}ms step_avg:247.5ms")


def test_a_baseline_arm_is_compared_with() -> None:
    files = logs()
    base = {f"base/{i}.log": log("3.2790", 20 + i) for i in range(3)}
    slow = {k: _slower(v, i) for i, (k, v) in enumerate(base.items())}
    runs = [{"source": "log", "path": p} for p in sorted(files)]
    runs += [{"source": "log", "path": p, "arm": "baseline"} for p in sorted(slow)]
    verdict = judged(files | slow, runs=runs)
    assert verdict.status is Status.VERIFIED
    assert verdict.statistics is not None
    assert verdict.statistics.baseline.ratio == pytest.approx(90 / 99.001)
    assert verdict.statistics.baseline.passes is True


def test_logs_that_are_not_listed_are_an_open_drawer() -> None:
    files = logs() | {"logs/bad.txt": log("3.2999", 9)}
    verdict = judged(files, listed=sorted(logs()))
    assert (verdict.status, rules(verdict)) == (Status.NEEDS_REVIEW, {"unlisted-runs"})
    (item,) = verdict.findings
    assert "the folder has 1 run" in item.message and "with them n = 6" in item.message
    assert item.fix is not None and item.fix.endswith("logs/bad.txt")


@pytest.mark.parametrize(
    "other",
    [
        "numpy==2.3\ntorch==2.10\n",
        log("3.2771", 0).replace("Using seed=0\n", "# the same log, as it was printed\n"),
        log("3.2999", 9).replace("/400", "/500"),
    ],
)
def test_other_files_in_the_folder_are_no_drawer(other: str) -> None:
    verdict = judged(logs() | {"notes.txt": other}, listed=sorted(logs()))
    assert (verdict.status, rules(verdict)) == (Status.VERIFIED, set())


def test_the_same_run_with_another_clock_beside_it() -> None:
    first = sorted(logs())[0]
    verdict = judged(logs() | {"first.txt": _slower(logs()[first], 0)}, listed=sorted(logs()))
    assert (verdict.status, rules(verdict)) == (Status.NEEDS_REVIEW, {"witnesses-disagree"})
    assert "90.00 s in the listed file, but 99.00 s in first.txt" in verdict.findings[0].message


@pytest.mark.parametrize(("name", "loss", "told"), [
    ("execution_2.json", 3.2999, True), ("speedrun_results.json", 3.2771, False),
])  # fmt: skip
def test_a_results_file_that_is_not_listed(name: str, loss: float, told: bool) -> None:
    info = {"train_config": {"num_train_steps": 400}, "eval/loss": loss, "training_time": 9.0}
    verdict = judged(logs() | {name: json.dumps(results_file(info))}, listed=sorted(logs()))
    assert rules(verdict) == ({"unlisted-runs"} if told else set())
    assert name in (verdict.findings[0].fix or "") if told else True


@pytest.mark.parametrize(("steps", "told"), [(["train"] * 6, True), (["train"] * 5, False),
                                             (["corpus"] * 9, False)])  # fmt: skip
def test_lists_of_more_trainings_than_are_listed(steps: list[str], told: bool) -> None:
    files = {
        f"execution{f'_{n}' if n else ''}.json": json.dumps(
            {"steps": {name: {"identity": f"{n}", "inputs": [], "status": "finished"}}}
        )
        for n, name in enumerate(steps)
    }
    verdict = judged(logs() | files, listed=sorted(logs()))
    assert rules(verdict) == ({"unlisted-runs"} if told else set())
    if told:
        assert (
            "show 6 finished trainings, but the submission lists 5" in verdict.findings[0].message
        )


def test_trainings_that_did_not_finish_are_no_runs() -> None:
    step = {"identity": "a", "status": "failed"}
    files = {f"execution_{n}.json": json.dumps({"steps": {"train": step}}) for n in range(9)}
    assert rules(judged(logs() | files, listed=sorted(logs()))) == set()


def test_a_listed_folder_lists_its_logs() -> None:
    assert judged(logs(), listed=["logs"]).status is Status.VERIFIED


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("Running on device_name=NVIDIA B200 with world_size=8", True),
        ("Running on device_name=NVIDIA H100 80GB HBM3 with world_size=16", True),
        ("device: NVIDIA A100-SXM4-80GB", True),
        ("world_size: 4", True),
        ("Running on device_name=NVIDIA H100 80GB HBM3 with world_size=8", False),
        ("device: NVIDIA H100 80GB HBM3", False),
    ],
)
def test_a_log_that_names_two_machines(line: str, refused: bool) -> None:
    files = {name: f"{line}\n{text}" for name, text in logs().items()}
    assert ("hardware-differs-from-run" in rules(judged(files))) is refused


def table(device: str) -> str:
    """What nvidia-smi prints of a host with eight GPUs."""
    rows = [f"|   {i}  {device}          On  |   00000000:0{i}:00.0 Off |      0 |\n"
            for i in range(8)]  # fmt: skip
    return "| NVIDIA-SMI 570.1   Driver Version: 570.1 |\n" + "".join(rows)


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (lambda t: table("NVIDIA B200") + table("NVIDIA H100 80GB HBM3") + t, True),
        (lambda t: t.replace("step:50/", table("NVIDIA B200") + "step:50/"), True),
        (lambda t: t.replace("step:50/", "device: NVIDIA B200\nstep:50/"), True),
        (lambda t: table("NVIDIA H100 80GB HBM3") + t.replace("size=8", "size=16"), True),
        (lambda t: table("NVIDIA H100 80GB HBM3") * 2 + t, False),
        (lambda t: table("NVIDIA H100 80GB HBM3") + t + table("NVIDIA B200"), False),
    ],
)
def test_all_tables_and_lines_of_a_run_name_one_machine(
    change: Callable[[str], str], refused: bool
) -> None:
    files = {name: change(text) for name, text in logs().items()}
    assert ("hardware-differs-from-run" in rules(judged(files))) is refused


@pytest.mark.parametrize(("other", "told"), [("3.3999", True), ("3.2771", False)])
@pytest.mark.parametrize("key", ["val_loss", "VAL_LOSS"])
def test_a_line_that_gives_two_losses_is_told(key: str, other: str, told: bool) -> None:
    files = logs()
    files["logs/0.log"] = files["logs/0.log"].replace("3.2771", f"3.2771 {key}:{other}")
    assert ("history-gap" in rules(judged(files))) is told


def test_a_second_run_may_have_a_machine_of_its_own() -> None:
    two = log("3.2771", 0) + log("3.2768", 1, device="NVIDIA H200")
    told = judged({"a.log": two})
    assert not any("two kinds" in f.message for f in told.findings)


def test_a_copy_with_a_quarter_of_its_losses_changed_is_one() -> None:
    other = log("3.2770", 0).replace("seed=0", "seed=1").replace("loss:9.1333", "loss:9.1413")
    files = {"a.log": log("3.2771", 0), "b.log": other, "c.log": log("3.2769", 2)}
    verdict = judged(files)
    assert verdict.statistics is not None and verdict.statistics.n == 2


def test_runs_of_points_that_are_not_declared_are_not_pooled() -> None:
    def points(*names: str | None) -> set[str]:
        runs = [{"source": "log", "path": f"logs/{i}.log", "point": name}
                for i, name in enumerate(names)]  # fmt: skip
        kept = [{k: v for k, v in run.items() if v is not None} for run in runs]
        return rules(judged(logs(), runs=kept))

    assert "schema" in points("a", "a", "a", "b", "b")
    assert "schema" in points("a", "a", "a", "a", None)
    assert points("a", "a", "a", "a", "a") == set()
