"""Across submissions: one run once, and numbers of one's own."""

from __future__ import annotations

import dataclasses as dc
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.compute.duplicates import claims_key, link_key
from bot.evidence.log.training_log import read_log
from bot.evidence.neighbours import as_neighbour, log_keys
from bot.evidence.snapshot import Snapshots
from bot.model.case import Context, Neighbour, PullRequest
from bot.model.submission import Folder
from bot.model.verdict import Verdict
from bot.parse.folder import parse_submission
from bot.parse.track_toml import load_tracks
from bot.registry import Level, Status
from bot.repository import Repository, same_file
from bot.verify import verify
from tests.conftest import ROOT
from tests.corpus.variants import Change, both, changed, put, scaled

TRACKS = load_tracks(ROOT)
LOGS = ROOT / "tests" / "bot" / "data" / "logs"
OTHER_RUN = put(wandb_run_link="https://wandb.ai/example-user/marin/runs/other")
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


def rules(verdict: Verdict) -> set[str]:
    return {f.rule for f in verdict.findings}


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


def log_folder(name: str, *logs: bytes, arm: str = "candidate") -> Folder:
    files = {f"{i}.log": data for i, data in enumerate(logs)}
    listed = {
        "schema_version": 1,
        "track": "nanogpt-small",
        "title": "x",
        "contributors": [{"github": "example-user"}],
        "runs": [{"source": "log", "path": path, "arm": arm} for path in files],
    }
    return Folder(
        f"submissions/nanogpt-small/{name}",
        {"submission.json": json.dumps(listed).encode(), **files},
    )


def test_a_copied_log_is_found_also_with_another_clock() -> None:
    log = (LOGS / "plain.log").read_bytes()
    assert log.count(b"val_loss:") >= 3, "the log must have a series"
    other = log.replace(b"train_time:", b"train_time:1")
    assert log_keys(log) == log_keys(other) != ()
    theirs = log_folder("theirs", log)
    parsed = parse_submission(theirs, TRACKS)
    beside = as_neighbour(parsed.submission, "nanogpt-small", parsed.results, theirs)
    assert "duplicate-run" in rules(
        verify(log_folder("mine", other), TRACKS, context=Context(neighbours=(beside,)))
    )
    shared = log_folder("mine", log, arm="baseline")
    assert "duplicate-run" not in rules(
        verify(shared, TRACKS, context=Context(neighbours=(beside,)))
    )


def test_a_copied_log_is_found_also_with_a_loss_or_digits_changed() -> None:
    lines = [f"step:{s}/400 val_loss:{10 - s / 99:.4f} train_time:{s}ms" for s in range(0, 401, 25)]
    log = "\n".join(lines).encode()
    keys = set(log_keys(log))
    last = log.replace(b"val_loss:5.9596", b"val_loss:5.9500")
    assert last != log and keys & set(log_keys(last))
    longer = b"\n".join(line.encode().replace(b" train_time", b"7 train_time") for line in lines)
    assert keys == set(log_keys(longer))
    noise = b"print(f'val_loss:1.2345')\n" + log
    assert keys == set(log_keys(noise))
    other = "\n".join(line.replace("val_loss:", "val_loss:1") for line in lines)
    assert not keys & set(log_keys(other.encode()))


CLOCKS = [s * 23417 // 100 + s * 31 % 90 for s in range(0, 401, 25)]
LINES = [
    f"step:{s}/400 val_loss:{10 - s / 99:.4f} train_time:{t}ms"
    for s, t in zip(range(0, 401, 25), CLOCKS, strict=True)
]


def renumbered(line: str) -> str:
    return re.sub(r"step:(\d+)", lambda m: f"step:{int(m[1]) + (0 < int(m[1]) < 400)}", line)


def noisy(line: str) -> str:
    return re.sub(r"val_loss:([\d.]+)", lambda m: f"val_loss:{float(m[1]) + 3e-4:.4f}", line)


def by_parts(lines: list[str]) -> list[str]:
    """A loss changed in each half, and validations that never were."""
    made = [noisy(line) if i in (3, 12) else line for i, line in enumerate(lines)]
    return [*made[:5], "step:110/400 val_loss:8.9 train_time:25750ms", *made[5:]]


@pytest.mark.parametrize("change", [
    by_parts,
    lambda lines: [renumbered(line) for line in lines],
    lambda lines: [noisy(line) for line in lines],
    lambda lines: [line.replace("loss:", "loss:+0") for line in lines],
    lambda lines: [re.sub(r"loss:([\d.]+)", lambda m: f"loss:{float(m[1]):.6e}", line)
                   for line in lines],
    lambda lines: [line.replace("loss:", "loss:\x1b[31m") for line in lines],
    lambda lines: [line.replace("val_loss", "x:1 " * 80 + "val_loss") for line in lines],
    lambda lines: [*lines, *(re.sub(r"loss:\d", "loss:1", line) for line in lines)],
])  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_copied_log_is_found_as_the_judge_reads_it(
    change: Callable[[list[str]], list[str]], encoding: str
) -> None:
    theirs = log_folder("theirs", "\n".join([*LINES, ""]).encode())
    beside = as_neighbour(parse_submission(theirs, TRACKS).submission, "nanogpt-small", (), theirs)
    mine = log_folder("mine", "\n".join([*change(LINES), ""]).encode(encoding))
    found = verify(mine, TRACKS, context=Context(neighbours=(beside,))).findings
    assert [f.level for f in found if f.rule == "duplicate-run"] == [Level.ERROR]
    shared = log_folder("mine", "\n".join([*change(LINES), ""]).encode(encoding), arm="baseline")
    assert "duplicate-run" not in rules(
        verify(shared, TRACKS, context=Context(neighbours=(beside,)))
    )


def apart(line: str) -> str:
    """A line of another training, whose loss is as far away as real ones are."""
    return re.sub(r"val_loss:([0-9.]+)", lambda m: f"val_loss:{float(m[1]) + 0.0021:.4f}", line)


def test_noise_in_the_last_digits_makes_no_other_run() -> None:
    """Every loss moved by 0.0002 and every clock by 0.07 %: nearer than two trainings come."""
    theirs = log_folder("theirs", "\n".join([*LINES, ""]).encode())
    beside = as_neighbour(parse_submission(theirs, TRACKS).submission, "nanogpt-small", (), theirs)

    def moved(line: str, sign: int) -> str:
        line = re.sub(r"(\d+)ms", lambda m: f"{int(int(m[1]) * 1.0007) + 3}ms", line)
        loss = lambda m: f"val_loss:{float(m[1]) + sign * 2e-4:.4f}"  # noqa: E731
        return re.sub(r"val_loss:([0-9.]+)", loss, line)

    lines = [moved(line, 1 if i % 2 else -1) for i, line in enumerate(LINES)]
    mine = log_folder("mine", "\n".join([*lines, ""]).encode())
    assert "duplicate-run" in rules(verify(mine, TRACKS, context=Context(neighbours=(beside,))))


def test_another_run_on_the_same_machine_is_no_copy() -> None:
    theirs = log_folder("theirs", "\n".join([*LINES, ""]).encode())
    beside = as_neighbour(parse_submission(theirs, TRACKS).submission, "nanogpt-small", (), theirs)
    other = [apart(re.sub(r"(\d+)ms", lambda m: f"{int(m[1]) + 13}ms", line)) for line in LINES]
    other[2:5] = LINES[2:5]  # by chance
    mine = log_folder("mine", "\n".join([*other, ""]).encode())
    assert "duplicate-run" not in rules(verify(mine, TRACKS, context=Context(neighbours=(beside,))))
    seconds = [
        [re.sub(r"(\d+)ms", lambda m: f"{int(m[1]) // 1000}s", line) for line in lines]
        for lines in (LINES, other)
    ]
    theirs, mine = (
        log_folder(name, "\n".join([*lines, ""]).encode())
        for name, lines in zip(("theirs", "mine"), seconds, strict=True)
    )
    beside = as_neighbour(parse_submission(theirs, TRACKS).submission, "nanogpt-small", (), theirs)
    assert "duplicate-run" not in rules(verify(mine, TRACKS, context=Context(neighbours=(beside,))))


def test_a_log_of_a_run_that_another_entry_links(tmp_path: Path) -> None:
    link = "https://wandb.ai/example-team/runs/runs/theirs"
    (run,) = read_log("\n".join([*LINES, ""]).encode(), link)
    (tmp_path / "tracks").mkdir()
    (tmp_path / "tracks" / "nanogpt-small.toml").write_bytes(
        (ROOT / "tracks" / "nanogpt-small.toml").read_bytes()
    )
    folder = tmp_path / "submissions" / "nanogpt-small" / "theirs"
    folder.mkdir(parents=True)
    listed = {
        "schema_version": 1,
        "track": "nanogpt-small",
        "title": "x",
        "contributors": [{"github": "example-user"}],
        "runs": [{"source": "wandb", "link": link}],
    }
    (folder / "submission.json").write_text(json.dumps(listed))
    kept = Snapshots(tmp_path / "evidence")
    mine = log_folder("mine", "\n".join([*map(noisy, LINES), ""]).encode())

    def found(snapshots: Snapshots | None) -> set[str]:
        beside = Repository(tmp_path, TRACKS, snapshots).neighbours
        assert [n.path for n in beside] == ["submissions/nanogpt-small/theirs"]
        return rules(verify(mine, TRACKS, context=Context(neighbours=beside)))

    assert "duplicate-run" not in found(kept)
    kept.add(run)
    assert "duplicate-run" in found(kept)
    assert "duplicate-run" not in found(None)


def test_a_nonce_is_found_again_in_another_kind_of_file() -> None:
    nonce = "0123456789abcdef" * 2
    beside_log = log_folder("theirs", f"nonce: {nonce}\nstep:1/1 val_loss:3.2\n".encode())
    beside = as_neighbour(
        parse_submission(beside_log, TRACKS).submission, "nanogpt-small", (), beside_log
    )
    made = json.loads(changed("v4", OTHER_RUN)) | {"speedrun": {"schema_version": 1}}
    for drawn, expected in ((nonce, True), ("f" * 32, False)):
        made["speedrun"]["nonce"] = drawn
        folder = Folder("mine.json", {"r.json": json.dumps(made).encode()}, bare=True)
        verdict = verify(
            folder, TRACKS, track_id="fineweb-edu", context=Context(neighbours=(beside,))
        )
        assert ("duplicate-run" in rules(verdict)) is expected


def test_a_kind_of_evidence_that_the_track_does_not_take() -> None:
    made = changed("v4", put(val_loss=3.27))
    folder = Folder("submissions/nanogpt-small/x", {"speedrun_results.json": made})
    found = [f for f in verify(folder, TRACKS).findings if f.rule == "schema"]
    assert any("the track accepts runs from log or wandb" in f.message for f in found)


def test_one_log_twice_in_a_submission() -> None:
    log = (LOGS / "plain.log").read_bytes()
    assert "duplicate-run" in rules(verify(log_folder("mine", log, log), TRACKS))


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


def test_two_files_of_one_training_count_once_and_are_told() -> None:
    """A log and the offline W&B file of a run show its losses with other digits."""
    nonce = b"nonce: " + b"0123456789abcdef" * 2 + b"\n"
    log = nonce + (LOGS / "plain.log").read_bytes()
    other = re.sub(rb"(val_loss:\d\.\d{3})\d", rb"\1", log)
    assert other != log
    verdict = verify(log_folder("mine", log, other), TRACKS)
    assert len(verdict.runs) == 2
    (found,) = (f for f in verdict.findings if f.rule == "duplicate-run")
    assert (found.level, found.message) == (
        Level.NOTE,
        "1.log does not count: the same run as 0.log",
    )
    assert found.pointer == "/runs/1" and found.line


def test_a_run_that_is_too_much_like_another_is_not_left_out_silently() -> None:
    log = (LOGS / "plain.log").read_bytes()
    alike = re.sub(rb"(val_loss:\d\.\d{3})\d", rb"\g<1>9", log)
    verdict = verify(log_folder("mine", log, alike), TRACKS)
    (found,) = (f for f in verdict.findings if f.rule == "duplicate-run")
    assert found.level is Level.WARNING and found.pointer == "/runs/1"
    assert found.message.startswith("1.log does not count: its losses or its clocks are those of")


OTHER = [
    f"step:{s}/400 val_loss:{10.1 - s / 97:.4f} train_time:{t + 3 * s + 17}ms"
    for s, t in zip(range(0, 401, 25), CLOCKS, strict=True)
]


def entry(*logs: bytes) -> Folder:
    return log_folder("mine", *logs)


def before(folder: Folder) -> Neighbour:
    parsed = parse_submission(folder, TRACKS)
    return as_neighbour(parsed.submission, "nanogpt-small", parsed.results, folder)


def test_a_merged_entry_whose_log_is_replaced() -> None:
    first, second = ("\n".join([*of, ""]).encode() for of in (LINES, OTHER))
    as_it_was = Context(neighbours=(before(entry(first)),))
    replaced = verify(entry(second), TRACKS, as_it_was).findings
    assert [f.level for f in replaced if f.rule == "evidence-changed"] == [Level.WARNING]
    for kept in (entry(first), entry(first, second)):
        assert "evidence-changed" not in rules(verify(kept, TRACKS, as_it_was))
    merged = dc.replace(as_it_was, merged=True)
    assert "evidence-changed" not in rules(verify(entry(second), TRACKS, merged))
