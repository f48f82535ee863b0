"""Provenance: an entry whose code is that of other people says so.

Part of the rule `copied-result`, in `bot.rules.provenance`. What everybody begins with is nobody's:
the starter, and the frozen baselines.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping

from bot.evidence.same_code import codes_of
from bot.model.case import Case, Neighbour
from bot.model.submission import entry_path
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.numbers import listed
from bot.render.untrusted import plain
from bot.rules.about import listed_in
from bot.rules.ownership import shown_earlier

_MOST_NAMED = 3
_LONGEST_CHAIN = 20


def same_code(case: Case) -> Iterator[Finding]:
    """The first entry, or else earlier pull request, of other people with the same code."""
    submission = case.submission
    imported = submission.imported is not None and case.track.is_imported(case.folder.path)
    if submission.reply is not None or imported or case.context.merged or case.folder.bare:
        return
    mine, people = _code(case), _people(case)
    if not mine or not people:
        return
    entries = {n.path: n for n in case.context.neighbours}
    named = _named_by(case, entries)
    if any(mine & entries[path].code for path in named if path in entries):
        return  # it is of an entry that is named, whoever else has it as well
    for entry in case.others:
        if mine & entry.code and _of_others(case, entry, people, entries, named):
            name = entry.path.removeprefix("submissions/")
            yield _found(case, f"{plain(entry.path, 200)} by {_names(entry)}", name)
            return
    for seen in shown_earlier(case):
        if mine & seen.run_keys and seen.author.lower() not in people:
            if seen.submission not in entries and seen.submission not in named:
                name = seen.submission.removeprefix("submissions/")
                whose = f"#{seen.pull_request} by {plain(seen.author)}"
                yield _found(case, f"{whose}, which showed it first", name)
                return


def _found(case: Case, whose: str, name: str) -> Finding:
    return finding(
        "copied-result",
        f"the code is that of {whose}, and the entry does not say so",
        Level.WARNING,
        file=listed_in(case),
        expected=plain(name, 200),
        fix=f'write `"based_on": "{plain(name, 200)}"`; '
        "if you ran it as it is, your role is `runs`",
    )


def _code(case: Case) -> frozenset[str]:
    """The keys of the code here, without those of the frozen baselines and of what the entry had
    when it was merged."""
    runs = case.runs()
    found = codes_of(case.submission, case.folder, runs)
    if len(case.linked_code) == 1:
        found |= {f"source:{d}" for digests in case.linked_code.values() for d in digests}
    frozen = {d for b in case.track.baselines for d in b.sources}
    frozen |= {b.code.sha256 for b in case.track.baselines if b.code is not None}
    before = case.context.before
    # One text has several keys: a frozen or a known one among them takes all of them out.
    known = {f"source:{digest}" for digest in frozen} | (before.code if before else frozenset())
    return frozenset() if found & known else found


def _people(case: Case) -> frozenset[str]:
    request = case.context.pull_request
    named = {c.github.lower() for c in case.submission.contributors}
    return frozenset(named | ({request.author.lower()} if request else set()))


def _named_by(case: Case, entries: Mapping[str, Neighbour]) -> frozenset[str]:
    """The entries that this one is based on, and those that they are based on."""
    return frozenset(_chain(case.submission.based_on, case.submission.track, entries))


def _chain(named: str | None, track: str, entries: Mapping[str, Neighbour]) -> Iterator[str]:
    for _ in range(_LONGEST_CHAIN):
        path = entry_path(named, track, entries)
        if path is None:
            if named:
                yield from (named.strip("/"), f"submissions/{named.strip('/')}")
                yield f"submissions/{track}/{named.strip('/')}"
            return
        yield path
        named, track = entries[path].based_on, entries[path].track


def _of_others(
    case: Case,
    entry: Neighbour,
    people: frozenset[str],
    entries: Mapping[str, Neighbour],
    named: frozenset[str],
) -> bool:
    """Whether an entry is of other people, no baseline, not named, and was first."""
    if not entry.people or not entry.people.isdisjoint(people) or entry.path in named:
        return False
    if any(entry.path == b.submission for b in case.track.baselines):
        return False
    if case.folder.path in _chain(
        entry.based_on, entry.track, {**entries, case.folder.path: entry}
    ):
        return False
    mine, theirs = case.context.first_seen, _first(case, entry)
    return mine is None or theirs is None or theirs <= mine


def _first(case: Case, entry: Neighbour) -> dt.datetime | None:
    """When a pull request first showed an entry."""
    return min((s.at for s in case.context.seen if s.submission == entry.path), default=None)


def _names(entry: Neighbour) -> str:
    names = sorted(entry.people)
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return listed([*(plain(name, 60) for name in names[:_MOST_NAMED]), *more])
