"""Rules on FLOPs, chips, tokens and metrics: what a results file states against our formulas."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from bot import accelerators, metrics
from bot.advice import misspelt
from bot.case import Case
from bot.causes import chip_cause, flops_causes, peak_cause
from bot.evidence.results_file import (
    BPB_KEY,
    NEW_KEYS,
    ResultsRun,
    has_zone,
    is_not_finite,
    parse_timestamp,
)
from bot.metrics import TOLERANCE, same
from bot.rules import finding, rule
from bot.safetext import plain, shown
from bot.verdict import Finding, Level

MFU_LOW, MFU_HIGH = 0.01, 0.75
EARLIEST = dt.datetime(2015, 1, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)

# Quantity -> (lowest possible, highest possible, what it is). C4 text holds about 0.6 bits a byte
# for the best models known; 8 bits a byte is no prediction at all, and so is a loss of 20 nats.
_RANGES = {
    "bpb": (0.3, 8.0, "bits per byte"),
    "loss": (0.0, 20.0, "loss in nats"),
    "training_time_s": (0.0, 3.2e8, "training time in seconds"),
    "hardware_flops": (0.0, 1e30, "hardware FLOPs"),
    "model_flops": (0.0, 1e30, "model FLOPs"),
    "tokens": (0.0, 1e15, "number of tokens"),
    "parameters": (0.0, 1e15, "number of parameters"),
    "chips": (0.0, 1e6, "number of chips"),
    "devices": (0.0, 1e7, "number of devices"),
    "peak_flops": (0.0, 1e18, "peak FLOP/s of one chip"),
}


def vocab_of(case: Case) -> int | None:
    """The vocabulary size that the track states for files that state none."""
    data = case.track.raw.get("data")
    return metrics.positive(data.get("vocab_size")) if isinstance(data, dict) else None


def _at(run: ResultsRun, name: str) -> dict[str, Any]:
    """Where a finding about a quantity of a run points."""
    pointer = run.where(name)
    return {"file": run.file, "line": run.document.line(pointer), "pointer": pointer}


@rule("hardware-flops-mismatch")
def hardware_flops_mismatch(case: Case) -> Iterator[Finding]:
    """Hardware FLOPs are seconds x chips x dense peak FLOP/s of one chip, to 0.2 %.

    Chips, not cores: v4-N and v5p-N have N/2 chips, v5litepod-N and v6e-N have N. Seconds, not
    minutes. The peak is that of the precision used, without sparsity. Where the ratio tells the
    cause, the message names it. The board always shows the figure that was recomputed.
    """
    for run in case.results:
        claimed = run.number("hardware_flops")
        expected = metrics.of_results(run, vocab_of(case))["hardware_flops"]
        if claimed is None or not expected or claimed <= 0:
            continue
        tolerance = max(TOLERANCE, run.stated["hardware_flops"].tolerance)
        if same(claimed, expected, tolerance):
            continue
        devices = metrics.devices_of(run)
        ratio = claimed / expected
        formula = (
            f"{run.number('training_time_s'):.6g} s x {devices.chips} chips x {devices.peak:.4g}"
        )
        cause, fix = flops_causes(run, devices, ratio, tolerance)
        yield finding(
            "hardware-flops-mismatch",
            f"hardware FLOPs are {claimed:.6g}, expected {expected:.6g} ({formula} FLOP/s): "
            f"{_times(ratio)}{cause}",
            claimed=claimed, expected=expected, ratio=ratio, fix=f"{fix}: write {expected!r}",
            **_at(run, "hardware_flops"),
        )


def _times(ratio: float) -> str:
    return f"{ratio:.2f} times too high" if ratio > 1 else f"{1 / ratio:.4g} times too low"


@rule("model-flops-mismatch")
def model_flops_mismatch(case: Case) -> Iterator[Finding]:
    """Model FLOPs are 3 x forward FLOPs per token x tokens, from the model's dimensions.

    Per token and layer: 6 h f for a gated MLP (4 h f without gate), 2 h (H d + 2 K d) + 2 h h for
    the projections, 4 s H d + 3 s H for attention; and 2 h V for the output. They do not rank, but
    MFU follows from them. An architecture with settings that the formula does not know is left
    alone (`model-flops-unchecked`), and so is one whose tokens are what is wrong.
    """
    for run in case.results:
        claimed = run.number("model_flops")
        tokens = metrics.tokens_of(run) or run.number("tokens")
        expected = metrics.model_flops_of(run, vocab_of(case), tokens)
        if claimed is None or not expected or claimed <= 0 or metrics.novelties_of(run):
            continue
        stated = metrics.model_flops_of(run, vocab_of(case), run.number("tokens"))
        if same(claimed, expected) or (stated is not None and same(claimed, stated)):
            continue
        ratio = claimed / expected
        cause = ", the factor of forward and backward" if same(ratio, 3) or same(
            ratio, 1 / 3) else ""
        yield finding(
            "model-flops-mismatch",
            f"model FLOPs are {claimed:.6g}, expected {expected:.6g}: {_times(ratio)}{cause}",
            claimed=claimed, expected=expected, ratio=ratio,
            fix=f"write {expected!r}, 3 x forward FLOPs per token x tokens",
            **_at(run, "model_flops"),
        )


@rule("device-peak-mismatch")
def device_peak_mismatch(case: Case) -> Iterator[Finding]:
    """The stated peak is the dense peak of one chip of the named device, to 0.2 %.

    The table is `schemas/accelerators.json`, with a source for each number. Common slips: the FP32
    peak of a GPU that trained in bf16, the figure with sparsity, the peak of a whole host, the
    peak of one core. A device that is not in the table is noted (`device-unknown`) and not judged.
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
                f"the peak of one {devices.accelerator.name} is stated as {claimed:.4g} FLOP/s, "
                f"its dense {devices.precision} peak is {devices.table:.4g}{cause}",
                file=run.file, line=run.document.line(where), pointer=where,
                claimed=claimed, expected=devices.table, ratio=claimed / devices.table,
                fix=f"write {devices.table!r} and compute hardware FLOPs with it",
            )


def _stated_peaks(run: ResultsRun) -> Iterator[tuple[float, str]]:
    claimed = run.number("peak_flops")
    if claimed is not None:
        yield claimed, run.where("peak_flops")
    override = run.section("resources").get("device_flops_override")
    if isinstance(override, (int, float)) and not isinstance(override, bool):
        yield override, f"{run.info_pointer}/resources/device_flops_override"


@rule("chip-count-mismatch")
def chip_count_mismatch(case: Case) -> Iterator[Finding]:
    """The stated number of chips is what the named hardware has.

    Cloud names of TPU v2 to v5p count cores, two to a chip: v5p-32 has 16 chips, v4-128 has 64.
    v5litepod-N and v6e-N count chips. `num_devices` is what the framework shows and may be either;
    `replicas` counts the hosts of a slice and multiplies nothing.
    """
    for run in case.results:
        devices = metrics.devices_of(run)
        field = "devices" if run.shape in ("V0", "V1") else "chips"
        claimed = run.number(field)
        if claimed is None or devices.named is None or claimed <= 0 or claimed == devices.chips:
            continue
        yield finding(
            "chip-count-mismatch",
            f"the file states {claimed:g} chips, {shown(devices.name)} has {devices.chips}"
            f"{chip_cause(claimed, devices)}",
            claimed=claimed, expected=devices.chips, ratio=claimed / (devices.chips or 1),
            fix=f"write {devices.chips}", **_at(run, field),
        )


@rule("token-count-mismatch")
def token_count_mismatch(case: Case) -> Iterator[Finding]:
    """Tokens are batch size x steps x sequence length, and there is one sequence length.

    `train_seq_len` counts, else `max_seq_len`, else `seq_len`. Two that differ are a warning,
    since model FLOPs depend on which of them was used; a total that follows from none of them
    blocks.
    """
    for run in case.results:
        lengths = metrics.lengths_of(run)
        if len({length for _, length in lengths}) > 1:
            yield _two_lengths(run, lengths)
        expected, claimed = metrics.tokens_of(run), run.number("tokens")
        if expected is None or claimed is None or claimed <= 0:
            continue
        candidates = {expected * length / lengths[0][1] for _, length in lengths}
        if any(same(claimed, candidate) for candidate in candidates):
            continue
        train = run.section("train_config")
        yield finding(
            "token-count-mismatch",
            f"the file states {claimed:g} tokens, batch size {train.get('train_batch_size')} x "
            f"{train.get('num_train_steps')} steps x {lengths[0][1]} gives {expected}",
            Level.ERROR, claimed=claimed, expected=expected, ratio=claimed / expected,
            fix=f"write {expected}, or correct the batch size, steps or sequence length",
            **_at(run, "tokens"),
        )


def _two_lengths(run: ResultsRun, lengths: tuple[tuple[str, int], ...]) -> Finding:
    used, other = lengths[0], next(item for item in lengths if item[1] != lengths[0][1])
    names = [pointer.rpartition("/")[2] for pointer, _ in (used, other)]
    return finding(
        "token-count-mismatch",
        f"two sequence lengths are stated, {names[0]} {used[1]} and {names[1]} {other[1]}; "
        f"{used[1]} is used, with the other tokens and FLOPs would differ by "
        f"{max(used[1], other[1]) / min(used[1], other[1]):.3g} times",
        file=run.file, line=run.document.line(other[0]), pointer=other[0],
        claimed=other[1], expected=used[1], ratio=other[1] / used[1],
        fix=f"keep the one that the run used and remove {names[1]} or {names[0]}",
    )


def _reported_mfu(case: Case, run: ResultsRun) -> tuple[float, str] | None:
    """MFU as the file itself states it, and of what; 6 x parameters x tokens without model FLOPs.
    """
    hardware = run.number("hardware_flops")
    if hardware is None or hardware <= 0:
        hardware = metrics.of_results(run, vocab_of(case))["hardware_flops"]
    model, what = run.number("model_flops"), "model FLOPs"
    if model is None:
        parameters, tokens = run.number("parameters"), run.number("tokens")
        if parameters is not None and tokens is not None:
            model, what = 6 * parameters * tokens, "6 x parameters x tokens"
    if model is None or not hardware or model <= 0:
        return None
    return model / hardware, what


@rule("mfu-impossible")
def mfu_impossible(case: Case) -> Iterator[Finding]:
    """Model FLOPs do not exceed hardware FLOPs: no chip computes more than its peak.

    Taken as the file states them (6 x parameters x tokens where it states no model FLOPs), and as
    they were recomputed. Usually a consequence of another slip, such as minutes taken for seconds
    or another precision's peak; put that right and this goes away.
    """
    for run in case.results:
        reported = _reported_mfu(case, run)
        ours = metrics.of_results(run, vocab_of(case))["mfu"]
        if reported is not None and reported[0] > 1:
            right = f"; with hardware FLOPs put right it is {ours:.3f}" if ours else ""
            yield finding(
                "mfu-impossible",
                f"{reported[1]} are {reported[0]:.3g} times the hardware FLOPs stated, and a chip "
                f"cannot exceed its peak{right}",
                claimed=reported[0], expected=ours, ratio=reported[0],
                fix="correct training time, chips, peak or tokens", **_at(run, "hardware_flops"),
            )
        elif ours is not None and ours > 1:
            yield finding(
                "mfu-impossible",
                f"model FLOPs are {ours:.3g} times the hardware FLOPs recomputed from time, chips "
                "and peak, and a chip cannot exceed its peak",
                claimed=ours, ratio=ours, fix="correct training time, chips, peak or tokens",
                **_at(run, "training_time_s"),
            )


@rule("mfu-unusual")
def mfu_unusual(case: Case) -> Iterator[Finding]:
    """Between 1 % and 75 % of the peak were used, as in nearly every run that is in order.

    More than 75 % or less than 1 % is possible and rare: a maintainer looks at it. Say in the
    description why it is so.
    """
    for run in case.results:
        reported = _reported_mfu(case, run)
        if reported is None or not (MFU_HIGH < reported[0] <= 1 or reported[0] < MFU_LOW):
            continue
        side = f"above {MFU_HIGH:g}" if reported[0] > MFU_HIGH else f"below {MFU_LOW:g}"
        yield finding(
            "mfu-unusual", f"{reported[1]} over hardware FLOPs, both as stated, are "
            f"{reported[0]:.3g}, {side}", claimed=reported[0], ratio=None,
            fix="check training time, chips and peak, or say in the description why it is so",
            **_at(run, "hardware_flops"),
        )


@rule("parameter-count-mismatch")
def parameter_count_mismatch(case: Case) -> Iterator[Finding]:
    """The number of parameters follows from the dimensions, to 0.2 %.

    Only a note: norms, biases and gates are counted in more than one way. Architectures with
    settings that are not known here are left alone.
    """
    for run in case.results:
        claimed = run.number("parameters")
        shape = metrics.transformer_of(run, vocab_of(case))
        if claimed is None or shape is None or claimed <= 0 or metrics.novelties_of(run):
            continue
        expected = metrics.of_results(run, vocab_of(case))["parameters"]
        if expected and not same(claimed, expected):
            yield finding(
                "parameter-count-mismatch",
                f"the file states {claimed:,} parameters, the dimensions give {expected:,}",
                claimed=claimed, expected=expected, ratio=claimed / expected,
                fix="check the dimensions, or say what else has parameters",
                **_at(run, "parameters"),
            )


@rule("model-flops-unchecked")
def model_flops_unchecked(case: Case) -> Iterator[Finding]:
    """There is no formula here for the model FLOPs of this architecture.

    A new idea is not punished: model FLOPs are shown as stated, and the run ranks by hardware
    FLOPs as every other. Send us the formula with a source, and it becomes part of the table.
    """
    for run in case.results:
        if run.shape in ("V0", "V1") or run.number("model_flops") is None:
            continue
        new = metrics.novelties_of(run)
        ours = metrics.model_flops_of(
            run, vocab_of(case), metrics.tokens_of(run) or run.number("tokens"))
        claimed = run.number("model_flops")
        if ours is not None and (not new or (claimed and same(claimed, ours))):
            continue
        why = f"the model uses {', '.join(plain(n, 40) for n in new[:4])}" if new else (
            "its dimensions are not all stated")
        yield finding(
            "model-flops-unchecked",
            f"model FLOPs are shown as stated: {why}, for which there is no formula here; "
            "hardware FLOPs rank as usual", claimed=claimed, **_at(run, "model_flops"),
        )


@rule("metric-missing")
def metric_missing(case: Case) -> Iterator[Finding]:
    """What the track ranks by can be computed from the evidence.

    A results file states bits per byte and the training time, and names its hardware, so that
    hardware FLOPs follow; a log or a W&B run has the track's metrics in its history.
    """
    yield from case.problems_of("metric-missing")
    for run in case.results:
        values = metrics.of_results(run, vocab_of(case))
        for name in dict.fromkeys((case.track.quality.metric, case.track.cost.metric)):
            if values.get(name) is None:
                yield from _missing(run, name)


def _missing(run: ResultsRun, name: str) -> Iterator[Finding]:
    """The input of a metric that is absent, named once; nothing where another rule speaks of it."""
    for needed in ("training_time_s", "chips", "peak_flops") if name == "hardware_flops" else (name,):
        if needed in run.stated and needed not in ("chips", "peak_flops"):
            if run.number(needed) is not None or run.stated[needed].raw is not None:
                continue
        keys = NEW_KEYS.get(needed, (needed,))
        devices = metrics.devices_of(run)
        if needed == "chips" and devices.chips is not None:
            continue
        if needed == "peak_flops" and devices.peak is not None:
            continue
        if misspelt(run.info, frozenset(keys[:1])):
            continue
        key = "training_time_in_minutes" if (
            needed == "training_time_s" and run.shape in ("V0", "V1")) else keys[0]
        yield finding(
            "metric-missing", f"`{key}` is missing, so {name} cannot be computed",
            fix=f"add `{key}`" + (" or name the accelerator" if needed == "chips" else ""),
            **_at(run, needed),
        )


@rule("metric-not-finite")
def metric_not_finite(case: Case) -> Iterator[Finding]:
    """Metrics are finite numbers; NaN and infinities never rank.

    A loss that became NaN or infinite is a run that failed. W&B writes such values as the texts
    "NaN" and "Infinity".
    """
    yield from case.problems_of("metric-not-finite")
    for run in case.results:
        for name, item in run.stated.items():
            if is_not_finite(item.raw):
                yield finding(
                    "metric-not-finite", f"`{_key(item.pointer)}` is {shown(item.raw)}, expected "
                    "a finite number", claimed=plain(str(item.raw)),
                    fix="use a run that did not diverge", **_at(run, name),
                )


@rule("metric-implausible")
def metric_implausible(case: Case) -> Iterator[Finding]:
    """Metrics lie in the range of the possible.

    Times, counts and FLOPs are above 0. Bits per byte lie between 0.3 and 8: English text is not
    known to be predictable below about 0.6, and 8 is no prediction at all.
    """
    yield from case.problems_of("metric-implausible")
    for run in case.results:
        for name, (low, high, what) in _RANGES.items():
            value = run.number(name)
            if value is None or (low < value <= high):
                continue
            bound = f"above {low:g}" if value <= low else f"at most {high:g}"
            yield finding(
                "metric-implausible", f"the {what} is {value:g}, expected {bound}",
                claimed=value, fix="write the value that was measured", **_at(run, name),
            )


@rule("timestamp-invalid")
def timestamp_invalid(case: Case) -> Iterator[Finding]:
    """The time of completion is there and can be read: `YYYY-MM-DD HH:MM:SS UTC`, or ISO 8601.

    It orders the history of records. A time without a zone is read as UTC, with a warning; one
    before 2015 or after today is refused.
    """
    for run in case.results:
        problem = _timestamp_problem(run, case.facts.get("today"))
        if problem is None:
            continue
        message, level = problem
        item = run.stated.get("timestamp")
        yield finding(
            "timestamp-invalid", message, level, **_at(run, "timestamp"),
            claimed=None if item is None else plain(str(item.raw)),
            fix='write `run_completion_timestamp` as "YYYY-MM-DD HH:MM:SS UTC"',
        )


def _timestamp_problem(run: ResultsRun, today: Any) -> tuple[str, Level | None] | None:
    item = run.stated.get("timestamp")
    if item is None:
        return "there is no time of completion", None
    text = run.text("timestamp")
    moment = parse_timestamp(text)
    if text is None or moment is None:
        return f"the time of completion is {shown(item.raw)}, which cannot be read", None
    if moment < EARLIEST:
        return f"the time of completion is {shown(text)}, before 2015", None
    if isinstance(today, dt.date) and moment.date() > today + DAY:
        return f"the time of completion is {shown(text)}, after today, {today}", None
    if not has_zone(text):
        return f"the time of completion, {shown(text)}, names no time zone", Level.WARNING
    return None


@rule("device-unknown")
def device_unknown(case: Case) -> Iterator[Finding]:
    """The accelerator is in the table of known ones, so that its peak can be checked.

    Where it is not, a peak that the file states is used and marked as such, and a maintainer looks
    at it. Name the chip as the vendor or the cloud does, or send us its datasheet.
    """
    for run in case.results:
        devices = metrics.devices_of(run)
        if devices.accelerator is not None:
            continue
        name = "none is named" if devices.name is None else f"{shown(devices.name)} is not known"
        peak = f"its peak of {devices.peak:.4g} FLOP/s is self-declared" if devices.peak else (
            "and no peak is stated")
        pointer = f"{run.info_pointer}/resources"
        yield finding(
            "device-unknown", f"accelerator: {name}, {peak} and cannot be checked"
            if devices.peak else f"accelerator: {name} {peak}",
            file=run.file, line=run.document.line(pointer), pointer=pointer,
            claimed=None if devices.name is None else plain(devices.name),
            fix="name the accelerator, such as H100 SXM, A100, v5p-32 or v6e-8"
            + _closest(devices.name),
        )


def _closest(name: str | None) -> str:
    import difflib

    names = {a.lower(): a for item in accelerators.all_accelerators()
             for a in (item.id, *item.aliases)}
    near = difflib.get_close_matches((name or "").lower()[:60], names, 1, 0.75)
    return f'; perhaps "{names[near[0]]}"' if near else ""


def _key(pointer: str) -> str:
    return BPB_KEY if pointer.endswith("bpb") else pointer.rpartition("/")[2]
