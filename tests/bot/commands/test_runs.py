"""`speedrun runs` and `speedrun stats` as people call them: shapes, words, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from bot.commands.runs import runs, stats
from tests.conftest import ROOT

LOGS = ROOT / "tests" / "bot" / "data" / "logs"
GOOD = ("3.2771", "3.2768", "3.2775", "3.2770", "3.2769")


def log(path: Path, loss: str, *, total: int = 300, last: int = 300, seed: int = 0) -> Path:
    lines = ["Running on device_name=NVIDIA H100 80GB HBM3 with world_size=8"]
    for step in (0, 150, last):
        value = loss if step == last else f"{9 - step / 100 + seed / 1000:.4f}"
        lines.append(f"step:{step}/{total} val_loss:{value} train_time:{step * 300}ms")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for seed, loss in enumerate(GOOD):
        log(tmp_path / "logs" / f"seed{seed}.log", loss, seed=seed)
    return tmp_path / "logs"


def call(command: Any, *args: object) -> Result:
    options = ["--root", str(ROOT)]
    return CliRunner().invoke(command, [*map(str, args), *options], catch_exceptions=False)


def answer(command: Any, *args: object) -> dict[str, Any]:
    return dict(json.loads(call(command, *args, "--format", "json").stdout))


# ---- runs --------------------------------------------------------------------------------------


def test_runs_gives_one_record_a_run() -> None:
    got = answer(runs, LOGS / "several.log", LOGS / "plain.log")
    assert got["schema_version"] == 1 and len(got["runs"]) == 3
    record = got["runs"][2]
    assert record["file"] == str(LOGS / "plain.log")
    keys = ("file", "index", "hardware", "gpu_count", "step", "total", "finished", "loss",
            "time_s", "val")  # fmt: skip
    assert set(keys) <= set(record)
    assert record["val"][-1] == [record["step"], record["loss"], record["time_s"]]
    assert [r["index"] for r in got["runs"]] == [0, 1, 0]


def test_runs_in_words_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(
        "step:0/300 val_loss:9.0 train_time:9s\nstep:150/300 val_loss:4.0 train_time:8s\n"
    )
    got = call(runs, path)
    assert got.exit_code == 0
    first, second = got.stdout.splitlines()
    assert first.endswith(": loss 4 at step 150 of 300, 8.000 s, not finished")
    assert second.startswith("  clock-not-monotonic: the clock falls")


def test_what_cannot_be_read_is_named_and_the_rest_is_read(folder: Path) -> None:
    (folder / "notes.md").write_text("hello")
    (folder / "broken.json").write_text("{")
    (folder / "empty.txt").write_text("nothing here\n")
    (folder / "link.log").symlink_to("/etc/hostname")
    got = call(runs, folder, folder / "missing.log")
    assert got.exit_code == 0 and len(got.stdout.splitlines()) == 5
    said = got.stderr
    assert f"{folder}/notes.md: not a log, a .wandb file or a results file" in said
    assert f"{folder}/empty.txt: holds no line with a step and a loss; give the log" in said
    assert f"{folder}/missing.log: there is no such file" in said
    why = {Path(s["file"]).name: s["why"] for s in answer(runs, folder)["skipped"]}
    assert "holds no line with a step and a loss; give the log" in why["empty.txt"]
    assert ";" not in why["notes.md"], "nothing to be done about it"
    assert "broken.json" in said and "link.log" not in said


def test_nothing_to_read_is_a_failure(tmp_path: Path) -> None:
    assert call(runs, tmp_path).exit_code == 2
    assert call(runs, tmp_path / "no.log").exit_code == 2


def test_a_file_that_is_too_large_is_named(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    with path.open("wb") as file:
        file.truncate(20_000_001)
    got = call(runs, path)
    assert (
        got.exit_code == 2 and "20,000,001 bytes, more than the limit of 20,000,000" in got.stderr
    )


def test_results_files_are_runs_too(tmp_path: Path) -> None:
    results = sorted((ROOT / "submissions" / "fineweb-edu").rglob("speedrun_results*.json"))[0]
    got = answer(runs, results)
    assert got["runs"][0]["source"] == "results"


def test_a_link_without_a_key_is_a_failure_on_our_side(monkeypatch: pytest.MonkeyPatch,
                                                       tmp_path: Path) -> None:  # fmt: skip
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    got = call(runs, "https://wandb.ai/entity/project/runs/abc")
    assert got.exit_code == 3 and "wandb.ai/entity/project/runs/abc" in got.stderr


def test_a_link_that_is_no_run_is_named() -> None:
    got = call(runs, "https://wandb.ai/entity/project/reports/x--Vmlldzox")
    assert got.exit_code == 2 and "skipped https://wandb.ai/" in got.stderr


# ---- stats -------------------------------------------------------------------------------------


def test_stats_has_the_published_shape(folder: Path) -> None:
    got = answer(stats, "--track", "nanogpt-small", folder)
    keys = {"n", "values", "mean", "sd", "interval", "test", "statistic", "p", "p_sigma",
            "p_pooled", "p_without_best", "alpha", "passes", "needed_runs", "excluded", "cost",
            "baseline"}  # fmt: skip
    assert keys <= set(got)
    assert got["n"] == 5 and got["passes"] is True and got["needed_runs"] == 0
    assert got["mean"] == pytest.approx(3.27706)
    assert got["cost"]["n"] == 5 and got["cost"]["mean"] == 90.0 and got["cost"]["sd"] == 0.0
    assert got["baseline"] is None and got["excluded"] == []


def test_stats_in_words_and_exit_codes(folder: Path, tmp_path: Path) -> None:
    got = call(stats, "--track", "nanogpt-small", folder)
    assert got.exit_code == 0
    assert got.stdout.startswith(
        "5 runs, mean 3.2771 ± 0.0003: below 3.28 with p = 0.000008. Passes."
    )
    one = call(stats, "--track", "nanogpt-small", folder / "seed0.log")
    assert one.exit_code == 1 and "one run proves nothing" in one.stdout
    (tmp_path / "none").mkdir()
    none = call(stats, "--track", "nanogpt-small", tmp_path / "none")
    assert none.exit_code == 2 and "No run counts." in none.stdout


def test_stats_names_what_it_leaves_out(folder: Path) -> None:
    copy = folder / "zz_copy.log"
    copy.write_bytes((folder / "seed0.log").read_bytes())
    log(folder / "short.log", "3.2", last=200, seed=9)
    got = answer(stats, "--track", "nanogpt-small", folder)
    assert got["n"] == 5
    assert {e["file"]: e["why"] for e in got["excluded"]} == {
        str(copy): f"the same run as {folder / 'seed0.log'}",
        str(folder / "short.log"): "it did not finish: it stopped at step 200 of 300",
    }


def test_a_step_takes_runs_that_stopped_there(tmp_path: Path) -> None:
    for seed in range(4):
        log(tmp_path / f"{seed}.log", f"3.27{seed}5", total=400, seed=seed)
    without = answer(stats, "--track", "nanogpt-optimization", tmp_path)
    assert without["n"] == 0 and "--step 300" in without["hint"]
    got = answer(stats, "--track", "nanogpt-optimization", "--step", 300, tmp_path)
    assert (got["n"], got["step"], got["passes"]) == (4, 300, True)


def test_another_metric_can_be_taken() -> None:
    path = LOGS / "tokens_between.log"
    plain = answer(stats, "--track", "nanogpt-optimization", "--step", 2765, path)
    other = answer(
        stats, "--track", "nanogpt-optimization", "--step", 2765, "--loss-key", "val_ema_loss", path
    )
    assert plain["n"] == other["n"] == 1
    assert plain["mean"] != other["mean"] and other["metric"] == "val_ema_loss"


def test_a_baseline_that_is_not_there_is_no_pass(folder: Path) -> None:
    result = call(stats, "--track", "nanogpt-small", folder, "--baseline", folder / "none.log")
    assert result.exit_code == 2
    assert "--baseline names no run, so nothing was compared" in result.output


def test_a_baseline_is_compared(folder: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    for seed in range(3):
        path = log(base / f"{seed}.log", "3.2781", seed=seed + 20)
        path.write_text(path.read_text().replace(":90000ms", f":{100000 + seed}ms"))
    got = answer(stats, "--track", "nanogpt-small", folder, "--baseline", base)["baseline"]
    assert got["n"] == 3 and got["ratio"] == pytest.approx(0.9, rel=1e-4)
    assert got["passes"] is True and got["ratio_interval"][0] < 0.9


def test_a_pattern_that_spills_from_the_baseline_is_told(folder: Path, tmp_path: Path) -> None:
    """A shell makes several words of `base*.log`, and an option takes one."""
    files = [log(tmp_path / f"baseline{n}.log", "3.2781", seed=n + 20) for n in range(2)]
    got = call(stats, "--track", "nanogpt-small", folder, "--baseline", files[0], files[1])
    assert f"{files[1]} and other files named baseline were counted as your own runs" in got.stderr
    twice = call(
        stats, "--track", "nanogpt-small", folder, "--baseline", files[0], "--baseline", files[1]
    )
    assert "named baseline" not in twice.stderr


def test_an_unknown_track_is_a_usage_error_that_lists_the_known(folder: Path) -> None:
    got = call(stats, "--track", "nanogpt-large", folder)
    assert got.exit_code == 2
    assert 'no track "nanogpt-large"' in got.stderr and "nanogpt-small" in got.stderr


def test_a_broken_track_file_is_a_usage_error(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tracks").mkdir()
    (tmp_path / "tracks" / "x.toml").write_text("id = ")
    args = [str(folder), "--track", "x", "--root", str(tmp_path)]
    got = CliRunner().invoke(stats, args)
    assert got.exit_code == 2 and "x.toml: not readable as TOML" in got.stderr


def test_reading_logs_loads_no_heavy_library() -> None:
    code = (
        "import sys; from bot.commands.runs import runs\n"
        "runs.main(sys.argv[1:], standalone_mode=False)\n"
    )
    probe = (
        f"import sys\ntry:\n exec({code!r})\nexcept SystemExit: pass\n"
        "print(sorted({'scipy','wandb','pandas','numpy','torch'} & set(sys.modules)),"
        " file=sys.stderr)"
    )
    args = [sys.executable, "-c", probe, str(LOGS / "plain.log")]
    got = subprocess.run(args, capture_output=True, text=True, check=True, cwd=ROOT)
    assert got.stderr.strip() == "[]"


# ---- stats, new and check agree ------------------------------------------------------------------


def with_baseline(tmp_path: Path) -> Path:
    """Five runs, and three of the baseline beside them, as the trainer leaves them."""
    runs = tmp_path / "both"
    for seed in range(5):
        log(runs / f"candidate/{seed}.log", f"3.27{60 + seed}", seed=seed)
    for seed in range(3):
        log(runs / f"baseline/{seed}.log", f"3.27{80 + seed}", seed=seed + 20)
    return runs


def test_logs_named_baseline_are_an_arm_of_their_own(tmp_path: Path) -> None:
    got = answer(stats, "--track", "nanogpt-small", with_baseline(tmp_path))
    assert (got["n"], got["baseline"]["n"]) == (5, 3)
    assert got["mean"] == pytest.approx(3.2762)


def test_logs_of_the_baseline_alone_are_runs_like_others(tmp_path: Path) -> None:
    got = answer(stats, "--track", "nanogpt-small", with_baseline(tmp_path) / "baseline")
    assert got["n"] == 3 and got["baseline"] is None


def test_stats_new_and_check_find_the_same_p(tmp_path: Path) -> None:
    both = with_baseline(tmp_path)
    (tmp_path / "tracks").symlink_to(ROOT / "tracks")
    root = ["--root", str(tmp_path)]
    made = CliRunner().invoke(main, ["new", "nanogpt-small/x", "--log", str(both), *root])
    assert made.exit_code == 0, made.output
    folder = tmp_path / "submissions/nanogpt-small/x"
    checked = CliRunner().invoke(main, ["check", str(folder), "--format", "json", *root])
    verdict = json.loads(checked.output)["verdicts"][0]
    claimed = json.loads((folder / "submission.json").read_text())["claims"]["loss"]
    loose, inside = (answer(stats, "--track", "nanogpt-small", at) for at in (both, folder))
    for key in ("n", "mean", "p"):
        found = {claimed[key], loose[key], inside[key], verdict["statistics"][key]}
        assert len(found) == 1, (key, found)
    assert loose["baseline"]["n"] == inside["baseline"]["n"] == 3


def test_runs_that_the_submission_does_not_list_do_not_count(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    for seed in range(4):
        log(folder / f"logs/{seed}.log", f"3.27{60 + seed}", seed=seed)
    listed = [{"source": "log", "path": f"logs/{seed}.log"} for seed in range(3)]
    listed[2]["arm"] = "baseline"
    text = {"schema_version": 1, "track": "nanogpt-small", "title": "x", "runs": listed}
    (folder / "submission.json").write_text(json.dumps(text))
    got = answer(stats, "--track", "nanogpt-small", folder)
    assert got["n"] == 2 and got["values"] == [3.276, 3.2761]


def falling(path: Path) -> None:
    """The clock of the last line goes back."""
    path.write_text(path.read_text().replace("train_time:90000ms", "train_time:100ms"))


def test_what_check_rejects_does_not_pass(folder: Path) -> None:
    for path in folder.iterdir():
        falling(path)
    got = call(stats, "--track", "nanogpt-small", folder)
    assert got.exit_code == 1
    assert "`speedrun check` rejects these runs: clock-not-monotonic: " in got.stdout
    assert answer(stats, "--track", "nanogpt-small", folder)["refused"]


def test_a_loss_key_reads_both_arms(tmp_path: Path) -> None:
    for arm, loss in (("candidate", 3.2761), ("baseline", 3.2791)):
        for seed in range(3):
            path = log(tmp_path / f"runs/{arm}/{seed}.log", f"{loss + seed / 1e4:.4f}", seed=seed)
            path.write_text(path.read_text().replace("val_loss:", "heldout_nats:"))
    arms = [tmp_path / "runs/candidate", "--baseline", tmp_path / "runs/baseline"]
    got = answer(stats, "--track", "nanogpt-small", "--loss-key", "heldout_nats", *arms)
    assert got["n"] == 3 and got["mean"] == pytest.approx(3.2762)
    assert got["baseline"]["n"] == 3


def test_another_metric_of_both_arms(tmp_path: Path) -> None:
    """Averaged weights: the arms are compared by it where both have it, else by the usual loss."""
    ours, theirs, plain = tmp_path / "ours", tmp_path / "theirs", tmp_path / "plain"
    for folder, loss, key in (
        (ours, 3.2761, "val_loss:3.4{} val_ema_loss:"),
        (theirs, 3.2791, "val_loss:3.5{} val_ema_loss:"),
        (plain, 3.2785, "val_loss:"),
    ):
        for seed in range(3):
            path = log(folder / f"{seed}.log", f"{loss + seed / 1e4:.4f}", seed=seed + len(key))
            path.write_text(path.read_text().replace("val_loss:", key.format(seed)))
    options = ["--track", "nanogpt-small", "--loss-key", "val_ema_loss", ours, "--baseline"]
    both, usual = (answer(stats, *options, base) for base in (theirs, plain))
    assert both["metric"] == usual["metric"] == "val_ema_loss"
    assert both["mean"] == usual["mean"] == pytest.approx(3.2762)
    assert both["baseline"]["mean"] == pytest.approx(3.2792)
    assert usual["baseline"]["mean"] == pytest.approx(3.2786)
