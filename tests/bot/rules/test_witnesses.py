"""Whether those who state a quantity agree: for each rule triggers and near misses."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable
from typing import Any

import pytest

from bot.judge import grade_of, judge
from bot.model.case import Case, Context, Standing
from bot.model.run import FROM_LOG, Hardware, Validation, Witness, WitnessKind
from bot.registry import Grade, Level, Status
from tests.bot.rules.run_cases import TRACKS, a_case, a_run, found, results_file

CREATED = "2026-01-01T00:00:00Z"
PARETO = TRACKS["fineweb-edu"]


def one(**changes: Any) -> Case:
    return a_case([a_run(0, **changes), a_run(1)])


def paced(factor: float, eval_s: float = 1.0) -> Case:
    """A run whose `_runtime` counts `factor` times its clock, and each validation."""
    points = a_run(0).validation
    runtimes = tuple(
        (v.step, 40.0 + factor * (v.time_s or 0.0) + eval_s * n) for n, v in enumerate(points)
    )
    return one(runtimes=runtimes, runtime_s=runtimes[-1][1] + 5)


def started(start_s: float, pause_s: float = 0.0) -> Case:
    """Two validations, of which the first comes `start_s` after the client, and a pause between."""
    first, *_, last = a_run(0).validation
    runtimes = ((first.step, start_s), (last.step, start_s + pause_s + (last.time_s or 0.0)))
    return one(validation=(first, last), runtimes=runtimes, runtime_s=runtimes[-1][1])


def late_rows(factor: float) -> Case:
    """`_runtime` counts `factor` times the clock, each row stamped when the next begins."""
    points = a_run(0).validation
    times = [factor * (v.time_s or 0.0) for v in points]
    stamps = [*times[1:], times[-1] + 0.1]
    runtimes = tuple((v.step, 40.0 + t) for v, t in zip(points, stamps, strict=True))
    return one(runtimes=runtimes, runtime_s=runtimes[-1][1] + 5)


def short(seconds: float, runtime_s: float) -> Case:
    """A run of a few seconds, beside what W&B's client counts."""
    case = timed(seconds, None)
    runs = [dc.replace(run, runtime_s=runtime_s) for run in case.runs()]
    return a_case([dc.replace(r, metrics={"training_time_s": seconds}) for r in runs])


def chips(value: float) -> Case:
    """Eight devices in W&B's record, and another number in the configuration."""
    record = Witness("chips", 8, WitnessKind.MACHINE, "W&B's record of the machine")
    said = Witness("chips", value, WitnessKind.PROGRAM, "`world_size` of the configuration")
    return one(witnesses=(record, said))


def timed(seconds: float, record: float | None, **context: Any) -> Case:
    runs = [
        a_run(
            n,
            validation=tuple(
                v._replace(time_s=(v.time_s or 0.0) * seconds / 60) for v in a_run(n).validation
            ),
            metrics={},
        )
        for n in range(2)
    ]
    standing = Standing(record="submissions/nanogpt-small/best", record_cost=record)
    return a_case(runs, standing=standing, **context)


def stated(bpb: float, frontier: tuple[tuple[float, float], ...], **context: Any) -> Case:
    """A results file alone, on a track of two axes."""
    run = a_run(0, source="results", validation=(Validation(1000, 3.2, 60.0),),
                metrics={"bpb": bpb, "hardware_flops": 1e18})  # fmt: skip
    return a_case([run], track=PARETO, standing=Standing(frontier=frontier, known=True), **context)


def told_ratio(seconds: float, record: float) -> Case:
    """Results files alone, on a track of ratios: three runs beside a baseline of 60 s."""
    arms = ("candidate", "baseline") * 3
    runs = [
        a_run(n, source="results", hardware=Hardware("Example chip", 1),
              validation=(Validation(80, 1.85 + n / 900, took + n),),
              metrics={"training_time_s": took + n})
        for n, took in enumerate((seconds, 60.0) * 3)
    ]  # fmt: skip
    standing = Standing(record="submissions/tutorial/best", record_cost=9.0, record_ratio=record)
    known = dc.replace(standing, known=True)
    return a_case(runs, track=TRACKS["tutorial"], arms=arms, standing=known)


TRIGGERS: list[tuple[str, Level, Callable[[], Case]]] = [
    ("witnesses-disagree", Level.ERROR, lambda: one(runtime_s=30.0)),
    ("witnesses-disagree", Level.ERROR, lambda: short(4.5, 0.25)),
    ("witnesses-disagree", Level.ERROR, lambda: paced(0.5, eval_s=0.0)),
    ("witnesses-disagree", Level.ERROR, lambda: late_rows(0.6)),
    (
        "witnesses-disagree",
        Level.ERROR,
        lambda: one(created_at=CREATED, heartbeat_at="2026-01-01T00:00:30Z"),
    ),
    ("witnesses-disagree", Level.WARNING, lambda: paced(2.0)),
    ("witnesses-disagree", Level.WARNING, lambda: one(runtime_s=10_000.0)),
    ("witnesses-disagree", Level.WARNING, lambda: started(60.0, pause_s=600.0)),
    ("witnesses-disagree", Level.WARNING, lambda: chips(32)),
    (
        "witnesses-disagree",
        Level.WARNING,
        lambda: one(validation=a_run(0).validation[-1:], runtime_s=10_000.0),
    ),
    (
        "witnesses-disagree",
        Level.ERROR,
        lambda: one(problems=(("witnesses-disagree", "the log embeds another source"),)),
    ),
    ("clock-implausible", Level.ERROR, lambda: timed(0.051, None)),
    ("clock-implausible", Level.WARNING, lambda: timed(5.9, 60.0)),
    ("uncorroborated", Level.WARNING, lambda: stated(0.65, ((1e19, 1.0),))),
    ("uncorroborated", Level.WARNING, lambda: stated(0.65, ())),
    # Slower than the record on its own machine, and of a better ratio.
    ("uncorroborated", Level.WARNING, lambda: told_ratio(56.0, 0.97)),
]
NEAR_MISSES: list[tuple[str, Callable[[], Case]]] = [
    ("witnesses-disagree", lambda: one(runtime_s=60.0, created_at=CREATED)),
    ("witnesses-disagree", lambda: short(4.5, 3.9)),
    ("witnesses-disagree", lambda: paced(1.0)),
    ("witnesses-disagree", lambda: late_rows(1.0)),
    ("witnesses-disagree", lambda: paced(1.2, eval_s=2.0)),
    # A notebook that was left open for hours after the training.
    ("witnesses-disagree", lambda: dc.replace(paced(1.0), problems=())),
    (
        "witnesses-disagree",
        lambda: one(created_at=CREATED, heartbeat_at="2026-01-01T00:01:01Z"),
    ),
    # A run that was synced later: the server heard of it for a moment.
    (
        "witnesses-disagree",
        lambda: one(
            created_at=CREATED, heartbeat_at="2026-01-01T00:00:03Z", client_marks=("offline",)
        ),
    ),
    ("witnesses-disagree", lambda: started(6000.0)),
    ("witnesses-disagree", lambda: chips(8)),
    ("witnesses-disagree", lambda: chips(1)),
    ("clock-implausible", lambda: timed(6.1, 60.0)),
    ("clock-implausible", lambda: timed(0.5, None)),
    ("uncorroborated", lambda: stated(1.2, ((1e17, 1.0),))),
    ("uncorroborated", lambda: stated(0.65, (), merged=True)),
    ("uncorroborated", lambda: a_case(track=PARETO)),
    ("uncorroborated", lambda: told_ratio(56.0, 0.92)),
    ("uncorroborated", lambda: dc.replace(stated(0.65, ()), context=Context())),
]


@pytest.mark.parametrize(("name", "level", "make"), TRIGGERS)
def test_it_triggers(name: str, level: Level, make: Callable[[], Case]) -> None:
    (item,) = found(name, make())
    assert (item.rule, item.level) == (name, level)
    assert item.message and (item.fix or item.message == "the log embeds another source (r0)")


@pytest.mark.parametrize(("name", "make"), NEAR_MISSES)
def test_a_near_miss_does_not(name: str, make: Callable[[], Case]) -> None:
    assert found(name, make()) == ()


def test_an_idle_notebook_is_honest() -> None:
    case = paced(1.0)
    (item, *rest) = case.evidence
    idle = dc.replace(item.runs[0], runtime_s=30_000.0)
    case = dc.replace(case, evidence=(dc.replace(item, runs=(idle,)), *rest))
    assert found("witnesses-disagree", case) == ()


def test_both_witnesses_are_named() -> None:
    (item,) = found("witnesses-disagree", one(runtime_s=30.0))
    assert "60 s" in item.message and "`_runtime` is 30 s" in item.message
    assert (item.claimed, item.expected) == (60.0, 30.0)


@pytest.mark.parametrize(
    ("arm", "marks", "grade"),
    [
        ("wandb", (), Grade.WANDB),
        ("wandb", (FROM_LOG,), Grade.LOG),
        ("log", (), Grade.LOG),
        ("wandb-offline", (), Grade.LOG),
        ("results", (), Grade.SELF_REPORTED),
    ],
)
def test_the_grade_is_the_weakest_over_both_arms(
    arm: str, marks: tuple[str, ...], grade: Grade
) -> None:
    other = a_run(1, source=arm, client_marks=marks)
    assert grade_of(a_case([a_run(0), other], arms=("candidate", "baseline"))) is grade


def test_the_verdict_says_what_each_number_rests_on() -> None:
    case = dc.replace(one(runtime_s=90.0), submission=dc.replace(one().submission, points=()))
    (point,) = judge(case).points
    said = point.rests_on["runtime_s"]
    assert [(w.kind, w.value) for w in said] == [(WitnessKind.MACHINE, 90.0)]
    assert {w.kind for w in point.rests_on["training_time_s"]} == {WitnessKind.PROGRAM}
    assert point.to_json()["rests_on"]["runtime_s"][0]["kind"] == "machine"


def test_the_authors_word_alone_is_consistent_at_most() -> None:
    case = a_case(
        [a_run(0, source="results", metrics={"bpb": 1.2, "hardware_flops": 1e20})],
        track=PARETO,
        standing=Standing(frontier=((1e17, 1.0),)),
        results=results_file(),
    )
    status = judge(case).status
    assert status is not Status.VERIFIED and grade_of(case) is Grade.SELF_REPORTED
