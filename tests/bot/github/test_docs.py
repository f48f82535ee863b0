"""The page about the bot says what is so: commands, permissions, what `init` writes."""

from __future__ import annotations

import re

from bot.github.conversation.commands import COMMANDS
from bot.github.host.initialise import WORKFLOWS
from tests.conftest import ROOT
from tests.workflows.test_static import HOLDS_THE_KEY, PERMISSIONS

PAGE = (ROOT / "leaderboard_site/docs/bot.md").read_text()


def test_every_command_is_described_as_it_is_written() -> None:
    described = re.findall(r"^\| `(/[^`]+)` \|", PAGE, re.MULTILINE)
    assert described == [usage.form for usage in COMMANDS.values()]


def test_every_workflow_and_job_is_in_the_table() -> None:
    for workflow, job in PERMISSIONS:
        row = next(
            line
            for line in PAGE.splitlines()
            if line.startswith(f"| `{workflow}`") and (job in line or workflow in ("ci", "command"))
        )
        assert ("W&B key" in row) == ((workflow, job) in HOLDS_THE_KEY or workflow == "audit")


def test_number_of_workflows() -> None:
    assert len(WORKFLOWS) == 5 and "writes five workflows" in PAGE
