"""`speedrun new`: a folder that passes `check` when the runs are good."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from tests.bot.evidence.wandb.conftest import wandb_home  # noqa: F401  (a fixture)
from tests.bot.evidence.wandb.submissions import REFS, fill
from tests.conftest import ROOT
from tests.doubles.wandb import WandbDouble

LOSSES = (3.2771, 3.2768, 3.2775, 3.2764, 3.2780, 3.2769)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A competition with the project's own tracks and no submissions."""
    (tmp_path / "tracks").symlink_to(ROOT / "tracks")
    monkeypatch.delenv("GITHUB_USER", raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    return tmp_path


@pytest.fixture
def logs(tmp_path: Path) -> list[str]:
    """Logs of good runs of the small track."""
    folder = tmp_path / "out"
    folder.mkdir()
    for n, loss in enumerate(LOSSES):
        lines = [f"Running on device_name=NVIDIA H100 80GB HBM3 with world_size=8\nseed: {n}\n"]
        lines += [
            f"step:{step}/1000 val_loss:{loss + (1000 - step) / 1000:.4f} "
            f"train_time:{60 * step}ms step_avg:60.00ms\n"
            for step in range(0, 1001, 250)
        ]
        (folder / f"run {n}.log").write_text("".join(lines))
    return [str(path) for path in sorted(folder.iterdir())]


def run(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--root", str(root)])


def new(root: Path, *arguments: str) -> tuple[Result, Path]:
    place = next(a for a in arguments if "/" in a)
    return run(root, "new", *arguments), root / "submissions" / place


def document(path: Path) -> Any:
    return json.loads((path / "submission.json").read_text())


def test_good_logs_give_a_submission_that_passes(root: Path, logs: list[str]) -> None:
    options = [part for name in logs for part in ("--log", name)]
    made, path = new(root, "nanogpt-small/my-idea", *options, "--author", "example-user")
    assert made.exit_code == 0, made.output
    value = document(path)
    assert value["hardware"] == {"accelerator": "h100-sxm", "count": 8}
    assert value["claims"]["loss"]["n"] == len(LOSSES)
    assert value["claims"]["loss"]["mean"] == pytest.approx(sum(LOSSES) / len(LOSSES))
    assert value["claims"]["training_time_s"] == pytest.approx(60.0)
    assert [entry["path"] for entry in value["runs"]][0] == "logs/run_0.log"
    checked = run(root, "check", str(path))
    assert checked.exit_code == 0, checked.output
    assert "explanation-missing" in checked.output


def test_a_folder_of_logs_is_taken_whole(root: Path, logs: list[str]) -> None:
    made, path = new(root, "nanogpt-small/my-idea", "--log", str(Path(logs[0]).parent))
    assert made.exit_code == 0
    assert len(document(path)["runs"]) == len(LOSSES)
    assert 'replace "your-github-login" with your GitHub login' in made.output


def test_logs_named_baseline_become_the_baseline_arm(root: Path, logs: list[str]) -> None:
    folder = Path(logs[0]).parent
    (folder / "baseline-900").mkdir()
    for name in logs[:2]:
        text = Path(name).read_text().replace(":60000ms", ":70000ms").replace("seed: ", "seed: 9")
        (folder / "baseline-900" / Path(name).name).write_text(text)
    made, path = new(root, "nanogpt-small/my-idea", "--log", str(folder))
    assert made.exit_code == 0, made.output
    runs = document(path)["runs"]
    assert [run.get("arm") for run in runs].count("baseline") == 2
    assert document(path)["claims"]["loss"]["n"] == len(LOSSES)
    assert "2 of the logs are named baseline" in made.output
    # The statistics of the folder are those of its own arm, as the bot's are.
    stats = run(root, "stats", "--track", "nanogpt-small", str(path))
    assert stats.output.startswith(f"{len(LOSSES)} runs,"), stats.output
    assert "against 2 of the baseline" in stats.output


def test_of_a_trainers_folder_every_run_is_taken_once(root: Path, logs: list[str]) -> None:
    """What is not a run (W&B's own logs, lists of packages) and a second copy stay out."""
    out = root / "runs"
    for arm, log in (("candidate-seed0", logs[0]), ("baseline-seed0", logs[1])):
        inner = out / arm / "wandb" / "offline-run" / "logs"
        inner.mkdir(parents=True)
        nonce = f"nonce: {arm.encode().hex()}\n"
        for copy in (out / arm / "log.txt", inner / "output.log"):
            copy.write_text(nonce + Path(log).read_text())
        (inner / "debug.log").write_text("2026-01-01 INFO starting\n")
        (inner / "requirements.txt").write_text("numpy==2.0.0\n")
    made, path = new(root, "single-gpu-fineweb/my-idea", "--log", str(out))
    assert made.exit_code == 0, made.output
    assert "left out 6 of 8 files" in made.output
    assert [(run["path"], run.get("arm")) for run in document(path)["runs"]] == [
        ("logs/log.txt", "baseline"),
        ("logs/log_2.txt", None),
    ]
    files = [str(out / arm / "log.txt") for arm in ("candidate-seed0", "baseline-seed0")]
    made, path = new(root, "single-gpu-fineweb/named", "--log", files[0], "--log", files[1])
    assert [run.get("arm") for run in document(path)["runs"]] == [None, "baseline"]


def test_the_starter_that_new_wrote_is_the_code_of_its_runs(root: Path, logs: list[str]) -> None:
    new(root, "nanogpt-small/my-idea", "--starter", "jax")
    _, path = new(root, "nanogpt-small/my-idea", "--log", logs[0])
    assert document(path)["code"] == {"path": "main.py"}
    _, path = new(root, "nanogpt-small/other", "--log", logs[0])
    assert "code" not in document(path)


def test_runs_keep_their_seeds_and_are_pairs_if_each_is_once_in_both_arms(
    root: Path, logs: list[str]
) -> None:
    def made(name: str, *seeds: str) -> list[tuple[object, object]]:
        options = []
        for n, (log, seed) in enumerate(zip(logs[:4], seeds, strict=True)):
            copy = root / f"{'baseline-' if n > 1 else ''}{name}-{n}.log"
            copy.write_text(Path(log).read_text().replace(f"seed: {n}", f"seed: {seed}"))
            options += ["--log", str(copy)]
        _, path = new(root, f"single-gpu-fineweb/{name}", *options)
        return [(run.get("seed"), run.get("pair")) for run in document(path)["runs"]]

    assert made("both", "4", "7", "4", "7") == [(4, "4"), (7, "7"), (4, "4"), (7, "7")]
    assert made("other", "4", "7", "4", "8") == [(4, None), (7, None), (4, None), (8, None)]
    assert made("twice", "4", "4", "4", "4") == [(4, None)] * 4


def test_an_entry_of_a_track_that_is_not_open_is_told_so(root: Path, logs: list[str]) -> None:
    log = Path(logs[0])
    log.write_text(log.read_text().replace("world_size=8", "world_size=1"))
    made, _ = new(root, "single-gpu-fineweb/alone", "--log", str(log), "--code", __file__)
    said = " ".join(made.output.split())
    assert "It does not rank yet: no baseline is frozen, so the track is not open" in said, (
        made.output
    )


def test_a_log_without_a_run_writes_nothing(root: Path, tmp_path: Path) -> None:
    words = tmp_path / "words.log"
    words.write_text("hello\n")
    made, path = new(root, "single-gpu-fineweb/my-idea", "--log", str(words))
    assert made.exit_code == 2 and not path.exists()
    said = " ".join(made.output.split())
    assert "holds no line with a step and a loss; give the log that the training printed" in said
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "words.log").write_text("hello\n")
    made, path = new(root, "single-gpu-fineweb/my-idea", "--log", str(tmp_path / "only"))
    assert made.exit_code == 2 and not path.exists()
    assert "no file in the folder contains a run" in made.output


def test_logs_that_name_the_loss_otherwise_are_told_how(root: Path, logs: list[str]) -> None:
    for name in logs:
        Path(name).write_text(Path(name).read_text().replace("val_loss", "held_out"))
    made, path = new(root, "nanogpt-small/my-idea", "--log", str(Path(logs[0]).parent))
    assert len(document(path)["runs"]) == len(logs)
    said = " ".join(made.output.split())
    assert said.startswith("❌ Needs changes") and "too-few-runs" not in said
    assert "names no validation loss" in said
    assert 'add "keys": {"loss": "held_out"} to submission.json' in said


def test_logs_that_are_all_named_baseline_are_the_submission(root: Path, logs: list[str]) -> None:
    folder = Path(logs[0]).parent.rename(root / "baseline")
    made, path = new(root, "nanogpt-small/my-idea", "--log", str(folder.parent / "baseline"))
    assert made.exit_code == 0, made.output
    assert all("arm" not in run for run in document(path)["runs"])


def test_bad_runs_are_written_too_and_the_findings_said(root: Path, tmp_path: Path) -> None:
    log = tmp_path / "bad.log"
    log.write_text("step:10/1000 val_loss:3.5000 train_time:600ms step_avg:60.00ms\n")
    made, path = new(root, "nanogpt-small/bad", "--log", str(log), "--author", "example-user")
    assert made.exit_code == 0
    assert "run-unfinished" in made.output
    assert "fix what is listed below" in made.output
    assert run(root, "check", str(path)).exit_code == 1


def test_linked_runs_are_read_from_wandb(
    root: Path,
    wandb_home: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with WandbDouble() as server:
        fill(server)
        monkeypatch.setenv("WANDB_API_KEY", server.key)
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        options = [part for ref in REFS for part in ("--wandb", f"{ref.url}?nw=nwuserexample")]
        made, path = new(root, "nanogpt-small/linked", *options, "--author", "example-user")
        assert made.exit_code == 0, made.output
        value = document(path)
        assert [entry["link"] for entry in value["runs"]] == [ref.url for ref in REFS]
        assert value["hardware"] == {"accelerator": "h100-sxm", "count": 8}
        assert value["claims"]["loss"]["n"] == len(REFS)
        checked = run(root, "check", str(path))
        assert checked.exit_code == 0, checked.output
        assert server.key not in made.output + checked.output


def test_without_a_key_the_folder_is_written_and_the_reason_said(
    root: Path,
    wandb_home: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    made, path = new(root, "nanogpt-small/linked", "--wandb", REFS[0].url)
    assert made.exit_code == 0
    assert "evidence-unavailable" in made.output
    assert "claims" not in document(path)


def test_the_trainers_lists_of_steps_come_along_and_no_other(root: Path, logs: list[str]) -> None:
    folder = Path(logs[0]).parent
    (folder / "execution.json").write_text('{"schema_version": 1, "steps": {}}')
    _, path = new(root, "nanogpt-small/my-idea", "--log", str(folder))
    assert [p.name for p in path.glob("execution*")] == ["execution.json"]
    (folder / "execution.json").write_text('{"jobs": ["of another program"]}')
    _, path = new(root, "nanogpt-small/another", "--log", str(folder))
    assert list(path.glob("execution*")) == []


@pytest.mark.parametrize(
    "given, written",
    [("12", 12), ("#12", 12), ("https://github.com/example-org/x/issues/12", None), ("soon", "")],
)
def test_the_issue_that_announced_it(
    root: Path, logs: list[str], given: str, written: object
) -> None:
    folder = str(Path(logs[0]).parent)
    options = ("--log", folder, "--preregistration", given)
    made, path = new(root, "nanogpt-small/my-idea", *options)
    if written == "":
        assert made.exit_code == 2 and "write the number of an issue" in made.output
        assert not path.exists()
    else:
        assert document(path)["preregistration"] == (written or given)


def test_a_starter_comes_before_there_are_runs(root: Path) -> None:
    made, path = new(root, "nanogpt-small/my-idea", "--starter", "torch")
    assert made.exit_code == 0
    assert "Train with it" in made.output
    assert 'TRACK = "nanogpt-small"' in (path / "main.py").read_text()
    assert not (path / "submission.json").exists()


def test_code_is_copied_and_named(root: Path, logs: list[str], tmp_path: Path) -> None:
    source = tmp_path / "train_gpt.py"
    source.write_text("import this\n")
    made, path = new(root, "nanogpt-small/x", "--log", logs[0], "--code", str(source))
    assert made.exit_code == 0
    assert document(path)["code"] == {"path": "train_gpt.py"}
    assert (path / "train_gpt.py").read_bytes() == source.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no-such-track/x", "--log", "a"], "there is no track"),
        (["nanogpt-small/../x", "--log", "a"], "is not a valid name"),
        (["nanogpt-small/My Idea", "--log", "a"], "is not a valid name"),
        (["nanogpt-small", "--log", "a"], "is not TRACK/NAME, such as TRACK/my-idea"),
        (["nanogpt-small/x"], "nothing to submit"),
        (["nanogpt-small/x", "--log", "none.log"], "there is no such file"),
        (["nanogpt-small/x", "--results", "/dev/null"], "not a regular file"),
        (["nanogpt-small/x", "--wandb", "https://wandb.ai/e/p"], "a project, not one run"),
        (["nanogpt-small/x", "--wandb", "https://example.org/e/p/runs/r"], "example.org"),
        (["nanogpt-small/x", "--wandb", "e/p/r", "--author", "no login"], "not a GitHub login"),
    ],
)
def test_what_cannot_be_made_is_said_in_a_sentence(
    root: Path, arguments: list[str], says: str
) -> None:
    made = run(root, "new", *arguments)
    assert made.exit_code == 2
    assert says in made.output
    assert "Traceback" not in made.output
    assert not (root / "submissions").exists()


def test_a_submission_that_is_there_is_left_alone(root: Path, logs: list[str]) -> None:
    new(root, "nanogpt-small/x", "--log", logs[0])
    before = (root / "submissions/nanogpt-small/x/submission.json").read_bytes()
    made, path = new(root, "nanogpt-small/x", "--log", logs[1])
    assert made.exit_code == 2
    assert (path / "submission.json").read_bytes() == before


# ---- the loss under another name, and the baseline arm ------------------------------------------


def renamed(folder: Path, key: str, count: int = len(LOSSES)) -> Path:
    """The same runs, whose logs call the validation loss otherwise."""
    folder.mkdir()
    for n, loss in enumerate(LOSSES[:count]):
        lines = [f"Running on device_name=NVIDIA H100 80GB HBM3 with world_size=8\nseed: {n}\n"]
        lines += [
            f"step:{step}/1000 {key.format(n)}:{loss + (1000 - step) / 1000:.4f} "
            f"train_time:{60 * step}ms step_avg:60.00ms\n"
            for step in range(0, 1001, 250)
        ]
        (folder / f"run{n}.log").write_text("".join(lines))
    return folder


def test_a_loss_of_another_name_is_mapped_and_read(root: Path) -> None:
    folder = renamed(root / "out", "heldout_nats")
    made, path = new(
        root, "nanogpt-small/my-idea", "--log", str(folder), "--loss-key", "heldout_nats"
    )
    assert made.exit_code == 0, made.output
    value = document(path)
    assert value["keys"] == {"loss": "heldout_nats"}
    assert value["claims"]["loss"]["mean"] == pytest.approx(sum(LOSSES) / len(LOSSES))
    checked = run(root, "check", str(path), "--format", "json")
    verdict = json.loads(checked.output)["verdicts"][0]
    assert verdict["status"] == "needs-review" and checked.exit_code == 0
    assert "key-mapped" in {f["rule"] for f in verdict["findings"]}


def test_a_loss_of_its_own_is_claimed_under_its_name(root: Path) -> None:
    """Averaged weights: the usual loss is there too, so nothing is mapped."""
    folder = renamed(root / "out", "val_loss:3.4{} val_ema_loss")
    made, path = new(
        root, "nanogpt-small/my-idea", "--log", str(folder), "--loss-key", "val_ema_loss"
    )
    assert made.exit_code == 0, made.output
    value = document(path)
    assert "keys" not in value
    assert value["claims"]["val_ema_loss"]["mean"] == pytest.approx(sum(LOSSES) / len(LOSSES))


def test_a_loss_key_that_no_run_has_writes_nothing(root: Path, logs: list[str]) -> None:
    made, path = new(root, "nanogpt-small/x", "--log", logs[0], "--loss-key", "no_such")
    assert made.exit_code == 2 and "no run has this metric" in made.output
    assert not path.exists()


@pytest.mark.parametrize("kind", ["folder", "files"])
def test_runs_of_the_baseline_are_named(root: Path, logs: list[str], kind: str) -> None:
    base = Path(logs[3]).parent.parent / "main"
    base.mkdir()
    theirs = [Path(name).rename(base / Path(name).name) for name in logs[3:]]
    given = [base] if kind == "folder" else theirs
    options = [part for name in given for part in ("--baseline", str(name))]
    made, path = new(root, "nanogpt-small/x", "--log", str(Path(logs[0]).parent), *options)
    assert made.exit_code == 0, made.output
    arms = [entry.get("arm", "candidate") for entry in document(path)["runs"]]
    assert arms == ["candidate"] * 3 + ["baseline"] * 3
    assert "became the baseline arm" not in made.output


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("log-gz", "is compressed with gzip; run `gunzip`"),
        ("log-lfs-pointer", "is a Git LFS pointer"),
        ("log-tensor", "line 14 holds a tensor and not a number"),
    ],
)
def test_a_folder_without_a_readable_log_is_told_by_cause(
    root: Path, case: str, words: str
) -> None:
    made, path = new(root, "nanogpt-small/x", "--log", str(ROOT / "tests/golden/cases" / case))
    assert made.exit_code == 2 and not path.exists()
    assert words in made.output and "0.log" in made.output


def test_all_is_shown_on_demand(root: Path, logs: list[str]) -> None:
    short, path = new(root, "nanogpt-small/short", "--log", logs[0])
    full, _ = new(root, "nanogpt-small/full", "--log", logs[0], "-v")
    assert "With -v:" in short.output and "With -v:" not in full.output
    assert len(full.output.splitlines()) > len(short.output.splitlines())
