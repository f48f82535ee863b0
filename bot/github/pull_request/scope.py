"""What only the pull request tells: paths outside, whose entry it changes, who is named."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bot.github.api.client import Repo
from bot.github.pull_request.classify import Plan
from bot.github.pull_request.engine import Engine
from bot.github.pull_request.pull import ChangedFile, Pull, Trees
from bot.github.pull_request.waivers import CONFIRM, DECLINE, Waiver
from bot.model.submission import Contributor
from bot.model.verdict import Finding, Verdict, finding, with_findings
from bot.registry import Level, catalogue
from bot.render.numbers import listed

LISTED = "submission.json"
_BESIDE = ("out-of-scope-change", "evidence-changed")
EDITS = "speedrun/edit-"
"""Branches on which we propose what somebody with the right to do so asked for."""


@dc.dataclass(frozen=True)
class Reading:
    """What all steps need to know of the pull request under evaluation."""

    repo: Repo
    engine: Engine
    pull: Pull
    author: str
    commit: str
    trees: Trees
    waivers: Mapping[str, Waiver]
    acted: Mapping[str, str]
    merged: bool
    today: dt.date


def declined(reading: Reading, path: str, people: tuple[str, ...]) -> Iterator[Finding]:
    """People who are named in the submission and said that they are not part of it."""
    for person in people:
        if reading.acted.get(person.lower()) == DECLINE:
            yield finding(
                "author-not-contributor",
                f"{person} declined to be named as a contributor",
                file=f"{path}/{LISTED}",
                pointer="/contributors",
                claimed=person,
                fix=f"remove {person} from the contributors",
            )


def unheard(reading: Reading, people: Iterable[str]) -> tuple[str, ...]:
    """Who is named without having said anything here, and what they can do."""
    known = {reading.author.lower(), *reading.acted}
    quiet = sorted({p for p in people if p.lower() not in known})[:10]
    if not quiet or reading.merged:
        return ()
    return (
        f"Named here without having acted: {', '.join(quiet)}. They can comment `/confirm`, or "
        "`/decline` to be taken out.",
    )


def with_scope(
    reading: Reading,
    verdict: Verdict,
    plan: Plan,
    path: str,
    files: tuple[ChangedFile, ...],
    people: Sequence[Contributor] = (),
) -> Verdict:
    """The verdict with what only the pull request as a whole can tell, each rule once. `people` are
    the contributors that the submission names now."""
    present = {f.rule for f in verdict.findings}
    added = [f for f in _scope(plan, path, files) if f.rule not in present]
    findings = (*added, *_uncredited(reading, path, people), *verdict.findings)
    other = None if _ours_to_propose(reading) else _of_others(reading, path)
    if other is not None:
        findings = (other, *(_settled_by(other, f) for f in findings if f.rule != other.rule))
    unreadable = any(f.rule == "json-invalid" and f.file == f"{path}/{LISTED}" for f in findings)
    if unreadable or _ours_to_propose(reading):
        # whose it is cannot be told from a file that cannot be read; that file is the finding
        findings = tuple(f for f in findings if f.rule != "author-not-contributor")
    order = list(Level)
    findings = tuple(sorted(findings, key=lambda f: order.index(f.level)))
    return with_findings(verdict, findings)


def _ours_to_propose(reading: Reading) -> bool:
    pull, repo = reading.pull, reading.repo
    own = pull.author == repo.login and pull.head_repo == repo.name
    return own and pull.head_ref.startswith(EDITS)


def _scope(plan: Plan, path: str, files: tuple[ChangedFile, ...]) -> list[Finding]:
    found = []
    outside = list(plan.outside) + [
        f.previous
        for f in files
        if f.previous
        and f.path.startswith(f"{path}/")
        and not any(f.previous.startswith(f"{one}/") for one in plan.folders)
        and f.previous not in plan.outside
    ]
    for other in outside[:20]:
        found.append(
            finding(
                "out-of-scope-change",
                "this file lies outside the submission's folder",
                file=other,
                claimed=other,
                expected=f"{path}/",
                fix="move it into the folder, or open another pull request for it",
            )
        )
    return found


def _of_others(reading: Reading, path: str) -> Finding | None:
    """An entry of the default branch that the author has no part in."""
    known = reading.engine.contributors(path)
    if known is None or reading.author.lower() in known or reading.merged:
        return None
    return finding(
        "author-not-contributor",
        f"{reading.author} changes an entry of other people",
        file=f"{path}/{LISTED}",
        claimed=reading.author,
        expected=", ".join(sorted(known)),
        fix=f"restore {path}; put your own runs into a new folder",
    )


def _uncredited(reading: Reading, path: str, now: Sequence[Contributor]) -> Iterator[Finding]:
    """People of a merged entry who lose a role or their place and have not agreed to it."""
    before = reading.engine.credited(path)
    if not before or not now or reading.merged or _ours_to_propose(reading):
        return
    said = (login for login, what in reading.acted.items() if what in (CONFIRM, DECLINE))
    agreed = {reading.author.lower(), *said}
    losses = [(p.github, lost) for p in before if (lost := _lost(p, before, now))]
    told = [(login, lost) for login, lost in losses if login.lower() not in agreed]
    if told:
        names = listed([login for login, _ in told[:10]])
        what = "; ".join(f"{login} {lost}" for login, lost in told[:10])
        yield finding(
            "maintainer-decides",
            f"this changes the credit of people who have not agreed: {what}",
            file=f"{path}/{LISTED}",
            pointer="/contributors",
            claimed=", ".join(p.github for p in now[:10]),
            expected=", ".join(p.github for p in before[:10]),
            fix=f"restore their entries, or {names} comment{'s' * (len(told) == 1)} `/confirm`; "
            "else a maintainer types `/accept maintainer-decides because ...`",
        )


def _lost(person: Contributor, before: Sequence[Contributor], now: Sequence[Contributor]) -> str:
    """What a person of an entry would no longer be, in words; empty for nothing."""
    login = person.github.lower()
    roles = {role for p in now if p.github.lower() == login for role in p.roles}
    if login not in {p.github.lower() for p in now}:
        return "is no longer named"
    gone = [role for role in person.roles if role not in roles and role != "pr"]
    if gone:
        return f"is no longer credited for {listed(gone)}"
    first = before[0].github.lower() == login != now[0].github.lower()
    return "is no longer named first" if first else ""


def _settled_by(cause: Finding, item: Finding) -> Finding:
    """What goes away once an entry of other people is as it was; secrets and the like stay."""
    stays = catalogue()[item.rule]["family"] == "text" and item.rule not in (
        "schema",
        "json-invalid",
    )
    return item if stays or item.rule in _BESIDE else dc.replace(item, because=cause.rule)


def advice_on(pull: Pull, repository: str) -> tuple[str, ...]:
    """What stands in the way of help with this branch, and exactly what to do."""
    if pull.merged or pull.head_repo in (None, repository):
        return ()
    if not pull.maintainer_can_modify:
        return (
            'Nobody here can help with this branch: tick "Allow edits by maintainers" at the right '
            "of the pull request. A fork that belongs to an organisation cannot have it; then open "
            "the pull request from a fork of your own account.",
        )
    return ()
