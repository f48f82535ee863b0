"""What ranks on a board: the points of accepted verdicts whose numbers are numbers.

Everything else is an `Unranked` with the reason in one sentence.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterable, Iterator, Mapping

from bot.compute.baselines import relation
from bot.compute.ratios import chained, measured, promotes
from bot.model.board import Clock, Progress, State, Unranked
from bot.model.submission import entry_path
from bot.model.track import Track
from bot.model.values import finite
from bot.model.verdict import Point, Verdict
from bot.rank.states import SLOW, Settled, against, slow_arm
from bot.registry import Level, Status

WHY_NOT = {
    Status.REJECTED: "it needs changes: see its findings",
    Status.UNVERIFIABLE: "its evidence was not checked yet",
    Status.NEEDS_RUNS: "it needs more runs to prove the result first",
}


_UNSOUND = frozenset({"arms-differ", "target-missed", SLOW})
"""Rules whose findings, unless a maintainer accepted them, keep an entry from making a baseline."""


Retimings = Mapping[tuple[str, str], tuple[tuple[str, float], ...]]
"""Submission and point -> its official re-timings, (date, cost) in order of time."""


@dc.dataclass(frozen=True, slots=True)
class Row:
    """An admitted point before it is placed. `score` is minimised whatever the track's goals."""

    verdict: Verdict
    point: Point
    quality: float
    cost: float
    shown: float
    score: float
    progress: Progress | None
    clock: Clock = "own"
    state: State = State()

    @property
    def key(self) -> tuple[str, str]:
        return self.verdict.submission, self.point.name


def admit(
    verdict: Verdict,
    settled: Settled,
    retimings: Retimings,
) -> Iterator[Row | Unranked]:
    """Each point of a verdict as a row, or why it has none."""
    track, state = settled.track, settled.states.get(verdict.submission, State())
    if verdict.reply is not None:
        yield Unranked(verdict, None, _joins(verdict, settled))
        return
    if not verdict.status.counts:
        yield Unranked(verdict, None, WHY_NOT[verdict.status])
        return
    of = {timed.submission: timed.of for timed in track.retimings}.get(verdict.submission)
    if of is not None:
        yield Unranked(verdict, None, f"it is the official re-timing of {of}")
        return
    if state.name == "refuted":
        others = [a.submission for a in state.replies if a.holds and a.accepted]
        yield Unranked(verdict, None, f"it is refuted by {', '.join(others)}", state)
        return
    if not verdict.points:
        gone = (verdict.note or "").startswith("withdrawn")
        why = "it is withdrawn" if gone else "nothing could be computed from its evidence"
        yield Unranked(verdict, None, why)
    for point in verdict.points:
        obstacle = _obstacle(verdict, point, settled)
        if obstacle is not None:
            yield Unranked(verdict, point, obstacle)
            continue
        assert point.quality is not None and point.cost is not None
        timed = retimings.get((verdict.submission, point.name), ())
        shown = timed[-1][1] if timed else point.cost
        progress = _progress(verdict, point, settled)
        assert not isinstance(progress, str)
        score = track.cost.sign * (progress.ratio if progress else shown)
        yield Row(verdict, point, point.quality, point.cost, shown, score, progress, state=state)


def _joins(verdict: Verdict, settled: Settled) -> str:
    """What becomes of a reply, which has no place of its own."""
    assert verdict.reply is not None
    path = entry_path(verdict.reply.entry, verdict.track, settled.states)
    if path is None:
        return f"it {verdict.reply.kind} {verdict.reply.entry}, which is not an entry of the board"
    if not verdict.status.counts:
        return f"it {verdict.reply.kind} {path}, but {WHY_NOT[verdict.status]}"
    return f"it {verdict.reply.kind} {path} and joins its evidence"


def _obstacle(verdict: Verdict, point: Point, settled: Settled) -> str | None:
    """Why a point cannot rank on the track, or None."""
    track = settled.track
    for axis, value in ((track.quality, point.quality), (track.cost, point.cost)):
        if not finite(value):
            name = track.in_sentence(axis.metric)
            if value is None:
                return f"its evidence states no {name}"
            return f"its {name} is {value}, not a finite number"
    target = track.quality.target
    assert point.quality is not None
    if track.objective != "pareto" and target is not None:
        if not track.quality.reaches(point.quality, target):
            name = track.in_sentence(track.quality.metric)
            return f"its {name} {point.quality:.6g} misses the target {target:g}"
    progress = _progress(verdict, point, settled)
    return progress if isinstance(progress, str) else None


def _progress(verdict: Verdict, point: Point, settled: Settled) -> Progress | str | None:
    """The ratio to the current baseline, or why there is none; None on a track without ratios.

    The statistics of the point give the ratio to the baseline arm of the same machine, and the
    entry's replies join it; the baseline itself is at 1.
    """
    track, current = settled.track, settled.track.baseline_id
    if track.objective != "baseline":
        return None
    if current is None:
        return _not_open(verdict, track)
    if track.is_baseline(verdict.submission):
        return Progress(1.0, None, False, 1.0, current)
    frozen = next((b.id for b in track.baselines if b.submission == verdict.submission), None)
    since = relation(track.baselines, frozen, current) if frozen else None
    if since is not None:
        link = chained(since)
        return Progress(link.ratio, link.interval, False, 1.0, frozen)
    first = verdict.points[0] is point
    found = settled.ratios.get(verdict.submission) if first else measured(point.statistics)
    if found is None:
        return (
            "it has no baseline arm; run the baseline in turn with it on the same machine "
            "(`--interleave baseline` of the trainer)"
        )
    if slow_arm(verdict):
        return "its baseline arm is slower than the frozen baseline: a slow arm does not win"
    own = against(verdict, track)
    between = relation(track.baselines, own, current)
    if between is None:
        return (
            f"it is measured against {own}, but nothing relates that to {current}; run {current} "
            "as the baseline arm"
        )
    shown = found.scaled(between)
    sound = not any(f.rule in _UNSOUND and f.level is not Level.NOTE for f in verdict.findings)
    state = settled.states.get(verdict.submission, State())
    known = track.reproduction is None or state.name == "confirmed"
    due = sound and known and own == current and promotes(shown.interval, track.promote_at)
    return Progress(shown.ratio, shown.interval, due, found.ratio, own, found.pairs, found.interval)


def _not_open(verdict: Verdict, track: Track) -> str:
    """Why nothing ranks on a track without a baseline, and how it gets one."""
    name = verdict.submission.removeprefix(f"submissions/{track.id}/")
    return (
        "no baseline is frozen, so the track is not open yet; if this is to be the first, a "
        f"maintainer types `git pull` and `speedrun baseline freeze {track.id} {name}` once it is "
        "merged, and commits `tracks/baselines/`"
    )


def retimings_of(verdicts: Iterable[Verdict], track: Track) -> Retimings:
    """The re-timings of each point: by the point of its name, or by the only one there is."""
    if not track.retimings:
        return {}
    points = {v.submission: v.points for v in verdicts}
    found: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for timed in track.retimings:
        theirs, again = points.get(timed.of, ()), points.get(timed.submission, ())
        for point in theirs:
            alone = len(theirs) == len(again) == 1
            cost = next((p.cost for p in again if alone or p.name == point.name), None)
            if finite(cost):
                found.setdefault((timed.of, point.name), []).append((timed.date, cost))
    return {of: tuple(sorted(items)) for of, items in found.items()}
