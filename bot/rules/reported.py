"""Reported statistics against those of the runs, with the likely cause of a difference.

`wrong_claims` compares what a submission reports as {mean, sd, n, p} of a metric, and the time of
an imported table, with the runs. A bare number is compared by `claim-differs-from-run`.
"""

from __future__ import annotations

import dataclasses as dc
import math
import re
from collections.abc import Iterator

from bot.compute import significance as sig
from bot.compute.case_statistics import claims_of, loss_key_of
from bot.model.case import Case
from bot.model.submission import Claim
from bot.model.summary import Moments, Sample, Summary
from bot.model.track import LOSS_METRICS, STEP_METRICS, TIME_METRICS
from bot.model.values import finite
from bot.registry import (
    LOSS_TOLERANCE,
    P_TOLERANCE,
    RELATIVE_TOLERANCE,
    TABLE_TOLERANCE_S,
    TIME_TOLERANCE_S,
    Level,
)
from bot.render.numbers import count, exact, figure, probability


@dc.dataclass(frozen=True, slots=True)
class Wrong:
    """One number of a claim that differs from the runs, in words with its likely cause."""

    message: str
    claimed: float
    expected: float | None
    pointer: str
    fix: str = "report what `speedrun stats` prints for these runs"
    level: Level | None = None
    """None: the rule's own level."""


def wrong_claims(case: Case, point: str | None, summary: Summary) -> Iterator[Wrong]:
    """Everything reported about `point` that the runs do not show."""
    key = loss_key_of(case)
    for claim in claims_of(case, point):
        if claim.scalar:
            continue
        sample = sample_of(case, claim.metric, summary, key)
        if sample is not None:
            for wrong in _compare(claim, sample, summary):
                yield dc.replace(wrong, fix=_fix(wrong, claim, summary, len(sample.values)))
    yield from _table(case, summary)


def tolerance(metric: str, value: float) -> float:
    """By how much a claimed mean or sd of `metric` may differ from `value`."""
    if metric in LOSS_METRICS or metric.endswith("_loss"):
        return LOSS_TOLERANCE
    if metric in TIME_METRICS:
        return TIME_TOLERANCE_S
    return RELATIVE_TOLERANCE * abs(value)


def agrees(claim: Claim, value: float) -> bool:
    """Whether a claim is a value, or the value rounded to the three or more digits that the claim
    has."""
    if abs(claim.value - value) <= tolerance(claim.metric, value):
        return True
    written = repr(claim.value)
    digits = re.sub(r"[^0-9]", "", written).strip("0")
    places = len(written.partition(".")[2])
    return len(digits) >= 3 and round(value, places) == claim.value


def sample_of(case: Case, metric: str, summary: Summary, key: str | None) -> Sample | None:
    """The values of a metric over the runs that count; None where they do not have it.

    Where the submission has another metric stand in for the loss, its claim `loss` means that.
    """
    quality = case.track.quality.metric
    if metric in (quality, key) or (metric in LOSS_METRICS and quality in LOSS_METRICS):
        return summary.quality
    if metric in TIME_METRICS:
        return summary.time
    if metric == summary.cost_metric or (
        metric in STEP_METRICS and summary.cost_metric in STEP_METRICS
    ):
        return summary.cost
    kept = set(summary.kept)
    runs = [r for r in case.runs("candidate") if (r.file, r.index) in kept]
    values = [float(v) for r in runs if (v := r.metrics.get(metric)) is not None]
    return Sample(tuple(values)) if values and len(values) == len(runs) else None


def _compare(claim: Claim, sample: Sample, s: Summary) -> Iterator[Wrong]:
    m = sample.moments
    n = len(sample.values)
    if claim.n is not None and claim.n != n:
        out = f" ({_left_out(len(s.excluded))})" if s.excluded else ""
        message = f"n of {claim.metric} is reported as {claim.n}, but {count(n, 'run')} "
        message += f"{'counts' if n == 1 else 'count'}{out}"
        yield Wrong(message, claim.n, n, f"{claim.pointer}/n")
    if m is None:
        return
    if not agrees(claim, m.mean):
        said = f"the mean of {claim.metric} is reported as {figure(claim.value, 8)}"
        cause = _mean_cause(claim, sample)
        yield Wrong(
            f"{said}, but the runs give {figure(m.mean, 8)}{cause}",
            claim.value,
            m.mean,
            f"{claim.pointer}/mean",
        )
    if claim.sd is not None:
        yield from _wrong_sd(claim, claim.sd, m)
    if claim.p is not None and sample is s.quality:
        yield from _wrong_p(claim, claim.p, s)


def _left_out(count: int) -> str:
    return f"{count} {'does' if count == 1 else 'do'} not count"


def right(wrong: Wrong) -> float | None:
    """The number to write, if there is one: as many digits as its tolerance needs; a tiny p as
    0.000001."""
    value = wrong.expected
    if value is None:
        return None
    if wrong.pointer.endswith("/p"):
        return max(float(f"{value:.3g}"), 1e-6)
    return float(f"{value:.{4 if wrong.pointer.endswith('/sd') else 8}g}")


def _fix(wrong: Wrong, claim: Claim, s: Summary, n: int) -> str:
    """What to write; or, where the claim is about more runs than there are, to bring the others."""
    part = wrong.pointer.rpartition("/")[2]
    value = right(wrong)
    write = f"leave `{part}` out" if value is None else f"write {exact(value)}"
    missing, out = (claim.n or n) - n, len(s.excluded)
    others = "the other run" if missing == 1 else f"the other {missing} runs"
    logs = f"the log of {others}" if missing == 1 else f"the logs of {others}"
    if missing < 0 and part == "n":
        return f"{write}; runs of another experiment belong in a point or an arm of their own"
    if missing <= 0:
        return f"{write}, as `speedrun stats` prints"
    if missing <= out:
        return f"{write}; {count(out, 'listed run')} {'does' if out == 1 else 'do'} not count"
    if part == "n":
        return f"{write}, or add {logs} to the folder and to `runs`"
    return f"{write}, or add {others} that `n` counts"


def _mean_cause(claim: Claim, sample: Sample) -> str:
    """What the claimed mean is, where it can be told."""
    values = sample.values
    allowed = tolerance(claim.metric, claim.value)
    if len(values) < 2 or (claim.n or 0) > len(values):
        return ""
    for name, value in (("lowest", min(values)), ("highest", max(values))):
        if abs(claim.value - value) <= min(allowed, 5e-5):
            return f" (it is the {name} of the runs)"
    slip = (claim.value - math.fsum(values) / len(values)) * len(values)
    # A mistyped digit moves one value by a digit times a power of ten.
    power = 10.0 ** math.floor(math.log10(abs(slip)))
    digit = slip / power
    if claim.metric in LOSS_METRICS and abs(digit - round(digit)) < 0.02:
        return f" (as if one of the {len(values)} values were mistyped by {slip:+.1g})"
    if not min(values) <= claim.value <= max(values):
        side = "below" if claim.value < min(values) else "above"
        return f" (the claim is {side} every run)"
    return ""


def _wrong_sd(claim: Claim, sd: float, m: Moments) -> Iterator[Wrong]:
    if m.sd is None:
        message = f"an sd of {claim.metric} is reported, but a single run has none"
        yield Wrong(message, sd, None, f"{claim.pointer}/sd")
        return
    allowed = tolerance(claim.metric, m.sd)
    if abs(sd - m.sd) <= allowed:
        return
    cause = ""
    for name, value in (
        ("the population sd, ddof = 0", m.sd * math.sqrt((m.n - 1) / m.n)),
        ("the standard error, sd / sqrt(n)", m.sd / math.sqrt(m.n)),
        ("the variance", m.sd**2),
    ):
        if abs(sd - value) <= max(0.01 * value, allowed / 10):
            cause = f" (it is {name})"
            break
    said = f"the sd of {claim.metric} is reported as {figure(sd)}"
    message = f"{said}, but the runs give {figure(m.sd)}{cause}"
    yield Wrong(message, sd, m.sd, f"{claim.pointer}/sd")


def _wrong_p(claim: Claim, p: float, s: Summary) -> Iterator[Wrong]:
    own = s.decision.p if s.decision.p is not None else s.p_t
    accepted = [own] if s.decision.test != "z" else [own, s.p_t]
    known = [value for value in accepted if value is not None]
    if any(_same_p(p, value) for value in known):
        return
    pointer = f"{claim.pointer}/p"
    if not known:
        yield Wrong(
            f"p is reported as {probability(p)}, but these runs give none", p, None, pointer
        )
        return
    given = figure(known[0], 3) if known[0] >= 1e-6 else probability(known[0])
    cause = next((f" (it is {name})" for name, v in _other_ps(s) if _same_p(p, v, 0.0)), "")
    message = f"p is reported as {probability(p)}, but the runs give {given}{cause}"
    yield Wrong(message, p, known[0], pointer)


def _same_p(a: float, b: float, absolute: float = LOSS_TOLERANCE) -> bool:
    return abs(a - b) <= max(P_TOLERANCE * b, absolute)


def _other_ps(s: Summary) -> Iterator[tuple[str, float]]:
    """p-values that a mistake gives, by the mistake's name."""
    m, target = s.moments, s.target
    if m is None or target is None or not m.sd:
        return
    gain = m.gain(target, s.goal)
    t = gain.mean / m.sd
    df = m.n - 1
    yield "without the square root of n", sig.t_cdf(-t, df)
    yield "with the population sd", sig.t_cdf(-t * m.n / math.sqrt(df), df)
    if s.p_t is not None:
        yield "two-sided", 2 * min(s.p_t, 1 - s.p_t)
        yield "of the other side", 1 - s.p_t
    yield "of the normal distribution", sig.normal_tail(t * math.sqrt(m.n))
    for name, p in (("known sigma", s.p_sigma), ("pooled sd", s.p_pooled)):
        if p is not None:
            yield f"with the {name}", p


def _table(case: Case, s: Summary) -> Iterator[Wrong]:
    """The time that an imported table shows, within its own resolution."""
    imported = case.submission.imported or {}
    shown, resolution = imported.get("time_s"), imported.get("time_resolution_s")
    m = s.time.moments
    if m is None or s.cost_metric not in TIME_METRICS:
        return
    if not finite(shown) or not finite(resolution):
        return
    if abs(shown - m.mean) > resolution + TABLE_TOLERANCE_S:
        # The maintainers timed it themselves, on another machine: a fact about this result.
        message = f"the official table shows {figure(shown)} s; these runs took {figure(m.mean)} s"
        fix = "nothing to do: both times are shown, and the official one decides."
        yield Wrong(message, float(shown), m.mean, "/imported/time_s", fix, Level.NOTE)
