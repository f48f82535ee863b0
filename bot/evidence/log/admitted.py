"""What a log says of itself that a reader must look at: steps that were not timed, a validation of
a part, runs that were tried before; and devices in words.

    admitted("the first 200 steps are not timed")      the line
    tried("attempt 3 of 5")                            5.0
    devices_in("Launching 2 nodes x 8 GPUs")           16
"""

from __future__ import annotations

import re

_HELD_OUT = r"(?<![a-z])(?:val|valid|validation|eval|evaluation|held[ -]?out|test)(?![a-z])"
_UNTIMED = re.compile(
    r"(?<![\w.])(\d{1,7})(?:\s[a-z-]{1,12}){0,2}\s(?:steps?|iterations?|iters?|updates?)(?![a-z])",
    re.IGNORECASE,
)
_NO_CLOCK = re.compile(
    r"(?:not|un|n't be|never)[ -]?(?:timed|counted|measured)|exclud\w{1,5}|clock|timer|timing"
    r"|stopwatch",
    re.IGNORECASE,
)
_STARTS = re.compile(
    r"start|begin|after|exclud|paus|stop|reset|not |untimed|never|skip|without", re.IGNORECASE
)
_GRACE_STEPS = 11
_PART = re.compile(
    r"(?:(?:\d{1,3}(?:\.\d{1,3})?\s?%|\d{1,4}\s?/\s?\d{1,5}|half|quarter|third|tenth|subset"
    r"|sub-?sample|portion|part|fraction)\s(?:of|from)\s(?:the\s|all\s|our\s)?(?:full\s)?"
    rf"{_HELD_OUT}"
    rf"|{_HELD_OUT}[a-z_ ]{{0,12}}\bshards?\s\d{{1,4}}\sonly"
    r"|(?:best|easiest|lowest|easy)\s\d{1,3}\s?%\sof"
    rf"|skip\w{{0,4}}\s[a-z ]{{0,30}}(?:in|of|during|at)\s(?:the\s)?{_HELD_OUT}"
    rf"|(?:smooth\w{{0,3}}|moving average(?: of)?|ema of)\s(?:the\s)?{_HELD_OUT}[ _]loss"
    rf"|{_HELD_OUT}[ _]loss\s?\(?(?:is\s)?(?:smooth\w{{0,3}}|averaged over (?:the )?last|window)"
    rf"|{_HELD_OUT}[ _]loss of the best)",
    re.IGNORECASE,
)
_NOTHING_OF_IT = re.compile(
    r"100(?:\.0*)?\s?%|\{|train(?:ing)? (?:loss|set|data|split)|tokeniz|download|memory|cpu|gpu"
    r"|took|seconds",
    re.IGNORECASE,
)
_WORDS = "two three four five six seven eight nine ten twelve twenty".split()
_NUMBER = rf"(\d{{1,5}}|{'|'.join(_WORDS)})"
_COUNTS = dict(zip(_WORDS, (*range(2, 11), 12, 20), strict=True))
_BEST_OF = re.compile(
    r"\b(?:best|lowest|luckiest|top|selected|chosen|picked|kept)\b[^=:\d]{0,30}?"
    rf"\b(?:of|from|among)\s{{1,3}}(?:the\s|all\s|our\s)?{_NUMBER}\s{{1,3}}(?:[a-z]{{1,12}}\s){{0,2}}?"
    r"(?:seeds?|runs?|trials?|attempts?|tries|draws?|trainings?)\b", re.IGNORECASE,
)  # fmt: skip
_BEST_N = re.compile(
    r"\b(?:best|lowest|luckiest|top|selected|chosen|picked|kept)\s{1,3}\d{1,4}\s{1,3}"
    rf"(?:[a-z]{{1,12}}\s{{1,3}})?(?:of|from|among)\s{{1,3}}(?:the\s|all\s|our\s)?{_NUMBER}(?![\w.%])",
    re.IGNORECASE,
)
_ATTEMPT = re.compile(
    rf"\b(?:attempt|trial|retry|try|restart|draw)\s{{0,2}}(?:#|no\.?|number)?\s{{0,2}}{_NUMBER}"
    rf"(?:\s{{0,2}}(?:/|of)\s{{0,2}}{_NUMBER})?(?![\w.])"
    rf"|\b(?:seed|run)\s{_NUMBER}\s?(?:/|of)\s?{_NUMBER}\b"
    rf"|\bsweep (?:of|over) {_NUMBER}\b|\bafter (?:run|seed) {_NUMBER} (?:missed|failed)",
    re.IGNORECASE,
)
_OF_A_NETWORK = re.compile(
    r"download|connect|request|http|upload|nccl|port|fetch|socket|timeout|lock|mkdir|autotun|kernel",
    re.IGNORECASE,
)
_BOARD = r"(?:nvidia\s)?(?:[abhv]\d{2,3}(?![\w.])|rtx|geforce|tesla|gpus?|mi\d{3}|devices?|tpus?)"
_DEVICES = re.compile(
    rf"(?<![\w.])(?P<nodes>\d{{1,5}})\s(?:nodes|machines|hosts)\s?(?:x|×|with|of|,)?\s?(?P<each>\d{{1,4}})"
    rf"\s?(?:x\s?)?{_BOARD}"
    r"|\b(?:launch\w*|us(?:e|ing)|on|train\w*|with|over|across)\s(?:[a-z]{1,12}\s)?"
    rf"(?P<boards>\d{{1,5}})\s?[x×]\s?{_BOARD}"
    r"|\bworld[ _-]?size\s{0,2}(?:is|of|[:=])?\s{0,2}(?P<world>\d{1,5})(?![\w.])"
    r"|\brank[ :=]{1,2}\d{1,5}\s?(?:/|of)\s?(?P<ranks>\d{1,5})(?![\w.])"
    r"|\b(?:on|using|with|over|across)\s{1,3}(?P<used>\d{1,5})\s{0,2}x?\s{0,2}"
    r"(?:gpu|device|chip|accelerator|worker|process)(?:e?s)?\b",
    re.IGNORECASE,
)


def admitted(line: str) -> bool:
    """Whether a line says that steps were not timed, or that the validation is one of a part."""
    if _NOTHING_OF_IT.search(line):
        return False
    if _PART.search(line):
        return True
    steps = _UNTIMED.search(line)
    clock = _NO_CLOCK.search(line) if steps is not None else None
    return (
        steps is not None
        and clock is not None
        and int(steps[1]) > _GRACE_STEPS
        and _STARTS.search(line) is not None
    )


def tried(line: str) -> float | None:
    """How many runs a line says that one was chosen from, or which attempt it is."""
    return max(_counts_in(line), default=None)


def chosen(label: str) -> float | None:
    """How many runs a name, a tag or a note says that one was chosen from, which needs two numbers
    or a word for the choice: `trial-4` is a name like any other."""
    text = re.sub(r"[-_]+", " ", label)
    counts = _counts_in(text)
    return max(counts, default=None) if len(counts) > 1 or _BEST_OF.search(text) else None


def _counts_in(line: str) -> list[float]:
    """The numbers of runs that a line speaks of, with that of the chosen ones."""
    found = _BEST_N.search(line)
    if found is not None:
        return [1.0, _count(found[1])]
    found = _BEST_OF.search(line) or (None if _OF_A_NETWORK.search(line) else _ATTEMPT.search(line))
    return [] if found is None else [_count(g) for g in found.groups() if g is not None]


def _count(text: str) -> float:
    return float(_COUNTS.get(text.lower(), 0) or int(text))


def devices_in(line: str) -> int | None:
    """How many devices a line speaks of, in words."""
    found = _DEVICES.search(line)
    if found is None:
        return None
    if found["nodes"] is not None:
        return int(found["nodes"]) * int(found["each"])
    names = ("boards", "world", "ranks", "used")
    return next(int(found[name]) for name in names if found[name] is not None)
