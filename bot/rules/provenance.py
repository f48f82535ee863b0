"""Rules on where a result comes from: one run once, one result by one author."""

from __future__ import annotations

from collections.abc import Iterator

from bot.case import Case
from bot.identity import author_of, claims_key, link_key, run_key, run_keys
from bot.rules import finding, rule
from bot.safetext import plain
from bot.verdict import Finding, Level


@rule("duplicate-run")
def duplicate_run(case: Case) -> Iterator[Finding]:
    """One training run stands in one submission, and there once.

    Runs are told apart by their W&B address and by their validation series, so that a copied log
    is found too. Two names for one run would count it twice on the board. A baseline arm may be
    shared; candidates may not. Improve the entry that is there, or train again with another seed.
    """
    yield from case.problems_of("duplicate-run")
    yield from _within(case)
    ours = run_keys(case.submission, case.results, case.runs())
    for neighbour in case.neighbours:
        for key in sorted(ours & neighbour.run_keys):
            where = plain(neighbour.path, 200)
            what = key.removeprefix("wandb:") if key.startswith("wandb:") else "a run"
            yield finding(
                "duplicate-run", f"{plain(what, 160)} is also in {where}", _level(case),
                fix="keep one of the two entries, or bring runs of your own", run=plain(what, 160),
                claimed=plain(what, 160), expected=None, **_place(case, key),
            )


def _within(case: Case) -> Iterator[Finding]:
    """The same run twice in one submission, whatever its arm."""
    seen: dict[str, str] = {}
    links = [(link_key(spec.target), spec.target) for spec in case.submission.runs
             if spec.source == "wandb"]
    for run in case.results:
        link = run.text("link")
        links.append((link_key(link), f"{run.file} {run.pointer}"))
    for item in case.evidence:
        if item.spec.source == "log":
            links.extend((run_key(run), f"{run.file} run {run.index}") for run in item.runs)
    for key, where in links:
        if key is None:
            continue
        if key in seen:
            yield finding(
                "duplicate-run", f"{plain(where, 160)} is the same run as {plain(seen[key], 160)}",
                fix="list each run once", **_place(case, key),
            )
        seen.setdefault(key, where)


def _place(case: Case, key: str) -> dict[str, str | int | None]:
    for run in case.results:
        if link_key(run.text("link")) == key:
            pointer = run.where("link")
            return {"file": run.file, "line": run.document.line(pointer), "pointer": pointer}
    document = case.documents.get("submission.json")
    for spec in case.submission.runs:
        if document is not None and link_key(spec.target) == key:
            return {"file": document.file, "line": document.line(spec.pointer),
                    "pointer": spec.pointer}
    return {"file": plain(case.folder.path, 200), "line": None, "pointer": None}


def _level(case: Case) -> Level | None:
    """A pair that is merged already is shown to a maintainer; which came first is not told."""
    return Level.WARNING if case.facts.get("merged") else None


@rule("copied-result")
def copied_result(case: Case) -> Iterator[Finding]:
    """The numbers of a results file are its own: no other submission has the same.

    Two trainings never agree in six digits of time, quality and FLOPs at once. If you reproduced
    somebody's run, bring your own numbers; if you are the same person, keep one entry.
    """
    mine = claims_key(case.results)
    if mine is None:
        return
    keys = run_keys(case.submission, case.results, case.runs())
    author = author_of(case.submission, case.results)
    for neighbour in case.neighbours:
        if neighbour.claims_key != mine:
            continue
        if neighbour.author == author and keys & neighbour.run_keys:
            continue
        run = case.results[0]
        yield finding(
            "copied-result",
            f"time, quality and FLOPs are those of {plain(neighbour.path, 200)}, digit by digit",
            _level(case), file=run.file, line=run.document.line(run.info_pointer),
            pointer=run.info_pointer, fix="bring the numbers of your own run",
        )
