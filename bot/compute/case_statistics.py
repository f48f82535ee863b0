"""The statistics of a submission, point by point: its runs, its claims and its baseline arm.

`of_case` is what the rules, the verdict and the comment all read, so that they show one number.
"""

from __future__ import annotations

import dataclasses as dc
import functools as ft
import re
from collections.abc import Container, Iterable, Iterator

from bot.compute.baselines import of_baseline
from bot.compute.duplicates import run_key
from bot.compute.independence import same_points
from bot.compute.selection import ended_otherwise
from bot.compute.several import corrected
from bot.compute.summary import summarise
from bot.model.case import Case, Seen
from bot.model.look import Look
from bot.model.run import Run
from bot.model.submission import ARMS, Claim
from bot.model.summary import Excluded, RunKey, Summary
from bot.model.track import STEP_METRICS
from bot.model.values import parse_timestamp
from bot.model.verdict import MAIN, Point
from bot.registry import OURS

_OTHER_LOSS = re.compile(r"[A-Za-z0-9_./-]{0,60}loss")
_USUAL_LOSS = ("loss", "val_loss", "train_loss")


def points_of(case: Case) -> tuple[str | None, ...]:
    """The points to judge apart; (None,) where the submission has none."""
    return case.submission.points or (None,)


def of_case(case: Case, point: str | None = None) -> Summary | None:
    """The statistics of one point's candidate runs against its baseline arm.

    None where the submission brings no runs, or where some could not be fetched by a fault on our
    side: statistics of what is left would say something about nobody's submission.
    """
    known = _known(case)
    if point not in known:
        points = points_of(case) if point in points_of(case) else (point,)
        known |= corrected({name: _of_case(case, name) for name in points})
    return known[point]


@ft.lru_cache(maxsize=1)
def _known(case: Case) -> dict[str | None, Summary | None]:
    """What was computed of the case that is judged; several rules ask for it."""
    return {}


def _of_case(case: Case, point: str | None) -> Summary | None:
    runs = case.runs("candidate", point)
    if not runs or any(p.rule in OURS for item in case.evidence for p in item.problems):
        return None
    summary = summarise(
        runs,
        case.track,
        baseline=case.runs("baseline", point),
        step=claimed_step(case, point),
        loss_key=loss_key_of(case),
        pairs=_pairs(case),
        earlier=earlier_looks(case, point),
    )
    return dc.replace(summary, excluded=(*summary.excluded, *_unread(case, point)))


def _unread(case: Case, point: str | None) -> Iterator[Excluded]:
    """The candidate runs of a point that are listed and could not be read."""
    for item in case.evidence:
        spec = item.spec
        if not (item.runs or item.joined) and spec.arm == "candidate" and spec.point == point:
            file = spec.target if spec.is_link else case.folder.full(spec.target)
            yield Excluded(file, 0, "it could not be read")


def counted(case: Case) -> frozenset[RunKey]:
    """The runs of both arms that count in the statistics."""
    found: set[RunKey] = set()
    for point in points_of(case):
        summary = of_case(case, point)
        if summary is not None:
            found |= set(summary.kept)
            others = summary.baseline.excluded if summary.baseline else ()
            left_out = {(e.file, e.run) for e in others}
            arm = case.runs("baseline", point)
            found |= {(run.file, run.index) for run in arm} - left_out
    return frozenset(found)


def ended(case: Case, run: Run, counts: Container[RunKey]) -> bool | None:
    """Whether a run reached its end as the track judges it: the step at which all runs are taken,
    what the track lets a run end by, else its own last step; None if that is unknown."""
    at_a_step = any(
        s is not None and s.step is not None for s in (of_case(case, p) for p in points_of(case))
    )
    if run.finished is False and (
        ended_otherwise(run, case.track) or (at_a_step and (run.file, run.index) in counts)
    ):
        return True
    return run.finished


def looks_of(points: Iterable[Point]) -> tuple[Look, ...]:
    """The looks that a verdict took, to be remembered."""
    found = []
    for point in points:
        made = point.summary.decision
        if made.look and made.judged:
            found.append(Look(point.name, made.judged, made.look))
    return tuple(found)


def earlier_looks(case: Case, point: str | None) -> tuple[Look, ...]:
    """The looks that pull requests took of this point, and what the merge recorded of it."""
    if not case.track.significance.looks:
        return ()
    name = point or MAIN
    recorded = case.context.recorded
    looks = [] if recorded is None else list(looks_of(recorded.points))
    for seen in shown_before(case):
        looks += seen.looks
    return tuple(dict.fromkeys(look for look in looks if look.point == name))


def shown_before(case: Case) -> tuple[Seen, ...]:
    """What this submission showed before, under its name or under another one with a run of it.

    Only what its author or a contributor showed counts: nobody spends the looks of others.
    """
    request = case.context.pull_request
    people = {c.github.lower() for c in case.submission.contributors}
    people |= set() if request is None else {request.author.lower()}
    return tuple(
        seen
        for seen in case.context.seen
        if seen.author.lower() in people
        and (seen.submission == case.folder.path or any(shows(seen, r) for r in case.runs()))
    )


def shows(seen: Seen, run: Run) -> bool:
    """Whether a pull request showed this run, by its address or by a few of its points."""
    return run_key(run) in seen.run_keys or any(
        same_points(run.validation, points) for points in seen.points
    )


def has_unread(case: Case) -> bool:
    """Whether a run that the submission lists could not be read, or its arm, which an error of its
    own says: what is reported is then about other runs than those that are left."""
    listed = case.submission.raw.get("runs")
    if case.brought_over or not isinstance(listed, list):
        return False
    read = {item.spec.pointer for item in case.evidence if item.runs or item.joined}
    specs = [spec for spec in case.submission.runs if spec.pointer]
    shown = [spec for spec in specs if spec.source == "results" or spec.pointer in read]
    arms = [run.get("arm", "candidate") for run in listed if isinstance(run, dict)]
    return len(shown) < len(listed) or any(arm not in ARMS for arm in arms)


def with_unlisted(case: Case, point: str | None = None) -> Summary | None:
    """The same with the runs that are in the W&B project and not in the submission; None without
    such runs."""
    others = tuple(r for item in case.unlisted for r in item.runs if not of_baseline(case, r))
    runs = case.runs("candidate", point)
    if not others or not runs:
        return None
    step, key = claimed_step(case, point), loss_key_of(case)
    return summarise((*runs, *others), case.track, step=step, loss_key=key)


def claims_of(case: Case, point: str | None) -> tuple[Claim, ...]:
    """The claims about one point."""
    return tuple(c for c in case.submission.claims if point is None or c.point in (None, point))


def claimed_step(case: Case, point: str | None = None) -> int | None:
    """The stop step that the submission claims, on a track that takes all runs at one step."""
    if not case.track.common_stop_step:
        return None
    claims = (c for c in claims_of(case, point) if c.metric in STEP_METRICS)
    value = next((c.value for c in claims), None)
    return int(value) if value is not None and value >= 0 and value == int(value) else None


def loss_key_of(case: Case) -> str | None:
    """The metric that stands in for the loss, where the submission names one: `val_ema_loss`.

    An imported entry names it in `imported.metric`, others by claiming it; it counts only where
    every candidate run has it in its history. Of a claim only a validation loss is taken, such as
    that of averaged weights, and `claim-differs-from-run` shows it to a maintainer: its name alone
    does not say what was measured.
    """
    if case.track.quality.metric != "loss":
        return None
    imported = case.submission.imported if case.brought_over else None
    names = [(imported or {}).get("metric")]
    names += [c.metric for c in case.submission.claims if c.metric.startswith(("val_", "val/"))]
    runs = case.runs("candidate")
    for name in names:
        if isinstance(name, str) and _OTHER_LOSS.fullmatch(name) and name not in _USUAL_LOSS:
            if runs and all(name in run.history for run in runs):
                return name
    return None


def _pairs(case: Case) -> dict[RunKey, str]:
    """Pairs of runs that took turns: neighbours in time; {} if the times of the runs do not say so.
    Which run is compared with which is nothing that an author chooses, and two runs of one arm are
    compared with none."""
    timed = []
    for item in case.evidence:
        for run in item.runs if item.spec.arm != "search" else ():
            moment = parse_timestamp(run.created_at or run.finished_at)
            if item.spec.pair is None or moment is None:
                return {}
            timed.append((item.spec.point or "", moment, (run.file, run.index)))
    timed.sort(key=lambda row: row[:2])
    found: dict[RunKey, str] = {}
    for n, (first, second) in enumerate(zip(timed[::2], timed[1::2], strict=False)):
        if first[0] != second[0] or first[1] == second[1]:
            return {}
        found |= {first[2]: str(n), second[2]: str(n)}
    return found if len(found) == len(timed) else {}
