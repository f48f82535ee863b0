"""Record folders with logs: arms, doubts, groups files, trimming."""

import json
from pathlib import PurePosixPath

import pytest
from click.testing import CliRunner

from bot.commands.importing import import_
from bot.evidence.log.training_log import read_log
from bot.importers import SourceError
from bot.importers.arms import LogFile, sort_into_arms
from bot.importers.modded_nanogpt import _folders
from bot.importers.trim import trim
from bot.patterns import SLUG
from tests.bot.importers.nanogpt_cases import (
    FOLDER,
    arms_of,
    log,
    only,
    put,
    read,
)
from tests.conftest import full_run, some


def test_a_record_becomes_a_submission(tmp_path):
    put(tmp_path, **{FOLDER + "this_pr/a1.txt": log(1), FOLDER + "baseline/b1.txt": log(2)})
    item = only(read(tmp_path))
    data = json.loads(item.files["submission.json"])
    assert item.path.startswith("nanogpt-small/2025-12-21_smoothedscalars-")
    assert data["title"] == "SmoothedScalars"
    assert data["hardware"] == {"accelerator": "h100-sxm", "count": 8}
    assert arms_of(item) == {"candidate": {"a1"}, "baseline": {"b1"}}
    assert data["imported"] == {
        "url": f"https://github.com/example/board/tree/{'c' * 40}/{FOLDER.rstrip('/')}",
        "commit": "c" * 40,
        "name": "2025-12-21_SmoothedScalars",
        "path": FOLDER.rstrip("/"),
        "date": "2025-12-21",
    }


def test_code_and_environment_stay_out(tmp_path):
    put(tmp_path, **{FOLDER + "a1.txt": log(1)})
    text = only(read(tmp_path)).files["logs/a1.log"].decode()
    assert text.splitlines()[:2] == [
        "Running PyTorch 2.10.0 compiled for CUDA 12.6",
        "device: NVIDIA H100 80GB HBM3",
    ]
    for private in ("somebody", "import os", "train_loss", "Driver", "{"):
        assert private not in text
    assert text.count("val_loss") == 5


def test_a_trimmed_log_reads_as_the_log_itself(tmp_path):
    raw = log(1).encode()
    (full,) = read_log(raw, "a.txt")
    (short,) = read_log(trim(LogFile("a.txt", raw, (full,))), "a.log")
    assert short.validation == full.validation
    assert (short.hardware.device, short.hardware.count) == ("NVIDIA H100 80GB HBM3", 8)
    assert short.code_sha256 == full.code_sha256 != {}
    assert short.finished is True


def test_printed_digits_and_further_tokens_stay(tmp_path):
    line = "step:125/125 val_loss:3.2790 val_ema_loss:3.27000 train_time:478.100s step_avg:1.50ms\n"
    put(tmp_path, **{FOLDER + "a1.txt": "noise " + line + line})
    assert line in only(read(tmp_path)).files["logs/a1.log"].decode()


def test_llm_c_logs_keep_their_validation(tmp_path):
    text = "".join(f"s:{s} trl:3.9 lr:0.1 norm:1.0\ns:{s} tel:3.{500 - s}\n" for s in (0, 128, 256))
    put(tmp_path, **{FOLDER + "main.log": text})
    kept = only(read(tmp_path)).files["logs/main.log"].decode()
    assert kept == "s:0 tel:3.500\ns:128 tel:3.372\ns:256 tel:3.244\n"


def test_files_beside_the_folders_of_the_steps_track_are_records(tmp_path):
    base = "records/track_3_optimization/results/"
    put(tmp_path, **{base + "7b8270c5.txt": log(1), base + "20260501_muon/x.txt": log(2)})
    names = {item.path for item in read(tmp_path).submissions}
    assert names == {"nanogpt-optimization/7b8270c5", "nanogpt-optimization/20260501_muon"}


README = """\
# Records

| # | Record time | Description | Date | Log | Contributors |
| - | - | - | - | - | - |
51 | 2.100 minutes | [A | b](https://example.org) | 12/20/25 | [log](records/x/y.txt) | @someone
52 | 2.037 minutes | [Words](https://example.org) that stay out | 12/21/25 | \
[log](records/track_1_short/2025-12-21_SmoothedScalars/this_pr/a1.txt), \
[PR](https://github.com/example/board/pull/177) | [@one](https://github.com/example-user), @two
"""


def test_the_readme_table_gives_number_time_and_people(tmp_path):
    put(tmp_path, **{FOLDER + "this_pr/a1.txt": log(1), "README.md": README})
    result = read(tmp_path)
    data = json.loads(only(result).files["submission.json"])
    assert {k: v for k, v in data["imported"].items() if k not in ("url", "commit", "path")} == {
        "name": "2025-12-21_SmoothedScalars",
        "date": "2025-12-21",
        "number": 52,
        "time_s": 122.22,
        "time_resolution_s": 0.03,
        "pull_requests": [177],
        "authors": [{"name": "one", "github": "example-user"}, {"name": "two"}],
    }
    assert "stay out" not in json.dumps(data)
    inside = read(tmp_path / "records/track_1_short")
    assert inside.submissions == result.submissions


def test_the_table_names_the_subfolder_that_counts(tmp_path):
    base = "records/track_3_optimization/results/20260508_sweep/"
    slow, fast = base + "b95/s{}.txt", base + "b90/s{}.txt"
    head = "| # | Steps to 3.28 | Evidence | Date | Log |\n| - | - | - | - | - |\n"
    put(
        tmp_path,
        **{
            **{slow.format(n): log(n, ms=70.0) for n in (1, 2)},
            **{fast.format(n): log(n + 4) for n in (1, 2)},
            "records/track_3_optimization/README.md": head
            + "| 19 | 1000(!) | 3.2780 (n=2) | 2026/05/08 "
            "| [log](results/20260508_sweep/b95/s1.txt) |",
        },
    )
    result = read(tmp_path)
    data = json.loads(only(result).files["submission.json"])
    assert {run["path"] for run in data["runs"]} == {"logs/b95/s1.log", "logs/b95/s2.log"}
    assert data["claims"] == {"loss": {"mean": 3.278, "n": 2}, "steps": 1000}
    assert data["imported"]["number"] == 19
    assert "groups of logs apart" in result.doubts[0][1]


def test_logs_that_differ_in_their_suffix_stay_apart(tmp_path):
    put(tmp_path, **{FOLDER + "a.txt": log(1), FOLDER + "a.log": log(2), FOLDER + "a.out": log(3)})
    item = only(read(tmp_path))
    paths = [run["path"] for run in json.loads(item.files["submission.json"])["runs"]]
    assert len(set(paths)) == len(item.files) - 1 == 3


def test_hostile_names_stay_inside_the_folder(tmp_path):
    bad = FOLDER + "this_pr/$(touch x) <b>\u202e.txt"
    put(tmp_path, **{bad: log(1), FOLDER.replace("Smoothed", "..%2f") + "a.txt": log(2)})
    for item in read(tmp_path).submissions:
        for name in (item.path, *item.files):
            parts = PurePosixPath(name).with_suffix("").parts
            assert all(SLUG.fullmatch(part) for part in parts)


def test_runs_in_a_folder_each_are_one_group(tmp_path):
    put(tmp_path, **{FOLDER + f"seed{n}/out.txt": log(n) for n in range(4)})
    result = read(tmp_path)
    assert len(json.loads(only(result).files["submission.json"])["runs"]) == 4
    assert result.doubts == ()


def test_a_common_early_stop_is_the_step_claimed(tmp_path):
    base = "records/track_3_optimization/results/20260611_tail/"
    put(tmp_path, **{base + f"{n}.txt": log(n, total=1500, end=1250) for n in (1, 2)})
    result = read(tmp_path)
    data = json.loads(only(result).files["submission.json"])
    assert data["claims"] == {"steps": 1250}
    assert "stop early, at step 1250" in result.doubts[0][1]


def test_the_source_may_be_the_track_folder_itself(tmp_path):
    put(tmp_path, **{FOLDER + "a.txt": log(1)})
    inside = read(tmp_path / "records/track_1_short")
    assert inside.submissions == read(tmp_path).submissions


def test_a_tree_without_logs_is_refused(tmp_path):
    put(tmp_path, **{FOLDER + "requirements.txt": "torch\n"})
    with pytest.raises(SourceError, match="holds no logs under track_1_short"):
        read(tmp_path)


def test_the_command_reports(tmp_path):
    src = put(tmp_path / "src", **{FOLDER + "a.txt": log(1), FOLDER + "meta.txt": "x"})
    answer = CliRunner().invoke(
        import_, ["modded-nanogpt", str(src), "--out", str(tmp_path / "out")]
    )
    assert answer.exit_code == 0
    assert "meta.txt: it holds no validation line" in answer.output
    assert "1 submissions under" in answer.output


@pytest.fixture(scope="module")
def folders(golden):
    """The published logs, by folder: of one record in four, and of all in a full run."""
    found = {}
    for record in some(sorted((golden / "nanogpt/logs").glob("track_*/*")), 4):
        found |= _folders(record, [])
    return found


@pytest.mark.more
def test_every_published_log_keeps_its_points(folders):
    found = [item for logs in folders.values() for item in logs]
    assert len(found) > 900 / (1 if full_run() else 6)
    for item in some(found, 4):
        trimmed = trim(item)
        assert trimmed is not None, item.path
        assert [r.validation for r in read_log(trimmed, "x")] == list(item.series)


@pytest.mark.more
def test_arms_read_from_names_are_the_published_ones(golden, folders):
    """Where this program decides without doubt it decides as the records were grouped by hand."""
    truth = json.loads((golden / "nanogpt/truth.json").read_text())
    wrong, sure = [], 0
    for folder, record in truth["records"].items():
        if folder not in folders and not full_run():
            continue
        arms, _, doubts = sort_into_arms(folders[folder], None)
        if doubts or "claimed" not in record["groups"]:
            continue
        sure += 1
        stems = {PurePosixPath(g.path).stem for g in arms["candidate"]}
        claimed = {PurePosixPath(n).stem for n in record["groups"]["claimed"]["logs"]}
        if not claimed <= stems:
            wrong.append(folder)
    assert wrong == []
    assert sure > 55 / (1 if full_run() else 6)
