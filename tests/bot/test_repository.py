"""All submissions of a repository: found by layout and glob, compared, judged, in order."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from pathlib import Path

import pytest

from bot.evidence.snapshot import Snapshots
from bot.model.case import Context, PullRequest
from bot.model.verdict import Verdict
from bot.parse.folder import read_path
from bot.parse.track_toml import load_tracks
from bot.registry import Status
from bot.repository import CHUNK, Repository, submission_folders, verify_repository
from bot.verify import verify
from tests.conftest import ROOT
from tests.corpus.variants import changed, put


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tracks").mkdir()
    shutil.copy(ROOT / "tracks" / "fineweb-edu.toml", tmp_path / "tracks")
    return tmp_path


def add(root: Path, path: str, link: str, bpb: float, listed: bool = True) -> None:
    folder = root / path
    folder.mkdir(parents=True)
    results = changed(
        "v4", put(wandb_run_link=f"https://wandb.ai/example-user/p/runs/{link}", bpb=bpb)
    )
    (folder / "speedrun_results.json").write_bytes(results)
    if listed:
        (folder / "submission.json").write_text(
            json.dumps(
                {
                    "schema_version": 1,
                    "track": "fineweb-edu",
                    "title": path,
                    "contributors": [{"github": "example-user"}],
                    "runs": [{"source": "results", "path": "speedrun_results.json"}],
                }
            )
        )


def test_layouts_nested_names_and_globs(root: Path) -> None:
    add(root, "submissions/fineweb-edu/b", "b", 1.2)
    add(root, "submissions/fineweb-edu/suite/130m", "s", 1.3)
    add(root, "experiments/speedrun/old/130m", "o", 1.4, listed=False)
    (root / "submissions/fineweb-edu/loop").symlink_to(root / "submissions/fineweb-edu")
    places = submission_folders(root, load_tracks(root))
    assert [p.relative_to(root).as_posix() for p, _ in places] == [
        "experiments/speedrun/old/130m/speedrun_results.json",
        "submissions/fineweb-edu/b",
        "submissions/fineweb-edu/suite/130m",
    ]
    verdicts = verify_repository(root, jobs=1)
    assert [v.submission for v in verdicts] == [p.relative_to(root).as_posix() for p, _ in places]
    assert all(v.status.counts for v in verdicts)
    assert [v.points[0].quality for v in verdicts] == [1.4, 1.2, 1.3]


def test_pairs_warn_on_both_sides(root: Path) -> None:
    add(root, "submissions/fineweb-edu/a", "same", 1.2)
    add(root, "submissions/fineweb-edu/b", "same", 1.25)
    add(root, "submissions/fineweb-edu/c", "other", 1.3)
    found = {
        v.submission[-1]: {f.rule for f in v.findings if f.rule == "duplicate-run"}
        for v in verify_repository(root, jobs=1)
    }
    assert found == {"a": {"duplicate-run"}, "b": {"duplicate-run"}, "c": set()}


def merged_as(root: Path, number: int, name: str, level: str, *accepted: str) -> None:
    """Keep a verdict on an entry: a duplicate, at a level."""
    kept = root / "evidence" / ".speedrun" / "verdicts"
    kept.mkdir(parents=True, exist_ok=True)
    said = {"rule": "duplicate-run", "level": level, "message": "x is also in a"}
    verdict = {
        "submission": f"submissions/fineweb-edu/{name}",
        "status": "rejected",
        "findings": [said],
        "accepted": dict.fromkeys(accepted, "why"),
    }
    (kept / f"{number:06d}.json").write_text(json.dumps({"verdicts": [verdict]}))


def duplicates(root: Path) -> dict[str, list[str]]:
    """The levels of what is said of copies, by entry."""
    verdicts = verify_repository(root, jobs=1, snapshots=Snapshots(root / "evidence"))
    return {
        v.submission[-1]: [f.level for f in v.findings if f.rule == "duplicate-run"]
        for v in verdicts
    }


def test_an_entry_that_was_merged_as_a_copy_stays_one(root: Path) -> None:
    add(root, "submissions/fineweb-edu/a", "same", 1.2)
    add(root, "submissions/fineweb-edu/b", "same", 1.25)
    merged_as(root, 7, "b", "error")
    assert duplicates(root) == {"a": [], "b": ["error", "warning"]}
    shutil.rmtree(root / "submissions/fineweb-edu/a")
    assert duplicates(root) == {"b": ["error"]}
    merged_as(root, 8, "b", "warning")
    assert duplicates(root) == {"b": []}


def test_a_copy_that_a_maintainer_accepted_is_none(root: Path) -> None:
    add(root, "submissions/fineweb-edu/a", "same", 1.2)
    add(root, "submissions/fineweb-edu/b", "same", 1.25)
    merged_as(root, 7, "b", "error", "duplicate-run")
    assert duplicates(root) == {"a": ["warning"], "b": ["note"]}


def test_jobs_do_not_change_the_answer(root: Path) -> None:
    for index in range(CHUNK + 2):
        add(root, f"submissions/fineweb-edu/e{index}", f"r{index}", 1 + index / 1000)
    one, two = verify_repository(root, jobs=1), verify_repository(root, jobs=2)
    assert one == two and len(one) == CHUNK + 2


def test_a_broken_entry_does_not_stop_the_others(root: Path) -> None:
    add(root, "submissions/fineweb-edu/a", "a", 1.2)
    add(root, "submissions/fineweb-edu/b", "b", 1.2)
    (root / "submissions/fineweb-edu/a/submission.json").write_bytes(b"\xff")
    statuses = [v.status for v in verify_repository(root, jobs=1)]
    assert statuses[0] is Status.REJECTED and statuses[1] is not Status.REJECTED


def test_neighbours_are_read_from_files_alone(root: Path) -> None:
    add(root, "submissions/fineweb-edu/a", "a", 1.2)
    (neighbour,) = Repository(root, load_tracks(root)).neighbours
    assert neighbour.path == "submissions/fineweb-edu/a" and neighbour.author == "example-user"
    assert neighbour.run_keys == {"wandb:example-user/p/a"} and neighbour.claims_key


def test_an_empty_repository_has_no_verdicts(root: Path) -> None:
    assert verify_repository(root) == ()


def test_the_content_of_this_repository_is_judged_without_rejections(
    own_verdicts: tuple[Verdict, ...],
) -> None:
    assert len(own_verdicts) > 100
    assert [v.submission for v in own_verdicts if v.status is Status.REJECTED] == []


def test_a_record_is_never_older_than_its_pull_request(root: Path) -> None:
    path = "submissions/fineweb-edu/x"
    old = changed("v4", put(run_completion_timestamp="2015-02-01 00:00:00 UTC"))
    (root / path).mkdir(parents=True)
    (root / path / "speedrun_results.json").write_bytes(old)
    opened = dt.datetime(2026, 3, 4, tzinfo=dt.UTC)
    folder = read_path(root / path, root)
    request = PullRequest(7, "example-user", opened_at=opened)
    judged = verify(folder, load_tracks(root), context=Context(pull_request=request))
    assert judged.date == "2026-03-04T00:00:00+00:00"
    kept = root / "evidence" / ".speedrun" / "verdicts"
    kept.mkdir(parents=True)
    accepted = {**judged.to_json(), "status": "verified"}
    (kept / "000007.json").write_text(json.dumps({"verdicts": [accepted]}))
    later = {**accepted, "date": "2026-09-01"}
    (kept / "000008.json").write_text(json.dumps({"verdicts": [later]}))
    (kept / "000009.json").write_text("{")
    (alone,) = verify_repository(root)
    (again,) = verify_repository(root, snapshots=Snapshots(root / "evidence"))
    assert (alone.date, again.date) == ("2015-02-01T00:00:00+00:00", judged.date)
