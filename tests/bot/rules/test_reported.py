"""Statistics that a submission reports, and those of the pages of the record history."""

from __future__ import annotations

import dataclasses as dc
import json
import math
from pathlib import Path
from typing import Any

import pytest

from bot.compute.case_statistics import of_case
from bot.evidence.log.training_log import read_log
from bot.model.case import Context, RunEvidence
from bot.model.run import Validation
from bot.model.submission import Claim, RunSpec
from bot.model.track import Track
from bot.model.verdict import Finding
from bot.registry import Level
from tests.bot.rules.statistic_cases import (
    GOOD,
    MEAN,
    SD,
    SMALL,
    STEPS,
    TRACKS,
    case,
    evidence,
    found,
    loss_claim,
)
from tests.conftest import some


def wrong(claim: Claim, *more: RunEvidence, track: Track = SMALL) -> list[str]:
    subject = case(track, *(more or (evidence(GOOD),)), claims=(claim,))
    return [f.message for f in found("reported-statistics-wrong", subject)]


def test_right_statistics_rounded_as_people_round_them() -> None:
    assert not wrong(loss_claim(value=3.2771, sd=0.0003, n=5, p=0.00001))
    assert not wrong(loss_claim(sd=SD, n=5))


@pytest.mark.parametrize(("value", "differs"), [(MEAN + 5.9e-5, False), (MEAN + 6.2e-5, True)])
def test_the_tolerance_of_a_loss(value: float, differs: bool) -> None:
    assert bool(wrong(loss_claim(value=value))) is differs


def test_a_population_sd_is_told() -> None:
    values = [3.275, 3.279, 3.2765]
    sd = math.sqrt(sum((v - sum(values) / 3) ** 2 for v in values) / 3)
    claim = loss_claim(value=sum(values) / 3, sd=sd)
    (message,) = wrong(claim, evidence(values))
    assert "(it is the population sd, ddof = 0)" in message


def test_a_standard_error_is_told() -> None:
    values = [3.275, 3.279, 3.2765]
    claim = loss_claim(value=sum(values) / 3, sd=0.00202073 / math.sqrt(3))
    (message,) = wrong(claim, evidence(values))
    assert "(it is the standard error, sd / sqrt(n))" in message


@pytest.mark.parametrize(
    ("p", "cause"),
    [
        (0.243022, "without the square root of n"),
        (0.279918, "two-sided"),
        (0.860041, "of the other side"),
        (0.05, None),
        (0.14, ""),
    ],
)
def test_a_wrong_p_is_told(p: float, cause: str | None) -> None:
    values = [3.275, 3.2805, 3.2775]
    messages = wrong(loss_claim(value=sum(values) / 3, p=p), evidence(values))
    if cause == "":
        assert not messages
    else:
        (message,) = messages
        assert (f"(it is {cause})" in message) if cause else message.endswith("the runs give 0.14")


def test_a_two_sided_p_of_a_mean_beyond_the_target_is_told() -> None:
    """The losses above, as far on the other side of 3.28: p is 0.860041."""
    values = [3.285, 3.2795, 3.2825]
    (message,) = wrong(loss_claim(value=sum(values) / 3, p=0.279918), evidence(values))
    assert "two-sided" in message


def test_a_mistyped_loss_is_told() -> None:
    (message,) = wrong(loss_claim(value=MEAN + 0.003 / 5))
    assert "as if one of the 5 values were mistyped by +0.003" in message


def test_the_best_run_given_as_the_mean_is_told() -> None:
    (message,) = wrong(loss_claim(value=min(GOOD)))
    assert "(it is the lowest of the runs)" in message


def test_a_count_that_the_runs_do_not_have() -> None:
    item = evidence(GOOD)
    short = dc.replace(item.runs[4], finished=False, total_steps=200)
    item = dc.replace(item, runs=(*item.runs[:4], short))
    messages = wrong(loss_claim(value=sum(GOOD[:4]) / 4, n=5), item)
    assert messages == ["n of loss is reported as 5, but 4 runs count (1 does not count)"]


def test_statistics_of_one_run_do_not_exist() -> None:
    messages = wrong(loss_claim(value=3.277, sd=0.001, p=0.001), evidence([3.277]))
    assert messages == [
        "an sd of loss is reported, but a single run has none",
        "p is reported as 0.001, but these runs give none",
    ]


@pytest.mark.parametrize(("value", "differs"), [(90.05, False), (90.07, True)])
def test_a_time_that_no_log_shows(value: float, differs: bool) -> None:
    claim = Claim("training_time_s", value, n=5, pointer="/claims/training_time_s", scalar=False)
    assert bool(wrong(claim)) is differs


@pytest.mark.parametrize(
    ("shown", "resolution", "differs"),
    [(90.07, 0.03, False), (90.09, 0.03, True), (92.9, 3.0, False)],
)
def test_the_time_of_an_imported_table(shown: float, resolution: float, differs: bool) -> None:
    imported = {"url": "https://e.org", "time_s": shown, "time_resolution_s": resolution}
    subject = case(SMALL, evidence(GOOD), imported=imported)
    subject = dc.replace(subject, context=Context(merged=True))
    findings = found("reported-statistics-wrong", subject)
    assert bool(findings) is differs
    assert all(f.level is Level.NOTE and f.pointer == "/imported/time_s" for f in findings)


def test_on_the_steps_track_either_p_will_do() -> None:
    losses = [3.2765, 3.2795, 3.278, 3.2781]
    mean = sum(losses) / 4
    for p in (0.001189, 0.0242):
        assert not wrong(loss_claim(value=mean, p=p), evidence(losses), track=STEPS)
    assert wrong(loss_claim(value=mean, p=0.002), evidence(losses), track=STEPS)


def test_the_claimed_step_and_the_claimed_metric_are_taken() -> None:
    item = evidence([3.29, 3.29])
    history = {"val_ema_loss": ((50, 3.275), (100, 3.27))}
    points = (Validation(50, 3.3, 45.0), Validation(100, 3.29, 90.0))
    runs = tuple(
        dc.replace(r, history=history, validation=(r.validation[0], *points)) for r in item.runs
    )
    claims = (Claim("steps", 50.0), Claim("val_ema_loss", 3.275, n=2, scalar=False))
    summary = of_case(case(STEPS, dc.replace(item, runs=runs), claims=claims))
    assert summary is not None
    assert summary.quality.values == (3.275, 3.275) and summary.cost.values == (50.0, 50.0)


# ---- The pages of the record history -----------------------------------------------------------


@pytest.mark.more
def test_what_record_pages_claim_wrongly_is_found(golden: Path) -> None:
    """The claims of published records, put into submissions, against their own logs."""
    here = golden / "nanogpt"
    truth = json.loads((here / "truth.json").read_text())
    table = json.loads((here / "records_table.json").read_text())["rows"]
    caught = {"n", "mean", "sd", "p"}
    checked = 0
    for folder, record in some(list(truth["records"].items()), 6):
        group = record["groups"].get("claimed")
        if group is None or not group.get("logs"):
            continue
        codes = {m["code"] for m in record["mismatches"]}
        rows = [row for row in table if folder in row["record_dirs"]]
        messages = [f.message for f in _page_findings(here, folder, record, rows)]
        assert any("table" in m for m in messages) is ("table_time" in codes), folder
        claims = record["claim"]
        if codes & caught and claims.get("loss_mean") is not None:
            assert any("reported" in m for m in messages), folder
        checked += 1
    assert checked >= len(some(range(50), 6))


def _page_findings(
    here: Path, folder: str, record: dict[str, Any], rows: list[dict[str, Any]]
) -> list[Finding]:
    track = TRACKS["nanogpt-small" if record["track"] == 1 else "nanogpt-medium"]
    items = []
    for name in record["groups"]["claimed"]["logs"]:
        path = (here / "logs" / folder / name).with_suffix(".log")
        items.append(RunEvidence(RunSpec("log", name), read_log(path.read_bytes(), name)))
    c = record["claim"]
    claims = []
    if c.get("loss_mean") is not None:
        n = int(c["n"]) if c.get("n") else None
        claims.append(loss_claim(value=c["loss_mean"], sd=c.get("loss_sd"), n=n, p=c.get("p")))
    imported = None
    if rows:
        fields = ("time_s", "time_resolution_s")
        imported = {"url": "https://e.org", **{k: rows[0][k] for k in fields}}
    subject = case(track, *items, claims=tuple(claims), imported=imported)
    return found("reported-statistics-wrong", subject)


@pytest.mark.parametrize(
    ("value", "n", "cause"),
    [
        (3.29, 2, "(the claim is above every run)"),
        (3.26, 2, "(the claim is below every run)"),
        (3.2791, 2, "give 3.278"),
        (3.29, 3, "give 3.278"),
    ],
)
def test_a_mean_of_two_runs_beyond_both_is_told(value: float, n: int, cause: str) -> None:
    messages = wrong(loss_claim(value=value, n=n), evidence([3.276, 3.28]))
    assert any(m.endswith(cause) for m in messages if "mean" in m)
