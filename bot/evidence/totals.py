"""What a number under any name says of a whole training: its time, devices, steps, tokens, FLOPs.

    total_of("train_tokens_b", 2.0)         Total("tokens", 2e9)
    total_of("gpuHours", 12.0)              Total("device_s", 43200.0)
    total_of("tokens_per_second", 9e5)      None

A name is read by its words, however they are joined; units and multiples are words of it too. A
word that says something else, as of a part of the training or of a rate, makes it nothing here.
Shared by logs, W&B and results files, like `bot.evidence.second`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bot.evidence.second import SEQUENCES, first_of, words
from bot.model.run import Witness, WitnessKind
from bot.render.untrusted import plain

_SCALES: Mapping[str, float] = {
    "k": 1e3, "thousand": 1e3, "thousands": 1e3, "m": 1e6, "mil": 1e6, "million": 1e6,
    "millions": 1e6, "b": 1e9, "bn": 1e9, "billion": 1e9, "billions": 1e9, "t": 1e12,
    "trillion": 1e12, "trillions": 1e12, "giga": 1e9, "tera": 1e12, "peta": 1e15, "exa": 1e18,
    "zetta": 1e21,
}  # fmt: skip
_MOST_SCALED = 1e5
"""A larger number counts ones, whatever letter its name ends in."""
_SECONDS: Mapping[str, float] = {
    "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "min": 60.0, "mins": 60.0,
    "minute": 60.0, "minutes": 60.0, "h": 3600.0, "hr": 3600.0, "hrs": 3600.0, "hour": 3600.0,
    "hours": 3600.0, "day": 86400.0, "days": 86400.0, "ms": 0.001,
}  # fmt: skip
_LETTERS = frozenset("s h ms min k m b t".split())
"""Units that are one only at the end of a name."""
_FLOPS = re.compile(r"([kmgtpez]|giga|tera|peta|exa|zetta)?flo(?:p?s|p)")
_PREFIXES: Mapping[str, float] = {
    "": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15, "e": 1e18, "z": 1e21,
}  # fmt: skip
_BOARD = re.compile(
    r"gpus?|devices?|chips?|tpus?|accelerators?|accels?|cards?|[abhlv]\d{2,3}s?|mi\d{3}x?s?|gb?\d{3}s?"
)
_JOINED = re.compile(r"(gpu|device|chip|tpu|accelerator)s?(hours?|hrs?|h|seconds?|secs?|days?)")
_TOKENS = frozenset("token tokens tok toks ntokens".split())
_STEPS = frozenset("steps iters iterations updates nsteps niters global_step".split())
_STEP = frozenset("step iter iteration update".split())
_BATCH = frozenset("batch bs bsz batchsize".split())
_TIME = frozenset(
    "time duration elapsed runtime wall walltime wallclock clock took hours hrs minutes mins "
    "seconds secs days train training".split()
)
_COUNT = frozenset("n num number count total used all world size final end last overall".split())
_MONEY = frozenset("cost costs usd dollar dollars price spend spent bill billed".split())
_HOURS = frozenset("hour hourly hr h".split())
_NO_TOTAL = frozenset(
    "per each every interval freq frequency rate ratio fraction frac share percent pct avg "
    "average mean median std var speed throughput utilization util mfu val valid validation "
    "eval evals evaluation evaluations test dev heldout holdout sample samples sampling "
    "sampled generate generation gen inference decode prompt warmup warm cooldown decay "
    "anneal annealing schedule scheduler lr learning stable hold ramp rampup cycle cycles "
    "curriculum freeze frozen unfreeze export save saves saving log logs logging print "
    "profile profiler profiling trace checkpoint checkpoints ckpt ckpts data dataset "
    "datasets corpus shard shards file files cache buffer queue prefetch tokenizer vocab "
    "pad padding padded window context ctx seq sequence length len block chunk stride micro "
    "inner outer sub accum accumulate accumulation local ns newton schulz muon polar power "
    "cg backend momentum beta ema swa delay lag wait sleep timeout grace compile "
    "compilation startup init setup load loading download start begin initial offset resume "
    "resumed skip skipped dropped remaining left eta estimate estimated expected projected "
    "previous prev prior old baseline record reference ref target goal threshold next since "
    "until best quota available visible reserved requested idle unused free memory mem "
    "bytes byte mb gb gib id ids index idx rank port seed host hosts name type kind version "
    "theoretical achieved worker workers loader thread threads cpu cpus core cores head "
    "heads layer layers expert experts dim epoch epochs node nodes slice slices retry "
    "retries attempt patience log2 exit forward backward communication comm sync barrier "
    "watch heartbeat refresh poll reset special mask masked loss ppl grad norm position "
    "positions alpha order sketch sdpa flash tile kernel group groups draft stop saved ttl "
    "expire date stamp timestamp zone moving".split()
)
_BUDGET = frozenset("max min limit budget cap allowed planned plan".split())
"""A run may use less of what these words allow."""
_OF_A_CHIP = frozenset("peak device chip gpu promised dense".split())
_COUNTED = frozenset("steps tokens batch batch_tokens".split())
_OF_THE_CLIENT = ("_wandb", "_step", "_runtime", "_timestamp")
OF_WORDS = ("whole_", "meant_")
"""What the quantities of these statements begin with: what a run is, and what it set out for."""
IN_TOKENS = 16 * 8192
"""A batch of so many counts tokens."""


class Total(NamedTuple):
    """A quantity of a whole training: `seconds`, `device_s`, `steps`, `tokens`, `batch`,
    `batch_tokens`, `flops`, `chips` or `dollars`; `allowed` says that it is what a run may use."""

    quantity: str
    value: float
    allowed: bool = False


def total_of(name: str, value: float) -> Total | None:
    """What a number says of the whole training by the words of its name; None for every other."""
    parts = _words(name)
    found = frozenset(parts)
    if not parts or found & _NO_TOTAL or name.startswith(_OF_THE_CLIENT):
        return None
    kind, unit = _kind(parts, found)
    if kind in _COUNTED and value >= _MOST_SCALED:
        unit = None
    # What ends in `min` is in minutes.
    allowed = bool(_BUDGET & frozenset(parts[:-1] if parts[-1] == "min" else parts))
    return None if kind is None else Total(kind, value * (unit or 1.0), allowed)


def matters(name: str) -> bool:
    """Whether a name says something of a whole training, or the price of an hour."""
    return total_of(name, 1.0) is not None or _is_price(name)


def _words(name: str) -> list[str]:
    """The words of a name; `gpuhours` are two."""
    split = words(re.sub(r"(?<=[A-Z])(?=[A-Z][a-z]{2})", "_", name)).split("_")
    joined = ((word, _JOINED.fullmatch(word)) for word in split)
    return [part for word, match in joined for part in (match.groups() if match else (word,))]


def _kind(parts: Sequence[str], found: frozenset[str]) -> tuple[str | None, float | None]:
    """Which quantity the words name, and its unit; None for none."""
    boards = [word for word in parts if _BOARD.fullmatch(word)]
    seconds = _unit(parts, _SECONDS)
    flops = next((m for word in parts if (m := _FLOPS.fullmatch(word))), None)
    if found & _MONEY:
        return (None if found & _HOURS else "dollars"), None
    if flops is not None:
        days = 86400.0 if found & {"day", "days"} else 1.0
        times = _PREFIXES[(flops[1] or "")[:1]] * (_unit(parts, _SCALES) or 1.0)
        return (None if found & _OF_A_CHIP else "flops"), days * times
    if found & _BATCH or found & _TOKENS:
        tokens = "batch_tokens" if found & _BATCH else "tokens"
        return (tokens if found & _TOKENS else "batch"), _unit(parts, _SCALES)
    if boards and seconds is not None:
        return "device_s", seconds
    if found & _STEPS or (found & _STEP and found & _COUNT):
        return "steps", _unit(parts, _SCALES)
    if boards and (found & _COUNT or boards[-1].endswith("s")):
        return "chips", None
    return ("seconds", seconds) if found & _TIME and seconds is not None else (None, None)


def _unit(parts: Sequence[str], units: Mapping[str, float]) -> float | None:
    """The unit among some words, the last one; a letter is one at the end alone."""
    for place, word in reversed([*enumerate(parts)]):
        if word in units and (word not in _LETTERS or 0 < place == len(parts) - 1):
            return units[word]
    return None


def planned(settings: Mapping[str, float], where: str) -> Iterator[Witness]:
    """What settings say of the whole: of steps and tokens it is a plan."""
    for name, total in _totals(settings):
        if total.quantity in ("batch", "batch_tokens", "dollars"):
            continue
        plan = total.quantity in ("steps", "tokens")
        if plan or not total.allowed:
            yield _said(
                f"{'meant' if plan else 'whole'}_{total.quantity}", total.value, name, where
            )
    yield from _batches(settings, where)


def done(
    values: Mapping[str, float], settings: Mapping[str, float], where: str
) -> Iterator[Witness]:
    """What a run says at its end that it did; what it cost by the price of an hour."""
    prices = [(n, v) for n, v in {**settings, **values}.items() if _is_price(n)]
    for name, total in _totals(values):
        if total.allowed or total.quantity in ("batch", "batch_tokens"):
            continue
        yield _said(f"whole_{total.quantity}", total.value, name, where)
        for price, dollars in prices if total.quantity == "dollars" else ():
            of_one = any(_BOARD.fullmatch(word) for word in _words(price))
            kind = "whole_device_s" if of_one else "whole_seconds"
            yield _said(kind, 3600.0 * total.value / dollars, name, where)


def _totals(values: Mapping[str, float]) -> Iterator[tuple[str, Total]]:
    for name, value in values.items():
        if (total := total_of(name, value)) is not None and total.value > 0:
            yield name, total


def _batches(settings: Mapping[str, float], where: str) -> Iterator[Witness]:
    """The tokens of a stated batch of any name, at the least."""
    length = first_of(settings, SEQUENCES)
    for name, total in _totals(settings):
        in_tokens = total.quantity == "batch_tokens" or total.value >= IN_TOKENS
        if total.quantity in ("batch", "batch_tokens") and (in_tokens or length):
            tokens = total.value * (1.0 if in_tokens else length or 1.0)
            yield _said("whole_batch_tokens", tokens, name, where)


def _said(quantity: str, value: float, name: str, where: str) -> Witness:
    source = f"`{plain(name, 40)}` in {where}"
    return Witness(quantity, value, WitnessKind.PROGRAM, source)


def _is_price(name: str) -> bool:
    """Whether a number is the dollars of an hour."""
    found = frozenset(_words(name))
    return bool(found & (_MONEY | {"rate"}) and found & _HOURS)
