"""A preregistration: the issue form, and what a submission calls the issue. Text of strangers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from bot.model.experiment import RATIO, Condition, Plan, Stop
from bot.model.track import NAMES, Track
from bot.model.values import finite, near_key
from bot.parse.issue_form import MAX_BODY, sections
from bot.patterns import REPOSITORY_TEXT
from bot.render.untrusted import plain

PREREGISTRATION = "preregistration"
"""Label of the issue form; a test holds the two together."""
FIELDS = {
    "track": "Track",
    "hypothesis": "Hypothesis or goal",
    "confirmed": "What result would confirm it",
    "runs": "Planned runs",
    "stop": "Stopping rule",
    "details": "Details",
}
"""Headings of `.github/ISSUE_TEMPLATE/preregistration.yml`; a test holds the two together."""
STOPS: Mapping[str, Stop] = {
    "After the planned runs, whatever they show": Stop.PLANNED,
    "As soon as the track's test passes, after the planned runs at the latest": Stop.PASSES,
    "Another rule, under Details": Stop.WORDS,
}
"""The form's options; a test holds the two together."""
MOST_CONDITIONS = 8
MOST_RUNS = 10_000
_TEXT, _TITLE = 600, 200
_CONDITION = re.compile(r"`?([A-Za-z][\w-]{0,63})\s*(<=|>=|<|>)\s*([-+0-9.eE_]{1,40})`?", re.ASCII)
_RUNS = re.compile(r"([0-9]{1,5})(?: runs?)?", re.ASCII)
_PAGE = re.compile(r"https://[^\s/]+/[^\s/]+/[^\s/]+/issues/[0-9]{1,12}")
_ISSUE = re.compile(rf"(?:#|https://github\.com/({REPOSITORY_TEXT})/issues/)?([0-9]{{1,12}})/?")


def issue_number(named: object, repository: str) -> int | None:
    """The issue of `repository` that a submission names as its preregistration, else None."""
    match = _ISSUE.fullmatch(str(named).strip())
    own = match is not None and (match[1] or repository).lower() == repository.lower()
    return int(match[2]) if match and own and int(match[2]) > 0 else None


def issue_in(named: str) -> int | str | None:
    """What a person calls an issue, as submission.json names it: a number, or the address of one
    on any server; None if it is neither."""
    number = named.strip().removeprefix("#")
    if number.isascii() and number.isdigit() and len(number) < 13:
        return int(number)
    return number if _PAGE.fullmatch(number) else None


def read_plan(issue: Mapping[str, Any], tracks: Mapping[str, Track]) -> Plan:
    """The plan that an issue holds: number, title, author, body, createdAt, lastEditedAt."""
    body = str(issue["body"] or "")
    text = sections(body)
    unread: list[str] = []
    track = _track(text.get(FIELDS["track"], ""), tracks, unread)
    return Plan(
        issue=int(issue["number"]),
        title=plain(str(issue["title"] or ""), _TITLE),
        author=plain(str(issue["author"]), 60),
        opened_at=str(issue["createdAt"]),
        edited_at=issue["lastEditedAt"] and str(issue["lastEditedAt"]),
        sha256=hashlib.sha256(body[:MAX_BODY].encode("utf-8", "replace")).hexdigest(),
        track=track.id if track else "",
        hypothesis=_words(text, "hypothesis", unread),
        conditions=_conditions(text.get(FIELDS["confirmed"], ""), track, unread),
        runs=_runs(text.get(FIELDS["runs"], ""), unread),
        stop=_stop(text.get(FIELDS["stop"], ""), unread),
        details=plain(text.get(FIELDS["details"], ""), _TEXT),
        unread=tuple(plain(item, 400) for item in unread),
    )


def _track(text: str, tracks: Mapping[str, Track], unread: list[str]) -> Track | None:
    chosen = " ".join(text.split())
    for track in tracks.values():
        if chosen in (track.id, track.title):
            return track
    known = ", ".join(tracks) or "(none yet)"
    said = f'"{chosen[:64]}" is not a track' if chosen else f'"{FIELDS["track"]}" is empty'
    unread.append(f"{said}: choose one of {known}")
    return None


def _words(text: Mapping[str, str], field: str, unread: list[str]) -> str:
    found = plain(text.get(FIELDS[field], ""), _TEXT)
    if not found:
        unread.append(f'"{FIELDS[field]}" is empty: one or two sentences are enough')
    return found


def _runs(text: str, unread: list[str]) -> int | None:
    match = _RUNS.fullmatch(text.strip())
    if match and 0 < int(match[1]) <= MOST_RUNS:
        return int(match[1])
    said = f'is "{text.strip()[:40]}"' if text.strip() else "is empty"
    unread.append(f'"{FIELDS["runs"]}" {said}: write one number, such as 8')
    return None


def _stop(text: str, unread: list[str]) -> Stop | None:
    found = STOPS.get(" ".join(text.split()))
    if found is None:
        said = f'is "{text.strip()[:60]}"' if text.strip() else "is empty"
        unread.append(f'"{FIELDS["stop"]}" {said}: choose one of the three that the form offers')
    return found


def _conditions(text: str, track: Track | None, unread: list[str]) -> tuple[Condition, ...]:
    """One condition per line; any other line is reported, and people decide the outcome."""
    found = []
    for raw in re.split(r"[\n;]|,\s|\band\b", text.replace("≤", "<=").replace("≥", ">=")):
        line = raw.strip(" \t-*.")
        if not line:
            continue
        match = _CONDITION.fullmatch(line)
        value = _number(match[3]) if match else None
        if match is None or value is None:
            unread.append(
                f'"{line[:60]}" is not a condition: write METRIC < NUMBER, without a unit'
            )
            continue
        metric = _metric(match[1], track, unread)
        if metric:
            found.append(Condition(metric, match[2], value))
    return tuple(dict.fromkeys(found))[:MOST_CONDITIONS]


def _metric(name: str, track: Track | None, unread: list[str]) -> str:
    """The metric's name as the track has it; said in `unread` if there is none."""
    known = {*NAMES, RATIO}
    if track is not None:
        known |= {track.quality.metric, track.cost.metric, *track.metrics}
    if name in known:
        return name
    near = near_key(name, known, 0.7)
    hint = f"; did you mean {near}?" if near else f": use one of {', '.join(sorted(known))}"
    unread.append(f'"{name}" is not a metric of the track{hint}')
    return ""


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if finite(value) else None
