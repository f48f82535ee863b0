"""Which frozen baseline an arm ran, and how the baselines of a track relate.

    found = ran(case)                          Ran("first", "code")
    links = relation(track.baselines, found.id, track.baseline_id)

What the runs say themselves decides: the hash of their code, else of their configuration. Then what
the submission says it is based on, then the baseline that stood when the bot first verified these
runs, and last the clock: which one stood when the runs began. Pure.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from bot.compute.ratios import Link, chained
from bot.model.case import Case, RunEvidence
from bot.model.run import TRAINER, Run
from bot.model.submission import Submission, entry_path
from bot.model.track import Baseline, Track
from bot.model.values import parse_timestamp

By = Literal["code", "author", "record", "clock", ""]


@dc.dataclass(frozen=True, slots=True)
class Ran:
    """The id of the frozen baseline that an arm ran, and what says so (empty: nothing does)."""

    id: str
    by: By = ""

    @property
    def known(self) -> bool:
        """Whether the runs or their author say so."""
        return self.by in ("code", "author")


def ran(case: Case) -> Ran | None:
    """The frozen baseline that the baseline arm of a case ran; None where none is frozen."""
    track = case.track
    if track.objective != "baseline" or track.baseline_id is None:
        return None
    told = _told(case)
    found = [ids for run in case.runs("baseline") if (ids := recognised(run, track.baselines))]
    if not found or not (common := frozenset.intersection(*found)):
        return told
    last = next(b.id for b in reversed(track.baselines) if b.id in common)
    return Ran(told.id if told.id in common else last, "code")


def converted(case: Case, ratio: float) -> float | None:
    """A ratio to the baseline that the arm ran as one to the baseline that stands; None where
    nothing relates the two."""
    arm, current = ran(case), case.track.baseline_id
    if arm is None or current is None:
        return ratio
    links = relation(case.track.baselines, arm.id, current)
    return None if links is None else ratio * chained(links).ratio


def mixed(case: Case) -> tuple[str, ...]:
    """The frozen baselines that the baseline arm mixes; empty where its runs are of one."""
    known = case.track.baselines
    found = [ids for run in case.runs("baseline") if (ids := recognised(run, known))]
    if not found or frozenset.intersection(*found):
        return ()
    every = frozenset.union(*found)
    return tuple(b.id for b in known if b.id in every)


def code_of(runs: Iterable[Run]) -> frozenset[str]:
    """Source hashes of runs; without the trainer's own, which all its users share."""
    return frozenset(
        digest for run in runs for name, digest in run.code_sha256.items() if name != TRAINER
    )


def config_of(run: Run) -> str | None:
    """The hash of a run's configuration, without what differs between runs of one."""
    digest = run.config.get("config_sha256")
    return digest if isinstance(digest, str) else None


def recognised(run: Run, baselines: Sequence[Baseline]) -> frozenset[str]:
    """The ids of the frozen baselines that a run is a run of: those of its code, where several
    share that those of its configuration too; where either names no code, of its configuration."""
    code, config = code_of([run]), config_of(run)
    same = [b for b in baselines if code & _sources(b)]
    if not same:
        return frozenset(
            b.id for b in baselines if config in b.configs and not (code and _sources(b))
        )
    closer = [b for b in same if config in b.configs]
    return frozenset(b.id for b in closer or same)


def _sources(item: Baseline) -> frozenset[str]:
    return frozenset(item.sources) | ({item.code.sha256} if item.code else frozenset())


def _told(case: Case) -> Ran:
    """What others than the runs say of the baseline that they ran."""
    track, context = case.track, case.context
    by_path = {b.submission: b.id for b in track.baselines}
    named = entry_path(case.submission.based_on, track.id, by_path)
    if named is not None:
        return Ran(by_path[named], "author")
    if context.against is not None and context.against in by_path.values():
        return Ran(context.against, "record")
    moment = _moment(case)
    current = track.baseline_id or ""
    if moment is None or current not in by_path.values():
        return Ran(current)
    return Ran(stood(track.baselines, moment), "clock")


def _moment(case: Case) -> dt.datetime | None:
    """When the runs of the baseline arm had begun: as they say, and no later than they were
    shown."""
    context, pull = case.context, case.context.pull_request
    begun = [parse_timestamp(run.created_at) for run in case.runs("baseline")]
    stated = (case.submission.imported or {}).get("date") if case.brought_over else None
    times = [
        context.first_seen or (pull.opened_at if pull else None),
        parse_timestamp(context.received),
        parse_timestamp(stated) if isinstance(stated, str) else None,
        max((t for t in begun if t is not None), default=None) if all(begun) else None,
    ]
    return min((t for t in times if t is not None), default=None)


def stood(baselines: Sequence[Baseline], moment: dt.datetime) -> str:
    """The id of the baseline that stood at a moment. One of which the day alone is known counts
    from the end of that day: what was run on it had begun before."""
    before = [b for b in baselines if _since(b) <= moment]
    return (before[-1] if before else baselines[0]).id


def _since(item: Baseline) -> dt.datetime:
    at = parse_timestamp(item.frozen_at)
    if at is not None:
        return at
    day = dt.datetime.fromisoformat(item.frozen_on).replace(tzinfo=dt.UTC)
    return day + dt.timedelta(days=1)


# ---- Which arm a run is of ---------------------------------------------------------------------


def told_apart(
    evidence: tuple[RunEvidence, ...], submission: Submission, track: Track
) -> tuple[RunEvidence, ...]:
    """The evidence with runs of the baseline in the baseline arm, where `runs` does not say which
    arm they are of.

    They are recognised by their code or configuration: that of a frozen baseline, or of runs that
    are listed as the baseline's. Where nothing else is left as the candidate, nothing is moved.
    """
    if track.objective != "baseline" or all(says_arm(submission, item) for item in evidence):
        return evidence
    theirs = [r for item in evidence if item.spec.arm == "baseline" for r in item.runs]
    moved = [
        item
        for item in evidence
        if not says_arm(submission, item)
        and item.runs
        and all(_of_baseline(run, theirs, track) for run in item.runs)
    ]
    ours = [item for item in evidence if item.spec.arm == "candidate" and item.runs]
    if len(moved) == len(ours):
        return evidence
    return tuple(
        dc.replace(item, spec=dc.replace(item.spec, arm="baseline")) if item in moved else item
        for item in evidence
    )


def says_arm(submission: Submission, item: RunEvidence) -> bool:
    """Whether the list of runs says itself which arm a run is of."""
    listed, index = submission.raw.get("runs"), item.spec.pointer.rpartition("/")[2]
    if not isinstance(listed, list) or not index.isdecimal() or int(index) >= len(listed):
        return True
    entry = listed[int(index)]
    return not isinstance(entry, dict) or "arm" in entry


def _of_baseline(run: Run, theirs: Sequence[Run], track: Track) -> bool:
    return bool(recognised(run, track.baselines)) or any(alike(run, other) for other in theirs)


def of_baseline(case: Case, run: Run) -> bool:
    """Whether a run that is not listed is one of the baseline arm, by the code or configuration
    that it shares with that arm and not with the candidate."""
    theirs = case.runs("baseline")
    if not _of_baseline(run, theirs, case.track):
        return False
    return not any(alike(run, other) for other in case.runs())


def alike(run: Run, other: Run) -> bool:
    """Whether two runs are of one code and, where both state it, of one configuration."""
    mine, theirs = code_of([run]), code_of([other])
    settings = config_of(run), config_of(other)
    if None not in settings and settings[0] != settings[1]:
        return False
    return bool(mine & theirs) if mine and theirs else None not in settings


# ---- How baselines relate ----------------------------------------------------------------------


def relation(baselines: tuple[Baseline, ...], own: str, current: str) -> tuple[Link, ...] | None:
    """The ratios by which one to the baseline `own` becomes one to `current`, none if they are one.

    None where some baseline between them was frozen without a ratio to the one before.
    """
    if own == current:
        return ()
    chains = _chains(baselines)
    mine, theirs = chains.get(own), chains.get(current)
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return None
    shared = sum(a == b for a, b in zip(mine[1], theirs[1], strict=False))
    down = tuple(link for _, link in mine[1][shared:])
    return (*down, *(link.inverse for _, link in theirs[1][shared:]))


_Chain = tuple[tuple[str, Link], ...]


def _chains(baselines: tuple[Baseline, ...]) -> Mapping[str, tuple[str, _Chain]]:
    """Id -> (first of its chain, the ratios from there on, each with the id that it leads to)."""
    chains: dict[str, tuple[str, _Chain]] = {}
    for item in baselines:
        before = chains.get(item.after) if item.after is not None else None
        if before is None or item.ratio is None:
            chains[item.id] = (item.id, ())
        else:
            link = (item.id, Link.of(item.ratio, item.interval))
            chains[item.id] = (before[0], (*before[1], link))
    return chains
