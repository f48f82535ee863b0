"""Evidence: the runs can be read, are whole, and show one story.

The readers of `bot.evidence` name what they found; the rules here report it. The rules that
compare runs with claims, hardware, code and data are in `bot.rules.agreement`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.compute.case_statistics import counted, ended
from bot.compute.duplicates import Known, nonce_key, run_key, trace_of
from bot.evidence.links import LinkProblem, parse_link
from bot.evidence.neighbours import run_keys
from bot.model.case import Case
from bot.model.run import Run
from bot.model.verdict import Finding, finding
from bot.registry import LOSS_TOLERANCE, TIME_TOLERANCE_S
from bot.render.numbers import count, figure
from bot.render.untrusted import plain
from bot.rules.about import about, per_message, ratio, read_problems, runs_of
from bot.rules.starts import trained_before, trained_between
from bot.rules.stated import contradictions

_UNDONE = ("running", "pending", "preempting")
_DEAD = ("crashed", "failed", "killed", "preempted")


# ---- can it be read -----------------------------------------------------------------------------


def link_not_a_run(case: Case) -> Iterator[Finding]:
    """The W&B reference is the page of one run.

    A project, a report, a sweep or a storage path does not say which run is meant. Open the run on
    W&B and copy its address, `https://wandb.ai/ENTITY/PROJECT/runs/ID`; query strings do not
    matter. Reports are welcome in `links`.
    """
    yield from case.problems_of("link-not-a-run")
    yield from _result_links(case, "link-not-a-run")


def host_not_allowed(case: Case) -> Iterator[Finding]:
    """Links to runs lead to W&B.

    Linked runs are read from W&B only; the bot never contacts another host because a submission
    names it. Submit runs from elsewhere as logs or results files.
    """
    yield from case.problems_of("host-not-allowed")
    yield from _result_links(case, "host-not-allowed")


def run_not_found_or_private(case: Case) -> Iterator[Finding]:
    """Each linked run exists and is public.

    W&B gives the same answer for a run that was deleted, never existed, or is in a private project.
    Check the link, and set the project's visibility to Public.
    """
    yield from case.problems_of("run-not-found-or-private")


def project_not_public(case: Case) -> Iterator[Finding]:
    """The project of each linked run is readable by everybody.

    The bot's account may be able to read a project that the public cannot. Such a run is refused
    and nothing of it is shown; otherwise a pull request could publish private data. Set the
    project's visibility to Public.
    """
    yield from case.problems_of("project-not-public")


def evidence_unavailable(case: Case) -> Iterator[Finding]:
    """The evidence could be fetched. If not, that is our fault, not yours.

    W&B was down, slow, or did not accept the bot's key, or the check ran without a network. That
    never rejects a submission; the bot tries again.
    """
    yield from case.problems_of("evidence-unavailable")


# ---- is it whole --------------------------------------------------------------------------------


def run_unfinished(case: Case) -> Iterator[Finding]:
    """Each run reached its stated end.

    A run that is still going, or that stopped before its planned number of steps, does not count in
    the statistics. Wait for it, or run it again. If a track compares all runs at one step, a run
    that reached that step counts.
    """
    yield from case.problems_of("run-unfinished")
    yield from per_message(_run_unfinished(case))


def _run_unfinished(case: Case) -> Iterator[Finding]:
    counts = counted(case)
    for item, run in runs_of(case):
        going, counts_here = run.state in _UNDONE, (run.file, run.index) in counts
        if run.state not in _DEAD and (going or ended(case, run, counts) is False):
            last = _last(run)
            total = "" if run.total_steps is None else f" of {run.total_steps}"
            said = f"the run reached {_step(last)}{total}"
            at_end = last is not None and last == run.total_steps
            if going and at_end:
                said = f"the run has reached its last step ({last}), but W&B still shows it as "
                said += f"{run.state}"
            words = " and is still running" if going and not at_end else ""
            if not going and _is_whole(run):
                words = ", where its loss is not a finite number"
            words += "; it counts" if counts_here else ", so it does not count"
            yield about(
                case,
                item,
                run,
                "run-unfinished",
                f"{said}{words}",
                claimed=run.total_steps,
                expected=last,
                fix="wait until the run has finished, then comment `/verify`"
                if going
                else "run it to its end; if you cannot, keep it listed and say why in the README",
            )


def _last(run: Run) -> int | None:
    """The last step that a run reached, None where it shows none."""
    return run.step if run.last_step is None else run.last_step


def _is_whole(run: Run) -> bool:
    """Whether a run reached the last step that it planned."""
    last = _last(run)
    return last is not None and run.total_steps is not None and last >= run.total_steps


def _step(last: int | None) -> str:
    return "no step" if last is None else f"step {last}"


def run_crashed(case: Case) -> Iterator[Finding]:
    """No run crashed or was killed.

    W&B marks a run that ended with an error, stopped answering or was stopped by hand. Keep it in
    the list: runs are never chosen by how they went. If it had reached its end before that, it
    counts. Say what happened, and a maintainer may accept it.
    """
    yield from case.problems_of("run-crashed")
    yield from per_message(_run_crashed(case))


def _run_crashed(case: Case) -> Iterator[Finding]:
    counts = counted(case)
    for item, run in runs_of(case):
        if run.state in _DEAD:
            last = _last(run)
            whole = _is_whole(run)
            where = "reached its end" if whole else f"reached {_step(last)}"
            where += f" of {run.total_steps}" if run.total_steps and not whole else ""
            here = (run.file, run.index) in counts
            yield about(
                case,
                item,
                run,
                "run-crashed",
                f'W&B calls the run "{run.state}"; it {where}, '
                f"so it {'counts' if here else 'does not count'}",
                claimed=run.state,
                expected="finished",
                fix="keep it listed, and say in the README what happened",
            )


def history_gap(case: Case) -> Iterator[Finding]:
    """The run's history has no holes where it matters.

    If regular validations stop for a while, a file breaks off in the middle of a record, one step
    has two losses, or the clock hardly moves over some stretches, nobody can see what happened
    there. Nor can they if a setting is stated twice with two values, if the log says that it loaded
    other weights, if the first loss is lower than untrained weights have, or if the loss falls much
    faster over one stretch than around it. Log the whole run from beginning to end.
    """
    yield from read_problems(case, "history-gap")
    yield from trained_before(case)
    yield from per_message(trained_between(case))


def clock_not_monotonic(case: Case) -> Iterator[Finding]:
    """The run's clock and steps never run backwards, and the clock does not jump.

    A clock that restarts hides time; a step that falls back means that the run was rewound, or that
    two runs share one history. Keep one clock from the first step on, save it in checkpoints, and
    log each run separately.
    """
    yield from read_problems(case, "clock-not-monotonic")


def summary_differs_from_history(case: Case) -> Iterator[Finding]:
    """The run's summary agrees with its history.

    A W&B summary can be edited by hand, history rows cannot, so the history counts. A summary may
    hold the last or the best value of a metric; any other value is reported. A results file of the
    trainer contains its history and must state what that history ends with; otherwise it is an
    error.
    """
    yield from read_problems(case, "summary-differs-from-history")
    yield from per_message(_summary_differs_from_history(case))
    for results in case.results:
        yield from contradictions(results)


def _summary_differs_from_history(case: Case) -> Iterator[Finding]:
    for item, run in runs_of(case):
        for name, shown in run.summary_values.items():
            values = _series(run, name)
            allowed = TIME_TOLERANCE_S if name == "time_s" else LOSS_TOLERANCE
            if values and min(abs(shown - v) for v in _ends(values)) > allowed:
                yield about(
                    case,
                    item,
                    run,
                    "summary-differs-from-history",
                    f"the run's summary says {name} = {figure(shown)}, but the history ends with "
                    f"{figure(values[-1])}",
                    claimed=shown,
                    expected=values[-1],
                    ratio=ratio(shown, values[-1]),
                    fix="correct the run's summary on W&B; the history is what counts",
                )


def evidence_changed(case: Case) -> Iterator[Finding]:
    """The evidence is what it was when it was verified.

    The bot keeps a snapshot of each linked run when it accepts a submission. If the run's numbers
    change, or it is deleted or made private, that is reported, and the snapshot counts. The files
    of a merged entry stay as they were recorded; another result is another entry.
    """
    yield from case.problems_of("evidence-changed")
    replaced = tuple(_replaced(case))
    yield from replaced or _dropped(case)


def _replaced(case: Case) -> Iterator[Finding]:
    """Runs of a merged entry whose file now shows other numbers than were recorded."""
    recorded = case.context.recorded
    if recorded is None or case.submission.withdrawn:
        return
    before = {(run.file, run.index): run for run in recorded.runs}
    for run in (run for item in case.evidence for run in item.runs):
        known, now = before.get((run.file, run.index)), run.record()
        if known is None or run.source not in ("log", "wandb-offline", "results"):
            continue
        changed = [
            name
            for name in ("step", "loss", "time_s")
            if getattr(known, name) != getattr(now, name)
        ]
        if changed:
            yield finding(
                "evidence-changed",
                f"{changed[0]} of this run is not what was recorded when the entry was merged",
                file=run.file,
                claimed=getattr(now, changed[0]),
                expected=getattr(known, changed[0]),
                fix="restore the file; enter another result as a submission of its own",
            )


def _dropped(case: Case) -> Iterator[Finding]:
    """Runs of the entry as it stands on the board that are not among its runs any more."""
    before = case.context.before
    if before is None or case.context.merged:
        return
    known, ours = Known(), case.runs("candidate")
    for index, run in enumerate(ours):
        known.add(index, trace_of(run))
    gone = sum(known.original(trace) is None for trace in before.traces if trace.losses)
    keys = {key for run in ours for key in (run_key(run), nonce_key(run.nonce))}
    keys |= run_keys(case.submission, case.results, case.folder)
    gone += sum(key.startswith("wandb:") and key not in keys for key in before.run_keys)
    if gone:
        yield finding(
            "evidence-changed",
            f"{count(gone, 'run')} of the entry on the board {'is' if gone == 1 else 'are'} no "
            "longer among its runs",
            file=case.folder.path,
            claimed=gone,
            fix="keep the runs that were verified, or submit the new ones as a new entry.",
        )


# ---- helpers -------------------------------------------------------------------------------------


def _result_links(case: Case, name: str) -> Iterator[Finding]:
    """Links of results files that lead to no run."""
    for results in case.results:
        item = results.stated.get("link")
        found = None if item is None else parse_link(item.raw)
        if item is not None and isinstance(found, LinkProblem) and found.rule == name:
            yield finding(
                name,
                f"`{item.pointer.rpartition('/')[2]}`: {found.message}",
                file=results.file,
                line=results.line("link"),
                pointer=item.pointer,
                claimed=plain(str(item.raw)),
                fix=found.fix,
            )


def _series(run: Run, name: str) -> list[float]:
    if name == "loss":
        return [v.loss for v in run.validation]
    if name == "time_s" and not run.history.get("time_s"):
        return [v.time_s for v in run.validation if v.time_s is not None]
    return [value for _, value in run.history.get(name, ())]


def _ends(values: Sequence[float]) -> tuple[float, ...]:
    return values[-1], min(values), max(values)
