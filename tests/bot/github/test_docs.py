"""The page about the bot says what is so: commands, permissions, what `init` writes."""

from __future__ import annotations

import re

from bot.github.api.workflows import WORKFLOWS
from bot.github.conversation import actions
from bot.github.conversation.commands import COMMANDS, Command, Mistake, parse
from tests.conftest import ROOT
from tests.workflows.test_static import HOLDS_THE_KEY, PERMISSIONS, PRIVILEGED

PAGE = (ROOT / "leaderboard_site/docs/bot.md").read_text()


def test_every_command_is_described_as_it_is_written() -> None:
    described = re.findall(r"^\| `(/[^`]+)` \|", PAGE, re.MULTILINE)
    assert described == [usage.form for usage in COMMANDS.values()]


def test_every_command_is_read_and_answered() -> None:
    for name in COMMANDS:
        assert isinstance(parse(f"/{name}"), Command | Mistake)
    assert set(COMMANDS) == set(actions._ANYWHERE) | set(actions._HANDLERS)


def test_every_workflow_and_job_is_in_the_table() -> None:
    whole = ("ci", "speedrun-command")
    for workflow, job in (key for key in PERMISSIONS if key[0] in (*PRIVILEGED, "ci")):
        rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{workflow}`")]
        row = next(line for line in rows if job in line or workflow in whole)
        holds = (workflow, job) in HOLDS_THE_KEY or workflow == "speedrun-audit"
        assert ("W&B key" in row) == holds


def test_number_of_workflows() -> None:
    assert len(WORKFLOWS) == 5 and "writes five workflows" in PAGE
