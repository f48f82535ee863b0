"""Remedies: one root cause is named once, and following the words helps."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from bot.model.submission import Folder
from bot.model.verdict import Finding
from bot.registry import Level
from bot.verify import verify
from tests.bot.rules.statistic_cases import (
    GOOD,
    MEAN,
    SD,
    SMALL,
    TRACKS,
    case,
    evidence,
    found,
    loss_claim,
)


def fixes(**claim: float) -> list[str]:
    subject = case(SMALL, evidence(GOOD), claims=(loss_claim(**claim),))
    return [finding.fix or "" for finding in found("reported-statistics-wrong", subject)]


def test_a_claim_about_more_runs_than_there_are_has_one_cause() -> None:
    count, mean, sd = fixes(n=81, value=3.2801, sd=0.0019)
    assert count.startswith("write 5, or add the logs of the other 76 runs to the folder")
    assert mean == "write 3.27706, or add the other 76 runs that `n` counts"
    assert sd.startswith("write 0.0002702, or add the other 76 runs")


def test_the_value_to_write_is_said_and_right() -> None:
    assert fixes(n=5, value=3.2801) == ["write 3.27706, as `speedrun stats` prints"]
    assert fixes(n=5, value=MEAN, sd=SD) == []
    assert fixes(n=3) == [
        "write 5; runs of another experiment belong in a point or an arm of their own"
    ]


def test_one_run_is_told_to_leave_its_sd_out() -> None:
    subject = case(SMALL, evidence([3.27]), claims=(loss_claim(value=3.27, sd=0.001),))
    (finding,) = found("reported-statistics-wrong", subject)
    assert finding.fix == "leave `sd` out, as `speedrun stats` prints"


def test_more_runs_than_the_tracks_least_number_are_explained() -> None:
    (near,) = found("too-few-runs", case(SMALL, evidence([3.2794])))
    assert (near.fix or "").startswith("train slightly longer, then add 1 more run: at this mean")
    (far,) = found("too-few-runs", case(SMALL, evidence([3.29])))
    assert (far.fix or "").startswith("add 1 more run")


@pytest.mark.parametrize(
    ("losses", "told"),
    [
        ([3.279, 3.2785, 3.281, 3.3406], True),
        ([3.281, 3.2815, 3.2805], False),
    ],
)
def test_a_spread_of_several_experiments_is_named(losses: list[float], told: bool) -> None:
    (finding,) = found("target-missed", case(SMALL, evidence(losses)))
    assert ("several experiments (one run has 3.3406)" in finding.message) is told


# ---- a submission broken in natural ways --------------------------------------------------------

Break = Callable[[dict[str, Any]], Any]


def log(seed: int, loss: float) -> bytes:
    head = f"Running on device_name=NVIDIA H100 80GB HBM3 with world_size=8\nseed: {seed}\n"
    return (
        head
        + "".join(
            f"step:{step}/100 val_loss:{loss + (100 - step) / 50:.4f} train_time:{900 * step}ms "
            "step_avg:900.00ms\n"
            for step in (0, 50, 100)
        )
    ).encode()


def broken(change: Break, *notes: Level, **more: bytes) -> list[Finding]:
    """What is found in a good submission that `change` was made to, without notes if not asked."""
    logs = {f"logs/seed{n}.log": log(n, loss) for n, loss in enumerate(GOOD)}
    listed: dict[str, Any] = {
        "schema_version": 1,
        "track": "nanogpt-small",
        "title": "x",
        "summary": "The last layer is trained with a lower rate than the others.",
        "contributors": [{"github": "example-user", "roles": ["runs"]}],
        "hardware": {"accelerator": "h100-sxm", "count": 8},
        "claims": {"loss": {"mean": MEAN, "sd": SD, "n": 5}, "training_time_s": 90.0},
        "runs": [{"source": "log", "path": path} for path in logs],
    }
    change(listed)
    files = {"submission.json": json.dumps(listed, indent=1).encode(), **logs, **more}
    verdict = verify(Folder("submissions/nanogpt-small/x", files), TRACKS)
    return [f for f in verdict.findings if notes or f.level is not Level.NOTE]


def test_the_submission_is_good_before() -> None:
    assert broken(lambda listed: None) == []


@pytest.mark.parametrize(
    ("change", "rule", "fix"),
    [
        (
            lambda d: d.update(track="nanogpt-medium"),
            "schema",
            'write "nanogpt-small", or move the folder to submissions/nanogpt-medium',
        ),
        (
            lambda d: d["contributors"][0].update(github="@example-user"),
            "schema",
            'write "example-user"',
        ),
        (
            lambda d: d["contributors"][0].update(github="https://github.com/example-user"),
            "schema",
            'write "example-user"',
        ),
        (lambda d: d["contributors"][0].update(roles="code"), "schema", 'write ["code"]'),
        (
            lambda d: d.update(hardware="8xH100"),
            "schema",
            "write an object with `accelerator`, `count`",
        ),
        (
            lambda d: d["hardware"].update(accelerator="H1000"),
            "hardware-differs-from-run",
            'write "h100-sxm", which the runs used',
        ),
        (
            lambda d: d.update(schema_version="1"),
            "schema-version-unknown",
            "write 1 without quotes",
        ),
        (
            lambda d: d.update(code={"commit": "main", "repository": "https://example.org/x"}),
            "schema",
            "write the full commit hash",
        ),
        (lambda d: d["runs"].append(dict(d["runs"][0])), "duplicate-run", "list each run once"),
    ],
)
def test_the_first_finding_says_what_to_write(change: Break, rule: str, fix: str) -> None:
    first = broken(change)[0]
    assert (first.rule, (first.fix or "")[: len(fix)]) == (rule, fix)
    assert first.line, first


@pytest.mark.parametrize(("claimed", "unit"), [(90000, "milliseconds"), (1.5, "minutes")])
def test_a_time_in_another_unit_is_named(claimed: float, unit: str) -> None:
    (found,) = broken(lambda d: d["claims"].update(training_time_s=claimed))
    assert found.message.endswith(f"seconds; the claim is in {unit}")


@pytest.mark.parametrize(
    ("change", "fix"),
    [
        (lambda d: d["runs"][2].update(path="logs/run3.log"), 'write "logs/seed2.log"'),
        (
            lambda d: d["runs"][2].update(path="/home/example/logs/seed2.log"),
            'write "logs/seed2.log"',
        ),
        (lambda d: d["runs"][2].update(source="logs"), 'write "log"'),
        (lambda d: d["runs"][2].update(arm="base-line"), 'write "baseline"'),
        (
            lambda d: d["runs"].__setitem__(
                2, {"source": "log", "link": "https://wandb.ai/a/b/runs/c"}
            ),
            'write "source": "wandb"',
        ),
    ],
)
def test_a_run_that_cannot_be_read_is_one_error(change: Break, fix: str) -> None:
    """Not four more on the claims, which are about all the runs."""
    found = broken(change, Level.NOTE)
    (error,) = (f for f in found if f.level is Level.ERROR)
    assert any(f.message.startswith("the claims were not compared yet") for f in found)
    assert error.rule == "schema" and (error.fix or "").startswith(fix)
    assert error.pointer and error.pointer.startswith("/runs/2")


def test_a_file_that_is_no_log_is_one_error_with_a_remedy() -> None:
    (error,) = (
        f
        for f in broken(lambda d: None, **{"logs/seed2.log": b"%PDF-1.4"})
        if f.level is Level.ERROR
    )
    assert error.rule == "metric-missing" and "is a PDF" in error.message
    assert "the text that the training printed" in (error.fix or "")


def test_a_wrong_claim_is_an_error_again_once_the_run_is_there() -> None:
    rules = {f.rule for f in broken(lambda d: d["claims"]["loss"].update(mean=3.27))}
    assert rules == {"reported-statistics-wrong"}


def test_the_one_log_of_another_experiment_is_named() -> None:
    odd = log(0, 3.2771).replace(b"/100 ", b"/200 ").replace(b"step:100/", b"step:200/")
    found = broken(lambda d: None, **{"logs/seed0.log": odd})
    (differs,) = (f for f in found if f.rule == "code-differs-between-runs")
    assert differs.message == ("the run was planned for 200 steps, seed1.log for 100 (seed0.log)")


def test_runs_that_are_all_of_the_baseline_arm_are_told() -> None:
    found = broken(lambda d: [run.update(arm="baseline") for run in d["runs"]])
    assert ("metric-missing", "all runs are in the baseline arm") in {
        (f.rule, f.message) for f in found
    }


def test_claims_of_one_fault_are_one_finding() -> None:
    more = {f"extra_{n}": 1.0 + n for n in range(5)}
    found = broken(lambda d: d["claims"].update(more, training_tim_s=9.0), Level.NOTE)
    said = [f for f in found if f.rule == "claim-differs-from-run"]
    assert [f.message for f in said] == [
        "5 claims were not compared (extra_0, extra_1, extra_2 and 2 more): they are not metrics "
        "of the runs",
        "training_tim_s is claimed as 9 but was not compared: it is not a metric of the runs",
    ]
    assert said[0].fix is not None and said[0].fix.endswith(", or remove the claims")
    assert "training_time_s" in (said[1].fix or "")


def test_a_run_that_is_listed_twice_and_one_that_is_empty_do_not_count() -> None:
    logs = {f"logs/seed{n}.log": log(n, loss) for n, loss in enumerate(GOOD)}
    listed: dict[str, Any] = {
        "schema_version": 1,
        "track": "nanogpt-small",
        "runs": [{"source": "log", "path": path} for path in logs],
    }
    listed["runs"] += [listed["runs"][0], {"source": "log", "path": "logs/none.log"}]
    files = {"submission.json": json.dumps(listed).encode(), **logs, "logs/none.log": b""}
    verdict = verify(Folder("submissions/nanogpt-small/x", files), TRACKS)
    assert verdict.statistics is not None
    folder = "submissions/nanogpt-small/x/logs"
    assert [(e.file, e.why) for e in verdict.statistics.excluded] == [
        (f"{folder}/seed0.log", "listed twice"),
        (f"{folder}/none.log", "it could not be read"),
    ]
