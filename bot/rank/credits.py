"""Who did what in a competition: roles of each person over all its submissions. Pure."""

from __future__ import annotations

import dataclasses as dc
from collections import Counter
from collections.abc import Iterable, Mapping

from bot.model.board import State
from bot.model.submission import ROLES, Submission

REPRODUCED, FOUND = "reproduced", "found-a-mistake"
"""What a person did for the entries of others, beside the roles in one's own submissions."""


@dc.dataclass(frozen=True, slots=True)
class Tally:
    """One person: how many submissions name them in each role, and on which tracks."""

    github: str
    name: str | None
    done: Mapping[str, int]
    tracks: tuple[str, ...]


def tally(
    submissions: Iterable[Submission], states: Mapping[str, State] | None = None
) -> tuple[Tally, ...]:
    """Everybody who is named, by login in lower case. `states` says which challenges refuted an
    entry: whoever ran them found a mistake, all other replies reproduced something."""
    found = {
        reply.submission
        for state in (states or {}).values()
        for reply in state.replies
        if state.name == "refuted" and reply.holds and reply.accepted
    }
    names: dict[str, tuple[str, str | None]] = {}
    done: dict[str, Counter[str]] = {}
    tracks: dict[str, set[str]] = {}
    for item in submissions:
        for person in item.contributors:
            key = person.github.lower()
            before = names.get(key)
            names[key] = (
                before[0] if before else person.github,
                (before[1] if before else None) or person.name,
            )
            counted = done.setdefault(key, Counter())
            counted.update(person.roles or ("runs",))
            if item.reply is not None:
                counted[FOUND if item.path in found else REPRODUCED] += 1
            tracks.setdefault(key, set()).add(item.track)
    return tuple(
        Tally(*names[key], _in_order(done[key]), tuple(sorted(tracks[key])))
        for key in sorted(names)
    )


def _in_order(counted: Counter[str]) -> dict[str, int]:
    return {role: counted[role] for role in (*ROLES, REPRODUCED, FOUND) if counted[role]}
