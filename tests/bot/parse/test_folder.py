"""Reading from disk: limits, links, devices; and what a folder without submission.json says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bot.model.submission import MAX_FILES, Folder
from bot.parse.folder import ReadError, parse_submission, read_path
from bot.parse.track_toml import load_tracks
from tests.conftest import ROOT
from tests.corpus.variants import GOOD

TRACKS = load_tracks(ROOT)
RESULTS = (GOOD / "v4.json").read_bytes()


def test_a_folder_is_read_as_bytes_with_its_path_below_the_root(tmp_path: Path) -> None:
    entry = tmp_path / "submissions" / "fineweb-edu" / "x"
    (entry / "logs").mkdir(parents=True)
    (entry / "speedrun_results.json").write_bytes(RESULTS)
    (entry / "logs" / "a.log").write_bytes(b"step:1/2 val_loss:3.0\n")
    (entry / "__pycache__").mkdir()
    (entry / "__pycache__" / "x.pyc").write_bytes(b"\0")
    folder = read_path(entry, tmp_path)
    assert folder.path == "submissions/fineweb-edu/x" and not folder.bare
    assert sorted(folder.files) == ["logs/a.log", "speedrun_results.json"]
    assert folder.full("logs/a.log") == "submissions/fineweb-edu/x/logs/a.log"


def test_links_pipes_and_what_is_too_large_are_skipped_and_named(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("x")
    (tmp_path / "link.md").symlink_to("/etc/passwd")
    (tmp_path / "below").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe.log")
    with (tmp_path / "big.json").open("wb") as file:
        file.truncate(1_000_001)
    with (tmp_path / "big.log").open("wb") as file:
        file.truncate(20_000_001)
    folder = read_path(tmp_path, tmp_path.parent)
    assert set(folder.files) == {"good.md"}
    assert {name: why.partition(", at most")[0] for name, why in folder.skipped.items()} == {
        "link.md": "a symbolic link",
        "below": "a symbolic link",
        "pipe.log": "not a regular file",
        "big.json": "it has 1,000,001 bytes",
        "big.log": "it has 20,000,001 bytes",
    }


def test_no_more_files_than_the_limit(tmp_path: Path) -> None:
    for index in range(MAX_FILES + 3):
        (tmp_path / f"{index:03}.md").write_text("x")
    folder = read_path(tmp_path, tmp_path)
    assert len(folder.files) == MAX_FILES and len(folder.skipped) == 3


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        missing = tmp_path / "gone"
        with pytest.raises(ReadError, match="no such file"):
            read_path(missing, tmp_path)
        return
    path = tmp_path / "secret.json"
    path.write_text("{}")
    path.chmod(0)
    with pytest.raises(ReadError, match="permission denied"):
        read_path(path, tmp_path)


def test_a_folder_without_submission_json_says_it_by_its_files() -> None:
    files = {
        "speedrun_results.json": RESULTS,
        "logs/a.log": b"",
        "notes.txt": b"",
        "b.py": b"",
        "config.json": b"{}",
    }
    parsed = parse_submission(Folder("experiments/speedrun/a/130m", files), TRACKS)
    assert parsed.track is not None and parsed.track.id == "fineweb-edu"
    assert [(s.source, s.target) for s in parsed.submission.runs] == [
        ("results", "speedrun_results.json"),
        ("log", "logs/a.log"),
        ("log", "notes.txt"),
    ]
    assert set(parsed.documents) == {"speedrun_results.json"}


def test_only_what_is_listed_is_read_where_there_is_a_list() -> None:
    listed = {
        "schema_version": 1,
        "track": "fineweb-edu",
        "title": "x",
        "contributors": [{"github": "example-user", "roles": ["idea", "nonsense"]}],
        "runs": [{"source": "results", "path": "a.json", "seed": 3, "pair": 1}],
        "claims": {"bpb": {"mean": 1.1, "sd": 0.1, "n": 3, "p": 0.01}, "loss": 3},
    }
    files = {
        "submission.json": json.dumps(listed).encode(),
        "a.json": RESULTS,
        "old_results.json": b"not json",
    }
    parsed = parse_submission(Folder("submissions/fineweb-edu/suite/130m", files), TRACKS)
    submission = parsed.submission
    assert set(parsed.documents) == {"submission.json", "a.json"}
    assert parsed.problems == () and submission.name == "suite/130m"
    assert submission.contributors[0].roles == ("idea",)
    (spec,) = submission.runs
    assert (spec.seed, spec.pair, spec.pointer, spec.arm) == (3, "1", "/runs/0", "candidate")
    mean, bare = submission.claims
    assert (mean.value, mean.sd, mean.n, mean.p, mean.scalar) == (1.1, 0.1, 3, 0.01, False)
    assert (bare.metric, bare.value, bare.scalar) == ("loss", 3.0, True)
    assert bare.pointer == "/claims/loss"
