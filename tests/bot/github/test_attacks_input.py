"""Attacks through what a pull request contains: groups 2 to 8.

Each test fails when its guard is removed; `test_guards.py` removes every guard once.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.github.pull_request.classify import names_are_safe
from bot.github.pull_request.report_file import ReportError, read_report
from bot.registry import Status
from tests.bot.github.competition import (
    AUTHOR,
    OWNER,
    REPO,
    Competition,
    submission,
)
from tests.conftest import in_a_full_run
from tests.doubles.github import git

pytestmark = pytest.mark.one_in(2)

FILE = "submissions/mini/fast/submission.json"


def rules(report: Any) -> set[str]:
    return {f.rule for v in report.verdicts for f in v.errors}


# ---- 2: a poisoned artifact ---------------------------------------------------------------------


def forged(data: dict[str, Any], **changes: Any) -> bytes:
    return json.dumps({**data, **changes}).encode()


@pytest.fixture
def report(competition: Competition) -> dict[str, Any]:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.verify(pull.number)
    found: dict[str, Any] = json.loads(competition.report.read_text())
    return found


FORGERIES: dict[str, Any] = {
    "another pull request": {"pr": 2},
    "another repository": {"repository": "example-org/other"},
    "another commit": {"head_sha": "0" * 40},
    "not a commit": {"head_sha": "main"},
    "commit with a line break": {"head_sha": "0" * 40 + "\n"},
    "base with a line break": {"base_sha": "0" * 40 + "\n"},
    "extra member": {"extra": 1},
    "unknown kind": {"kind": "../../x"},
    "unknown version": {"schema_version": 2},
    "verdicts of another shape": {"verdicts": [{"status": "verified"}]},
    "too many verdicts": {"verdicts": "many"},
    "place that is not a text": {"places": {"x": {"text": 1}}},
    "path with a line break": {"outside": ["a\nb"]},
    "number as text": {"pr": "1"},
    "truth as number": {"pr": True},
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_report_is_refused(report: dict[str, Any], tmp_path: Path, name: str) -> None:
    path = tmp_path / "forged.json"
    head = report["head_sha"]
    changes = FORGERIES[name]
    if changes.get("verdicts") == "many":
        changes = {"verdicts": report["verdicts"] * 51}
    path.write_bytes(forged(report, **changes))
    with pytest.raises(ReportError):
        read_report(path, repository=REPO, pr=1, head_sha=head)
    path.write_bytes(forged(report))
    assert read_report(path, repository=REPO, pr=1, head_sha=head).pr == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"pr": NaN}',
        b'{"a": 1, "a": 2}',
        b"\xff\xfe",
        b"[" * 100_000,
        b" " * 4_000_001,
    ],
)
def test_bytes_that_are_no_report(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(data)
    with pytest.raises(ReportError):
        read_report(path, repository=REPO, pr=1)


def test_report_that_is_a_link_or_a_folder(report: dict[str, Any], tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_bytes(forged(report))
    link = tmp_path / "link.json"
    link.symlink_to(real)
    for path in (link, tmp_path, tmp_path / "absent"):
        with pytest.raises(ReportError):
            read_report(path, repository=REPO, pr=1)


# ---- 3 and 4: hostile JSON, and what schemas let through ----------------------------------------

HOSTILE_JSON: dict[str, bytes] = {
    "NaN": b'{"schema_version": 1, "claims": {"loss": NaN}}',
    "infinity": b'{"claims": {"loss": Infinity}}',
    "overflow": b'{"claims": {"loss": 1e999}}',
    "duplicate key": b'{"track": "mini", "track": "lab"}',
    "5000 digits": b'{"a": ' + b"9" * 5000 + b"}",
    "deep": b"[" * 100_000,
    "byte order mark": b"\xef\xbb\xbf{}",
    "lone surrogate": b'{"title": "\\ud800"}',
    "not UTF-8": b'{"title": "\xff"}',
    "nothing": b"",
    "a list": b"[]",
    "NUL": b'{"title": "a\x00b"}',
}


@pytest.mark.parametrize("name", HOSTILE_JSON)
def test_hostile_json_is_a_finding(competition: Competition, name: str) -> None:
    files: dict[str, Any] = submission("fast", seconds=90.0)
    pull = competition.open(files | {FILE: HOSTILE_JSON[name]})
    found = competition.answer(pull.number)
    assert found.status is Status.REJECTED
    assert rules(found) & {"json-invalid", "schema", "unsafe-text"}


def test_a_key_that_stands_twice(competition: Competition) -> None:
    """Readers differ in which of the two they take; everything else in the file is good."""
    files = submission("fast", seconds=90.0)
    twice = files[FILE].replace('"title":', '"title": "Another",\n  "title":', 1)
    pull = competition.open(files | {FILE: twice})
    assert rules(competition.answer(pull.number)) == {"json-invalid"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("track", "mini\n"),
        ("schema_version", 1.5),
        ("schema_version", "\u0661"),
        ("contributors", [{"github": "example-user\n"}]),
        ("contributors", [{"github": "ex\u0430mple-user"}]),
        ("runs", {}),
        ("title", 7),
    ],
)
def test_what_a_schema_alone_would_let_through(
    competition: Competition, key: str, value: Any
) -> None:
    files = submission("fast", seconds=90.0)
    data = json.loads(files[FILE]) | {key: value}
    pull = competition.open(files | {FILE: json.dumps(data)})
    assert competition.verify(pull.number).status is Status.REJECTED


# ---- 5: links, submodules, names that collide, renames ------------------------------------------


@pytest.mark.parametrize(
    ("name", "mode", "content"),
    [
        ("submission.json", "120000", "../record/submission.json"),
        ("logs/0.log", "120000", "../../record/logs/0.log"),
        ("logs/0.log", "120000", "/etc/passwd"),
        ("logs", "160000", "0123456789" * 4),
    ],
)
def test_link_or_submodule_is_named_and_never_read(
    competition: Competition, name: str, mode: str, content: str
) -> None:
    files: dict[str, Any] = submission("fast", seconds=90.0)
    path = f"submissions/mini/fast/{name}"
    if name == "logs":
        files = {FILE: files[FILE]}
    pull = competition.open(files | {path: content}, modes={path: mode})
    report = competition.answer(pull.number)
    assert report.status is Status.REJECTED
    kind = "symbolic link" if mode == "120000" else "submodule"
    assert kind in competition.sticky(pull.number)
    blob = git.text(competition.repo.directory, "rev-parse", f"{pull.head_sha}:{path}")
    assert not any(blob in call.path for call in competition.github.calls)


def test_names_that_differ_in_case_only(competition: Competition) -> None:
    files = submission("fast", seconds=90.0)
    files["submissions/mini/fast/logs/0.LOG"] = files["submissions/mini/fast/logs/1.log"]
    files["submissions/mini/fast/Submission.json"] = files[FILE]
    pull = competition.open(files)
    report = competition.answer(pull.number)
    assert report.status is Status.REJECTED
    assert "upper and lower case" in competition.sticky(pull.number)


def test_executable_files_are_data_like_others(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0), modes={FILE: "100755"})
    assert competition.verify(pull.number).status is Status.VERIFIED


def test_rename_out_of_another_folder(competition: Competition) -> None:
    """Taking over somebody's files: the old path counts as touched."""
    text = git.text(competition.repo.directory, "show", "main:submissions/mini/record/logs/0.log")
    files: dict[str, Any] = submission("fast", seconds=90.0)
    files["submissions/mini/fast/logs/0.log"] = text + "\n"
    files["submissions/mini/record/logs/0.log"] = None
    pull = competition.open(files)
    report = competition.answer(pull.number)
    assert report.status is Status.REJECTED
    by_path = {v.submission: {f.rule for f in v.errors} for v in report.verdicts}
    assert "author-not-contributor" in by_path["submissions/mini/record"]


def test_change_or_removal_of_another_entry(competition: Competition) -> None:
    record = submission("record", AUTHOR, seconds=50.0, salt=4)
    pull = competition.open(dict(record))
    assert "author-not-contributor" in rules(competition.answer(pull.number))

    gone = {path: None for path in submission("record", OWNER)}
    pull = competition.open(gone, branch="gone")
    report = competition.answer(pull.number)
    assert rules(report) == {"out-of-scope-change"}
    assert "/withdraw" in competition.sticky(pull.number)
    assert competition.checks(pull.head_sha) == [("speedrun", "failure")]


def test_folder_in_place_of_the_file(competition: Competition) -> None:
    files = submission("fast", seconds=90.0)
    files.pop(FILE)
    pull = competition.open(files | {f"{FILE}/inner.json": "{}"})
    report = competition.answer(pull.number)
    assert report.status is Status.VERIFIED, "logs alone are a submission of whoever brings them"
    assert "author-not-contributor" in {f.rule for f in report.verdicts[0].findings}


# ---- 6: huge ------------------------------------------------------------------------------------


def test_more_files_than_github_lists(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    one = competition.github.shapes.files(competition.repo, pull)[0]
    pull.pretend_files = [{**one, "filename": f"submissions/mini/fast/{n}"} for n in range(3001)]
    report = competition.answer(pull.number)
    assert rules(report) == {"out-of-scope-change"}
    assert "3001 files" in competition.sticky(pull.number)
    assert not any(call.path.endswith("/files") for call in competition.github.calls)


def test_truncated_tree(competition: Competition) -> None:
    pull = competition.open(submission("fast", seconds=90.0))
    competition.repo.truncated_trees = True
    assert competition.answer(pull.number).status is Status.REJECTED


def test_large_file_is_named_and_not_read(competition: Competition) -> None:
    big = "submissions/mini/fast/submission.json"
    files = submission("fast", seconds=90.0) | {big: '{"a": "' + "x" * 2_000_000 + '"}'}
    pull = competition.open(files)
    assert competition.answer(pull.number).status is Status.REJECTED
    blob = git.text(competition.repo.directory, "rev-parse", f"{pull.head_sha}:{big}")
    assert not any(blob in call.path for call in competition.github.calls)


def test_a_folder_that_is_too_large_as_a_whole(
    competition: Competition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty megabytes a file would be two gigabytes a folder."""
    monkeypatch.setattr("bot.github.pull_request.pull.MAX_FOLDER_BYTES", 5000)
    pull = competition.open(submission("fast", seconds=90.0))
    report = competition.answer(pull.number)
    assert report.status is Status.REJECTED
    assert any("more than 5,000 bytes" in f.message for v in report.verdicts for f in v.errors)


def test_too_many_files(competition: Competition) -> None:
    files = submission("fast", seconds=90.0)
    files |= {f"submissions/mini/fast/extra/{n:03d}.txt": f"{n}\n" for n in range(150)}
    pull = competition.open(files)
    report = competition.answer(pull.number)
    assert report.status is Status.REJECTED
    assert sum("/git/blobs/" in call.path for call in competition.github.calls) <= 100


def test_the_comment_stays_below_the_limit(competition: Competition) -> None:
    name = "n" * 60
    files = submission(name, seconds=90.0, title="t" * 120)
    folder = f"submissions/mini/{name}"
    for n in range(180):
        files[f"{folder}/{'d' * 60}/{'e' * 60}/{n:03d}-{'f' * 200}.txt"] = "x\n"
    pull = competition.open(files)
    competition.answer(pull.number)
    assert 1000 < len(competition.sticky(pull.number)) < 65_536


# ---- 7: names that lead elsewhere ---------------------------------------------------------------

TRAVERSALS = [
    "..",
    ".",
    "%2e%2e",
    "a\\b",
    "fast.",
    "fast ",
    "Fast",
    "con\t",
    ".git",
    "-x",
    "é",
    "a" * 65,
    "ﬁne",
    "a%2f..%2fuser",
    "~",
]


@pytest.mark.parametrize("name", TRAVERSALS)
def test_unsafe_folder_name(name: str) -> None:
    assert not names_are_safe(f"submissions/mini/{name}")
    assert not names_are_safe(f"submissions/{name}/fast")


@pytest.mark.parametrize("name", ["%2e%2e", "a\\b", "fast.", "fast ", "Fast", "é", "~", "a?b#c"])
def test_unsafe_name_reaches_no_address(competition: Competition, name: str) -> None:
    files = {p.replace("/fast/", f"/{name}/"): t for p, t in submission("fast").items()}
    pull = competition.open(files)
    report = competition.answer(pull.number)
    assert rules(report) == {"unsafe-name"}
    for call in competition.github.calls:
        assert name not in call.path and ".." not in call.path
        assert "/git/blobs/" not in call.path, "nothing of it is read"


def test_dots_in_a_tree(competition: Competition) -> None:
    """git itself refuses to check such a tree out; as data it can exist."""
    fork = competition.fork()
    directory = competition.github.repos[fork].directory
    blob = git.write_blob(directory, b"{}")
    tree = blob_tree = (
        git.git(directory, "mktree", data=f"100644 blob {blob}\tsubmission.json\n".encode())
        .decode()
        .strip()
    )
    for name in ("..", "mini", "submissions"):
        line = f"040000 tree {tree}\t{name}\n".encode()
        tree = git.git(directory, "mktree", data=line).decode().strip()
    main = competition.github.branch(competition.repo, "main")
    assert main and blob_tree
    sha = git.write_commit(directory, tree, [main], "dots")
    competition.github.move(competition.github.repos[fork], "dots", sha)
    pull = competition.github.open_pull(REPO, AUTHOR, fork, "dots")
    report = competition.answer(pull.number)
    assert report.status is Status.REJECTED
    assert not any(".." in call.path for call in competition.github.calls)


# ---- 8: hidden and reordering characters --------------------------------------------------------

HIDDEN = ["\u202e", "\u2066", "\u200b", "\ufeff", "\U000e0041", "\u00ad"]


@pytest.mark.parametrize("char", HIDDEN)
@pytest.mark.parametrize("key", ["title", "summary"])
def test_hidden_characters_are_found_and_not_shown(
    competition: Competition, key: str, char: str
) -> None:
    if HIDDEN.index(char) % 2 != (key == "title"):
        in_a_full_run("each character in the other text")
    files = submission("fast", seconds=90.0)
    data = json.loads(files[FILE]) | {key: f"good{char}evil"}
    pull = competition.open(files | {FILE: json.dumps(data, ensure_ascii=False)}, title=f"x{char}")
    report = competition.answer(pull.number)
    assert "unsafe-text" in rules(report)
    assert char not in competition.sticky(pull.number)
    assert char not in json.dumps(list(competition.repo.checks.values()), ensure_ascii=False)
