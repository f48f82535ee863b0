"""When a line of a log was written, and the rates that stand in it with their units.

    stamp_of("I1128 12:00:00.123 99 train.py:1] ...")     a moment, to compare within one log
    rates_of("19.8it/s, loss=3.2")                        {"it/s": 19.8}

Each is a clock of its own beside that of the training.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import re
from collections.abc import Iterator

_UNKNOWN = 1904
"""The year of a moment whose line names none; a leap year."""
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_HOUR = r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?(?!:?\d)"
DATED = tuple(
    re.compile(rf"(?<![\w.:/-]){pattern}", re.IGNORECASE)
    for pattern in (
        rf"(?P<Y>[12]\d{{3}})([-/.])(?P<M>\d\d)\2(?P<D>\d\d)[T _,-]{{1,3}}{_HOUR}",
        r"(?P<Y>20\d\d)(?P<M>\d\d)(?P<D>\d\d)[T_-](?P<h>\d\d):?(?P<m>\d\d):?(?P<s>\d\d)(?!\d)",
        rf"(?P<D>\d{{1,2}})[ /-](?P<b>[a-z]{{3}})[a-z]{{0,6}}[ /-](?P<Y>\d{{4}})[ :,]{{1,2}}"
        rf"{_HOUR}",
        rf"(?P<b>[a-z]{{3}}) {{1,2}}(?P<D>\d{{1,2}}),? (?:(?P<Y>\d{{4}}),? )?{_HOUR}",
        rf"(?P<M>\d\d)[/.-](?P<D>\d\d)(?:[/.-](?P<Y>\d{{4}}|\d\d))?[T _,]{{1,3}}{_HOUR}",
        rf"[IWEDFC](?P<M>\d\d)(?P<D>\d\d) {_HOUR}",
    )
)
_TIME = re.compile(rf"\W{{0,3}}(?:[a-z][\w.-]{{0,20}}\W{{1,4}}){{0,3}}?{_HOUR}", re.IGNORECASE)
_AT_THE_END = re.compile(
    rf"(?:\s[@|]\s?|\s[\[(]|(?<![a-z_])(?:time|at|ts|clock)[ =:]{{1,2}}){_HOUR}[\])]?\s*$",
    re.IGNORECASE,
)
_SINCE = re.compile(
    r"\[\s{0,12}(\d{1,8}\.\d{3,9})\]\s"  # [   12.345678] of a kernel or a logger
    r"|(?:\W{0,2}|.{0,200}?(?:ts|time|timestamp|created)['\"]?\s?[:=]\s?['\"]?)"
    r"(1[5-9]\d{8}(?:\.\d{1,9})?)(?![\d.])"
)
_PLANNED = re.compile(
    r"\b(?:eta|finish\w{0,3}|end\w{0,3}|expect\w{0,3}|until|start\w{0,3}|began|since|left"
    r"|remain\w{0,4})\W{0,4}$",
    re.IGNORECASE,
)
"""What stands before a moment that is not that of the line."""
_PASSED = re.compile(
    r"(?:elapsed|time|step|iter|epoch|eta|remain\w{0,4}|left)\W{0,4}$", re.IGNORECASE
)
"""What stands before hours, minutes and seconds that passed."""
_PLACE, _LONGEST = 120, 400
_HINT = re.compile(r"\d\d:\d\d:\d\d|\d{8}[T_-]\d{6}|\d\.\d{3,9}\]|1[5-9]\d{8}")

_WHAT = (
    r"(?P<what>its?|iters?|iterations?|steps?|batch(?:es)?|updates?|samples?|seqs?|sequences?"
    r"|examples?|tok(?:en)?s?)"
)
_EACH_SECOND = re.compile(
    rf"(?<![\w.])(?P<value>\d[\d,]{{0,15}}(?:\.\d{{1,9}})?)\s?(?P<k>[kM](?=\s?\w{{2}}))?\s{{0,2}}{_WHAT}"
    r"\s?(?:/|\bper\b)\s?(?:s(?:ec(?:ond)?)?|(?P<min>min(?:ute)?))"
    r"(?P<each>/(?:gpu|device|chip|rank))?(?!\w)"
)
_NAMED = re.compile(
    rf"(?<![A-Za-z]){_WHAT}\s?/\s?s(?:ec(?:ond)?)?(?P<each>/(?:gpu|device|chip|rank))?"
    r"\s{0,3}[:=|]?\s{0,8}(?P<value>\d[\d,]{0,15}(?:\.\d{1,9})?)(?P<k>[kM])?(?![\w/])"
)
_EACH_STEP = re.compile(
    r"(?<![\w.])(?P<value>\d{1,12}(?:\.\d{1,9})?)\s?(?P<unit>ms|s|sec)\s?(?:/|\bper\b)\s?"
    r"(?:it|iter|iteration|step)(?!\w)"
)
_SEEN = re.compile(
    r"(?<![\w./])(?P<value>\d[\d,]{0,15}(?:\.\d{1,9})?)\s?(?P<k>[kMB])?\s"
    r"(?P<what>tok(?:en)?s|samples|sequences)(?!\s?(?:[/:=\w]|per\b))"
)
_BAR = re.compile(r"\[(?:(\d{1,4}):)?(\d\d):(\d\d)<")
_PASSED_BY = re.compile(
    r"(?<![\w.:])(\d{1,9}(?:\.\d{1,9})?)\s?(s|secs?|seconds|m|mins?|minutes|h|hrs?|hours)\s"
    r"(?:since (?:the )?(?:start|begin)|elapsed|passed|so far)(?!\s?[:=])", re.IGNORECASE,
)  # fmt: skip
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_THOUSANDS = {"k": 1e3, "M": 1e6, "B": 1e9}


def stamp_of(text: str) -> dt.datetime | None:
    """The moment at which a line was written, to compare with others of the same log; of a year
    before 1990 where the line names none."""
    if _HINT.search(text) is None:
        return None
    text, end = text[:_PLACE], text[-_PLACE:]
    for form in DATED:
        for found in form.finditer(text):
            if not _PLANNED.search(text[: found.start()]):
                return made(found)
    if (since := _SINCE.match(text)) is not None:
        start = dt.datetime(1970, 1, 1) if since[2] else dt.datetime(_UNKNOWN, 1, 1)
        return start + dt.timedelta(seconds=float(since[2] or since[1]))
    if (hour := _AT_THE_END.search(end)) is not None:
        return made(hour)
    hour = _TIME.match(text)
    return None if hour is None or _PASSED.search(text[: hour.start("h")]) else made(hour)


def moment_in(text: str) -> dt.datetime | None:
    """The first moment with a date that a line names, whatever it says of it."""
    found = (match for form in DATED for match in form.finditer(text[:_LONGEST]))
    return next((moment for match in found if (moment := made(match)) is not None), None)


def has_date(moment: dt.datetime) -> bool:
    """Whether the line named the year of its moment."""
    return moment.year != _UNKNOWN


def at_hour(found: re.Match[str], half: str | None = None) -> dt.datetime | None:
    """The moment of a line that names no day; `half` is the `a` or `p` of a.m. and p.m."""
    hour = int(found["h"])
    if half is not None:
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    if hour > 23 or int(found["m"]) > 59 or int(found["s"]) > 59:
        return None
    micro = int((found["f"] or "0")[:6].ljust(6, "0"))
    return dt.datetime(_UNKNOWN, 1, 1, hour, int(found["m"]), int(found["s"]), micro)


def made(found: re.Match[str]) -> dt.datetime | None:
    """The moment of a match of `DATED`; None if that day or hour does not exist."""
    part = found.groupdict()
    hour, minute, second = (int(part[name]) for name in "hms")
    month = part.get("b")
    if month is not None and month.lower() not in _MONTHS:
        return None
    first = _MONTHS.index(month.lower()) + 1 if month else int(part.get("M") or 1)
    then, year = int(part.get("D") or 1), int(part.get("Y") or _UNKNOWN)
    micro = int((part.get("f") or "0")[:6].ljust(6, "0"))
    for months, days in ((first, then), (then, first)):  # 28/11 as well as 11/28
        with contextlib.suppress(ValueError):
            year += 2000 if year < 100 else 0
            return dt.datetime(year, months, days, hour, minute, second, micro)
    return None


def seen_of(line: str) -> Iterator[tuple[str, float]]:
    """The tokens or samples that a line says were seen, as in `1.05B tokens`."""
    for found in _SEEN.finditer(line) if "tok" in line or "s" in line else ():
        value = float(found["value"].replace(",", "")) * _THOUSANDS.get(found["k"] or "", 1.0)
        yield f"{found['what']}_seen", value


def rates_of(line: str) -> Iterator[tuple[str, float]]:
    """What a line counts a second, or how many seconds a step takes, by the name of its unit; and
    the time that a progress bar has run."""
    if not any(hint in line for hint in ("/", " per ", "<", "elapsed", "since", "passed")):
        return
    for pattern in (_EACH_SECOND, _NAMED):
        for found in pattern.finditer(line):
            value = float(found["value"].replace(",", "")) * _THOUSANDS.get(found["k"] or "", 1.0)
            value /= 60 if found.groupdict().get("min") else 1
            yield f"{found['what']}/s{found['each'] or ''}", value
    for found in _EACH_STEP.finditer(line):
        yield f"{'ms' if found['unit'] == 'ms' else 's'}/step", float(found["value"])
    if (bar := _BAR.search(line)) is not None:
        hours, minutes, seconds = (int(part or 0) for part in bar.groups())
        yield "elapsed", 3600.0 * hours + 60 * minutes + seconds
    if (passed := _PASSED_BY.search(line)) is not None:
        yield "elapsed", float(passed[1]) * _SECONDS[passed[2][0].lower()]
