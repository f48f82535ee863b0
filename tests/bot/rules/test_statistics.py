"""Statistics rules: each with a case that triggers it and a near miss that does not."""

from __future__ import annotations

import dataclasses as dc
import json
import math
from pathlib import Path
from typing import Any

import pytest

from bot.compute.case_statistics import of_case, with_unlisted
from bot.evidence.log.training_log import read_log
from bot.model.case import Case, Context, RunEvidence, Standing, Unlisted
from bot.model.run import Hardware, Run, Validation
from bot.model.submission import Claim, Folder, RunSpec, Submission
from bot.model.track import Track
from bot.model.verdict import Finding
from bot.parse.track_toml import load_tracks
from bot.registry import Level
from bot.rules import RULES
from tests.conftest import ROOT

TRACKS = load_tracks(ROOT)
SMALL, STEPS, SINGLE = (
    TRACKS[name] for name in ("nanogpt-small", "nanogpt-optimization", "single-gpu-fineweb")
)
GOOD = [3.2771, 3.2768, 3.2775, 3.277, 3.2769]
MEAN, SD = 3.27706, 0.000270185


def run(loss: float, time_s: float | None, index: int, file: str, step: int = 100) -> Run:
    points = (Validation(0, 10.0 + index / 1000, 0.0), Validation(step, loss, time_s))
    return Run(
        source="log", file=file, index=index, validation=points, total_steps=step,
        last_step=step, finished=True, hardware=Hardware("NVIDIA H100 80GB HBM3", 8),
    )  # fmt: skip


def evidence(
    losses: list[float], times: list[float] | None = None, arm: str = "candidate", **fields: Any
) -> RunEvidence:
    step = fields.pop("step", 100)
    runs = tuple(
        run(loss, times[i] if times else 90.0, i, f"{arm}.log", step)
        for i, loss in enumerate(losses)
    )
    return RunEvidence(RunSpec("log", f"{arm}.log", arm, **fields), runs)


def case(track: Track, *items: RunEvidence, claims: tuple[Claim, ...] = (), **fields: Any) -> Case:
    standing = fields.pop("standing", Standing())
    unlisted = fields.pop("unlisted", ())
    path = f"submissions/{track.id}/x"
    track = dc.replace(track, imported=(path,))
    submission = Submission(path, track.id, "x", claims=claims, **fields)
    return Case(
        submission, track, Folder(path, {}), {}, evidence=items,
        context=Context(standing=standing), unlisted=unlisted,
    )  # fmt: skip


def found(name: str, subject: Case) -> list[Finding]:
    return list(RULES[name](subject))


def loss_claim(**values: Any) -> Claim:
    values = {"value": MEAN, **values}
    return Claim("loss", pointer="/claims/loss", scalar=False, **values)


# ---- target ------------------------------------------------------------------------------------


def test_target_missed() -> None:
    (finding,) = found("target-missed", case(SMALL, evidence([3.281, 3.2805])))
    assert finding.level is Level.ERROR
    assert finding.expected == 3.28 and finding.claimed == pytest.approx(3.28075)
    assert finding.file == "submissions/nanogpt-small/x/submission.json"


def test_a_mean_at_the_target_is_not_missed() -> None:
    assert not found("target-missed", case(SMALL, evidence([3.281, 3.279])))


def test_target_not_significant_says_how_many_runs_would_do() -> None:
    (finding,) = found("target-not-significant", case(SMALL, evidence([3.2771, 3.2795, 3.279])))
    assert "p = 0.091, needed below 0.01" in finding.message
    assert finding.fix is not None and finding.fix.startswith("add 4 runs, about 0.8 GPU-hours; ")
    assert "about 60 % with 4 more, 80 % with 12" in finding.fix


def test_more_runs_are_no_advice_if_a_hundred_would_not_do() -> None:
    (finding,) = found("target-not-significant", case(SMALL, evidence([3.2799, 3.2815, 3.2785])))
    assert finding.fix is not None and "Train slightly longer" in finding.fix


def test_target_significant() -> None:
    assert not found("target-not-significant", case(SMALL, evidence(GOOD)))


ALIKE = [3.2798, 3.2798, 3.2798, 3.2797]


def test_runs_so_alike_that_this_alone_proves_the_target() -> None:
    assert found("target-not-significant", case(SMALL, evidence(ALIKE)))
    before = dc.replace(SMALL, significance=dc.replace(SMALL.significance, guard=False))
    assert not found("target-not-significant", case(before, evidence(ALIKE)))
    (finding,) = found("metric-implausible", case(before, evidence(ALIKE)))
    assert finding.level is Level.WARNING and "p would be 0.37 instead of 0.0014" in finding.message
    # Alike and far enough below, or as unlike as usual: nothing is odd.
    assert not found("metric-implausible", case(SMALL, evidence([v - 0.001 for v in ALIKE])))
    assert not found("metric-implausible", case(SMALL, evidence(GOOD)))
    assert not found("metric-implausible", case(STEPS, evidence(ALIKE)))


def test_the_threshold_of_the_steps_track() -> None:
    near = [3.2779, 3.2781, 3.2779, 3.2781]
    assert not found("target-not-significant", case(STEPS, evidence(near)))
    (finding,) = found("target-not-significant", case(STEPS, evidence([*near[:3], 3.2782])))
    assert "(target - mean) × √n = 0.00395, needed at least 0.004" in finding.message


def test_too_few_runs() -> None:
    (finding,) = found("too-few-runs", case(SMALL, evidence([3.2770])))
    assert (finding.claimed, finding.expected) == (1, 2)


def test_two_runs_are_enough_to_be_tested() -> None:
    assert not found("too-few-runs", case(SMALL, evidence(GOOD[:2])))


def test_too_few_runs_names_those_that_do_not_count() -> None:
    item = evidence(GOOD[:2])
    short = dc.replace(item.runs[1], finished=False, total_steps=200)
    subject = case(SMALL, dc.replace(item, runs=(item.runs[0], short)))
    (finding,) = found("too-few-runs", subject)
    assert "candidate.log (it did not finish: it stopped at step 100 of 200)" in finding.message


def test_a_track_without_a_test_takes_one_run() -> None:
    for name in ("too-few-runs", "target-not-significant", "target-missed"):
        assert not found(name, case(SINGLE, evidence([3.2770])))


def test_an_imported_entry_is_warned_and_not_blocked() -> None:
    subject = case(SMALL, evidence([3.281, 3.2805]), imported={"url": "https://example.org"})
    assert [f.level for f in found("target-missed", subject)] == [Level.ERROR]
    kept = dc.replace(subject, context=Context(merged=True))
    assert [f.level for f in found("target-missed", kept)] == [Level.WARNING]


def test_nothing_is_said_where_a_run_could_not_be_fetched_by_our_fault() -> None:
    problem = Finding("evidence-unavailable", Level.ERROR, "W&B did not answer")
    missing = RunEvidence(RunSpec("wandb", "https://wandb.ai/e/p/runs/x"), (), (problem,))
    assert not found("target-missed", case(SMALL, evidence([3.29]), missing))


def test_points_are_judged_apart() -> None:
    subject = case(
        SMALL, evidence([3.29, 3.291], point="small"), evidence(GOOD, point="large"),
        points=("small", "large"),
    )  # fmt: skip
    (finding,) = found("target-missed", subject)
    assert finding.point == "small" and finding.message.startswith("point small: ")


# ---- reported statistics -----------------------------------------------------------------------


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
        assert (f"(it is {cause})" in message) if cause else message.endswith("0.139959")


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
    assert messages == ["n of loss is reported as 5, but 4 runs count (1 more do not count)"]


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


# ---- record and baseline -----------------------------------------------------------------------

RECORD = Standing("submissions/nanogpt-small/r", 90.5, (90.5, 90.6, 90.4), None, ())


def test_not_better_than_record() -> None:
    subject = case(SMALL, evidence(GOOD, [91.0] * 5), standing=RECORD)
    (finding,) = found("not-better-than-record", subject)
    assert finding.level is Level.NOTE and finding.expected == 90.5
    assert not found("improvement-not-significant", subject)


def test_better_than_record() -> None:
    subject = case(SMALL, evidence(GOOD, [90.0, 90.1, 89.9, 90.0, 90.1]), standing=RECORD)
    assert not found("not-better-than-record", subject)


def test_a_time_from_another_session_is_a_possible_record_only() -> None:
    fast = evidence(GOOD, [90.0, 90.1, 89.9, 90.0, 90.1])
    (finding,) = found("improvement-not-significant", case(SMALL, fast, standing=RECORD))
    assert finding.level is Level.WARNING and "a possible record" in finding.message
    arm = evidence(GOOD, [91.2, 91.5, 91.3, 91.4, 91.2], "baseline")
    assert not found("improvement-not-significant", case(SMALL, fast, arm, standing=RECORD))


def test_two_runs_an_arm_prove_no_time() -> None:
    base = evidence(GOOD[:2], [91.2, 91.3], "baseline")
    ours = evidence(GOOD, [90.0, 90.2, 89.9, 90.1, 90.1])
    (finding,) = found("improvement-not-significant", case(SMALL, ours, base))
    assert finding.level is Level.NOTE and "each arm needs at least 3 runs" in finding.message
    three = evidence(GOOD[:3], [91.2, 91.3, 91.25], "baseline")
    assert not found("improvement-not-significant", case(SMALL, ours, three))


def test_improvement_not_significant_against_the_baseline_arm() -> None:
    base = evidence(GOOD, [90.2, 91.5, 90.9, 89.9, 90.0], "baseline")
    subject = case(SMALL, evidence(GOOD, [90.0, 90.9, 89.5, 90.7, 90.1]), base)
    (finding,) = found("improvement-not-significant", subject)
    assert finding.level is Level.ERROR and "Welch's test" in finding.message


def test_improvement_significant_against_the_baseline_arm() -> None:
    base = evidence(GOOD, [91.2, 91.5, 91.3, 91.4, 91.2], "baseline")
    subject = case(SMALL, evidence(GOOD, [90.0, 90.2, 89.9, 90.1, 90.1]), base)
    assert not found("improvement-not-significant", subject)


def test_an_arm_of_one_run_is_noted() -> None:
    base = evidence([3.277], [91.2], "baseline")
    (finding,) = found("improvement-not-significant", case(SMALL, evidence(GOOD), base))
    assert finding.level is Level.NOTE and "each arm needs at least 3 runs" in finding.message


def test_steps_are_compared_by_the_pairwise_rule() -> None:
    ours = evidence([3.2785, 3.278, 3.2775], step=3000)
    near = evidence([3.2785, 3.278, 3.2776], arm="baseline", step=3050)
    far = evidence([3.2785, 3.278, 3.2776], arm="baseline", step=3200)
    (finding,) = found("improvement-not-significant", case(STEPS, ours, near))
    assert "the pairwise rule" in finding.message
    assert not found("improvement-not-significant", case(STEPS, ours, far))


def arm(arm: str, code: str | None = None, config: str | None = None) -> RunEvidence:
    """Runs of one arm with a source hash and a digest of their configuration."""
    item = evidence(GOOD, None, arm)
    source = {} if code is None else {"train.py": code * 64}
    settings = {} if config is None else {"config_sha256": config}
    runs = (dc.replace(r, code_sha256=source, config=settings) for r in item.runs)
    return dc.replace(item, runs=tuple(runs))


@pytest.mark.parametrize(
    ("ours", "theirs", "stale"),
    [
        (("a",), ("a",), True),
        (("a",), ("b",), False),
        (("a", "one"), ("a", "one"), True),
        (("a", "one"), ("a", "two"), False),
        ((None, "one"), (None, "one"), True),
        ((None, "one"), (None, "two"), False),
        (("a", "one"), ("b", "one"), False),
        (("a",), (None,), True),
    ],
)
def test_two_arms_of_one_experiment_are_no_comparison(
    ours: tuple[str | None, ...], theirs: tuple[str | None, ...], stale: bool
) -> None:
    subject = case(SMALL, arm("candidate", *ours), arm("baseline", *theirs))
    levels = {f.level for f in found("baseline-stale", subject)}
    told = Level.NOTE if theirs == (None,) else Level.WARNING
    assert levels == ({told} if stale else set())


def test_the_trainers_own_hash_is_no_code() -> None:
    arms = [arm(name, "a", name) for name in ("candidate", "baseline")]
    own = [dc.replace(item, runs=tuple(
        dc.replace(r, code_sha256={"reference_trainer": "a" * 64}) for r in item.runs
    )) for item in arms]  # fmt: skip
    assert not found("baseline-stale", case(SMALL, *own))


def test_on_a_baseline_track_the_baselines_code_counts() -> None:
    for code, stale in (("b", True), ("a", False)):
        standing = Standing(baseline="base", baseline_code=frozenset({code * 64}),
                            record_code=frozenset({"c" * 64}))  # fmt: skip
        subject = case(SINGLE, arm("candidate", "d"), arm("baseline", "a"), standing=standing)
        assert bool(found("baseline-stale", subject)) is stale


def test_baseline_stale() -> None:
    base = arm("baseline", "b")
    for based_on, stale in (("nanogpt-small/old", True), ("nanogpt-small/r", False)):
        subject = case(SMALL, evidence(GOOD), base, standing=RECORD, based_on=based_on)
        assert bool(found("baseline-stale", subject)) is stale


def test_baseline_stale_by_its_source() -> None:
    item = evidence(GOOD, None, "baseline")
    runs = tuple(dc.replace(r, code_sha256={"source": "a" * 64}) for r in item.runs)
    base = dc.replace(item, runs=runs)
    for code, stale in (("b" * 64, True), ("a" * 64, False)):
        standing = dc.replace(RECORD, record_code=frozenset({code}))
        subject = case(SMALL, evidence(GOOD), base, standing=standing)
        assert bool(found("baseline-stale", subject)) is stale


def test_depends_on_best_run() -> None:
    lucky = [3.2754, 3.2788, 3.2787, 3.2789, 3.2788, 3.2788]
    (finding,) = found("depends-on-best-run", case(STEPS, evidence(lucky)))
    assert finding.level is Level.NOTE
    # With fewer than six runs most honest results depend on their best.
    assert not found("depends-on-best-run", case(STEPS, evidence([3.2754, 3.2785, 3.2783])))
    steady = [3.2770, 3.2771, 3.2772, 3.2770, 3.2771, 3.2772]
    assert not found("depends-on-best-run", case(STEPS, evidence(steady)))


def test_the_drawer_is_counted_in() -> None:
    others = tuple(dc.replace(r, file="other") for r in evidence([3.2805, 3.2810]).runs)
    shifted = tuple(dc.replace(r, index=r.index + 50, validation=r.validation[1:]) for r in others)
    subject = case(SMALL, evidence(GOOD), unlisted=(Unlisted("e/p", shifted),))
    alone, together = of_case(subject), with_unlisted(subject)
    assert alone is not None and together is not None
    assert (alone.n, together.n) == (5, 7)
    assert alone.passes and not together.passes


# ---- The pages of the record history -----------------------------------------------------------


def test_what_record_pages_claim_wrongly_is_found(golden: Path) -> None:
    """The claims of published records, put into submissions, against their own logs."""
    here = golden / "nanogpt"
    truth = json.loads((here / "truth.json").read_text())
    table = json.loads((here / "records_table.json").read_text())["rows"]
    caught = {"n", "mean", "sd", "p"}
    checked = 0
    for folder, record in truth["records"].items():
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
    assert checked >= 50


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
