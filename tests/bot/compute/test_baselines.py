"""Which frozen baseline an arm ran, which arm a run is of, and how baselines relate."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import math
from typing import Any

import pytest

from bot.compute.baselines import Ran, mixed, ran, relation, stood, told_apart
from bot.compute.ratios import chained
from bot.model.case import Case, RunEvidence
from bot.model.run import Run
from bot.model.submission import RunSpec
from bot.model.track import Baseline
from tests.bot.rules.run_cases import TRACKS, a_case, a_run


def frozen(name: str, day: str, **fields: Any) -> Baseline:
    path = f"submissions/one/{name}"
    return Baseline(name, path, day, "training_time_s", (600.5, 601.0), (3.27, 3.275), **fields)


CHAIN = (
    frozen("b1", "2026-01-01", sources=("c1",), configs=("k1",)),
    frozen("b2", "2026-02-01", frozen_at="2026-02-01T12:00:00Z", after="b1", ratio=0.9,
           sources=("c2",), configs=("k2",)),
    frozen("b3", "2026-02-01", frozen_at="2026-02-01T18:00:00Z", after="b2", ratio=0.8,
           sources=("c2",), configs=("k3",)),
    frozen("b4", "2026-04-01"),
)  # fmt: skip
ONE = dc.replace(TRACKS["single-gpu-fineweb"], id="one", baseline_id="b3", baselines=CHAIN[:3])


def one(n: int, code: str = "", config: str = "", at: str | None = None) -> Run:
    files = {"main.py": code, "reference_trainer": "same"} if code else {"reference_trainer": "s"}
    settings = {"config_sha256": config} if config else {}
    return a_run(n, code_sha256=files, config=settings, created_at=at)


def case(*theirs: Run, **fields: Any) -> Case:
    runs = [one(9, "new"), *theirs]
    arms = ("candidate", *("baseline" for _ in theirs))
    return a_case(runs, arms=arms, track=ONE, **fields)


@pytest.mark.parametrize(
    ("theirs", "fields", "expected"),
    [
        # what the runs are of decides, whatever the author, the record and the clock say
        ((one(1, "c1"),), {"based_on": "b3", "against": "b3"}, Ran("b1", "code")),
        # two baselines of one code: their configurations tell them apart
        ((one(1, "c2", "k2"), one(2, "c2", "k2")), {}, Ran("b2", "code")),
        ((one(1, "c2", "elsewhere"),), {}, Ran("b3", "code")),
        ((one(1, "c2", "elsewhere"),), {"based_on": "b2"}, Ran("b2", "code")),
        ((one(1, "", "k1"),), {}, Ran("b1", "code")),
        # another code of the same configuration is not a run of the baseline
        ((one(1, "else", "k1"),), {"against": "b2"}, Ran("b2", "record")),
        ((one(1),), {"based_on": "one/b2", "against": "b1"}, Ran("b2", "author")),
        ((one(1),), {"based_on": "somebody", "against": "b1"}, Ran("b1", "record")),
        ((one(1),), {"against": "unknown"}, Ran("b3")),
        # begun before the third was frozen, and shown afterwards
        ((one(1, at="2026-02-01T17:59:00Z"),), {"received": "2026-02-03T00:00:00Z"},
         Ran("b2", "clock")),
        ((one(1, at="2026-02-01T18:01:00Z"),), {"received": "2026-02-03T00:00:00Z"},
         Ran("b3", "clock")),
        ((one(1),), {"received": "2026-02-01T11:00:00Z"}, Ran("b1", "clock")),
    ],
)  # fmt: skip
def test_the_baseline_that_an_arm_ran(
    theirs: tuple[Run, ...], fields: dict[str, Any], expected: Ran
) -> None:
    based_on = fields.pop("based_on", None)
    made = case(*theirs, **fields)
    made = dc.replace(made, submission=dc.replace(made.submission, based_on=based_on))
    assert ran(made) == expected


def test_an_arm_of_several_baselines_is_mixed() -> None:
    assert mixed(case(one(1, "c1"), one(2, "c2", "k3"))) == ("b1", "b3")
    assert mixed(case(one(1, "c2", "k2"), one(2, "c2", "else"))) == ()
    assert mixed(case(one(1), one(2, "c1"))) == ()


def test_no_baseline_is_known_where_none_is_frozen() -> None:
    made = case(one(1, "c1"))
    empty = dc.replace(ONE, baselines=(), baseline_id=None)
    assert ran(dc.replace(made, track=empty)) is None
    assert ran(dc.replace(made, track=dc.replace(empty, baseline_id="said"))) == Ran("said")


@pytest.mark.parametrize(
    ("moment", "expected"),
    [("2025-12-01", "b1"), ("2026-01-01", "b1"), ("2026-02-01T12:00:00", "b2"),
     ("2026-02-01T11:59:59", "b1"), ("2026-04-01T23:00:00", "b3"), ("2026-04-02", "b4")],
)  # fmt: skip
def test_a_baseline_stands_from_its_moment(moment: str, expected: str) -> None:
    assert stood(CHAIN, dt.datetime.fromisoformat(moment).replace(tzinfo=dt.UTC)) == expected


# ---- Which arm a run is of ---------------------------------------------------------------------


def listed(*runs: tuple[str | None, Run]) -> list[str]:
    """The arms that the runs count in, of a list that says so or not."""
    entries = [{"arm": arm} if arm else {} for arm, _ in runs]
    evidence = tuple(
        RunEvidence(RunSpec("wandb", run.file, arm or "candidate", pointer=f"/runs/{n}"), (run,))
        for n, (arm, run) in enumerate(runs)
    )
    made = dc.replace(case().submission, raw={"runs": entries})
    return [item.spec.arm for item in told_apart(evidence, made, ONE)]


def test_a_run_whose_arm_is_not_said_counts_in_that_of_its_code() -> None:
    ours, theirs, new = one(1, "new"), one(2, "c1"), one(3, "c1")
    assert listed((None, ours), ("baseline", theirs), (None, new)) == [
        "candidate", "baseline", "baseline",
    ]  # fmt: skip
    # code that no frozen baseline has: that of the listed baseline arm counts as well
    own = one(2, "", "own"), one(3, "", "own")
    assert listed((None, ours), ("baseline", own[0]), (None, own[1]))[2] == "baseline"


def test_what_the_list_says_is_never_changed() -> None:
    ours, theirs = one(1, "new"), one(2, "c1")
    assert listed((None, ours), ("candidate", theirs)) == ["candidate", "candidate"]
    # the baseline's own submission, and two arms that nothing tells apart
    assert listed((None, one(1, "c1")), (None, one(2, "c1"))) == ["candidate", "candidate"]
    alike = one(1, "", "k9"), one(2, "", "k9")
    assert listed((None, alike[0]), ("baseline", alike[1])) == ["candidate", "baseline"]
    other = one(1, "new", "k1"), one(2, "base", "k1"), one(3, "newer", "k1")
    assert listed((None, other[0]), ("baseline", other[1]), (None, other[2]))[2] == "candidate"


# ---- How baselines relate ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "current", "scale"),
    [
        ("b3", "b3", 1.0),
        ("b2", "b3", 1 / 0.8),
        ("b1", "b3", 1 / 0.72),
        ("b1", "b2", 1 / 0.9),
        ("b3", "b4", None),
        ("unknown", "b4", None),
    ],
)
def test_ratios_are_put_on_one_scale(own: str, current: str, scale: float | None) -> None:
    found = relation(CHAIN, own, current)
    if scale is None:
        assert found is None
    else:
        assert found is not None and math.prod(k.ratio for k in found) == pytest.approx(scale)


def test_the_spread_of_every_baseline_between_is_in_the_interval() -> None:
    """Half intervals of 1 % and 2 % on the log scale: together sqrt(5) %."""
    wide = [dc.replace(b, interval=spread(b.ratio, 0.01 * n)) for n, b in enumerate(CHAIN[:3])]
    links = relation((*wide, CHAIN[3]), "b3", "b1")
    assert links is not None
    whole = chained(links)
    assert whole.ratio == pytest.approx(0.72) and whole.interval is not None
    assert math.log(whole.interval[1] / whole.ratio) == pytest.approx(0.01 * math.sqrt(5))
    # One baseline that was frozen without an interval leaves the product without one.
    unknown = relation(CHAIN, "b3", "b1")
    assert unknown is not None and chained(unknown).interval is None


def spread(ratio: float | None, half: float) -> tuple[float, float] | None:
    return None if ratio is None else (ratio * math.exp(-half), ratio * math.exp(half))
