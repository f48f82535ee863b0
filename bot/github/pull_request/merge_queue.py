"""The merge queue asks for the required check again, on a commit of its own.

What was said of the pull request is said again there: the queue only holds pull requests whose
check let them in, and after the merge the evidence is read once more.
"""

from __future__ import annotations

import re
from typing import Any

from bot.github.api.client import Repo, settle, told
from bot.github.pull_request.publish import our_checks
from bot.github.pull_request.pull import checked_sha, facts, fetch
from bot.model.report import Settings
from bot.patterns import COMMIT_TEXT

_REF = re.compile(rf"(?:refs/heads/)?gh-readonly-queue/.+/pr-([1-9][0-9]{{0,8}})-{COMMIT_TEXT}")


def queued(ref: str) -> int:
    """The number of the pull request that a branch of the merge queue holds. Raises ValueError."""
    match = _REF.fullmatch(ref)
    if match is None:
        raise ValueError(f"{ref[:100]!r} is not a branch of the merge queue")
    return int(match[1])


def repeat_check(repo: Repo, settings: Settings, ref: str, head_sha: str) -> str:
    """Write the check of the queued pull request on the queue's commit; says what it wrote.

    Raises ValueError for a ref that is not the queue's, GitHubTrouble.
    """
    pull = facts(fetch(repo, queued(ref)))
    with told("repeating the check"):
        found = [run for run in our_checks(repo, settings, pull.head_sha) if run.conclusion]
        latest = max(found, key=lambda run: run.id, default=None)
        conclusion = latest.conclusion if latest else "failure"
        said = f"pull request {pull.number} at {pull.head_sha[:7]}: {conclusion}"
        output: dict[str, Any] = {"title": f"As said of #{pull.number}", "summary": said}
        if latest is None:
            output["summary"] += "; it has no check yet, comment `/verify` there"

        def upsert() -> str:
            if not any(our_checks(repo, settings, checked_sha(head_sha))):
                repo.api.create_check_run(
                    settings.check,
                    head_sha,
                    status="completed",
                    conclusion=conclusion,
                    output=output,
                )
            return said

        return settle(repo, upsert)
