"""Names under which a run says a second time what it measures, and what is made of them.

    kind_of("train/dt_ms")              Second("duration", 0.001)
    witnesses(readings, clock, ...)     every second clock as a statement of the training time

One list of names for logs and W&B: whoever writes a number beside the one that ranks is a witness
of it. A name that is not known here is nothing.
"""

from __future__ import annotations

import functools as ft
import itertools
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from bot.compute.paces import (
    LEAST_INTERVALS,
    Series,
    implied_by_clock,
    implied_by_durations,
    implied_by_jitter,
    within,
)
from bot.model.run import Witness, WitnessKind
from bot.render.untrusted import plain

_SPLIT = re.compile(r"[\s/._:@()-]+|(?<=[a-z])(?=[A-Z])")
_UNITS: Mapping[str, float] = {
    "ms": 0.001, "msec": 0.001, "millis": 0.001, "s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0,
    "min": 60.0, "mins": 60.0, "minutes": 60.0, "h": 3600.0, "hours": 3600.0, "us": 1e-6,
}  # fmt: skip
_UNIT_WORDS = re.compile(r"^(ms|s|sec|seconds)_(?:per_)?(?:step|it|iter|iteration|batch)$")
_DURATION = re.compile(
    r"(?:^|_)(?:dt|(?:step|iter|iteration|batch)_(?:time|duration|dt|avg|latency)"
    r"|(?:time|duration)_per_(?:step|iter|iteration|batch)|sec_per_(?:step|iter)"
    r"|ms_per_(?:step|iter)|throughput_duration|perf_step)$"
)
_CLOCK = re.compile(
    r"(?:^|_)(?:wall|walltime|wallclock|wall_time|wall_clock|wall_clock_time|elapsed|elapsed_time"
    r"|time_elapsed|total_time|total_elapsed|timestamp|unix_time|uptime|runtime|run_time"
    r"|time_since_start|time_spent|time_total|cumulative_time|total_train(?:ing)?(?:_time)?"
    r"|train(?:ing)?_(?:duration|time_total)|(?:^|_)training)$"
)
_SECOND = r"s(?:ec(?:ond)?)?(?:/(?:gpu|device|chip|rank)|_per_(?:gpu|device|chip|rank))?$"
_RATES: Mapping[str, re.Pattern[str]] = {
    "rate": re.compile(rf"(?:^|[\W_])(?:(?:tokens?|toks?)(?:_per_|/|_){_SECOND}|tps$)"),
    "pace": re.compile(
        rf"(?:^|[\W_])(?:(?:it|its|iters?|iterations?|steps?|batch|batches|updates?)(?:_per_|/)"
        rf"|(?:its|iters|iterations|steps|batches|updates)_){_SECOND}"
    ),
    "samples": re.compile(
        rf"(?:^|[\W_])(?:(?:samples?|seqs?|sequences?|examples?)(?:_per_|/)"
        rf"|(?:samples|seqs|sequences|examples)_){_SECOND}"
    ),
}
"""Tokens, steps and samples a second, by the name in lower case."""
_ELSEWHERE = frozenset(
    "val valid validation eval evaluation data load loading compile forward fwd backward bwd "
    "optimizer checkpoint ckpt save hook sample sampling comm gpu ema".split()
)
_PARTS: Mapping[str, str] = {
    "forward": "forward", "fwd": "forward", "backward": "backward", "bwd": "backward",
    "optimizer": "optimizer", "optim": "optimizer",
}  # fmt: skip
"""Words for the parts of a step that follow each other."""
_NO_PART = frozenset("val valid validation eval evaluation compile ckpt checkpoint total".split())
PASSES = "micro_batches"
"""What a counter of the parts of a step is called, such as `iter` beside `step` on one line."""
STEP_ENDS = frozenset({"step", "global_step", "iter", "iteration", "update", "updates"})
_NO_STEPS = frozenset("micro inner outer eval val epoch batch accum save log warmup".split())
LENGTHS = frozenset(
    "max_steps num_steps total_steps train_steps num_train_steps training_steps max_train_steps "
    "max_iters num_iterations num_iters n_steps total_iterations train_iters max_iterations "
    "total_train_steps num_training_steps iterations train_iterations max_updates".split()
)
_SHORT_LENGTHS = frozenset({"steps", "iters"})
ACCUMULATION = re.compile(
    r"^(?:grad(?:ient)?_)?accum(?:ulation|ulate)?(?:_grad_batches|_steps|_iters)?$"
)
BATCHES = frozenset(
    "global_batch_size total_batch_size train_batch_size tokens_per_step batch_tokens "
    "tokens_per_batch global_batch_tokens batch_size_tokens tokens_per_iter tokens_per_update "
    "tokens_per_iteration tokens_per_train_step tokens_per_optimizer_step".split()
)
SEQUENCES = ("seq_len", "train_seq_len", "max_seq_len", "sequence_length", "block_size",
             "context_length", "seq_length")  # fmt: skip


_AROUND, _START_S = 1.5, 900.0
"""A job takes so many times its training clock at the most, validations and checkpoints in it, and
so long for start-up, compilation and what comes after the training."""


def longest_job(training_s: float, start_s: float = _START_S) -> float:
    """The longest that a job may take whose training clock says so many seconds, where nothing
    accounts for more."""
    return _AROUND * training_s + start_s


class Second(NamedTuple):
    """What a name states again: a `duration` of a step or of a `part` of it, a `clock` that runs
    on, a `rate` of tokens, a `pace` of steps, or `samples` a second; `unit` in seconds is None if
    the name has none."""

    kind: str
    unit: float | None


def words(name: str) -> str:
    """A name in lower case with one `_` between its words."""
    return "_".join(part.lower() for part in _SPLIT.split(name) if part)[:100]


def last_part(name: str) -> str:
    """The last part of a dotted or slashed name, in words."""
    return words(re.split(r"[./]", name)[-1])


@ft.lru_cache(maxsize=1024)
def kind_of(name: str) -> Second | None:
    """Which second clock a name is; None for every other."""
    plain_name = words(name)
    if match := _UNIT_WORDS.match(plain_name):
        return Second("duration", _UNITS[match[1]])
    lower = re.sub(r"\s+", "_", name.strip().lower())
    for kind, form in _RATES.items():
        if form.search(lower) or form.search(plain_name):
            elsewhere = (_ELSEWHERE - {"gpu"}) & set(plain_name.split("_"))
            return None if elsewhere else Second(kind, None)
    stem, _, end = plain_name.rpartition("_")
    unit = _UNITS.get(end)
    base = stem if unit is not None and stem else plain_name
    if unit is not None and _part_of(base) is not None:
        return Second("part", unit)
    if _ELSEWHERE & set(base.split("_")):
        return None
    if _DURATION.search(base):
        return Second("duration", unit or (0.001 if base.startswith("ms_per") else None))
    if _CLOCK.search(base):
        return Second("clock", unit)
    return None


def _part_of(base: str) -> str | None:
    """Which part of a training step a name in words times; None for every other."""
    parts = set(base.split("_"))
    return None if parts & _NO_PART else next((_PARTS[p] for p in _PARTS if p in parts), None)


def is_time_of_validation(name: str) -> bool:
    """Whether a name is what a validation took."""
    parts = set(words(name).split("_"))
    return bool(parts & _VALIDATES) and bool(parts & _TIMED) and not parts & {"loss", "step"}


_VALIDATES = frozenset("val valid validation eval evaluation test".split())
_TIMED = frozenset("time duration took ms s sec seconds elapsed".split())


def may_be_clock(name: str) -> bool:
    """Whether a number of a name that says nothing else may be a clock."""
    return not name.startswith("_") and not _NO_CLOCK & set(words(name).split("_"))


_NO_CLOCK = _ELSEWHERE | frozenset(
    "loss lr step steps iter iteration epoch token tokens sample samples energy joules joule kwh "
    "wh power watt watts cost usd dollars price co2 carbon emissions hours chip device flops flop "
    "ppl norm memory mem bytes eta remaining left".split()
)


def counts_steps(name: str) -> bool:
    """Whether a name of a history counts training steps."""
    parts = words(name).split("_")
    ends = parts[-1] in STEP_ENDS or words(name) in STEP_ENDS
    return ends and not name.startswith("_") and not _NO_STEPS & set(parts)


def states_length(name: str) -> bool:
    """Whether a setting is the planned number of steps."""
    last, parents = last_part(name), set(words(name).split("_"))
    if _NO_STEPS & parents or "lr" in parents or "scheduler" in parents:
        return False
    whole = re.split(r"[./]", name)
    return last in LENGTHS or (
        last in _SHORT_LENGTHS
        and (len(whole) == 1 or words(whole[-2]) in ("train", "trainer", "training", "argv"))
    )


def clock_witnesses(
    readings: Mapping[str, Series],
    clock: Series,
    validations: Collection[int],
    where: str,
    kinds: Mapping[str, WitnessKind] | None = None,
) -> Iterator[Witness]:
    """Every second clock among named series, as the training time that it makes of the run."""
    yield from _parts_together(readings, clock, where)
    for name, series in readings.items():
        second = kind_of(name)
        if second is None and may_be_clock(name):
            value = implied_by_jitter(clock, series, (1.0, 0.001, 60.0, 3600.0))
            if value is not None:
                source = f"`{plain(name, 40)}` in {where}, which rises as the clock does,"
                yield Witness("elapsed_s", value, WitnessKind.PROGRAM, source)
        if second is None or second.kind in _RATES or second.kind == "part":
            continue
        kind = (kinds or {}).get(name, WitnessKind.PROGRAM)
        source = f"`{plain(name, 40)}` in {where}"
        if second.kind == "duration":
            halves = (second.unit,) if second.unit else (1.0, 0.001)
            value = implied_by_durations(clock, series, halves)
            if value is not None:
                yield Witness("training_time_s", value, kind, source)
            continue
        known = second.unit or (1.0 if name.startswith("_") else None)
        units = (known,) if known else (1.0, 0.001, 60.0, 3600.0)
        implied = implied_by_clock(clock, series, validations, units)
        if implied is not None:
            quantity = "elapsed_s" if implied.bare else "wall_time_s"
            yield Witness(quantity, implied.seconds, kind, source)
        elif second.unit and 0 < len(series) <= LEAST_INTERVALS:
            yield Witness("whole_time_s", max(series)[1] * second.unit, kind, source)


def _parts_together(readings: Mapping[str, Series], clock: Series, where: str) -> Iterator[Witness]:
    """The training time by the parts of a step, if these take longer than the steps themselves."""
    named, found = dict[str, str](), dict[str, dict[int, float]]()
    for name, series in readings.items():
        second = kind_of(name)
        if second is not None and second.kind == "part" and second.unit is not None:
            part = _part_of(words(name).rpartition("_")[0]) or name
            if named.setdefault(part, name) == name:
                found[part] = {step: value * second.unit for step, value in series}
    steps = set.intersection(*map(set, found.values())) if found else set()
    whole = [(step, math.fsum(part[step] for part in found.values())) for step in sorted(steps)]
    value = implied_by_durations(clock, whole, (1.0,)) if whole else None
    if value is not None and value > max(time for _, time in clock):
        told = " + ".join(f"`{plain(name, 40)}`" for name in named.values())
        yield Witness("training_time_s", value, WitnessKind.PROGRAM, f"{told} in {where}")


def work_of(
    tokens: Series, settings: Mapping[str, float], chips: int | None
) -> Mapping[str, tuple[float, ...]]:
    """What a step may count of each kind that a rate counts: of all devices, of one, in thousands;
    nothing of a kind whose size no counter and no setting says."""
    each = frozenset({1.0, 1 / max(chips or 1, 1)})
    lengths = [v for n, v in settings.items() if last_part(n) in SEQUENCES]
    batches = {v for n, v in settings.items() if last_part(n) in BATCHES}
    passes = {1.0, *(v for n, v in settings.items() if ACCUMULATION.search(last_part(n)))}
    counted = sorted(dict(tokens).items())
    if len(counted) > 1 and counted[-1][1] > counted[0][1]:
        seen = {(counted[-1][1] - counted[0][1]) / (counted[-1][0] - counted[0][0])}
    else:
        seen = batches | {b * length for b in batches for length in lengths}
    samples = batches | {n / length for n in batches | seen for length in lengths}
    return {
        "rate": tuple(n * e * k for n in seen for e in each for k in (1.0, 0.001)),
        "pace": tuple(passes),
        "samples": tuple(n * e for n in samples for e in each),
    }


def rate_witnesses(
    readings: Mapping[str, Series],
    clock: Series,
    work: Mapping[str, Sequence[float]],
    validations: Collection[int],
    where: str,
) -> Iterator[Witness]:
    """Tokens, steps or samples a second as the training time that they make of the run, the one
    that is nearest to its clock: since the line before, or since the start."""
    total, stops = max(clock, default=(0, 0.0))[1], sorted(validations)
    for name, series in readings.items():
        second = kind_of(name)
        units = () if second is None else work.get(second.kind, ())
        durations = sorted((step, 1 / rate) for step, rate in dict(series).items() if rate > 0)
        if not units or not durations or total <= 0:
            continue
        found = list[tuple[str, float]]()
        bare = [
            (step, d)
            for (before, _), (step, d) in itertools.pairwise(durations)
            if not within(stops, before, step)
        ]
        chosen, quantity = (
            (bare, "training_time_s")
            if len(bare) >= LEAST_INTERVALS
            else (durations, "wall_time_s")
        )
        value = implied_by_durations(clock, chosen, units)
        found += [] if value is None else [(quantity, value)]
        since = [(step, step * d) for step, d in durations]
        if all(b >= a for (_, a), (_, b) in itertools.pairwise(since)):
            run_on = implied_by_clock(clock, since, validations, units)
            if run_on is not None:
                found.append(("elapsed_s" if run_on.bare else "wall_time_s", run_on.seconds))
        if found:
            quantity, value = min(found, key=lambda item: abs(math.log(max(item[1], 1e-9) / total)))
            yield Witness(quantity, value, WitnessKind.PROGRAM, f"`{plain(name, 40)}` in {where}")


def larger(
    values: Mapping[str, float], than: float, quantity: str, where: str
) -> Iterator[Witness]:
    """Settings that state more of a quantity than was counted."""
    for name, value in values.items():
        if value > 1.01 * than + 2:
            yield Witness(quantity, value, WitnessKind.PROGRAM, f"`{plain(name, 40)}` in {where}")


def steps_by_batch(
    settings: Mapping[str, float], tokens: Series, steps: int, where: str
) -> Iterator[Witness]:
    """The steps that the tokens make by a stated batch of all devices, where they are more."""
    counted = sorted(dict(tokens).items())
    lengths = [v for n, v in settings.items() if last_part(n) in SEQUENCES]
    batches = {n: v for n, v in settings.items() if last_part(n) in BATCHES and v > 0}
    if len(counted) < 2 or counted[-1][0] <= counted[0][0]:
        return
    (begin, first), (end, last) = counted[0], counted[-1]
    each = (last - first) / (end - begin)
    for name, batch in batches.items():
        fits = [batch, *(batch * length for length in lengths)]
        if each > 1.01 * max(fits):
            value = steps * each / max(fits)
            source = f"the tokens and `{plain(name, 40)}` in {where}"
            yield Witness("steps", round(value), WitnessKind.PROGRAM, source)
            return
        if all(abs(each / fit - 1) > 0.01 for fit in fits) and len(fits) > 1:
            return


def numbers_of(settings: Mapping[str, object]) -> dict[str, float]:
    """The settings that are positive numbers."""
    return {
        name: float(value)
        for name, value in settings.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e18
    }


def first_of(settings: Mapping[str, float], names: Sequence[str] | Collection[str]) -> float | None:
    """The first setting whose last part is one of some names."""
    return next((v for n, v in settings.items() if last_part(n) in names), None)
