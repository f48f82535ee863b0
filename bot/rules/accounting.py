"""Rules on FLOPs, chips, tokens and metrics: what a results file states against our formulas."""

from __future__ import annotations

from collections.abc import Iterator

from bot.compute import metrics
from bot.compute.metrics import same
from bot.model.case import Case
from bot.model.results import ResultsRun
from bot.model.verdict import Finding, finding
from bot.registry import RELATIVE_TOLERANCE, Level
from bot.render.numbers import count, exact, figure, percent, times
from bot.rules.causes import flops_causes, time_cause
from bot.rules.utilization import HIGH, LOW, reported_mfu
from bot.rules.values import is_no_number, key_of, place, unread_flops


def hardware_flops_mismatch(case: Case) -> Iterator[Finding]:
    """Hardware FLOPs are seconds x chips x dense peak FLOP/s of one chip, to 0.2 %.

    Chips, not cores: v4-N and v5p-N have N/2 chips, v5litepod-N and v6e-N have N. Seconds, not
    minutes. The peak is that of the precision used, without sparsity. If the ratio reveals the
    cause, the message names it. The board always shows the recomputed figure.
    """
    for run in case.results:
        claimed = run.number("hardware_flops")
        values = metrics.of_results(run, case.track.vocab_size)
        expected, seconds = values["hardware_flops"], values["training_time_s"]
        if expected and is_no_number(run):
            yield unread_flops(run, expected)
        if claimed is None or not expected or not seconds or claimed <= 0:
            continue
        tolerance = max(RELATIVE_TOLERANCE, run.stated["hardware_flops"].tolerance)
        if same(claimed, expected, tolerance):
            continue
        devices = metrics.devices_of(run)
        ratio = claimed / expected
        minutes = f" ({figure(seconds / 60)} minutes)" if run.shape in ("V0", "V1") else ""
        formula = (
            f"{figure(seconds)} s{minutes} x {count(devices.chips or 0, 'chip')} x "
            f"{figure(devices.peak, 4)}"
        )
        reported = reported_mfu(case, run)
        time = time_cause(run, ratio, reported and reported[0], (LOW, HIGH))
        cause, fix = time or flops_causes(run, devices, ratio, tolerance)
        yield finding(
            "hardware-flops-mismatch",
            f"{key_of(run, 'hardware_flops')} is {times(ratio)}{cause}: {figure(claimed)}, "
            f"expected {figure(expected)} = {formula} FLOP/s",
            claimed=claimed,
            expected=expected,
            ratio=ratio,
            write=None if time else expected,
            fix=fix if time else f"write {exact(expected)} ({fix}){_then(reported, ratio)}",
            **place(run, "hardware_flops"),
        )


def _then(reported: tuple[float, str] | None, ratio: float) -> str:
    """The warning that comes up when the hardware FLOPs are right, where none stands now."""
    if reported is None or not LOW <= reported[0] <= HIGH:
        return ""
    mfu = reported[0] * ratio
    if LOW <= mfu <= HIGH:
        return ""
    bound = f"below {percent(LOW)}" if mfu < LOW else f"above {percent(HIGH)}"
    return f"; MFU is then {percent(mfu)}, {bound}: check the training time too"


def token_count_mismatch(case: Case) -> Iterator[Finding]:
    """Tokens are batch size x steps x sequence length, and there is one sequence length.

    `train_seq_len` counts, else `max_seq_len`, else `seq_len`. If two of them differ, that is a
    warning, because model FLOPs depend on which one was used; a total that follows from none of
    them is an error.
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
            write=expected,
            fix=f"write {exact(expected)}, or correct the batch size, steps or sequence length",
            **place(run, "tokens"),
        )


def _two_lengths(run: ResultsRun, lengths: tuple[tuple[str, int], ...]) -> Finding:
    used, other = lengths[0], next(item for item in lengths if item[1] != lengths[0][1])
    names = [pointer.rpartition("/")[2] for pointer, _ in (used, other)]
    expected, claimed = metrics.tokens_of(run), run.number("tokens")
    agrees = bool(expected and claimed and same(claimed, expected))
    return finding(
        "token-count-mismatch",
        f"two sequence lengths are stated, {names[0]} {used[1]} and {names[1]} {other[1]}; with "
        f"the second, tokens and model FLOPs would be {figure(other[1] / used[1], 3)} times as "
        "many",
        file=run.file,
        line=run.document.line(other[0]),
        pointer=other[0],
        claimed=other[1],
        expected=used[1],
        ratio=other[1] / used[1],
        fix=f"keep the one that the run used: remove {names[1]} or {names[0]}"
        + (f"; {key_of(run, 'tokens')} follows from {names[0]}" if agrees else ""),
    )
