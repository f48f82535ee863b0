"""`check` on this machine and the comment on the pull request say the same of every newcomer's
submission: rule, level, words, table; and so do `submit`, `stats`, `runs` and `new`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.local import Local
from bot.parse.folder import parse_submission, read_path
from bot.parse.track_toml import load_tracks
from bot.registry import Status
from bot.render.answer import Answer, Where, answer
from tests.bot.github.competition import REPO, Competition
from tests.bot.github.test_promotion import FROZEN
from tests.conftest import in_turn
from tests.journeys import evidence_mistakes, mistakes
from tests.journeys.evidence_mistakes import two_arms
from tests.journeys.mistakes import Files, Mistake, good

pytestmark = pytest.mark.one_in(3)

MISTAKES = (
    Mistake("none", "", dict),
    *(Mistake(name, "", make) for name, make in mistakes.HARMLESS),
    *(Mistake(name, "", make) for name, make in evidence_mistakes.HARMLESS),
    *mistakes.MISTAKES,
    *evidence_mistakes.MISTAKES,
)
ONLY_ON_A_PULL = {"explanation-missing", "author-not-contributor", "out-of-scope-change"}


@pytest.fixture
def tracks(competition: Competition) -> Competition:
    """The competition with the two tracks of the journeys."""
    files = {"tracks/fast.toml": mistakes.TEXT, "tracks/lab.toml": evidence_mistakes.LAB_TEXT}
    competition.github.commit(REPO, "main", dict(files))
    return competition


def on_disk(competition: Competition, mistake: Mistake) -> tuple[Path, Path]:
    """The repository with the submission in it: root and folder."""
    root = competition.checkout()
    folder = root / mistake.folder
    for name, data in mistake.make(good()).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return root, folder


def checked(root: Path, folder: Path) -> Answer:
    known = load_tracks(root)
    read = read_path(folder, root)
    return Local(root, known).answers([(read, parse_submission(read, known))])[0]


def said(item: Answer) -> list[tuple[Any, ...]]:
    """What the findings say, without what only a pull request has."""
    return sorted(
        (f.rule, str(f.level), f.message, f.line or 0, f.fix or "", f.suggestion or "", f.because)
        for f in item.verdict.findings
        if f.rule not in ONLY_ON_A_PULL
    )


NAMES = [mistake.name for mistake in MISTAKES]
TURN = "the other mistakes; of two tests each takes one in four"


@pytest.mark.parametrize("mistake", in_turn(MISTAKES, NAMES, TURN, 0, every=4))
def test_check_and_comment_say_the_same(mistake: Mistake, tracks: Competition) -> None:
    root, folder = on_disk(tracks, mistake)
    here = checked(root, folder)
    files = mistake.make(good())
    pull = tracks.open({f"{mistake.folder}/{name}": data for name, data in files.items()})
    report = tracks.verify(pull.number, online=False)
    [verdict] = report.verdicts
    there = answer(verdict, report.places.get(verdict.submission), Where.PULL)
    assert said(here) == said(there)
    assert here.verdict.status is there.verdict.status
    assert here.line == there.line
    if not mistake.name.startswith("folder-"):  # what has an unsafe name is not read on a pull
        assert here.rows == there.rows
    assert [(g.rule, g.says) for g in here.groups] == [(g.rule, g.says) for g in there.groups]


@pytest.mark.parametrize("mistake", in_turn(MISTAKES, NAMES, TURN, 2, every=4))
def test_every_command_agrees_with_check(mistake: Mistake, tracks: Competition) -> None:
    root, folder = on_disk(tracks, mistake)
    item = checked(root, folder)
    run = CliRunner().invoke

    told = run(main, ["submit", str(folder), "--root", str(root), "--repo", REPO, "--dry-run"])
    refused = item.verdict.status is Status.REJECTED  # missing runs may come from others
    assert item.line in " ".join(told.output.split()), told.output
    assert (told.exit_code != 0) == refused, told.output

    listed = run(main, ["runs", str(folder), "--root", str(root), "--format", "json"])
    if listed.exit_code == 0 and item.verdict.runs:
        shown = {(r["step"], r["loss"], r["time_s"]) for r in json.loads(listed.output)["runs"]}
        assert {(r.step, r.loss, r.time_s) for r in item.verdict.runs} <= shown

    track = ["--track", item.verdict.track] if item.verdict.track else []
    counted = run(main, ["stats", str(folder), "--root", str(root), *track, "--format", "json"])
    statistics = item.verdict.statistics
    if counted.exit_code == 0 and statistics is not None:
        found = json.loads(counted.output)
        for key in ("n", "mean", "p", "passes", "needed_runs"):
            assert found[key] == statistics.to_json()[key], key


OF_LOGS = ("none", "runs-one", "runs-two", "runs-copied", "target-", "log-cut", "empty-", "zip-",
           "binary-", "notebook-", "metric-", "huge-log", "code-of-one")  # fmt: skip


@pytest.mark.parametrize(
    "mistake", [m for m in MISTAKES if m.name.startswith(OF_LOGS)], ids=lambda m: m.name
)
def test_new_agrees_with_check(mistake: Mistake, tmp_path: Path) -> None:
    """The folder that `new` makes of the same logs is judged as it says."""
    root, logs = tmp_path / "root", []
    (root / "tracks").mkdir(parents=True)
    (root / "tracks/fast.toml").write_text(mistakes.TEXT)
    for name, data in mistake.make(good()).items():
        if name not in ("submission.json", "train.py"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(data)
            logs += ["--log", str(tmp_path / name)]
    made = CliRunner().invoke(main, ["new", "fast/fresh", *logs, "--root", str(root)])
    folder = root / "submissions/fast/fresh"
    if not folder.exists():
        assert made.exit_code != 0 and "Traceback" not in made.output
        return
    item = checked(root, folder)
    assert item.line in " ".join(made.output.split()), made.output
    assert {g.rule for g in item.groups} == {g.rule for g in item.groups if g.rule in made.output}


def no_arm(files: Files) -> Files:
    files = two_arms(files)
    data = json.loads(files["submission.json"])
    data["runs"] = data["runs"][:2]
    return {**files, "submission.json": json.dumps(data).encode()}


def one_arm(files: Files) -> Files:
    return {
        name: data.replace(b'"baseline"', b'"candidate"') if name.endswith(".json") else data
        for name, data in two_arms(files).items()
    }


def unnamed(files: Files) -> Files:
    """Without `arm`, every run is a candidate."""
    files = two_arms(files)
    data = json.loads(files["submission.json"])
    data["runs"] = [{k: v for k, v in run.items() if k != "arm"} for run in data["runs"]]
    return {**files, "submission.json": json.dumps(data).encode()}


@pytest.mark.parametrize("make", [no_arm, one_arm, unnamed])
def test_a_baseline_that_is_missing_is_asked_for(make: Any, tracks: Competition) -> None:
    folder = "submissions/lab/idea"
    tracks.github.commit(REPO, "main", {"tracks/baselines/lab/first.json": json.dumps(FROZEN)})
    pull = tracks.open({f"{folder}/{name}": data for name, data in make(good()).items()})
    report = tracks.verify(pull.number, online=False)
    said = answer(report.verdicts[0], report.places[folder])
    assert said.line.endswith("not ranked"), said.line
    assert "run the baseline in turn with it on the same machine" in said.next
    tracks.push({f"{folder}/{name}": data for name, data in two_arms(good()).items()})
    report = tracks.verify(pull.number, online=False)
    said = answer(report.verdicts[0], report.places[folder])
    assert "less training time than the baseline" in said.line
