"""What ranks and what does not, each reason alone, and the progress of what does."""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Any

import pytest

from bot.compute.ratios import Link, Measured
from bot.model.board import Answered, Progress, State, Unranked
from bot.model.submission import Reply
from bot.model.summary import BaselineArm, Comparison, Sample, Summary
from bot.model.track import Axis, Baseline, Reproduction, Retiming, Track
from bot.model.verdict import Finding, Point, Verdict
from bot.rank.admission import Row, admit, retimings_of
from bot.rank.states import SLOW, Settled
from bot.registry import Grade, Level, Status

QUALITY, COST = Axis("loss", target=3.28), Axis("training_time_s")
TARGET = Track("t", "T", "target", QUALITY, COST)
PARETO = dc.replace(TARGET, objective="pareto")


def frozen(name: str, **more: Any) -> Baseline:
    path = f"submissions/t/{name}"
    return Baseline(name, path, "2026-01-01", "training_time_s", (100.0,), (3.27,), **more)


BASELINES = (
    frozen("b1"),
    frozen("b2", after="b1", ratio=0.8, interval=(0.79, 0.81)),
    frozen("b0"),
)
RATIOS = dc.replace(
    TARGET, objective="baseline", baseline_id="b2", promote_at=0.9, baselines=BASELINES
)
PATH = "submissions/t/x"


def a_point(quality: Any = 3.27, cost: Any = 100.0, name: str = "main", **more: Any) -> Point:
    return Point(name, quality, cost, {}, **more)


def made(*points: Point, name: str = "x", **more: Any) -> Verdict:
    path = f"submissions/t/{name}"
    return dc.replace(Verdict(path, "t", Status.VERIFIED, Grade.LOG, (), points), **more)


def rows(
    verdict: Verdict, track: Track = TARGET, retimings: Any = None, **settled: Any
) -> list[Row | Unranked]:
    given = {"states": {}, "ratios": {}} | settled
    return list(admit(verdict, Settled(track, **given), retimings or {}))


def why(verdict: Verdict, track: Track = TARGET, **settled: Any) -> str | None:
    (item,) = rows(verdict, track, **settled)
    return item.why if isinstance(item, Unranked) else None


def answer(name: str, holds: bool, accepted: bool) -> Answered:
    fields: dict[str, Any] = {"holds": holds, "accepted": accepted}
    return Answered(name, "challenge", (), None, 2, 1.1, None, False, **fields)


REFUTED = State(
    "refuted",
    (answer("a", True, True), answer("b", True, False), answer("c", False, True),
     answer("d", True, True)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (made(a_point()), None),
        (made(a_point(), status=Status.NEEDS_REVIEW), None),
        (made(a_point(), status=Status.REJECTED), "it needs changes: see its findings"),
        (made(), "nothing could be computed from its evidence"),
        (made(note="withdrawn on request"), "it is withdrawn"),
        (made(note="was withdrawn"), "nothing could be computed from its evidence"),
        (made(a_point(None)), "its evidence states no validation loss"),
        (made(a_point(cost=None)), "its evidence states no training time"),
        (made(a_point(math.inf)), "its validation loss is inf, not a finite number"),
        (made(a_point(3.28)), None),
        (made(a_point(3.2801)), "its validation loss 3.2801 misses the target 3.28"),
    ],
)
def test_why_a_verdict_does_not_rank(verdict: Verdict, reason: str | None) -> None:
    assert why(verdict) == reason


def test_a_target_is_missed_where_one_is_asked_for() -> None:
    late = made(a_point(3.3))
    assert why(late, PARETO) is None
    assert why(late, dc.replace(TARGET, quality=Axis("loss"))) is None
    accuracy = dc.replace(TARGET, quality=Axis("loss", goal="max", target=3.28))
    assert why(late, accuracy) is None and why(made(a_point(3.2)), accuracy) is not None


def test_a_refuted_entry_names_the_challenges_that_were_accepted() -> None:
    states = {PATH: REFUTED}
    assert why(made(a_point()), states=states) == "it is refuted by a, d"
    (item,) = rows(made(a_point()), states=states)
    assert item.state == REFUTED
    (row,) = rows(made(a_point()), states={PATH: State("challenged", REFUTED.replies)})
    assert isinstance(row, Row) and row.state.name == "challenged"


@pytest.mark.parametrize(
    ("entry", "status", "reason"),
    [
        ("e", Status.VERIFIED, "it reproduces submissions/t/e and joins its evidence"),
        ("t/e", Status.NEEDS_RUNS, "it reproduces submissions/t/e, but it needs more runs"),
        ("f", Status.VERIFIED, "it reproduces f, which is not an entry of the board"),
    ],
)
def test_a_reply_has_no_place_of_its_own(entry: str, status: Status, reason: str) -> None:
    reply = made(a_point(), status=status, reply=Reply("reproduces", entry))
    said = why(reply, RATIOS, states={"submissions/t/e": State()})
    assert said is not None and said.startswith(reason)


# ---- Progress ----------------------------------------------------------------------------------


def two_arms(ratio: float, half: float = 0.01) -> Measured:
    bounds = ratio * math.exp(-half), ratio * math.exp(half)
    return Measured(ratio, 4, Link.of(ratio, bounds), bounds)


def progress(
    verdict: Verdict | None = None,
    ratio: Measured | None = None,
    track: Track = RATIOS,
    **more: Any,
) -> Progress:
    verdict = verdict or made(a_point())
    settled = {"ratios": {} if ratio is None else {verdict.submission: ratio}} | more
    (row,) = rows(verdict, track, **settled)
    assert isinstance(row, Row) and row.progress is not None
    assert row.score == row.progress.ratio
    return row.progress


def test_a_baseline_is_at_one_and_an_earlier_one_at_the_ratios_between() -> None:
    current = progress(made(a_point(), name="b2"))
    assert current == Progress(1.0, None, False, 1.0, "b2")
    before = progress(made(a_point(), name="b1"))
    assert (before.ratio, before.measured) == (pytest.approx(1.25), 1.0)
    assert (before.against, before.promotes) == ("b1", False)
    assert before.interval == pytest.approx((1 / 0.81, 1 / 0.79), rel=1e-3)
    assert "has no baseline arm" in (why(made(a_point(), name="b0"), RATIOS) or "")
    assert "has no baseline arm" in (why(made(a_point()), RATIOS) or "")


@pytest.mark.parametrize(
    ("measured", "against", "ratio", "promotes"),
    [
        (two_arms(0.85), None, 0.85, True),
        (two_arms(0.85), "b2", 0.85, True),
        (two_arms(0.895), None, 0.895, False),  # its interval reaches beyond 0.9
        (two_arms(0.6), "b1", 0.75, False),  # another baseline than the one that stands
        (Measured(0.5, 1), None, 0.5, False),
    ],
)
def test_the_ratio_to_the_baseline_that_stands(
    measured: Measured, against: str | None, ratio: float, promotes: bool
) -> None:
    found = progress(made(a_point(), against=against), measured)
    assert (found.ratio, found.promotes) == (pytest.approx(ratio), promotes)
    assert (found.measured, found.pairs) == (measured.ratio, measured.pairs)
    assert found.against == (against or "b2") and found.measured_interval == measured.interval


def test_what_nothing_relates_to_the_baseline_does_not_rank() -> None:
    said = why(made(a_point(), against="b0"), RATIOS, ratios={PATH: two_arms(0.8)})
    assert said == (
        "it is measured against b0, but nothing relates that to b2; run b2 as the baseline arm"
    )


@pytest.mark.parametrize(
    ("rule", "level", "promotes"),
    [
        ("arms-differ", Level.WARNING, False),
        ("arms-differ", Level.NOTE, True),
        ("target-missed", Level.WARNING, False),
        ("target-missed", Level.NOTE, True),
        ("log-format", Level.WARNING, True),
    ],
)
def test_an_unsound_entry_makes_no_baseline(rule: str, level: Level, promotes: bool) -> None:
    found = (Finding("log-format", Level.NOTE, ""), Finding(rule, level, ""))
    assert progress(made(a_point(), findings=found), two_arms(0.8)).promotes is promotes


@pytest.mark.parametrize(
    ("level", "expected", "ranks"),
    [(Level.WARNING, 100.0, False), (Level.NOTE, 100.0, True), (Level.WARNING, None, True)],
)
def test_a_slow_arm_does_not_win(level: Level, expected: float | None, ranks: bool) -> None:
    slow = made(a_point(), findings=(Finding(SLOW, level, "", expected=expected),))
    said = why(slow, RATIOS, ratios={PATH: two_arms(0.8)})
    assert (said is None) is ranks


@pytest.mark.parametrize(("name", "promotes"), [("confirmed", True), ("claimed", False)])
def test_where_a_track_asks_for_reproductions_confirmed_entries_promote(
    name: Any, promotes: bool
) -> None:
    asks = dc.replace(RATIOS, reproduction=Reproduction())
    states = {PATH: State(name)}
    found = progress(ratio=two_arms(0.8), track=asks, states=states)
    assert found.promotes is promotes
    assert progress(ratio=two_arms(0.8), states=states).promotes


def test_replies_join_the_first_point_alone() -> None:
    compared = Comparison("welch", 0.0, None, None, None, 0.95, (0.94, 0.96))
    arms = Summary(
        quality=Sample((3.27,) * 2), cost=Sample((95.0,) * 2),
        baseline=BaselineArm(cost=Sample((100.0,) * 2), comparison=compared),
    )  # fmt: skip
    verdict = made(a_point(name="a", statistics=arms), a_point(name="b", statistics=arms))
    first, second = rows(verdict, RATIOS, ratios={PATH: two_arms(0.85)})
    assert isinstance(first, Row) and isinstance(second, Row)
    assert first.progress is not None and second.progress is not None
    assert (first.progress.ratio, second.progress.ratio) == (0.85, pytest.approx(0.95))
    assert (first.key, second.key) == ((PATH, "a"), (PATH, "b"))


def test_a_track_without_a_baseline_says_how_it_gets_one() -> None:
    said = why(made(a_point()), dc.replace(RATIOS, baseline_id=None))
    assert said is not None and "`speedrun baseline freeze t x`" in said
    (row,) = rows(made(a_point()), dc.replace(TARGET, cost=Axis("speed", goal="max")))
    assert isinstance(row, Row) and row.progress is None and row.score == -100.0


# ---- Re-timings --------------------------------------------------------------------------------


def test_a_re_timed_point_shows_the_last_time_and_the_re_timing_does_not_rank() -> None:
    track = dc.replace(TARGET, retimings=(Retiming("submissions/t/again", PATH, "2026-02-01"),))
    assert why(made(a_point(), name="again"), track) == f"it is the official re-timing of {PATH}"
    times = {(PATH, "main"): (("2026-02-01", 90.0), ("2026-03-01", 95.0))}
    (row,) = rows(made(a_point()), track, times)
    assert isinstance(row, Row)
    assert (row.cost, row.shown, row.score) == (100.0, 95.0, 95.0)


@pytest.mark.parametrize(
    ("theirs", "again", "found"),
    [
        (("main",), {"other": 90.0}, {"main": 90.0}),  # the only one on either side
        (("a", "b"), {"b": 90.0}, {"b": 90.0}),
        (("a", "b"), {"c": 90.0}, {}),
        (("a",), {"b": 90.0, "c": 91.0}, {}),
        (("a",), {"a": None}, {}),
        (("a",), {"a": math.inf}, {}),
        (("a",), {}, {}),
    ],
)
def test_a_re_timing_is_of_the_point_of_its_name_or_of_the_only_one(
    theirs: tuple[str, ...], again: dict[str, float | None], found: dict[str, float]
) -> None:
    timings = tuple(
        Retiming(f"submissions/t/{name}", PATH, date)
        for name, date in (("late", "2026-03-01"), ("early", "2026-02-01"))
    )
    verdicts = [made(*(a_point(name=name) for name in theirs))]
    points = [a_point(cost=cost, name=name) for name, cost in again.items()]
    verdicts += [made(*points, name=name) for name in ("late", "early")]
    track = dc.replace(TARGET, retimings=timings)
    want = {
        (PATH, name): (("2026-02-01", cost), ("2026-03-01", cost)) for name, cost in found.items()
    }
    assert retimings_of(verdicts, track) == want
    assert retimings_of(verdicts, TARGET) == {}
