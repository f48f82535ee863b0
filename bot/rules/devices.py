"""Accounting: which chips a run used, how many, and their peak."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from bot.compute import accelerators, metrics
from bot.compute.metrics import same
from bot.compute.shapes import KNOWN_PRECISIONS, precision_of
from bot.evidence.wandb.history import flatten
from bot.model.case import Case
from bot.model.results import ResultsRun, device_names
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.numbers import count as counted
from bot.render.numbers import exact, figure
from bot.render.untrusted import plain, shown
from bot.rules.about import about, per_message, runs_of
from bot.rules.causes import chip_cause, is_no_slice, peak_cause
from bot.rules.values import at, key_of, place


def device_peak_mismatch(case: Case) -> Iterator[Finding]:
    """The stated peak is the dense peak of one chip of the named device, to 0.2 %.

    The table is `schemas/accelerators.json`, with a source for each number. Common mistakes: the
    FP32 peak of a GPU that trained in bf16, the figure with sparsity, the peak of a whole host, the
    peak of one core. A device that is not in the table is reported as `device-unknown` instead.
    """
    for run in case.results:
        devices = metrics.devices_of(run)
        if devices.table is None or devices.accelerator is None:
            continue
        for claimed, where in _stated_peaks(run):
            if claimed <= 0 or same(claimed, devices.table):
                continue
            cause = peak_cause(claimed, devices)
            yield finding(
                "device-peak-mismatch",
                f"`{where.rpartition('/')[2]}` is {figure(claimed, 4)}; the dense "
                f"{devices.precision} peak of one {devices.accelerator.name} is "
                f"{figure(devices.table, 4)} FLOP/s{cause}",
                **at(run, where),
                claimed=claimed,
                expected=devices.table,
                ratio=claimed / devices.table,
                write=devices.table,
                fix=f"write {exact(devices.table)} and compute hardware FLOPs with it"
                if _uses(run, case)
                else f"write {exact(devices.table)}",
            )


def _uses(run: ResultsRun, case: Case) -> bool:
    """Whether the hardware FLOPs of a file may come from its wrong peak: they are not right."""
    stated = run.number("hardware_flops")
    right = metrics.of_results(run, case.track.vocab_size)["hardware_flops"]
    return not (stated and right and same(stated, right))


def _stated_peaks(run: ResultsRun) -> Iterator[tuple[float, str]]:
    claimed = run.number("peak_flops")
    if claimed is not None:
        yield claimed, run.where("peak_flops")
    override = run.section("resources").get("device_flops_override")
    if isinstance(override, (int, float)) and not isinstance(override, bool):
        yield override, f"{run.info_pointer}/resources/device_flops_override"


def chip_count_mismatch(case: Case) -> Iterator[Finding]:
    """The stated number of chips is what the named hardware has.

    Cloud names of TPU v2 to v5p count cores, two to a chip: v5p-32 has 16 chips, v4-128 has 64.
    v5litepod-N and v6e-N count chips. `num_devices` is what the framework shows: on a TPU cores or
    chips (its name decides), on GPUs the number that was used. `replicas` counts the hosts of a
    slice and multiplies nothing.
    """
    for run in case.results:
        devices = metrics.devices_of(run)
        field = "devices" if run.shape in ("V0", "V1") else "chips"
        claimed = run.number(field)
        if is_no_slice(devices):
            yield _no_slice(run, devices)
            continue
        chips = devices.chips
        if claimed is None or not chips or claimed <= 0 or claimed == chips:
            yield from _odd_devices(run, devices)
            continue
        yield finding(
            "chip-count-mismatch",
            f"{key_of(run, field)} is {figure(claimed)}; {shown(devices.name)} has {chips} "
            f"chips{chip_cause(claimed, devices)}",
            claimed=claimed,
            expected=chips,
            ratio=claimed / chips,
            write=chips,
            fix=f"write {chips}",
            **place(run, field),
        )


def _odd_devices(run: ResultsRun, devices: metrics.Devices) -> Iterator[Finding]:
    """A number of GPUs that is not the number of chips. More of them than chips make a run look
    cheaper than it was, which blocks."""
    count, chips = metrics.above_zero(run.number("devices")), devices.chips
    chip = devices.accelerator
    if run.shape in ("V0", "V1") or not count or not chips:
        return
    shows = 1 if chip is None else chip.devices_per_chip
    if (chip is not None and chip.kind == "tpu") or count in (chips, chips * shows):
        return
    more = chip is not None and count > chips * shows
    yield finding(
        "chip-count-mismatch",
        f"{key_of(run, 'devices')} is {figure(count)}, but hardware FLOPs are counted for "
        f"{counted(chips, 'chip')}",
        Level.ERROR if more else Level.WARNING,
        claimed=count,
        expected=chips,
        ratio=count / chips,
        fix=f"write the number of chips that were used, {chips} or {figure(count)}, in both places",
        **place(run, "devices"),
    )


def _no_slice(run: ResultsRun, devices: metrics.Devices) -> Finding:
    pointer = f"{run.info_pointer}/resources"
    return finding(
        "chip-count-mismatch",
        f"there is no slice {shown(devices.name)}: the number in its name counts "
        "cores, two per chip",
        **at(run, pointer),
        claimed=plain(devices.name or ""),
        fix="write the name of the slice that was used",
    )


def _low_peak(run: ResultsRun, devices: metrics.Devices, usual: float | None) -> Iterator[Finding]:
    """A precision of the author's word that makes the run look cheaper than bf16 would."""
    if not usual or not devices.table or devices.table >= usual or not run.ours.get("precision"):
        return
    pointer = f"{run.info_pointer}/speedrun/precision"
    yield finding(
        "device-unknown",
        f"the precision {shown(devices.precision)} is self-declared, and its peak is "
        f"{figure(usual / devices.table, 3)} times lower than that of bf16",
        **at(run, pointer),
        claimed=devices.precision,
        fix=f"say in the description what ran in {plain(devices.precision)}",
    )


def device_unknown(case: Case) -> Iterator[Finding]:
    """The accelerator is in the table of known ones, so that its peak can be checked.

    If it is not, the peak that the file states is used and marked, and a maintainer looks at it.
    Use the name that the vendor or the cloud uses, or send us the datasheet. The same applies to a
    precision that is not known, or whose peak is lower than that of bf16, because it makes a run
    look cheaper, and to a file that names two accelerators: the first one is used.
    """
    ranks = "hardware_flops" in (case.track.cost.metric, case.track.quality.metric)
    if ranks:
        yield from per_message(_unknown_precision(case))
    for run in case.results:
        devices = metrics.devices_of(run)
        yield from _two_devices(run)
        if devices.accelerator is not None:
            if ranks:
                yield from _low_peak(run, devices, devices.accelerator.peaks.get("bf16"))
            continue
        name = (
            "no accelerator is named"
            if devices.name is None
            else (f"the accelerator {shown(devices.name)} is not known")
        )
        peak = (
            f"its peak of {figure(devices.peak, 4)} FLOP/s is self-declared and cannot be checked"
            if devices.peak
            else "no peak is stated"
        )
        pointer = f"{run.info_pointer}/resources"
        yield finding(
            "device-unknown",
            f"{name}, {peak}",
            **at(run, pointer),
            claimed=None if devices.name is None else plain(devices.name),
            fix="name the accelerator, such as H100 SXM, A100, v5p-32 or v6e-8"
            + _closest(devices.name),
        )


def _two_devices(run: ResultsRun) -> Iterator[Finding]:
    """A second name in the file that stands for another chip, or for another number of them."""
    known = [
        (pointer, name, device)
        for pointer, name in device_names(run)
        if (device := accelerators.find(name)) is not None
    ]
    for pointer, name, device in known[1:]:
        first = known[0]
        same_chip = device.accelerator.id == first[2].accelerator.id
        if same_chip and (None in (device.chips, first[2].chips) or device.chips == first[2].chips):
            continue
        yield finding(
            "device-unknown",
            f"two accelerators are named, {shown(first[1])} and {shown(name)}; "
            f"{shown(first[1])} is used",
            **at(run, pointer),
            claimed=plain(name),
            expected=plain(first[1]),
            fix="keep the one that the run used",
        )
        return


def _unknown_precision(case: Case) -> Iterator[Finding]:
    """A stated precision that is not known, where the work of the chips ranks: the highest peak of
    the chip is charged, and a maintainer looks at it."""
    fix = (
        f"write one of {', '.join(sorted(KNOWN_PRECISIONS))}, and say in the README what ran in it"
    )
    for item, run in runs_of(case):
        stated = precision_of(flatten(run.config))
        if stated not in KNOWN_PRECISIONS:
            message = f"the precision {shown(stated)} is not known; the highest peak of the device "
            message += "is charged"
            yield about(
                case,
                item,
                run,
                "device-unknown",
                message,
                level=Level.WARNING,
                claimed=plain(stated),
                fix=fix,
            )
    for results in case.results:
        told = precision_of({"precision": results.ours.get("precision")})
        if told not in KNOWN_PRECISIONS:
            pointer = f"{results.info_pointer}/speedrun/precision"
            yield finding(
                "device-unknown",
                f"the precision {shown(told)} is not known, so its peak cannot be checked",
                Level.WARNING,
                **at(results, pointer),
                claimed=plain(told),
                fix=fix,
            )


def _closest(name: str | None) -> str:
    names = {
        a.lower(): a for item in accelerators.all_accelerators() for a in (item.id, *item.aliases)
    }
    near = difflib.get_close_matches((name or "").lower(), names, 1, 0.75)
    return f'; perhaps "{names[near[0]]}"' if near else ""
