"""`speedrun baseline`: where a track's baseline stands, freeze one, promote the next."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import json
from pathlib import Path
from typing import Any

import click

from bot.commands.board import SNAPSHOTS, boards, snapshots_of
from bot.commands.root import ROOT, Unusable, root_of, track_of, tracks_of
from bot.evidence.recorded import NoCode, code_of
from bot.model.board import Board, Entry
from bot.model.submission import Submission
from bot.model.track import Baseline, BaselineCode, Credit, Track, TrackError
from bot.model.verdict import Verdict
from bot.parse.folder import ReadError, parse_submission, read_path
from bot.rank.baseline import (
    BaselineError,
    best,
    credit,
    distance,
    due,
    fastest,
    freeze,
    rows,
    write,
)
from bot.render.states import distance_words, state_words
from bot.render.untrusted import plain
from bot.repository import submission_folders

DATE = click.option("--date", "on", metavar="YYYY-MM-DD", help="Date to record [default: today].")
LINE = 1000
"""Characters of one printed line; text of strangers is cut there."""
_KEPT = (
    "its W&B runs are kept on the branch `evidence`, which is not in this clone: `git pull` "
    "brings it, or `git fetch origin evidence:refs/remotes/origin/evidence` into a clone of one "
    "branch; or name a folder or ref with --snapshots"
)
DRY_RUN = click.option("--dry-run", is_flag=True, help="Show it without writing anything.")


@click.group()
def baseline() -> None:
    """The baseline of a track: what progress is measured against, and who made it."""


@baseline.command()
@click.argument("track_id", metavar="TRACK")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@SNAPSHOTS
@ROOT
def status(track_id: str, form: str, snapshots: str | None, root: Path | None) -> None:
    """Show the baseline, the progress over it, and whether a new one is due."""
    place = root_of(root)
    track = track_of(place, track_id)
    board, _ = _board(place, track, snapshots)
    if form == "json":
        click.echo(json.dumps(_status(board), indent=2, ensure_ascii=False))
        return
    for line in _lines(board):
        click.echo(plain(line, LINE))


@baseline.command("freeze")
@click.argument("track_id", metavar="TRACK")
@click.argument("submission", metavar="SUBMISSION")
@DATE
@DRY_RUN
@SNAPSHOTS
@ROOT
def freeze_(
    track_id: str,
    submission: str,
    on: str | None,
    dry_run: bool,
    snapshots: str | None,
    root: Path | None,
) -> None:
    """Make the runs of SUBMISSION the baseline of TRACK, whatever its progress."""
    place = root_of(root)
    track = track_of(place, track_id)
    board, verdicts = _board(place, track, snapshots)
    verdict = _verdict(verdicts, track, submission)
    entry = next((e for e in board.entries if e.verdict is verdict), None)
    _cut(place, board, verdict, entry, on, dry_run, snapshots)


@baseline.command()
@click.argument("track_id", metavar="TRACK")
@click.argument("submission", metavar="[SUBMISSION]", required=False)
@DATE
@DRY_RUN
@SNAPSHOTS
@ROOT
def promote(
    track_id: str,
    submission: str | None,
    on: str | None,
    dry_run: bool,
    snapshots: str | None,
    root: Path | None,
) -> None:
    """Make the entry that reached the track's threshold the new baseline, and credit everyone.

    Without SUBMISSION the one of most progress is taken. An entry below the threshold is refused;
    `freeze` takes any.
    """
    place = root_of(root)
    track = track_of(place, track_id)
    if track.promote_at is None:
        raise click.UsageError(f"{track.id} has no promote_at under [baseline]; use `freeze`")
    board, verdicts = _board(place, track, snapshots)
    entry = due(board)
    if submission is not None:
        verdict = _verdict(verdicts, track, submission)
        mine = [e for e in board.entries if e.verdict is verdict]
        due_first = sorted(mine, key=lambda e: not (e.progress and e.progress.promotes))
        entry = next(iter(due_first), None)
    if entry is None or entry.progress is None or not entry.progress.promotes:
        raise Unusable(_not_due(board, entry))
    _cut(place, board, entry.verdict, entry, on, dry_run, snapshots)


@baseline.command()
@click.argument("track_id", metavar="TRACK")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTION...]")
@click.option("--seeds", default=5, show_default=True, type=click.IntRange(2), help="Runs.")
@click.option("--name", default="baseline", show_default=True, help="Name of the submission.")
@click.option("--backend", type=click.Choice(["torch", "jax"]), help="Default: what is installed.")
@click.option("--author", metavar="LOGIN", help="Your GitHub login.")
@DATE
@ROOT
def make(
    track_id: str,
    options: tuple[str, ...],
    seeds: int,
    name: str,
    backend: str | None,
    author: str | None,
    on: str | None,
    root: Path | None,
) -> None:
    """Open TRACK: train its baseline on this machine, write the submission and freeze it.

    The code is the track's starter file, unchanged. OPTIONs go to it: `-- --set train.steps=10`.
    """
    from bot.commands.make_baseline import train_baseline

    place = root_of(root)
    track = track_of(place, track_id)
    if track.objective != "baseline":
        raise click.UsageError(f"{track.id} has objective {track.objective}, which has no baseline")
    path = train_baseline(place, track, name, seeds, backend, author, options)
    board, verdicts = _board(place, track, None)
    verdict = _verdict(verdicts, track, path.relative_to(place).as_posix())
    _cut(place, board, verdict, None, on, False, None)
    click.echo(f"Open it: git add {path} {place / 'tracks/baselines' / track.id}, commit and push.")


# ---- Reading ----------------------------------------------------------------------------------


def _board(root: Path, track: Track, snapshots: str | None) -> tuple[Board, tuple[Verdict, ...]]:
    with snapshots_of(root, snapshots) as kept:
        found = boards(root, kept, only=track.id)
    return found.boards[track.id], found.verdicts


def _verdict(verdicts: tuple[Verdict, ...], track: Track, name: str) -> Verdict:
    """The verdict on the submission of that name or path. Raises UsageError."""
    wanted = name.rstrip("/")
    names = (wanted, f"submissions/{wanted}", f"submissions/{track.id}/{wanted}")
    found = next((v for v in verdicts if v.submission in names), None)
    if found is None:
        raise click.UsageError(
            f"{track.id} has no submission {plain(name, 200)}; if it was merged on "
            "GitHub, run `git pull`"
        )
    return found


def _submissions(root: Path, track: Track) -> dict[str, Submission]:
    """The submissions of a track by path."""
    tracks = tracks_of(root)
    found = {}
    for path, name in submission_folders(root, tracks):
        if name != track.id:
            continue
        try:
            parsed = parse_submission(read_path(path, root), tracks, name)
        except ReadError as error:
            click.echo(f"left out of the credit: {error}", err=True)
            continue
        found[parsed.submission.path] = parsed.submission
    return found


# ---- Cutting a baseline -----------------------------------------------------------------------


def _cut(
    root: Path,
    board: Board,
    verdict: Verdict,
    entry: Entry | None,
    on: str | None,
    dry_run: bool,
    snapshots: str | None,
) -> None:
    track = board.track
    if any(f.rule == "evidence-unavailable" for f in verdict.errors):
        raise Unusable(f"{verdict.submission}: {_KEPT}")
    before = track.baseline_id
    until = f"submissions/{track.id}/{before}" if before else None
    people = credit(verdict.submission, _submissions(root, track), until)
    try:
        made = freeze(verdict, track, on=_date(on), people=people, entry=entry, board=rows(board))
        code, runs_again = _code(root, track, verdict.submission, snapshots)
        made = dc.replace(made, code=code)
        path = None if dry_run else write(root, track, made)
    except (BaselineError, TrackError) as error:
        raise Unusable(str(error)) from error
    click.echo(plain(f"baseline of {track.id}: {_described(made, track)}", LINE))
    if made.ratio is not None and made.after is not None:
        click.echo(f"  {_ratio(made.ratio, made.interval)} of {plain(made.after, LINE)}")
    for person in made.credits:
        click.echo(plain(f"  {_credited(person)}", LINE))
    click.echo(plain(f"  {runs_again}", LINE))
    click.echo("nothing written (--dry-run)" if path is None else f"written: {path}; commit it")


def _code(
    root: Path, track: Track, path: str, snapshots: str | None
) -> tuple[BaselineCode | None, str]:
    """What the runs of a submission ran, and what `--interleave baseline` makes of it."""
    folder = read_path(root / path, root)
    parsed = parse_submission(folder, tracks_of(root), track.id)
    with snapshots_of(root, snapshots) as kept:
        try:
            code = code_of(folder, parsed, kept)
        except NoCode as error:
            again = "then delete its file and freeze it again"
            return None, f"`--interleave baseline` cannot run it: {error}; {again}"
    return code, f"`--interleave baseline` runs its {code.path} with the settings of these runs"


def _date(on: str | None) -> str:
    if on is None:
        return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        return dt.date.fromisoformat(on).isoformat()
    except ValueError as error:
        raise click.UsageError(f"--date {on}: write YYYY-MM-DD") from error


def _not_due(board: Board, entry: Entry | None) -> str:
    entry = entry or best(board)
    at = board.track.promote_at
    if entry is None or entry.progress is None:
        return f"no entry of {board.track.id} has a baseline arm to measure its progress"
    far = distance(board)
    why = far.why if far is not None and far.entry is entry else ""
    lacks = f"but {why}" if why else f"a new one is due at {at:g}"
    return (
        f"{entry.submission} is at {entry.progress.ratio:.4g} times the baseline, {lacks}; use "
        "freeze to take it all the same"
    )


# ---- Words ------------------------------------------------------------------------------------


def _lines(board: Board) -> list[str]:
    track = board.track
    if not track.baseline_id:
        return [
            f"{track.id}: not open yet, no baseline is frozen",
            f"  train and freeze one here: speedrun baseline make {track.id}",
            f"  or freeze an existing submission: speedrun baseline freeze {track.id} SUBMISSION",
        ]
    frozen = next((b for b in reversed(track.baselines) if b.id == track.baseline_id), None)
    lines = [f"{track.id}: baseline {track.baseline_id}"]
    if frozen is not None:
        lines = [f"{track.id}: baseline {_described(frozen, track)}"]
        lines += [f"  {_credited(person)}" for person in frozen.credits]
    if track.promote_at is not None:
        lines.append(f"  a new baseline is due at {_ratio(track.promote_at, None)}")
    top = best(board)
    if top is None or top.progress is None:
        lines.append("  no entry with a baseline arm yet")
    else:
        lines.append(
            f"  best so far: {top.submission}, {_ratio(top.progress.ratio, top.progress.interval)}"
        )
    ready, far = due(board), distance(board)
    if ready is not None:
        lines.append(f"  due now: speedrun baseline promote {track.id} {ready.submission}")
    if far is not None:
        lines.append(f"  {distance_words(far)}")
    lines += [
        f"  {e.submission}: {state_words(e.state)}"
        for e in board.entries
        if e.state.replies or e.state.refuted
    ]
    for name, entry in fastest(board).items():
        lines.append(f"  fastest on {name}: {entry.cost:.6g} {track.cost.unit}, {entry.submission}")
    return lines


def _described(made: Baseline, track: Track) -> str:
    mean = sum(made.costs) / len(made.costs)
    where = f" on {made.count or '?'}x {made.device}" if made.device else ""
    runs = "1 run" if len(made.costs) == 1 else f"{len(made.costs)} runs"
    return f"{made.id}, {mean:.6g} {track.cost.unit} ({runs}){where}, frozen {made.frozen_on}"


def _ratio(ratio: float, interval: tuple[float, float] | None) -> str:
    change = abs(1 - ratio) * 100
    side = "less" if ratio < 1 else "more"
    bounds = f" [{interval[0]:.4g}, {interval[1]:.4g}]" if interval else ""
    return f"{ratio:.4g} times the cost{bounds} ({change:.3g} % {side})"


def _credited(person: Credit) -> str:
    shown = f"@{person.github}" + (f" ({person.name})" if person.name else "")
    return f"{shown}: {', '.join(person.roles) or 'contributed'}"


def _status(board: Board) -> dict[str, Any]:
    top, ready = best(board), due(board)
    return {
        "schema_version": 1,
        "track": board.track.id,
        "baseline": board.track.baseline_id,
        "promote_at": board.track.promote_at,
        "history": [dc.asdict(item) for item in board.track.baselines],
        "entries": [
            {
                "submission": e.submission,
                "place": e.place,
                "cost": e.cost,
                "ratio": e.progress.ratio if e.progress else None,
                "interval": e.progress.interval if e.progress else None,
                "measured": e.progress.measured if e.progress else None,
                "against": e.progress.against if e.progress else None,
                "state": e.state.name,
            }
            for e in board.entries
        ],
        "best": top.submission if top else None,
        "due": ready.submission if ready else None,
        "distance": _distance(board),
        "fastest": {name: entry.submission for name, entry in fastest(board).items()},
    }


def _distance(board: Board) -> dict[str, Any] | None:
    far = distance(board)
    if far is None:
        return None
    return {"left": far.left, "interval": far.interval, "why": far.why or None}
