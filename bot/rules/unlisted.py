"""Provenance: the open drawer, runs of the same experiment that a submission does not list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.compute.baselines import of_baseline
from bot.compute.case_statistics import has_unread, shown_before, with_unlisted
from bot.compute.duplicates import run_key
from bot.compute.independence import same_points
from bot.model.case import Case, Seen, Unlisted
from bot.model.run import Run, Validation
from bot.model.verdict import Finding, finding
from bot.parse.steps import read_steps
from bot.registry import LOSS_TOLERANCE, Level
from bot.render.numbers import count, figure, p_is
from bot.render.untrusted import plain
from bot.rules.about import quoted, runs_of
from bot.rules.copies import name_inside

_SAME, _MOMENT_S = 0.02, 0.1
_NO_TRAINING = frozenset({"train", "corpus", "results", "data"})


def unlisted_runs(case: Case) -> Iterator[Finding]:
    """All runs of the same configuration are listed, those in the W&B project and those whose logs
    lie in the folder.

    Leaving out runs of the same configuration makes the listed ones look better than they are. The
    statistics are shown with them too. Runs of the baseline arm are told apart by their code or
    configuration. List them, or say in the README why they do not count: a crash, other data.
    """
    for item in case.unlisted:
        part = item.looked < item.total
        looked = f"{item.looked} of the {item.total} runs of {quoted(item.project)} were looked at"
        if not item.runs and part:
            yield finding("unlisted-runs", looked, Level.NOTE, file=case.list_file, pointer="/runs")
        if item.project == case.folder.path and has_unread(case):
            continue  # it may be the run whose entry in the list has an error
        for arm in ("candidate", "baseline"):
            runs = [r for r in item.runs if of_baseline(case, r) is (arm == "baseline")]
            if arm == "baseline":
                runs = [r for r in runs if not _listed_elsewhere(case, r)]
            if runs:
                yield _left_out(case, item, arm, runs, f"; {looked}" if part else "")
    yield from _no_longer_listed(case)
    yield from _trained_besides(case)


def _left_out(case: Case, item: Unlisted, arm: str, runs: Sequence[Run], looked: str) -> Finding:
    """Runs of one arm that the submission does not list."""
    inside = item.project == case.folder.path
    where = "the folder" if inside else quoted(item.project)
    what = "code or length" if inside else "configuration"
    told = count(len(runs), "run")
    if arm == "baseline":
        told += " of the baseline"
        spread = _between("time", [r.time_s for r in runs], 1, " s")
    else:
        spread = _between("loss", [r.loss for r in runs], 4, "") + _with_them(case)
    return finding(
        "unlisted-runs",
        f"{where} has {told} with the same {what} that the submission does not list"
        f"{spread}{looked}",
        file=case.list_file,
        pointer="/runs",
        claimed=len(case.runs(arm)),
        expected=len(case.runs(arm)) + len(runs),
        fix="list them too, or say in the README why they do not count: "
        + ", ".join(sorted(quoted(name_inside(case, run.file)) for run in runs)[:5]),
    )


def _between(what: str, values: Sequence[float | None], digits: int, unit: str) -> str:
    known = [v for v in values if v is not None]
    if not known:
        return ""
    plural = "losses" if what == "loss" else f"{what}s"
    several = f"{plural} {min(known):.{digits}f} to " if len(known) > 1 else f"{what} "
    return f" ({several}{max(known):.{digits}f}{unit})"


def _listed_elsewhere(case: Case, run: Run) -> bool:
    """Whether another submission shows a run of the baseline, so that no drawer holds it."""
    key = run_key(run)
    return any(key in neighbour.run_keys for neighbour in case.context.neighbours)


def _trained_besides(case: Case) -> Iterator[Finding]:
    """More trainings that the trainer's own lists of steps call finished than runs are listed."""
    done = [step for step in read_steps(case.folder) if step.status == "finished"]
    trained = [step for step in done if step.name == "train"]
    members = [step for step in done if step.name not in _NO_TRAINING]
    more = max(trained, members, key=len)
    listed = max(sum(1 for _ in runs_of(case)), len(case.submission.runs))
    if listed and len(more) > listed and not case.brought_over:
        files = sorted({quoted(case.folder.full(step.file)) for step in more})
        yield finding(
            "unlisted-runs",
            f"{files[-1]} and {len(files) - 1} more show {len(more)} finished trainings, but the "
            f"submission lists {listed}"
            if len(files) > 1
            else f"{files[0]} shows {len(more)} finished trainings, but the submission "
            f"lists {listed}",
            file=case.list_file,
            pointer="/runs",
            claimed=listed,
            expected=len(more),
            fix="list them too, or say in the README why they do not count",
        )


def drawn_seeds(case: Case) -> Iterator[Finding]:
    """Runs that say that more seeds were drawn than are listed, for `witnesses-disagree`: a track
    that only notes unlisted runs has a person look at what a run says of itself."""
    listed = sum(1 for _ in runs_of(case))
    said = [
        (int(w.value), w.source, run)
        for _, run in runs_of(case)
        for w in run.witnesses
        if w.quantity == "drawn" and isinstance(w.value, int | float) and w.value > listed
    ]
    if said and not case.brought_over:
        drawn, source, run = max(said, key=lambda item: item[0])
        yield finding(
            "witnesses-disagree",
            f"{plain(source)} says {drawn} seeds, but the submission lists {listed}",
            Level.WARNING,
            file=case.list_file,
            pointer="/runs",
            run=run.file,
            claimed=listed,
            expected=drawn,
            fix="list them too, or say in the README why they do not count",
        )


def told_otherwise(case: Case) -> Iterator[Finding]:
    """Listed runs to which another file of the folder gives another clock or number of steps, each
    with the first such file, for `witnesses-disagree`."""
    told = set[str]()
    for item in () if case.brought_over else case.unlisted:
        for run, other in item.told_again:
            if run.file in told or (words := _otherwise(run, other)) is None:
                continue
            told.add(run.file)
            what, here, there = words
            yield finding(
                "witnesses-disagree",
                f"{what} is {here} in the listed file, but {there} in "
                f"{quoted(name_inside(case, other.file))}, which holds the same run",
                Level.WARNING,
                file=run.file,
                run=run.file,
                claimed=here,
                expected=there,
                fix="keep the file that the program wrote and remove the other one, or say in the "
                "README why they differ",
            )


def _otherwise(run: Run, other: Run) -> tuple[str, str, str] | None:
    """What two files state differently of one run, with both values: the clock at the last
    validation that both have, or the number of steps."""
    clocks = {v.step: v.time_s for v in other.validation if v.time_s}
    timed = [(v.step, v.time_s) for v in run.validation if v.time_s and v.step in clocks]
    if timed:
        step, own = timed[-1]
        if abs(own - clocks[step]) > max(_SAME * max(own, clocks[step]), _MOMENT_S):
            what = f"the training clock at step {step:,}"
            return what, f"{own:.2f} s", f"{clocks[step]:.2f} s"
    steps, told = run.metrics.get("steps"), other.metrics.get("steps")
    if None in (steps, told) or steps == told:
        return None
    return "the number of steps", figure(steps or 0), figure(told or 0)


def _no_longer_listed(case: Case) -> Iterator[Finding]:
    """Runs that this submission showed before: leaving out the worse ones would choose among them.

    On a track that judges at looks all of them count. Where a test decides without looks, those do
    that ended at a higher loss than each that is left, and were shown together with some of these:
    others may be of another program, or copies that were to be removed.
    """
    significance = case.track.significance
    if not significance.looks and significance.test == "none":
        return
    here = [run for item in case.evidence for run in item.runs]
    ends = [run.validation[-1] for run in here if run.validation]
    end, worst = max((v.step for v in ends), default=0), max((v.loss for v in ends), default=0.0)
    gone: dict[tuple[Validation, ...], Seen] = {}
    for seen in shown_before(case):
        left = [p for p in seen.points if p and not any(_is_told(run, p) for run in here)]
        if not significance.looks:
            if len(left) == len([p for p in seen.points if p]):
                continue
            left = [p for p in left if p[-1].step >= end and p[-1].loss > worst + LOSS_TOLERANCE]
        for points in left:
            gone.setdefault(points, seen)
    if not gone:
        return
    shown = [f"#{s.pull_request} (loss {p[-1].loss:g})" for p, s in list(gone.items())[:5]]
    what = f"{count(len(gone), 'run')} that it no longer lists"
    yield finding(
        "unlisted-runs",
        f"this submission showed {what}: {', '.join(shown)}",
        file=case.list_file,
        pointer="/runs",
        claimed=len(here),
        expected=len(here) + len(gone),
        fix="list them again, or say in the README why they do not count",
    )


def _is_told(run: Run, points: tuple[Validation, ...]) -> bool:
    """Whether a listed run is one that was shown, its clock as it was or corrected."""
    unclocked = [point._replace(time_s=None) for point in points]
    return same_points(run.validation, unclocked)


def _with_them(case: Case) -> str:
    """The statistics with the unlisted runs, in words."""
    summary = with_unlisted(case)
    moments = None if summary is None else summary.moments
    if summary is None or moments is None:
        return ""
    p = summary.decision.p
    chance = "" if p is None else f", {p_is(p)}"
    return f"; with them n = {moments.n}, mean {figure(moments.mean, 5)}{chance}"
