"""Root causes: which slip makes a figure wrong by the factor that was found.

Each candidate is a factor with its words. The fewest candidates whose product is the ratio win;
where none fits, nothing is claimed.
"""

from __future__ import annotations

import itertools as it
import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from bot.compute.metrics import Devices, same
from bot.model.results import ResultsRun
from bot.model.values import positive
from bot.render.numbers import exact, figure, listed
from bot.render.untrusted import plain


class Cause(NamedTuple):
    """A slip that multiplies a figure by `factor`; `words` name it, `fix` says what to do."""

    factor: float
    words: str
    fix: str


def flops_causes(
    run: ResultsRun, devices: Devices, ratio: float, tolerance: float
) -> tuple[str, str]:
    """(", because ...", remedy) for hardware FLOPs that are `ratio` times the right figure."""
    general = "compute seconds x chips x peak FLOP/s of one chip"
    claimed = run.number("hardware_flops")
    for name, what in (("model_flops", "the model FLOPs"), ("estimate", "6 x parameters x tokens")):
        other = run.number(name)
        if claimed and other and same(claimed, other, 1e-6):
            return f", because this is {what}, not what the hardware could do", general
    found = explain(list(_candidates(run, devices)), ratio, tolerance)
    if not found:
        return "", general
    return f", because {listed([c.words for c in found])}", listed([c.fix for c in found])


def time_cause(
    run: ResultsRun, ratio: float, before: float | None, usual: tuple[float, float]
) -> tuple[str, str] | None:
    """(", because ...", remedy) where the time is in another unit: hardware FLOPs are `ratio` times
    what follows from it, and the MFU `before` is usual as stated and would not be any more."""
    low, high = usual
    if before is None or not low <= before <= high or low <= before * ratio <= high:
        return None
    item, seconds = run.stated.get("training_time_s"), run.number("training_time_s")
    for factor, unit in ((60.0, "minutes"), (3600.0, "hours"), (0.001, "milliseconds")):
        if item is not None and seconds and same(ratio, factor, 0.01):
            key = item.pointer.rpartition("/")[2]
            old = key.endswith("_in_minutes")
            right = seconds * factor / (60 if old else 1)
            words = f"`{key}` is in {'hours' if old and factor == 60 else unit}"
            return f", because {words}", f"write {exact(right)} in `{key}`"
    return None


def explain(candidates: list[Cause], ratio: float, tolerance: float) -> tuple[Cause, ...]:
    """The fewest candidates, at most 3, whose factors multiply to `ratio`; () for none. A factor of
    1 explains nothing, so it is left out."""
    usable = [c for c in candidates if not same(c.factor, 1.0)]
    for count in (1, 2, 3):
        for chosen in it.combinations(usable, count):
            if len({c.fix for c in chosen}) < count:
                continue
            if same(ratio, math.prod(c.factor for c in chosen), tolerance):
                return chosen
    return ()


def _candidates(run: ResultsRun, devices: Devices) -> Iterator[Cause]:
    yield from _chip_candidates(run, devices)
    seconds = "multiply seconds"
    yield Cause(1 / 60, "minutes were multiplied as if they were seconds", seconds)
    yield Cause(60.0, "seconds were taken for minutes", seconds)
    yield Cause(1 / 3600, "hours were multiplied as if they were seconds", seconds)
    yield Cause(3600.0, "seconds were taken for hours", seconds)
    yield Cause(1000.0, "milliseconds were multiplied as if they were seconds", seconds)
    yield Cause(0.001, "seconds were divided by 1000", seconds)
    for power, unit in ((1e-18, "exaFLOPs"), (1e-15, "petaFLOPs"), (1e-12, "teraFLOPs")):
        yield Cause(power, f"the figure is in {unit}", "write it in FLOPs")
    yield from _peak_candidates(run, devices)


def _chip_candidates(run: ResultsRun, devices: Devices) -> Iterator[Cause]:
    chips, name = devices.chips, plain(devices.name or "the hardware", 40)
    if not chips:
        return
    fix = f"multiply by {chips} chips" if chips > 1 else "multiply by 1 chip"
    accelerator = devices.accelerator
    if accelerator is not None:
        words = f"TPU cores were counted as chips ({name} has {chips} chips)"
        yield Cause(float(accelerator.cores_per_chip), words, fix)
    for field, words in (("chips", "num_chips"), ("devices", "num_devices")):
        stated = positive(run.number(field))
        if stated is not None:
            words = f"`{words}` {stated} was multiplied in ({name} has {chips} chips)"
            yield Cause(stated / chips, words, fix)
    yield Cause(1 / chips, f"one chip was counted ({name} has {chips})", fix)
    for key in ("replicas", "slice_count"):
        count = positive(run.section("resources").get(key))
        if count is not None:
            yield Cause(float(count), f"`{key}` = {count} was multiplied in once too often", fix)
            yield Cause(1 / count, f"`{key}` = {count} was left out", fix)


def _peak_candidates(run: ResultsRun, devices: Devices) -> Iterator[Cause]:
    table, accelerator = devices.table, devices.accelerator
    if table is None or accelerator is None:
        return
    name, fix = accelerator.name, f"use the peak of {figure(table, 4)} FLOP/s"
    for precision, peak in accelerator.peaks.items():
        words = (
            f"the {precision} peak of {name} was used ({figure(peak, 4)} instead of "
            f"{figure(table, 4)} FLOP/s)"
        )
        yield Cause(peak / table, words, fix)
    stated = run.number("peak_flops")
    if stated:
        words = f"a peak of {figure(stated, 4)} instead of {figure(table, 4)} FLOP/s was used"
        yield Cause(stated / table, words, fix)
    if accelerator.kind == "gpu":
        yield Cause(
            2.0, f"the peak with sparsity was used (the dense one is {figure(table, 4)})", fix
        )
    words = f"the peak of one core was used (a chip has {figure(table, 4)} FLOP/s)"
    yield Cause(1 / accelerator.cores_per_chip, words, fix)


def peak_cause(claimed: float, devices: Devices) -> str:
    """ " (the fp32 peak)": what a stated peak is, where that can be told; else ""."""
    accelerator, table = devices.accelerator, devices.table
    if accelerator is None or table is None:
        return ""
    for precision, peak in accelerator.peaks.items():
        if same(claimed, peak):
            return f": {figure(claimed, 4)} is its {precision} peak"
    if same(claimed, 2 * table):
        return ": that is the figure with sparsity, twice the dense one"
    if devices.chips and same(claimed, devices.chips * table):
        return f": the figure is that of all {devices.chips} chips together"
    if same(claimed * accelerator.cores_per_chip, table):
        return ": the figure is that of one core"
    for power, unit in ((1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e15, "PFLOP/s")):
        if same(claimed * power, table):
            return f": the figure is in {unit}"
    return ""


def chip_cause(claimed: float, devices: Devices) -> str:
    """Why a stated number of chips is another, where that can be told; else ""."""
    accelerator = devices.accelerator
    if accelerator is not None and devices.chips:
        if claimed == devices.chips * accelerator.cores_per_chip:
            return f": TPU cores counted as chips, {accelerator.cores_per_chip} to a chip"
    return ""


def is_no_slice(devices: Devices) -> bool:
    """Whether hardware is named like a TPU slice, with a number of cores that no slice has."""
    accelerator = devices.accelerator
    named = accelerator is not None and accelerator.kind == "tpu" and devices.named is None
    return named and re.search(r"-[0-9]+$", (devices.name or "").strip()) is not None
