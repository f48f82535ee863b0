"""Several sizes by one command: points of one submission, fitted by the site; broken off, gone on
with, one of them failing."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from leaderboard_site.pages.track import scaling
from leaderboard_site.source import read_site
from reference_trainer.shards import Corpus
from tests.reference_trainer.conftest import ROOT, need

TRACK = """schema_version = 1
id = "sizes"
title = "Loss against time"
objective = "pareto"
[quality]
metric = "loss"
unit = "nats/byte"
[cost]
metric = "training_time_s"
unit = "s"
[significance]
test = "none"
[evidence.keys]
loss = ["eval/loss"]
time_s = ["time/train_s"]
total_steps = ["total_steps"]
"""
SIZES = {"small": 16, "middle": 32, "large": 64}
LOST = "optimizer.lr=1e6,optimizer.muon_lr=1e6,optimizer.weight_decay=1e6"


def command(corpus: Corpus, out: pathlib.Path, *more: str, lost: str = "") -> list[str]:
    members = [
        f"{name}=tiny,model.hidden={width}{',' + LOST if name == lost else ''}"
        for name, width in SIZES.items()
    ]
    settings = {
        "model.heads": 2,
        "model.seq_len": 32,
        "train.steps": 24,
        "train.eval_every": 8,
        "train.checkpoint_every": 4,
        "train.log_every": 1,
        "train.batch": 8,
        "train.micro_batch": 4,
        "data.val_tokens": 1024,
        "data.corpus": f'"{corpus.folder}"',
    }
    changes = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    return ["train", "suite", *members, *changes, "--out", str(out), "--quiet", *more]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def steps(out: pathlib.Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "execution.json").read_text())["steps"]
    return found


def nonces(out: pathlib.Path) -> dict[str, str]:
    """Of every finished member: a member that is trained again has another one."""
    return {
        path.parent.name.partition("-")[0]: json.loads(path.read_text())["runs"][0]["run_info"][
            "speedrun"
        ]["nonce"]
        for path in out.glob("*/speedrun_results.json")
    }


@pytest.mark.filterwarnings("ignore")
def test_three_sizes_are_three_points_with_a_fit_that_says_how_far_it_holds(
    corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    need("torch")
    (tmp_path / "tracks").mkdir()
    (tmp_path / "tracks" / "sizes.toml").write_text(TRACK)
    out, root = tmp_path / "out", ("--root", str(tmp_path))
    trained = run(*command(corpus, out, "--backend", "torch"))
    assert trained.exit_code == 0, trained.output
    assert f"next: speedrun new TRACK/NAME --suite {out}" in trained.output
    made = run("new", "sizes/my-suite", "--suite", str(out), "--author", "example-user", *root)
    assert made.exit_code == 0, made.output
    folder = tmp_path / "submissions" / "sizes" / "my-suite"
    listed = json.loads((folder / "submission.json").read_text())
    assert listed["points"] == list(SIZES)
    assert set(listed["claims"]) == set(SIZES)
    assert [entry["path"] for entry in listed["runs"]] == [f"{n}/run.wandb" for n in SIZES]
    assert steps(folder) == steps(out)
    checked = run("check", str(folder), "--format", "json", *root)
    (verdict,) = json.loads(checked.output)["verdicts"]
    assert [f for f in verdict["findings"] if f["level"] == "error"] == []
    assert [point["name"] for point in verdict["points"]] == list(SIZES)
    assert len({point["quality"] for point in verdict["points"]}) == 3
    board = read_site(tmp_path).tracks["sizes"]
    shown = scaling(board)
    assert shown is not None
    (row,) = shown["rows"]
    assert (row["name"], row["n"], row["usable"]) == ("my-suite", 3, False)
    assert row["why"].endswith("6 points are needed beyond them")
    assert row["exponent"] == "not bounded" or " to " in row["exponent"]


@pytest.mark.filterwarnings("ignore")
def test_a_suite_goes_on_after_a_member_that_fails(corpus: Corpus, tmp_path: pathlib.Path) -> None:
    need("torch")
    out = tmp_path / "out"
    words = command(corpus, out, "--backend", "torch", lost="middle")
    first = run(*words)
    assert first.exit_code == 2
    assert "2 of 3 members are finished, not middle" in first.output
    assert {n: s["status"] for n, s in steps(out).items()} == {
        "small": "finished",
        "middle": "failed",
        "large": "finished",
    }
    assert "the loss is" in steps(out)["middle"]["reason"]
    before = nonces(out)
    again = run(*words)
    assert again.exit_code == 2 and "--force-run-failed" in again.output
    assert "failed before with the same code and settings" in again.output
    refused = run("new", "tutorial/x", "--suite", str(out), "--root", str(ROOT))
    assert refused.exit_code == 2 and "not finished: middle" in refused.output
    forced = run(*words, "--force-run-failed")
    assert "failed before" not in forced.output and "middle: failed: the loss" in forced.output
    mended = run(*command(corpus, out, "--backend", "torch"))
    assert mended.exit_code == 0, mended.output
    assert len(list(out.glob("middle-*"))) == 2  # each of its settings has a folder of its own
    assert before == {n: v for n, v in nonces(out).items() if n != "middle"}


@pytest.mark.filterwarnings("ignore")
def test_a_suite_that_was_killed_goes_on_where_it_was(
    corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    need("torch")
    out = tmp_path / "out"
    words = command(corpus, out, "--backend", "torch", "--wandb", "off")
    process = subprocess.Popen(
        [sys.executable, "-c", "from bot.cli import main; main()", *words],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 240
        while not list(out.glob("middle-*/checkpoints/step-*/DONE")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = nonces(out)
    assert set(before) == {"small"}
    log = next(out.glob("middle-*/log.txt")).read_text()
    begun = next(line for line in log.splitlines() if line.startswith("nonce: "))
    again = run(*words)
    assert again.exit_code == 0, again.output
    after = nonces(out)
    assert after["small"] == before["small"]
    assert begun == f"nonce: {after['middle']}"  # resumed, not begun again
    assert {s["status"] for s in steps(out).values()} == {"finished"}


@pytest.mark.filterwarnings("ignore")
def test_a_member_that_another_machine_finished_is_taken_from_the_bucket(
    corpus: Corpus, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("torch")
    monkeypatch.setenv("SPEEDRUN_PREFIX", f"memory://{tmp_path.name}")
    one, other = tmp_path / "one" / "suite", tmp_path / "other" / "suite"
    assert run(*command(corpus, one, "--backend", "torch")).exit_code == 0
    assert run(*command(corpus, other, "--backend", "torch")).exit_code == 0
    assert nonces(one) == nonces(other) and len(nonces(one)) == 3
    assert steps(one) == steps(other)
    assert sorted(p.name for p in next(other.glob("small-*")).iterdir()) == [
        "log.txt",
        "run.wandb",
        "speedrun_results.json",
    ]


def torchrun(words: list[str]) -> subprocess.CompletedProcess[str]:
    """The command on two processes."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m"]
    return subprocess.run(
        [sys.executable, *launcher, "reference_trainer", *words[1:]],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def test_two_processes_train_a_suite_together_and_end_together(
    corpus: Corpus, tmp_path: pathlib.Path
) -> None:
    need("torch")
    out, options = tmp_path / "out", ("--backend", "torch", "--wandb", "off")
    lost = torchrun(command(corpus, out, *options, lost="middle"))
    assert lost.returncode and "the loss is" in lost.stderr
    assert {n: s["status"] for n, s in steps(out).items()} == {
        "small": "finished",
        "middle": "failed",
    }
    before = nonces(out)
    done = torchrun(command(corpus, out, *options))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("next: speedrun new") == 1
    assert nonces(out)["small"] == before["small"] and len(nonces(out)) == 3


@pytest.mark.parametrize(
    ("members", "said"),
    [
        (("tiny", "tiny"), 'two members have the name "tiny"'),
        (("Big=tiny",), '"Big" cannot name a point'),
        (("a=tiny,model.hidden",), '"model.hidden" of a is not a setting'),
        (("a=nothing",), 'there is no configuration "nothing"'),
        (("tiny", "--interleave", "baseline"), "a suite has one arm"),
    ],
)
def test_a_suite_that_cannot_be_run_is_one_sentence(members: tuple[str, ...], said: str) -> None:
    refused = run("train", "suite", *members)
    assert refused.exit_code == 2 and said in refused.output


@pytest.mark.parametrize("text", ["", "[]", '{"steps": {"../x": {"output": "y"}}}'])
def test_a_list_that_is_no_suite_is_one_sentence(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / "execution.json").write_text(text)
    refused = run("new", "tutorial/x", "--suite", str(tmp_path), "--root", str(ROOT))
    assert refused.exit_code == 2 and "execution.json" in refused.output


def test_an_output_outside_of_the_suite_is_refused(tmp_path: pathlib.Path) -> None:
    step = {"status": "finished", "output": "../secret"}
    (tmp_path / "execution.json").write_text(json.dumps({"steps": {"a": step}}))
    refused = run("new", "tutorial/x", "--suite", str(tmp_path), "--root", str(ROOT))
    assert refused.exit_code == 2 and "is not a folder of the suite" in refused.output
