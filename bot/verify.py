"""From a submission to its verdict: the one path that every door of the program takes.

`verify` reads and gathers (the edge), `judge` decides (pure): the local check, the bot on GitHub,
the board and the audit all call these, so that they say the same.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from bot.compute import metrics
from bot.compute.case_statistics import of_case, points_of
from bot.compute.summary import Summary
from bot.evidence import linked
from bot.evidence.unlisted import left_out
from bot.model.case import Case, Context, RunEvidence, Unlisted
from bot.model.run import Run
from bot.model.submission import Folder, RunSpec, Submission
from bot.model.track import Track
from bot.model.verdict import Finding, Point, Verdict, finding, status_of
from bot.parse.folder import Parsed, holds, parse_submission
from bot.registry import OURS, Grade, Level, Status, catalogue
from bot.render.untrusted import plain
from bot.rules import run_rules
from bot.rules.merging import merge

MAIN = "main"
"""The name of the point of a submission that declares none."""
NOT_REPRODUCED = "recorded, not yet reproduced"

# On a `baseline` track a lucky run counts, so these inform; what is not about luck still blocks.
_NOT_ABOUT_LUCK = frozenset({"out-of-scope-change", "copied-result", "duplicate-run"})


NOTHING_ELSE = Context()
"""What an entry point knows that knows nothing else."""


class Gathered(Protocol):
    """What `bot.evidence.gather` returns."""

    @property
    def runs(self) -> tuple[RunEvidence, ...]: ...
    @property
    def unlisted(self) -> tuple[Unlisted, ...]: ...


Gather = Callable[[Submission, Folder, Track], Gathered]
LinkedCode = Callable[[Submission, tuple[RunEvidence, ...]], Mapping[str, tuple[str, ...]]]
"""Once the evidence is read, the digests of code outside the folder: it becomes
`Case.linked_code`."""


def verify(
    folder: Folder,
    tracks: Mapping[str, Track],
    context: Context = NOTHING_ELSE,
    *,
    track_id: str | None = None,
    gather: Gather | None = None,
    linked_code: LinkedCode | None = None,
) -> Verdict:
    """The verdict on a folder or a bare file. Raises `bot.parse.folder.ReadError` for usage only.

    `gather` fetches the evidence of runs that are no results files (default: `bot.evidence.gather`
    without a network).
    """
    parsed = parse_submission(folder, tracks, track_id)
    return verify_parsed(parsed, folder, context, gather=gather, linked_code=linked_code)


def verify_parsed(
    parsed: Parsed,
    folder: Folder,
    context: Context = NOTHING_ELSE,
    *,
    gather: Gather | None = None,
    linked_code: LinkedCode | None = None,
) -> Verdict:
    """`verify` for a folder that was parsed already."""
    if parsed.track is None:
        return _without_track(parsed, folder)
    judged_on = _judged_on(parsed.submission, context)
    track = parsed.track.on(judged_on)
    evidence, unlisted = _evidence(parsed, folder, track, gather)
    unlisted += left_out(parsed.submission, folder, track, evidence)
    others = tuple(n for n in context.neighbours if n.path != folder.path)
    return judge(
        Case(
            submission=parsed.submission,
            track=track,
            folder=folder,
            documents=parsed.documents,
            results=parsed.results,
            evidence=evidence,
            unlisted=unlisted,
            problems=parsed.problems,
            judged_on=judged_on,
            context=dc.replace(context, neighbours=others),
            linked_code={} if linked_code is None else linked_code(parsed.submission, evidence),
        )
    )


def _judged_on(submission: Submission, context: Context) -> dt.date | None:
    """The day whose rules count: when the pull request was opened; of an imported entry of the
    board, the day of its result."""
    if context.pull_request is not None and context.pull_request.opened_at is not None:
        return context.pull_request.opened_at.date()
    return _imported_on(submission) if context.pull_request is None and context.merged else None


def _imported_on(submission: Submission) -> dt.date | None:
    """The day of an imported result, whose track's rules it was judged by."""
    stated = (submission.imported or {}).get("date")
    try:
        return dt.date.fromisoformat(stated[:10]) if isinstance(stated, str) else None
    except ValueError:
        return None


def _evidence(
    parsed: Parsed, folder: Folder, track: Track, gather: Gather | None
) -> tuple[tuple[RunEvidence, ...], tuple[Unlisted, ...]]:
    """The runs of each spec in the order listed; results files are read here, once, and the runs
    that they link are gathered with the others."""
    specs = parsed.submission.runs
    own: dict[int, RunEvidence] = {}
    others: list[tuple[int, RunSpec]] = []
    for index, spec in enumerate(specs):
        if not spec.is_link and not holds(folder, spec.target):
            own[index] = RunEvidence(spec)  # its absence is among the problems of the reader
        elif spec.source == "results":
            own[index] = _results_evidence(parsed, folder, track, spec)
        else:
            others.append((index, spec))
    aside = () if gather is None else linked.specs_of(parsed.submission, parsed.results, folder)
    unlisted: tuple[Unlisted, ...] = ()
    if others or aside:
        wanted = (*(spec for _, spec in others), *(spec for _, spec in aside))
        rest = dc.replace(parsed.submission, runs=wanted)
        gathered = (gather or _without_network)(rest, folder, track)
        unlisted = gathered.unlisted
        listed, beside = gathered.runs[: len(others)], gathered.runs[len(others) :]
        own |= {index: item for (index, _), item in zip(others, listed, strict=True)}
        read = [(results, item) for (results, _), item in zip(aside, beside, strict=True)]
        own = {index: linked.joined(item, read, track) for index, item in own.items()}
    return tuple(own[index] for index in sorted(own)), unlisted


def _without_network(submission: Submission, folder: Folder, track: Track) -> Gathered:
    from bot.evidence.gather import gather

    return gather(submission, folder, track, online=None)


def _results_evidence(parsed: Parsed, folder: Folder, track: Track, spec: RunSpec) -> RunEvidence:
    vocab, file = track.vocab_size, folder.full(spec.target)
    return RunEvidence(
        spec,
        tuple(metrics.as_run(run, vocab) for run in parsed.results if run.file == file),
    )


def judge(case: Case) -> Verdict:
    """The verdict on a case. Pure: no network, disk or clock; the same case, the same verdict."""
    findings = merge(_distinct(_located(case, item) for item in _levelled(case, run_rules(case))))
    withdrawn = case.submission.withdrawn
    points = () if withdrawn else tuple(_point(case, name) for name in points_of(case))
    if not withdrawn:
        findings = (*findings, *_unranked(case, points, findings))
    grade = grade_of(case)
    status = status_of(findings, grade)
    note = None
    if case.track.objective == "baseline" and status.counts:
        note = NOT_REPRODUCED
    if withdrawn:
        note = "withdrawn: its entry stays and does not rank"
    return Verdict(
        submission=case.submission.path,
        track=case.track.id,
        status=status,
        evidence=grade,
        findings=findings,
        points=points,
        runs=tuple(
            {
                **run.summary(),
                "arm": item.spec.arm,
                "point": item.spec.point,
                "claimed": _claimed(case, run),
            }
            for item in case.evidence
            for run in item.runs
        ),
        statistics=points[0].statistics if points else None,
        note=note,
        title=_short(case.submission.title, 120),
        date=date_of(case),
        based_on=_short(case.submission.based_on, 300),
    )


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
        if lacks and case.track.levels.get("metric-missing") != "off":
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
            numbers = {name: item.number(name) for name in metrics.NAMES}
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
        own = item.rule in case.track.levels
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
    "suggestion",
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
    return dc.replace(item, **texts, **endless)


def _located(case: Case, item: Finding) -> Finding:
    """A finding on a JSON file with the line that its pointer leads to, and how it should read."""
    if item.pointer is None or item.file is None:
        return item
    documents = (d for n, d in case.documents.items() if case.folder.full(n) == item.file)
    document = next(documents, None)
    if document is None:
        return item
    line = item.line if item.line is not None else document.line(item.pointer)
    written = None if item.write is None else document.line_with(item.pointer, item.write)
    return dc.replace(item, line=line, suggestion=written)


def _distinct(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding once: readers and rules may both speak of one thing."""
    seen: dict[tuple[Any, ...], Finding] = {}
    for item in map(_clean, findings):
        key = (item.rule, item.message, item.file, item.pointer, item.line, item.run, item.point)
        seen.setdefault(key, item)
    return tuple(seen.values())


def _point(case: Case, name: str | None) -> Point:
    """One point: means over the runs that count, and the statistics where the track tests."""
    summary = of_case(case, name)
    counted = _counted(case, name, summary)
    values = metrics.mean_of(metrics.of_run(run, case.track) for run in counted)
    quality, cost = (values.get(axis.metric) for axis in (case.track.quality, case.track.cost))
    if summary is not None and summary.step is not None:
        # All runs were taken at one step, which is not where each of them ended.
        quality = _mean(summary.quality.values)
        cost = _mean(summary.cost.values)
        values |= {case.track.quality.metric: quality, case.track.cost.metric: cost}
    tested = summary is not None and (
        case.track.significance.test != "none" or case.track.objective != "pareto"
    )
    return Point(
        name=name or MAIN,
        quality=quality,
        cost=cost,
        metrics=values,
        statistics=summary.to_json() if summary is not None and tested else None,
    )


def _counted(case: Case, name: str | None, summary: Summary | None) -> tuple[Run, ...]:
    runs = case.runs("candidate", name)
    if summary is None:
        return ()
    kept = set(summary.kept)
    return tuple(run for run in runs if (run.file, run.index) in kept)


def _mean(values: tuple[float, ...]) -> float | None:
    value = metrics.mean_of({"x": v} for v in values).get("x")
    return None if value is None else float(value)


def grade_of(case: Case) -> Grade:
    """The grade of the weakest run; self-reported where there is none.

    An offline W&B file is a file like a log: nobody but the submitter has ever held it.
    """
    grades = list(Grade)
    found = [
        Grade.WANDB
        if run.source in ("wandb", "snapshot")
        else Grade.LOG
        if run.source in ("log", "wandb-offline")
        else Grade.SELF_REPORTED
        for run in case.runs()
    ]
    return max(found, key=grades.index, default=Grade.SELF_REPORTED)


def _short(text: str | None, limit: int) -> str | None:
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
    dates += [case.context.received, None if opened is None else opened.isoformat()]
    return max((date for date in dates if isinstance(date, str) and date), default=None)


def _without_track(parsed: Parsed, folder: Folder) -> Verdict:
    """The verdict on a folder whose track is not known: only that, and what cannot be read."""
    return Verdict(
        submission=folder.path,
        track=plain(parsed.submission.track, 64),
        status=Status.REJECTED,
        evidence=Grade.SELF_REPORTED,
        findings=_distinct(parsed.problems),
        points=(),
        title=_short(parsed.submission.title, 120),
    )
