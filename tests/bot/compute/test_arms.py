"""Two arms: at which step, by which test, and what it says."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest
import scipy.stats as stats

from bot.compute.arms import compare_arms, pairwise_rule
from bot.compute.selection import Kept
from bot.compute.summary import summarise
from bot.model.run import Run, Validation
from bot.model.summary import BaselineArm, Sample
from bot.model.track import Axis, Significance, Track
from tests.bot.compute.test_summary import SMALL, run, runs


def test_interleaved_runs_are_compared_in_pairs() -> None:
    # The machine slows down by a tenth over the day, more than the gain.
    ours = runs([3.27] * 4, [95.0, 98.0, 101.0, 104.2])
    theirs = runs([3.27] * 4, [96.0, 99.1, 102.0, 105.3], file="b.log")
    pairs = {(r.file, r.index): str(r.index) for r in (*ours, *theirs)}
    loose = summarise(ours, SMALL, baseline=theirs).baseline
    tied = summarise(ours, SMALL, baseline=theirs, pairs=pairs).baseline
    assert loose and tied and loose.comparison and tied.comparison
    assert (loose.passes, tied.passes) == (False, True)
    assert tied.comparison.method == "paired"
    some = summarise(ours, SMALL, baseline=theirs, pairs={("a.log", 0): "0"}).baseline
    assert some and some.comparison and some.comparison.method == "welch"


def paired(ours: list[Run], theirs: list[Run], names: list[str], others: list[str]) -> str:
    """The method of the comparison of two arms whose runs have these names of pairs."""
    named = zip((*ours, *theirs), (*names, *others), strict=True)
    pairs = {(r.file, r.index): name for r, name in named}
    arm = summarise(ours, SMALL, baseline=theirs, pairs=pairs).baseline
    assert arm and arm.comparison
    return arm.comparison.method


@pytest.mark.parametrize(
    ("names", "others", "method"),
    [
        (["a", "b"], ["a", "b"], "paired"),
        (["a", "b"], ["b", "a"], "paired"),
        (["a", "b"], ["a", "c"], "welch"),
        (["a"], ["a"], "welch"),
    ],
)
def test_two_pairs_of_the_same_names_make_a_paired_test(
    names: list[str], others: list[str], method: str
) -> None:
    ours = runs([3.27] * len(names), [95.0, 98.0][: len(names)])
    theirs = runs([3.27] * len(others), [96.0, 99.1][: len(others)], file="b.log")
    assert paired(ours, theirs, names, others) == method


def test_a_pair_without_a_cost_makes_no_paired_test() -> None:
    ours = [*runs([3.27] * 2, [95.0, 98.0]), run(3.27, None, 2)]
    theirs = runs([3.27] * 3, [96.0, 99.1, 97.0], file="b.log")
    assert paired(ours, theirs, ["a", "b", "c"], ["a", "b", "c"]) == "welch"


# ---- Each part of the comparison ---------------------------------------------------------------

TRACK = Track("t", "T", "target", Axis("loss", target=3.28), Axis("training_time_s"))
SHARED = dc.replace(TRACK, common_stop_step=True)


def theirs(n: int, *points: tuple[int, float, float | None], **fields: Any) -> Run:
    """A run of the baseline arm, by default of 100 steps in 100 s and a little."""
    made = points or ((50, 3.4 + n / 99, 50.1 + n), (100, 3.3 + n / 99, 100.1 + n))
    return run(3.3, None, n, file="b.log", validation=tuple(Validation(*p) for p in made), **fields)


def mine(*costs: float | None, quality: float = 3.27) -> list[Kept]:
    return [Kept(run(3.27, None, n), quality + n / 99, cost, {}) for n, cost in enumerate(costs)]


def compared(
    costs: tuple[float | None, ...], baseline: list[Run], track: Track = TRACK, **fields: Any
) -> BaselineArm:
    values: dict[str, Any] = {"step": None, "loss_key": None, "pairs": {}}
    return compare_arms(mine(*costs), baseline, track, **values | fields)


@pytest.mark.parametrize(
    ("track", "step", "ends", "costs"),
    [
        (TRACK, None, (100, 100), (100.1, 101.1)),
        (TRACK, 50, (100, 100), (50.1, 51.1)),
        (SHARED, 50, (100, 100), (100.1, 101.1)),  # where all of them end
        (SHARED, 100, (50, 50), (50.1, 51.1)),
        (SHARED, 100, (100, 50), (50.1, 51.1)),  # the last step that they share
        (TRACK, None, (100, 50), (100.1, 51.1)),
    ],
)
def test_a_baseline_is_taken_at_its_own_step(
    track: Track, step: int | None, ends: tuple[int, int], costs: tuple[float, float]
) -> None:
    points = [theirs(n).validation for n in range(2)]
    arm = [theirs(n, *(p for p in points[n] if p.step <= end)) for n, end in enumerate(ends)]
    assert compared((90.0, 91.0), arm, track, step=step).cost.values == costs


@pytest.mark.parametrize(("ends", "costs"), [((50, 50), (50.1, 51.1)), ((100, 50), ())])
def test_a_baseline_that_stops_early_at_one_step_counts(
    ends: tuple[int, int], costs: tuple[float, ...]
) -> None:
    arm = [
        theirs(n, *(p for p in theirs(n).validation if p.step <= end), finished=False)
        for n, end in enumerate(ends)
    ]
    assert compared((90.0, 91.0), arm, SHARED, step=100).cost.values == costs


EMA = {"val_ema_loss": ((100, 3.1),)}


@pytest.mark.parametrize(
    ("histories", "key", "qualities"),
    [
        (({}, {}), "val_ema_loss", (3.3, 3.3 + 1 / 99)),
        ((EMA, {"val_ema_loss": ((100, 3.2),)}), "val_ema_loss", (3.1, 3.2)),
        ((EMA, {}), "val_ema_loss", (3.1,)),
        ((EMA, EMA), None, (3.3, 3.3 + 1 / 99)),
    ],
)
def test_a_baseline_without_the_metric_keeps_its_own(
    histories: tuple[dict[str, Any], ...], key: str | None, qualities: tuple[float, ...]
) -> None:
    arm = [theirs(n, history=history) for n, history in enumerate(histories)]
    found = compared((90.0, 91.0), arm, loss_key=key)
    assert found.quality and found.quality.n == len(qualities)
    assert found.quality.mean == pytest.approx(sum(qualities) / len(qualities))


THREE = [theirs(n) for n in range(3)]
PAIRS = {("a.log", 0): "x", ("a.log", 1): "y", ("b.log", 0): "x", ("b.log", 1): "y"}


def test_arms_without_any_spread_are_not_tested() -> None:
    arm = [theirs(n, (100, 3.3 + n / 9, 100.0)) for n in range(3)]
    assert compared((90.0, 90.0, 90.0), arm).passes is None


@pytest.mark.parametrize(
    ("costs", "baseline", "method", "passes"),
    [
        ((90.0, 91.0, 92.0), THREE, "welch", True),
        ((100.0, 101.0, 102.0), THREE, "welch", False),
        ((90.0, 91.0), THREE, "welch", None),
        ((90.0, 91.0, 92.0), THREE[:2], "welch", None),
        ((90.0, 91.0, 92.0, 91.5), THREE[:2], "welch", None),
        ((90.0,), THREE[:1], "welch", None),
        ((90.0, 91.0, 92.0), [], None, None),
        ((None, None, None), THREE, None, None),
        ((), THREE, None, None),
    ],
)
def test_two_runs_an_arm_are_not_tested(
    costs: tuple[float | None, ...], baseline: list[Run], method: str | None, passes: bool | None
) -> None:
    found = compared(costs, baseline)
    assert (found.comparison.method if found.comparison else None) == method
    assert found.passes is passes


@pytest.mark.parametrize(
    ("second", "method", "passes"),
    [(91.001, "paired", True), (200.0, "paired", False), (None, "welch", None)],
)
def test_two_pairs_are(second: float | None, method: str, passes: bool | None) -> None:
    found = compared((90.1, second), THREE[:2], pairs=PAIRS)
    assert found.comparison and (found.comparison.method, found.passes) == (method, passes)


def test_a_cost_of_zero_makes_no_pairs() -> None:
    zero = [theirs(0, (0, 3.3, 0.0)), theirs(1)]
    for costs, arm in (((90.0, 91.0), zero), ((0.0, 91.0), THREE[:2])):
        found = compared(costs, arm, pairs=PAIRS)
        assert found.comparison and found.comparison.method == "welch"
    cheap = [theirs(n, (100, 3.3 + n / 9, 0.8 + n / 9)) for n in range(2)]
    found = compared((0.5, 0.6), cheap, pairs=PAIRS)
    assert found.comparison and found.comparison.method == "paired"


def test_a_pair_has_one_run_of_each_arm() -> None:
    """Of three runs two name the same pair, or one names none, or one of each arm."""
    found = compared((90.0, 91.0, 92.0), THREE, pairs=PAIRS)
    assert found.comparison and found.comparison.method == "welch"
    for third in ("y", None):
        pairs = {**PAIRS, ("a.log", 2): third} if third else PAIRS
        found = compared((90.0, 91.0, 92.0), THREE[:2], pairs=pairs)
        assert found.comparison and found.comparison.method == "welch"


@pytest.mark.parametrize(("alpha", "passes"), [(0.5, False), (0.51, True)])
def test_p_is_below_the_alpha_of_a_look(alpha: float, passes: bool) -> None:
    """Equal arms have a p of one half; of two looks each has half of alpha."""
    costs = tuple(k.time_s for k in THREE)
    track = dc.replace(TRACK, significance=Significance("t", alpha))
    assert compared(costs, THREE, track).passes is passes
    two = dc.replace(TRACK, significance=Significance("t", 2 * alpha, looks=(2, 4)))
    assert compared(costs, THREE, two).passes is passes


@pytest.mark.parametrize(
    ("costs", "due", "promotes"),
    [
        ((50.0, 51.0, 52.0), 0.9, True),
        ((98.0, 99.0, 100.0), 0.9, False),
        ((50.0,), 0.9, False),  # a ratio without an interval
        ((50.0, 51.0, 52.0), None, None),
        ((), 0.9, None),
        ((-50.0, -51.0, -52.0), 0.9, None),
    ],
)
def test_a_new_baseline_is_due_by_the_interval_of_the_ratio(
    costs: tuple[float, ...], due: float | None, promotes: bool | None
) -> None:
    found = compared(costs, THREE, dc.replace(TRACK, promote_at=due))
    assert (found.promotes, found.promote_at) == (promotes, due)


# ---- The pairwise rule -------------------------------------------------------------------------

WORTH = dc.replace(
    TRACK, cost=Axis("steps", step=0.01), significance=Significance("z", threshold=0.125)
)
OURS, BASE = (3.27, 3.28), (3.30, 3.31, 3.32)


@pytest.mark.parametrize(
    ("least", "sigma", "passes"), [(0.12, None, True), (0.13, None, False), (0.12, 0.05, True)]
)
def test_steps_saved_are_worth_loss(least: float, sigma: float | None, passes: bool) -> None:
    """3.31 - 3.275 is 0.035, and 780 steps at 0.01 for 100 are 0.078: 0.113 / sqrt(1/2 + 1/3)."""
    track = dc.replace(WORTH, significance=Significance("z", threshold=least, sigma=sigma))
    steps, base = Sample((2220.0, 2200.0)), Sample((2990.0, 3000.0, 2995.0))
    found = pairwise_rule(Sample(OURS), steps, Sample(BASE), base, track)
    assert found and found.statistic == pytest.approx(0.113 / (5 / 6) ** 0.5)
    assert (found.steps_saved, found.passes) == (780.0, passes)
    want = None if sigma is None else pytest.approx(stats.norm.sf(found.statistic / sigma))
    assert found.p == want


@pytest.mark.parametrize(
    ("track", "samples"),
    [
        (dc.replace(WORTH, significance=Significance("z")), (OURS, OURS, BASE, BASE)),
        (dc.replace(WORTH, cost=Axis("steps")), (OURS, OURS, BASE, BASE)),
        (WORTH, ((), OURS, BASE, BASE)),
        (WORTH, (OURS, (), BASE, BASE)),
        (WORTH, (OURS, OURS, (), BASE)),
        (WORTH, (OURS, OURS, BASE, ())),
    ],
)
def test_without_a_worth_or_values_there_is_no_pairwise_rule(
    track: Track, samples: tuple[tuple[float, ...], ...]
) -> None:
    assert pairwise_rule(*map(Sample, samples), track) is None


def test_the_pairwise_rule_decides_where_there_is_one() -> None:
    track = dc.replace(WORTH, significance=Significance("t", threshold=0.04, sigma=0.05))
    found = compared((2000.0, 2100.0, 2200.0), THREE, track)
    assert found.pairwise and found.passes is found.pairwise.passes is False
    assert found.pairwise.steps_saved == 100 - 2200
    assert compared((10.0, 10.0, 10.0), THREE, track).passes is True
