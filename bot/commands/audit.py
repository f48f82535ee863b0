"""`speedrun audit` and `speedrun recent`: every submission again, and what happened lately."""

from __future__ import annotations

import datetime as dt
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from bot.commands.board import SNAPSHOTS, boards, export_competition, many, snapshots_of
from bot.commands.root import ROOT, root_of, track_of, tracks_of
from bot.model.track import TrackError
from bot.model.verdict import Verdict, exit_code
from bot.parse.git_tree import GitError
from bot.rank.audit import NO_AUDIT, Boards, Change, describe, difference, from_json, to_json
from bot.registry import Status
from bot.render.markdown import prose
from bot.render.untrusted import plain

if TYPE_CHECKING:
    from bot.evidence.dead_links import LinkState
    from bot.evidence.drift import Drift
    from bot.evidence.snapshot import Snapshots
    from bot.model.submission import Folder
    from bot.model.track import Track
    from bot.parse.folder import Parsed

Pages: TypeAlias = "tuple[tuple[str, LinkState], ...]"
"""(submission, state) of each linked page."""

FORMATS = click.Choice(["text", "json", "markdown"])
SHOWN = 5
LINE = 1000
"""Characters of one printed line; text of strangers is cut there."""


@click.command()
@click.option(
    "--against",
    metavar="REV|FILE",
    help="Show what differs from a git revision or from an earlier --format json.",
)
@click.option("--evidence", is_flag=True, help="Fetch linked runs again and report what changed.")
@click.option("--links", is_flag=True, help="Check that linked pages still exist.")
@click.option("--track", "track_id", help="Only this track.")
@click.option(
    "--jobs", type=click.IntRange(1, 256), help="Number of processes [default: one per processor]."
)
@click.option("--format", "form", type=FORMATS, default="text", show_default=True)
@SNAPSHOTS
@ROOT
def audit(
    against: str | None,
    evidence: bool,
    links: bool,
    track_id: str | None,
    jobs: int | None,
    form: str,
    snapshots: str | None,
    root: Path | None,
) -> None:
    """Verify every submission again by the current rules, tracks and accelerators.

    With --against, show the difference in places, numbers and findings. From a git revision, tracks
    and submissions are read as data and judged by the current rules; a file carries the verdicts of
    the rules that made it. Exit status: as of `check` over all submissions; with --against 0; with
    --evidence 1 if evidence changed; with --links 1 if a page is gone.
    """
    place = root_of(root)
    if track_id is not None:
        track_of(place, track_id)
    with snapshots_of(place, snapshots) as kept:
        now = boards(place, kept, only=track_id, jobs=jobs)
        if not now.verdicts and (evidence or links) and against is None:
            click.echo(f"{place} has no submission yet, so there is nothing to watch")
            return
        if not now.verdicts:
            of = f" of {track_id}" if track_id else ""
            raise click.UsageError(f"{place} has no submission{of} to audit")
        changes = None
        if against is not None:
            old = _former(place, against, kept, track_id, jobs)
            changes = difference(old, now)
        drifts = _drift(place, kept, track_id) if evidence else None
    pages = tuple(_pages(place, track_id)) if links else None
    if form == "json":
        _print_json(now, changes, drifts, pages)
    else:
        for depth, line in (*_lines(now, changes, drifts), *_page_lines(pages)):
            click.echo(_markdown(depth, line) if form == "markdown" else _text(depth, line))
    sys.exit(_code(now, changes, drifts, pages))


def _former(
    root: Path, against: str, kept: Snapshots | None, track_id: str | None, jobs: int | None
) -> Boards:
    """The boards of a revision, or of a file that an earlier audit printed."""
    if Path(against).is_file():
        tracks = {k: t for k, t in tracks_of(root).items() if track_id in (None, k)}
        try:
            return from_json(json.loads(Path(against).read_bytes()), tracks)
        except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
            raise click.UsageError(f"--against {against}: {NO_AUDIT}, it is not JSON") from error
        except ValueError as error:
            raise click.UsageError(f"--against {against}: {error}") from error
    with tempfile.TemporaryDirectory(prefix="speedrun-") as folder:
        old = Path(folder)
        try:
            export_competition(root, against, old)
        except (GitError, TrackError) as error:
            raise click.UsageError(f"--against: no file {against}; {error}") from error
        return boards(old, kept, only=track_id, jobs=jobs)


def _drift(root: Path, kept: Snapshots | None, track_id: str | None) -> tuple[Drift, ...]:
    """What became of every linked run. Asks W&B."""
    from bot.evidence.drift import drift
    from bot.evidence.linked import with_linked
    from bot.evidence.wandb.online import WandbFetcher

    if kept is None:
        raise click.UsageError("--evidence needs snapshots to compare with: use --snapshots")
    found = (
        (with_linked(parsed, folder), track)
        for folder, parsed, track in _submissions(root, track_id)
    )
    return drift(found, kept, WandbFetcher.from_environment(cached=False))


def _submissions(root: Path, track_id: str | None) -> Iterator[tuple[Folder, Parsed, Track]]:
    """Every submission that can be read, with its track; the others are named."""
    from bot.parse.folder import ReadError, parse_submission, read_path
    from bot.repository import submission_folders

    tracks = tracks_of(root)
    for path, name in submission_folders(root, tracks):
        if track_id not in (None, name):
            continue
        try:
            folder = read_path(path, root)
            parsed = parse_submission(folder, tracks, name)
        except ReadError as error:
            click.echo(f"left out: {error}", err=True)
            continue
        yield folder, parsed, tracks[name]


def _pages(root: Path, track_id: str | None) -> Iterator[tuple[str, LinkState]]:
    """(submission, state) of every page that a submission links. Asks hosts of strangers."""
    from bot.evidence.dead_links import check_links

    linked = [
        (folder.path, url)
        for folder, parsed, _ in _submissions(root, track_id)
        for url in (
            *(link.get("url", "") for link in parsed.submission.links),
            parsed.submission.code_repository or "",
        )
        if url.startswith("https://")
    ]
    states = {state.url: state for state in check_links(url for _, url in linked)}
    return ((path, states[url]) for path, url in linked)


def _page_lines(pages: Pages | None) -> Iterator[tuple[int, str]]:
    if pages is None:
        return
    kinds = Counter(state.kind for _, state in pages)
    said = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
    yield 0, f"links: {said or 'none'}"
    for path, state in pages:
        if state.kind != "there":
            yield 1, f"{state.kind}: {path}: {state.url}: {state.message}"


def _code(
    now: Boards,
    changes: tuple[Change, ...] | None,
    drifts: tuple[Drift, ...] | None,
    pages: Pages | None = None,
) -> int:
    """A page that gave no answer tonight may be there tomorrow; one that is gone is told."""
    if any(item.drifted for item in drifts or ()):
        return 1
    if any(state.kind == "dead" for _, state in pages or ()):
        return 1
    if any(item.kind == "unavailable" for item in drifts or ()):
        return 3
    watched = drifts is not None or pages is not None or changes is not None
    return 0 if watched else exit_code(now.verdicts)


# ---- Printing ---------------------------------------------------------------------------------


def _print_json(
    now: Boards,
    changes: tuple[Change, ...] | None,
    drifts: tuple[Drift, ...] | None,
    pages: Pages | None,
) -> None:
    data: dict[str, Any] = to_json(now)
    if changes is not None:
        data["changes"] = [change.to_json() for change in changes]
    if drifts is not None:
        data["evidence"] = [
            {"submission": d.submission, "run": d.ref.url, "kind": d.kind, "message": d.message}
            for d in drifts
        ]
    if pages is not None:
        data["links"] = [
            {"submission": path, "url": state.url, "kind": state.kind, "message": state.message}
            for path, state in pages
        ]
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


def _text(depth: int, line: str) -> str:
    return "  " * depth + plain(line, LINE)


def _markdown(depth: int, line: str) -> str:
    return ("- " if depth else "") + prose(line, LINE) + ("" if depth else "\n")


def _lines(
    now: Boards, changes: tuple[Change, ...] | None, drifts: tuple[Drift, ...] | None
) -> Iterator[tuple[int, str]]:
    """Lines to print with their depth, 0 or 1; they may hold text of strangers."""
    for name, board in now.boards.items():
        mine = [v for v in now.verdicts if v.track == name]
        if not mine:
            continue
        counts = Counter(str(v.status) for v in mine)
        said = ", ".join(f"{counts[s]} {s}" for s in Status if counts[s])
        ranked = many(len(board.entries), "place")
        yield 0, f"{name}: {many(len(mine), 'submission')} ({said}), {ranked}"
        for status in (Status.REJECTED, Status.NEEDS_RUNS, Status.UNVERIFIABLE):
            yield from _status_lines(mine, status)
        out = [item for item in board.unranked if item.verdict.status.counts]
        for item in out[:SHOWN]:
            yield 1, f"no place: {item.verdict.submission}: {item.why}"
        if len(out) > SHOWN:
            yield 1, f"no place: {len(out) - SHOWN} more"
    if changes is not None:
        yield 0, many(len(changes), "difference") if changes else "No difference."
        yield from ((1, f"{change.track}: {describe(change)}") for change in changes)
    if drifts is not None:
        kinds = Counter(d.kind for d in drifts)
        said = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
        yield 0, f"evidence: {said or 'no linked runs'}"
        for d in drifts:
            if d.kind != "same":
                yield 1, f"{d.submission}: {d.ref.url}: {d.message}"


def _status_lines(verdicts: list[Verdict], status: Status) -> Iterator[tuple[int, str]]:
    found = [v for v in verdicts if v.status is status]
    for verdict in found[:SHOWN]:
        rules = ", ".join(dict.fromkeys(f.rule for f in verdict.errors))
        yield 1, f"{status}: {verdict.submission}: {rules}"
    if len(found) > SHOWN:
        yield 1, f"{status}: and {len(found) - SHOWN} more"


# ---- recent -----------------------------------------------------------------------------------


@click.command()
@click.option("--days", type=click.IntRange(1, 36500), help="Only the last DAYS days.")
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=10,
    show_default=True,
    help="Show at most this many.",
)
@click.option("--track", "track_id", help="Only this track.")
@SNAPSHOTS
@ROOT
def recent(
    days: int | None, limit: int, track_id: str | None, snapshots: str | None, root: Path | None
) -> None:
    """Show what happened lately: results, records and frontier entries, newest first."""
    place = root_of(root)
    if track_id is not None:
        track_of(place, track_id)
    with snapshots_of(place, snapshots) as kept:
        found = boards(place, kept, only=track_id)
    since = None
    if days is not None:
        since = (dt.datetime.now(dt.UTC) - dt.timedelta(days=days)).strftime("%Y-%m-%d")
    lines = sorted(_happened(found), reverse=True)
    shown = [line for line in lines if since is None or line[0] >= since][:limit]
    if not shown:
        of = f" of {track_id}" if track_id else ""
        fetch = "; its dates are on the branch evidence: run `git fetch origin evidence`"
        raise click.UsageError(
            f"{place} has no dated submission{of}"
            + (f" since {since}: try more --days" if since else fetch if kept is None else "")
        )
    for date, submission, words in shown:
        click.echo(f"{date[:10]}  {plain(submission, LINE)}: {words}")


def _happened(found: Boards) -> list[tuple[str, str, str]]:
    """(date, submission, what) of every dated verdict."""
    stood = {
        (step.submission, step.date) for board in found.boards.values() for step in board.records
    }
    places = {
        entry.submission: f"place {entry.place} of {len(board.entries)}"
        for board in found.boards.values()
        for entry in reversed(board.entries)
    }
    reasons = {
        item.verdict.submission: item.why
        for board in found.boards.values()
        for item in board.unranked
    }
    lines = []
    for verdict in found.verdicts:
        if verdict.date is None or verdict.track not in found.boards:
            continue
        pareto = found.boards[verdict.track].track.objective == "pareto"
        why = reasons.get(verdict.submission) if verdict.status.counts else None
        none = f"does not rank: {why}" if why else "does not rank"
        words = [str(verdict.status), places.get(verdict.submission, none)]
        if (verdict.submission, verdict.date) in stood:
            words.append("joined the frontier" if pareto else "a record")
        lines.append((verdict.date, verdict.submission, ", ".join(words)))
    return lines
