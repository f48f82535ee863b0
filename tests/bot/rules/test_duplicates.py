"""Across submissions: one run once, and numbers of one's own."""

from __future__ import annotations

import dataclasses as dc
import json
import re
from pathlib import Path
from typing import Any

import pytest

from bot.compute.duplicates import claims_key, link_key
from bot.evidence.neighbours import as_neighbour, log_keys
from bot.model.case import Context, PullRequest
from bot.model.submission import Folder
from bot.model.verdict import Verdict
from bot.parse.folder import parse_submission
from bot.registry import Level, Status
from bot.repository import same_file
from bot.verify import verify
from tests.bot.rules.duplicate_cases import LOGS, OTHER_RUN, TRACKS, log_folder, rules
from tests.conftest import ROOT
from tests.corpus.variants import Change, both, changed, put, scaled

OTHER_AUTHOR = put(author__name="Somebody Else")
OTHER_TIME = both(scaled("training_time", 1.01), scaled("training_hardware_flops", 1.01))


def nothing(info: dict[str, Any]) -> None:
    """Leaves the file as it is."""


def judged(change: Change, neighbour: Change, merged: bool = False) -> Verdict:
    """The verdict on one file beside another."""
    folders = [
        Folder(path, {"r.json": changed("v4", c)}, bare=True)
        for path, c in (("mine.json", change), ("theirs.json", neighbour))
    ]
    parsed = parse_submission(folders[1], TRACKS, "fineweb-edu")
    beside = as_neighbour(parsed.submission, "fineweb-edu", parsed.results, folders[1])
    return verify(
        folders[0],
        TRACKS,
        track_id="fineweb-edu",
        context=Context(neighbours=(beside,), merged=merged),
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (nothing, {"duplicate-run"}),
        (
            put(wandb_run_link="https://wandb.ai/example-user/marin/runs/v4-run?nw=x"),
            {"duplicate-run"},
        ),
        (OTHER_AUTHOR, {"duplicate-run", "copied-result"}),
        (OTHER_RUN, {"copied-result"}),
        (both(OTHER_RUN, OTHER_AUTHOR), {"copied-result"}),
        (both(OTHER_RUN, OTHER_TIME), set()),
        (OTHER_TIME, {"duplicate-run"}),
        (both(OTHER_RUN, put(bpb=1.1761)), set()),
    ],
)
def test_duplicates_and_copies(change: Change, expected: set[str]) -> None:
    verdict = judged(change, nothing)
    assert rules(verdict) == expected, [f.message for f in verdict.findings]
    assert verdict.status is (Status.REJECTED if expected else Status.CONSISTENT)
    for finding in verdict.findings:
        assert "theirs.json" in finding.message and finding.line


def test_a_pair_that_is_merged_already_warns() -> None:
    verdict = judged(nothing, nothing, merged=True)
    assert verdict.status is Status.NEEDS_REVIEW
    assert {f.level for f in verdict.findings} == {Level.WARNING}


def test_a_submission_is_no_neighbour_of_itself() -> None:
    folder = Folder("mine.json", {"r.json": changed("v4", nothing)}, bare=True)
    parsed = parse_submission(folder, TRACKS, "fineweb-edu")
    self_ = as_neighbour(parsed.submission, "fineweb-edu", parsed.results, folder)
    assert (
        verify(
            folder, TRACKS, track_id="fineweb-edu", context=Context(neighbours=(self_,))
        ).findings
        == ()
    )


def test_one_link_in_a_results_file_and_in_the_list_is_one_run() -> None:
    link = "https://wandb.ai/example-user/marin/runs/v4-run"
    listed: dict[str, Any] = {
        "schema_version": 1,
        "track": "fineweb-edu",
        "title": "x",
        "contributors": [{"github": "example-user"}],
        "runs": [{"source": "wandb", "link": link}, {"source": "results", "path": "r.json"}],
    }
    folder = Folder(
        "submissions/fineweb-edu/x",
        {"submission.json": json.dumps(listed).encode(), "r.json": changed("v4", nothing)},
    )
    assert "duplicate-run" not in rules(verify(folder, TRACKS))


def test_a_kind_of_evidence_that_the_track_does_not_take() -> None:
    made = changed("v4", put(val_loss=3.27))
    folder = Folder("submissions/nanogpt-small/x", {"speedrun_results.json": made})
    found = [f for f in verify(folder, TRACKS).findings if f.rule == "schema"]
    assert any("the track accepts runs from log or wandb" in f.message for f in found)


def test_runs_of_another_entry_are_told_at_once_and_by_their_names_here() -> None:
    logs = [(LOGS / name).read_bytes() for name in ("plain.log", "console.log")]
    theirs = log_folder("theirs", *logs)
    parsed = parse_submission(theirs, TRACKS)
    beside = as_neighbour(parsed.submission, "nanogpt-small", parsed.results, theirs)
    verdict = verify(log_folder("mine", *logs), TRACKS, context=Context(neighbours=(beside,)))
    (found,) = (f for f in verdict.findings if f.rule == "duplicate-run")
    assert re.fullmatch(
        r"[01]\.log and 1 more run are also in submissions/nanogpt-small/theirs", found.message
    )
    assert found.pointer in ("/runs/0", "/runs/1") and found.line


def test_one_run_twice_in_a_file_is_said_once_and_counted_from_one() -> None:
    value = json.loads(changed("v4", nothing))
    value["runs"] *= 2
    folder = Folder("mine.json", {"mine.json": json.dumps(value).encode()}, bare=True)
    verdict = verify(folder, TRACKS, track_id="fineweb-edu")
    assert [f.message for f in verdict.findings if f.rule == "duplicate-run"] == [
        "run 2 of mine.json is the same run as run 1 of mine.json"
    ]


def test_keys() -> None:
    assert link_key("https://wandb.ai/e/p/runs/r?nw=x") == link_key("wandb.ai/e/p/runs/r")
    assert link_key("https://example.org/e/p/runs/r") is None and link_key(None) is None
    assert log_keys(b"no losses here") == ()
    assert claims_key(()) is None


def test_versions_of_one_file() -> None:
    assert same_file("a/results.json@0123abcd.json", "a/results.json@89abcdef.json")
    assert not same_file("a/results.json@0123abcd.json", "b/results.json@0123abcd.json")
    assert not same_file("a/results.json", "a/results2.json") and same_file("a", "a")


@pytest.mark.full("judges every published file")
def test_the_pairs_among_the_real_files(golden: Path) -> None:
    import subprocess
    import sys

    folder = golden / "marin"
    rows = json.loads((folder / "truth.json").read_text(encoding="utf-8"))["files"]
    paths = [str(folder / "results" / row["file"]) for row in rows]
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from bot.cli import main; main()",
            "check",
            *paths,
            "--track",
            "fineweb-edu",
            "--format",
            "json",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    for row, verdict in zip(rows, json.loads(done.stdout)["verdicts"], strict=True):
        across = {f["rule"] for f in verdict["findings"]} & {"duplicate-run", "copied-result"}
        assert across == set(row["expected_across_files"]), row["file"]
        errors = {f["rule"] for f in verdict["findings"] if f["level"] == "error"}
        assert errors - across == set(row["errors"]), row["file"]


COPY = both(OTHER_RUN, OTHER_TIME)
SHORT = put(bpb=1.17614)


@pytest.mark.parametrize(("change", "theirs", "expected"), [
    (both(COPY, OTHER_AUTHOR), nothing, {"copied-result"}),
    (both(COPY, OTHER_AUTHOR, put(bpb=1.17614222)), nothing, {"copied-result"}),
    (both(COPY, OTHER_AUTHOR, put(bpb=1.176142)), nothing, {"copied-result"}),
    (both(COPY, OTHER_AUTHOR, put(bpb=1.1761435)), nothing, {"copied-result"}),
    (both(COPY, OTHER_AUTHOR, put(bpb=1.1761475)), nothing, set()),
    (both(COPY, OTHER_AUTHOR, SHORT), SHORT, set()),
    (COPY, nothing, set()),
])  # fmt: skip
def test_the_digits_of_quality_are_a_copy_whatever_else_differs(
    change: Change, theirs: Change, expected: set[str]
) -> None:
    verdict = judged(change, theirs)
    assert rules(verdict) == expected
    # The same code and seed on the same kind of chip may do it: a maintainer looks.
    assert verdict.status is (Status.NEEDS_REVIEW if expected else Status.CONSISTENT)


def test_a_name_in_a_file_does_not_make_its_author() -> None:
    """A copy that keeps the author's name and gives a page of one's own."""
    page = put(author__url="https://github.com/example-user")
    theirs = Folder("theirs.json", {"r.json": changed("v4", nothing)}, bare=True)
    parsed = parse_submission(theirs, TRACKS, "fineweb-edu")
    beside = as_neighbour(parsed.submission, "fineweb-edu", parsed.results, theirs)
    mine = Folder("mine.json", {"r.json": changed("v4", both(COPY, page))}, bare=True)
    request = PullRequest(1, "example-user", changed_paths=("mine.json",))
    asked = verify(
        mine,
        TRACKS,
        track_id="fineweb-edu",
        context=Context(neighbours=(beside,), pull_request=request),
    )
    assert rules(asked) == {"copied-result"} and asked.status is Status.NEEDS_REVIEW
    alone = verify(mine, TRACKS, track_id="fineweb-edu", context=Context(neighbours=(beside,)))
    assert rules(alone) == set()


@pytest.mark.parametrize(
    ("path", "nested"),
    [
        ("submissions/nanogpt-small/theirs/mine", True),
        ("submissions/nanogpt-small", True),
        ("submissions/nanogpt-small/theirs2", False),
        ("submissions/nanogpt-small/their", False),
    ],
)
def test_no_entry_lies_in_another(path: str, nested: bool) -> None:
    beside = as_neighbour(
        parse_submission(log_folder("theirs"), TRACKS).submission,
        "nanogpt-small",
        (),
        log_folder("theirs"),
    )
    mine = dc.replace(log_folder("mine", b"step:1/1 val_loss:3.2"), path=path)
    found = verify(mine, TRACKS, context=Context(neighbours=(beside,))).findings
    assert any("the entry submissions" in f.message for f in found) is nested


def test_ten_digits_twice_in_one_point_are_one_run() -> None:
    listed = {
        "schema_version": 1,
        "track": "fineweb-edu",
        "title": "x",
        "contributors": [{"github": "example-user"}],
        "points": ["a", "b"],
        "runs": [
            {"source": "results", "path": "r.json", "point": "a"},
            {"source": "results", "path": "s.json", "point": "a"},
        ],
    }
    files = {"r.json": changed("v4", nothing), "s.json": changed("v4", COPY)}

    def found() -> set[str]:
        return rules(
            verify(
                Folder(
                    "submissions/fineweb-edu/x",
                    {"submission.json": json.dumps(listed).encode(), **files},
                ),
                TRACKS,
            )
        )

    assert "duplicate-run" in found()
    listed["runs"][1]["point"] = "b"
    assert "duplicate-run" not in found()
