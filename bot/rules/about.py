"""What the rules on runs share: which runs there are, and findings that say which run is meant."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bot.model.case import Case, RunEvidence
from bot.model.run import Run
from bot.model.verdict import Finding, finding
from bot.render.numbers import each_run
from bot.render.untrusted import plain

SAME_MACHINE = "run both arms on the same machine"
_FIXES: Mapping[str, str] = {
    "claim-differs-from-run": "submit the log as it was printed, with one value for each quantity",
    "hardware-differs-from-run": "submit one log for each run, as one machine printed it",
    "summary-differs-from-history": "submit the log as it was printed, with one unit for its clock",
    "history-gap": "use a run that is logged from its first step to its last, or say in the README "
    "what happened",
    "clock-not-monotonic": "use a run with one clock from its first step to its last",
    "witnesses-disagree": "submit the log as it was printed, or say in the README why they differ",
}
"""What to do about a problem that a reader names without saying so."""


def runs_of(case: Case) -> Iterator[tuple[RunEvidence, Run]]:
    """Every run of the two arms with the entry that it belongs to; not those of a search."""
    for item in case.evidence:
        for run in item.runs if item.spec.arm != "search" else ():
            yield item, run


def quoted(path: str) -> str:
    """A path in a message, cut where no path of an entry ends."""
    return plain(path, 200)


def listed_in(case: Case) -> str:
    """The file that lists the runs of a submission, else its folder."""
    return case.list_file or case.folder.path


def about(
    case: Case, item: RunEvidence, run: Run, name: str, message: str, **fields: Any
) -> Finding:
    """A finding about one run; `per_message` adds which run it is."""
    return finding(
        name,
        message,
        run=f"{run.file}#{run.index + 1}" if len(item.runs) > 1 else run.file,
        point=item.spec.point,
        pointer=(item.spec.pointer or None) if case.list_file else None,
        file=case.list_file or run.file,
        **fields,
    )


def per_message(findings: Iterable[Finding]) -> Iterator[Finding]:
    """One finding for all runs of which the same is said; its message names the first of them."""
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for item in findings:
        key = (item.rule, item.message, item.level, item.point, item.fix)
        groups.setdefault(key, []).append(item)
    for same in groups.values():
        first, more = same[0], len({item.run for item in same}) - 1
        others = "" if more == 0 else f" and {more} more run{'s' if more > 1 else ''}"
        named = f" ({short_name(first.run)}{others})" if first.run else ""
        said = each_run(first.message, more + 1) + named
        fix = first.fix and each_run(first.fix, more + 1)
        yield dc.replace(first, message=said, fix=fix)


def short_name(run: str | None) -> str:
    """The last part of a link or a path, enough to find the run in the list."""
    return plain((run or "").rpartition("/")[2])


def read_problems(case: Case, name: str) -> Iterator[Finding]:
    """What readers found under a rule, each once: as findings, or on the runs themselves."""
    told = case.problems_of(name)
    yield from told
    known = {(f.run, f.message) for f in told}
    made = (
        about(case, item, run, name, message, fix=_FIXES.get(name))
        for item, run in runs_of(case)
        for problem, message in run.problems
        if problem == name
    )
    yield from per_message(f for f in made if (f.run, f.message) not in known)


def ratio(a: float, b: float | None) -> float | None:
    """a / b, None where b is 0 or unknown."""
    return a / b if b else None


def text_of(value: Any) -> str | None:
    """A text that is not empty, else None."""
    return value if isinstance(value, str) and value else None
