"""From a submission to its verdict: the one path that every entry point takes.

`verify` reads and gathers (the edge), `bot.judge` decides (pure): the local check, the bot on
GitHub, the board and the audit all call these, so that they say the same.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from collections.abc import Callable, Mapping
from typing import Protocol

from bot.compute import metrics
from bot.compute.baselines import told_apart
from bot.evidence import linked
from bot.evidence.unlisted import left_out
from bot.judge import distinct, judge, located, short
from bot.model.case import Case, Context, RunEvidence, Seen, Unlisted
from bot.model.run import Validation
from bot.model.submission import Folder, RunSpec, Submission
from bot.model.track import Track
from bot.model.values import parse_timestamp
from bot.model.verdict import Verdict
from bot.parse.folder import Parsed, parse_submission
from bot.parse.listing import holds
from bot.registry import LOSS_TOLERANCE, Grade, Status
from bot.render.untrusted import plain

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

    `gather` fetches the evidence of runs that are not results files (default: `bot.evidence.gather`
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
    judged_on = _judged_on(parsed.submission, parsed.track, context)
    track = parsed.track.on(judged_on)
    evidence, unlisted = _evidence(parsed, folder, track, gather)
    context = _dated(context, parsed.submission.path, evidence)
    judged_on = _judged_on(parsed.submission, parsed.track, context)
    track = parsed.track.on(judged_on)
    unlisted += left_out(parsed.submission, folder, track, evidence)
    evidence = told_apart(evidence, parsed.submission, track)
    others = tuple(n for n in context.neighbours if n.path != folder.path)
    before = next((n for n in context.neighbours if n.path == folder.path), context.before)
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
            context=dc.replace(context, neighbours=others, before=before),
            linked_code={} if linked_code is None else linked_code(parsed.submission, evidence),
        )
    )


def _dated(context: Context, path: str, evidence: tuple[RunEvidence, ...]) -> Context:
    """The context with the day on which the last validation of every run had been shown. A link to
    a run that was trained to its end later shows nothing of that end."""
    pull, first = context.pull_request, context.first_seen
    if pull is None or first is None or context.merged:
        return context
    own = [s for s in context.seen if s.pull_request == pull.number and s.submission == path]
    for item in evidence if own else ():
        for run in item.runs if item.spec.arm == "candidate" else ():
            if run.validation:
                first = max(first, _shown_at(run.validation[-1], own, context) or first)
    opened = pull.opened_at
    if opened is not None and opened < first:
        pull = dc.replace(pull, opened_at=first)
    return dc.replace(context, first_seen=first, pull_request=pull)


def _shown_at(end: Validation, own: list[Seen], context: Context) -> dt.datetime | None:
    """When a pull request first showed a validation as the last of a run; today if never."""
    for seen in own:
        for points in seen.points:
            if points and points[-1].step == end.step:
                if abs(points[-1].loss - end.loss) <= LOSS_TOLERANCE:
                    return seen.at
    today = context.today
    return None if today is None else dt.datetime.combine(today, dt.time(), dt.UTC)


def _judged_on(submission: Submission, track: Track, context: Context) -> dt.date | None:
    """The day whose rules count: when the evidence was first seen, else when the pull request was
    opened; of an entry of the board, the day that was recorded at its merge, and of an imported
    one the day of its result."""
    if context.first_seen is not None:
        return context.first_seen.date()
    if context.pull_request is not None and context.pull_request.opened_at is not None:
        return context.pull_request.opened_at.date()
    if context.pull_request is not None or not context.merged:
        return None
    if submission.imported is not None and track.is_imported(submission.path):
        return _imported_on(submission)
    recorded = parse_timestamp(context.received)
    return None if recorded is None else recorded.date()


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
        elif spec.source == "results" and _is_read(parsed, folder, spec):
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


def _is_read(parsed: Parsed, folder: Folder, spec: RunSpec) -> bool:
    """Whether the results file was read with the folder; one of another format is not."""
    return spec.target in parsed.documents or parsed.track is None or folder.bare


def _without_network(submission: Submission, folder: Folder, track: Track) -> Gathered:
    from bot.evidence.gather import gather

    return gather(submission, folder, track, online=None)


def _results_evidence(parsed: Parsed, folder: Folder, track: Track, spec: RunSpec) -> RunEvidence:
    vocab, file = track.vocab_size, folder.full(spec.target)
    return RunEvidence(
        spec,
        tuple(metrics.as_run(run, vocab) for run in parsed.results if run.file == file),
    )


def _without_track(parsed: Parsed, folder: Folder) -> Verdict:
    """The verdict on a folder whose track is not known: only that, and what cannot be read."""
    return Verdict(
        submission=folder.path,
        track=plain(parsed.submission.track, 64),
        status=Status.REJECTED,
        evidence=Grade.SELF_REPORTED,
        findings=distinct(located(f, folder, parsed.documents) for f in parsed.problems),
        points=(),
        title=short(parsed.submission.title, 120),
    )
