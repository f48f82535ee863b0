"""From a pull request to a report: read it as data, sort it, judge what it submits.

    report, runs = evaluate(repo, engine, number)

Requests: facts 2, changed files 1 for each 100, our comments 1, folders 2 for each submission (a
request for each level where GitHub does not find it at once), blobs 1 each, a plan 1. Nothing is
written anywhere.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from collections.abc import Iterator
from typing import Any

from github.PullRequest import PullRequest as ApiPull

from bot.github.api.client import GitHubTrouble, Repo, told
from bot.github.pull_request import claims, intake
from bot.github.pull_request.classify import Plan, classify, names_are_safe
from bot.github.pull_request.engine import TRIED_AGAIN, Engine, Judged, refused
from bot.github.pull_request.linked_code import Elsewhere
from bot.github.pull_request.preregistration import Plans
from bot.github.pull_request.promotion import BRANCHES
from bot.github.pull_request.publish import ours
from bot.github.pull_request.pull import (
    FILES_LIMIT,
    ChangedFile,
    Disagreement,
    Incomplete,
    Pull,
    Trees,
    changed_files,
    facts,
    fetch,
    read_folder,
)
from bot.github.pull_request.rules_change import rules_report
from bot.github.pull_request.scope import LISTED, Reading, advice_on, declined, unheard, with_scope
from bot.github.pull_request.waivers import DECLINE, apply_waivers, read_acted, read_waivers
from bot.model.case import Context, Neighbour, PullRequest
from bot.model.report import MAX_VERDICTS, Kind, Place, Report
from bot.model.run import Run
from bot.model.submission import MAX_FILES, Folder
from bot.model.verdict import Verdict
from bot.parse.json_file import read_json
from bot.rules.text import bad_name, plain_name

_TRIES = 3


class NotOpen(ValueError):
    """The pull request is closed, so there is nothing to answer."""


def evaluate(
    repo: Repo,
    engine: Engine,
    number: int,
    *,
    merged: bool = False,
    today: dt.date | None = None,
) -> tuple[Report, tuple[Run, ...]]:
    """The report on a pull request, and the runs read for it.

    With `merged` the merged commit is judged instead of the head. Raises NotOpen, GitHubTrouble.
    """
    api = fetch(repo, number)
    pull = facts(api)
    if merged != pull.merged or (not merged and pull.state != "open"):
        raise NotOpen(f"pull request {number} is {'not merged' if merged else 'closed'}")
    if pull.base_ref != pull.default_branch:
        return _elsewhere(repo, pull), ()
    try:
        pull, files = _files(repo, api, pull)
        reading = _reading(repo, engine, pull, merged, today)
        plan = classify(files, reading.trees, engine.tracks)
    except Incomplete as error:
        if pull.changed_files > FILES_LIMIT and not _touches_ours(repo, engine, pull):
            return _blank(repo, pull, merged), ()
        verdict = _incomplete(f"pull request {number}", error)
        blank = _blank(repo, pull, merged)
        return dc.replace(blank, kind=Kind.SUBMISSION, verdicts=(verdict,)), ()
    return _by_kind(reading, dc.replace(_blank(repo, pull, merged), kind=plan.kind), plan, files)


def _touches_ours(repo: Repo, engine: Engine, pull: Pull) -> bool:
    """Whether a pull request with more files than GitHub lists may touch anything of the
    competition's, from the top of both trees: what is equal there was not changed."""
    globs = [glob for track in engine.tracks.values() for glob in track.globs]
    ours = {"submissions", "tracks", ".github", *(glob.split("/")[0] for glob in globs)}
    if any("*" in name or "?" in name for name in ours):
        return True
    before, after = Trees(repo, pull.base_sha), Trees(repo, pull.head_sha)
    return any(before.find(name) != after.find(name) for name in ours)


def _incomplete(what: str, error: Incomplete) -> Verdict:
    """The verdict on a pull request of which GitHub shows a part only."""
    if isinstance(error, Disagreement):
        return refused(what, "", "evidence-unavailable", str(error), TRIED_AGAIN)
    fix = f"a submission has at most {MAX_FILES} files; open a pull request with those alone."
    return refused(what, "", "out-of-scope-change", str(error), fix)


def _commit(pull: Pull, merged: bool) -> str:
    return pull.merge_sha if merged and pull.merge_sha else pull.head_sha


def _blank(repo: Repo, pull: Pull, merged: bool) -> Report:
    author = intake.submitter(pull, repo.name, repo.login)
    commit = _commit(pull, merged)
    identity = pull.author_id if author == pull.author else None
    return Report(
        repo.name,
        pull.number,
        commit,
        pull.base_sha,
        Kind.OTHER,
        author,
        author_id=identity,
        intake=author != pull.author,
    )


def _reading(
    repo: Repo, engine: Engine, pull: Pull, merged: bool, today: dt.date | None
) -> Reading:
    with told("reading our comments"):
        bodies = [c.body or "" for c in ours(repo, repo.api.get_issue(pull.number))]
    commit = _commit(pull, merged)
    return Reading(
        repo,
        engine,
        pull,
        intake.submitter(pull, repo.name, repo.login),
        commit,
        Trees(repo, commit),
        read_waivers(bodies, pull.head_sha),
        read_acted(bodies),
        merged,
        today or dt.datetime.now(dt.UTC).date(),
    )


def _files(repo: Repo, api: ApiPull, pull: Pull) -> tuple[Pull, tuple[ChangedFile, ...]]:
    """The changed files of the very commit that is judged, and that commit's facts.

    The list is that of whatever head there is. A push and a push back while it is read would show
    the same head, so the time of the last change counts as well. Raises Incomplete, GitHubTrouble.
    """
    for _ in range(_TRIES):
        files: tuple[ChangedFile, ...] | Incomplete
        try:
            files = changed_files(api, pull.changed_files)
        except Incomplete as error:
            files = error
        before, settled = pull, pull.merged or pull.changed_files > FILES_LIMIT
        if not settled:
            api = fetch(repo, pull.number)
            pull = facts(api)
            settled = (pull.head_sha, pull.updated_at) == (before.head_sha, before.updated_at)
        if settled and isinstance(files, Incomplete):
            raise files
        if settled and not isinstance(files, Incomplete):
            return pull, files
    raise GitHubTrouble(f"pull request {pull.number} kept changing while it was read; try again")


def _elsewhere(repo: Repo, pull: Pull) -> Report:
    """A pull request to another branch submits nothing: the board is made of the default branch."""
    if pull.merged:
        raise NotOpen(
            f"pull request {pull.number} was merged into a branch other than the default one"
        )
    problem = (
        f"This pull request goes to the branch {pull.base_ref!r}; the board is made of "
        f"{pull.default_branch!r}. To submit, edit its base branch."
    )
    return Report(
        repo.name,
        pull.number,
        pull.head_sha,
        pull.base_sha,
        Kind.OTHER,
        pull.author,
        problems=(problem,),
    )


def _by_kind(
    reading: Reading, blank: Report, plan: Plan, files: tuple[ChangedFile, ...]
) -> tuple[Report, tuple[Run, ...]]:
    blank = dc.replace(blank, outside=plan.outside[:100])
    if plan.kind is Kind.SUBMISSION:
        return _submissions(reading, blank, plan, files)
    if plan.kind is Kind.RULES:
        pull = reading.pull
        ours = pull.author == reading.repo.login and pull.head_repo == reading.repo.name
        made = ours and not reading.merged and pull.head_ref.startswith(BRANCHES)
        branch = pull.head_ref if made else ""
        return rules_report(reading.engine, reading.trees, blank, files, branch), ()
    if plan.kind is Kind.BASELINE:
        return _claim(reading, blank)
    return dc.replace(blank, problems=_warned(plan)), ()


def _warned(plan: Plan) -> tuple[str, ...]:
    """What a maintainer must know of a change that judges no run but may change the judge."""
    ours = [path for path in plan.outside if path.startswith(".github/")]
    if not ours:
        return ()
    return (
        f"This changes the bot itself ({', '.join(ours[:3])}): what it runs, with which rights, "
        "and who reviews. A code owner reads every line before it is merged.",
    )


# ---- submissions --------------------------------------------------------------------------------


def _submissions(
    reading: Reading, blank: Report, plan: Plan, files: tuple[ChangedFile, ...]
) -> tuple[Report, tuple[Run, ...]]:
    answers: list[Judged] = []
    places: dict[str, Place] = {}
    beside: list[Neighbour] = []
    named: list[str] = []
    plans = Plans(reading.repo, reading.engine, reading.merged)
    for path in list(plan.folders)[:MAX_VERDICTS]:
        entry = _read(reading, plan, path)
        judged = _one(reading, plan, entry, files, tuple(beside))
        answers.append(judged)
        if isinstance(entry, Folder):
            track = plan.tracks.get(path)
            named += reading.engine.people(entry, track)
            about = reading.engine.about(entry, track)
            announced = about.preregistration if about else None
            plans.add(path, announced, judged.runs, reading.pull.number)
            beside += reading.engine.beside(entry, track) if len(plan.folders) > 1 else ()
        place = reading.engine.place(judged.verdict, reading.author)
        if place:
            places[judged.verdict.submission] = place
    verdicts = (*_removed(plan), *(item.verdict for item in answers))
    problems: tuple[str, ...] = ()
    if len(plan.folders) > MAX_VERDICTS:
        problems = (f"only the first {MAX_VERDICTS} of {len(plan.folders)} submissions are judged",)
    report = dc.replace(
        blank,
        verdicts=verdicts[:MAX_VERDICTS],
        places=places,
        problems=problems,
        advice=(
            *advice_on(reading.pull, reading.repo.name),
            *unheard(reading, named),
            *plans.advice,
        ),
        plans=plans.found,
        shown=tuple(item.shown for item in answers if item.shown),
    )
    return report, tuple(run for item in answers for run in item.runs)


def _removed(plan: Plan) -> Iterator[Verdict]:
    message = "the pull request removes this entry; entries are withdrawn, a tombstone stays"
    for folder in plan.removed:
        yield refused(folder, "", "out-of-scope-change", message, "put it back and type /withdraw")


def _read(reading: Reading, plan: Plan, path: str) -> Folder | Verdict:
    """The files of one submission, or the verdict on one that is not read."""
    track = plan.tracks.get(path) or ""
    if path.startswith("submissions/") and not names_are_safe(path):
        parts = path.split("/")[1:]
        wrong = next((name for name in parts if not plain_name(name)), parts[-1])
        found = bad_name("the folder", wrong, path)
        return refused(path, track, found.rule, found.message, found.fix or "")
    try:
        folder = read_folder(reading.trees, path, plan.folders[path])
    except Incomplete as error:
        return refused(path, track, "out-of-scope-change", str(error))
    if path.startswith("submissions/") and path.count("/") == 1:
        listed = read_json(folder.files.get(LISTED, b""), LISTED).value
        named = listed.get("track") if isinstance(listed, dict) else None
        track = named if isinstance(named, str) and named in reading.engine.tracks else "TRACK"
        message = "the folder lies one level too high; a submission is submissions/TRACK/NAME"
        fix = f"move it to submissions/{track}/{path.rpartition('/')[2]}"
        return refused(path, "", "out-of-scope-change", message, fix)
    return folder


def _one(
    reading: Reading,
    plan: Plan,
    folder: Folder | Verdict,
    files: tuple[ChangedFile, ...],
    beside: tuple[Neighbour, ...],
) -> Judged:
    if isinstance(folder, Verdict):
        return Judged(folder)
    path = folder.path
    paths = {p for f in files for p in f.paths if p.startswith(f"{path}/")}
    context = _context(
        reading, claims.approach_of(reading.pull.body), (*sorted(paths), *plan.outside)
    )
    context = dc.replace(context, neighbours=beside, submission_paths=tuple(plan.folders))
    code = Elsewhere(reading.repo)
    judged = reading.engine.judge(folder, plan.tracks.get(path), context, code)
    named = reading.engine.named(folder, plan.tracks.get(path))
    people = tuple(person.github for person in named)
    findings = (*judged.verdict.findings, *code.notes, *declined(reading, path, people))
    found = dc.replace(judged.verdict, findings=findings)
    verdict = with_scope(reading, found, plan, path, files, named)
    own = {person.lower() for person in people} | {reading.author.lower()}
    return dc.replace(judged, verdict=apply_waivers(verdict, reading.waivers, own))


def _context(reading: Reading, body: str, paths: tuple[str, ...] = ()) -> Context:
    """What the pull request tells of a submission in it."""
    request = PullRequest(
        number=reading.pull.number,
        author=reading.author,
        body=body,
        changed_paths=paths,
        opened_at=reading.pull.opened_at,
        head_sha=reading.commit,
    )
    acted = frozenset(login for login, what in reading.acted.items() if what != DECLINE)
    return Context(pull_request=request, today=reading.today, merged=reading.merged, acted=acted)


# ---- baselines ----------------------------------------------------------------------------------


def _claim(reading: Reading, blank: Report) -> tuple[Report, tuple[Run, ...]]:
    """A change of the baseline's source: a claim of speed needs runs, anything else none."""
    claim = claims.read_claim(reading.pull.body, reading.author, reading.engine.tracks)
    if claim is None:
        return blank, ()
    if claim.missing:
        return dc.replace(blank, problems=claim.missing), ()
    judged = reading.engine.judge(
        claims.folder_of(claim), claim.track, _context(reading, reading.pull.body)
    )
    verdict = apply_waivers(judged.verdict, reading.waivers, {reading.author.lower()})
    seen = (judged.shown,) if judged.shown else ()
    return dc.replace(blank, verdicts=(verdict,), shown=seen), judged.runs


def summary(report: Report) -> dict[str, Any]:
    """What a log may say of a report: counts and our own words only."""
    return {
        "pr": report.pr,
        "head": report.head_sha[:12],
        "kind": str(report.kind),
        "status": str(report.status) if report.status else None,
        "submissions": len(report.verdicts),
        "findings": sum(len(v.findings) for v in report.verdicts),
    }
