"""From a case to its verdict: findings at their levels, recomputed numbers, a status. Pure."""

from __future__ import annotations

import dataclasses as dc
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bot.compute import metrics
from bot.compute.baselines import ran
from bot.compute.case_statistics import counted, ended, of_case, points_of
from bot.compute.witnesses import grade_of as grade_of_run
from bot.compute.witnesses import weakest, witnesses_of
from bot.evidence import linked
from bot.model.case import Case
from bot.model.document import Document
from bot.model.run import Run, Witness
from bot.model.submission import Folder, Reply
from bot.model.track import NAMES
from bot.model.verdict import MAIN, Finding, Point, Verdict, finding, status_of
from bot.registry import OURS, Grade, Level, catalogue
from bot.render.untrusted import is_safe_line, plain
from bot.rules import run_rules
from bot.rules.merging import merge

# On a `baseline` track a lucky run counts, so these inform; what is not about luck still blocks.
_NOT_ABOUT_LUCK = frozenset(
    """arms-differ author-not-contributor baseline-slower-than-frozen copied-result duplicate-run
    entry-unknown limit-exceeded maintainer-decides out-of-scope-change run-of-another""".split()
)
# What confirms an entry must be somebody's own, so that it is reviewed here too.
_OF_REPLIES = frozenset({"run-not-bound"})

# What a reply shows of an entry is its answer, good or bad, and no fault of the reply.
_NOT_OF_REPLIES = frozenset(
    """clock-implausible depends-on-best-run explanation-missing improvement-not-significant
    not-better-than-record target-missed target-not-significant uncorroborated
    """.split()
)


def judge(case: Case) -> Verdict:
    """The verdict on a case. Pure: no network, disk or clock; the same case, the same verdict."""
    findings = merge(
        distinct(
            located(item, case.folder, case.documents) for item in _levelled(case, run_rules(case))
        )
    )
    withdrawn = case.submission.withdrawn
    points = () if withdrawn else tuple(_point(case, name) for name in points_of(case))
    if not withdrawn:
        findings = (*findings, *_unranked(case, points, findings))
    grade, counts, arm = grade_of(case), counted(case), ran(case)
    status = status_of(findings, grade)
    note = "withdrawn: its entry stays and does not rank" if withdrawn else None
    return Verdict(
        submission=case.submission.path,
        track=case.track.id,
        status=status,
        evidence=grade,
        findings=findings,
        points=points,
        runs=tuple(
            dc.replace(
                run.record(),
                finished=ended(case, run, counts),
                arm=item.spec.arm,
                point=item.spec.point,
                claimed=_claimed(case, run),
            )
            for item in case.evidence
            for run in item.runs
        ),
        note=note,
        title=short(case.submission.title, 120),
        date=date_of(case),
        based_on=short(case.submission.based_on, 300),
        reply=_reply(case),
        people=tuple(plain(c.github, 60) for c in case.submission.contributors[:50]),
        against=arm.id if arm else None,
    )


def _reply(case: Case) -> Reply | None:
    said = case.submission.reply
    return None if said is None else Reply(said.kind, plain(said.entry, 300))


def _unranked(
    case: Case, points: tuple[Point, ...], findings: tuple[Finding, ...]
) -> Iterator[Finding]:
    """A point without the metrics that rank, where no rule has said so: it is never verified."""
    if any(f.level is Level.ERROR or f.rule == "metric-missing" for f in findings):
        return
    level = Level.WARNING if case.brought_over else Level.ERROR
    for point in points:
        lacks = [
            axis.metric
            for axis, value in ((case.track.quality, point.quality), (case.track.cost, point.cost))
            if value is None
        ]
        if lacks:
            yield finding(
                "metric-missing",
                f"{' and '.join(lacks)} cannot be computed from the evidence",
                level,
                file=plain(case.folder.path, 200),
                point=point.name,
                fix="bring runs that state it, or what it is computed from",
            )


def _claimed(case: Case, run: Run) -> dict[str, float | int] | None:
    """What a results file states of a run, by metric; None for other sources."""
    for item in case.results:
        link = linked.ref(item.text("link"))
        mine = (item.file, item.index) == (run.file, run.index)
        if (run.source == "results" and mine) or (link is not None and link.url == run.file):
            numbers = {name: item.number(name) for name in NAMES}
            return {name: value for name, value in numbers.items() if value is not None}
    return None


def _levelled(case: Case, findings: Iterable[Finding]) -> list[Finding]:
    """Findings at the levels that count here, errors first.

    On a `baseline` track statistics and provenance inform. What an imported entry once claimed
    warns and never rejects; what is unsafe in it still does.
    """
    levelled = []
    for item in findings:
        family = catalogue()[item.rule]["family"]
        if case.submission.reply is not None and item.rule in _NOT_OF_REPLIES:
            continue
        if case.submission.reply is not None and item.rule == "too-few-runs":
            levelled.append(dc.replace(item, level=Level.ERROR))
            continue
        own = item.rule in case.track.levels
        own = own or (case.submission.reply is not None and item.rule in _OF_REPLIES)
        if case.track.objective == "baseline" and not own and item.rule not in _NOT_ABOUT_LUCK:
            if family in ("statistics", "provenance"):
                item = dc.replace(item, level=Level.NOTE)
        if case.brought_over and family != "text" and item.rule not in OURS:
            if item.level is Level.ERROR:
                item = dc.replace(item, level=Level.WARNING)
        levelled.append(item)
    order = list(Level)
    return sorted(levelled, key=lambda f: order.index(f.level))


_TEXTS = (
    "message",
    "fix",
    "claimed",
    "expected",
    "run",
    "pointer",
    "file",
    "point",
    "write",
)


def _clean(item: Finding) -> Finding:
    """A finding whose texts are safe to show, and whose numbers are finite, whichever rule wrote
    them."""
    texts: dict[str, Any] = {
        name: plain(value, 1000) for name in _TEXTS if isinstance(value := getattr(item, name), str)
    }
    endless: dict[str, Any] = {
        name: None
        for name in ("claimed", "expected", "ratio")
        if isinstance(value := getattr(item, name), float) and not math.isfinite(value)
    }
    line = item.suggestion if is_safe_line(item.suggestion or "") else None
    return dc.replace(item, **texts, **endless, suggestion=line)


def _inside(folder: Folder, text: str) -> str:
    """A text in which the files of the folder are named as they lie there."""
    name = rf"{re.escape(folder.path)}/([^\s,;:]+)"
    return re.sub(name, lambda found: found[1 if found[1] in folder.files else 0], text)


def located(item: Finding, folder: Folder, documents: Mapping[str, Document]) -> Finding:
    """A finding with its files as they lie in the folder; on a JSON file also with the line that
    its pointer leads to, and how it should read."""
    if not folder.bare:
        item = dc.replace(item, message=_inside(folder, item.message))
    if item.pointer is None or item.file is None:
        return item
    found = (d for name, d in documents.items() if folder.full(name) == item.file)
    document = next(found, None)
    if document is None:
        return item
    line = item.line if item.line is not None else document.line(item.pointer)
    write = _said(item.fix or "") if item.write is None else item.write
    written = None if write is None else document.line_with(item.pointer, write)
    if renamed := _RENAME.match(item.fix or ""):
        written = document.line_renamed(item.pointer, renamed[1])
    return dc.replace(item, line=line, suggestion=written)


_RENAME = re.compile(r"rename it to `(\w+)`$")
_WRITE = re.compile(
    r'write (?:"([^"\\]+)"|(-?\d[\d.]*(?:e[+-]?\d+)?))'
    r"(?= without quotes|, (?:or|which|since)\b|;|$)"
)


def _said(fix: str) -> str | float | None:
    """The value that a fix says to write, whichever rule says it."""
    found = _WRITE.match(fix)
    if found is None:
        return None
    return found[1] if found[1] is not None else float(found[2])


def distinct(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding once: readers and rules may both speak of one thing."""
    seen: dict[tuple[Any, ...], Finding] = {}
    for item in map(_clean, findings):
        key = (item.rule, item.message, item.file, item.pointer, item.line, item.run, item.point)
        seen.setdefault(key, item)
    return tuple(seen.values())


def _point(case: Case, name: str | None) -> Point:
    """One point: means over the runs that count, and the statistics of several runs, or where the
    track tests."""
    summary, runs = of_case(case, name), case.runs("candidate", name)
    values = metrics.mean_of(()) if summary is None else summary.metrics
    kept = () if summary is None else summary.kept
    counted = [run for run in runs if (run.file, run.index) in kept]
    tested = summary is not None and (
        case.track.significance.test != "none" or case.track.objective != "pareto" or summary.n > 1
    )
    return Point(
        name=name or MAIN,
        quality=values.get(case.track.quality.metric),
        cost=values.get(case.track.cost.metric),
        metrics=values,
        statistics=summary if tested else None,
        rests_on=_rests_on(counted or runs),
    )


def _rests_on(runs: Iterable[Run]) -> Mapping[str, tuple[Witness, ...]]:
    """Quantity -> who states it, each source once, with the value of the first run."""
    found: dict[str, dict[tuple[str, str], Witness]] = {}
    for run in runs:
        for witness in witnesses_of(run):
            known = found.setdefault(witness.quantity, {})
            value = witness.value
            safe = witness if not isinstance(value, str) else witness._replace(value=plain(value))
            known.setdefault((witness.kind, witness.source), safe)
    return {name: tuple(known.values()) for name, known in found.items()}


def grade_of(case: Case) -> Grade:
    """The weakest grade over both arms; self-reported where there is no run."""
    runs = case.runs("candidate") and (*case.runs("candidate"), *case.runs("baseline"))
    return weakest([grade_of_run(run) for run in runs])


def short(text: str | None, limit: int) -> str | None:
    return None if text is None else plain(text, limit)


def date_of(case: Case) -> str | None:
    """When the result was obtained, ISO 8601: as its source states it, else when the last run
    ended, and never before it was submitted where that is known: when the pull request was
    opened, or as it was recorded at the merge (`Context.received`). What a submitter writes into
    his files cannot put a record before another's."""
    stated = (case.submission.imported or {}).get("date") if case.brought_over else None
    if isinstance(stated, str) and stated:
        return plain(stated, 40)
    pull = case.context.pull_request
    opened = None if pull is None else pull.opened_at
    dates = [run.finished_at or run.created_at for run in case.runs()]
    seen = case.context.first_seen
    dates += [case.context.received, None if opened is None else opened.isoformat()]
    dates += [None if seen is None else seen.isoformat()]
    return max((date for date in dates if isinstance(date, str) and date), default=None)
