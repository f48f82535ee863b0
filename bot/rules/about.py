"""What the rules on runs share: which runs there are, and findings that say which run is meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bot.case import Case, RunEvidence
from bot.rules import finding
from bot.run import Run
from bot.verdict import Finding


def runs_of(case: Case) -> Iterator[tuple[RunEvidence, Run]]:
    for item in case.evidence:
        for run in item.runs:
            yield item, run


def about(
    case: Case, item: RunEvidence, run: Run, name: str, message: str, **fields: Any
) -> Finding:
    """A finding about one run; it says which."""
    where = f" (run {run.index + 1} of the file)" if len(item.runs) > 1 else ""
    has_list = "submission.json" in case.folder.files
    return finding(
        name, message + where, run=run.file, point=item.spec.point,
        pointer=(item.spec.pointer or None) if has_list else None,
        file=case.folder.full("submission.json") if has_list else run.file, **fields,
    )


def read_problems(case: Case, name: str) -> Iterator[Finding]:
    """What readers found under a rule, each once: as findings, or on the runs themselves."""
    told = case.problems_of(name)
    yield from told
    known = {(f.run, f.message) for f in told}
    for item, run in runs_of(case):
        for problem, message in run.problems:
            made = about(case, item, run, name, message) if problem == name else None
            if made is not None and (made.run, made.message) not in known:
                yield made


def ratio(a: float, b: float) -> float | None:
    return a / b if b else None


def text_of(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
