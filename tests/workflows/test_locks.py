"""What the jobs that only answer install is enough for their commands."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys

import pytest

from bot.github.host.source import requirements
from tests.bot.github.competition import REPO, Competition, submission
from tests.bot.github.conftest import competition, github
from tests.workflows.test_static import load

__all__ = ["competition", "github"]
WITHOUT = "import sys; sys.modules |= dict.fromkeys({names!r}); from bot.cli import main; main()"


def locked(name: str) -> set[str]:
    found = re.findall(r"^([\w.-]+)==", requirements(name).decode(), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", each).lower() for each in found}


def left_out() -> set[str]:
    """Modules of the packages that `bot` locks and `publish` does not."""
    absent = locked("bot") - locked("publish")
    return {
        module
        for module, owners in importlib.metadata.packages_distributions().items()
        if {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners} <= absent
    }


def test_publish_installs_a_part_of_the_same_versions() -> None:
    publish, bot = (set(requirements(name).decode().splitlines()) for name in ("publish", "bot"))
    assert not {line for line in publish - bot if not line.startswith("#")}
    assert {"scipy", "numpy", "wandb", "flask"} <= left_out()


@pytest.mark.parametrize("job", ["publish", "remember", "queue"])
def test_jobs_that_only_answer_install_that_part(job: str) -> None:
    steps = load("speedrun-verify")["jobs"][job]["steps"]
    assert [s["with"]["lock"] for s in steps if s.get("id") == "speedrun"] == ["publish"]


@pytest.mark.full("starts six programs")
def test_their_commands_run_with_it(competition: Competition) -> None:
    number = competition.open(submission("new")).number
    competition.verify(number)
    place = competition.checkout()
    for job, more in (
        ("publish", [str(competition.report), "--pr", str(number), "--evaluated", "success"]),
        ("remember", [str(competition.report), "--pr", str(number)]),
    ):
        code = WITHOUT.format(names=sorted(left_out()))
        done = subprocess.run(
            [sys.executable, "-c", code, job, *more, "--repo", REPO, "--root", str(place)],
            env={
                **os.environ,
                "GITHUB_TOKEN": f"token-of-{job}",
                "GITHUB_API_URL": competition.github.url,
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert competition.comments(number)
