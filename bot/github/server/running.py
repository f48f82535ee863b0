"""The steps of the bot, as the commands and the self-hosted server take them alike."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bot.github.pull_request.report_file import read_report, write_report
from bot.model.report import Kind, Report, Settings
from bot.model.verdict import exit_code

if TYPE_CHECKING:
    from bot.github.api.client import Repo
    from bot.github.api.workflows import Dispatch
    from bot.github.pull_request.engine import Engine

EVIDENCE_FOLDER = "evidence"


def engine_of(root: Path, evidence: str | None, online: bool) -> Engine:
    """The engine over a checkout; evidence lies in `root/evidence` unless it is named."""
    from bot.github.pull_request.engine import Engine

    return Engine(root, Path(evidence) if evidence else root / EVIDENCE_FOLDER, online)


def verify_to_files(
    repo: Repo,
    engine: Engine,
    number: int,
    merged: bool,
    out: Path,
    snapshots: Path | None,
) -> Report:
    """Evaluate, and write report and snapshots."""
    from bot.github.pull_request.evaluate import evaluate
    from bot.github.pull_request.record import write_snapshots

    report, runs = evaluate(repo, engine, number, merged=merged)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_report(report, out)
    if snapshots is not None:
        write_snapshots(runs, snapshots)
    return report


def one_line(report: Report) -> str:
    """What a log says of a report: our own words only."""
    what = report.status or f"no submission ({report.kind})"
    return f"pull request {report.pr} at {report.head_sha[:12]}: {what}"


def exit_of(report: Report) -> int:
    """0 if there was nothing to judge in a pull request that submits nothing."""
    return exit_code(report.verdicts) if report.verdicts else 0


def now() -> dt.datetime:
    """The time in UTC."""
    return dt.datetime.now(dt.UTC)


def output(name: str, value: object) -> None:
    """An output of a step in Actions; nothing elsewhere."""
    path = os.environ.get("GITHUB_OUTPUT")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{name}={value}\n")


def publish_file(
    repo: Repo, settings: Settings, path: Path, number: int, head: str | None, evaluated: bool
) -> str:
    """Publish a report file, or after a failed evaluation that our side is at fault."""
    from bot.github.pull_request.publish import publish

    if evaluated:
        report = read_report(path, repository=repo.name, pr=number, head_sha=head)
    else:
        failed = failed_report(repo, number)
        if failed is None:
            return f"pull request {number} was closed meanwhile"
        report = failed
    done = publish(repo, report, settings)
    return done.why_not or f"published: {done.sticky}"


def failed_report(repo: Repo, number: int) -> Report | None:
    """What is said when the evaluation itself broke: unverifiable, never silence. None for a pull
    request that is closed, which an evaluation that came too late refuses."""
    from bot.github.pull_request.engine import TRIED_AGAIN, refused
    from bot.github.pull_request.pull import facts, fetch

    pull = facts(fetch(repo, number))
    if pull.state != "open":
        return None
    verdict = refused(
        f"pull request {number}",
        "",
        "evidence-unavailable",
        "the evaluation did not finish, for a reason on our side",
        TRIED_AGAIN,
    )
    return Report(
        repo.name, number, pull.head_sha, pull.base_sha, Kind.SUBMISSION, pull.author, (verdict,)
    )


def record_file(
    repo: Repo,
    settings: Settings,
    path: Path,
    number: int,
    snapshots: Path | None,
    only: str | None,
    now: dt.datetime,
) -> Iterator[str]:
    """Append and tell, each repeatable; says what was done."""
    from bot.github.pull_request.preregistration import summarise
    from bot.github.pull_request.record import append, read_snapshots, tell

    report = read_report(path, repository=repo.name, pr=number)
    if not report.verdicts:
        yield "nothing to record: no submission in this pull request"
        return
    if only != "tell":
        commit = append(repo, report, read_snapshots(snapshots), now)
        yield f"recorded in {commit[:12]}" if commit else "recorded before"
    if only != "append":
        yield f"told: {tell(repo, report, settings)}"
        yield from summarise(repo, report, settings)


def promote(
    repo: Repo,
    settings: Settings,
    engine: Engine,
    number: int,
    now: dt.datetime,
    dispatch: Dispatch | None = None,
) -> Iterator[str]:
    """Open the pull requests of the baselines that are due after a merge; says what was done."""
    from bot.github.api.workflows import dispatch_workflow
    from bot.github.pull_request.promotion import open_promotions

    start = dispatch or dispatch_workflow(repo)
    found = list(open_promotions(repo, settings, engine, number, now, start))
    yield from found or ["no new baseline is due"]


def answer_event(
    repo: Repo,
    settings: Settings,
    root: Path,
    event: str,
    number: int,
    comment: str,
    dispatch: Dispatch | None = None,
    record: Dispatch | None = None,
) -> str:
    """Answer what was said; a word for the log."""
    from bot.github.api.threads import DiscussionThread, IssueThread
    from bot.github.api.workflows import dispatch_workflow
    from bot.github.conversation.actions import answer, register, submit_form
    from bot.github.conversation.commands import Links, parse
    from bot.github.conversation.forms import LABEL, read_form
    from bot.github.conversation.talk import Talk
    from bot.parse.plan import PREREGISTRATION
    from bot.parse.track_toml import load_tracks

    thread: DiscussionThread | IssueThread
    if event.startswith("discussion"):
        thread = DiscussionThread(repo, number)
    else:
        thread = IssueThread(repo, number)
    said = thread.read(comment) if comment else thread.post()
    today = dt.datetime.now(dt.UTC).date()
    tracks = load_tracks(root)
    start = dispatch or dispatch_workflow(repo)
    again = record or dispatch_workflow(repo, "record")
    talk = Talk(repo, settings, tracks, thread, said, start, today, again, root)
    if event != "issues":
        return answer(talk)
    assert isinstance(thread, IssueThread)
    if not said.bot and PREREGISTRATION in thread.labels():
        return register(talk)
    if said.bot or LABEL not in thread.labels():
        return answer(talk) if isinstance(parse(said.body), Links) else "no form"
    thread.react(said, "eyes")
    return submit_form(talk, read_form(said.body, said.author, tracks))
