"""Copies within one submission: a run that is listed twice, and files that do not count.

Part of the rule `duplicate-run`, in `bot.rules.provenance`.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from bot.compute import aligned, alike, averages, woven
from bot.compute.case_statistics import of_case, points_of
from bot.compute.duplicates import MOST_RUNS, link_key, repeats, run_key, trace_of, value_keys
from bot.model.case import Case
from bot.model.results import ResultsRun
from bot.model.run import Run
from bot.model.summary import Excluded
from bot.model.trace import Trace
from bot.model.track import LOSS_METRICS
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.numbers import count, figure
from bot.render.untrusted import plain
from bot.rules.at_once import at_once
from bot.rules.ownership import shown_by_others

_ONE_BY_ONE = "list runs that were trained one by one, each with a seed of its own"
_SAY_SO = (
    "say in the README that both ran the same code with the same seed, or train again with "
    "seeds of your own"
)


def within(case: Case) -> Iterator[Finding]:
    """The same run twice in one submission, whatever its arm; by its link, its series, and in
    one point by a loss or bits per byte that agree too well. Where nobody listed the logs, two of
    one run count once: see `uncounted_copies`."""
    seen: dict[tuple[str, str], str] = {}
    told: set[tuple[str, str]] = set()
    for source, key, where in _keyed(case):
        if key is None:
            continue
        first = seen.get((source, key))
        if first is None:
            seen[source, key] = where
        elif (where, first) not in told:
            told.add((where, first))
            what = "listed twice" if first == where else f"the same run as {plain(first, 160)}"
            yield finding(
                "duplicate-run",
                f"{plain(where, 160)} is {what}",
                fix="list each run once",
                run=case.folder.full(where) if source == "log" else None,
                **place(case, key, case.folder.full(where)),
            )


def _keyed(case: Case) -> Iterator[tuple[str, str | None, str]]:
    """What lists a run, a key that two lists of one run share, and the name of the run there."""
    for spec in case.submission.runs:
        if spec.source == "wandb":
            yield "wandb", link_key(spec.target), spec.target
    # A results file and a link may speak of one run: the file claims, the link shows.
    for stated in case.results:
        yield "results", link_key(stated.text("link")), _numbered(case, stated)
    if case.list_file or case.folder.bare:
        for item in case.evidence:
            for run in item.runs if item.spec.source == "log" else ():
                part = f" run {run.index}" if run.index else ""
                yield "log", run_key(run), name_inside(case, run.file) + part
    point_of = {case.folder.full(s.target): s.point for s in case.submission.runs}
    for stated in case.results:
        for key in value_keys([stated]):
            yield f"value {point_of.get(stated.file)}", key, _numbered(case, stated)


def across_points(case: Case) -> Iterator[Finding]:
    """One training in several points: a run belongs to one."""
    if len(case.submission.points) < 2 or case.brought_over:
        return
    runs = [
        (item.spec.point, run)
        for item in case.evidence
        if item.spec.arm == "candidate"
        for run in item.runs
    ][:MOST_RUNS]
    for copy, original in repeats([run for _, run in runs]):
        (point, run), (first, other) = runs[copy], runs[original]
        if point != first:
            name, twin = (_named(case, r) for r in (run, other))
            yield finding(
                "duplicate-run",
                f"{name} in {plain(str(point), 64)} is the same run as {twin} in "
                f"{plain(str(first), 64)}",
                fix="give each point runs of its own.",
                run=run.file,
                point=point,
                **place(case, "", run.file),
            )


def name_inside(case: Case, file: str) -> str:
    """The name of a file inside its submission."""
    return file.removeprefix(f"{case.folder.path}/")


def _named(case: Case, run: Run) -> str:
    """A run as a message names it."""
    return plain(name_inside(case, run.file))


def _numbered(case: Case, run: ResultsRun) -> str:
    """A run of a results file as its author counts: from 1."""
    return f"run {run.index + 1} of {name_inside(case, run.file)}"


def place(case: Case, key: str, file: str = "") -> dict[str, Any]:
    """Where a run is listed, found by its link's key or its file; else the folder."""
    for run in case.results:
        if link_key(run.text("link")) == key:
            pointer = run.where("link")
            return {"file": run.file, "line": run.document.line(pointer), "pointer": pointer}
    document = case.documents.get("submission.json")
    for spec in reversed(case.submission.runs):
        named = spec.source != "wandb" and case.folder.full(spec.target) == file
        if document is not None and (named or link_key(spec.target) == key):
            return {
                "file": document.file,
                "line": document.line(spec.pointer),
                "pointer": spec.pointer,
            }
    return {"file": case.folder.path, "line": None, "pointer": None}


def uncounted_copies(case: Case, told: Collection[str]) -> Iterator[Finding]:
    """Candidate runs that do not count because another run is the same training. Two files of one
    run, such as its log and its `.wandb` file, are a note; a log that only resembles another is a
    warning. `told` are the files that an error speaks of already."""
    if case.brought_over:
        return
    stated = {run.file for run in case.results}  # `within` speaks of these
    for point in points_of(case):
        summary = of_case(case, point)
        for item in summary.excluded if summary is not None else ():
            if item.copy is not None and item.file not in told and item.file not in stated:
                yield _uncounted(case, item, point)


def too_alike(case: Case, told: frozenset[str]) -> Iterator[Finding]:
    """Runs whose curves are nearer than those of trainings ever are, in the entry or to those of
    another one, and parts of one run in the place of several. A maintainer looks at them."""
    if case.brought_over:
        return
    files = told | {run.file for run in case.results}
    for first, run in _one_start(case, files):
        message = f"{_named(case, run)} and {_named(case, first)} began at {run.created_at}"
        yield _alike(case, run.file, None, message)
    for both in at_once(case):
        if not {both.first.file, both.second.file} & files:
            a, b = (_named(case, r) for r in (both.second, both.first))
            message = f"{a} began {figure(both.seconds)} s before {b} had ended, on the same GPUs"
            yield _alike(case, both.second.file, None, message)
    for arm, point in itertools.product(("candidate", "baseline"), points_of(case)):
        runs = [r for r in case.runs(arm, point) if r.file not in files]
        traces = [trace_of(run) for run in runs]
        near = alike.within(traces, alike.spread_of(case.track))
        if near:
            message = (
                f"{_runs_of(near)} runs are {near_words(case, near)} apart over their whole "
                "curves, closer than trainings with different seeds are"
            )
            yield _alike(case, runs[near[0].b].file, point, message)
            continue
        yield from _averages(case, runs, traces, point)
        parts = next(alike.other_cadence(traces), None)
        if parts is not None:
            a, b = (_named(case, runs[i]) for i in parts[:2])
            message = f"{a} and {b} end at one step and validate at different ones before"
            yield _alike(case, runs[parts.b].file, point, message)
        together = None if parts is not None else next(woven.shared(traces, traces), None)
        if together is not None:
            message = f"{_named(case, runs[together.a])} and {_named(case, runs[together.b])} "
            message += _shared_words(together)
            yield _alike(case, runs[together.b].file, point, message)
    yield from _one_clock(case, files)
    yield from _near_others(case, files)


def _shared_words(found: woven.Shared) -> str:
    return f"share {found.equal} of {found.of} losses to the last digit, and trainings never do"


def _averages(
    case: Case, runs: Sequence[Run], traces: Sequence[Trace], point: str | None
) -> Iterator[Finding]:
    """Runs that were averaged from fewer: two of them have the mean curve of two others."""
    found = averages.among(traces)
    if found is not None:
        one, other = ([_named(case, runs[i]) for i in s[1:]] for s in found)
        message = f"the mean curve of {one[0]} and {one[1]} is that of {other[0]} and {other[1]}: "
        message += "averages of fewer runs look like this, and trainings never do"
        yield _alike(case, runs[found[0].a].file, point, message)


def _near_others(case: Case, files: Collection[str]) -> Iterator[Finding]:
    """Runs that are too near to those of another entry, by their curves or by their clocks."""
    mine = [run for run in case.runs("candidate") if run.file not in files]
    traces = [trace_of(run) for run in mine]
    for where, others in _elsewhere(case):
        again = {
            i
            for i, trace in enumerate(traces)
            if any(aligned.trained_again(trace, other) for other in others)
        }
        if again:
            message = f"the losses of {count(len(again), 'run')} equal those of runs in "
            message += f"{where} to the last digit, on another clock: one program and "
            message += "seed ran twice, or a copy has "
            yield _alike(case, mine[min(again)].file, None, f"{message}a new clock", _SAY_SO)
        near = alike.across(traces, others, alike.spread_of(case.track))
        near = tuple(pair for pair in near if pair.a not in again)
        clocks = () if near else tuple(alike.of_one_clock(traces, others))
        shown = count(len({pair.a for pair in (*near, *clocks)}), "run")
        means = () if near else averages.of_others(traces, others)
        if means:
            message = (
                f"the curves of {count(len(means), 'run')} are averages of two runs each in {where}"
            )
            yield _alike(case, mine[means[0]].file, None, message)
        if near:
            message = f"the curves of {shown} are {near_words(case, near)} from those of runs in "
            message += f"{where}, closer than two trainings are"
            yield _alike(case, mine[near[0].a].file, None, message)
        elif (found := next(woven.shared(traces, others), None)) and not again:
            message = f"{_named(case, mine[found.a])} and a run in {where} {_shared_words(found)}"
            yield _alike(case, mine[found.a].file, None, message)
        elif clocks:
            message = f"the clocks of {shown} are those of runs in {where}, as they are or times a "
            yield _alike(case, mine[clocks[0].a].file, None, f"{message}constant")


def _elsewhere(case: Case) -> Iterator[tuple[str, Sequence[Trace]]]:
    """The runs of other entries, and those that pull requests of others showed first."""
    for neighbour in case.others:
        yield plain(neighbour.path), neighbour.traces
    entries = {neighbour.path for neighbour in case.context.neighbours}
    for seen in shown_by_others(case):
        if seen.submission not in entries:
            yield f"#{seen.pull_request}", [Trace.of(points) for points in seen.points]


def _one_clock(case: Case, files: Collection[str]) -> Iterator[Finding]:
    """A candidate run with the clock of another run of the entry, of whatever arm."""
    mine, others = (
        [r for r in case.runs(arm) if r.file not in files] for arm in ("candidate", "baseline")
    )
    runs = [*mine, *others]
    traces = [trace_of(run) for run in runs[: alike.MOST_RUNS]]
    pair = next(alike.of_one_clock(traces[: len(mine)], traces), None)
    if pair is not None:
        a, b = (_named(case, runs[i]) for i in pair[:2])
        message = f"the clock of {a} is that of {b}, as it is or times a constant"
        yield _alike(case, runs[pair.a].file, None, message)


def _one_start(case: Case, told: Collection[str]) -> Iterator[tuple[Run, Run]]:
    """Runs of two files that state one begin to a part of a second."""
    begun: dict[str, Run] = {}
    for run in (*case.runs("candidate"), *case.runs("baseline")):
        if run.created_at is not None and "." in run.created_at and run.file not in told:
            first = begun.setdefault(run.created_at, run)
            if first.file != run.file:
                yield first, run


def near_words(case: Case, near: Sequence[alike.Near]) -> str:
    """How near the nearest runs are, in nats where the curves are of a loss."""
    quality = case.track.quality
    unit = " nats" if quality.metric in LOSS_METRICS and quality.goal == "min" else ""
    return f"{figure(min(pair.apart for pair in near), 2)}{unit}"


def _runs_of(near: Sequence[alike.Near]) -> int:
    return len({i for pair in near for i in pair[:2]})


def _alike(
    case: Case, file: str, point: str | None, message: str, fix: str = _ONE_BY_ONE
) -> Finding:
    return finding(
        "duplicate-run",
        message,
        Level.WARNING,
        run=file,
        point=point,
        fix=fix,
        **place(case, "", file),
    )


def _uncounted(case: Case, item: Excluded, point: str | None) -> Finding:
    name = name_inside(case, item.file) + (f" run {item.run}" if item.run else "")
    why = item.why.replace(f"{case.folder.path}/", "")
    return finding(
        "duplicate-run",
        f"{plain(name, 160)} does not count: {plain(why, 200)}",
        Level.WARNING if item.copy == "alike" else Level.NOTE,
        run=item.file,
        point=point,
        fix="list each run once",
        **place(case, "", item.file),
    )
