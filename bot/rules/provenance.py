"""Rules on where a result comes from: one run once, one result by one author."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.compute.aligned import trained_again
from bot.compute.duplicates import (
    MOST_RUNS,
    Known,
    claims_key,
    nonce_key,
    run_key,
    trace_of,
    value_keys,
)
from bot.evidence.neighbours import author_of, log_keys, run_keys
from bot.model.case import Case, Neighbour
from bot.model.trace import Trace
from bot.model.verdict import Finding, finding
from bot.patterns import LOGIN_TEXT
from bot.registry import Level
from bot.render.numbers import listed
from bot.render.untrusted import plain
from bot.rules.about import listed_in, quoted, runs_of, short_name
from bot.rules.copies import across_points, name_inside, place, too_alike, uncounted_copies, within
from bot.rules.same_code import same_code

Keyed = Mapping[str, str | None]
"""Keys of runs, each with the file of its run where that is known."""
_SOME_RUN = "a run"
_GITHUB = re.compile(rf"(?:https?://)?(?:www\.)?github\.com/({LOGIN_TEXT})/?", re.ASCII)
"""A summary of fewer words explains nothing."""


def duplicate_run(case: Case) -> Iterator[Finding]:
    """A training run is listed in one submission, once.

    Runs are told apart by their W&B address, their nonce, and their validation losses and clocks,
    so that a copied log is found too, also with digits or steps changed. Two names for one run
    would count it twice on the board. Submissions may share a baseline arm, but not candidates.
    Improve the existing entry, or train again with another seed. Where losses are equal to the last
    digit and the clocks are not, one program with one seed may have run twice on machines that
    repeat themselves: a maintainer looks at it. An entry that was merged as a copy stays one.
    """
    yield from case.problems_of("duplicate-run")
    told: set[str] = set()
    for twice in (*within(case), *across_points(case)):
        told.add(str(twice.run))
        yield twice
    ours = dict.fromkeys(run_keys(case.submission, case.results, case.folder)) | _evidence(case)
    mine = [
        (run.file, trace_of(run))
        for item in case.evidence
        if item.spec.arm == "candidate"
        for run in item.runs
    ][:MOST_RUNS]
    copy_of = case.context.copy_of
    if copy_of is not None and not case.submission.withdrawn:
        yield finding(
            "duplicate-run",
            f"when this entry was merged, its verdict said: {plain(copy_of, 300)}",
            file=listed_in(case),
            fix="submit runs of your own, or ask a maintainer to `/accept` this rule",
        )
    for neighbour in case.others:
        found = _shared(case, ours, mine, neighbour)
        told.update(what for what, _ in found)
        if found:
            (what, key), more = found[0], len(dict(found)) - 1
            others = f" and {more} more run{'s' if more > 1 else ''} are" if more else " is"
            name = quoted(name_inside(case, what))
            yield finding(
                "duplicate-run",
                f"{name}{others} also in {quoted(neighbour.path)}",
                _level(case),
                fix="keep one of the two entries, or submit runs of your own",
                run=what,
                claimed=what,
                **place(case, key, what),
            )
    uncounted = tuple(uncounted_copies(case, told))
    yield from uncounted
    yield from too_alike(case, frozenset(told) | {str(item.run) for item in uncounted})


def _shared(
    case: Case, ours: Keyed, mine: Sequence[tuple[str, Trace]], neighbour: Neighbour
) -> list[tuple[str, str]]:
    """The runs that are those of another entry, each with the key that shows it. `too_alike` speaks
    of those that were trained again."""
    known = Known()
    for index, trace in enumerate(neighbour.traces):
        known.add(index, trace)
    copies, again = list[tuple[str, str]](), {_SOME_RUN}
    for file, trace in mine:
        originals = [neighbour.traces[index] for index in known.originals(trace)]
        # Of few validations nothing but a log's key is found.
        alike = originals or [t for t in neighbour.traces if trained_again(trace, t)]
        if alike and all(trained_again(trace, other) for other in alike):
            again.add(file)
        elif originals:
            copies.append((file, ""))
    excused = set() if copies or len(again) == 1 else again
    keys = sorted(ours.keys() & neighbour.run_keys)
    found = [(_what(case, key, ours[key]), key) for key in keys]
    # A log's key is made of its losses alone.
    return [p for p in found if p[0] not in excused or not p[1].startswith("log:")] + copies


def _evidence(case: Case) -> dict[str, str | None]:
    """Keys of the candidate runs as they were read -> the file."""
    runs = [run for item in case.evidence if item.spec.arm == "candidate" for run in item.runs]
    keys = [(key, run.file) for run in runs for key in (run_key(run), nonce_key(run.nonce))]
    return {key: file for key, file in keys if key and not key.startswith("metrics:")}


def _what(case: Case, key: str, file: str | None) -> str:
    """The run that a key stands for, by its address or its file."""
    if key.startswith("wandb:"):
        return key.removeprefix("wandb:")
    if file is not None:
        return file
    for spec in case.submission.runs:
        if key in log_keys(case.folder.files.get(spec.target, b"")):
            return case.folder.full(spec.target)
    return _SOME_RUN


def _level(case: Case) -> Level | None:
    """A pair that is merged already is shown to a maintainer; which came first is not told."""
    return Level.WARNING if case.context.merged else None


def copied_result(case: Case) -> Iterator[Finding]:
    """The numbers of a submission are its own: no other submission has the same.

    Two trainings never agree in six digits of time, quality and FLOPs at once. In nine digits of a
    loss or six of bits per byte only the same code with the same seed on the same kind of chip may:
    a maintainer looks at it. If you reproduced somebody's run, submit your own numbers; if both
    entries are yours, keep one of them. An entry whose program is that of an entry of other people,
    comments and white space aside, says so by `based_on`.
    """
    yield from same_code(case)
    mine = claims_key(case.results)
    keys = run_keys(case.submission, case.results, case.folder)
    author = author_of(case.submission, case.results)
    values = value_keys(case.results, case.runs())
    for neighbour in case.others:
        what, name, level = None, None, _level(case)
        if mine is not None and neighbour.claims_key == mine:
            if neighbour.author == author and keys & neighbour.run_keys:
                continue
            what = "time, quality and FLOPs are the same as in"
        elif not _supersedes(case, neighbour, author):
            name = next((n for key, n in values.items() if key in neighbour.value_keys), None)
            what = None if name is None else f"the {name} is the same as in"
            level = Level.WARNING
        if what is not None:
            yield finding(
                "copied-result",
                f"{what} {quoted(neighbour.path)}, digit by digit",
                level,
                fix="submit the numbers of your own run"
                if name is None
                else "submit the numbers of your own run, or say that it is the same code and seed",
                **_stated_at(case, name),
            )


def _supersedes(case: Case, neighbour: Neighbour, author: str | None) -> bool:
    """Whether an entry is its author's own earlier one: his name there, and he asks himself."""
    # The name in a results file that stands alone is whatever was written there.
    asks = case.context.pull_request is None or case.context.pull_request.author.lower() == author
    return asks and author is not None and neighbour.author == author


def _stated_at(case: Case, name: str | None) -> dict[str, Any]:
    """Where a results file states a metric (None: all of them), else the submission's folder."""
    for run in case.results:
        if name is None or run.number(name) is not None:
            pointer = run.info_pointer if name is None else run.where(name)
            return {"file": run.file, "line": run.document.line(pointer), "pointer": pointer}
    return {"file": listed_in(case), "pointer": None}


def author_not_contributor(case: Case) -> Iterator[Finding]:
    """The author of the pull request is among the contributors.

    Whoever opens the pull request answers for it, and everybody who took part is listed with their
    roles; if you only open it for others, your role is `pr`. Add yourself to `contributors`. A
    results file without submission.json has no such list, so its author's GitHub page is compared
    instead; where nobody is named at all, whoever opens the pull request is noted.
    """
    request = case.context.pull_request
    if request is None or case.brought_over:
        return
    listed = case.list_file is not None
    document = case.documents.get("submission.json")
    if document is not None and not isinstance(document.value, dict):
        return  # it cannot be read, which is told; whom it names is not known
    if case.submission.imported is not None:
        yield finding(
            "author-not-contributor",
            "the submission has `imported`, which only a maintainer's import may set; it is "
            "judged like any other",
            file=case.list_file,
            pointer="/imported",
            fix="remove `imported` and name the contributors",
        )
        return
    logins = {c.github.lower() for c in case.submission.contributors}
    if listed and "contributors" not in case.submission.raw:
        return  # a missing list is reported elsewhere
    if not listed:
        logins |= _pages(case)
    if request.author.lower() not in logins:
        yield finding(
            "author-not-contributor",
            f"{plain(request.author)} opened the pull request but is not listed as a contributor",
            None if listed else Level.WARNING if logins else Level.NOTE,
            file=case.list_file,
            pointer="/contributors" if listed else None,
            claimed=", ".join(sorted(logins)) or None,
            expected=request.author,
            fix=f'add {{"github": "{plain(request.author)}", "roles": ["pr"]}}'
            + ("" if listed else " to the `contributors` of a submission.json"),
        )


def _pages(case: Case) -> set[str]:
    """Logins of the GitHub pages that results files give as their authors'."""
    authors = (run.info.get("author") for run in case.results)
    urls = (a.get("url") for a in authors if isinstance(a, dict))
    found = (_GITHUB.fullmatch(url.strip()) for url in urls if isinstance(url, str))
    return {match.group(1).lower() for match in found if match is not None}


def out_of_scope_change(case: Case) -> Iterator[Finding]:
    """The pull request changes its own submission folder only.

    A submission is data. Changes to the program, to tracks or to other entries need a different
    review: open a separate pull request for them.
    """
    request = case.context.pull_request
    if request is None:
        return
    inside = case.folder.path if case.folder.bare else f"{case.folder.path.rstrip('/')}/"
    outside = [
        path
        for path in request.changed_paths
        if not (path == inside if case.folder.bare else path.startswith(inside))
    ]
    others = frozenset(case.context.submission_paths)
    outside = [p for p in outside if not any(p.startswith(f"{other}/") for other in others)]
    if outside:
        shown = ", ".join(quoted(path) for path in outside[:3])
        more = f" and {len(outside) - 3} more" if len(outside) > 3 else ""
        yield finding(
            "out-of-scope-change",
            f"the pull request also changes {shown}{more}",
            claimed=len(outside),
            expected=0,
            fix=f"keep only {quoted(case.folder.path)} here; move the rest to another pull request",
        )


def _named(files: list[str]) -> str:
    """Up to three runs by name, or two and how many more."""
    names = [short_name(file) for file in files]
    if len(names) > 3:
        names[2:] = [f"{len(names) - 2} more runs"]
    return listed(names)


def seed_reused(case: Case) -> Iterator[Finding]:
    """Each run of an arm has a seed of its own.

    Runs that share a seed are not independent: their spread is too small, and so is p. Draw a new
    seed for each run. Paired runs share theirs between the arms, never within one.
    """
    seen: dict[tuple[str, str | None, int], list[str]] = {}
    for item, run in runs_of(case):
        if run.seed is not None:
            place = (item.spec.arm, item.spec.point, run.seed)
            seen.setdefault(place, []).append(run.file)
    reused: dict[tuple[str, str | None], list[tuple[int, list[str]]]] = {}
    for (arm, point, seed), files in seen.items():
        if len(files) > 1:
            reused.setdefault((arm, point), []).append((seed, files))
    for (arm, point), groups in reused.items():
        shown = ", ".join(
            f"{len(files)} have seed {seed} ({_named(files)})" for seed, files in groups[:3]
        )
        more = f" and {len(groups) - 3} more" if len(groups) > 3 else ""
        yield finding(
            "seed-reused",
            f"runs of the {arm} arm share a seed: {shown}{more}",
            file=case.list_file,
            point=point,
            claimed=groups[0][0],
            run=groups[0][1][1],
            fix="give each run a seed of its own",
        )
