"""What of a log looks like steps and is not read: counted by cause, with what to do about each.

The first of the causes, in the order of `_FIXES`, says why a log gives no run; within a run that
was read the lines between its steps are a hole, and are named.
"""

from __future__ import annotations

import bisect
import dataclasses as dc
import re
from collections.abc import Iterator, Sequence

from bot.compute.independence import decimals
from bot.evidence.log.text import what_else
from bot.render.untrusted import plain

FORM = "step:10/100 val_loss:3.2800 train_time:6000ms"
_SHOWN = 60
_MOST_NAMES = 8
_SEARCHED = 200_000
_STRANGERS = 3
"""So many validations that no run has are those of another training."""
_METRICS = re.compile(
    rb"(?<![\w/])(?:\w{0,30}_)?(?:[Aa]cc(?:uracy)?(?:/top[15])?|mAP\d{0,2}(?:-\d{1,2})?|BLEU|bleu|f1|F1|top[15]"
    rb"|reward_mean)(?:@\d)?(?![\w/])"
)
"""Metrics that are not losses, by the names that trainers print."""
_LIKELY = re.compile(r"val|dev|held|test")
_NO_LOSS = re.compile(r"acc|ppl|perplex|bpb|time|lr|rate")
_FIXES = {
    "tensor": ("holds a tensor and not a number", "print `val_loss.item()`"),
    "comma": ("writes a comma for the decimal point", "print numbers with a decimal point"),
    "two": ("holds the lines of two processes", "print from one process, or from each to a file"),
    "clock": ("has no clock that is read", "print the clock with its unit, such as 71.0s"),
    "text": ("has a loss that is not a number", "print the loss as a number"),
    "prefix": ("begins in a way that is not read", "take away what stands before the step"),
    "keys": ("names no validation loss that is read", ""),
    "epochs": (
        "counts its steps anew each epoch",
        "print on one line the validation loss and the step counted from the beginning",
    ),
    "no-step": ("names a loss and no step", "print the step on the line of the loss"),
    "step": ("has a step that is not a whole number", "print the step as a whole number"),
    "after": ("names a loss after its value", "print the name first, such as val_loss 3.28"),
    "train-no-step": (
        "names a training loss and no step",
        "print step and validation loss on one line",
    ),
    "bare-no-step": (
        "names a loss and no step, and does not say whether it is a validation loss",
        "print step and val_loss on one line",
    ),
    "metric": ("names a metric that is not a loss", ""),
    "unnamed": ("has a step and no value that is called a loss", ""),
    "headings": (
        "is a table whose headings name no step or loss that is known",
        "rename them, such as step and val_loss",
    ),
    "long": ("is longer than 4,000 characters", "print one line a step"),
}
_ELSEWHERE = ("after", "train-no-step", "bare-no-step", "metric", "unnamed", "step", "headings")
"""Causes that say why a file gives no run, and nothing of a run that was read."""


@dc.dataclass(slots=True)
class Unread:
    """Lines that are not read for one cause: how many, and the first with its number from 1."""

    count: int
    line: int
    text: str
    at: list[int]


class Near:
    """What was not read of one file. `other` says what the file is, where it is not a log."""

    def __init__(self, file: str, data: bytes) -> None:
        self.other = what_else(data)
        self.unread: dict[str, Unread] = {}
        self.names: dict[str, None] = {}
        self._file = file
        self._beside: list[tuple[int, float]] = []
        names = (m.decode() for m in _METRICS.findall(data[:_SEARCHED]))
        self._metrics = tuple(dict.fromkeys(names))[:4]
        self._said = b"step" in data or b"iter" in data, b"loss" in data

    @property
    def blank(self) -> bool:
        """Whether the file speaks of neither steps nor losses, as a text that is not a log."""
        return self.other is None and not self.unread.keys() - {"headings"} and not any(self._said)

    @property
    def strong(self) -> bool:
        """Whether a line that is not read looks like one of a run's."""
        return not self.unread.keys() <= set(_ELSEWHERE)

    def count(self, cause: str, number: int, line: str, names: Sequence[str] = ()) -> None:
        """Count a line, `number` from 0, that looks like a step and is not read."""
        if cause == "code" or cause == "long" and "loss" not in line[:20_000]:
            return
        item = self.unread.setdefault(cause, Unread(0, number + 1, plain(line, _SHOWN), []))
        item.count += 1
        if len(item.at) < 1000:
            item.at.append(number)
        for name in names[:_MOST_NAMES] if len(self.names) < _MOST_NAMES else ():
            self.names.setdefault(plain(name, 80))

    def validates(self, number: int, loss: float | None) -> None:
        """Take the validation loss, if any, that a line, `number` from 0, states of a step without
        being one of a run."""
        if loss is not None:
            self._beside.append((number, loss))

    def strangers(self, losses: Sequence[float]) -> str | None:
        """That lines which are not read show validations of another training than these losses."""
        own = sorted(losses)
        other = [n for n, loss in self._beside if not _is_among(loss, own)]
        if len(other) < _STRANGERS:
            return None
        return (
            f"{len(other)} lines that were not read as steps state validation losses that no run "
            f"of the file has; the first is line {other[0] + 1}"
        )

    def epochs_anew(self, epochs: Sequence[tuple[float, float]]) -> bool:
        """Whether runs are parts of one training, whose steps begin anew each epoch."""
        pairs = zip(epochs, epochs[1:], strict=False)
        if len(epochs) < 2 or not all(end < begin for (_, end), (begin, _) in pairs):
            return False
        self.unread = {"epochs": Unread(len(epochs), 1, f"epoch {epochs[1][0]:g}", [])}
        return True

    def words(self) -> tuple[str, str]:
        """Why the file gives no run with a loss, in a sentence, and what to do."""
        if self.other is not None:
            return f"{self._file} {self.other[0]}", self.other[1]
        for cause, (what, fix) in _FIXES.items():
            if cause in self.unread:
                return f"{self._file}: {self._told(cause, what)}", self._fix(cause, fix)
        steps, losses = self._said
        if steps and losses:
            what = "holds the words step and loss, but no line with a step and a loss that is read"
        else:
            what = "holds no line with a step and a loss"
        if self._metrics:
            text = f"{what}; it names {', '.join(self._metrics)}"
            return f"{self._file} {text}", own_line(self._metrics)
        return f"{self._file} {what}", f"give the log that the training printed, such as {FORM}"

    def inside(self, first: int, last: int) -> Iterator[str]:
        """Lines between those of a run, or after them, that should be among them, in words."""
        for cause, item in self.unread.items():
            if cause in _ELSEWHERE or (
                cause in ("keys", "no-step", "long", "prefix") and not first < item.line - 1 < last
            ):
                continue
            within = [n for n in item.at if n > first]
            if within and cause != "keys":
                yield self._told(cause, _FIXES[cause][0], within)

    def _told(self, cause: str, what: str, within: Sequence[int] | None = None) -> str:
        item = self.unread[cause]
        if cause == "epochs":
            named = f"; it names {', '.join(self._metrics)}" if self._metrics else ""
            return f"the file {what}{named}"
        if cause == "headings":
            return f"it {what}: {', '.join(self.names)}"
        count = item.count if within is None else len(within)
        lines = (
            "1 line looks like a step and is"
            if count == 1
            else f"{count} lines look like steps and are"
        )
        return f"{lines} not read; line {item.line} {what}: {item.text}"

    def _fix(self, cause: str, fix: str) -> str:
        if cause == "metric":
            return own_line(tuple(self.names))
        if cause not in ("keys", "unnamed"):
            return fix
        return map_line(tuple(self.names))


def _is_among(loss: float, own: Sequence[float]) -> bool:
    """Whether one of some losses, in order, is this one, which may have fewer digits."""
    half = 0.51 * 10.0 ** -max(decimals([loss]), 2)
    place = bisect.bisect_left(own, loss - half)
    return place < len(own) and own[place] <= loss + half


def own_line(names: Sequence[str]) -> str:
    """How a track reads one of the metrics of a log that are not losses."""
    held_out = (n for n in names if _LIKELY.search(n))
    name = next(held_out, next((n for n in names if "train" not in n), names[0]))
    return (
        f"a track may rank by it: [metrics.{re.sub('[^a-z0-9]+', '_', name.lower()).strip('_')}] "
        "with a label and from = a pattern whose one group is the value; for a loss, give the "
        f"log that the training printed, such as {FORM}"
    )


def map_line(names: Sequence[str], quantity: str = "loss") -> str:
    """The line of submission.json that maps one of the names that a run has to a quantity."""
    names = [n for n in names if re.search("[A-Za-z]", n)]
    fitting = (n for n in names if _LIKELY.search(n) and not _NO_LOSS.search(n))
    likely = next(fitting, "NAME")
    has = f"it has {', '.join(names)}; " if names else ""
    return (
        f"{has}log it as val_loss, or if one of its names is the validation loss, add "
        f'"keys": {{"{quantity}": "{likely}"}} to submission.json'
    )
