"""The life of a baseline: frozen from a submission's runs, measured against, promoted, credited.

A track of objective `baseline` keeps every baseline that was ever frozen as a file of its own,
`tracks/baselines/<track>/<name>.json` (`bot.parse.baselines_json`): costs and losses of its runs,
its progress over the one before, who is credited for what, and the board of that day.

Which baseline an entry was measured against, and how that relates to the one that stands now, is
in `bot.compute.baselines`. Nothing here reads a clock; writing is `write`.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from bot import files as disk
from bot.compute.accelerators import find
from bot.compute.ratios import promotes
from bot.model.board import Board, Entry, Progress, State
from bot.model.run import TRAINER
from bot.model.submission import ROLES, Submission, entry_path
from bot.model.summary import Sample
from bot.model.track import Baseline, BaselineCode, BoardRow, Credit, Reproduction, Track
from bot.model.values import by_date, finite
from bot.model.verdict import Point, Verdict
from bot.parse.baselines_json import path_of, to_text
from bot.patterns import ENTRY

_MOST_WIDER = 10
"""An interval that is so much wider than the gap to the threshold needs too many runs to say."""


class BaselineError(ValueError):
    """A step of a baseline's life that cannot be taken. The message is one sentence."""


# ---- Measuring --------------------------------------------------------------------------------


def contenders(board: Board) -> list[Entry]:
    """The entries that reach `promote_at`, those whose evidence was seen first before the others.

    The whole 95 % interval of the ratio must lie beyond it (`ratios.promotes`). Beyond that and the
    track's `[reproduction]` nothing is asked: the community sorts out what is real.
    """
    found = [e for e in board.entries if e.progress and e.progress.promotes]
    return sorted(found, key=lambda e: (by_date(e.verdict.date), e.place))


def due(board: Board) -> Entry | None:
    """The entry that makes a new baseline due: the first that reached `promote_at`, or None."""
    return next(iter(contenders(board)), None)


def best(board: Board) -> Entry | None:
    """The entry of most progress over the baseline, the baseline itself left out; None without."""
    rest = (e for e in board.entries if e.progress and not board.track.is_baseline(e.submission))
    return next(rest, None)


@dc.dataclass(frozen=True, slots=True)
class Distance:
    """How far the next baseline is: the best entry that ran the current one.

    `left` is what its cost must still be multiplied by, with its interval; `why` says in words what
    is missing although the ratio itself is there, empty where the ratio is not.
    """

    entry: Entry
    left: float
    interval: tuple[float, float] | None
    why: str


def distance(board: Board) -> Distance | None:
    """How far the next baseline is; None where one is due, nothing ran it, or no ratio is set."""
    track, at = board.track, board.track.promote_at
    ran = (
        e
        for e in board.entries
        if e.progress
        and not track.is_baseline(e.submission)
        and e.progress.against in (track.baseline_id, None)
    )
    entry = next(ran, None)
    if at is None or entry is None or entry.progress is None or due(board) is not None:
        return None
    ratio, bounds = entry.progress.ratio, entry.progress.interval
    left = (at / bounds[1], at / bounds[0]) if bounds else None
    reached = promotes((ratio, ratio), at)
    return Distance(entry, at / ratio, left, _missing(entry, track) if reached else "")


def not_due(board: Board, path: str) -> str:
    """Why a submission makes no new baseline, in words."""
    track = board.track
    entry = next((e for e in board.entries if e.submission == path), None)
    if track.is_baseline(path):
        return "it is the baseline already"
    if entry is None or entry.progress is None:
        unranked = (u.why for u in board.unranked if u.verdict.submission == path)
        return next(unranked, "it is not on the board any more")
    progress, first, at = entry.progress, due(board), track.promote_at
    if progress.promotes and first is not None:
        return f"{first.submission} was seen earlier and reached the threshold as well"
    if progress.against not in (track.baseline_id, None):
        return f"it ran the baseline {progress.against}, and {track.baseline_id} stands now"
    if promotes((progress.ratio, progress.ratio), at):
        return _missing(entry, track)
    return f"it is at {progress.ratio:.4g} times the baseline, and a new one is due at {at}"


def _missing(entry: Entry, track: Track) -> str:
    """What an entry lacks whose ratio would make a new baseline."""
    progress = entry.progress
    assert progress is not None
    if track.reproduction is not None and entry.state.name != "confirmed":
        return unconfirmed(entry.state, track.reproduction)
    if progress.interval is None:
        return "it has one run in an arm, so that nothing says how far the ratio may be off"
    if not promotes(progress.interval, track.promote_at):
        return f"its interval reaches beyond {track.promote_at:g}: {_narrowing(progress, track)}"
    return "its findings say why"


def _narrowing(progress: Progress, track: Track) -> str:
    """How many more pairs of runs would bring the interval to the threshold, at this ratio."""
    at, bounds = track.promote_at, progress.interval
    assert at is not None and bounds is not None
    gap = abs(math.log(at / progress.ratio))
    half = math.log(bounds[1] / bounds[0]) / 2
    if not progress.pairs or gap < half / _MOST_WIDER:
        return "more runs narrow it"
    more = math.ceil(progress.pairs * ((half / gap) ** 2 - 1))
    return f"about {more} more {'pair' if more == 1 else 'pairs'} of runs would narrow it enough"


def unconfirmed(state: State, rule: Reproduction) -> str:
    """What is missing before an entry is confirmed."""
    if state.name != "claimed":
        return f"it is {state.name}"
    have = sum(a.pairs for a in state.replies if a.counts)
    if have >= rule.runs:
        return f"the {have} pairs of runs that count do not show a gain beyond chance yet"
    return f"to be confirmed it needs {rule.asks}, and has {have}"


def fastest(board: Board) -> Mapping[str, Entry]:
    """The least cost on each architecture (Ampere, Hopper, ...): official times are kept by it."""
    found: dict[str, Entry] = {}
    for entry in board.entries:
        name = architecture(entry.verdict)
        if name is not None and (name not in found or entry.cost < found[name].cost):
            found[name] = entry
    return dict(sorted(found.items()))


def architecture(verdict: Verdict) -> str | None:
    """The architecture that all runs of the candidate ran on; None for none, several, unknown."""
    devices = {d for d, _ in _hardware(verdict)}
    kinds = {k.accelerator.architecture if (k := find(d)) else None for d in devices if d}
    return kinds.pop() if len(kinds) == 1 else None


def _hardware(verdict: Verdict) -> set[tuple[str | None, int | None]]:
    return {(run.hardware, run.gpu_count) for run in verdict.runs if run.arm == "candidate"}


# ---- Freezing ---------------------------------------------------------------------------------


def freeze(
    verdict: Verdict,
    track: Track,
    *,
    on: str,
    people: Iterable[Credit] = (),
    entry: Entry | None = None,
    board: Iterable[BoardRow] = (),
    code: BaselineCode | None = None,
) -> Baseline:
    """A baseline of the candidate's runs of `verdict`. Raises BaselineError where it has none.

    `entry` is the place on the board of the point to freeze: its costs, its losses and its progress
    over the baseline before belong together. `on` is the date, YYYY-MM-DD, or better the moment in
    UTC, ISO 8601: entries of that day ran this baseline or the one before. `code` is what can be
    run again.
    """
    name = verdict.submission.removeprefix(f"submissions/{track.id}/")
    point = _to_freeze(verdict, track, name, entry)
    costs = _values(point.summary.cost, point.cost)
    if not costs:
        raise BaselineError(f"{verdict.submission} has no {track.cost.metric} to measure against")
    hardware = _hardware(verdict)
    device, count = next(iter(hardware)) if len(hardware) == 1 else (None, None)
    progress = entry.progress if entry and not track.is_baseline(verdict.submission) else None
    own = [run for run in verdict.runs if run.arm == "candidate"]
    return Baseline(
        id=name,
        submission=verdict.submission,
        frozen_on=on[:10],
        frozen_at=on if len(on) > 10 else None,
        cost_metric=track.cost.metric,
        costs=costs,
        losses=_values(point.summary.quality, point.quality),
        device=device,
        count=count,
        after=progress.against if progress else None,
        ratio=progress.measured if progress else None,
        interval=progress.measured_interval if progress else None,
        code=code,
        credits=tuple(people),
        board=tuple(board),
        sources=_distinct(d for run in own for n, d in run.code_sha256.items() if n != TRAINER),
        configs=_distinct(run.config_sha256 for run in own if run.config_sha256),
    )


def _distinct(digests: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(digests)))


def _to_freeze(verdict: Verdict, track: Track, name: str, entry: Entry | None) -> Point:
    """The point that becomes the baseline. Raises BaselineError where none can."""
    if not ENTRY.fullmatch(name):
        raise BaselineError(f"{verdict.submission} is not a submission of the track {track.id}")
    if not verdict.status.counts:
        rules = ", ".join(dict.fromkeys(f.rule for f in verdict.errors))
        raise BaselineError(f"{verdict.submission} is {verdict.status} ({rules}): fix that first")
    if not verdict.points:
        raise BaselineError(f"{verdict.submission} has no run to freeze")
    if entry is None and len(verdict.points) > 1:
        names = ", ".join(point.name for point in verdict.points)
        raise BaselineError(f"{verdict.submission} has several points ({names}) and none ranks")
    return verdict.points[0] if entry is None else entry.point


def _values(sample: Sample, alone: float | None) -> tuple[float, ...]:
    return tuple(v for v in sample.values or (alone,) if finite(v))


def rows(board: Board) -> tuple[BoardRow, ...]:
    """The board as a new baseline keeps it: entries with their ratio and state, best first."""
    return tuple(
        BoardRow(e.submission, e.progress.ratio, e.state.name) for e in board.entries if e.progress
    )


# ---- Credit -----------------------------------------------------------------------------------


def credit(
    winner: str, submissions: Mapping[str, Submission], until: str | None = None
) -> tuple[Credit, ...]:
    """Everybody behind `winner`: its people, those of what it is based on, and of its re-runs.

    Who reproduced or challenged one of these counts as well: both made it certain.

    `submissions` are those of the track by path. The chain of `based_on` is followed up to the
    baseline `until`, whose people were credited when it was frozen. Roles are those that each
    submission states.
    """
    chain: list[str] = []
    at: str | None = winner
    while at is not None and at in submissions and at not in chain and at != until:
        chain.append(at)
        at = _parent(submissions[at], submissions)
    again = sorted(
        path
        for path, s in submissions.items()
        if path not in chain
        and (_parent(s, submissions) == winner or _replied(s, submissions) in chain)
    )
    found: dict[str, Credit] = {}
    for path in (*chain, *again):
        for person in _people(submissions[path]):
            before = found.get(person.github.lower())
            found[person.github.lower()] = _merged(before, person, path)
    return tuple(found.values())


def _parent(submission: Submission, submissions: Mapping[str, Submission]) -> str | None:
    """The path of what a submission is based on."""
    return entry_path(submission.based_on, submission.track, submissions)


def _replied(submission: Submission, known: Mapping[str, Submission]) -> str | None:
    """The path of the entry that a submission reproduces or challenges."""
    reply = submission.reply
    return None if reply is None else entry_path(reply.entry, submission.track, known)


def _people(submission: Submission) -> Iterable[Credit]:
    """Contributors; of an imported entry the authors that have a login."""
    for person in submission.contributors:
        yield Credit(person.github, person.name, person.roles, ())
    authors = (submission.imported or {}).get("authors")
    for author in authors if isinstance(authors, list) else ():
        if isinstance(author, dict) and isinstance(author.get("github"), str):
            yield Credit(author["github"], author.get("name"), (), ())


def _merged(before: Credit | None, person: Credit, path: str) -> Credit:
    roles = {*(before.roles if before else ()), *person.roles}
    paths = (*(before.submissions if before else ()), path)
    return Credit(
        before.github if before else person.github,
        (before.name if before else None) or person.name,
        tuple(role for role in ROLES if role in roles),
        tuple(dict.fromkeys(paths)),
    )


# ---- The file -----------------------------------------------------------------------------------


def write(root: Path, track: Track, baseline: Baseline) -> Path:
    """Write the baseline's file below `root`; returns it.

    Raises BaselineError where it is the baseline already.
    """
    path = root / path_of(track.id, baseline.id)
    if path.exists():
        frozen = next((b for b in track.baselines if b.id == baseline.id), baseline)
        raise BaselineError(
            f"{baseline.id} was frozen for {track.id} on {frozen.frozen_on}; delete {path} first"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    disk.write(path, to_text(baseline))
    return path
