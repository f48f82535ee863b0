"""Say a report on its pull request: one sticky comment, one check run, one status label.

Everything is read first and written after, each write is an upsert, and the order is such that a
process killed between any two of them is put right by the next run: the check run, then the short
notice of a change, then suggestions, then the sticky comment (which remembers the state and links
them), then label and reviewer.
Nothing is written for a commit that is not the pull request's head any more.
"""

from __future__ import annotations

import dataclasses as dc
import logging
from typing import Any

from github import GithubException
from github.CheckRun import CheckRun
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest as ApiPull

from bot.github.api.client import GitHubTrouble, Repo, login_of, settle, told, transient
from bot.github.pull_request import suggestions
from bot.github.pull_request.pull import facts
from bot.model.report import Kind, Report, Settings
from bot.registry import Status
from bot.render import comment as words
from bot.render.annotations import annotate, conclusion, digest, slices
from bot.render.comment import STICKY, read_state, render, render_comment
from bot.render.untrusted import plain

LABEL = "speedrun: "
_LOG = logging.getLogger("speedrun.publish")
_TOLD = "<!-- speedrun:told "
_CHECK_ROOM = 60_000


@dc.dataclass(frozen=True, slots=True)
class Published:
    """What was done. `why_not` is set, and nothing written, when the report is out of date."""

    why_not: str | None = None
    sticky: str | None = None
    told: bool = False


def publish(repo: Repo, report: Report, settings: Settings) -> Published:
    """Put comment, check run, label and reviewer into the state that the report asks for.

    Safe to run again, by several workers at once as well. Raises GitHubTrouble.
    """
    with told("publishing the verdict"):
        issue = repo.api.get_issue(report.pr)
        comments = settle(repo, lambda: ours(repo, issue))
        pull = repo.api.get_pull(report.pr).complete()
        seen = facts(pull)
        if seen.head_sha != report.head_sha:
            return Published(f"the head moved on to {seen.head_sha[:7]}, its own run answers")
        settle(repo, lambda: check_run(repo, report, settings))
        sticky = _sticky(comments)
        if settings.quiet and sticky is None and report.kind in (Kind.OTHER, Kind.CODE):
            return Published()  # the required check is answered, and nobody is told
        before = read_state(sticky.body) if sticky else None
        changed = _tell_change(repo, issue, comments, before, report, settings, sticky)
        links = suggestions.put(repo, pull, report, settings)
        body = render_comment(report, settings, before, links)
        first = [comments]
        url = settle(repo, lambda: _upsert_sticky(repo, issue, first, body))
        settle(repo, lambda: _label(pull, report, seen.labels))
        settle(repo, lambda: _ask_reviewer(pull, report, settings, seen.author, seen.reviewers))
        return Published(sticky=url, told=changed)


# ---- comments -----------------------------------------------------------------------------------


def ours(repo: Repo, issue: Any) -> list[IssueComment]:
    """Our own comments, oldest first: by login, so that nobody else can plant a marker."""
    return [c for c in issue.get_comments() if login_of(c) == repo.login]


def _sticky(comments: list[IssueComment]) -> IssueComment | None:
    return next((c for c in comments if (c.body or "").startswith(STICKY)), None)


def _upsert_sticky(repo: Repo, issue: Any, first: list[list[IssueComment]], body: str) -> str:
    """Edit our comment, or write it. `first` holds what was listed; a second attempt looks again.

    Two workers may both find none and both write: whoever looks afterwards removes all but the
    oldest, so every order of events ends with one.
    """
    known = first.pop() if first else ours(repo, issue)
    if _sticky(known) is None:
        issue.create_comment(body)
        known = ours(repo, issue)
    kept = _sticky(known)
    if kept is None:
        raise GitHubTrouble("the comment was stored but is not listed; run publish again")
    for extra in known:
        if extra is not kept and (extra.body or "").startswith(STICKY):
            _delete(extra)
    if kept.body != body:
        kept.edit(body)
    return str(kept.html_url)


def _delete(extra: IssueComment) -> None:
    try:
        extra.delete()
    except GithubException as error:
        if error.status != 404:  # gone already: the other worker did what we wanted
            raise


def _tell_change(
    repo: Repo,
    issue: Any,
    comments: list[IssueComment],
    before: words.State | None,
    report: Report,
    settings: Settings,
    sticky: IssueComment | None,
) -> bool:
    """One short comment when failing turned into passing or back; edits notify nobody."""
    now = words.decided(report.status)
    if before is None or before.decided is None or now in (None, before.decided) or not sticky:
        return False
    marker = f"{_TOLD}{now} {report.head_sha} -->"
    link = words.Safe(sticky.html_url)
    text = render("told.md.j2", settings, decided=now, sha=report.head_sha, link=link)
    first = [comments]

    def upsert() -> bool:
        mine = first.pop() if first else ours(repo, issue)
        if any((c.body or "").startswith(marker) for c in mine):
            return False
        issue.create_comment(f"{marker}\n{text}")
        return True

    return settle(repo, upsert)


# ---- check run ----------------------------------------------------------------------------------


def our_checks(repo: Repo, settings: Settings, sha: str) -> list[CheckRun]:
    """The check runs of a commit that we wrote; GitHub names no App for one that is gone."""
    app = repo.login.removesuffix("[bot]")
    runs = repo.api.get_commit(sha).get_check_runs(check_name=settings.check)
    return [run for run in runs if run.app and run.app.slug == app]


def check_run(repo: Repo, report: Report, settings: Settings) -> None:
    """One check run that says this report; resumes where an earlier attempt stopped.

    `external_id` is a digest of what it says: an equal one is ours and is finished, an other one is
    an older answer for the same commit and is superseded by a new run of the same name.
    """
    found = annotate(report)
    outcome = conclusion(report)
    title, summary = _summary(report, settings)
    identity = digest(outcome, title, summary, found)
    found_runs = our_checks(repo, settings, report.head_sha)
    runs = [run for run in found_runs if run.external_id == identity]
    output = {"title": title, "summary": summary}
    parts = list(slices(found))
    run = runs[0] if runs else None
    if run is None:
        first = {**output, "annotations": parts[0]}
        if len(parts) == 1:
            _create(repo, report, settings, identity, first, outcome)
            return
        run = _create(repo, report, settings, identity, first, None)
        sent = len(parts[0])
    elif run.status == "completed":
        return
    else:
        sent = run.output.annotations_count
    _append(run, output, found[sent:], outcome)


def _create(
    repo: Repo,
    report: Report,
    settings: Settings,
    identity: str,
    output: dict[str, Any],
    outcome: str | None,
) -> CheckRun:
    ending: dict[str, Any] = {"status": "in_progress"}
    if outcome:
        ending = {"status": "completed", "conclusion": outcome}
    return repo.api.create_check_run(
        settings.check, report.head_sha, external_id=identity, output=output, **ending
    )


def _append(
    run: CheckRun, output: dict[str, Any], rest: list[dict[str, Any]], outcome: str
) -> None:
    parts = list(slices(rest))
    for index, part in enumerate(parts):
        filled = {**output, "annotations": part} if part else output
        if index == len(parts) - 1:
            run.edit(status="completed", conclusion=outcome, output=filled)
        else:
            run.edit(output=filled)


def _summary(report: Report, settings: Settings) -> tuple[str, str]:
    lines = [words.answer_of(report, v, settings).line for v in report.verdicts]
    title = "; ".join(lines[:3]) or f"No submission ({report.kind})"
    body = words.body_of(report, settings, 20, 20, details=False)
    if len(body) > _CHECK_ROOM:
        body = body[:_CHECK_ROOM].rpartition("\n")[0] + "\n\n_Cut here._\n"
    return plain(title, 200), body


# ---- label and reviewer -------------------------------------------------------------------------


def label_of(report: Report) -> str:
    """The one status label of a report."""
    return f"{LABEL}{report.status or report.kind}"


def _label(pull: ApiPull, report: Report, present: tuple[str, ...]) -> None:
    """In one request, those of others kept as they were read."""
    wanted = (*(name for name in present if not name.startswith(LABEL)), label_of(report))
    if set(wanted) != set(present):
        pull.set_labels(*wanted)


def _ask_reviewer(
    pull: ApiPull, report: Report, settings: Settings, author: str, asked: tuple[str, ...]
) -> None:
    """Ask one reviewer, the same for every run of this pull request, never the author."""
    able = [login for login in settings.reviewers if login != author]
    if report.status is not Status.NEEDS_REVIEW or not able or set(asked) & set(able):
        return
    try:
        pull.create_review_request(reviewers=[able[report.pr % len(able)]])
    except GithubException as error:
        # 422: an organisation, or somebody without access; the verdict stands without a request
        if transient(error) or error.status not in (403, 404, 422):
            raise
        _LOG.warning("no review was requested: GitHub answered %s", error.status)
