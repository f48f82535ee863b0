"""What a log says at its end about the whole of it: how long it took, and its usual step.

took("Training took 70.1 seconds")            ("loop_time_s", "Training took", 70.1)
usual("average step time: 49.9 ms")           ("average_step_time_ms", 49.9)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from bot.evidence.log import names as N
from bot.evidence.log.moments import rates_of
from bot.evidence.second import is_time_of_validation, kind_of, words

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
_REAL = re.compile(r"^real\s{1,12}(\d{1,5}m\d{1,2}[.,]\d{1,3}s|\d{1,7}\.\d{1,3})$")
_SHELL = re.compile(
    r"\d% cpu (\d{1,3}:\d\d(?::\d\d)?(?:\.\d{1,3})?) total$"
    r"|^(?:total )?(\d{1,3}:\d\d:\d\d) elapsed\b"
)
_WHOLE = re.compile(
    r"(?<![a-z])(?P<what>(?:(?:total|overall|whole|entire|full)[ _])?"
    r"(?:wall[- _]?clock(?:[ _]time)?|wall[ _-]?time(?:[ _]used)?|elapsed(?:[ _]time)?"
    r"|run[ _]?time|duration|up[ _]?time|job[ _]time"
    r"|time[ _](?:taken|elapsed|spent|used|passed|in all)|total[ _](?:time|seconds|hours|minutes)"
    r"|running[ _]time|seconds in all)|(?:everything|all|it|whole thing|script|program|process"
    r"|experiment|session|command)[ _](?:took|lasted|ran for)"
    r"|(?:finished|done|completed|ended|exited|exiting)(?: (?:successfully|training))?"
    r" (?:in|after))"
    r"['\"]?(?: (?:was|is|of|about|for))?\W{0,4}(?P<amount>\d[\d.,:]{0,15}"
    r"(?:\s?(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)"
    r"(?:\s?,?(?:and )?\d{1,2}(?:\.\d{1,6})?\s?(?:s|secs?|seconds?|m|mins?|minutes?))*)?)"
    r"(?![\w%/]|\s?(?:/|per\b|epochs?\b|steps?\b|it(?:er(?:ation)?)?s?\b))",
    re.IGNORECASE,
)
"""How long all of it took, in other words; a bare number counts with a clock or a name in it."""
_NO_WHOLE = re.compile(
    r"(?<![a-z])(?:max\w*|limit\w*|budget|cap|timeout|estimat\w*|eta|remain\w*|left|expect\w*"
    r"|request\w*|allow\w*|allocat\w*|avg|average|mean|per|each|since|step|iter\w*|until|at most"
    r"|baseline|record|previous|target|goal|so far|ago|gpu|cpu|node)(?![a-z])|<|%",
    re.IGNORECASE,
)
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


_PLANNED = re.compile(
    r"(?<![a-z])(?:estimat\w*|eta|limit\w*|max\w*|budget|remain\w*|expect\w*|request\w*|record"
    r"|baseline|previous|projected|planned)(?![a-z])",
    re.IGNORECASE,
)


def took(line: str) -> Iterator[tuple[str, str, float]]:
    """What a time of a line measures, what it is called, and its seconds. A clock of the training
    is its own; a loop has validations and its start in it, a job everything."""
    if (match := _TIME.search(line)) and not _PLANNED.search(line):
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
        clock = match[1].replace(",", ".")
        yield from _told("job_time_s", "real", N.clock(clock, 1.0).seconds)
    elif match := _SHELL.search(line):
        yield from _told("job_time_s", "time", N.clock(match[1] or match[2]).seconds)
    elif match := _SUMMARY.match(line):
        yield from _told("job_time_s", match[1], float(match[2]))
    else:
        yield from took_in_all(line)


def took_in_all(line: str) -> Iterator[tuple[str, str, float]]:
    """How long a job took as a whole by a line in other words, or above the steps of a run."""
    match = _WHOLE.search(line) if any(c.isdigit() for c in line) else None
    if match is None or _NO_WHOLE.search(line) or _OF_A_PART.search(line):
        return
    amount, what = match["amount"], words(match["what"])
    unit = next((u for word, u in _UNITS.items() if word in what.split("_")), None)
    if re.search("[a-z:]", amount, re.IGNORECASE) or unit is not None:
        yield from _told("whole_time_s", what, _seconds(amount, unit))


def spent(line: str) -> float:
    """The seconds that a line says were spent on something besides the steps: compilation,
    validation, loading, waiting."""
    lower = line.lower()
    if not any(word in lower for word in _BESIDE):
        return 0.0
    found = _SPENT.search(lower)
    if found is None or _NO_WHOLE.search(lower):
        return 0.0
    return _seconds(found[1]) or 0.0


def in_validations(readings: Mapping[str, Sequence[tuple[int, float]]]) -> float:
    """The seconds that the lines of steps say their validations took."""
    total = 0.0
    for name, series in readings.items():
        if is_time_of_validation(name):
            milli = {"ms", "msec"} & set(words(name).split("_"))
            total += sum(v for _, v in series if v > 0) * (0.001 if milli else 1.0)
    return total


def _seconds(text: str, unit: float | None = None) -> float | None:
    """A time in words: `2 hours 3 minutes`, `1 h 10 min`, `02:00:00`."""
    joined = re.sub(r"(?<=\d)\s+(?=[a-z])|(?<=[a-z])[\s,]*(?:and\s)?(?=\d)", "", text.lower())
    return N.clock(_short(joined), unit).seconds


_UNITS = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0}


def _told(kind: str, name: str, seconds: float | None) -> Iterator[tuple[str, str, float]]:
    if seconds is not None and seconds > 0:
        yield kind, name, seconds


_SPENT = re.compile(
    r"(?:\b(?:took|in|lasted|for|after|time|seconds)|:)\W{0,4}"
    r"(\d{1,2}:\d\d:\d\d(?:\.\d{1,3})?|\d[\d.,:]{0,15}"
    r"(?:\s?(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)"
    r"(?:\s?\d{1,2}(?:\.\d{1,6})?\s?(?:s|secs?|seconds?|m|mins?|minutes?))*))(?![\w/])",
    re.IGNORECASE,
)
_BESIDE = ("compil", "warm", "load", "valid", "eval", "saved", "saving", "checkpoint", "token",
           "idle", "wait", "queue", "paus", "suspend", "preempt", "startup", "start-up", "init",
           "generat", "sampl")  # fmt: skip


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
