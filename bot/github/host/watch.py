"""The nightly watch: pull requests without an answer, merges without a record, one issue for all.

`speedrun doctor --watch` prints what it finds, and lines `redo WORKFLOW NUMBER BRANCH`; `speedrun
doctor --report DIR` keeps the issue and starts again what those lines name.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path

from github.PullRequest import PullRequest as ApiPull

from bot.github.api.branches import EVIDENCE_BRANCH, tip
from bot.github.api.client import Repo, login_of, settle, told
from bot.github.api.workflows import dispatch_workflow
from bot.github.host.doctor import wandb_key
from bot.github.host.doctor_tracks import Line, bad, good
from bot.github.pull_request.publish import LABEL, our_checks
from bot.github.pull_request.pull import Trees
from bot.github.pull_request.recorded import VERDICTS, verdict_path
from bot.model.report import Settings
from bot.render.markdown import code

GRACE = dt.timedelta(hours=1)
AUDIT_LABEL = "speedrun: audit"
_AUDIT = "<!-- speedrun:audit -->"
_REDO = re.compile(r"^redo (verify|record) ([0-9]{1,9}) (\S{1,100})$", re.MULTILINE)


def unanswered(
    repo: Repo, settings: Settings, root: Path | None = None, now: dt.datetime | None = None
) -> list[Line]:
    """Pull requests without an answer or past the promised review, merges without a record, and
    what to start again."""
    now = now or dt.datetime.now(dt.UTC)
    key = wandb_key(root) if root else None
    lines = [] if key is None else [key]
    with told("looking at the pull requests"):
        for pull in repo.api.get_pulls(state="open"):
            if not pull.draft and now - pull.created_at >= GRACE:
                lines += _waiting(repo, settings, pull, now)
        lines += _unrecorded(repo, now)
    found = lines if key is None else lines[1:]
    return lines if found else [*lines, good("every open pull request has an answer")]


def _waiting(repo: Repo, settings: Settings, pull: ApiPull, now: dt.datetime) -> Iterator[Line]:
    """What an open pull request still waits for: our answer, or a maintainer's."""
    # a check of the same name that another App or workflow wrote is not an answer of ours
    checks = our_checks(repo, settings, pull.head.sha)
    ends = [run.completed_at for run in checks if run.completed_at]
    labels = {label.name for label in pull.labels}
    again = Line(f"redo verify {pull.number} {pull.base.ref}")
    if not ends:
        yield bad(f"pull request {pull.number} has no answer", "started again")
        yield again
    elif f"{LABEL}unverifiable" in labels:
        if (days := (now - min(ends)).days) >= settings.review_days:
            yield bad(
                f"pull request {pull.number} could not be checked for {days} days",
                "its comment says what could not be read: restore it, or say there how it goes on",
            )
        yield again
    elif f"{LABEL}needs-review" in labels:
        days = (now - max(ends)).days
        if days >= settings.review_days:
            yield bad(
                f"pull request {pull.number} waits for a review for {days} days",
                f"{settings.review_days} were promised: review it, or raise review_days in "
                ".github/speedrun.toml",
            )


def _unrecorded(repo: Repo, now: dt.datetime) -> Iterator[Line]:
    at = tip(repo.api, EVIDENCE_BRANCH)
    kept = {e.path for e in Trees(repo, at).files(VERDICTS)} if at else set()
    passing = {f"{LABEL}verified", f"{LABEL}needs-review"}
    for pull in repo.api.get_pulls(state="closed", sort="updated", direction="desc").get_page(0):
        name = verdict_path(pull.number).rpartition("/")[2]
        labels = {label.name for label in pull.labels}
        old = pull.merged_at is not None and now - pull.merged_at > GRACE
        if old and labels & passing and name not in kept:
            yield bad(f"the merge of {pull.number} was not recorded", "started again")
            yield Line(f"redo record {pull.number} {pull.base.ref}")


def keep_issue(repo: Repo, folder: Path) -> str:
    """One audit issue: opened, kept up to date, closed. Starts again what the files ask for."""
    texts = {
        path.name: path.read_text(encoding="utf-8", errors="replace")[:20_000]
        for path in sorted(folder.glob("*.txt"))
        if not path.is_symlink()
    }
    if not texts:
        texts = {"audit": "the audit left no result\nexit 3\n"}
    for workflow, number, ref in _REDO.findall("\n".join(texts.values()))[:50]:
        dispatch_workflow(repo, workflow)(int(number), ref)
    failed = {n: t for n, t in texts.items() if re.search(r"^(exit [1-9]|wrong )", t, re.M)}
    with told("keeping the audit issue"):
        return settle(repo, lambda: _upsert_issue(repo, failed))


def _upsert_issue(repo: Repo, failed: dict[str, str]) -> str:
    known = [
        issue
        for issue in repo.api.get_issues(state="open", labels=[AUDIT_LABEL])
        if login_of(issue) == repo.login and (issue.body or "").startswith(_AUDIT)
    ]
    if not failed:
        for issue in known:
            issue.edit(state="closed")
        return "all is well"
    body = _issue_body(failed)
    if not known:
        title = "The nightly audit found something"
        made = repo.api.create_issue(title, body, labels=[AUDIT_LABEL])
        return f"opened {made.html_url}"
    if known[0].body != body:
        known[0].edit(body=body)
    for extra in known[1:]:
        extra.edit(state="closed")
    return f"kept {known[0].html_url}"


def _issue_body(failed: dict[str, str]) -> str:
    parts = [_AUDIT, "This issue is kept up to date every night and closed when all is well.", ""]
    for name, text in failed.items():
        parts += [f"**{code(name)}**", ""]
        parts += [f"- {code(line, 300)}" for line in text.splitlines()[:100] if line.strip()]
        parts.append("")
    return "\n".join(parts)[:60_000]
