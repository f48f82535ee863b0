"""One line of a log: a step with its losses and its clock, or why it looks like one and is not.

    step:125/3200 val_loss:3.96211 train_time:43.151s step_avg:345.21ms      classical
    s:250 tel:6.1710                                                         classical
    step 250: train loss 4.1203, val loss 4.0917                             general
    {"step": 250, "val_loss": 4.0917, "train_time_s": 14.2}                  general

A file that holds one classical line is read by these alone. Every pattern takes linear time.
"""

from __future__ import annotations

import dataclasses as dc
import itertools
import math
import re
from collections.abc import Mapping, Sequence

from bot.evidence.log import names as N
from bot.evidence.log.names import VALIDATION, Names, normal, number
from bot.evidence.log.pairs import pairs_of
from bot.evidence.log.places import Places, of_epoch
from bot.evidence.log.prefix import RANK, is_prefix, rank
from bot.evidence.log.problems import LogStep
from bot.evidence.second import PASSES, is_time_of_validation, kind_of
from bot.render.untrusted import plain

_ANCHOR = re.compile(r"(?<![\w/])(?:step:(?=\d{1,15}/\d)|s:(?=\d{1,15}\s{1,20}t[er]l:))", re.ASCII)
_SECOND = re.compile(r"step:\d{1,15}/\d|\bs:\d{1,15}\s{1,20}t[er]l:", re.ASCII)
_STEP = re.compile(r"step:(\d{1,15})/(\d{1,15})\s+(\S.*)", re.ASCII)
_GROUPED = re.compile(
    r"(?<![\w/])step:\d{1,3}(?:[,_]\d{3}){0,4}/\d{1,3}(?:[,_]\d{3}){1,4}(?=\s)", re.ASCII
)
_LLMC = re.compile(r"s:(\d{1,15})\s+(tel|trl):(\S+)(.*)", re.ASCII)
_WORDED = re.compile(r"(?<![a-z])(?:val|valid|validation|eval|dev)[ /]loss(?![a-z])", re.I)
_BARE = re.compile(r"(\d{1,15}) (val|train) (\S{1,40})", re.ASCII)
_COUNTED = re.compile(r"\[(\d{1,15})\] (?=\w{1,40} ?[=:])", re.ASCII)  # [00250] loss=3.1
_TAG = re.compile(  # tag: loss/val step: 100 wall_time: 1.5 value: 3.2, each value with its tag
    r"""(?<![a-z])['"]?tag['"]?\s?[:=]\s?['"]?([\w/.-]{1,80})['"]?[\s,].{0,200}?"""
    r"""(?:wall_?time['"]?\s?[:=]\s?[\d.e+]{1,30}[\s,]{1,3})?['"]?value['"]?\s?[:=]\s?([^\s,}]{1,40})"""
)
_TAGGED = re.compile(
    r"(?<![a-z])(?:split|phase|mode|stage|subset)['\"]?\s?[:=]\s?['\"]?(\w{1,20})", re.I
)
_AFTER = re.compile(
    r"\d\.\d{1,12}(?:e[-+]?\d{1,4})?\s{1,3}(?:\w{1,12}[_ ])?loss\s{0,3}(?:[,;|)]|$)", re.I
)
"""A value before its name, as in `3.8750 loss, 0.0003 LR`."""
_TRAINING = re.compile(r"(?<![a-z])train(?:ing)?(?![a-z])", re.IGNORECASE)
_TOLD_AGAIN = re.compile(
    r"(?<![a-z])(?:best|saved?|saving(?! dict)|checkpoint|resum\w{1,6}|restor\w{1,6})(?![a-z])",
    re.I,
)
_BAR = re.compile(r"\d{1,3}%\|[^|]{0,200}\|\s{0,8}(\d{1,15})/(\d{1,15})\s{0,4}\[")
_LABEL = re.compile(r"(?:^|[\s\]])([A-Za-z][A-Za-z_ ]{0,40}?) (\d{1,9})\s?:?\s{0,4}$", re.ASCII)
"""The label of a bar that ends in a number, as in `Validation DataLoader 0:`."""
_LIKELY = re.compile(
    r"(?<![a-z])(?:val|valid|validation|eval|dev|heldout)(?![a-z])|loss|entropy|nll|bpb"
)
_METRIC = re.compile(r"acc|top_?[15]|(?<![a-z])(?:map|f1|iou|bleu|auc|wer|cer|score|reward)")
_COUNTER = re.compile(r"[a-z]+(?:_[a-z]+){0,4}")
_PARTS_OF_STEPS = ("iter", "iteration", "micro_step", "mini_step", "inner_step", "micro_batch_step")
"""Counters of micro-batches, which may stand beside that of the steps."""


@dc.dataclass(slots=True)
class Line:
    """What came of a line: a step with the prefix of its process, or the cause why there is none.

    `names` are those of the line's numbers where none of them has a meaning here.
    """

    step: LogStep | None = None
    key: str = ""
    cause: str = ""
    names: tuple[str, ...] = ()


NOTHING = Line()


def classical(line: str, names: Names) -> Line:
    """A line `step:S/T key:value ...` or `s:S tel:X`, after any prefix of a logger."""
    if "step:" in line:
        line = _GROUPED.sub(lambda match: re.sub("[,_]", "", match[0]), line)
    found = _ANCHOR.search(line) if "s:" in line or "step:" in line else None
    if found is None:
        return NOTHING
    prefix, body = line[: found.start()], line[found.start() :]
    if prefix and not is_prefix(prefix):
        return Line(cause="prefix") if "{" not in line else NOTHING
    if _SECOND.search(body, 4):
        return Line(cause="two")
    key = rank(prefix)
    if match := _STEP.match(body):
        made = _modern(key, int(match[1]), int(match[2]), match[3], names)
        if _WORDED.search(match[3]) and (made.step is None or not made.step.is_validation):
            worded = General(names, names.mapped_words()).read(body)
            if worded.step is not None and worded.step.is_validation:
                return dc.replace(worded, key=key)
        return made
    if match := _LLMC.match(body):
        return _llmc(key, int(match[1]), match[2], match[3], match[4])
    return NOTHING


def _modern(key: str, step: int, total: int, rest: str, names: Names) -> Line:
    """A line `step:S/T key:value ...`; nothing where it carries neither a loss nor a clock."""
    if ": " in rest:
        rest = rest.replace(": ", ":")
    pairs = _classical_pairs(rest.split())
    tokens = dict(reversed(pairs))
    time, why = None, ""
    if (text := tokens.pop("train_time", None)) is not None:
        time, why = _told(names, "train_time", text)
    average = N.clock(tokens.pop("step_avg", "")).seconds
    values = {k: v for k, t in tokens.items() if (v := _value(k, t)) is not None}
    clocks = {k: v for k, t in tokens.items() if k not in values and (v := _seconds(k, t))}
    name = "val_loss"
    if name not in tokens:
        name = next((k for k in tokens if names.meaning(normal(k)) == N.LOSS), name)
        if name in values:
            values["val_loss"] = values.pop(name)
    if time is None and not why:
        other = next((k for k in tokens if names.meaning(normal(k)) == N.CLOCK), None)
        if other is not None:
            time, why = _told(names, normal(other), tokens[other])
    if name in tokens and "val_loss" not in values:
        return Line(cause=no_number(tokens[name]))
    if "val_loss" not in values and "train_loss" not in values and time is None:
        return Line(cause="clock") if why else NOTHING
    untimed = dict(pairs).get("step_avg", "").startswith("nan")
    found = LogStep(step, total, time, values, tokens.get(name, ""), untimed, average)
    found.other, found.clock_why, found.clocks = _other_value(pairs), why, clocks
    return Line(found, key)


def _classical_pairs(tokens: Sequence[str]) -> list[list[str]]:
    """Names and values of a classical line: `name:value`, also `name=value` and `name value`."""
    pairs = [t.split(":", 1) if ":" in t else t.split("=", 1) for t in tokens if {":", "="} & {*t}]
    for name, value in itertools.pairwise(tokens):
        if name.isidentifier() and number(value.rstrip(",;|")) is not None:
            pairs.append([name, value.rstrip(",;|")])
    return pairs


def _value(name: str, text: str) -> float | None:
    return number(text) if name.endswith("loss") else N.amount(text)


def _told(names: Names, name: str, text: str) -> tuple[float | None, str]:
    """A clock, or in words why it cannot be read."""
    seconds, why = names.clock(name, text)
    return seconds, "" if why is None else f"`{plain(f'{name}:{text}', 40)}` {why}"


def _seconds(name: str, text: str) -> float | None:
    """The seconds of a further clock or duration that has its unit beside it."""
    known = kind_of(name)
    if is_time_of_validation(name):
        return N.clock(text).seconds
    if known is None or known.kind not in ("duration", "clock"):
        return None
    seconds = N.clock(text).seconds
    return None if seconds is None else seconds / (known.unit or 1.0)


def _other_value(pairs: list[list[str]]) -> str:
    """A loss or clock that a line gives twice with two values, in words; "" without one."""
    told: dict[str, str] = {}
    for name, value in pairs:
        known = name.lower()
        if known in ("val_loss", "train_time") and told.setdefault(known, value) != value:
            return f"{known} {plain(told[known], 40)} and {plain(value, 40)}"
    return ""


def _llmc(key: str, step: int, kind: str, text: str, rest: str) -> Line:
    """A line `s:S tel:X` (validation) or `s:S trl:X lr:Y norm:Z` (training)."""
    value = number(text)
    if value is None:
        return Line(cause=no_number(text)) if kind == "tel" else NOTHING
    values = {"val_loss" if kind == "tel" else "train_loss": value}
    for token in rest.split():
        name, _, told = token.partition(":")
        if (extra := number(told)) is not None:
            values.setdefault(name, extra)
    return Line(LogStep(step, None, None, values, text if kind == "tel" else "", False), key)


def no_number(text: str) -> str:
    """The cause for which the text of a loss is not a number."""
    if re.match(r"(?:tensor|array|Array|DeviceArray|ArrayImpl|np\.float\d{2})\(", text):
        return "tensor"
    if re.fullmatch(r"[-+]?\d{1,9},\d{1,12}", text.rstrip(",;")):
        return "comma"
    return "code" if "{" in text or "%" in text else "text"


# ---- every other form ---------------------------------------------------------------------------


class General:
    """Reads the lines of other trainers: words, `key=value`, dictionaries, JSON."""

    def __init__(self, names: Names, words: tuple[str, ...] = ()) -> None:
        self._names = names
        self._words = ("loss", "bpb", "train", "val", "entropy", "nll", "step", "iter", *words)
        self._places = Places()

    def read(self, line: str) -> Line:
        """The step of a line by any of the general forms."""
        if bar := _BAR.search(line):
            self._places.bar(int(bar[1]), int(bar[2]))
            if "epoch" in line[: bar.start()].lower():
                self._places.no_bar()
            before = line[: bar.start()]
            label = _LABEL.search(before[-80:])
            if label and self._names.meaning(normal(label[1])) is None:
                before = label[1]
            line = f"{before} {line[bar.end() :]}"
        if counted := _COUNTED.match(line):
            line = f"step {counted[1]} {line[counted.end() :]}"
        if tag := _TAG.search(line):
            line = f"{line[: tag.start()]} {line[tag.end(1) + 1 : tag.start(2)]} {tag[1]}: {tag[2]}"
        if bare := _BARE.fullmatch(line):
            line = f"step {bare[1]} {bare[2]}_loss {bare[3]}"
        line = of_epoch(N.in_full(line) if "k" in line else line)
        low = line.lower()
        if not any(word in low for word in self._words):
            return NOTHING
        key = rank(line[:120])
        if key:
            line = RANK.sub(" ", line, count=key.count(":") + key.count("("))
        pairs, about = pairs_of(line)
        if _TOLD_AGAIN.search(about):
            return NOTHING
        if tagged := _TAGGED.search(line):
            about = f"{about} {tagged[1]}"
        found = self._step(key, pairs, about)
        if found.step is None and found.cause in ("", "no-step") and _AFTER.search(line):
            return Line(cause="after")
        return found

    def _step(self, key: str, pairs: list[tuple[str, str, str]], about: str) -> Line:
        found: dict[str, str] = {}
        values: dict[str, float] = {}
        clocks: dict[str, float | None] = {}
        time, why, counted = None, "", ("", "")
        for name, text, gap in pairs:
            meaning = self._names.meaning(name)
            stem, _, last = name.rpartition("_")
            if last in ("tensor", "array") and self._names.meaning(stem) == N.LOSS:
                return Line(cause="tensor")
            if meaning == N.TRAIN and name in ("loss", "lm_loss", "lm_loss_value"):
                if _is_validation(gap, about):
                    meaning = N.LOSS
            if meaning == N.CLOCK and time is None:
                time, why = _told(self._names, name, text)
            elif meaning is not None and meaning != N.CLOCK:
                if meaning == N.STEP:
                    word = (_COUNTER.findall(gap[-40:].lower()) or [name])[-1]
                    if word == counted[0] and text != counted[1]:
                        return Line(cause="two")
                    counted = self._count(found, values, counted, (word, text))
                if found.setdefault(meaning, text) != text and meaning == N.LOSS:
                    values.setdefault("val_loss_beside", number(text) or math.nan)
            elif (value := _value(name, text)) is not None and (gap == "" or N.STEP in found):
                values.setdefault(name, value)
            elif gap == "" or N.STEP in found:
                clocks.setdefault(name, _seconds(name, text))
        step, total = N.counted(found.get(N.STEP), found.get(N.TOTAL))
        if counted[0] in _PARTS_OF_STEPS:
            step = self._places.of_iter(step)
        if step is None:
            step, total = self._places.epoch(number(found.get(N.EPOCH, "").partition("/")[0]))
        told = [name for name, text, _ in pairs if name and number(text) is not None]
        line = self._made(key, step, total, found, values, told, time, why)
        if line.step is not None:
            line.step.clocks = {name: value for name, value in clocks.items() if value}
        return line

    def _count(
        self, found: dict[str, str], values: dict[str, float], before: tuple[str, str],
        now: tuple[str, str],
    ) -> tuple[str, str]:  # fmt: skip
        """Take a counter of steps, a word and its number: one of whole steps counts before one of
        their parts. The other is kept, since it may count something else."""
        word, text = now
        part = before[0] in _PARTS_OF_STEPS and word.rpartition("_")[2] == "step"
        if part or before[0] and word == "global_step":
            smaller = N.counted(found.pop(N.STEP), None)[0]
            self._places.both(smaller, N.whole(text))
            if part and smaller is not None:
                values.setdefault(PASSES, smaller)
        elif before[0] and (value := N.whole(text.partition("/")[0])) is not None:
            values.setdefault(PASSES if word in _PARTS_OF_STEPS else word, value)
        return before if before[0] and word in _PARTS_OF_STEPS else now

    def _made(
        self, key: str, step: int | None, total: int | None, found: Mapping[str, str],
        values: dict[str, float], told: list[str], time: float | None, why: str,
    ) -> Line:  # fmt: skip
        values.pop("", None)
        for meaning in (N.LOSS, N.TRAIN, N.BPB, N.EPOCH):
            text = found.get(meaning, "").partition("/")[0]
            if (value := number(text)) is not None:
                values[meaning] = value
        if N.LOSS in found and N.LOSS not in values:
            return Line(cause=no_number(found[N.LOSS]))
        if not values.keys() & {N.LOSS, N.TRAIN, N.BPB} and time is None:
            likely = tuple(name for name in told if _LIKELY.search(name))
            if likely and all(_METRIC.search(name) for name in likely):
                return Line(cause="metric", names=likely)
            if likely:
                return Line(cause="no-step" if step is None else "keys", names=likely)
            others = tuple(name for name in told if self._names.meaning(name) is None)
            return Line(cause="unnamed", names=others) if step is not None and others else NOTHING
        if step is None:
            if N.LOSS in values:
                return Line(cause="step" if N.STEP in found else "no-step")
            cause = "train-no-step" if any("tr" in name for name in told) else "bare-no-step"
            return Line(cause=cause) if N.TRAIN in values else NOTHING
        made = LogStep(step, total, time, values, found.get(N.LOSS, ""), False)
        made.clock_why = why
        return Line(made, key)


def _is_validation(gap: str, about: str) -> bool:
    """Whether the words before a bare loss say that it is a validation's; the nearest count."""
    for text in (gap, about):
        valid = [m.start() for m in VALIDATION.finditer(text)]
        train = [m.start() for m in _TRAINING.finditer(text)]
        if valid or train:
            return max(valid, default=-1) > max(train, default=-1)
    return False
