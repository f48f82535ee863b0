"""What the names in a log mean, and its numbers: losses, steps, clocks with their units.

A training loss is not a validation loss: a bare `loss` is the training's, unless its line says that
it is a validation. A clock has a unit, in its value (`71.0s`) or in its name (`train_time_ms`).
"""

from __future__ import annotations

import functools as ft
import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from bot.model.track import Keys

STEP, TOTAL, LOSS, TRAIN, BPB, CLOCK = "step", "total", "val_loss", "train_loss", "bpb", "clock"
EPOCH = "epoch"

_KNOWN: Mapping[str, tuple[str, ...]] = {
    STEP: (
        "step", "steps", "global_step", "iter", "iters", "iteration", "it", "train_step",
        "training_step", "trainer_global_step", "train_global_step", "num_updates", "update",
        "updates", "current_steps", "current_step", "valid_num_updates", "train_num_updates",
        "iter_num", "n_iter", "optimizer_step",
    ),
    TOTAL: ("total_steps", "max_steps", "num_iterations", "train_steps", "max_iters", "num_steps"),
    LOSS: (
        "val_loss", "valid_loss", "validation_loss", "validate_loss", "eval_loss", "dev_loss",
        "loss_val", "loss_valid", "loss_validation", "loss_eval", "tel", "val_lm_loss",
        "valid_nll_loss", "validation_lm_loss", "val_ce_loss",
    ),
    TRAIN: (
        "train_loss", "training_loss", "trn_loss", "loss_train", "loss", "lm_loss", "trl",
        "lm_loss_value",
    ),
    BPB: ("bpb", "val_bpb", "valid_bpb", "validation_bpb", "eval_bpb"),
    CLOCK: ("train_time", "training_time", "total_training_time", "total_train_time"),
    EPOCH: ("epoch", "ep", "train_epoch", "training_epoch"),
}  # fmt: skip
_MEANING = {name: meaning for meaning, names in _KNOWN.items() for name in names}
_SECONDS = {
    "ms": 0.001, "msec": 0.001, "milliseconds": 0.001, "millis": 0.001, "s": 1.0, "sec": 1.0,
    "secs": 1.0, "second": 1.0, "seconds": 1.0, "m": 60.0, "min": 60.0, "mins": 60.0,
    "minutes": 60.0, "h": 3600.0, "hr": 3600.0, "hours": 3600.0, "us": 1e-6,
}  # fmt: skip
UNITS = "|".join(sorted(_SECONDS, key=len, reverse=True))
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?", re.ASCII)
_AMOUNT = re.compile(
    r"(\d{1,3}(?:[,_]\d{3}){1,4}(?:\.\d{1,9})?|\d{1,15}(?:\.\d{1,9})?)\s?([kKMBGT%]?)", re.ASCII
)
_MANY = {"K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12}
_NOT_FINITE = re.compile(r"[-+]?(?:nan|inf|infinity)", re.IGNORECASE)
_PLAIN_CLOCK = re.compile(rf"([-+]?\d+(?:\.\d+)?) ?({UNITS})?", re.ASCII)
_GROUPED = re.compile(r"\d{1,3}(?:[,_']\d{3})+(?:\.\d+)? ?ms|\d{1,3}(?:[,_']\d{3})+\.\d+ ?s")
_PARTS = re.compile(
    r"(?:(\d{1,4})h(?:ours?)?)? ?(?:(\d{1,6})m(?:in)?)? ?(?:(\d{1,9}(?:\.\d+)?)s(?:ec)?)?", re.ASCII
)
_COLONS = re.compile(r"(?:(\d{1,4}):)?(\d{1,6}):(\d\d(?:\.\d+)?)", re.ASCII)


_SHORT = re.compile(
    r"((?<![a-z])(?:step|iter|iteration)s?[ :=]{1,2}|(?<=[\dk])/)"
    r"(\d{1,6}(?:\.\d{1,6})?)k(?=[\s,;|/]|$)",
    re.I,
)
VALIDATION = re.compile(
    r"(?<![a-z])(?:val|valid|validation|validate|validating|eval|evaluation|evaluating|dev)(?![a-z])",
    re.IGNORECASE,
)
"""What says that a loss is a validation's."""
_QUOTES = str.maketrans("", "", "'\"`")


class Clock(NamedTuple):
    """A clock: its seconds, or why it cannot be read."""

    seconds: float | None
    why: str | None = None


class Names:
    """What the names of one log mean: ours, and those that a track or a submission maps.

    Clocks are mapped by the submission alone: what a track says of W&B's keys has W&B's units.
    """

    def __init__(self, keys: Keys | None = None, mapped: frozenset[str] = frozenset()) -> None:
        self._meaning = dict(_MEANING)
        self._unit: dict[str, float] = {}
        self._own: list[str] = []
        if keys is None:
            return
        for quantity, meaning in (("loss", LOSS), ("bpb", BPB), ("train_loss", TRAIN)):
            self._add(getattr(keys, quantity), meaning, quantity in mapped)
        self._add([name for name in keys.step if name != "_step"], STEP, "step" in mapped)
        self._add(keys.total_steps, TOTAL, "total_steps" in mapped)
        for quantity, seconds in (("time_s", 1.0), ("time_ms", 0.001)):
            if quantity in mapped:
                self._add(getattr(keys, quantity), CLOCK, True)
                self._unit |= {normal(n): seconds for n in getattr(keys, quantity)[:1]}

    def _add(self, names: tuple[str, ...] | list[str], meaning: str, mapped: bool) -> None:
        for place, name in enumerate(names):
            if normal(name) not in _MEANING:
                self._own.append(normal(name))
            if mapped and place == 0:
                self._meaning[normal(name)] = meaning
            else:
                self._meaning.setdefault(normal(name), meaning)

    def mapped_words(self) -> tuple[str, ...]:
        """The names that are not ours, as they may stand in a line."""
        return tuple(name.replace("_", " ").split(" ")[0] for name in self._own)

    def meaning(self, name: str) -> str | None:
        """What a name means, one of the constants above; None for a name of no meaning here."""
        known = self._meaning.get(name)
        if known is None and _with_unit(name)[1] is not None:
            return CLOCK if _MEANING.get(_with_unit(name)[0]) == CLOCK else None
        return known

    def clock(self, name: str, text: str) -> Clock:
        """The seconds of a clock `name: text`."""
        unit = self._unit.get(name) or _with_unit(name)[1]
        return clock(text, unit)


@ft.lru_cache(maxsize=1024)
def _with_unit(name: str) -> tuple[str, float | None]:
    """A name without the unit at its end, and the seconds of that unit."""
    stem, _, unit = name.rpartition("_")
    return (stem, _SECONDS[unit]) if stem and unit in _SECONDS else (name, None)


@ft.lru_cache(maxsize=1024)
def normal(name: str) -> str:
    """A name as it is compared: lower case, with one `_` for what stands between words."""
    plain = name.translate(_QUOTES).strip(" \t*_").lower()
    return re.sub(r"[\s/._:-]+", "_", plain)[:80]


@ft.lru_cache(maxsize=1024)
def number(text: str) -> float | None:
    """A finite number, or NaN for any spelling of a number that is not finite; None otherwise."""
    if len(text) <= 40 and _NUMBER.fullmatch(text):
        value = float(text)
        return value if math.isfinite(value) else math.nan
    return math.nan if len(text) <= 40 and _NOT_FINITE.fullmatch(text) else None


@ft.lru_cache(maxsize=1024)
def amount(text: str) -> float | None:
    """A number that is no loss: also one in per cent, `1.05B`, or with marks between thousands."""
    if (found := _AMOUNT.fullmatch(text.rstrip(",;"))) is None:
        return number(text)
    return float(re.sub("[,_]", "", found[1])) * _MANY.get(found[2].upper(), 1.0)


def clock(text: str, unit: float | None = None) -> Clock:
    """The seconds of a clock as printed: `71000ms`, `71.0s`, `71,000ms`, `1m11.0s`, `1:11.0`.

    `unit` is that of its name, in seconds, for a value without one.
    """
    text = text.strip()
    if len(text) > 40:
        return Clock(None, "is not a clock")
    if match := _PLAIN_CLOCK.fullmatch(text):
        seconds = _SECONDS[match[2]] if match[2] else unit
        if seconds is None:
            return Clock(None, "has no unit")
        value = float(match[1])
        # Division and not a product: 43151 ms are 43.151 s to the last bit.
        return Clock(value / 1000 if seconds == 0.001 else value * seconds)
    if _GROUPED.fullmatch(text):
        return clock(re.sub("[,_']", "", text), unit)
    if (match := _COLONS.fullmatch(text)) or (
        (match := _PARTS.fullmatch(text)) and any(match.groups())
    ):
        hours, minutes, seconds_ = (float(part or 0) for part in match.groups())
        return Clock(3600 * hours + 60 * minutes + seconds_)
    if re.fullmatch(r"\d+,\d+ ?[a-z]{0,4}", text):
        return Clock(None, "has a comma that may be a decimal point")
    return Clock(None, "is not a clock that is read")


def counted(step: str | None, total: str | None) -> tuple[int | None, int | None]:
    """Step and total of `100`, `100/1000` or `1,000`; None unless it is a whole number."""
    first, _, last = (step or "").partition("/")
    return whole(first), whole(last) if last else whole(total or "")


def whole(text: str) -> int | None:
    """A whole number from 0 on, also with marks between thousands."""
    text = text.strip()
    if re.fullmatch(r"\d{1,3}(?:[,_]\d{3}){1,4}", text):
        text = re.sub("[,_]", "", text)
    value = number(text)
    if value is None or not math.isfinite(value) or value < 0 or value != int(value):
        return None
    return int(value) if value < 1e15 else None


def in_full(line: str) -> str:
    """A line whose steps are written out, as in `step 1.5k/10k`."""
    return _SHORT.sub(lambda match: f"{match[1]}{round(float(match[2]) * 1000)}", line)
