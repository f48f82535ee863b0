"""The commands of the bot, each a few lines over the modules that do the work.

`GITHUB_TOKEN` holds the token, `GITHUB_API_URL` the address of the API (Actions sets both).
Exit: 0 and 1 as the verdict says, 2 for usage, 3 for a fault on our side.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.commands.root import root_of

if TYPE_CHECKING:
    from bot.github.api.client import Repo
    from bot.model.report import Settings

TOKEN = "GITHUB_TOKEN"


@contextlib.contextmanager
def plainly() -> Iterator[None]:
    """Failures as one sentence on standard error; usage 2, our side 3."""
    from bot.github.api.client import GitHubTrouble
    from bot.github.conversation.actions import Conflict
    from bot.github.host.settings import SettingsError
    from bot.github.pull_request.evaluate import NotOpen
    from bot.github.pull_request.record import NotRecorded
    from bot.github.pull_request.report_file import ReportError
    from bot.model.track import TrackError
    from bot.render.comment import TemplateProblem

    try:
        yield
    except (ReportError, NotOpen, SettingsError, TrackError, TemplateProblem) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    except (GitHubTrouble, NotRecorded, Conflict) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(3)


def the_root(root: str | None) -> Path:
    """The checkout of the default branch."""
    return root_of(Path(root) if root else None)


def open_named(repo: str, settings: Settings) -> Repo:
    """The connection with the token of the environment."""
    from bot.github.api.client import checked_name, connect, open_repo

    token = os.environ.get(TOKEN, "").strip()
    try:
        checked_name(repo)
        if not token:
            raise click.UsageError(f"{TOKEN} is not set; put a token with access to {repo} into it")
        return open_repo(connect(token), repo, settings.login)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


_repo = click.option("--repo", required=True, metavar="OWNER/REPO", help="The repository.")
_pr = click.option("--pr", required=True, type=click.IntRange(1), help="The pull request.")
_root = click.option(
    "--root", type=click.Path(exists=True, file_okay=False), help="Checkout of the default branch."
)


@click.command()
@_repo
@_pr
@click.option(
    "--out", required=True, type=click.Path(dir_okay=False), help="Where the report goes."
)
@click.option("--merged", is_flag=True, help="Judge the merged commit instead of the head.")
@click.option("--snapshots", type=click.Path(file_okay=False), help="Keep the runs read, here.")
@click.option("--evidence", type=click.Path(file_okay=False), help="Checkout of the evidence.")
@click.option("--report-only", is_flag=True, help="Exit 0 whenever a report was written.")
@click.option("--offline", is_flag=True, help="Ask W&B nothing.")
@_root
def verify(
    repo: str,
    pr: int,
    out: str,
    merged: bool,
    snapshots: str | None,
    evidence: str | None,
    report_only: bool,
    offline: bool,
    root: str | None,
) -> None:
    """Read a pull request as data, judge it, write a report."""
    from bot.github.server import running

    with plainly():
        place = the_root(root)
        settings = running.settings_of(place)
        target = open_named(repo, settings)
        engine = running.engine_of(place, evidence, not offline)
        report = running.verify_to_files(
            target, settings, engine, pr, merged, Path(out), Path(snapshots) if snapshots else None
        )
    click.echo(running.one_line(report))
    running.output("entries", len(report.verdicts))
    sys.exit(0 if report_only else running.exit_of(report))


@click.command()
@click.argument("report", type=click.Path(dir_okay=False))
@_repo
@_pr
@click.option("--head-sha", help="Refuse a report on another commit.")
@click.option(
    "--evaluated",
    type=click.Choice(["success", "failure"]),
    default="success",
    help="How the evaluation ended; after a failure our side is said to be at fault.",
)
@_root
def publish(
    report: str, repo: str, pr: int, head_sha: str | None, evaluated: str, root: str | None
) -> None:
    """Say a report on its pull request: one comment, one check run, one label."""
    from bot.github.server import running

    with plainly():
        settings = running.settings_of(the_root(root))
        done = running.publish_file(
            open_named(repo, settings), settings, Path(report), pr, head_sha, evaluated == "success"
        )
    click.echo(done)


@click.command()
@_repo
@_pr
@click.option("--report", required=True, type=click.Path(dir_okay=False), help="From `verify`.")
@click.option("--snapshots", type=click.Path(file_okay=False), help="From `verify`.")
@click.option("--only", type=click.Choice(["append", "tell"]), help="One step alone.")
@click.option("--rebuild", is_flag=True, help="Start the workflow that builds the site.")
@_root
def record(
    repo: str,
    pr: int,
    report: str,
    snapshots: str | None,
    only: str | None,
    rebuild: bool,
    root: str | None,
) -> None:
    """After a merge: append verdict and snapshots to the evidence, tell the author."""
    from bot.github.server import running

    with plainly():
        settings = running.settings_of(the_root(root))
        target = open_named(repo, settings)
        folder = Path(snapshots) if snapshots else None
        now = dt.datetime.now(dt.UTC)
        for line in running.record_file(target, settings, Path(report), pr, folder, only, now):
            click.echo(line)
        if rebuild:
            click.echo(running.rebuild_site(target))


@click.command()
@_repo
@click.option(
    "--event",
    required=True,
    type=click.Choice(["issue_comment", "issues", "discussion", "discussion_comment"]),
)
@click.option("--number", required=True, type=click.IntRange(1), help="Issue or discussion.")
@click.option("--comment", default="", help="Id of the comment; empty for the opening post.")
@_root
def command(repo: str, event: str, number: int, comment: str, root: str | None) -> None:
    """Answer one comment, form, or discussion."""
    from bot.github.server import running

    with plainly():
        place = the_root(root)
        settings = running.settings_of(place)
        target = open_named(repo, settings)
        click.echo(running.answer_event(target, settings, place, event, number, comment))


@click.command()
@_repo
@click.option(
    "--out", required=True, type=click.Path(file_okay=False), help="The folder of the evidence."
)
@_root
def pending(repo: str, out: str, root: str | None) -> None:
    """Write down for the site what is open: pull requests and preregistrations."""
    from bot.github.pull_request.lists import write_lists
    from bot.github.server import running

    with plainly():
        place = the_root(root)
        target = open_named(repo, running.settings_of(place))
        pulls, experiments = write_lists(target, place, Path(out), running.now())
    click.echo(f"{pulls} open pull requests, {experiments} preregistrations without a submission")


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535))
@click.option("--queue", default="speedrun-queue.sqlite", type=click.Path(dir_okay=False))
@click.option("--threads", default=8, show_default=True, type=click.IntRange(1, 64))
@click.option("--repo", metavar="OWNER/REPO", help="The repository that is served.")
@click.option("--no-worker", is_flag=True, help="Receive only; another process works.")
@_root
def webhook(
    host: str,
    port: int,
    queue: str,
    threads: int,
    repo: str | None,
    no_worker: bool,
    root: str | None,
) -> None:
    """Serve GitHub's webhooks for those who run an App instead of Actions."""
    from bot.github.server.serving import serve

    with plainly():
        try:
            serve(host, port, Path(queue), threads, repo, None if no_worker else the_root(root))
        except ValueError as error:
            raise click.UsageError(str(error)) from error


@click.command()
@click.argument("path", type=click.Path(exists=True))
@click.option("--dry-run", is_flag=True, help="Say what would be done; write nothing.")
@click.option("--repo", metavar="OWNER/REPO", help="Where to; default: the origin of the clone.")
@click.option("--fork-owner", help="Whose fork to use; default: your own.")
@_root
def submit(
    path: str, dry_run: bool, repo: str | None, fork_owner: str | None, root: str | None
) -> None:
    """Open the pull request for a submission with your own token."""
    from bot.github.host.submit import SubmitError, submit_folder

    with plainly():
        try:
            place = root_of(Path(root) if root else None, Path(path))
            submit_folder(Path(path), place, repo, fork_owner, dry_run, click.echo)
        except SubmitError as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(error.code)


@click.command()
@click.argument("directory", type=click.Path(file_okay=False))
@click.option("--repo", metavar="OWNER/REPO", help="The repository that it will be.")
@click.option(
    "--adopt",
    metavar="GLOB",
    multiple=True,
    help='Entries that are there: files, "experiments/**/*_results.json", or folders with their '
    'logs, "records/short/*/".',
)
@click.option(
    "--track",
    default="",
    help="Id of a track to write [default: my-track, where there is none yet].",
)
@click.option(
    "--objective",
    type=click.Choice(("pareto", "target", "baseline")),
    help="What that track ranks by [default: target; pareto where results files are adopted].",
)
@click.option(
    "--bot-ref",
    default="",
    help="Commit of the bot that the workflows use [default: the one that is installed].",
)
def init(
    directory: str,
    repo: str | None,
    adopt: tuple[str, ...],
    track: str,
    objective: str | None,
    bot_ref: str,
) -> None:
    """Set a competition up in a repository, new or with an existing layout.

    Writes workflows, forms, settings and one track; a file that is there is never touched.
    """
    from bot.github.host.initialise import InitError, initialise

    try:
        for line in initialise(Path(directory), repo, adopt, track, bot_ref, objective or ""):
            click.echo(line)
    except InitError as error:
        raise click.UsageError(str(error)) from error


@click.command()
@click.option("--repo", metavar="OWNER/REPO", help="Also look at the repository on GitHub.")
@click.option("--watch", is_flag=True, help="Look for unanswered pull requests and failing keys.")
@click.option(
    "--report",
    type=click.Path(exists=True, file_okay=False),
    help="Keep the one audit issue up to date with the files in this folder.",
)
@_root
def doctor(repo: str | None, watch: bool, report: str | None, root: str | None) -> None:
    """Check secrets, permissions, ruleset, Pages, workflows and keys; say what to do."""
    from bot.github.host.doctor import examine, keep_issue, unanswered
    from bot.github.server import running

    with plainly():
        place = the_root(root)
        settings = running.settings_of(place)
        if repo is None and (report or watch):
            raise click.UsageError(f"--{'report' if report else 'watch'} needs --repo OWNER/REPO")
        if report and repo:
            click.echo(keep_issue(open_named(repo, settings), settings, Path(report)))
            return
        target = open_named(repo, settings) if repo else None
        look = (
            unanswered(target, settings) if watch and target else examine(place, target, settings)
        )
    for line in look:
        click.echo(line.text)
    sys.exit(1 if any(line.bad for line in look) else 0)
