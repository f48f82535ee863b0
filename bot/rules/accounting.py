"""Rules on FLOPs, chips, tokens and metrics: what a results file states against our formulas."""

from __future__ import annotations

from collections.abc import Iterator

from bot.compute import metrics
from bot.compute.metrics import TOLERANCE, same
from bot.model.case import Case
from bot.model.results import ResultsRun
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.untrusted import plain, shown
from bot.rules import rule
from bot.rules import values as _values  # noqa: F401  (registers its rules)
from bot.rules.causes import chip_cause, flops_causes, is_no_slice, peak_cause, time_cause
from bot.rules.values import is_no_number, key_of, place, unread_flops

MFU_LOW, MFU_HIGH = 0.01, 0.75


@rule("hardware-flops-mismatch")
def hardware_flops_mismatch(case: Case) -> Iterator[Finding]:
    """Hardware FLOPs are seconds x chips x dense peak FLOP/s of one chip, to 0.2 %.

    Chips, not cores: v4-N and v5p-N have N/2 chips, v5litepod-N and v6e-N have N. Seconds, not
    minutes. The peak is that of the precision used, without sparsity. Where the ratio tells the
    cause, the message names it. The board always shows the figure that was recomputed.
    """
    for run in case.results:
        claimed = run.number("hardware_flops")
        expected = metrics.of_results(run, case.track.vocab_size)["hardware_flops"]
        if expected and is_no_number(run):
            yield unread_flops(run, expected)
        if claimed is None or not expected or claimed <= 0:
            continue
        tolerance = max(TOLERANCE, run.stated["hardware_flops"].tolerance)
        if same(claimed, expected, tolerance):
            continue
        devices = metrics.devices_of(run)
        ratio = claimed / expected
        seconds = run.number("training_time_s") or 0
        minutes = f" ({seconds / 60:.6g} minutes)" if run.shape in ("V0", "V1") else ""
        formula = f"{seconds:.6g} s{minutes} x {devices.chips} chips x {devices.peak:.4g}"
        reported = _reported_mfu(case, run)
        time = time_cause(run, ratio, reported and reported[0], (MFU_LOW, MFU_HIGH))
        cause, fix = time or flops_causes(run, devices, ratio, tolerance)
        yield finding(
            "hardware-flops-mismatch",
            f"{key_of(run, 'hardware_flops')} is {claimed:.6g}, expected {expected:.6g} = "
            f"{formula} FLOP/s; it is {_times(ratio)}{cause}",
            claimed=claimed,
            expected=expected,
            ratio=ratio,
            fix=fix if time else f"{fix}: write {expected!r}{_then(reported, ratio)}",
            **place(run, "hardware_flops"),
        )


def _then(reported: tuple[float, str] | None, ratio: float) -> str:
    """The warning that comes up when the hardware FLOPs are right, where none stands now."""
    if reported is None or not MFU_LOW <= reported[0] <= MFU_HIGH:
        return ""
    mfu = reported[0] * ratio
    if MFU_LOW <= mfu <= MFU_HIGH:
        return ""
    bound = f"below {MFU_LOW:g}" if mfu < MFU_LOW else f"above {MFU_HIGH:g}"
    return f"; MFU is then {mfu:.2g}, {bound}: check that the training time is right too"


def _times(ratio: float) -> str:
    if ratio > 1:
        return f"{ratio:.2f} times too high" if ratio < 1e6 else f"{ratio:.3g} times too high"
    # Dividing a tiny figure by a huge one can leave the range of a double.
    return f"{1 / ratio:.4g} times too low" if ratio > 1e-300 else "far too low"


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
        expected = metrics.model_flops_of(run, case.track.vocab_size, tokens)
        if claimed is None or not expected or claimed <= 0 or metrics.novelties_of(run):
            continue
        stated = metrics.model_flops_of(run, case.track.vocab_size, run.number("tokens"))
        if same(claimed, expected) or (stated is not None and same(claimed, stated)):
            continue
        ratio = claimed / expected
        cause = (
            ", the factor of forward and backward" if same(ratio, 3) or same(ratio, 1 / 3) else ""
        )
        yield finding(
            "model-flops-mismatch",
            f"{key_of(run, 'model_flops')} is {claimed:.6g}, expected {expected:.6g} by the "
            f"model's dimensions; it is {_times(ratio)}{cause}",
            claimed=claimed,
            expected=expected,
            ratio=ratio,
            fix=f"write {expected!r}, 3 x forward FLOPs per token x tokens",
            **place(run, "model_flops"),
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
                f"`{where.rpartition('/')[2]}` is {claimed:.4g}, the dense {devices.precision} "
                f"peak of one {devices.accelerator.name} is {devices.table:.4g} FLOP/s{cause}",
                file=run.file,
                line=run.document.line(where),
                pointer=where,
                claimed=claimed,
                expected=devices.table,
                ratio=claimed / devices.table,
                fix=f"write {devices.table:.6g} and compute hardware FLOPs with it"
                if _uses(run, claimed / devices.table, case)
                else f"write {devices.table:.6g}",
            )


def _uses(run: ResultsRun, ratio: float, case: Case) -> bool:
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


@rule("chip-count-mismatch")
def chip_count_mismatch(case: Case) -> Iterator[Finding]:
    """The stated number of chips is what the named hardware has.

    Cloud names of TPU v2 to v5p count cores, two to a chip: v5p-32 has 16 chips, v4-128 has 64.
    v5litepod-N and v6e-N count chips. `num_devices` is what the framework shows: of a TPU cores or
    chips, and its name decides; of GPUs it is the number that was used, as are the chips.
    `replicas` counts the hosts of a slice and multiplies nothing.
    """
    for run in case.results:
        devices = metrics.devices_of(run)
        field = "devices" if run.shape in ("V0", "V1") else "chips"
        claimed = run.number(field)
        if is_no_slice(devices):
            yield _no_slice(run, devices)
            continue
        if claimed is None or devices.named is None or claimed <= 0 or claimed == devices.chips:
            yield from _odd_devices(run, devices)
            continue
        yield finding(
            "chip-count-mismatch",
            f"{key_of(run, field)} is {claimed:g}, {shown(devices.name)} has {devices.chips} "
            f"chips{chip_cause(claimed, devices)}",
            claimed=claimed,
            expected=devices.chips,
            ratio=claimed / (devices.chips or 1),
            fix=f"write {devices.chips}",
            **place(run, field),
        )


def _odd_devices(run: ResultsRun, devices: metrics.Devices) -> Iterator[Finding]:
    """A number of GPUs that is not the number of chips. More of them than chips make a run look
    cheaper than it was, which blocks."""
    count, chips, chip = run.number("devices"), devices.chips, devices.accelerator
    if run.shape in ("V0", "V1") or not count or not chips or count <= 0:
        return
    shows = 1 if chip is None else chip.devices_per_chip
    if (chip is not None and chip.kind == "tpu") or count in (chips, chips * shows):
        return
    more = chip is not None and count > chips * shows
    yield finding(
        "chip-count-mismatch",
        f"{key_of(run, 'devices')} is {count:g}, and hardware FLOPs are counted for {chips} chips",
        Level.ERROR if more else Level.WARNING,
        claimed=count,
        expected=chips,
        ratio=count / chips,
        fix=f"write the number of chips that were used, {chips} or {count:g}, in both places",
        **place(run, "devices"),
    )


def _no_slice(run: ResultsRun, devices: metrics.Devices) -> Finding:
    pointer = f"{run.info_pointer}/resources"
    return finding(
        "chip-count-mismatch",
        f"there is no slice {shown(devices.name)}: the number counts cores, two to a chip",
        file=run.file,
        line=run.document.line(pointer),
        pointer=pointer,
        claimed=plain(devices.name or ""),
        fix="write the name of the slice that was used",
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
            f"{key_of(run, 'tokens')} is {claimed:,}, expected {expected:,} = batch size "
            f"{train.get('train_batch_size')} x {train.get('num_train_steps')} steps x sequence "
            f"length {lengths[0][1]}",
            Level.ERROR,
            claimed=claimed,
            expected=expected,
            ratio=claimed / expected,
            fix=f"write {expected}, or correct the batch size, steps or sequence length",
            **place(run, "tokens"),
        )


def _two_lengths(run: ResultsRun, lengths: tuple[tuple[str, int], ...]) -> Finding:
    used, other = lengths[0], next(item for item in lengths if item[1] != lengths[0][1])
    names = [pointer.rpartition("/")[2] for pointer, _ in (used, other)]
    expected, claimed = metrics.tokens_of(run), run.number("tokens")
    agrees = bool(expected and claimed and same(claimed, expected))
    return finding(
        "token-count-mismatch",
        f"two sequence lengths are stated, {names[0]} {used[1]} and {names[1]} {other[1]}; "
        f"{used[1]} is used here; by the other, tokens and model FLOPs would be "
        f"{other[1] / used[1]:.3g} times as many",
        file=run.file,
        line=run.document.line(other[0]),
        pointer=other[0],
        claimed=other[1],
        expected=used[1],
        ratio=other[1] / used[1],
        fix=f"keep the one that the run used: remove {names[1]}, or else {names[0]}"
        + (f"; {key_of(run, 'tokens')} follows from {names[0]}" if agrees else ""),
    )


def _reported_mfu(case: Case, run: ResultsRun) -> tuple[float, str] | None:
    """MFU as the file states it, and of what; 6 x parameters x tokens without model FLOPs."""
    hardware = run.number("hardware_flops")
    if hardware is None or hardware <= 0:
        hardware = metrics.of_results(run, case.track.vocab_size)["hardware_flops"]
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
        values = metrics.of_results(run, case.track.vocab_size)
        ours, hardware = values["mfu"], values["hardware_flops"]
        stated = run.number("hardware_flops")
        if reported is not None and reported[0] > 1:
            off = bool(stated and hardware and not same(stated, hardware))
            follows = bool(ours and ours <= 1 and off)
            yield finding(
                "mfu-impossible",
                f"{reported[1]} are {reported[0]:.3g} times {key_of(run, 'hardware_flops')}, and a "
                "chip cannot exceed its peak"
                + (f"; with hardware FLOPs put right it is {ours:.3f} times" if follows else ""),
                claimed=reported[0],
                expected=ours if follows else None,
                ratio=reported[0],
                fix=_right(ours) if follows else "correct training time, chips, peak or tokens",
                **place(run, "hardware_flops"),
            )
        elif ours is not None and ours > 1:
            yield finding(
                "mfu-impossible",
                f"model FLOPs are {ours:.3g} times the hardware FLOPs recomputed from time, chips "
                "and peak, and a chip cannot exceed its peak",
                claimed=ours,
                ratio=ours,
                fix="correct training time, chips, peak or tokens",
                **place(run, "training_time_s"),
            )


def _right(mfu: float | None, what: str = "hardware FLOPs") -> str:
    """The remedy where another figure is what is wrong, and the MFU that is left then."""
    fix = f"put the {what} right and this goes away"
    if mfu is None or MFU_LOW <= mfu <= MFU_HIGH:
        return fix
    side = "low" if mfu < MFU_LOW else "high"
    return f"{fix}; what is left is a warning that {mfu:.2g} is {side}, to be explained"


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
            "mfu-unusual",
            f"{reported[1]} over hardware FLOPs, both as stated, are {reported[0]:.3g}, {side}",
            claimed=reported[0],
            ratio=None,
            fix=_unusual_fix(case, run),
            **place(run, "hardware_flops"),
        )


def _unusual_fix(case: Case, run: ResultsRun) -> str:
    """The figure that makes MFU unusual, where one is known to be wrong; else what to look at."""
    values = metrics.of_results(run, case.track.vocab_size)
    mfu = values["mfu"]
    usual = mfu is not None and MFU_LOW <= mfu <= MFU_HIGH
    for name, what in (
        ("hardware_flops", "hardware FLOPs"),
        ("tokens", "tokens"),
        ("parameters", "parameters"),
    ):
        stated, right = run.number(name), values[name]
        if stated and right and not same(stated, right) and (usual or name == "hardware_flops"):
            return _right(mfu, what)
    return "check training time, chips and peak, or say in the description why it is so"


@rule("parameter-count-mismatch")
def parameter_count_mismatch(case: Case) -> Iterator[Finding]:
    """The number of parameters follows from the dimensions, to 0.2 %.

    Only a note: norms, biases and gates are counted in more than one way. Architectures with
    settings that are not known here are left alone.
    """
    for run in case.results:
        claimed = run.number("parameters")
        shape = metrics.transformer_of(run, case.track.vocab_size)
        if claimed is None or shape is None or claimed <= 0 or metrics.novelties_of(run):
            continue
        expected = metrics.of_results(run, case.track.vocab_size)["parameters"]
        if expected and not same(claimed, expected):
            yield finding(
                "parameter-count-mismatch",
                f"the file states {claimed:,} parameters, the dimensions give {expected:,}",
                claimed=claimed,
                expected=expected,
                ratio=claimed / expected,
                fix="check the dimensions, or say what else has parameters",
                **place(run, "parameters"),
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
            run, case.track.vocab_size, metrics.tokens_of(run) or run.number("tokens")
        )
        claimed = run.number("model_flops")
        if ours is not None and (not new or (claimed and same(claimed, ours))):
            continue
        why = (
            f"there is no formula here for {', '.join(plain(n, 40) for n in new[:4])}"
            if new
            else "the model's dimensions are not all stated"
        )
        yield finding(
            "model-flops-unchecked",
            f"{key_of(run, 'model_flops')} is shown as stated, since {why}; hardware FLOPs rank as "
            "usual",
            claimed=claimed,
            **place(run, "model_flops"),
        )
