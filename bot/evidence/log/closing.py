"""What a log says at its end about the whole of it: how long it took, and its usual step.

took("Training took 70.1 seconds")            ("loop_time_s", "Training took", 70.1)
usual("average step time: 49.9 ms")           ("average_step_time_ms", 49.9)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.evidence.log import names as N
from bot.evidence.log.moments import rates_of
from bot.evidence.second import kind_of, words

_AMOUNT = (
    r"(\d[\d.,:]{0,15}(?:\s?(?:ms|milliseconds|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)"
    r"(?:\s?\d{1,2}(?:\.\d{1,6})?\s?(?:s|secs?|seconds?|m|mins?))*)?)"
)
_TIME = re.compile(
    r"\b((?:total[ _])?(?:train(?:ing)?[ _]time|wall(?:[ _-]?clock)?(?:[ _]time)?"
    r"|elapsed(?:[ _]time)?|(?:job[ _]?)?run[ _]?time|job[ _]time)"
    r"|total[ _](?:time|train(?:ing)?[ _]time)|train[ _]runtime|elapsed \(wall clock\) time)"
    r"(?:[ _]\(?(s|sec|seconds|ms|min|minutes|h|hours|h:mm:ss or m:ss)\)?)?['\"]?\s{0,3}[:=]\s{0,3}"
    r"(\d[\w.,: ]{0,30}?)(?=\s*$|,\s['\"])",
    re.IGNORECASE,
)
_TOOK = re.compile(
    r"\b(?P<what>(?:train(?:ing|ed)?|job|run|[\d,]{1,9} (?:steps|iterations))\b[^\d=:{}]{0,40}?"
    r"\b(?:in|took|lasted))\s{1,3}(?:a total of |about |~)?"
    + _AMOUNT
    + r"\s{0,2}[.!)]{0,2}\s{0,4}$",
    re.IGNORECASE,
)
_REAL = re.compile(r"^real\s{1,12}(\d{1,5}m\d{1,2}\.\d{1,3}s)$")
_SUMMARY = re.compile(r"^wandb:\s{1,20}(_runtime)\s{1,20}(\d{1,8}(?:\.\d{1,6})?)$")
_USUAL = re.compile(r"(?<![a-z])(?:avg|average|mean|median|overall)(?![a-z])", re.IGNORECASE)
_NAMED = re.compile(
    r"([A-Za-z][A-Za-z _]{1,40}?)\s{0,3}[:=]?\s{1,3}(\d{1,9}(?:\.\d{1,9})?)\s?(ms|s|sec|seconds)\b"
)
_OF_A_PART = re.compile(
    r"compil|warm|load|valid|(?<![a-z])eval|sav(?:ed|ing)|checkpoint|token|download|forward"
    r"|backward|(?<![a-z])(?:val|test|epoch|first)(?![a-z])",
    re.IGNORECASE,
)


def took(line: str) -> Iterator[tuple[str, str, float]]:
    """What a time of a line measures, what it is called, and its seconds. A clock of the training
    is its own; a loop has validations and its start in it, a job everything."""
    if match := _TIME.search(line):
        name, unit, text = match.groups()
        clock = f"{text.strip()} {unit}" if unit and ":" not in unit else text.strip()
        seconds = N.clock(clock, 1.0 if "runtime" in name.lower() else None).seconds
        kind = "job_time_s" if "train" not in name.lower() else "training_time_s"
        kind = "loop_time_s" if "runtime" in name.lower() and "train" in name.lower() else kind
        yield from _told(kind, words(name), seconds)
    elif match := _TOOK.search(line):
        if not _OF_A_PART.search(line):
            kind = "job_time_s" if match["what"].lower()[:3] in ("job", "run") else "loop_time_s"
            yield from _told(kind, match["what"], N.clock(_short(match[2])).seconds)
    elif match := _REAL.match(line):
        yield from _told("job_time_s", "real", N.clock(match[1]).seconds)
    elif match := _SUMMARY.match(line):
        yield from _told("job_time_s", match[1], float(match[2]))


def _told(kind: str, name: str, seconds: float | None) -> Iterator[tuple[str, str, float]]:
    if seconds is not None and seconds > 0:
        yield kind, name, seconds


def _short(text: str) -> str:
    """A time with its units as they are read: `1 min 10 s` is `1m10s`."""
    text = re.sub(r"\s?(m)in(?:ute)?s?\s?|\s?(h)(?:ou)?rs?\s?", r"\1\2", text)
    return re.sub(r"(?<=\d)\s(?=\w)", "", text) if re.search(r"[mh]\d", text) else text


def usual(line: str) -> Iterator[tuple[str, float]]:
    """The usual duration of a step that a line states, or what is counted a second."""
    if not _USUAL.search(line) or _OF_A_PART.search(re.sub(r"tok(?:en)?s?\b", "", line)):
        return
    yield from ((name, value) for name, value in rates_of(line) if name != "elapsed")
    for match in _NAMED.finditer(line):
        name = f"{words(match[1])}_{'ms' if match[3] == 'ms' else 's'}"
        known = kind_of(name)
        if known is not None and known.kind == "duration":
            yield name, float(match[2])
