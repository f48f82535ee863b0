"""Each rule of the family evidence: the case that triggers it, and the near miss."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable
from typing import Any

import pytest

from bot.judge import judge
from bot.model.case import Case, RunEvidence
from bot.model.run import Validation
from bot.model.submission import RunSpec
from bot.model.verdict import finding
from bot.registry import Level, catalogue
from bot.rules import RULES
from tests.bot.rules.evidence_cases import (
    MEAN,
    NEAR_MISSES,
    TRIGGERS,
    at_one_step,
    claimed,
    with_run,
)
from tests.bot.rules.run_cases import LINK, SMALL, a_case, a_run, found, results_file

FAMILY = [name for name, entry in catalogue().items() if entry["family"] == "evidence"]


def table(rows: dict[str, list[Callable[[], Case]]]) -> list[Any]:
    return [
        pytest.param(name, make, id=f"{name}-{n}")
        for name, makers in rows.items()
        for n, make in enumerate(makers)
    ]


@pytest.mark.parametrize(("name", "make"), table(TRIGGERS))
def test_it_triggers(name: str, make: Callable[[], Case]) -> None:
    findings = found(name, make())
    assert findings
    assert {f.rule for f in findings} == {name}
    assert all(f.message and f.level is not None for f in findings)


@pytest.mark.parametrize(("name", "make"), table(NEAR_MISSES))
def test_a_near_miss_does_not(name: str, make: Callable[[], Case]) -> None:
    assert found(name, make()) == ()


@pytest.mark.parametrize("name", FAMILY)
def test_a_good_case_meets_every_rule_and_every_rule_has_a_page(name: str) -> None:
    assert found(name, a_case()) == ()
    page = RULES[name].__doc__ or ""
    assert len(page.split("\n\n")) >= 2
    elsewhere = {"witnesses-disagree", "clock-implausible", "uncorroborated"}
    assert name in TRIGGERS or name in elsewhere


def test_a_claim_names_both_numbers_and_their_ratio() -> None:
    (item,) = found("claim-differs-from-run", claimed("loss", 3.2))
    assert (item.claimed, item.expected, item.level) == (3.2, pytest.approx(MEAN), Level.ERROR)
    assert item.ratio == pytest.approx(3.2 / MEAN)
    assert (item.file, item.pointer) == (
        "submissions/nanogpt-small/example/submission.json",
        "/claims/loss",
    )


def test_an_unfinished_run_is_named_with_where_it_stopped() -> None:
    (item,) = found("run-unfinished", with_run(finished=False, last_step=970))
    assert (item.run, item.message) == (
        LINK.format(0),
        "the run reached step 970 of 1000, so it does not count (r0)",
    )


def test_the_table_of_runs_says_what_the_rule_says() -> None:
    at_step = [[run.finished for run in judge(at_one_step(n)).runs] for n in (1000, 750)]
    assert at_step == [[True] * 4, [True, True, False, False]]
    by_target = dc.replace(SMALL, finish="target")
    reached = a_run(0, finished=False, last_step=970)
    assert judge(a_case([reached], track=by_target)).runs[0].finished is True
    assert judge(a_case([reached])).runs[0].finished is False


def test_a_run_at_its_end_that_is_called_running_counts() -> None:
    (item,) = found("run-unfinished", with_run(state="running"))
    assert item.message == (
        "the run has reached its last step (1000), but W&B still shows it as running; it counts "
        "(r0)"
    )
    (item,) = found("run-unfinished", with_run(state="running", finished=False, last_step=970))
    assert "is still running, so it does not count (r0)" in item.message


@pytest.mark.parametrize(
    ("finished", "said"),
    [
        (True, "it reached its end, so it counts"),
        (False, "it reached step 970 of 1000, so it does not count"),
    ],
)
def test_a_crashed_run_says_whether_it_counts(finished: bool, said: str) -> None:
    step = 1000 if finished else 970
    case = with_run(state="crashed", finished=finished, last_step=step)
    (item,) = found("run-crashed", case)
    assert item.message == f'W&B calls the run "crashed"; {said} (r0)'
    assert item.fix == "keep it listed, and say in the README what happened"
    assert found("run-unfinished", case) == (), "one run, one thing to do"


def test_what_a_reader_said_is_not_said_twice() -> None:
    run = a_run(0, problems=(("history-gap", "a hole"),))
    told = finding("history-gap", "a hole", run=run.file)
    spec = RunSpec("wandb", run.file, pointer="/runs/0")
    case = a_case([run], evidence=(RunEvidence(spec, (run,), (told,)),))
    assert len(found("history-gap", case)) == 1


def test_two_points_at_one_step_are_no_nonce_of_two_runs() -> None:
    same = a_run(0, validation=(Validation(1000, 3.277, 60.0),))
    assert found("nonce-mismatch", a_case([a_run(0), same])) == ()


def test_what_is_true_of_many_runs_is_said_once() -> None:
    runs = [a_run(n, finished=False, last_step=970) for n in range(12)]
    (item,) = found("run-unfinished", a_case(runs))
    assert item.message.startswith("each of the 12 runs reached step 970 of 1000")
    assert item.message.endswith("it does not count (r0 and 11 more runs)")


@pytest.mark.parametrize(
    ("metric", "fix"),
    [
        ("los", 'claim "loss", if that is what it is'),
        ("training_times", 'claim "training_time_s", if that is what it is'),
        ("happiness", "claim loss or training_time_s, or remove the claim"),
        ("mfu", "remove the claim"),
    ],
)
def test_a_claim_that_nothing_is_compared_with_is_noted(metric: str, fix: str) -> None:
    (item,) = found("claim-differs-from-run", claimed(metric, 3.0))
    assert item.level is Level.NOTE and item.fix == fix and "not compared" in item.message


@pytest.mark.parametrize(
    ("field", "metric", "shown", "within", "beyond"),
    [
        ("total_tokens", "tokens", 1e9, 0.0019, 0.0021),
        ("total_tokens", "tokens", 1e9, -0.0019, -0.0021),
        ("eval/paloma/c4_en/bpb", "bpb", 1.01, 5.5e-5 / 1.01, 6.5e-5 / 1.01),
        ("training_time", "training_time_s", 60.0, 0.055 / 60, 0.065 / 60),
    ],
)
def test_how_far_a_results_file_may_be_from_the_history(
    field: str, metric: str, shown: float, within: float, beyond: float
) -> None:
    """0.2 % of a number of tokens, 6e-5 of a loss, 0.06 s: no more, and no less."""
    for off, differs in ((within, False), (beyond, True)):
        run = a_run(0)
        run = dc.replace(run, metrics={**run.metrics, metric: shown})
        case = a_case([run, a_run(1)], results=results_file({field: shown * (1 + off)}))
        named = [f for f in found("claim-differs-from-run", case) if f.message.startswith(metric)]
        assert bool(named) is differs, (off, named)
