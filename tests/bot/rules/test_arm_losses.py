"""Two arms: from where on a difference in their losses is told, and what else must be alike."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import Any

import pytest

from bot.evidence.code_hash import source_sha256
from bot.model.run import Hardware
from bot.model.track import BaselineCode, Metric, Track
from bot.registry import Level
from tests.bot.rules.arm_cases import (
    A100,
    FROZEN,
    H100,
    QUALITY,
    TRACK,
    V100,
    a_run_of,
    armed,
    frozen,
)
from tests.bot.rules.run_cases import SMALL, SOURCE, a_case, found

# ---- a baseline arm that trained on -------------------------------------------------------------


def trained_on(
    theirs: Sequence[float], track: Track = TRACK, ours: Sequence[float] = (4.0, 4.0)
) -> list[Level]:
    case = armed([(x, 100.0) for x in theirs], [(x, 60.0) for x in ours], track)
    return [f.level for f in found("arms-differ", case) if "trained on to loss" in f.message]


ASK, STOP = [Level.WARNING], [Level.ERROR]


@pytest.mark.parametrize(
    ("lead", "level"), [(0.0, []), (0.0059, []), (0.0061, ASK), (0.0199, ASK), (0.0201, STOP)]
)
def test_a_little_better_than_the_frozen_baseline_is_asked_about(
    lead: float, level: list[Level]
) -> None:
    """From 0.15 % of the loss on it is a warning, from 0.5 % on an error."""
    assert trained_on((4.0 - lead, 4.0 - lead)) == level
    assert trained_on((4.0 - lead,)) == level
    assert trained_on((4.0 - lead,), frozen(losses=(4.0,))) == level


@pytest.mark.parametrize(
    ("spread", "lead", "level"),
    [
        # three standard errors of a mean of two that lie so far from it
        (0.004, 0.0119, []),
        (0.004, 0.0121, ASK),
        (0.01, 0.0199, []),  # no more than 0.5 %
        (0.01, 0.0201, STOP),
    ],
)
def test_the_spread_of_the_arm_is_allowed_for(
    spread: float, lead: float, level: list[Level]
) -> None:
    mean = 4.0 - lead
    assert trained_on((mean - spread, mean + spread)) == level


@pytest.mark.parametrize(
    ("losses", "lead", "level"),
    [
        ((3.99, 4.01), 0.0299, []),  # 3 standard errors of 0.01
        ((3.99, 4.01), 0.0301, ASK),
        ((3.99, 4.01), 0.0424, ASK),  # 3 standard deviations of 0.01414
        ((3.99, 4.01), 0.0425, STOP),
        ((3.99, 4.0, 4.01), 0.0223, []),  # 3 standard errors of 0.00745
        ((3.99, 4.0, 4.01), 0.0224, ASK),
        ((3.99, 4.0, 4.01), 0.0299, ASK),
        ((3.99, 4.0, 4.01), 0.0301, STOP),
    ],
)
def test_the_spread_of_the_frozen_runs_is_allowed_for(
    losses: tuple[float, ...], lead: float, level: list[Level]
) -> None:
    assert trained_on((4.0 - lead, 4.0 - lead), frozen(losses=losses)) == level


def test_one_run_alone_scatters_as_the_frozen_runs_do() -> None:
    track = frozen(losses=(3.996, 4.0, 4.004))  # 3 standard errors of 0.004 * sqrt(4 / 3)
    assert trained_on((4.0 - 0.0138,), track) == []
    assert trained_on((4.0 - 0.0139,), track) == ASK


@pytest.mark.parametrize(("steps", "told"), [(1000, "ends at"), (999, "trained on to")])
def test_after_as_many_steps_as_the_frozen_baseline_an_arm_was_lucky(steps: int, told: str) -> None:
    code = BaselineCode("main.py", source_sha256(SOURCE), {"train.steps": steps})
    (item,) = found("arms-differ", armed([(3.9, 100.0)], track=frozen(code=code)))
    assert told in item.message
    assert [item.level] == (ASK if steps == 1000 else STOP)


def test_the_last_baseline_with_losses_is_the_measure() -> None:
    later = dc.replace(FROZEN, id="second", frozen_on="2026-03-01", losses=(3.9, 3.9))
    silent = dc.replace(later, id="third", losses=())
    track = dc.replace(TRACK, baselines=(FROZEN, later, silent), baseline_id="third")
    assert trained_on((3.9, 3.9), track) == [] and trained_on((3.88, 3.88), track) == STOP


@pytest.mark.parametrize(
    ("ours", "theirs", "level"),
    [
        ((4.0, 4.0), (3.9941, 3.9941), []),
        ((4.0, 4.0), (3.9939, 3.9939), ASK),
        ((3.996, 4.004), (3.9881, 3.9881), []),  # 3 standard errors of 0.004
        ((3.996, 4.004), (3.9879, 3.9879), ASK),
        ((3.96, 4.04), (3.9799, 3.9799), STOP),  # no more than 0.5 %, whatever our spread is
    ],
)
def test_without_frozen_losses_the_candidate_is_the_measure(
    ours: tuple[float, ...], theirs: tuple[float, ...], level: list[Level]
) -> None:
    for track in (frozen(losses=()), dc.replace(TRACK, baselines=(), baseline_id=None)):
        assert trained_on(theirs, track, ours) == level


def test_which_of_the_two_stopped_is_told() -> None:
    for losses, other in (((4.0,), "frozen baseline ended"), ((), "candidate stopped")):
        case = armed([(3.9, 100.0)], track=frozen(losses=losses))
        (item,) = found("arms-differ", case)
        assert item.message == f"the baseline arm trained on to loss 3.9, the {other} at 4"
        assert item.fix == "run the baseline to the end of its own recipe and no longer."


@pytest.mark.parametrize(("target", "told"), [(None, STOP), (4.0, STOP), (3.999, [])])
def test_a_candidate_that_misses_the_target_stopped_by_itself(
    target: float | None, told: list[Level]
) -> None:
    track = dc.replace(TRACK, quality=dc.replace(QUALITY, target=target))
    assert trained_on((3.9, 3.9), track) == told


def test_on_a_track_of_one_step_nobody_trains_on() -> None:
    cost = dc.replace(TRACK.cost, step=1000)
    assert trained_on((3.9, 3.9), dc.replace(TRACK, cost=cost)) == []


@pytest.mark.parametrize(("theirs", "told"), [(0.801, []), (0.803, ASK), (0.805, STOP), (0.7, [])])
def test_of_a_quality_of_which_more_is_better(theirs: float, told: list[Level]) -> None:
    """The frozen losses say nothing of it, so the candidate is the measure."""
    quality = dc.replace(QUALITY, metric="score", goal="max", target=0.5)
    metric = Metric("score", "Score", goal="max", keys=("score",))
    track = dc.replace(TRACK, quality=quality, metrics={"score": metric})
    runs = [
        a_run_of(n, 4.0, 60.0, history={"score": ((1000, score),)})
        for n, score in enumerate((0.8, 0.8, theirs, theirs))
    ]
    case = a_case(runs, arms=["candidate"] * 2 + ["baseline"] * 2, track=track)
    said = [f for f in found("arms-differ", case) if "trained on to" in f.message]
    assert [f.level for f in said] == told


# ---- what differs besides -----------------------------------------------------------------------


def differing(
    ours: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]], track: Track = TRACK
) -> list[tuple[str, str | None]]:
    """What is said of arms with these fields of their runs."""
    both = [*ours, *theirs]
    runs = [a_run_of(n, 4.0, 60.0, **changes) for n, changes in enumerate(both)]
    arms = ["candidate"] * len(ours) + ["baseline"] * len(theirs)
    return [(f.message, f.fix) for f in found("arms-differ", a_case(runs, arms=arms, track=track))]


TARGET = dc.replace(SMALL, accelerators=(), accelerator_count=None)
EQUAL = "use the same in both arms, or say in the README that it is the improvement"
LOG = "log it in both arms, or say in the README what they used."
SAME = "run both arms on the same machine"
ON_A, ON_H, ON_V, ON_NONE = ({"hardware": h} for h in (A100, H100, V100, Hardware()))
BF16, FP32 = ({"config": {"precision": p}} for p in ("bf16", "fp32"))
NEW, OLD, OLDER = ({"software": {"jax": v}} for v in ("0.6.1", "0.5.2+cpu", "0.4.9"))


@pytest.mark.parametrize(
    ("ours", "theirs", "message", "fix"),
    [
        ([ON_H], [ON_H], None, None),
        ([ON_H], [ON_A], "the candidate ran on h100-sxm, the baseline arm on a100-sxm", SAME),
        ([ON_H, ON_A], [ON_A], None, None),
        ([ON_H, ON_A], [ON_V],
         "the candidate ran on a100-sxm, h100-sxm, the baseline arm on v100-sxm", SAME),
        ([ON_H], [ON_NONE], None, None),
        ([ON_H, ON_NONE], [ON_A], "the candidate ran on h100-sxm, the baseline arm on a100-sxm",
         SAME),
        ([ON_H, ON_NONE], [ON_NONE], None, None),
        ([BF16], [BF16], None, None),
        ([BF16], [FP32], "precision is bf16 in the candidate and fp32 in the baseline arm", EQUAL),
        ([BF16, FP32], [FP32],
         "precision is bf16, fp32 in the candidate and fp32 in the baseline arm", EQUAL),
        ([NEW], [OLD], "jax is 0.6 in the candidate and 0.5 in the baseline arm", EQUAL),
        ([NEW], [NEW, OLD, OLDER],
         "jax is 0.6 in the candidate and 0.4, 0.5, 0.6 in the baseline arm", EQUAL),
        ([OLD], [{"software": {"jax": "0.5.9"}}], None, None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("track", [TRACK, TARGET])
def test_what_the_arms_do_not_share(
    ours: list[dict[str, Any]], theirs: list[dict[str, Any]], message: str | None,
    fix: str | None, track: Track,
) -> None:  # fmt: skip
    assert differing(ours, theirs, track) == ([] if message is None else [(message, fix)])


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        ([BF16], [{}],
         "precision is bf16 in the candidate, and the baseline arm does not state it"),
        ([{}], [OLD, NEW],
         "jax is 0.5, 0.6 in the baseline arm, and the candidate does not state it"),
        ([BF16, {}], [{}, BF16], None),
    ],
)  # fmt: skip
def test_what_one_arm_does_not_state(
    ours: list[dict[str, Any]], theirs: list[dict[str, Any]], message: str | None
) -> None:
    assert differing(ours, theirs) == ([] if message is None else [(message, LOG)])
    assert differing(ours, theirs, TARGET) == []  # a track of ratios alone asks


def test_settings_are_compared_on_a_track_of_ratios() -> None:
    two, one = ({"config": {"micro_batch": n}} for n in (2, 1))
    said = "micro_batch is 2 in the candidate and 1 in the baseline arm"
    assert differing([two], [one]) == [(said, EQUAL)]
    assert differing([two], [one], TARGET) == []


def test_without_two_arms_nothing_differs() -> None:
    assert differing([BF16, ON_A], []) == [] and differing([], [BF16, ON_A]) == []
    assert differing([ON_H], [ON_A], dc.replace(TRACK, objective="pareto")) == []
