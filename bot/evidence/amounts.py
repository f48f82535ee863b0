"""How much text a step trains on and a validation reads, by the settings of a run.

    validation({"eval_iters": 20, "eval_batch_size": 8, "seq_len": 1024}, 1, "the log")
    step_tokens(settings, tokens, 8, "the log")

Shared by logs, W&B and results files, like `bot.evidence.second`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bot.compute.paces import Series
from bot.evidence.second import BATCHES, SEQUENCES, first_of, last_part, words
from bot.model.run import Witness, WitnessKind
from bot.render.untrusted import plain

_EVAL = "(?:val|valid|validation|eval|evaluation)"
_PASSES = re.compile(
    rf"^(?:max_|num_|n_|limit_)?{_EVAL}_(?:num_|max_|n_)?(?:iters|iterations|batches|num_batches)$"
    rf"|^(?:max|num|n)_{_EVAL}_steps$|^{_EVAL}_(?:num|max|n)_steps$"
)
_SEQUENCES = re.compile(
    rf"^(?:max_|num_|n_)?{_EVAL}_(?:num_|max_|n_)?(?:samples|sequences|seqs|examples)$"
)
_BYTES = re.compile(rf"^(?:max_|num_|n_)?{_EVAL}_(?:max_|num_|n_)?(?:bytes|chars|characters)$")
_PLANNED = re.compile(
    r"^(?:total|max_train|num_train|target)_tokens$|^(?:total_)?train(?:ing)?_tokens$"
    r"|^(?:train(?:ing)?_)?token_budget$|^total_train(?:ing)?_tokens$"
)
_LEAVES_OUT = frozenset("filter filtered skip exclude excluded drop dropped ignore".split())
_OFF = frozenset(("", "none", "null", "false", "no", "off", "0"))
_SHARE = re.compile(
    rf"^limit_{_EVAL}_batches$|^{_EVAL}_(?:subset|subsample)(?:_(?:fraction|frac|ratio|share))?$"
)
_BATCH = re.compile(
    rf"^(?:per_(?:device|gpu)_)?{_EVAL}_(?:micro_|device_)?batch(?:_size|_tokens|_size_tokens)?"
    r"(?:_per_(?:device|gpu))?$"
)
_OF_ONE = re.compile(r"device|gpu|micro|local")
_SAMPLES = ("batch_size", "micro_batch_size", "device_batch_size", "micro_batch", "batch")
_IN_TOKENS = 8192
"""A batch of so many and a multiple of the length counts tokens."""
_PARENTS = frozenset("val valid validation eval evaluation".split())
_ACCUMULATION = re.compile(r"accum|micro_?steps|micro_?batches")


def validation(settings: Mapping[str, float], chips: int | None, where: str) -> Iterator[Witness]:
    """The tokens of a validation by its batches or samples: at the most, where a batch in samples
    may be that of one device. The tokens of the whole training that were planned."""
    length = first_of(settings, ("eval_seq_len", "val_seq_len", *SEQUENCES))
    for name, value in settings.items():
        last, tokens, source = _within(name), None, f"`{plain(name, 40)}` in {where}"
        if _SHARE.search(last) and value <= 1:
            yield Witness("validation_share", value, WitnessKind.PROGRAM, source)
        elif _PASSES.search(last) and value >= 1 and value == int(value):
            batch = _batch(settings, length, chips or 1)
            tokens = None if batch is None else value * batch
        elif _SEQUENCES.search(last) and length:
            tokens = value * length
        elif _BYTES.search(last):
            tokens = value  # a token has a byte at the least
        elif _PLANNED.search(last):
            yield Witness("planned_tokens", value, WitnessKind.PROGRAM, source)
        if tokens is not None:
            yield Witness("validation_tokens", tokens, WitnessKind.PROGRAM, source)


def leaves_out(name: str, value: object) -> bool:
    """Whether a setting leaves out a part of the validation text."""
    parts = set(words(name).split("_"))
    given = str(value).strip().lower() not in _OFF
    return given and bool(parts & _LEAVES_OUT) and bool(parts & _PARENTS)


def _within(name: str) -> str:
    """The last part of a name; below `eval` or the like, with that word before it."""
    last, *parents = reversed(re.split(r"[./]", name))
    parent = words(parents[0]) if parents else ""
    return f"{parent}_{words(last)}" if parent in _PARENTS else words(last)


def _batch(settings: Mapping[str, float], length: float | None, chips: int) -> float | None:
    """The tokens of one batch of the validation, else of the training."""
    own = next((n for n in settings if _BATCH.search(_within(n))), None)
    name = own or next((n for n in settings if last_part(n) in _SAMPLES), None)
    name = name or next((n for n in settings if last_part(n) in BATCHES), None)
    if name is None:
        return None
    value, last = settings[name], last_part(name)
    whole = length is not None and value >= _IN_TOKENS and value % length == 0
    in_tokens = whole or "tokens" in last
    of_all = (in_tokens or last in BATCHES) and not _OF_ONE.search(last)
    if not in_tokens and length is None:
        return None
    return value * (1 if in_tokens else length or 1) * (1 if of_all else chips)


def step_tokens(
    settings: Mapping[str, float], tokens: Series, chips: int | None, where: str
) -> Iterator[Witness]:
    """The tokens of one step: as counted, and as each stated batch makes them, in every way that
    it may be meant. A track may say how many they are."""
    counted = sorted(dict(tokens).items())
    if len(counted) > 1 and counted[-1][0] > counted[0][0]:
        each = (counted[-1][1] - counted[0][1]) / (counted[-1][0] - counted[0][0])
        yield Witness("step_tokens", each, WitnessKind.PROGRAM, f"the count of tokens in {where}")
    lengths = list(dict.fromkeys(v for n, v in settings.items() if last_part(n) in SEQUENCES))
    for name, batch in settings.items():
        last, source = last_part(name), f"`{plain(name, 40)}` in {where}"
        of_one = last in _SAMPLES
        if not (of_one or last in BATCHES) or _PARENTS & set(words(name).split("_")):
            continue
        in_tokens = "tokens" in last or batch >= 16 * _IN_TOKENS
        quantity = "part_tokens" if of_one else "step_tokens"
        for unit in (1.0,) if in_tokens else lengths[:4]:
            for times in (1.0,) if of_one else sorted(factors(settings, chips))[:8]:
                yield Witness(quantity, batch * unit * times, WitnessKind.PROGRAM, source)


def factors(settings: Mapping[str, float], chips: int | None) -> frozenset[float]:
    """By what a batch of one device and one pass is multiplied: devices, accumulation, both."""
    passes = [v for n, v in settings.items() if _ACCUMULATION.search(words(n))]
    devices = float(chips or 1)
    return frozenset({1.0, devices, *passes, *(devices * v for v in passes)})
