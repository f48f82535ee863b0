"""How far a reported number may be from the runs, and what is said of one that is farther."""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Any

import pytest

from bot.model.case import Context
from bot.model.submission import Claim
from bot.model.summary import Decision, Excluded, Sample, Summary
from bot.rules.reported import Wrong, agrees, right, sample_of, tolerance, wrong_claims
from tests.bot.rules.statistic_cases import GOOD, SMALL, TRACKS, case, evidence

EDU = TRACKS["fineweb-edu"]


def told(values: tuple[float, ...], summary: Summary | None = None, **claim: Any) -> list[Wrong]:
    """What is wrong with a claim about a loss, or another `metric`, of these values."""
    metric = claim.pop("metric", "loss")
    track = EDU if metric == "bpb" else SMALL
    made = Claim(metric, claim.pop("value", 0.0), pointer="/c", scalar=False, **claim)
    summary = dc.replace(summary or Summary(), quality=Sample(values))
    return list(wrong_claims(case(track, claims=(made,)), None, summary))


@pytest.mark.parametrize(
    ("metric", "value", "allowed"),
    [("loss", 9.0, 6e-5), ("val_loss", 9.0, 6e-5), ("val_ema_loss", 9.0, 6e-5),
     ("training_time_s", 9.0, 0.06), ("time_s", 9.0, 0.06), ("bpb", -2.0, 0.004),
     ("tokens", 1000.0, 2.0)],
)  # fmt: skip
def test_the_tolerance_of_each_metric(metric: str, value: float, allowed: float) -> None:
    assert tolerance(metric, value) == allowed


@pytest.mark.parametrize(
    ("metric", "claimed", "value", "same"),
    [
        ("loss", 6e-5, 0.0, True),
        ("loss", 6.1e-5, 0.0, False),
        ("tokens", 1002.0, 1000.0, True),
        ("tokens", 1002.1, 1000.0, False),
        ("loss", 3.28, 3.2784, True),  # rounded to three digits
        ("loss", 3.28, 3.2851, False),
        ("loss", 3.3, 3.2784, False),  # two digits say too little
        ("loss", 0.033, 0.03278, False),
        ("loss", 0.0328, 0.03287, False),
        ("loss", 0.0328, 0.032764, True),
        ("loss", 3.278, 3.27849, True),
        ("loss", 328.0, 328.4, False),
        ("bpb", 1.23e-7, 1.2345e-7, False),
        ("tokens", 1.23e20, 1.2345e20, False),
    ],
)
def test_a_claim_agrees_with_a_value(metric: str, claimed: float, value: float, same: bool) -> None:
    assert agrees(Claim(metric, claimed), value) is same


SUMMARY = Summary(
    quality=Sample((1.0,)),
    time=Sample((2.0,)),
    cost=Sample((3.0,)),
    cost_metric="steps",
    kept=(("candidate.log", 0), ("candidate.log", 1)),
)


@pytest.mark.parametrize(
    ("metric", "track", "changes", "values"),
    [
        ("loss", SMALL, {}, (1.0,)),
        ("val_loss", SMALL, {}, (1.0,)),
        ("val_ema_loss", SMALL, {}, (1.0,)),
        ("bpb", EDU, {}, (1.0,)),
        ("loss", EDU, {}, None),
        ("val_loss", EDU, {}, None),
        ("training_time_s", SMALL, {}, (2.0,)),
        ("time_s", SMALL, {}, (2.0,)),
        ("steps", SMALL, {}, (3.0,)),
        ("step", SMALL, {}, (3.0,)),
        ("step", SMALL, {"cost_metric": "tokens"}, None),
        ("tokens", SMALL, {"cost_metric": "tokens"}, (3.0,)),
        ("tokens", SMALL, {}, (10.0, 20.0)),
        ("tokens", SMALL, {"kept": (("candidate.log", 1),)}, (20.0,)),
        ("tokens", SMALL, {"kept": ()}, None),
        ("parameters", SMALL, {}, None),  # one of the two runs has none
        ("mfu", SMALL, {}, None),
    ],
)
def test_the_values_that_a_claim_is_about(
    metric: str, track: Any, changes: dict[str, Any], values: tuple[float, ...] | None
) -> None:
    item = evidence(GOOD[:3])
    tokens = ({"tokens": 10}, {"tokens": 20, "parameters": 5}, {"tokens": 40})
    runs = tuple(dc.replace(r, metrics=m) for r, m in zip(item.runs, tokens, strict=True))
    subject = case(track, dc.replace(item, runs=runs))
    found = sample_of(subject, metric, dc.replace(SUMMARY, **changes), "val_ema_loss")
    assert (found and found.values) == values


# ---- Counts, and what to do ---------------------------------------------------------------------


def out(count: int) -> Summary:
    return Summary(excluded=tuple(Excluded(f"{n}.log", 0, "unfinished") for n in range(count)))


AS_PRINTED = ", as `speedrun stats` prints"
LOGS = "to the folder and to `runs`"
APART = "; runs of another experiment belong in a point or an arm of their own"


@pytest.mark.parametrize(
    ("values", "n", "excluded", "message", "fix"),
    [
        ((0.0,), 1, 0, None, None),
        ((0.0,), 0, 0, "0, but 1 run counts", f"write 1{AS_PRINTED}"),
        ((0.0, 0.0), 1, 0, "1, but 2 runs count", f"write 2{APART}"),
        ((), 1, 1, "1, but 0 runs count (1 does not count)",
         "write 0; 1 listed run does not count"),
        ((0.0,), 2, 1, "2, but 1 run counts (1 does not count)",
         "write 1; 1 listed run does not count"),
        ((0.0,), 2, 2, "2, but 1 run counts (2 do not count)",
         "write 1; 2 listed runs do not count"),
        ((0.0,), 3, 1, "3, but 1 run counts (1 does not count)",
         f"write 1, or add the logs of the other 2 runs {LOGS}"),
        ((0.0,), 2, 0, "2, but 1 run counts", f"write 1, or add the log of the other run {LOGS}"),
    ],
)  # fmt: skip
def test_a_reported_count(
    values: tuple[float, ...], n: int, excluded: int, message: str | None, fix: str | None
) -> None:
    found = told(values, out(excluded), n=n)
    assert [(w.message, w.fix, w.pointer, w.claimed, w.expected) for w in found] == (
        [(f"n of loss is reported as {message}", fix, "/c/n", n, len(values))] if message else []
    )


@pytest.mark.parametrize(
    ("n", "excluded", "fix"),
    [
        (None, 0, f"write 3.25{AS_PRINTED}"),
        (2, 0, f"write 3.25{AS_PRINTED}"),
        (1, 0, f"write 3.25{AS_PRINTED}"),
        (3, 1, "write 3.25; 1 listed run does not count"),
        (3, 0, "write 3.25, or add the other run that `n` counts"),
        (5, 2, "write 3.25, or add the other 3 runs that `n` counts"),
    ],
)
def test_what_to_do_about_a_mean(n: int | None, excluded: int, fix: str) -> None:
    wrong = told((3.0, 3.5), out(excluded), value=3.4, n=n)[-1]
    assert (wrong.pointer, wrong.claimed, wrong.expected) == ("/c/mean", 3.4, 3.25)
    assert wrong.fix == fix


@pytest.mark.parametrize(
    ("part", "expected", "write"),
    [
        ("mean", 3.2771234567, 3.2771235),
        ("sd", 0.00123456, 0.001235),
        ("p", 0.0123456, 0.0123),
        ("p", 1e-9, 1e-6),
        ("p", 1.5e-6, 1.5e-6),
        ("n", 7, 7.0),
        ("sd", None, None),
    ],
)
def test_the_number_to_write(part: str, expected: float | None, write: float | None) -> None:
    assert right(Wrong("", 0.0, expected, f"/claims/loss/{part}")) == write


# ---- Means and spreads --------------------------------------------------------------------------

LOWEST, HIGHEST = " (it is the lowest of the runs)", " (it is the highest of the runs)"
WIDE = (0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "claim", "cause"),
    [
        ((3.27,), {"value": 3.5}, ""),
        (WIDE, {"value": 5e-5}, LOWEST),
        (WIDE, {"value": 6e-5}, " (as if one of the 2 values were mistyped by -1)"),
        (WIDE, {"value": 1.0}, HIGHEST),
        (WIDE, {"value": 1.0, "n": 2}, HIGHEST),
        (WIDE, {"value": 1.0, "n": 3}, ""),
        ((0.01, 0.03), {"value": 0.01001, "metric": "bpb"}, LOWEST),
        ((0.01, 0.03), {"value": 0.01003, "metric": "bpb"}, ""),
        ((3.0, 3.2), {"value": 3.115095}, " (as if one of the 2 values were mistyped by +0.03)"),
        ((3.0, 3.2), {"value": 3.115105}, ""),
        ((3.0, 3.2), {"value": 3.115, "metric": "bpb"}, ""),
        ((3.0, 3.2, 3.4), {"value": 3.1}, " (as if one of the 3 values were mistyped by -0.3)"),
        ((1.0, 1.2), {"value": 1.217, "metric": "bpb"}, " (the claim is above every run)"),
        ((1.0, 1.2), {"value": 0.983, "metric": "bpb"}, " (the claim is below every run)"),
        ((1.0, 1.2), {"value": 1.19, "metric": "bpb"}, ""),
    ],
)
def test_what_a_wrong_mean_is(values: tuple[float, ...], claim: dict[str, Any], cause: str) -> None:
    wrong = told(values, **claim)[-1]
    mean = f"{math.fsum(values) / len(values):g}"
    assert wrong.message.partition("but the runs give ")[2] == f"{mean}{cause}"


POPULATION = " (it is the population sd, ddof = 0)"
ERROR = " (it is the standard error, sd / sqrt(n))"
VARIANCE = " (it is the variance)"
THREE = (0.0, 3.0, 6.0)
"""Of mean 3, sd 3 and variance 9; the population sd is 2.44949, the standard error 1.73205."""


@pytest.mark.parametrize(
    ("values", "sd", "given"),
    [
        ((1.0, 1.0), 6e-5, None),
        ((1.0, 1.0), 6.1e-5, "0"),
        (THREE, 3.00006, None),
        (THREE, 3.0001, "3"),
        (THREE, 2.44949, f"3{POPULATION}"),
        (THREE, 2.473, f"3{POPULATION}"),  # 1 % of it
        (THREE, 2.426, f"3{POPULATION}"),
        (THREE, 2.475, "3"),
        (THREE, 1.73205, f"3{ERROR}"),
        (THREE, 9.08, f"3{VARIANCE}"),
        (THREE, 9.1, "3"),
        ((0.0, 0.0004), 0.000205, f"0.000282843{POPULATION}"),  # 6e-6 of it
        ((0.0, 0.0004), 0.000207, "0.000282843"),
    ],
)
def test_a_reported_spread(values: tuple[float, ...], sd: float, given: str | None) -> None:
    mean = sum(values) / len(values)
    found = told(values, value=mean, sd=sd)
    assert [w.message.partition("but the runs give ")[2] for w in found] == [given] * bool(given)
    assert all((w.pointer, w.claimed) == ("/c/sd", sd) for w in found)


def test_a_spread_of_one_run_and_claims_of_no_runs() -> None:
    (wrong,) = told((3.28,), value=3.28, sd=0.001)
    assert wrong.message == "an sd of loss is reported, but a single run has none"
    assert (wrong.fix, wrong.pointer) == (f"leave `sd` out{AS_PRINTED}", "/c/sd")
    assert told((), value=3.28, sd=0.001, p=0.5) == []
    (apart,) = told((), value=3.28, n=1)
    assert apart.pointer == "/c/n"


# ---- p ------------------------------------------------------------------------------------------

LOSSES = (3.275, 3.2805, 3.2775)
"""Of a mean 0.84732 standard deviations below 3.28: t is 1.4676 with two degrees of freedom."""


def judged(test: str, p: float | None, **more: Any) -> Summary:
    return Summary(target=3.28, decision=Decision(test, None, p, False), **more)


def t2(t: float) -> float:
    """P(T > t) of Student's distribution with two degrees of freedom."""
    return 0.5 - t / (2 * math.sqrt(2 + t * t))


BY_T = {"p_t": 0.14}


@pytest.mark.parametrize(
    ("summary", "p", "given"),
    [
        (judged("t", 0.14), 0.14, None),
        (judged("t", 0.5), 0.509, None),  # 2 % of it
        (judged("t", 0.5), 0.511, "0.5"),
        (judged("t", 0.5), 0.489, "0.5"),
        (judged("t", 0.0), 6e-5, None),
        (judged("t", 0.0), 7e-5, "< 0.000001"),
        (judged("t", 1e-9), 7e-5, "< 0.000001"),
        (judged("t", 1.5e-6), 7e-5, "0.0000015"),
        (judged("t", 0.12345), 0.9, "0.123"),
        (judged("none", None, **BY_T), 0.14, None),
        (judged("none", None, **BY_T), 0.3, "0.14"),
        (judged("z", 0.01, p_t=0.3), 0.3, None),
        (judged("z", 0.01, p_t=0.3), 0.01, None),
        (judged("z", 0.01), 0.4, "0.01"),
        (judged("t", 0.01, p_t=0.3), 0.3, "0.01"),
        (judged("t", 0.01, **BY_T), t2(0.84732), "0.01 (it is without the square root of n)"),
        (judged("t", 0.01, **BY_T), t2(0.84732 * 3 / math.sqrt(2)),
         "0.01 (it is with the population sd)"),
        (judged("t", 0.01, **BY_T), 0.28, "0.01 (it is two-sided)"),
        (judged("t", 0.01, p_t=0.84), 0.32, "0.01 (it is two-sided)"),
        (judged("t", 0.01, **BY_T), 0.86, "0.01 (it is of the other side)"),
        (judged("t", 0.01), 0.86, "0.01"),
        (judged("t", 0.01), 0.5 * math.erfc(1.4676 / math.sqrt(2)),
         "0.01 (it is of the normal distribution)"),
        (judged("t", 0.01, p_sigma=0.4), 0.4, "0.01 (it is with the known sigma)"),
        (judged("t", 0.01, p_pooled=0.4), 0.4, "0.01 (it is with the pooled sd)"),
        (judged("t", 0.01, p_pooled=0.4), 0.41, "0.01"),
        (dc.replace(judged("t", 0.01, p_sigma=0.4), target=None), 0.4, "0.01"),
    ],
)  # fmt: skip
def test_a_reported_p(summary: Summary, p: float, given: str | None) -> None:
    mean = sum(LOSSES) / 3
    found = told(LOSSES, summary, value=mean, p=p)
    assert [w.message.partition("but the runs give ")[2] for w in found] == [given] * bool(given)
    assert all((w.pointer, w.expected) == ("/c/p", summary.decision.p or summary.p_t or 0.0)
               for w in found)  # fmt: skip


def test_a_p_that_the_runs_do_not_give() -> None:
    (wrong,) = told((3.28, 3.28), judged("t", None), value=3.28, p=0.05)
    assert wrong.message == "p is reported as 0.05, but these runs give none"
    assert (wrong.fix, wrong.pointer) == (f"leave `p` out{AS_PRINTED}", "/c/p")
    (wrong,) = told((3.28, 3.28), judged("z", 0.3, p_sigma=0.05), value=3.28, p=0.05)
    assert wrong.message == "p is reported as 0.05, but the runs give 0.3"
    # a p of anything but the quality is not asked for
    claim = Claim("time_s", 2.0, p=0.05, pointer="/c", scalar=False)
    summary = dc.replace(judged("t", 0.9), time=Sample((2.0,)))
    assert list(wrong_claims(case(SMALL, claims=(claim,)), None, summary)) == []


# ---- The table of a record history --------------------------------------------------------------


@pytest.mark.parametrize(
    ("imported", "times", "cost", "is_told"),
    [
        ({"time_s": 0.05, "time_resolution_s": 0.0}, (0.0,), "training_time_s", False),
        ({"time_s": 0.06, "time_resolution_s": 0.0}, (0.0,), "training_time_s", True),
        ({"time_s": 0.06, "time_resolution_s": 0.0}, (0.0,), "time_s", True),
        ({"time_s": 0.06, "time_resolution_s": 0.02}, (0.0,), "time_s", False),
        ({"time_s": 9.0, "time_resolution_s": 0.0}, (), "time_s", False),
        ({"time_s": 9.0, "time_resolution_s": 0.0}, (0.0,), "steps", False),
        ({"time_s": "9", "time_resolution_s": 0.0}, (0.0,), "time_s", False),
        ({"time_s": 9.0}, (0.0,), "time_s", False),
        ({}, (0.0,), "time_s", False),
        (None, (0.0,), "time_s", False),
    ],
)
def test_the_time_that_a_table_shows(
    imported: Any, times: tuple[float, ...], cost: str, is_told: bool
) -> None:
    subject = dc.replace(case(SMALL, imported=imported), context=Context(merged=True))
    summary = Summary(time=Sample(times), cost_metric=cost)
    assert len(list(wrong_claims(subject, None, summary))) == is_told
