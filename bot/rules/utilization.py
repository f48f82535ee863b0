"""Accounting: model FLOPs, parameters, and the share of the peak that was used."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bot.compute import accounting, metrics
from bot.compute.metrics import same
from bot.compute.shapes import least_flops
from bot.model.case import Case, RunEvidence
from bot.model.results import ResultsRun
from bot.model.run import Run
from bot.model.verdict import Finding, finding
from bot.registry import Level
from bot.render.numbers import exact, figure, percent, times
from bot.render.untrusted import plain
from bot.rules.about import about, per_message, runs_of
from bot.rules.values import key_of, place

LOW, HIGH = 0.01, 0.75
"""Usual shares of the peak."""


def model_flops_mismatch(case: Case) -> Iterator[Finding]:
    """Model FLOPs are 3 x forward FLOPs per token x tokens, from the model's dimensions.

    Per token and layer: 6 h f for a gated MLP (4 h f without gate), 2 h (H d + 2 K d) + 2 h h for
    the projections, 4 s H d + 3 s H for attention; and 2 h V for the output. They do not rank, but
    MFU follows from them. An architecture that the formula does not cover is not judged
    (`model-flops-unchecked`), nor is one whose tokens are wrong.
    """
    for run in case.results:
        claimed = run.number("model_flops")
        expected = _model_flops(case, run)
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
            f"{key_of(run, 'model_flops')} is {times(ratio)}{cause}: {figure(claimed)}, expected "
            f"{figure(expected)} from the model's dimensions",
            claimed=claimed,
            expected=expected,
            ratio=ratio,
            write=expected,
            fix=f"write {exact(expected)}, 3 x forward FLOPs per token x tokens",
            **place(run, "model_flops"),
        )


def _model_flops(case: Case, run: ResultsRun) -> float | None:
    """Model FLOPs of the tokens that the training configuration makes, else of those stated."""
    tokens = metrics.tokens_of(run) or run.number("tokens")
    return metrics.model_flops_of(run, case.track.vocab_size, tokens)


def reported_mfu(case: Case, run: ResultsRun) -> tuple[float, str] | None:
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


def mfu_impossible(case: Case) -> Iterator[Finding]:
    """Model FLOPs do not exceed hardware FLOPs: no chip computes more than its peak.

    Taken as the file states them (6 x parameters x tokens where it states no model FLOPs), and as
    they were recomputed; and by the tokens of a log or of a W&B run, with the dimensions or the
    parameters that it states, else with a million parameters. It usually follows from another
    mistake, such as minutes taken for seconds or the peak of another precision; fix that, and
    this goes away.
    """
    for run in case.results:
        reported = reported_mfu(case, run)
        values = metrics.of_results(run, case.track.vocab_size)
        ours, hardware = values["mfu"], values["hardware_flops"]
        stated = run.number("hardware_flops")
        if reported is not None and reported[0] > 1:
            off = bool(stated and hardware and not same(stated, hardware))
            follows = bool(ours and ours <= 1 and off)
            yield finding(
                "mfu-impossible",
                f"{reported[1]} are {figure(reported[0], 3)} times "
                f"{key_of(run, 'hardware_flops')}, but a "
                "chip cannot exceed its peak"
                + (
                    f"; with correct hardware FLOPs it is {figure(ours, 3)} times"
                    if follows
                    else ""
                ),
                claimed=reported[0],
                expected=ours if follows else None,
                ratio=reported[0],
                fix=_right(ours) if follows else "correct training time, chips, peak or tokens",
                **place(run, "hardware_flops"),
            )
        elif ours is not None and ours > 1:
            yield finding(
                "mfu-impossible",
                f"model FLOPs are {figure(ours, 3)} times the hardware FLOPs recomputed from "
                "time, chips and peak, but a chip cannot exceed its peak",
                claimed=ours,
                ratio=ours,
                fix="correct training time, chips, peak or tokens",
                **place(run, "training_time_s"),
            )
    yield from per_message(
        _of_run(case, "mfu-impossible", found) for found in _of_runs(case, 1.0, math.inf)
    )


_Share = tuple[RunEvidence, Run, float, str]


def _of_runs(case: Case, above: float, most: float) -> Iterator[_Share]:
    """Runs of logs and of W&B whose tokens take a share of their chips' peak in (above, most] at
    the least, with that share and what states the model."""
    for item, run in runs_of(case):
        values = metrics.of_run(run, case.track)
        hardware, least = values["hardware_flops"], least_flops(run, case.track.vocab_size)
        if run.source == "results" or least is None or not hardware:
            continue
        share = least[0] / hardware
        if above < share <= most:
            yield item, run, share, least[1]


def _of_run(case: Case, name: str, found: _Share) -> Finding:
    item, run, share, model = found
    return about(
        case,
        item,
        run,
        name,
        f"the tokens of the run take {figure(share, 3)} times what its chips can compute in its "
        f"time, by {model}",
        claimed=share,
        ratio=share,
        fix="correct training time, devices or tokens, or say in the README what is wrong here",
    )


def _right(mfu: float | None, what: str = "hardware FLOPs") -> str:
    """The remedy where another figure is what is wrong, and the MFU that is left then."""
    fix = f"fix the {what}, and this goes away"
    if mfu is None or LOW <= mfu <= HIGH:
        return fix
    side = "low" if mfu < LOW else "high"
    return f"{fix}; the MFU is then {percent(mfu)}, which is {side}: say why in the description"


def mfu_unusual(case: Case) -> Iterator[Finding]:
    """The run used between 1 % and 75 % of the peak, as nearly every correct run does.

    More than 75 % or less than 1 % is possible but rare, so a maintainer looks at it. Explain it in
    the description. Little use of the chips is only a note where their FLOPs do not rank: a small
    model leaves a large GPU idle, and takes the longer for it.
    """
    ranks = "hardware_flops" in (case.track.cost.metric, case.track.quality.metric)
    for run in case.results:
        reported = reported_mfu(case, run)
        if reported is None or not (HIGH < reported[0] <= 1 or reported[0] < LOW):
            continue
        side = f"above {figure(HIGH)}" if reported[0] > HIGH else f"below {figure(LOW)}"
        yield finding(
            "mfu-unusual",
            f"{reported[1]} over hardware FLOPs, both as stated, are {figure(reported[0], 3)}, "
            f"{side}",
            Level.WARNING if ranks or reported[0] > HIGH else Level.NOTE,
            claimed=reported[0],
            fix=_unusual_fix(case, run),
            **place(run, "hardware_flops"),
        )
    yield from per_message(_of_run(case, "mfu-unusual", found) for found in _of_runs(case, HIGH, 1))


def _unusual_fix(case: Case, run: ResultsRun) -> str:
    """The figure that makes MFU unusual, where one is known to be wrong; else what to look at."""
    values = metrics.of_results(run, case.track.vocab_size)
    mfu = values["mfu"]
    usual = mfu is not None and LOW <= mfu <= HIGH
    for name, what in (
        ("hardware_flops", "hardware FLOPs"),
        ("tokens", "tokens"),
        ("parameters", "parameters"),
    ):
        stated, right = run.number(name), values[name]
        if stated and right and not same(stated, right) and (usual or name == "hardware_flops"):
            return _right(mfu, what)
    return "check training time, chips and peak, or explain it in the description"


def parameter_count_mismatch(case: Case) -> Iterator[Finding]:
    """The number of parameters follows from the dimensions, to 0.2 %.

    Only a note: norms, biases and gates are counted in more than one way. Architectures that the
    formula does not cover are not judged.
    """
    for run in case.results:
        claimed = run.number("parameters")
        shape = metrics.transformer_of(run, case.track.vocab_size)
        if claimed is None or shape is None or claimed <= 0 or metrics.novelties_of(run):
            continue
        expected = accounting.parameter_count(shape)
        if not same(claimed, expected):
            yield finding(
                "parameter-count-mismatch",
                f"the file states {claimed:,} parameters, but the dimensions give {expected:,}",
                claimed=claimed,
                expected=expected,
                ratio=claimed / expected,
                fix="check the dimensions, or say what else has parameters",
                **place(run, "parameters"),
            )


def model_flops_unchecked(case: Case) -> Iterator[Finding]:
    """There is no formula for the model FLOPs of this architecture yet.

    New ideas are not punished: model FLOPs are shown as stated, and the run ranks by hardware FLOPs
    like every other. Send us the formula with a source, and we will add it.
    """
    for run in case.results:
        claimed = run.number("model_flops")
        if claimed is None:
            continue
        new = metrics.novelties_of(run)
        ours = _model_flops(case, run)
        if ours is not None and (not new or same(claimed, ours)):
            continue
        why = (
            f"there is no formula for {', '.join(plain(n) for n in new[:4])}"
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
