"""`speedrun init` and `speedrun doctor`: a competition in one's own repository, and its watch."""

from __future__ import annotations

import datetime as dt
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from bot.cli import main
from bot.github.host.doctor import examine
from bot.github.host.doctor_tracks import look_at_tracks
from bot.github.host.settings import SettingsError, load_settings
from bot.github.host.watch import AUDIT_LABEL, keep_issue, unanswered
from bot.model.report import Settings
from bot.model.track import OBJECTIVES
from bot.parse.track_schema import problems_in
from bot.parse.track_toml import load_tracks
from tests.bot.github.competition import BOT, REPO, Competition, submission
from tests.bot.github.wheels import a_wheel
from tests.doubles.wandb import WandbDouble

pytestmark = pytest.mark.one_in(3)


def init(folder: Path, *more: str) -> str:
    wheel = ["--wheel", str(a_wheel(folder.parent))]
    result = CliRunner().invoke(
        main, ["init", str(folder), "--repo", "example-org/race", *wheel, *more]
    )
    assert result.exit_code == 0, result.output
    return result.output


def files(folder: Path) -> dict[str, str]:
    return {
        p.relative_to(folder).as_posix(): p.read_text()
        for p in folder.rglob("*")
        if p.is_file() and p.suffix != ".whl"
    }


def test_new_repository(tmp_path: Path) -> None:
    output = init(tmp_path)
    made = files(tmp_path)
    assert {
        f".github/workflows/speedrun-{n}.yml"
        for n in ("verify", "record", "command", "pages", "audit")
    } <= set(made)
    assert list(load_tracks(tmp_path)) == ["my-track"]
    assert load_settings(tmp_path).reviewers == ("example-org",)
    for name, text in made.items():
        if name.startswith(".github/workflows"):
            data = yaml.safe_load(text)
            assert "speedrun-bot/speedrun'" not in text
            assert "'example-org/race'" in text
            assert "uses: $/.github/speedrun\n" in text
            assert data["jobs"]
    assert "WANDB_API_KEY" in output and "five" not in output


def test_again_keeps_what_people_changed(tmp_path: Path) -> None:
    init(tmp_path)
    (tmp_path / "tracks/my-track.toml").write_text("# mine\n")
    before = files(tmp_path)
    output = init(tmp_path)
    assert files(tmp_path) == before
    assert "written" not in output


def test_layout_that_is_there_is_adopted_in_place(competition: Competition, tmp_path: Path) -> None:
    """No file moves; a pull request to the old place is a submission."""
    folder = tmp_path / "existing"
    old = folder / "experiments/speedrun/first/speedrun_results.json"
    old.parent.mkdir(parents=True)
    old.write_text("{}")
    output = init(
        folder, "--adopt", "experiments/speedrun/**/speedrun_results*.json", "--track", "mini"
    )
    assert "adopted 1 file in place" in output
    assert not (folder / "submissions").exists()
    track = load_tracks(folder)["mini"]
    assert track.globs == ("experiments/speedrun/**/speedrun_results*.json",)

    text = (folder / "tracks/mini.toml").read_text()
    competition.github.commit(REPO, "main", {"tracks/mini.toml": text})
    path = "experiments/speedrun/second/speedrun_results.json"
    pull = competition.open({path: json.dumps({"runs": []})})
    report = competition.answer(pull.number)
    assert [v.submission for v in report.verdicts] == ["experiments/speedrun/second"]
    assert report.verdicts[0].track == "mini"


def test_folders_of_records_are_adopted_in_place(competition: Competition) -> None:
    from tests.bot.github.competition import TRACK

    text = TRACK + '\n[submissions]\nglobs = ["records/short/*/"]\n'
    competition.github.commit(REPO, "main", {"tracks/mini.toml": text})
    made = {
        p.replace("submissions/mini/fast", "records/short/fast"): t
        for p, t in submission("fast", seconds=90.0).items()
    }
    pull = competition.open(made)
    report = competition.answer(pull.number)
    assert [v.submission for v in report.verdicts] == ["records/short/fast"]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_track_of_each_objective(tmp_path: Path, objective: str) -> None:
    init(tmp_path, "--track", "one", "--objective", objective)
    text = (tmp_path / "tracks/one.toml").read_text()
    assert load_tracks(tmp_path)["one"].objective == objective
    assert list(problems_in(tomllib.loads(text), text)) == []
    lines = [line.text for line in look_at_tracks(tmp_path)]
    assert lines == [
        f"ok    track one: {objective}, accepts "
        + ", ".join(load_tracks(tmp_path)["one"].accepts)
        + "; 0 submissions"
        + ("; not open yet, see `speedrun baseline status one`" * (objective == "baseline"))
    ]


def test_a_second_track_where_one_is(tmp_path: Path) -> None:
    init(tmp_path)
    init(tmp_path, "--track", "second")
    assert list(load_tracks(tmp_path)) == ["my-track", "second"]
    init(tmp_path)
    assert list(load_tracks(tmp_path)) == ["my-track", "second"]


def test_results_files_are_adopted_into_a_track_that_can_rank_them(tmp_path: Path) -> None:
    init(tmp_path, "--adopt", "runs/**/*_results.json")
    track = load_tracks(tmp_path)["my-track"]
    assert (track.objective, track.cost.metric) == ("pareto", "hardware_flops")


def test_logs_adopted_one_by_one_are_told_of(tmp_path: Path) -> None:
    log = tmp_path / "records/short/first/a.txt"
    log.parent.mkdir(parents=True)
    log.write_text("step:1/1 val_loss:3.0 train_time:1ms\n")
    output = init(tmp_path, "--adopt", "records/**/*.txt")
    assert "adopted 1 file in place, each an entry" in output
    assert 'adopt folders: "records/*/*/"' in output
    output = init(tmp_path, "--adopt", "records/*/*/")
    assert "adopted 1 folder in place" in output
    assert 'write into the file of a track: [submissions] globs = ["records/*/*/"]' in output


@pytest.mark.parametrize(
    "arguments",
    [
        ["--repo", "../x"],
        ["--repo", "example-org/race", "--adopt", "/etc/*"],
        ["--repo", "example-org/race", "--adopt", "../*"],
        ["--repo", "example-org/race", "--track", "A B"],
        ["--repo", "example-org/race", "--bot", "example-org/bot@main"],
        ["--repo", "example-org/race", "--reviewer", "a b"],
    ],
)
def test_init_refuses(tmp_path: Path, arguments: list[str]) -> None:
    result = CliRunner().invoke(main, ["init", str(tmp_path), *arguments])
    assert result.exit_code == 2, result.output
    assert files(tmp_path) == {}


@pytest.mark.parametrize(
    "text",
    [
        "[bot]\nlogin = 'a b'",
        "[bot]\nunknown = 1",
        "not toml [",
        "[bot]\nsite = 'http://x'",
        "[bot]\nreviewers = ['-x']",
        "[bot]\nreviewers = 'example-user'",
        "[bot]\nreviewers = 3",
        "[bot]\nreview_days = 'three'",
        "[bot]\nreview_days = -1",
        "[bot]\nlogin = 3",
        "[bott]\nlogin = 'x'",
        "bot = 3",
        "a = " + "[" * 5000,
    ],
)
def test_settings_that_are_wrong(tmp_path: Path, text: str) -> None:
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github/speedrun.toml").write_text(text)
    with pytest.raises(SettingsError, match=r"\.github/speedrun\.toml: "):
        load_settings(tmp_path)


# ---- doctor -------------------------------------------------------------------------------------


def environments(*names: str, branches: bool = True) -> dict[str, Any]:
    policy = {"protected_branches": True, "custom_branch_policies": False}
    each = {"deployment_branch_policy": policy if branches else None}
    return {"total_count": len(names), "environments": [{"name": n, **each} for n in names]}


def well_set_up(competition: Competition) -> Path:
    root = competition.checkout()
    init(root)
    rule = {
        "type": "required_status_checks",
        "parameters": {
            "required_status_checks": [{"context": "speedrun", "integration_id": 4242}],
            "strict_required_status_checks_policy": False,
        },
    }
    ruleset = {
        "id": 7,
        "name": "main",
        "enforcement": "active",
        "rules": [rule],
        "source": REPO,
        "source_type": "Repository",
        "target": "branch",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
    }
    secret = {
        "name": "WANDB_API_KEY",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    }
    competition.repo.settings |= {
        "rulesets": [ruleset],
        "environment_secrets": {"total_count": 1, "secrets": [secret]},
        "workflow_permissions": {
            "default_workflow_permissions": "read",
            "can_approve_pull_request_reviews": True,
        },
        "pages": {
            "build_type": "workflow",
            "cname": None,
            "custom_404": False,
            "public": True,
            "status": "built",
            "url": "https://api.github.com/x",
        },
        "fork_approval": {"approval_policy": "first_time_contributors"},
        "environments": environments("wandb-read", "publish"),
    }
    competition.repo.labels |= {"submission": {}, "preregistration": {}}
    competition.github.add_token("token-of-admin", "example-org")
    return root


def bad(competition: Competition, root: Path) -> list[str]:
    from bot.github.api.client import connect, open_repo

    repo = open_repo(connect("token-of-admin", url=competition.github.url), REPO, BOT)
    return [line.text for line in examine(root, repo, load_settings(root)) if line.bad]


def test_all_is_well(competition: Competition, wandb: WandbDouble) -> None:
    root = well_set_up(competition)
    assert bad(competition, root) == []


def test_each_thing_that_is_missing_is_named(competition: Competition, wandb: WandbDouble) -> None:
    root = well_set_up(competition)
    settings = competition.repo.settings
    for key, words in (
        ("pages", "Pages"),
        ("rulesets", "required"),
    ):
        kept = settings.pop(key)
        assert any(
            words in line or "requires the check" in line for line in bad(competition, root)
        ), key
        settings[key] = kept
    del competition.repo.labels["preregistration"]
    assert any("no label preregistration:" in line for line in bad(competition, root))
    settings["workflow_permissions"]["default_workflow_permissions"] = "write"
    assert any("write by default" in line for line in bad(competition, root))
    (root / ".github/workflows/speedrun-record.yml").unlink()
    (root / ".github/workflows/speedrun-audit.yml").write_text("jobs:\n  a:\n    uses: a/b@main\n")
    (root / ".github/CODEOWNERS").unlink()
    found = "\n".join(bad(competition, root))
    assert "record.yml is missing" in found and "a/b@main" in found and "nobody owns" in found


def test_a_check_that_can_be_forged(competition: Competition, wandb: WandbDouble) -> None:
    """With Actions alone a pull request's own workflow may write a check of the same name."""
    root = well_set_up(competition)
    checks = competition.repo.settings["rulesets"][0]["rules"][0]["parameters"]
    for app in (None, 15368):
        entry = {"context": "speedrun"} | ({"integration_id": app} if app else {})
        checks["required_status_checks"] = [entry]
        assert any("forge" in line for line in bad(competition, root))
    competition.repo.settings["fork_approval"] = {"approval_policy": "all_external_contributors"}
    assert any("nothing requires their review" in line for line in bad(competition, root))
    review = {
        "dismiss_stale_reviews_on_push": True,
        "require_code_owner_review": True,
        "require_last_push_approval": False,
        "required_approving_review_count": 1,
        "required_review_thread_resolution": False,
    }
    competition.repo.settings["rulesets"][0]["rules"].append(
        {"type": "pull_request", "parameters": review}
    )
    assert bad(competition, root) == []


def test_key_that_expired(
    competition: Competition, wandb: WandbDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = well_set_up(competition)
    monkeypatch.setenv("WANDB_API_KEY", "x" * 40)
    found = "\n".join(bad(competition, root))
    assert "key does not work" in found and "x" * 40 not in found


def test_doctor_without_a_repository(tmp_path: Path) -> None:
    init(tmp_path)
    result = CliRunner().invoke(main, ["doctor", "--root", str(tmp_path)])
    assert result.exit_code == 1
    assert "no W&B key" in result.output and "--repo" in result.output


# ---- the nightly watch --------------------------------------------------------------------------

LATER = dt.datetime.now(dt.UTC) + dt.timedelta(hours=2)


def test_unanswered_pull_requests_are_found(competition: Competition, wandb: WandbDouble) -> None:
    answered = competition.open(submission("one", seconds=90.0), branch="one")
    competition.answer(answered.number)
    silent = competition.open(submission("two", salt=2), branch="two")
    merged = competition.open(submission("three", seconds=95.0, salt=3), branch="three")
    competition.answer(merged.number)
    competition.github.merge(REPO, merged.number)
    look = unanswered(competition.as_job("watch"), Settings(), now=LATER)
    text = "\n".join(line.text for line in look)
    assert f"pull request {silent.number} has no answer" in text
    assert f"redo verify {silent.number} main" in text
    assert f"the merge of {merged.number} was not recorded" in text
    assert f"redo record {merged.number} main" in text
    assert f"pull request {answered.number} has" not in text

    competition.answer(silent.number)
    competition.record(merged.number)
    look = unanswered(competition.as_job("watch"), Settings(), now=LATER)
    assert not any(line.bad for line in look)


def test_a_check_forged_by_a_workflow_is_no_answer(
    competition: Competition, wandb: WandbDouble
) -> None:
    pull = competition.open(submission("one", seconds=90.0))
    competition.answer(pull.number)
    next(iter(competition.repo.checks.values()))["app"] = "another-app"
    look = unanswered(competition.as_job("watch"), Settings(), now=LATER)
    assert any(f"pull request {pull.number} has no answer" in line.text for line in look)


def test_the_promised_review_time_is_watched(competition: Competition, wandb: WandbDouble) -> None:
    pull = competition.open(submission("plain", seconds=90.0, summary=""), body="")
    competition.answer(pull.number)
    (check,) = competition.repo.checks.values()
    assert check["output"]["title"].startswith("Needs review")
    repo, settings = competition.as_job("watch"), Settings(review_days=3)
    answered = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)  # when the double completes its check runs
    competition.repo.pulls[pull.number].created_at = "2026-01-01T00:00:00Z"
    early = unanswered(repo, settings, now=answered + dt.timedelta(days=2, hours=23))
    assert not any(line.bad for line in early)
    late = unanswered(repo, settings, now=answered + dt.timedelta(days=3, hours=1))
    (line,) = [line for line in late if line.bad]
    assert "waits for a review for 3 days" in line.text and "redo" not in line.text


def test_one_issue_for_all_nights(competition: Competition, tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    folder.mkdir()
    repo = competition.as_job("issue")
    for night in range(3):
        (folder / "watch.txt").write_text(
            f"wrong pull request {night} has no answer @example-user\nredo verify 5 main\nexit 1\n"
        )
        keep_issue(repo, folder)
    issues = [i for i in competition.repo.issues.values() if AUDIT_LABEL in i.labels]
    assert len(issues) == 1 and issues[0].state == "open"
    assert "pull request 2" in issues[0].body
    assert "`wrong pull request 2 has no answer @example-user`" in issues[0].body
    assert len(competition.repo.dispatches) == 3
    (folder / "watch.txt").write_text("ok    every open pull request has an answer\n")
    assert keep_issue(repo, folder) == "all is well"
    assert issues[0].state == "closed"


def test_audit_that_left_nothing_is_reported(competition: Competition, tmp_path: Path) -> None:
    assert keep_issue(competition.as_job("issue"), tmp_path).startswith("opened")
