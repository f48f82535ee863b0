"""Bare numbers in `claims`, against the mean of the runs that count.

Part of the rule `claim-differs-from-run`, in `bot.rules.agreement`.
"""

from __future__ import annotations

from collections.abc import Iterator

from bot.compute.case_statistics import claims_of, has_unread, loss_key_of, of_case
from bot.model.case import Case
from bot.model.submission import Claim
from bot.model.summary import Summary
from bot.model.track import NAMES
from bot.model.values import near_key
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.numbers import exact, figure, listed
from bot.render.untrusted import plain
from bot.rules.about import ratio
from bot.rules.reported import agrees, sample_of


def wrong_scalars(case: Case, point: str | None) -> Iterator[Finding]:
    """Bare numbers in `claims` that the runs of a point do not show."""
    summary = of_case(case, point)
    if summary is None or has_unread(case):
        return
    key = loss_key_of(case)
    yield from _not_compared(case, point, summary, key)
    for claim in claims_of(case, point):
        sample = sample_of(case, claim.metric, summary, key)
        moments = None if sample is None or not claim.scalar else sample.moments
        if sample is None or moments is None or agrees(claim, moments.mean):
            continue
        if claim.of_any and min(sample.values) <= claim.value <= max(sample.values):
            continue
        right = float(f"{moments.mean:.6g}")
        lacking = len(case.runs("candidate", point)) - moments.n
        whose, first = _shown_by(moments.n, lacking)
        yield finding(
            "claim-differs-from-run",
            f"{plain(claim.metric)} is claimed as {figure(claim.value, 8)}, but {whose} "
            f"{figure(moments.mean, 8)}{_unit(claim, moments.mean)}",
            file=case.folder.full("submission.json"),
            pointer=claim.pointer or None,
            claimed=claim.value,
            expected=moments.mean,
            ratio=ratio(claim.value, moments.mean),
            point=point,
            write=None if first else right,
            fix=f"{first}write {exact(right)}, or remove the claim",
        )


def _shown_by(count: int, lacking: int) -> tuple[str, str]:
    """Whose value it is, and what comes before the claim if some of the runs do not count."""
    whose = "the run shows" if count == 1 else f"the mean of the {count} runs is"
    if lacking <= 0:
        return whose, ""
    runs, them = ("run", "it") if lacking == 1 else (f"{lacking} runs", "them")
    count_not = "does not count" if lacking == 1 else "do not count"
    shows = "shows" if count == 1 else "give a mean of"
    whose = f"the {count} of {count + lacking} runs that count{'s' * (count == 1)} {shows}"
    return whose, f"first fix the {runs} that {count_not}; without {them}, "


def claims_wait(case: Case) -> Iterator[Finding]:
    """Claims are compared only when every run that they are about can be read."""
    if case.submission.claims and case.runs("candidate") and has_unread(case):
        yield finding(
            "claim-differs-from-run",
            "the claims were not compared yet, because a run that the "
            "submission lists could not be read",
            Level.NOTE,
            pointer="/claims",
            file=case.folder.full("submission.json"),
            fix="fix that run; then the claims are compared",
        )


def wrong_seeds(case: Case) -> Iterator[Finding]:
    """Seeds in the list of runs that the runs themselves state otherwise."""
    for item in case.evidence:
        shown = {run.seed for run in item.runs if run.seed is not None}
        claimed = item.spec.seed
        if claimed is None or not shown or claimed in shown or case.brought_over:
            continue
        seed = min(shown)
        yield finding(
            "claim-differs-from-run",
            f"the submission lists the seed {claimed}, the run has {seed}",
            Level.WARNING,
            run=item.runs[0].file,
            file=case.folder.full("submission.json"),
            pointer=f"{item.spec.pointer}/seed",
            claimed=claimed,
            expected=seed,
            write=seed,
            fix=f"write {seed}, or leave the seed out",
        )


def _unit(claim: Claim, value: float) -> str:
    """The unit in which a time was claimed, where it is not seconds."""
    if claim.metric.endswith("_s") and value:
        for factor, unit in ((1000, "milliseconds"), (1 / 60, "minutes"), (1 / 3600, "hours")):
            if abs(claim.value / value / factor - 1) < 0.01:
                return f" seconds; the claim is in {unit}"
    return ""


def _not_compared(
    case: Case, point: str | None, summary: Summary, key: str | None
) -> Iterator[Finding]:
    """Claims of something that the runs do not show, which nobody has checked: one finding for
    all that are so for one reason."""
    causes: dict[tuple[str, str], list[Claim]] = {}
    for claim in claims_of(case, point):
        if sample_of(case, claim.metric, summary, key) is None:
            causes.setdefault(_why_not_compared(case, claim, point), []).append(claim)
    for (what, fix), claims in causes.items():
        first = claims[0]
        said = f"{plain(first.metric, 60)} is claimed as {figure(first.value)} but was not compared"
        if len(claims) > 1:
            names = [plain(claim.metric) for claim in claims]
            names[3:] = [f"{len(names) - 3} more"] * (len(names) > 3)
            said = f"{len(claims)} claims were not compared ({listed(names)})"
            what = what.replace("it is not a metric", "they are not metrics")
            what = what.replace("it cannot", "they cannot")
            fix = fix.replace("remove the claim", "remove the claims")
        yield finding(
            "claim-differs-from-run",
            f"{said}: {what}",
            Level.NOTE,
            file=case.folder.full("submission.json"),
            pointer=first.pointer or None,
            claimed=first.value,
            point=point,
            fix=fix,
        )


def _why_not_compared(case: Case, claim: Claim, point: str | None) -> tuple[str, str]:
    """Why a claim was not compared, and what to do."""
    shown = {name for run in case.runs("candidate", point) for name in (*run.metrics, *run.history)}
    known = {*NAMES, *shown}
    if claim.metric in known:
        return "it cannot be computed from the runs", "remove the claim"
    near = near_key(claim.metric, known)
    fix = f"claim {' or '.join(_claimable(case, point))}, or remove the claim"
    if near:
        fix = f'claim "{plain(near, 60)}", if that is what it is'
    return "it is not a metric of the runs", fix


def _claimable(case: Case, point: str | None) -> list[str]:
    """The track's own metrics that the runs show."""
    shown = {name for run in case.runs("candidate", point) for name in run.metrics}
    axes = case.track.quality.metric, case.track.cost.metric
    return [name for name in axes if name in shown] or list(axes)
