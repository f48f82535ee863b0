"""Which runs count: every reason to leave one out, beside a run that has just not got it."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.compute.duplicates import MOST_RUNS
from bot.compute.selection import Selection, ended_otherwise, select, with_loss_key
from bot.model.run import BranchPoint, Run, Validation
from bot.model.track import Axis, Keys, Metric, Track

LOSS = Track("t", "T", "target", Axis("loss", target=3.28), Axis("training_time_s"))
BPB = dc.replace(LOSS, quality=Axis("bpb"))
SHARED = dc.replace(LOSS, common_stop_step=True)
TIMED = dc.replace(LOSS, finish="time-limit")
REACHED = dc.replace(LOSS, finish="target")
OWN = dc.replace(
    LOSS,
    quality=Axis("accuracy", goal="max", target=0.9),
    metrics={"accuracy": Metric("accuracy", "", "max")},
    finish="target",
)


def a_run(n: int = 0, *points: tuple[int, float, float | None], **fields: Any) -> Run:
    """A finished run of 300 steps whose numbers are its own."""
    own = 0.01 * n
    made = points or ((100, 3.5 + own, 10.5), (200, 3.4 + own, 20.5), (300, 3.27 + own, 30.5 + n))
    values: dict[str, Any] = {"finished": True, "total_steps": 300}
    validation = tuple(Validation(*p) for p in made)
    return Run("log", f"{n}.log", validation=validation, **values | fields)


def bare(n: int = 0, **fields: Any) -> Run:
    """A run of a results file: no validations."""
    values: dict[str, Any] = {"finished": True}
    return Run("results", f"{n}.json", **values | fields)


def why(found: Selection) -> dict[str, str]:
    return {e.file: e.why for e in found.excluded}


def kept(found: Selection) -> list[str]:
    return [k.run.file for k in found.kept]


# ---- A run alone -------------------------------------------------------------------------------

NO_LOSS = "it has no finite validation loss"
NOT_FINITE = "a validation loss of it is not a finite number"
NOT_ABOVE = "a validation loss of it is not above 0"
MISSING = ("metric-missing", "no loss under these names")
INFINITE = ("metric-not-finite", "the loss at step 50 is none")
KEYED = dc.replace(LOSS, keys=Keys(loss=("val/loss", "eval/loss")))


@pytest.mark.parametrize(
    ("run", "track", "expected"),
    [
        (a_run(), LOSS, None),
        (bare(), LOSS, NO_LOSS),
        (bare(problems=(MISSING,)), LOSS, MISSING[1]),
        (bare(problems=(INFINITE,)), LOSS, NO_LOSS),
        (bare(), KEYED, NO_LOSS),
        (
            dc.replace(bare(), source="wandb-offline"), KEYED,
            f"{NO_LOSS} under the names that the track reads: val/loss, eval/loss",
        ),
        (dc.replace(bare(), source="wandb"), dc.replace(LOSS, keys=Keys(loss=())), NO_LOSS),
        (bare(metrics={"bpb": 1.0}), BPB, None),
        (bare(metrics={"loss": 1.0}), BPB, "it has no bpb"),
        (a_run(0, (100, 3.5, None), (300, float("inf"), None)), LOSS, NOT_FINITE),
        (a_run(0, (100, 1e300, None), (300, 3.27, None)), LOSS, NOT_FINITE),
        (a_run(0, (300, float("inf"), None), metrics={"bpb": 1.0}), BPB, None),
        (a_run(0, (100, 0.0, None), (300, 3.27, None)), LOSS, NOT_ABOVE),
        (a_run(0, (100, 3.5, None), (300, -0.1, None)), LOSS, NOT_ABOVE),
        (a_run(0, (300, 0.1, None)), LOSS, None),
        (a_run(0, (300, -0.1, None), metrics={"bpb": 1.0}), BPB, None),
        (a_run(state="finished"), LOSS, None),
        (a_run(state="crashed", finished=None), LOSS, "its state is crashed"),
        (a_run(state="crashed", finished=False), LOSS, "its state is crashed"),
        (a_run(state="crashed"), LOSS, None),
        (a_run(finished=None), LOSS, None),
        (a_run(finished=False), LOSS, "it did not finish: it stopped at step 300 of 300"),
        (
            a_run(finished=False, last_step=350, total_steps=400), LOSS,
            "it did not finish: it stopped at step 350 of 400",
        ),
        (
            a_run(finished=False, total_steps=None), LOSS,
            "it did not finish: it stopped at step 300",
        ),
        (a_run(finished=False, problems=(INFINITE,)), LOSS, INFINITE[1]),
        (
            a_run(finished=False, problems=(MISSING,)), LOSS,
            "it did not finish: it stopped at step 300 of 300",
        ),
        (bare(finished=False, metrics={"bpb": 1.0}), BPB, "it did not finish"),
        (
            bare(finished=False, last_step=0, metrics={"bpb": 1.0}), BPB,
            "it did not finish: it stopped at step 0",
        ),
        (a_run(finished=False), TIMED, None),
        (a_run(finished=False), REACHED, None),
        (a_run(2, finished=False), REACHED, "it did not finish: it stopped at step 300 of 300"),
    ],
)  # fmt: skip
def test_why_a_run_does_not_count(run: Run, track: Track, expected: str | None) -> None:
    found = select([run], track)
    assert why(found) == ({} if expected is None else {run.file: expected})
    assert kept(found) == ([run.file] if expected is None else [])


@pytest.mark.parametrize(
    ("run", "track", "ended"),
    [
        (a_run(), LOSS, False),
        (a_run(), TIMED, True),
        (a_run(1), REACHED, True),  # a loss of 3.28, the target itself
        (a_run(2), REACHED, False),
        (bare(), REACHED, False),
        (bare(metrics={"accuracy": 0.9}), OWN, True),
        (bare(metrics={"accuracy": 0.89}), OWN, False),
        (a_run(), OWN, False),
    ],
)
def test_a_track_may_end_runs_otherwise(run: Run, track: Track, ended: bool) -> None:
    assert ended_otherwise(run, track) is ended


# ---- At a step ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (200, None),
        (210, "no validation at step 210, the nearest is at 200"),
        (250, "no validation at step 250, the nearest is at 200"),
        (251, "no validation at step 251, the nearest is at 300"),
    ],
)
def test_a_step_asks_for_a_validation_there(step: int, expected: str | None) -> None:
    """A run that did not finish may have one; of two that are as near the earlier is named."""
    found = select([a_run(finished=False, state="crashed")], LOSS, step=step)
    assert why(found) == ({} if expected is None else {"0.log": expected})
    assert [(k.quality, k.cost) for k in found.kept] == ([] if expected else [(3.4, 20.5)])


def test_the_step_of_another_metric_is_that_of_its_history() -> None:
    run = bare(history={"bpb": ((100, 1.2), (200, 1.1))}, metrics={"bpb": 1.0})
    found = select([run], BPB, step=200)
    assert [k.quality for k in found.kept] == [1.1]
    assert why(select([run], BPB, step=150)) == {"0.json": "it has no bpb"}
    assert why(select([dc.replace(run, state="killed", finished=None)], BPB, step=200)) == {
        "0.json": "its state is killed"
    }


def test_all_runs_are_taken_at_the_last_step_that_they_share() -> None:
    long, short = a_run(0), a_run(1, (100, 3.6, 10.0), (200, 3.5, 20.0))
    found = select([long, short], SHARED)
    assert found.step == 200 and [k.quality for k in found.kept] == [3.4, 3.5]
    alone = select([long, short], LOSS)
    assert alone.step is None and [k.quality for k in alone.kept] == [3.27, 3.5]
    assert select([long, short], SHARED, step=100).step == 100
    assert select([a_run(finished=False)], SHARED).step is None
    apart = select([long, a_run(1, (150, 3.6, 10.0))], SHARED)
    assert apart.step is None and [k.quality for k in apart.kept] == [3.27, 3.6]


def test_a_metric_that_a_run_lacks_at_the_shared_step_is_told() -> None:
    own = dc.replace(OWN, finish="steps", common_stop_step=True)
    full = a_run(0, history={"accuracy": ((200, 0.8), (300, 0.9))}, metrics={"accuracy": 0.9})
    late = a_run(1, (200, 3.5, 20.0), history={"accuracy": ((100, 0.7),)}, metrics={"accuracy": 1})
    found = select([full, late], own)
    assert [k.quality for k in found.kept] == [0.8]
    assert why(found) == {"1.log": "no validation at step 200, the last step that all runs share"}


@pytest.mark.parametrize(("objective", "cost"), [("best", 3.27), ("target", 30.5)])
def test_the_best_alone_has_its_quality_as_cost(objective: str, cost: float) -> None:
    found = select([a_run()], dc.replace(LOSS, objective=objective))
    assert [k.cost for k in found.kept] == [cost]
    assert [k.cost for k in select([a_run(0, (300, 3.2, None))], LOSS).kept] == [None]


# ---- Another metric ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "total", "finished"),
    [
        (((100, 3.4), (300, 3.2)), 300, True),
        (((100, 3.4), (300, 3.2)), 301, False),
        (((100, 3.4),), None, None),
        ((), 300, False),
        ((), 0, False),
    ],
)
def test_a_run_with_another_metric_ends_with_it(
    history: tuple[tuple[int, float], ...], total: int | None, finished: bool | None
) -> None:
    run = with_loss_key(a_run(total_steps=total, history={"val_ema_loss": history}), "val_ema_loss")
    assert run.finished is finished
    clocks = {100: 10.5, 300: 30.5}
    assert run.validation == tuple(Validation(s, v, clocks[s]) for s, v in history)


def test_another_metric_counts_whatever_the_track_ranks() -> None:
    run = a_run(history={"val_ema_loss": ((300, 3.2),)})
    found = select([run], BPB, loss_key="val_ema_loss")
    assert [k.quality for k in found.kept] == [3.2]
    assert not found.hint and not select([a_run()], LOSS, loss_key="other").hint


def test_the_first_eight_of_the_metrics_that_a_run_has_are_named() -> None:
    names = ["m" * 41, *(f"a{n}" for n in range(8))]
    told = why(select([a_run(history={n: ((300, 1.0),) for n in names})], LOSS, loss_key="x"))
    first = "its history has no metric x, but a0, a1, a2, a3, a4, a5, a6, a7"
    assert told == {"0.log": first}
    two = why(select([a_run(history={"m" * 41: (), "n" * 40: ()})], LOSS, loss_key="x"))
    assert why(select([a_run()], LOSS, loss_key="x")) == {"0.log": "its history has no metric x"}
    assert two == {"0.log": f"its history has no metric x, but {'m' * 40}..., {'n' * 40}"}


# ---- The hint ----------------------------------------------------------------------------------


def test_runs_that_stopped_early_at_one_step_are_given_the_option() -> None:
    runs = [a_run(n, finished=False) for n in range(2)]
    runs.append(a_run(2, (250, 3.3, 25.0), finished=False))
    hint = "2 of the runs end at step 300: --step 300 takes them there"
    assert select(runs, LOSS).hint == hint
    assert select([*runs, a_run(3)], LOSS).hint is None
    assert select(runs, LOSS, step=90).hint is None
    assert select([bare()], LOSS).hint is None


# ---- Each once ---------------------------------------------------------------------------------


def online(n: int, run_id: str | None = "r1", project: str | None = "p", **fields: Any) -> Run:
    return a_run(n, entity="e", project=project, run_id=run_id, **fields)


BRANCH = BranchPoint("r1", 100)
SAME = "the same run as 0.log"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (a_run(0), a_run(1), None),
        (a_run(0), dc.replace(a_run(0), file="1.log"), SAME),
        (a_run(0), a_run(0), "listed twice"),
        (a_run(0), dc.replace(a_run(0), index=1), SAME),
        (a_run(0, nonce="n"), a_run(1, nonce="n"), SAME),
        (a_run(0, nonce="n"), a_run(1, nonce="m"), None),
        (online(0), online(1), SAME),
        (online(0), online(1, "r2"), None),
        (online(0, None), online(1, None), None),
        (online(0, project=None), online(1, project=None), None),
        (online(0, branch_point=BranchPoint("r0", 100)), online(1, "r0"), SAME),
        (online(0), online(1, "r2", branch_point=BRANCH), SAME),
        (online(0, "r2", branch_point=BRANCH), online(1, "r3", branch_point=BRANCH), SAME),
        (online(0, "r2", branch_point=BranchPoint("", 1)),
         online(1, "r3", branch_point=BranchPoint("", 1)), None),
        (a_run(0), dc.replace(a_run(0), file="1.log", validation=a_run(0).validation[1:]),
         "repeats the end of 0.log"),
        (a_run(0), dc.replace(a_run(0), file="1.log", validation=a_run(0).validation[:2]), None),
    ],
)  # fmt: skip
def test_each_training_counts_once(first: Run, second: Run, expected: str | None) -> None:
    found = select([first, second], LOSS)
    assert [e.why for e in found.excluded] == ([] if expected is None else [expected])
    assert [e.copy for e in found.excluded] == ([] if expected is None else ["same"])
    assert len(found.kept) == (2 if expected is None else 1)


def test_a_part_without_a_clock_is_no_part() -> None:
    points = tuple((100 * n, 3.9 - 0.1 * n, None) for n in range(1, 4))
    whole, end = a_run(0, *points), a_run(1, *points[1:])
    assert kept(select([whole, end], LOSS)) == ["0.log", "1.log"]
    assert select([end, bare(7)], LOSS).kept


def test_results_are_the_same_by_all_their_numbers() -> None:
    stated = {"bpb": 1.0, "loss": None, "tokens": 7}
    runs = [
        bare(0, run_id="a", metrics=stated),
        bare(1, run_id="a", metrics={"tokens": 7, "bpb": 1.0}),
        bare(2, run_id="b", metrics=stated),
        bare(3, run_id="a", metrics={"bpb": 1.0}),
        bare(4, run_id="a"),
        bare(5, run_id="a", metrics={"loss": None}),
    ]
    found = select(runs, BPB)
    assert kept(found) == ["0.json", "2.json", "3.json"]
    lacks = "it has no bpb"
    assert why(found) == {"1.json": "the same run as 0.json", "4.json": lacks, "5.json": lacks}


def test_a_run_of_a_file_is_named_with_its_number() -> None:
    first = dc.replace(a_run(0), index=2)
    found = select([first, dc.replace(first, file="1.log", index=0)], LOSS)
    assert why(found) == {"1.log": "the same run as 0.log run 2"}


def test_runs_whose_losses_are_those_of_another_are_copies() -> None:
    points = tuple((100 * n, round(3.9 - 0.1 * n, 4), 10.0 * n) for n in range(1, 6))
    copy = tuple((s, v, 1.7 * (t or 0)) for s, v, t in points)
    found = select([a_run(0, *points), a_run(1, *copy)], LOSS)
    assert why(found) == {"1.log": "its losses or its clocks are those of 0.log"}
    assert [e.copy for e in found.excluded] == ["alike"]


def test_more_runs_than_can_be_told_apart_do_not_count() -> None:
    runs = [a_run(n, (300, 3.2 + n / 1000, None)) for n in range(401)]
    found = select(runs, LOSS)
    assert MOST_RUNS == len(found.kept) == 400
    assert why(found) == {"400.log": "more than 400 runs are not told apart"}
