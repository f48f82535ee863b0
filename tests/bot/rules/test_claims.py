"""Bare numbers in `claims`, and seeds, against what the runs show."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.model.case import Case, RunEvidence
from bot.model.submission import Claim, RunSpec
from bot.model.verdict import Finding
from bot.registry import Level
from tests.bot.rules.run_cases import PATH, SMALL, a_case, a_run, found

MEAN = 3.2771  # of 3.277 and 3.2772


def told(case: Case) -> list[Finding]:
    return list(found("claim-differs-from-run", case))


def claimed(metric: str, value: float, **fields: Any) -> list[Finding]:
    claim = Claim(metric, value, **{"pointer": f"/claims/{metric}", **fields})
    return told(a_case(submission={"claims": (claim,)}))


@pytest.mark.parametrize(
    ("metric", "value", "right"),
    [
        ("loss", MEAN + 5.9e-5, True),
        ("loss", MEAN + 6.2e-5, False),
        ("training_time_s", 60.05, True),
        ("training_time_s", 60.07, False),
        ("training_time_s", 59.0, False),
        ("bpb", 1.012, True),
        ("bpb", 1.01204, False),
        ("bpb", 1.0, False),
    ],
)
def test_a_claim_is_the_mean_of_the_runs(metric: str, value: float, right: bool) -> None:
    items = claimed(metric, value)
    assert (items == []) is right
    for item in items:
        expected = {"loss": MEAN, "training_time_s": 60.0, "bpb": 1.01}[metric]
        shown = {"loss": "3.2771", "training_time_s": "60", "bpb": "1.01"}[metric]
        assert f" is claimed as {value:.8g}, but the mean of the 2 runs is {shown}" in item.message
        assert (item.claimed, item.expected) == (value, pytest.approx(expected))
        assert item.ratio == pytest.approx(value / expected)
        assert (item.write, item.fix) == (
            pytest.approx(expected), f"write {shown}, or remove the claim"
        )  # fmt: skip
        assert (item.file, item.pointer) == (f"{PATH}/submission.json", f"/claims/{metric}")
    assert claimed(metric, value, scalar=False) == []  # an object is compared elsewhere
    assert [f.pointer for f in claimed(metric, value, pointer="")] == [None] * (not right)


@pytest.mark.parametrize(
    ("untimed", "said", "fix"),
    [
        (1, "but the 2 of 3 runs that count give a mean of 60",
         "first fix the run that does not count; without it, write 60, or remove the claim"),
        (2, "but the 1 of 3 runs that counts shows 60",
         "first fix the 2 runs that do not count; without them, write 60, or remove the claim"),
    ],
)  # fmt: skip
def test_a_run_that_does_not_count_comes_before_the_claim(
    untimed: int, said: str, fix: str
) -> None:
    runs = [a_run(n) for n in range(3 - untimed)]
    for n in range(3 - untimed, 3):
        points = tuple(point._replace(time_s=None) for point in a_run(n).validation)
        runs.append(a_run(n, validation=points, metrics={"loss": 3.277}))
    claims = (Claim("training_time_s", 50.0, pointer="/claims/training_time_s"),)
    (item,) = told(a_case(runs, submission={"claims": claims}))
    assert item.message.endswith(said) and (item.fix, item.write) == (fix, None)


def test_one_run_is_no_mean() -> None:
    claims = (Claim("bpb", 1.0), Claim("bpb", 2.0, point="other"))
    (item,) = told(a_case([a_run(0)], submission={"claims": claims[:1]}))
    assert item.message == "bpb is claimed as 1, but the run shows 1.01" and item.point is None


@pytest.mark.parametrize(
    ("value", "agrees"),
    [
        (3.2701, True),
        (3.2803, True),
        (3.2711, True),
        (3.2752, True),
        (3.27, False),
        (3.2804, False),
    ],
)
def test_where_a_claim_may_be_of_any_run_the_range_of_them_agrees(
    value: float, agrees: bool
) -> None:
    runs = [a_run(n, validation=a_run(0).validation) for n in range(2)]
    last = runs[0].validation[-1]
    losses = (3.2701, 3.2803)
    made = [
        dc.replace(run, validation=(*run.validation[:-1], last._replace(loss=loss)))
        for run, loss in zip(runs, losses, strict=True)
    ]
    claim = Claim("loss", value, of_any=True)
    assert (told(a_case(made, submission={"claims": (claim,)})) == []) is agrees
    only = Claim("loss", value)
    mean = value == 3.2752
    assert (told(a_case(made, submission={"claims": (only,)})) == []) is mean


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        (60_000.0, "milliseconds"),
        (60_590.0, "milliseconds"),
        (59_410.0, "milliseconds"),
        (60_610.0, None),
        (59_390.0, None),
        (1.0, "minutes"),
        (1.009, "minutes"),
        (1.011, None),
        (1 / 60, "hours"),
        (1.00999 / 60, "hours"),
        (0.99001 / 60, "hours"),
        (0.0164, None),
        (61.0, None),
    ],
)
def test_the_unit_of_a_time_is_recognised(value: float, unit: str | None) -> None:
    (item,) = claimed("training_time_s", value)
    assert item.message.endswith(f" 60 seconds; the claim is in {unit}" if unit else "runs is 60")


def test_only_a_time_has_its_unit_recognised() -> None:
    (item,) = claimed("bpb", 1010.0)
    assert item.message.endswith("is 1.01")
    runs, claims = [a_run(0, metrics={"eval_s": 0.0})], (Claim("eval_s", 5.0),)
    (item,) = told(a_case(runs, submission={"claims": claims}))
    assert item.message == "eval_s is claimed as 5, but the run shows 0" and item.ratio is None


def test_another_loss_that_stands_in_is_shown_to_a_maintainer() -> None:
    other = {"history": {"val_ema_loss": ((1000, 3.2),)}}
    claims = (Claim("val_ema_loss", 3.2),)
    case = a_case([a_run(0, **other)], submission={"claims": claims})
    (item,) = told(case)
    said = "the submission claims val_ema_loss, so the loss is taken from there and not from the "
    assert (item.message, item.level) == (f"{said}validation loss", Level.WARNING)
    listed = dc.replace(SMALL, imported=(PATH,))
    imported = {"imported": {"url": "https://example.org", "metric": "val_ema_loss"}}
    assert not told(a_case([a_run(0, **other)], track=listed, submission=imported, merged=True))


def test_claims_without_any_run_are_not_compared() -> None:
    assert told(a_case((), submission={"claims": (Claim("bpb", 1.0),)})) == []


# ---- what is not compared -----------------------------------------------------------------------


def note(*metrics: str) -> tuple[str, str | None]:
    claims = tuple(Claim(m, n + 1.0, pointer=f"/claims/{m}") for n, m in enumerate(metrics))
    items = told(a_case(submission={"claims": claims}))
    (item,) = items
    assert (item.level, item.claimed, item.pointer) == (Level.NOTE, 1.0, f"/claims/{metrics[0]}")
    return item.message, item.fix


CLAIM = "claim loss or training_time_s, or remove the claim"
ODD = "it is not a metric of the runs"


@pytest.mark.parametrize(
    ("metrics", "message", "fix"),
    [
        (("tokens",), "tokens is claimed as 1 but was not compared: it cannot be computed from "
         "the runs", "remove the claim"),
        (("tokens", "mfu"), "2 claims were not compared (tokens and mfu): they cannot be computed "
         "from the runs", "remove the claims"),
        (("xyzzy",), f"xyzzy is claimed as 1 but was not compared: {ODD}", CLAIM),
        (("tokns",), f"tokns is claimed as 1 but was not compared: {ODD}",
         'claim "tokens", if that is what it is'),
        (("aa", "bb", "cc"), "3 claims were not compared (aa, bb and cc): they are not metrics of "
         "the runs", f"{CLAIM}s"),
        (("aa", "bb", "cc", "dd"), "4 claims were not compared (aa, bb, cc and 1 more): they are "
         "not metrics of the runs", f"{CLAIM}s"),
        (("aa", "bb", "cc", "dd", "ee"), "5 claims were not compared (aa, bb, cc and 2 more): "
         "they are not metrics of the runs", f"{CLAIM}s"),
    ],
)  # fmt: skip
def test_a_claim_that_no_run_shows_is_noted(
    metrics: tuple[str, ...], message: str, fix: str
) -> None:
    assert note(*metrics) == (message, fix)


def test_the_tracks_own_metrics_that_runs_show_can_be_claimed() -> None:
    claims = (Claim("xyzzy", 1.0),)
    for metrics, names in (
        ({"loss": 3.277}, "loss"),
        ({"training_time_s": 60.0}, "training_time_s"),
        ({}, "loss or training_time_s"),
    ):
        (item,) = told(a_case([a_run(0, metrics=metrics)], submission={"claims": claims}))
        assert item.fix == f"claim {names}, or remove the claim" and item.pointer is None
    told_of = a_case([a_run(0, history={"xyzzy": ((1000, 1.0),)})], submission={"claims": claims})
    (item,) = told(told_of)
    assert item.message.endswith("it cannot be computed from the runs")


def test_claims_wait_for_runs_that_cannot_be_read() -> None:
    listed = {"runs": [{"arm": "candidate"}, {"arm": "candidate"}]}
    fields = {"claims": (Claim("bpb", 1.0),), "raw": listed}
    specs = tuple(RunSpec("wandb", a_run(n).file, pointer=f"/runs/{n}") for n in range(2))
    unread = RunEvidence(specs[1])

    def said(evidence: tuple[RunEvidence, ...], **changes: Any) -> list[str]:
        case = a_case([a_run(0)], submission={**fields, "runs": specs, **changes})
        return [f.message[:31] for f in told(dc.replace(case, evidence=evidence))]

    read = RunEvidence(specs[0], (a_run(0),))
    assert said((read, unread)) == ["the claims were not compared ye"]
    assert said((read, unread), claims=()) == [] and said((RunEvidence(specs[0]), unread)) == []
    whole = (read, RunEvidence(specs[1], (a_run(1),)))
    assert said(whole) == ["bpb is claimed as 1, but the me"]


# ---- seeds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claimed_seed", "seeds", "right"),
    [(7, (7,), None), (7, (5,), 5), (7, (None,), None), (None, (5,), None), (7, (6, 5), 5),
     (7, (6, 7), None), (0, (5,), 5), (7, (0,), 0)],
)  # fmt: skip
def test_a_listed_seed_is_the_runs(
    claimed_seed: int | None, seeds: tuple[int | None, ...], right: int | None
) -> None:
    case = a_case([a_run(0)])
    item = case.evidence[0]
    runs = tuple(dc.replace(a_run(n), seed=seed) for n, seed in enumerate(seeds))
    spec = dc.replace(item.spec, seed=claimed_seed)
    made = dc.replace(case, evidence=(RunEvidence(spec, runs),))
    items = told(made)
    fix = f"write {right}, or leave the seed out"
    assert [(f.claimed, f.expected, f.write, f.fix, f.pointer) for f in items] == (
        [] if right is None else [(claimed_seed, right, right, fix, "/runs/0/seed")]
    )
    listed = dc.replace(SMALL, imported=(PATH,))
    old = dc.replace(
        made,
        track=listed,
        submission=dc.replace(made.submission, imported={"url": "https://example.org"}),
        context=dc.replace(made.context, merged=True),
    )
    assert told(old) == []
