"""When a log says that a run began and ended, in any usual form, and how long that is.

    span = Span()
    span.take(moments_of("started at 2026-11-30T07:24:19+01:00"), after=False)
    span.take(moments_of("Mon Nov 30 09:24:19 UTC 2026"), after=True)
    span.seconds()                                            10800.0, since the zones differ

Moments with a zone on both sides are compared in UTC, others as they stand; one without a date is
the next of its kind after the begin.
"""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import re
from collections.abc import Sequence
from typing import NamedTuple

from bot.evidence.log.moments import DATED, at_hour, has_date, made

_BEGAN = re.compile(
    r"\b(?:start|began|begin|launch|run utc timestamp|submitted|job time)", re.IGNORECASE
)
_ENDED = re.compile(
    r"\b(?:finish|end(?:ed|ing)?\b|end[_ -]?(?:time|at|date|ts)|complet|done|stopp|exit|now\b|saved"
    r"|terminat)", re.IGNORECASE,
)  # fmt: skip
_OF_A_PART = re.compile(
    r"(?<![a-z])(?:compil\w*|warm\w*|load\w*|valid\w*|eval\w*|checkpoint\w*|download\w*|token\w*"
    r"|restart\w*|resum\w*|built|release\w*|expire\w*|eta|expected|estimate\w*|deadline|main,)"
    r"(?![a-z])",
    re.IGNORECASE,
)
_ZONE = re.compile(r"\s?(Z\b|UTC\b|GMT\b|[+-]\d\d:?\d\d\b)")
_EPOCH = re.compile(
    r"(?:time|timestamp|\bts|\bat|date|epoch|unix|start\w*|began|begin|end\w*|finish\w*|stop\w*)"
    r"['\"]?\s?[:=]?\s{0,3}['\"]?(1[5-9]\d{8})(\d{3}|\d{6})?(\.\d{1,9})?(?![\d.])",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"[\s\[({<'\"#=*-]{0,12}(?:(?:date|time|now|timestamp|datetime)\s?[:=]?\s{0,3})?"
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},?\s{1,3})?$", re.IGNORECASE,
)  # fmt: skip
_REST = re.compile(
    r"[\s\])}>'\"#=*.-]{0,12}(?:[A-Z]{2,5}|[+-]\d\d:?\d\d|Z)?(?:\s\d{4})?[\s\])}>'\"#=*.-]{0,12}$"
)
_BARE_EPOCH = re.compile(r"\s{0,4}(1[5-9]\d{8})(\d{3}|\d{6})?(\.\d{1,9})?\s{0,4}$")
_TIME = re.compile(r"(?<![\d:.])(?P<h>\d{1,2}):(?P<m>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?"
                   r"(?![\d:])(?:\s?(?P<half>[ap])\.?m\.?)?", re.IGNORECASE)  # fmt: skip
_HINT = re.compile(r"\d:\d\d|1[5-9]\d{8}|\d{8}[T_-]\d{6}")
_LONGEST, _LONGEST_BARE, _PLACE = 400, 72, 60
_DAY = 86400.0


class Moment(NamedTuple):
    """A time as its line states it; `offset` from UTC in seconds where that is stated. `dated`: it
    has a day. `stated`: its line says that something began or ended."""

    local: dt.datetime
    offset: float | None
    dated: bool
    stated: bool = False


Told = tuple[Moment, bool | None]
"""A moment, and whether its line says that something began (True) or ended (False)."""


@dc.dataclass(slots=True)
class Span:
    """The first moment before the steps of a run, and the last after them; those that a line calls
    begin and end count before bare ones."""

    begin: Moment | None = None
    end: Moment | None = None

    def take(self, found: Sequence[Told], *, after: bool) -> None:
        """Take the moments of a line that stands before the steps of a run, or after some."""
        for moment, begins in found:
            if begins is True or (begins is None and not after):
                self._begin(moment)
            else:
                self._end(moment)

    def _begin(self, moment: Moment) -> None:
        if self.begin is None or (moment.stated and not self.begin.stated):
            self.begin = moment

    def _end(self, moment: Moment) -> None:
        if self.end is None or moment.stated or not self.end.stated:
            self.end = moment

    def seconds(self) -> float | None:
        """What passed between both; None where one is missing, or they do not compare."""
        begin, end = self.begin, self.end
        if begin is None or end is None or not (begin.stated or end.stated or begin.dated):
            return None
        return passed(begin, end)


def passed(begin: Moment, end: Moment) -> float | None:
    """Seconds between two moments; None where only one of them has a day."""
    seconds = (end.local - begin.local).total_seconds()
    if begin.dated and end.dated:
        if has_date(begin.local) != has_date(end.local):
            seconds = (end.local - begin.local.replace(year=end.local.year)).total_seconds()
        if begin.offset is not None and end.offset is not None:
            seconds += begin.offset - end.offset
        return seconds
    return seconds % _DAY if begin.dated == end.dated else None


def moment_at(value: object) -> Moment | None:
    """The moment that a value of a setting states: a text with a day, or seconds since 1970."""
    if isinstance(value, str):
        found = _all(value[:_LONGEST])
        return found[0][2] if found else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    seconds = value / 1000 if 1.4e12 < value < 2.4e12 else float(value)
    if not 1.4e9 < seconds < 2.4e9:
        return None
    return Moment(dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds), 0.0, True)


def moments_of(line: str) -> list[Told]:
    """The moments of a line that are a begin (True) or an end (False), or bare (None)."""
    text = line[:_LONGEST]
    if _HINT.search(text) is None:
        return []
    if len(text) > _LONGEST_BARE and not _BEGAN.search(text) and not _ENDED.search(text):
        return []
    found = _all(text)
    if not found:
        return []
    told: list[Told] = []
    last = 0
    for begin, end, moment in found:
        before = text[max(last, begin - _PLACE) : begin]
        kind = _kind(before)
        if kind is None and len(found) == 1:
            kind = _kind(text)
        if kind is not None and not _OF_A_PART.search(text):
            told.append((moment._replace(stated=True), kind))
        elif _BARE.match(text[:begin]) and _REST.match(text[end:]) and moment.dated:
            told.append((moment, None))
        last = end
    return told


def _kind(text: str) -> bool | None:
    """Whether a text speaks of a begin (True) or an end (False), by its last word of either."""
    begins = max((m.start() for m in _BEGAN.finditer(text)), default=-1)
    ends = max((m.start() for m in _ENDED.finditer(text)), default=-1)
    return None if begins == ends else begins > ends


def _all(text: str) -> list[tuple[int, int, Moment]]:
    """Every moment of a line in order: its place, and what it is."""
    found: list[tuple[int, int, Moment]] = []
    for form in DATED:
        for match in form.finditer(text):
            local = made(match)
            if local is not None and not any(a < match.end() and match.start() < b
                                             for a, b, _ in found):  # fmt: skip
                zone = _ZONE.match(text, match.end())
                offset = None if zone is None else _offset(zone[1])
                found.append((match.start(), match.end(), Moment(local, offset, True)))
    bare = _BARE_EPOCH.match(text)
    for match in (*_EPOCH.finditer(text), *((bare,) if bare else ())):
        part = float(f"0.{match[2]}") if match[2] else float(match[3] or 0.0)
        seconds = float(match[1]) + part
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)
        found.append((match.start(1), match.end(), Moment(moment, 0.0, True)))
    if not found:
        for match in _TIME.finditer(text):
            local = at_hour(match, match["half"])
            if local is not None and _kind(text[: match.start()]) is not None:
                found.append((match.start(), match.end(), Moment(local, None, False)))
    return sorted(found, key=lambda item: item[0])


def _offset(zone: str) -> float:
    if zone[0] not in "+-":
        return 0.0
    digits = zone[1:].replace(":", "")
    seconds = 3600.0 * int(digits[:2]) + 60.0 * int(digits[2:])
    return -seconds if zone[0] == "-" else seconds
