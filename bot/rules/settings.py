"""The configuration in a results file against the numbers that stand beside it.

Part of the rule `witnesses-disagree`. Names are those that logs and W&B histories are read by
(`bot.evidence.counters`, `bot.evidence.second`, `bot.evidence.warm`); most of what is compared
follows from an identity, whatever the setting is called. All are warnings.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bot.compute import metrics
from bot.compute.shapes import KNOWN_PRECISIONS, precision_of
from bot.evidence import amounts, beside, counters, epochs, jobs, parallel, second, warm
from bot.model.case import Case
from bot.model.document import at
from bot.model.results import ResultsRun
from bot.model.run import Witness
from bot.model.track import LOSS_METRICS
from bot.model.values import positive
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.numbers import figure
from bot.render.untrusted import plain
from bot.rules.other_texts import may_be_of_track

_SECTIONS = ("train_config", "model_config", "resources", "hardware_config")
_MOST, _DEEPEST = 400, 6
_PART = re.compile(r"(?:^|_)(?:warm_?up|cool_?down|decay|stable|hold|rampup|ramp_up|anneal)(?:_|$)")
_SHARE = re.compile(r"weight|rate|ratio|fraction|frac|factor|beta|ema|share|lr_decay$")
_EACH = re.compile(r"per_(?:device|gpu|chip)(?:_|$)")
_ELSEWHERE = frozenset("eval evaluation val validation test profiler profile log export".split())
_PACE, _SHARE_OFF, _LEAST_LOSS = 0.85, 0.1, 1e-3


class Said(NamedTuple):
    """A setting that does not go with the rest: its name, what is wrong, and both values."""

    name: str
    message: str
    claimed: float | None = None
    expected: float | None = None


def settings_contradict(case: Case) -> Iterator[Finding]:
    """Settings of results files that contradict what the files count, the first of each name."""
    for run in () if case.brought_over else case.results:
        told = set[str]()
        for said in _all(case, run):
            if said.name not in told:
                told.add(said.name)
                yield _finding(run, said)


def flat(value: object, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """The settings of nested objects by their dotted names."""
    if isinstance(value, Mapping) and depth < _DEEPEST:
        for name, item in value.items():
            yield from flat(item, f"{prefix}{name}.", depth + 1)
    elif isinstance(value, str | int | float):
        yield prefix[:-1], value


def _all(case: Case, run: ResultsRun) -> Iterator[Said]:
    parts = {name: run.section(name) for name in _SECTIONS}
    settings = dict(list(flat(parts))[:_MOST])
    every = second.numbers_of(settings)
    numbers = {
        name: value
        for name, value in every.items()
        if not _ELSEWHERE & set(second.words(name).split("_"))
    }
    yield from _amounts(case, run, every)
    yield from _losses(case, run)
    yield from _jobs(run)
    steps = positive(run.section("train_config").get("num_train_steps"))
    if steps is not None:
        yield from _lengths(numbers, steps)
        yield from _whole(dict(list(flat(run.outer))[:_MOST]), run, steps)
    yield from _devices(case, run, numbers)
    yield from _precision(run, settings)
    other = warm.setting_of(settings)
    if other is not None:
        yield Said(other.partition(":")[0], f"the run {warm.SAYS}: {other}")


def _named(w: Witness) -> str:
    """The setting that a statement stands in."""
    return w.source.partition("`")[2].partition("`")[0]


def _lengths(numbers: Mapping[str, float], steps: int) -> Iterator[Said]:
    """Plans, schedules and parts of the training that are longer than the run, and updates within
    its steps."""
    shown = f"the file counts {steps:,} steps"
    by_epochs = epochs.planned(numbers, steps, (), None, "the file")
    for w in itertools.chain(counters.stated(numbers, steps, None, "the file"), by_epochs):
        name = _named(w)
        if w.quantity in ("updates", "schedule", "short_plan", "total_steps"):
            what = {"updates": "makes", "schedule": "sets out for"}.get(w.quantity, "plans")
            message = f"`{name}` {what} {figure(float(w.value))}, but {shown}"
            yield Said(name, message, float(w.value), steps)
    for name, value in numbers.items():
        last = second.last_part(name)
        part = _PART.search(last) and not _SHARE.search(last)
        if (part or second.states_length(name)) and value > 1.01 * steps + 2:
            message = f"`{plain(name)}` is {figure(value)}, but {shown}"
            yield Said(name, message, value, steps)


def _amounts(case: Case, run: ResultsRun, numbers: Mapping[str, float]) -> Iterator[Said]:
    """A smaller validation than the track's, and another batch where the track fixes it."""
    least, batch = case.track.validation_tokens, case.track.batch_tokens
    chips = metrics.devices_of(run).chips
    for w in counters.stated(numbers, 0, chips, "the file"):
        name, value = _named(w), float(w.value)
        if w.quantity == "validation_share" and value < 1:
            yield Said(name, f"`{name}` validates on {value:.3g} of the validation text", value, 1)
        if w.quantity == "validation_tokens" and least is not None and value < least:
            message = f"`{name}` validates on {figure(value)} tokens, but the track on {least:,}"
            yield Said(name, message, value, least)
    stated = list(amounts.step_tokens(numbers, (), chips, "the file")) if batch else []
    if batch and stated and all(abs(float(w.value) / batch - 1) > 0.01 for w in stated):
        name, value = _named(stated[0]), float(stated[0].value)
        message = (
            f"`{name}` makes {figure(value)} tokens a step, but the track's batch is {batch:,}"
        )
        yield Said(name, message, value, batch)


def _jobs(run: ResultsRun) -> Iterator[Said]:
    """A job that took much longer than the training of which the file gives the time."""
    time = run.number("training_time_s")
    told = {**dict(flat(run.outer)), **dict(flat(run.ours))}
    for w in jobs.stated(told, "the file") if time else ():
        if time and float(w.value) > second.longest_job(time):
            name = _named(w)
            message = (
                f"the file states {figure(time)} s, but {w.source.removesuffix(' in the file')}"
            )
            yield Said(name, f"{message} says {figure(float(w.value))} s", time, float(w.value))


def _losses(case: Case, run: ResultsRun) -> Iterator[Said]:
    """A higher loss whose name is that of the track's text, or that is nearly the one ranked."""
    ours = run.number("loss") if case.track.quality.metric in LOSS_METRICS else None
    for name, value in {**run.ours, **run.info}.items():
        if not isinstance(value, int | float) or beside.data_of(name) is None or ours is None:
            continue
        if value > ours + _LEAST_LOSS and may_be_of_track(case.track, name, value, ours):
            message = f"the file states the loss {figure(ours, 6)}, but `{plain(name, 60)}` is "
            yield Said(name, f"{message}{figure(value, 6)}", ours, value)


def _whole(stated: Mapping[str, object], run: ResultsRun, steps: int) -> Iterator[Said]:
    """Durations of a step, rates and a share of the peak beside time, tokens and FLOPs."""
    time, tokens = run.number("training_time_s"), run.number("tokens")
    model, hardware = run.number("model_flops"), metrics.above_zero(run.number("hardware_flops"))
    for name, value in second.numbers_of(stated).items():
        kind, last = second.kind_of(second.last_part(name)), second.last_part(name)
        implied = None
        if kind is not None and kind.kind == "duration" and kind.unit is not None:
            implied = value * kind.unit * steps
        elif kind is not None and kind.kind == "rate" and tokens:
            implied = tokens / value
        if implied is not None and time and time < _PACE * implied:
            message = f"the file states {figure(time)} s, but `{plain(name)}` makes it "
            yield Said(name, f"{message}{figure(implied)} s", time, implied)
        if last == "mfu" and model and hardware:
            share = value / 100 if value > 1 else value
            if abs(share / (model / hardware) - 1) > _SHARE_OFF:
                message = f"`{plain(name)}` is {figure(share, 3)}, model FLOPs are "
                message += f"{figure(model / hardware, 3)} of the hardware FLOPs"
                yield Said(name, message, share, model / hardware)


def _devices(case: Case, run: ResultsRun, numbers: Mapping[str, float]) -> Iterator[Said]:
    """The devices that a batch makes by the part of it that each device has."""
    found = metrics.devices_of(run)
    batch = positive(run.section("train_config").get("train_batch_size"))
    if found.chips is None:
        return
    cores = found.accelerator.devices_per_chip if found.accelerator is not None else 1
    for w in parallel.device_counts(numbers, found.chips, "the file"):
        if float(w.value) > found.chips * cores and "batch /" not in w.source:
            name = _named(w)
            message = f"`{name}` makes {figure(float(w.value))} devices, but the file counts "
            yield Said(name, f"{message}{found.chips}", found.chips, float(w.value))
    if batch is None:
        return
    passes = [v for n, v in numbers.items() if re.search(r"accum", second.words(n))]
    for name, each in numbers.items():
        if not _EACH.search(second.last_part(name)) or each != int(each):
            continue
        devices = batch / (each * (passes[0] if passes else 1))
        known = (found.chips, found.chips * cores)
        fits = devices in known if passes else any(devices % count == 0 for count in known)
        if devices == int(devices) and devices > found.chips and not fits:
            message = f"`{plain(name)}` of {figure(each)} makes {figure(devices)} devices of a "
            message += f"batch of {batch:,}, but the file counts {found.chips}"
            yield Said(name, message, found.chips, devices)


def _precision(run: ResultsRun, settings: Mapping[str, object]) -> Iterator[Said]:
    """A precision below bf16 that a setting states and the file does not charge."""
    charged = metrics.devices_of(run).precision
    for name, value in settings.items():
        stated = precision_of({name: value})
        low = stated == "fp8" or stated not in KNOWN_PRECISIONS
        if low and stated != charged:
            message = f"`{plain(name)}` says {plain(stated)}, but FLOPs are charged at the peak "
            yield Said(name, f"{message}of {charged}")


def _pointer(run: ResultsRun, name: str) -> str:
    """Where a setting stands in the file; that of the whole configuration if its name, which is
    cut and whose dots may be its own, does not lead there."""
    for place in (run.info_pointer, run.pointer):
        pointer = f"{place}/{name.replace('/', '~1').replace('.', '/')}"
        with contextlib.suppress(KeyError):
            at(run.document.value, pointer)
            return pointer
    return run.info_pointer


def _finding(run: ResultsRun, said: Said) -> Finding:
    pointer = _pointer(run, said.name)
    return finding(
        "witnesses-disagree",
        said.message,
        Level.WARNING,
        file=run.file,
        line=run.document.line(pointer),
        pointer=pointer,
        claimed=said.claimed,
        expected=said.expected,
        fix="write the configuration that was run, or say in the README what the setting means",
    )
