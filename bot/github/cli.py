"""The commands of the bot, each a few lines over the modules that do the work.

`GITHUB_TOKEN` holds the token, `GITHUB_API_URL` the address of the API (Actions sets both).
Exit: 0 and 1 as the verdict says, 2 for usage, 3 for a fault on our side.
"""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

import click

from bot.commands.root import root_of
from bot.github.host.settings import load_settings
from bot.github.terminal import open_named, plainly, the_root

_repo = click.option("--repo", required=True, metavar="OWNER/REPO", help="The repository.")
_pr = click.option("--pr", required=True, type=click.IntRange(1), help="The pull request.")
_root = click.option(
    "--root", type=click.Path(exists=True, file_okay=False), help="Checkout of the default branch."
)


@click.command()
@_repo
@_pr
@click.option(
    "--out", required=True, type=click.Path(dir_okay=False), help="File to write the report to."
)
@click.option("--merged", is_flag=True, help="Judge the merged commit instead of the head.")
@click.option("--snapshots", type=click.Path(file_okay=False), help="Folder to keep the runs in.")
@click.option("--evidence", type=click.Path(file_okay=False), help="Checkout of the evidence.")
@click.option(
    "--report-only", is_flag=True, help="Exit with 0 if a report was written, whatever it says."
)
@click.option("--offline", is_flag=True, help="Do not ask W&B about linked runs.")
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
        settings = load_settings(place)
        target = open_named(repo, settings)
        engine = running.engine_of(place, evidence, not offline)
        report = running.verify_to_files(
            target, engine, pr, merged, Path(out), Path(snapshots) if snapshots else None
        )
    click.echo(running.one_line(report))
    running.output("entries", len(report.verdicts))
    sys.exit(0 if report_only else running.exit_of(report))


@click.command()
@click.argument("report", type=click.Path(dir_okay=False))
@_repo
@_pr
@click.option("--run", type=click.IntRange(1), help="Workflow run whose start is the date to note.")
@_root
def remember(report: str, repo: str, pr: int, run: int | None, root: str | None) -> None:
    """Note on the branch `evidence` which runs a pull request showed first, and when."""
    from bot.github.pull_request import first_seen
    from bot.github.pull_request.report_file import read_report
    from bot.github.server import running

    with plainly():
        target = open_named(repo, load_settings(the_root(root)))
        found = read_report(Path(report), repository=target.name, pr=pr)
        at = first_seen.created_at(target, run) if run else running.now()
        commit = first_seen.remember(target, found, at)
    click.echo(f"remembered in {commit[:12]}" if commit else "nothing new to remember")


@click.command()
@_repo
@click.option("--ref", required=True, help="Branch of the merge queue, from the event.")
@click.option("--head-sha", required=True, help="The queue's commit, from the event.")
@_root
def queue(repo: str, ref: str, head_sha: str, root: str | None) -> None:
    """Repeat the check of a pull request on the commit that the merge queue made of it."""
    from bot.github.pull_request.merge_queue import repeat_check

    with plainly():
        settings = load_settings(the_root(root))
        try:
            click.echo(repeat_check(open_named(repo, settings), settings, ref, head_sha))
        except ValueError as error:
            raise click.UsageError(str(error)) from error


@click.command()
@click.argument("report", type=click.Path(dir_okay=False))
@_repo
@_pr
@click.option("--head-sha", help="Refuse a report on another commit.")
@click.option(
    "--evaluated",
    type=click.Choice(["success", "failure"]),
    default="success",
    help="How the evaluation ended; a failure is reported as our fault.",
)
@_root
def publish(
    report: str, repo: str, pr: int, head_sha: str | None, evaluated: str, root: str | None
) -> None:
    """Post a report on its pull request: one comment, one check run, one label."""
    from bot.github.server import running

    with plainly():
        settings = load_settings(the_root(root))
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
    from bot.github.api.workflows import rebuild_site
    from bot.github.server import running

    with plainly():
        settings = load_settings(the_root(root))
        target = open_named(repo, settings)
        folder = Path(snapshots) if snapshots else None
        now = dt.datetime.now(dt.UTC)
        for line in running.record_file(target, settings, Path(report), pr, folder, only, now):
            click.echo(line)
        if rebuild and settings.pages:
            click.echo(rebuild_site(target))


@click.command()
@_repo
@_pr
@click.option("--evidence", type=click.Path(file_okay=False), help="Checkout of the evidence.")
@_root
def promote(repo: str, pr: int, evidence: str | None, root: str | None) -> None:
    """After a merge: open the pull request of a new baseline, if one is due."""
    from bot.github.server import running

    with plainly():
        place = the_root(root)
        settings = load_settings(place)
        engine = running.engine_of(place, evidence, False)
        target = open_named(repo, settings)
        for line in running.promote(target, settings, engine, pr, running.now()):
            click.echo(line)


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
        settings = load_settings(place)
        target = open_named(repo, settings)
        click.echo(running.answer_event(target, settings, place, event, number, comment))


@click.command()
@_repo
@click.option(
    "--out", required=True, type=click.Path(file_okay=False), help="The folder of the evidence."
)
@_root
def pending(repo: str, out: str, root: str | None) -> None:
    """List the open pull requests and preregistrations, for the site."""
    from bot.github.pull_request.lists import write_lists
    from bot.github.server import running

    with plainly():
        place = the_root(root)
        target = open_named(repo, load_settings(place))
        pulls, experiments = write_lists(target, place, Path(out), running.now())
    click.echo(f"{pulls} open pull requests, {experiments} preregistrations without a submission")


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535))
@click.option("--queue", default="speedrun-queue.sqlite", type=click.Path(dir_okay=False))
@click.option("--threads", default=8, show_default=True, type=click.IntRange(1, 64))
@click.option("--repo", metavar="OWNER/REPO", help="The repository to serve.")
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
@click.option(
    "--repo",
    metavar="OWNER/REPO",
    help="Repository [default: the origin of the clone].",
)
@click.option("--fork-owner", help="Owner of the fork [default: you].")
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
