"""What the community made of each entry of a `baseline` track: its state, and what that rests on.

- `claimed`: nobody else has shown the gain yet.
- `confirmed`: others ran it again with its baseline, in at least `[reproduction] runs` pairs, and
  their runs alone show a gain (one-sided p < alpha, shared among the looks that growing evidence
  allows, what their machines differ by included). Runs of the entry's own people do not confirm it;
  where the track says `by = "maintainer"`, only runs that a maintainer accepted do.
- `challenged`: a challenge holds, and no maintainer has accepted it yet.
- `refuted`: a challenge holds and a maintainer accepted it. The entry no longer ranks, makes no
  baseline, and the entries that are `based_on` it say so.

A challenge holds if it has at least two pairs of runs and as many as the entry; its runs miss the
target (p < alpha), or its ratio is worse than the one that the entry measured (p < alpha, with the
errors of both) and no gain; and all runs of others together show no gain on their machines. Runs
that miss the target, or whose arms are not comparable, show no gain. A challenge that does not hold
is further runs like any other.

Replies never rank: their runs join the entry's evidence, each with its own baseline arm on its own
machine. Pure.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Container, Iterable, Mapping, Sequence

from bot.compute.baselines import relation
from bot.compute.ratios import (
    Measured,
    disputes,
    measured,
    on_these_machines,
    pooled,
    shows_gain,
    to_target,
    undisputed,
)
from bot.model.board import Answered, State, StateName
from bot.model.run import RunRecord
from bot.model.submission import entry_path
from bot.model.track import Baseline, Reproduction, Track
from bot.model.values import by_date
from bot.model.verdict import Verdict
from bot.registry import Level

RULE = "maintainer-decides"
"""The rule whose finding a maintainer accepts to let a challenge, or a reproduction, count."""
UNBOUND = "run-not-bound"
SLOW = "baseline-slower-than-frozen"


@dc.dataclass(frozen=True, slots=True)
class Settled:
    """The track as its states leave it: a refuted baseline is never its baseline. `states` and
    `ratios` (own runs and those of all replies together) are by path of the entry."""

    track: Track
    states: Mapping[str, State]
    ratios: Mapping[str, Measured]


def settle(verdicts: Iterable[Verdict], track: Track) -> Settled:
    """The states of the entries of `track`; on other objectives there are none."""
    if track.objective != "baseline":
        return Settled(track, {}, {})
    mine = {v.submission: v for v in verdicts if v.track == track.id}
    entries = {path: v for path, v in mine.items() if v.reply is None}
    answers: dict[str, list[Verdict]] = {}
    for verdict in mine.values():
        path = replied_to(verdict, entries)
        if path is not None and verdict.status.counts:
            answers.setdefault(path, []).append(verdict)
    found = {p: _judged(v, answers.get(p, ()), track) for p, v in entries.items()}
    states = {path: state for path, (state, _) in found.items()}
    gone = {path for path, state in states.items() if state.name == "refuted"}
    states = {p: dc.replace(s, refuted=_above(p, entries, gone)) for p, s in states.items()}
    ratios = {path: ratio for path, (_, ratio) in found.items() if ratio is not None}
    return Settled(_standing(track, gone, ratios), states, ratios)


def replied_to(verdict: Verdict, known: Container[str]) -> str | None:
    """The path of the entry that a reply names; None for an entry, and for an unknown name."""
    named = verdict.reply.entry if verdict.reply else None
    return entry_path(named, verdict.track, known)


def ratio_of(verdict: Verdict) -> Measured | None:
    """What the first point of a verdict shows of its two arms."""
    return measured(verdict.statistics)


def against(verdict: Verdict, track: Track) -> str:
    """The id of the baseline that a verdict's arm ran; empty where none is frozen."""
    return verdict.against or track.baseline_id or ""


def logs_code(verdict: Verdict) -> bool:
    """Whether the logs of a verdict's own runs all hold the code that ran, as those of whoever runs
    it again then do; what W&B keeps of a program depends on its settings."""
    own = [run.source_read and run.source == "log" for run in _own(verdict)]
    return bool(own) and all(own)


def _own(verdict: Verdict) -> list[RunRecord]:
    return [run for run in verdict.runs if run.arm == "candidate"]


# ---- One entry ----------------------------------------------------------------------------------


@dc.dataclass(frozen=True, slots=True)
class _Read:
    """A reply with what its runs show. `unfit` says why they are not a measure of the gain."""

    reply: Verdict
    ratio: Measured | None
    unfit: str
    missed: bool = False

    @property
    def shown(self) -> Measured | None:
        """The ratio, where it measures the gain."""
        return None if self.unfit else self.ratio


def _judged(
    entry: Verdict, replies: Sequence[Verdict], track: Track
) -> tuple[State, Measured | None]:
    rule = track.confirmation
    own = ratio_of(entry)
    read = [_read(reply, entry, track) for reply in _in_order(replies)]
    shown = [r.shown for r in read if r.shown is not None]
    # Confirming speaks of machines in general; what takes an entry down must hold against these.
    gain = bool(shown) and shows_gain(on_these_machines(shown), track)
    answers = tuple(_answered(r, entry, own, gain, track) for r in read)
    counted = [r.shown for a, r in zip(answers, read, strict=True) if a.counts and r.shown]
    joint = pooled([own, *shown]) if own is not None and shown else own
    held = [a for a in answers if a.holds]
    name: StateName
    if any(a.accepted for a in held):
        # What it claimed itself is what is disputed.
        name, joint = "refuted", pooled([r.ratio for r in read if r.ratio is not None])
    elif held:
        name = "challenged"
    else:
        name = "confirmed" if _confirmed(counted, track, rule) else "claimed"
    return State(name, answers), joint


def _confirmed(counted: Sequence[Measured], track: Track, rule: Reproduction) -> bool:
    """Whether the replies that count, in order of time, confirmed the entry at some look: what came
    later may dispute it, and does not take the look back."""
    looks = (counted[:n] for n in range(1, len(counted) + 1))
    return any(
        sum(m.pairs for m in seen) >= rule.runs and shows_gain(pooled(seen), track, len(seen))
        for seen in looks
    )


def _in_order(replies: Iterable[Verdict]) -> list[Verdict]:
    return sorted(replies, key=lambda v: (by_date(v.date), v.submission))


def _read(reply: Verdict, entry: Verdict, track: Track) -> _Read:
    """The ratio of a reply to the baseline that the entry ran, and whether it measures a gain."""
    found = ratio_of(reply)
    ours, theirs = against(reply, track), against(entry, track)
    links = relation(track.baselines, ours, theirs)
    if found is None:
        return _Read(reply, None, "it has no baseline arm to measure with")
    if links is None:
        why = (
            f"nothing relates its baseline {ours} to the entry's; run {theirs} as the baseline arm"
        )
        return _Read(reply, None, why)
    reached, missed = to_target(reply.statistics, track)
    unfit = ""
    if unsound(reply):
        unfit = "its two arms are not comparable: see its findings"
    elif not reached:
        unfit = "its runs miss the target"
    return _Read(reply, found.scaled(links), unfit, missed)


def unsound(verdict: Verdict) -> bool:
    """Whether the two arms of a verdict are not comparable; what a maintainer accepted is."""
    differ = any(f.rule == "arms-differ" and f.level is not Level.NOTE for f in verdict.findings)
    return differ or slow_arm(verdict)


def slow_arm(verdict: Verdict) -> bool:
    """Whether the baseline arm took longer than the frozen baseline on the same hardware. What the
    peaks of two kinds of device make one expect, without a time that was taken, is not proof."""
    return any(
        f.rule == SLOW and f.level is not Level.NOTE and f.expected is not None
        for f in verdict.findings
    )


def _answered(
    read: _Read, entry: Verdict, own: Measured | None, gain: bool, track: Track
) -> Answered:
    reply, ratio = read.reply, read.ratio
    assert reply.reply is not None
    challenge = reply.reply.kind == "challenges"
    accepted = RULE in reply.accepted
    why = read.unfit or _why_not(reply, entry, accepted, track.confirmation)
    fit = None if unsound(reply) else ratio
    holds = challenge and not gain and disputes(fit, own, track, read.missed)
    gained = "all runs of others together show a gain" if gain else ""
    fails = (read.unfit if fit is None else gained) or undisputed(fit, own, track)
    return Answered(
        submission=reply.submission,
        kind="challenge" if challenge else "reproduction",
        people=reply.people,
        device=next((r.hardware for r in reply.runs if r.hardware), None),
        pairs=ratio.pairs if ratio else 0,
        ratio=ratio.ratio if ratio else None,
        interval=ratio.interval if ratio else None,
        counts=not why,
        why=why,
        holds=holds,
        accepted=accepted,
        reason=reply.accepted.get(RULE, ""),
        undisputed=fails if challenge and not holds else "",
        gains=read.shown is not None and _gains(read.shown, track),
    )


def _gains(shown: Measured, track: Track) -> bool:
    """Whether the runs of one reply show a gain; a single pair has its ratio alone."""
    better = shown.ratio < 1 if track.cost.goal == "min" else shown.ratio > 1
    return better and (shown.link is None or shows_gain(shown, track))


def _why_not(reply: Verdict, entry: Verdict, accepted: bool, rule: Reproduction) -> str:
    """Why sound runs do not confirm an entry; empty where they do."""
    if rule.by == "maintainer":
        return "" if accepted else "no maintainer has accepted it yet"
    if logs_code(entry) and not all(r.source_read for r in _own(reply)) and not accepted:
        return "its runs do not hold the code that the entry's do, and may have run another"
    shared = {p.lower() for p in reply.people} & {p.lower() for p in entry.people}
    if shared or not reply.people:
        return "the same people ran it"
    if UNBOUND not in reply.accepted and any(f.rule == UNBOUND for f in reply.findings):
        return "its runs are not bound to who sent them, by the tag speedrun:LOGIN"
    return ""


# ---- What follows from a refuted entry ----------------------------------------------------------


def _above(path: str, entries: Mapping[str, Verdict], gone: set[str]) -> tuple[str, ...]:
    """The refuted entries that an entry builds on, nearest first."""
    found: list[str] = []
    seen = {path}
    at = path
    while True:
        verdict = entries[at]
        parent = entry_path(verdict.based_on, verdict.track, entries)
        if parent is None or parent in seen:
            return tuple(found)
        seen.add(parent)
        found += [parent] if parent in gone else []
        at = parent


def _standing(track: Track, gone: set[str], ratios: Mapping[str, Measured]) -> Track:
    """The track with the last baseline that is not refuted. The ratio of a refuted one becomes
    what others measured, so that entries measured against it stay on the right scale."""
    refuted = [b.submission for b in track.baselines if b.submission in gone]
    if not refuted:
        return track
    baselines = tuple(_corrected(b, gone, ratios) for b in track.baselines)
    kept = [b.id for b in baselines if b.submission not in gone]
    last = kept[-1] if kept else None
    current = track.baseline_id if track.baseline_id in kept else last
    return dc.replace(track, baselines=baselines, baseline_id=current)


def _corrected(item: Baseline, gone: set[str], ratios: Mapping[str, Measured]) -> Baseline:
    shown = ratios.get(item.submission)
    if item.submission not in gone or shown is None or item.ratio is None:
        return item
    return dc.replace(item, ratio=shown.ratio, interval=shown.interval)
