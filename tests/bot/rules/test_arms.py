"""The two arms of a comparison: cases that trigger a rule, and near misses."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.compute.case_statistics import of_case
from bot.judge import judge
from bot.model.case import Case, Standing
from bot.model.run import Hardware, Run
from bot.model.submission import Reply
from bot.model.summary import BaselineArm, Comparison, Summary
from bot.model.track import Baseline, Track
from bot.model.verdict import Point, Verdict
from bot.rank.ranking import rank
from bot.registry import Grade, Level, Status
from bot.render.groups import CUT, grouped
from tests.bot.rules.run_cases import SMALL, TRACKS, a_case, a_run, found

H100 = Hardware("NVIDIA H100 80GB HBM3", 1)
A100 = Hardware("NVIDIA A100-SXM4-80GB", 1)
SINGLE = dc.replace(
    TRACKS["single-gpu-fineweb"],
    baseline_id="first",
    baselines=(
        Baseline(
            "first", "submissions/single-gpu-fineweb/first", "2026-01-01", "training_time_s",
            (100.0, 101.0), (3.277, 3.278), device="H100 SXM", count=1,
        ),
    ),
)  # fmt: skip


def run(n: int, seconds: float = 60.0, loss: float = 3.277, **changes: Any) -> Run:
    points = tuple(
        v._replace(loss=v.loss - 3.277 + loss, time_s=v.step * seconds / 1000)
        for v in a_run(n).validation
    )
    fields = {"validation": points, "hardware": H100, "metrics": {}, "source": "log"}
    return a_run(n, **fields | changes)


def arms(theirs: dict[str, Any], ours: dict[str, Any] | None = None) -> Case:
    runs = [*(run(n, **(ours or {})) for n in (0, 1)), *(run(n, **theirs) for n in (2, 3))]
    return a_case(runs, arms=("candidate", "candidate", "baseline", "baseline"), track=SINGLE)


@pytest.mark.parametrize(
    ("theirs", "ours", "level", "says"),
    [
        ({"hardware": A100}, {}, Level.ERROR, "the candidate ran on h100-sxm"),
        ({"loss": 3.0}, {"loss": 3.279}, Level.ERROR, "loss 3.0005, the frozen baseline"),
        ({"loss": 3.25}, {"loss": 3.25}, Level.ERROR, "trained on to loss 3.25"),
        ({"config": {"precision": "fp32"}}, {"config": {"precision": "bf16"}}, Level.WARNING,
         "precision is bf16 in the candidate and fp32"),
        ({"software": {"torch": "2.4.1"}}, {"software": {"torch": "2.11.0+cu128"}}, Level.WARNING,
         "torch is 2.11 in the candidate and 2.4"),
        ({"software": {"torch": "2.4.1"}}, {}, Level.WARNING,
         "torch is 2.4 in the baseline arm, and the candidate does not state it"),
        ({"loss": 3.2642}, {"loss": 3.279}, Level.WARNING, "trained on to loss 3.264"),
    ],
)  # fmt: skip
def test_arms_that_differ(
    theirs: dict[str, Any], ours: dict[str, Any], level: Level, says: str
) -> None:
    (item,) = found("arms-differ", arms(theirs, ours))
    assert item.level is level and says in item.message


def test_without_a_frozen_baseline_the_candidate_is_the_measure() -> None:
    def said(theirs: float) -> list[str]:
        case = arms({"loss": theirs}, {"loss": 3.279})
        case = dc.replace(case, track=dc.replace(SINGLE, baselines=(), baseline_id=None))
        return [item.message for item in found("arms-differ", case)]

    (message,) = said(3.0)
    assert "trained on to loss 3.0005, the candidate stopped at 3.2791" in message
    assert said(3.2755) == []


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({}, {}),
        ({"loss": 3.2755}, {"loss": 3.279}),
        ({"loss": 3.279}, {"loss": 3.0}),
        ({"loss": 3.2738}, {"loss": 3.279}),
        ({"hardware": Hardware("H100 SXM5", 1)}, {}),
        ({"hardware": Hardware()}, {}),
        ({"software": {"torch": "2.11.0"}}, {"software": {"torch": "2.11.1+cu128"}}),
        ({"software": {"python": "3.11.2"}}, {"software": {"python": "3.11.9"}}),
    ],
)
def test_arms_that_are_alike(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    assert found("arms-differ", arms(theirs, ours)) == ()


@pytest.mark.parametrize(("sd", "level"), [(0.001, Level.ERROR), (0.02, Level.WARNING)])
def test_the_spread_of_the_frozen_losses_is_allowed_for(sd: float, level: Level) -> None:
    losses = (3.2775 - sd, 3.2775, 3.2775 + sd)
    frozen = dc.replace(SINGLE.baselines[0], losses=losses)
    case = dc.replace(arms({"loss": 3.23}), track=dc.replace(SINGLE, baselines=(frozen,)))
    (item,) = found("arms-differ", case)
    assert item.level is level, item.message


@pytest.mark.parametrize(
    ("seconds", "hardware", "slow"),
    [
        (129.0, H100, True),
        (107.0, H100, True),
        (105.0, H100, False),
        (90.0, H100, False),
    ],
)
def test_the_arm_against_the_frozen_baseline(
    seconds: float, hardware: Hardware, slow: bool
) -> None:
    items = found("baseline-slower-than-frozen", arms({"seconds": seconds, "hardware": hardware}))
    assert [item.level for item in items] == [Level.WARNING] * slow
    if slow:
        assert f"{seconds / 100.5:.3g} times the 100.5 s of the frozen baseline" in items[0].message


def test_an_arm_is_held_against_the_baseline_that_it_ran() -> None:
    """The first takes longer than the second, and whoever ran the first was not slow."""
    faster = dc.replace(
        SINGLE.baselines[0], id="second", submission="submissions/single-gpu-fineweb/second",
        costs=(60.0, 61.0), frozen_on="2026-03-01", after="first", ratio=0.6,
    )  # fmt: skip
    track = dc.replace(SINGLE, baselines=(*SINGLE.baselines, faster), baseline_id="second")
    case = dc.replace(arms({"seconds": 100.0}), track=track)
    for based_on, slow in (("first", 0), ("second", 1)):
        named = dc.replace(case.submission, based_on=based_on)
        ran = dc.replace(case, submission=named)
        assert len(found("baseline-slower-than-frozen", ran)) == slow


TWO = dc.replace(
    SINGLE,
    baseline_id="second",
    baselines=(
        dc.replace(SINGLE.baselines[0], sources=("c1",)),
        dc.replace(
            SINGLE.baselines[0], id="second", submission="submissions/single-gpu-fineweb/second",
            costs=(60.0, 61.0), frozen_on="2026-03-01", after="first", ratio=0.6, sources=("c2",),
        ),
        dc.replace(
            SINGLE.baselines[0], id="apart", submission="submissions/single-gpu-fineweb/apart",
            frozen_on="2026-02-01", sources=("c3",),
        ),
    ),
)  # fmt: skip


def with_arm(*codes: str, seconds: float = 100.0) -> Case:
    """Two runs of a candidate, and a baseline arm of these codes."""
    ours = [run(n, code_sha256={"main.py": "new"}) for n in (0, 1)]
    theirs = [run(9 + n, seconds, code_sha256={"main.py": c}) for n, c in enumerate(codes)]
    names = ["candidate"] * 2 + ["baseline"] * len(theirs)
    return a_case([*ours, *theirs], arms=names, track=TWO)


def test_an_arm_of_the_old_baseline_is_told_so() -> None:
    (item,) = found("baseline-stale", with_arm("c1", "c1"))
    assert "you ran the old baseline first (by the code or the configuration" in item.message
    assert "second stands now; the ratio is converted: times 1.667" in item.message
    assert (item.level, item.claimed, item.expected) == (Level.NOTE, "first", "second")
    (item,) = found("baseline-stale", with_arm("c3", "c3"))
    assert "nothing relates the two" in item.message and item.level is Level.WARNING
    assert item.fix == "run second as the baseline arm."
    assert found("baseline-stale", with_arm("c2", "c2")) == ()
    old = with_arm("c1", "c1")
    merged = dc.replace(old.context, merged=True)
    assert found("baseline-stale", dc.replace(old, context=merged)) == ()


def test_a_reply_that_ran_the_old_baseline_is_told_the_ratio_is_converted() -> None:
    made = with_arm("c1", "c1")
    answer = Reply("reproduces", "single-gpu-fineweb/faster")
    again = dc.replace(made, submission=dc.replace(made.submission, reply=answer))
    (item,) = (f for f in judge(again).findings if f.rule == "baseline-stale")
    assert "times 1.667" in item.message and item.level is Level.NOTE
    apart = dc.replace(again, evidence=with_arm("c3", "c3").evidence)
    assert found("baseline-stale", apart) == ()  # the words of the reply say what to run


def test_what_the_author_says_is_held_against_the_runs() -> None:
    made = with_arm("c2", "c2")
    said = dc.replace(made, submission=dc.replace(made.submission, based_on="first"))
    (item,) = found("baseline-stale", said)
    assert "the runs of the baseline arm are those of second" in item.message
    assert item.pointer == "/based_on"


def test_an_arm_of_two_baselines_is_none() -> None:
    (item,) = found("arms-differ", with_arm("c1", "c2"))
    assert "of several baselines: first, second" in item.message and item.level is Level.ERROR
    assert found("arms-differ", with_arm("c1", "c1")) == ()


def test_an_old_arm_that_nothing_recognises_is_told_how_to_say_so() -> None:
    (item,) = found("baseline-slower-than-frozen", with_arm("", "", seconds=100.0))
    assert item.fix and item.fix.endswith('"based_on": "first"`: the ratio is converted.')
    (item,) = found("baseline-slower-than-frozen", with_arm("", "", seconds=80.0))
    assert item.fix == "run both arms again on an idle machine, taking turns."


def test_a_run_that_counts_in_another_arm_is_named() -> None:
    made = with_arm("c2", "c2")
    entries = [{"arm": item.spec.arm} for item in made.evidence]
    for says, told in ((entries, 0), ([*entries[:-1], {}], 1), ([{}, {}, *entries[2:]], 0)):
        listed = dc.replace(made, submission=dc.replace(made.submission, raw={"runs": says}))
        items = found("arms-differ", listed)
        assert [i.level for i in items] == [Level.NOTE] * told
        assert all(i.pointer == "/runs/3" and '"arm": "baseline"' in (i.fix or "") for i in items)


XEON = Hardware("Intel Xeon", 1)
EIGHT = Hardware("NVIDIA H100 80GB HBM3", 8)


@pytest.mark.parametrize(
    ("seconds", "ours", "hardware", "rule", "says"),
    [
        (500.0, 490.0, A100, "baseline-slower-than-frozen",
         "by the peaks of both devices (bf16 here, bf16 there) the frozen baseline's 100.5 s"),
        (129.0, 125.0, EIGHT, "baseline-slower-than-frozen", "make 12.56 s of it"),
        (129.0, 60.0, A100, "uncorroborated", "no frozen baseline ran on 1 x NVIDIA A100"),
        (900.0, 300.0, XEON, "uncorroborated", "no frozen baseline ran on 1 x Intel Xeon"),
        (129.0, 127.0, A100, "", ""),
        (900.0, 880.0, XEON, "", ""),
        (101.0, 60.0, H100, "", ""),
    ],
)  # fmt: skip
def test_an_arm_on_hardware_that_no_frozen_baseline_ran_on(
    seconds: float, ours: float, hardware: Hardware, rule: str, says: str
) -> None:
    case = arms({"seconds": seconds, "hardware": hardware}, {"seconds": ours, "hardware": hardware})
    case = dc.replace(case, track=dc.replace(SINGLE, reproduction=None))
    both = ("baseline-slower-than-frozen", "uncorroborated")
    items = [item for name in both for item in found(name, case)]
    assert [(item.rule, item.level) for item in items] == [(rule, Level.WARNING)] * bool(rule)
    assert all(says in item.message for item in items)


def test_where_others_confirm_an_entry_no_second_witness_is_asked_for() -> None:
    case = arms({"seconds": 129.0, "hardware": A100}, {"hardware": A100})
    (item,) = found("uncorroborated", case)
    assert item.level is Level.NOTE and item.fix == "nothing to do."
    assert item.message.endswith("; it stays claimed until 3 pairs of runs by another person "
                                 "confirm it")  # fmt: skip
    # against an older baseline it makes no new one
    old = dc.replace(TWO, baseline_id="second")
    named = dc.replace(case.submission, based_on="first")
    assert found("uncorroborated", dc.replace(case, track=old, submission=named)) == ()


def test_without_any_frozen_baseline_a_maintainer_looks_at_a_promotion() -> None:
    bare = dc.replace(SINGLE, baselines=())
    assert found("uncorroborated", dc.replace(arms({"seconds": 129.0}), track=bare))
    assert found("uncorroborated", dc.replace(arms({"seconds": 61.0}), track=bare)) == ()


def test_a_spread_frozen_baseline_allows_three_standard_errors() -> None:
    frozen = dc.replace(SINGLE.baselines[0], costs=(90.0, 100.0, 110.0))
    track = dc.replace(SINGLE, baselines=(frozen,))
    for seconds, slow in ((126.0, False), (129.0, True)):
        case = dc.replace(arms({"seconds": seconds}), track=track)
        assert bool(found("baseline-slower-than-frozen", case)) is slow


def test_a_laptop_is_compared_with_itself_by_its_name() -> None:
    cpu = Hardware("cpu", 1)
    frozen = dc.replace(SINGLE.baselines[0], device="cpu")
    case = dc.replace(
        arms({"seconds": 250.0, "hardware": cpu}, {"hardware": cpu}),
        track=dc.replace(SINGLE, baselines=(frozen,)),
    )
    assert len(found("baseline-slower-than-frozen", case)) == 1


@pytest.mark.parametrize(
    ("theirs", "ours", "best", "is_told"),
    [
        (250.0, 200.0, 1.0, True),
        (190.0, 150.0, 1.0, False),  # a slower or busier machine, not one in doubt
        (250.0, 200.0, 0.7, False),
        (250.0, 248.0, 0.7, False),
        (101.0, 60.0, 1.0, False),
    ],
)
def test_a_slow_machine_without_a_name_leads_after_a_review(
    theirs: float, ours: float, best: float, is_told: bool
) -> None:
    """Where the track says that `baseline-slower-than-frozen` informs only, as the tutorial's."""
    cpu = Hardware("cpu", 1)
    frozen = dc.replace(SINGLE.baselines[0], device="cpu")
    case = arms({"seconds": theirs, "hardware": cpu}, {"seconds": ours, "hardware": cpu})
    case = dc.replace(
        case,
        track=dc.replace(SINGLE, baselines=(frozen,)),
        context=dc.replace(case.context, standing=Standing(record_ratio=best)),
    )
    said = [f for f in found("uncorroborated", case) if "called cpu" in f.message]
    assert [f.level for f in said] == [Level.WARNING] * is_told
    assert all(f.message.split()[-4:] == "would be the best".split() for f in said)
    assert not any(CUT in group.says for group in grouped(said))


@pytest.mark.parametrize(
    ("seconds", "record", "track", "is_told"),
    [
        (88.0, 73.8, SMALL, True),
        (77.0, 73.8, SMALL, False),
        (60.0, 73.8, SMALL, False),
        (88.0, None, SMALL, False),
        (88.0, 73.8, dc.replace(SMALL, accelerators=()), False),
        (88.0, 73.8, TRACKS["nanogpt-optimization"], False),
    ],
)
def test_the_arm_of_a_track_with_a_target_against_the_record(
    seconds: float, record: float | None, track: Track, is_told: bool
) -> None:
    """What is shown of the candidate is its ratio to the arm times the record's clock."""
    runs = [*(run(n, 73.0, hardware=EIGHT) for n in (0, 1)),
            *(run(n, seconds, hardware=EIGHT) for n in (2, 3))]  # fmt: skip
    four = ("candidate", "candidate", "baseline", "baseline")
    standing = Standing(record="submissions/nanogpt-small/first", record_cost=record)
    told = found(
        "baseline-slower-than-frozen", a_case(runs, arms=four, track=track, standing=standing)
    )
    assert ["1.19 times the 73.8 s of the record" in item.message for item in told] == [
        True
    ] * is_told


@pytest.mark.parametrize("rule", ["arms-differ", "baseline-slower-than-frozen", "target-missed"])
@pytest.mark.parametrize("level", [Level.WARNING, Level.NOTE])
def test_an_unsound_ratio_makes_no_baseline(rule: str, level: Level) -> None:
    (item,) = found("baseline-slower-than-frozen", arms({"seconds": 129.0}))
    ratio = Comparison("welch", -40.0, None, None, None, 0.6, (0.59, 0.61))
    statistics = Summary(baseline=BaselineArm(comparison=ratio))
    verdict = Verdict(
        "submissions/single-gpu-fineweb/mine", "single-gpu-fineweb", Status.NEEDS_REVIEW, Grade.LOG,
        (dc.replace(item, rule=rule, level=level),),
        (Point("main", 3.277, 60.0, {}, statistics),), based_on="first",
    )  # fmt: skip
    board = rank([verdict], dc.replace(SINGLE, reproduction=None))
    if (rule, level) == ("baseline-slower-than-frozen", Level.WARNING):
        assert "a slow arm does not win" in board.unranked[0].why
        return
    (entry,) = board.entries
    assert entry.progress is not None
    assert entry.progress.promotes is (level is Level.NOTE)


def paired(times: list[str | None]) -> str | None:
    """The test of two arms whose runs began at `times`, ours and theirs by turns, all paired."""
    seconds = (60.0, 66.0, 61.0, 67.5, 62.0, 68.0)
    runs = [run(n, s, created_at=t) for n, (s, t) in enumerate(zip(seconds, times, strict=True))]
    case = a_case(runs, arms=("candidate", "baseline") * 3, track=SINGLE)
    evidence = tuple(
        dc.replace(item, spec=dc.replace(item.spec, pair=str(n // 2)))
        for n, item in enumerate(case.evidence)
    )
    summary = of_case(dc.replace(case, evidence=evidence))
    assert summary is not None and summary.baseline is not None
    comparison = summary.baseline.comparison
    return None if comparison is None else comparison.method


def at(minute: int) -> str:
    return f"2026-01-01T00:{minute:02d}:00Z"


@pytest.mark.parametrize(
    ("times", "method"),
    [
        ([at(n) for n in range(6)], "paired"),
        ([at(n) for n in (0, 1, 3, 2, 4, 5)], "paired"),  # ABBA
        # All of one arm first: the pairs were chosen afterwards.
        ([at(n) for n in (0, 3, 1, 4, 2, 5)], "welch"),
        ([*(at(n) for n in range(5)), None], "welch"),
        ([at(0)] * 6, "welch"),
    ],
)
def test_pairs_are_neighbours_in_time(times: list[str | None], method: str) -> None:
    assert paired(times) == method
