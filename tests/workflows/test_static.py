"""What must hold of every workflow, read from the files: triggers, permissions, pins, no injection.

These are the properties that no local runner enforces (permissions, activity types, environments).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.github.host.source import LOCKS
from tests.conftest import ROOT

FOLDER = ROOT / ".github/workflows"
ACTION = ROOT / ".github/actions/setup/action.yml"
PRIVILEGED = tuple(f"speedrun-{name}" for name in ("audit", "command", "pages", "record", "verify"))
OURS = ("ci", "nightly", "release")
"""CI of this repository, which travels to nobody."""
NAMES = (*OURS, *PRIVILEGED)
PR_TYPES = {"types": ["opened", "synchronize", "reopened", "ready_for_review", "edited"]}
TRIGGERS = {
    "ci": {
        "push": {"branches": ["main"]},
        "pull_request": {"branches": ["main"]},
        "merge_group": None,
        "schedule": ...,
    },
    "nightly": {"schedule": ..., "workflow_dispatch": None},
    "release": {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+*"]}},
    "speedrun-verify": {
        "pull_request_target": {"branches": ["main"], **PR_TYPES},
        "merge_group": None,
        "workflow_dispatch": ...,
    },
    "speedrun-record": {
        "pull_request_target": {"branches": ["main"], "types": ["closed"]},
        "workflow_dispatch": ...,
    },
    "speedrun-command": {
        "issue_comment": {"types": ["created"]},
        "issues": {"types": ["opened", "edited", "labeled"]},
        "discussion": {"types": ["created"]},
        "discussion_comment": {"types": ["created"]},
    },
    "speedrun-pages": {"push": {"branches": ["main"]}, "schedule": ..., "workflow_dispatch": ...},
    "speedrun-audit": {"schedule": ..., "workflow_dispatch": ...},
}
PERMISSIONS = {
    ("ci", "test"): {"contents": "read"},
    ("nightly", "long"): {"contents": "read"},
    ("release", "build"): {"contents": "read"},
    ("release", "publish"): {
        "contents": "write",
        "id-token": "write",
        "attestations": "write",
    },
    ("speedrun-verify", "evaluate"): {
        "contents": "read",
        "issues": "read",
        "pull-requests": "read",
    },
    ("speedrun-verify", "publish"): {
        "contents": "read",
        "checks": "write",
        "pull-requests": "write",
    },
    ("speedrun-verify", "remember"): {"contents": "write", "actions": "read"},
    ("speedrun-verify", "queue"): {"contents": "read", "checks": "write", "pull-requests": "read"},
    ("speedrun-record", "evaluate"): {
        "contents": "read",
        "issues": "read",
        "pull-requests": "read",
    },
    ("speedrun-record", "append"): {"contents": "write"},
    ("speedrun-record", "tell"): {
        "contents": "read",
        "issues": "write",
        "pull-requests": "write",
        "actions": "write",
    },
    ("speedrun-record", "promote"): {
        "contents": "write",
        "issues": "write",
        "pull-requests": "write",
        "actions": "write",
    },
    ("speedrun-command", "answer"): {
        "contents": "read",
        "checks": "read",
        "actions": "write",
        "issues": "write",
        "pull-requests": "write",
        "discussions": "write",
    },
    ("speedrun-command", "change"): {
        "contents": "write",
        "actions": "write",
        "issues": "write",
        "pull-requests": "write",
        "discussions": "write",
    },
    ("speedrun-pages", "build"): {"contents": "read", "pull-requests": "read", "issues": "read"},
    ("speedrun-pages", "deploy"): {"pages": "write", "id-token": "write"},
    ("speedrun-audit", "look"): {
        "contents": "read",
        "checks": "read",
        "pull-requests": "read",
        "issues": "read",
    },
    ("speedrun-audit", "report"): {"contents": "read", "issues": "write", "actions": "write"},
}
HOLDS_THE_KEY = {
    ("speedrun-verify", "evaluate"),
    ("speedrun-record", "evaluate"),
    ("speedrun-audit", "look"),
}


def load(name: str) -> dict[str, Any]:
    data = yaml.safe_load((FOLDER / f"{name}.yml").read_text())
    data["on"] = data.pop(True)  # YAML 1.1 reads the key `on` as a truth value
    return data


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name in NAMES:
        for job, body in load(name)["jobs"].items():
            yield name, job, body


def steps(name: str) -> Iterator[dict[str, Any]]:
    for body in load(name)["jobs"].values():
        yield from body["steps"]


def test_these_are_all_workflows() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_triggers(name: str) -> None:
    found = load(name)["on"]
    assert set(found) == set(TRIGGERS[name])
    for event, wanted in TRIGGERS[name].items():
        assert wanted is ... or found[event] == wanted, event


def test_permissions_are_exactly_these() -> None:
    assert {(w, j): b["permissions"] for w, j, b in jobs()} == PERMISSIONS
    for name in NAMES:
        assert load(name)["permissions"] == {}


def test_no_job_holds_the_key_and_may_write() -> None:
    holders = {(w, j) for w, j, body in jobs() if "WANDB_API_KEY" in str(body)}
    assert holders == HOLDS_THE_KEY
    for workflow, job, body in jobs():
        if (workflow, job) in holders:
            assert "write" not in body["permissions"].values()
            assert body["environment"] == "wandb-read"
        secrets = set(re.findall(r"secrets\.(\w+)", str(body)))
        assert secrets <= {"WANDB_API_KEY", "SPEEDRUN_APP_KEY"}
        assert not ("SPEEDRUN_APP_KEY" in secrets and (workflow, job) in holders)


@pytest.mark.parametrize("name", NAMES)
def test_no_expression_in_a_script(name: str) -> None:
    for step in steps(name):
        assert "${{" not in step.get("run", ""), step["run"]
        assert "github.event" not in step.get("run", "")
    for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


@pytest.mark.parametrize("path", [*(FOLDER / f"{n}.yml" for n in NAMES), ACTION], ids=str)
def test_every_action_is_pinned_to_a_commit_and_says_its_version(path: Path) -> None:
    uses = re.findall(r"uses: (\S+)(.*)", path.read_text())
    assert uses
    for what, rest in uses:
        if what.startswith("$/") or what.startswith("speedrun-bot/") or "FULL_COMMIT" in what:
            continue
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", what), what
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", rest), what


@pytest.mark.parametrize("name", PRIVILEGED)
def test_privileged_jobs_see_the_default_branch_only(name: str) -> None:
    text = (FOLDER / f"{name}.yml").read_text()
    assert "allow-unsafe-pr-checkout" not in text
    for word in ("head_ref", "head.ref", "head.sha", "merge_commit_sha", "inherit"):
        assert word not in text
    for step in steps(name):
        if "actions/checkout" in step.get("uses", ""):
            wanted = ("${{ github.event.repository.default_branch }}", "evidence")
            assert step["with"]["ref"] in wanted
            assert step["with"]["persist-credentials"] is False
            assert "repository" not in step["with"]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_runs_for_ever_or_in_a_fork(name: str) -> None:
    data = load(name)
    assert data["concurrency"]["group"]
    for job in data["jobs"].values():
        assert 0 < job["timeout-minutes"] <= (240 if name == "nightly" else 60)
        assert job["runs-on"] == "ubuntu-24.04"
        if name in PRIVILEGED:
            guarded = "github.repository == 'speedrun-bot/speedrun'" in job.get("if", "")
            assert guarded or job.get("needs"), "neither a guard nor a guarded job before it"


def test_ci_runs_the_whole_suite_on_every_python_we_support() -> None:
    job = load("ci")["jobs"]["test"]
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    assert ".ci/run" in [step.get("run") for step in job["steps"]]


def test_a_release_is_built_where_nothing_can_be_written() -> None:
    build, publish = (load("release")["jobs"][name] for name in ("build", "publish"))
    assert publish["needs"] == "build" and "write" not in build["permissions"].values()
    run = "".join(step.get("run", "") for step in build["steps"])
    assert "--require-hashes" in run and "make dist" in run
    ours = [step.get("run", "") for step in publish["steps"]]
    assert ours[1].endswith("sha256sum --check --strict SHA256SUMS")
    assert not any("checkout" in step.get("uses", "") for step in publish["steps"])


def test_concurrency_never_drops_the_newest() -> None:
    """A group keeps one running and one waiting run, and a newer one replaces the waiting one.

    So a group may be shared only where the newest run does the work of the older: one pull request.
    Each comment is its own group, because each has its own answer.
    """
    verify = load("speedrun-verify")["concurrency"]
    assert (
        verify["group"]
        == "speedrun-verify-${{ github.event.pull_request.number || inputs.pr || github.ref }}"
    )
    assert "node_id" in load("speedrun-command")["concurrency"]["group"]
    assert load("speedrun-record")["concurrency"]["cancel-in-progress"] is False
    for step in steps("speedrun-verify"):
        assert "head" not in str(step.get("env", {})), "the head is read when the job runs"


@pytest.mark.parametrize("name", PRIVILEGED)
def test_no_cache_and_no_environment_file_in_privileged_jobs(name: str) -> None:
    text = (FOLDER / f"{name}.yml").read_text() + ACTION.read_text()
    assert "actions/cache" not in text and "cache:" not in text
    assert "GITHUB_ENV" not in text and "GITHUB_PATH" not in text


def test_installs_are_locked_by_hash() -> None:
    text = ACTION.read_text()
    assert "--require-hashes" in text and "--only-binary :all:" in text
    for name in LOCKS:
        lock = (ROOT / f".github/requirements/{name}.txt").read_text()
        wanted = re.findall(r"^[A-Za-z][\w.-]*==", lock, re.MULTILINE)
        assert wanted if name == "uv" else len(wanted) > 20
        assert lock.count("--hash=sha256:") >= len(wanted)
        assert "://" not in lock


def tool(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"needs {name} (make test-full installs it)")
    return found


def test_zizmor_reports_nothing() -> None:
    done = subprocess.run(
        [tool("zizmor"), "--offline", "--persona", "pedantic", ".github"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARN" not in done.stderr


def test_each_ignore_has_its_reason() -> None:
    for name in NAMES:
        for line in (FOLDER / f"{name}.yml").read_text().splitlines():
            if "zizmor: ignore" in line:
                assert re.search(r"zizmor: ignore\[[\w-]+\] \S.{30,}", line), line


def test_actionlint_with_shellcheck_reports_nothing() -> None:
    command = [tool("actionlint"), "-shellcheck", tool("shellcheck"), "-no-color"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
