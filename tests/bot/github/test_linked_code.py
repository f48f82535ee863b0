"""Code that lies at a linked commit is compared with what the runs logged, by its hash alone."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from bot.github.api.client import GitHubTrouble
from bot.github.pull_request import linked_code
from bot.model.report import Report
from bot.model.verdict import Finding
from bot.registry import Level, Status
from tests.bot.github.competition import BOT, Competition, submission
from tests.doubles.github import Fault

pytestmark = pytest.mark.one_in(3)

FILE = "submissions/mini/fast/submission.json"
CODE = "lab/research"
SOURCE = "import torch\n\nprint('steps')\n"
RULE = "code-differs-from-submission"


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def code(competition: Competition, files: dict[str, Any], **modes: Any) -> str:
    """A public repository of somebody's with these files; the commit."""
    competition.github.add_repo(CODE)
    return competition.github.commit(CODE, "main", files, **modes)


def linking(
    repository: str, commit: str, name: str = "train.py", source: str = SOURCE
) -> dict[str, str]:
    """A submission that links its code, with runs that logged the hash of their source."""
    files = submission("fast", seconds=90.0)
    link = {"repository": repository, "commit": commit}
    files[FILE] = json.dumps(json.loads(files[FILE]) | {"code": link}, indent=2)
    head = f"code_sha256: {name} {sha256(source)}\n"
    return {p: head + text if p.endswith(".log") else text for p, text in files.items()}


def judged(competition: Competition, files: dict[str, str]) -> Report:
    """Both jobs; the linked commit costs two requests more, and one for each file read."""
    number = competition.open(files).number
    with competition.counted("answer with linked code"):
        report = competition.verify(number)
        competition.publish(number)
    (_, cost) = competition.costs.pop()
    assert cost <= 15 + 2
    return report


def found(report: Report) -> list[Finding]:
    return [f for f in report.verdicts[0].findings if f.rule == RULE]


def blobs(competition: Competition) -> list[str]:
    start = f"/repos/{CODE}/git/blobs/"
    return [c.path for c in competition.github.calls if c.path.startswith(start)]


@pytest.mark.parametrize(
    "address", [f"https://github.com/{CODE}", f"https://github.com/{CODE}.git"]
)
def test_code_that_ran(competition: Competition, address: str) -> None:
    commit = code(competition, {"deep/down/train.py": SOURCE, "other.py": "x\n", "README.md": "x"})
    report = judged(competition, linking(address, commit))
    assert report.status is Status.VERIFIED
    assert found(report) == []
    assert len(blobs(competition)) == 1, "only the file whose name the runs logged"


def test_other_code(competition: Competition) -> None:
    commit = code(competition, {"train.py": SOURCE.replace("steps", "fewer")})
    report = judged(competition, linking(f"https://github.com/{CODE}", commit))
    assert report.status is Status.REJECTED
    assert [f.level for f in found(report)] == [Level.ERROR]
    assert "hash" in competition.sticky(1)


def test_a_file_of_the_same_name_in_another_folder_is_no_difference(
    competition: Competition,
) -> None:
    commit = code(competition, {"a/train.py": "x = 1\n", "b/train.py": SOURCE})
    report = judged(competition, linking(f"https://github.com/{CODE}", commit))
    assert found(report) == []


def test_a_source_under_another_name_is_looked_for_in_all(competition: Competition) -> None:
    commit = code(competition, {"train_gpt.py": SOURCE, "NOTES.md": "x\n"})
    report = judged(competition, linking(f"https://github.com/{CODE}", commit, "source"))
    assert report.status is Status.VERIFIED and found(report) == []
    assert len(blobs(competition)) == 1


def note_of(report: Report) -> str:
    (only,) = found(report)
    assert only.level is Level.NOTE and report.status is Status.VERIFIED
    return only.message


@pytest.mark.parametrize(
    "address",
    [
        "https://gitlab.example/lab/research",
        "https://github.com.evil.example/lab/research",
        "https://evil.example/github.com/lab/research",
        "https://github.com@evil.example/lab/research",
        "https://github.com/lab/research/../../user",
        "https://github.com/lab/..",
        "https://github.com/lab",
        "https://github.com/lab/research/tree/main",
        "https://github.com/lab/re%2fsearch",
    ],
)
def test_other_addresses_are_never_asked(competition: Competition, address: str) -> None:
    code(competition, {"train.py": SOURCE})
    report = judged(competition, linking(address, "0" * 40))
    assert "not a repository on GitHub" in note_of(report)
    assert not any("research" in c.path or ".." in c.path for c in competition.github.calls)


def test_a_commit_that_is_not_there(competition: Competition) -> None:
    code(competition, {"train.py": SOURCE})
    report = judged(competition, linking(f"https://github.com/{CODE}", "1" * 40))
    assert "not there" in note_of(report)
    assert "was not compared" in competition.sticky(1)


def test_a_repository_that_is_not_there(competition: Competition) -> None:
    report = judged(competition, linking(f"https://github.com/{CODE}", "1" * 40))
    assert "not there" in note_of(report)


def test_a_private_repository_that_our_token_could_read(competition: Competition) -> None:
    commit = code(competition, {"train.py": "x = 1\n"})
    competition.github.repos[CODE].private = True
    competition.github.add_token(
        "token-of-evaluate", BOT, None, contents="read", pull_requests="read"
    )
    report = judged(competition, linking(f"https://github.com/{CODE}", commit))
    assert note_of(report).endswith("the repository is not public")
    assert blobs(competition) == []


def test_more_than_a_hundred_files(competition: Competition) -> None:
    commit = code(competition, {f"{n}/train.py": f"x = {n}\n" for n in range(101)})
    report = judged(competition, linking(f"https://github.com/{CODE}", commit))
    assert "100 files or 20 MB" in note_of(report)
    assert blobs(competition) == []


def test_a_truncated_tree_decides_nothing(competition: Competition) -> None:
    commit = code(competition, {"other.py": SOURCE})
    competition.github.repos[CODE].truncated_trees = True
    report = judged(competition, linking(f"https://github.com/{CODE}", commit))
    assert "more files than GitHub lists" in note_of(report)


def test_links_and_submodules_at_the_commit_are_not_followed(competition: Competition) -> None:
    commit = code(competition, {"train.py": "/etc/passwd"}, modes={"train.py": "120000"})
    report = judged(competition, linking(f"https://github.com/{CODE}", commit))
    assert "no source file" in note_of(report)


def test_an_outage_is_no_verdict(competition: Competition) -> None:
    commit = code(competition, {"train.py": SOURCE})
    number = competition.open(linking(f"https://github.com/{CODE}", commit)).number
    competition.github.faults = [Fault("GET", f"/repos/{CODE}", 503, times=99)]
    with pytest.raises(GitHubTrouble, match="try again later"):
        competition.verify(number)


def test_runs_that_log_no_hash_cost_no_request(competition: Competition) -> None:
    commit = code(competition, {"train.py": SOURCE})
    files = linking(f"https://github.com/{CODE}", commit)
    files = {p: t.split("\n", 1)[1] if p.endswith(".log") else t for p, t in files.items()}
    assert found(judged(competition, files)) == []
    assert not any(c.path.startswith(f"/repos/{CODE}") for c in competition.github.calls)


def test_limits_are_those_of_a_submission() -> None:
    from bot.model.submission import MAX_FILES

    assert linked_code.MAX_FILES == MAX_FILES == 100


def test_two_submissions_of_one_pull_request_are_not_out_of_each_others_scope(
    competition: Competition,
) -> None:
    """A file renamed from one new folder to the other touches both."""
    files = submission("one", seconds=90.0) | submission("two", seconds=95.0, salt=2)
    pull = competition.open(files)
    one = competition.github.shapes.files(competition.repo, pull)[-1]
    listed = competition.github.shapes.files(competition.repo, pull)
    moved = {**one, "previous_filename": "submissions/mini/one/logs/9.log", "status": "renamed"}
    pull.pretend_files = [*listed[:-1], moved]
    report = competition.answer(pull.number)
    assert {f.rule for v in report.verdicts for f in v.errors} == set()
