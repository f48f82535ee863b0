"""What the rules on statistics say, case by case, with the bounds at which they say it."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from typing import Any

import pytest

from bot.model.case import Case, Context, Seen, Standing, Target
from bot.model.look import Look
from bot.model.submission import Contributor, Folder, Reply
from bot.model.summary import (
    BaselineArm,
    Chance,
    Comparison,
    Decision,
    Sample,
    Summary,
    WithoutBest,
)
from bot.registry import Level
from bot.rules.statistics import for_points, in_percent, more_runs, without_best
from tests.bot.rules.statistic_cases import (
    GOOD,
    MEAN,
    SINGLE,
    SMALL,
    STEPS,
    TRACKS,
    case,
    evidence,
    found,
    loss_claim,
)

PATH = "submissions/nanogpt-small/x"


def ruled(track: Any = SMALL, **changes: Any) -> Any:
    """The track with another rule of significance."""
    return dc.replace(track, significance=dc.replace(track.significance, **changes))


def aiming(**changes: Any) -> Any:
    return dc.replace(SMALL, quality=dc.replace(SMALL.quality, **changes))


# ---- The target ---------------------------------------------------------------------------------

WIDE = [3.29, 3.29, 3.3145]
SEVERAL = "as if they came from several experiments (one run has"


@pytest.mark.parametrize(
    ("track", "losses", "says"),
    [
        (SMALL, [3.29, 3.292], "2 runs is 3.291, above the target 3.28"),
        (SMALL, [3.29], "1 run is 3.29, above the target 3.28"),
        (SMALL, [3.28, 3.28], None),
        (aiming(goal="max"), [3.24, 3.242], "2 runs is 3.241, below the target 3.28"),
        (aiming(goal="max"), [3.29, 3.292], None),
        (aiming(target=None), [3.29, 3.292], None),
        (SMALL, [], None),
        # A standard deviation of 0.0141451, so many times the usual one.
        (ruled(pooled_sd=0.0141451 / 4.9), WIDE, "3 runs is 3.2982, above the target 3.28"),
        (
            ruled(pooled_sd=0.0141451 / 5.1),
            WIDE,
            "3 runs is 3.2982, above the target 3.28; their standard deviation, 0.0141, is 5 "
            f"times the usual one, {SEVERAL} 3.3145)",
        ),
        (
            ruled(pooled_sd=0.001),
            [3.4, 3.402, 3.28],
            "3 runs is 3.3607, above the target 3.28; their standard deviation, 0.0699, is 70 "
            f"times the usual one, {SEVERAL} 3.28)",
        ),
        (ruled(pooled_sd=None, pooled_df=None), WIDE, "3 runs is 3.2982, above the target 3.28"),
    ],
)  # fmt: skip
def test_a_mean_that_misses_the_target(track: Any, losses: list[float], says: str | None) -> None:
    items = found("target-missed", case(track, evidence(losses)))
    assert [f.message for f in items] == ([f"the mean loss of {says}"] if says else [])
    for item in items:
        mean = sum(losses) / len(losses)
        assert item.claimed == pytest.approx(mean) and item.expected == 3.28
        assert item.ratio == pytest.approx(mean / 3.28)


CHANCE = "leave too much to chance:"
UNTESTED = {"pooled_sd": None, "pooled_df": None, "sigma": None}


@pytest.mark.parametrize(
    ("track", "losses", "says", "bar"),
    [
        (SMALL, [3.2771, 3.2795, 3.279], "3.2785, target 3.28), but 3 runs "
         f"{CHANCE} p = 0.091, needed below 0.01", "p < 0.01"),
        (ruled(**UNTESTED), [3.27, 3.27], f"3.27, target 3.28), but 2 runs {CHANCE} the runs are "
         "all equal, and without a spread there is no p", "p < 0.01"),
        (STEPS, [3.278, 3.279], f"3.2785, target 3.28), but 2 runs {CHANCE} (target - mean) × √n "
         "= 0.0021213, needed at least 0.004", "(target - mean) sqrt(n) >= 0.004"),
        # z = 0.0015 sqrt(2) / 0.0013 = 1.63178
        (ruled(STEPS, threshold=None), [3.278, 3.279], f"3.2785, target 3.28), but 2 runs {CHANCE} "
         "p = 0.051, needed below 0.001", "p < 0.001"),
        (SMALL, [3.2795], None, None),  # `too-few-runs` speaks of it
        (SMALL, [3.29, 3.291], None, None),  # `target-missed` does
        (SMALL, GOOD, None, None),
        (aiming(target=None), [3.2771, 3.2795], None, None),
        (SMALL, [], None, None),
    ],
)  # fmt: skip
def test_a_mean_that_is_good_and_proves_nothing(
    track: Any, losses: list[float], says: str | None, bar: str | None
) -> None:
    items = found("target-not-significant", case(track, evidence(losses)))
    assert [(f.message, f.expected) for f in items] == (
        [(f"the mean is good ({says}", bar)] if says else []
    )


def test_runs_of_several_experiments_are_told_apart_first() -> None:
    (item,) = found("target-not-significant", case(SMALL, evidence([3.27, 3.28, 3.2])))
    assert item.fix == "move the runs of another experiment to a point of their own"
    assert item.message.endswith(f"{SEVERAL} 3.2)")


def test_a_look_that_was_taken_with_other_runs() -> None:
    subject = case(ruled(looks=(2,)), evidence([3.27, 3.2701]),
                   contributors=(Contributor("example-user"),))  # fmt: skip
    at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    seen = Seen(1, "example-user", at, submission=PATH, looks=(Look("main", 2, "others"),))
    (item,) = found("target-not-significant", dc.replace(subject, context=Context(seen=(seen,))))
    assert "2 runs are not judged: the look at 2 runs was already taken, with other" in item.message
    assert item.fix == "submit it under another name, with runs that no pull request has shown."


# ---- More runs ----------------------------------------------------------------------------------

SPREAD, ALIKE = Sample((3.27, 3.28)), Sample((3.27, 3.27))
HARDLY = "More runs would hardly help at this mean. Train slightly longer, to a better mean."
NO_SPREAD = (
    "add runs with other seeds: these show no spread, so that nobody can say how many would pass."
)
TAKEN = Decision("t", None, None, False, taken=Look("main", 2, "x"))


def chances(*runs: int) -> tuple[Chance, ...]:
    return tuple(Chance(n, 0.6 + 0.2 * i) for i, n in enumerate(runs))


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({"quality": Sample((3.29,))}, "More runs would not help: the mean misses the target. "
         "Train longer."),
        ({"quality": Sample()}, "More runs would not help: the mean misses the target. Train "
         "longer."),
        ({"target": None}, "More runs would not help: the mean misses the target. Train longer."),
        ({"decision": TAKEN}, "submit it under another name, with runs that no pull request has "
         "shown."),
        ({"decision": TAKEN, "chances": chances(2)},
         "add about 2 runs: about 60 % chance to pass. Anyone may add the runs"),
        ({"quality": ALIKE}, NO_SPREAD),
        ({"quality": ALIKE, "needed_runs": 5}, HARDLY),
        ({}, HARDLY),
        ({"chances": chances(21)}, HARDLY),
        ({"chances": chances(20)},
         "add about 20 runs: about 60 % chance to pass. Anyone may add the runs"),
        ({"chances": chances(1, 3)},
         "add about 1 run: about 60 % chance to pass, 80 % with 3. Anyone may add the run"),
        ({"chances": chances(3), "time": Sample((3600.0,)), "gpu_count": 2},
         "add about 3 runs (about 6 GPU-hours): about 60 % chance to pass. Anyone may add the "
         "runs"),
        ({"chances": chances(3), "time": Sample((3600.0,))},
         "add about 3 runs: about 60 % chance to pass. Anyone may add the runs"),
        ({"chances": chances(3), "gpu_count": 2},
         "add about 3 runs: about 60 % chance to pass. Anyone may add the runs"),
    ],
)  # fmt: skip
def test_what_more_runs_would_do(changes: dict[str, Any], advice: str) -> None:
    assert more_runs(Summary(**{"quality": SPREAD, "target": 3.28, **changes})) == advice


@pytest.mark.parametrize(
    ("seconds", "gpus", "hours"),
    [(3600.0, 1, "1 GPU-hour"), (3780.0, 1, "1.1 GPU-hours"), (3779.0, 1, "1 GPU-hour"),
     (3600.0, 123, "123 GPU-hours"), (720.0, 1, "0.2 GPU-hours")],
)  # fmt: skip
def test_the_hours_of_more_runs(seconds: float, gpus: int, hours: str) -> None:
    summary = Summary(quality=SPREAD, target=3.28, chances=chances(1), time=Sample((seconds,)),
                      gpu_count=gpus)  # fmt: skip
    assert f"add about 1 run (about {hours}): " in more_runs(summary)


@pytest.mark.parametrize(
    ("chance", "shown"),
    [(0.5, "50 %"), (0.52, "50 %"), (0.53, "55 %"), (0.95, "95 %"), (0.999, "95 %")],
)
def test_a_chance_in_steps_of_five(chance: float, shown: str) -> None:
    assert in_percent(chance) == shown


@pytest.mark.parametrize(
    ("best", "shown"),
    [
        (None, ""),
        (WithoutBest(None, False), ""),
        (WithoutBest(0.009, False), ""),
        (WithoutBest(0.01, False), " (p = 0.01, needed below 0.01)"),
        (WithoutBest(0.0234, False), " (p = 0.023, needed below 0.01)"),
    ],
)
def test_the_p_without_the_best_run(best: WithoutBest | None, shown: str) -> None:
    assert without_best(Summary(without_best=best)) == shown


def test_a_p_for_several_points() -> None:
    assert for_points(None) == ""
    assert for_points(0.01234) == " (0.012 corrected for the number of points)"


DEPENDS = [3.278, 3.2783, 3.279, 3.2797, 3.2788, 3.2797]
"""p is 0.0065 of the six and 0.015 without the first, by Student's t."""
FIVE = [3.2775, 3.278, 3.2785, 3.2791, 3.2795]
"""0.0074 of the five and 0.017 without the first."""


@pytest.mark.parametrize(("losses", "told"), [(DEPENDS, True), (FIVE, False), (GOOD + GOOD, False)])
def test_a_result_that_rests_on_its_best_run(losses: list[float], told: bool) -> None:
    track = ruled(guard=False)
    items = found("depends-on-best-run", case(track, evidence(losses)))
    assert [f.message.partition(" (")[0] for f in items] == (
        ["the test does not pass without the best run"] * told
    )


# ---- Too few ------------------------------------------------------------------------------------


def short(count: int, losses: list[float]) -> Case:
    """Finished runs, and `count` more that did not finish."""
    item = evidence([*losses, *[3.3] * count])
    cut = [dc.replace(r, finished=False, total_steps=200) for r in item.runs[len(losses) :]]
    return case(SMALL, dc.replace(item, runs=(*item.runs[: len(losses)], *cut)))


OUT = "candidate.log (it did not finish: it stopped at step 100 of 200)"


@pytest.mark.parametrize(
    ("subject", "says"),
    [
        (short(0, GOOD[:1]), "1 finished run; the track needs at least 2"),
        (short(1, []), f"no finished run; the track needs at least 2; not counted: {OUT}"),
        (short(5, GOOD[:1]), "1 finished run; the track needs at least 2; not counted: "
         + "; ".join([OUT] * 5)),
        (short(6, GOOD[:1]), "1 finished run; the track needs at least 2; not counted: "
         + "; ".join([OUT] * 5) + " and 1 more"),
        (case(ruled(min_runs=3), evidence(GOOD[:2])), "2 finished runs; the track needs at least "
         "3"),
    ],
)  # fmt: skip
def test_finished_runs_are_counted(subject: Case, says: str) -> None:
    assert [f.message for f in found("too-few-runs", subject)] == [says]


@pytest.mark.parametrize("name", ["target-missed", "target-not-significant"])
def test_no_run_that_counts_has_no_mean(name: str) -> None:
    assert found(name, short(2, [])) == []


LONGER = "train slightly longer, then add 1 more run: at this mean and the track's usual spread it "


@pytest.mark.parametrize(
    ("track", "loss", "fix"),
    [
        # At the usual sd, 0.00139036, n runs pass if (3.28 - mean) sqrt(n) / sd is above the 99 %
        # point of Student's t: 8 at 3.2785, 20 at 3.27922, 22 at 3.27925.
        (SMALL, 3.2785, "add about 7 runs (about 1.4 GPU-hours): about an even chance to pass, if "
         "the true mean is this one and the spread the track's usual one. Anyone may add the runs"),
        (ruled(min_runs=7), 3.2785, "add about 7 runs (about 1.4 GPU-hours): about an even chance "
         "to pass, if the true mean is this one and the spread the track's usual one. Anyone may "
         "add the runs"),
        (ruled(min_runs=8), 3.2785, "add 7 more runs (about 1.4 GPU-hours). Anyone may add the "
         "runs"),
        (SMALL, 3.279222, "add about 20 runs (about 4 GPU-hours): about an even chance to pass, "
         "if the true mean is this one and the spread the track's usual one. Anyone may add the "
         "runs"),
        (SMALL, 3.27925, f"{LONGER}would take about 21"),
        (SMALL, 3.29, "add 1 more run (about 0.2 GPU-hours). Anyone may add the run"),
        (dc.replace(ruled(), quality=aiming(target=None).quality), 3.2785,
         "add 1 more run (about 0.2 GPU-hours). Anyone may add the run"),
    ],
)  # fmt: skip
def test_how_many_runs_to_add(track: Any, loss: float, fix: str) -> None:
    (item,) = found("too-few-runs", case(track, evidence([loss])))
    assert item.fix == fix


def answering(kind: str, ours: int, theirs: int, pairs: int | None) -> Case:
    """A reply of so many runs in each arm to an entry of so many pairs."""
    costs = Sample((90.0,) * (pairs or 0))
    arm = BaselineArm(cost=costs, comparison=Comparison("welch", 0, None, None, None, 0.9, None))
    target = Target("other", Summary(cost=costs, baseline=arm)) if pairs else None
    items = [evidence(GOOD[:ours])]
    items += [evidence(GOOD[:theirs], arm="baseline")] if theirs else []
    standing = Standing(target=target)
    return case(SINGLE, *items, reply=Reply(kind, "other"), standing=standing)


@pytest.mark.parametrize(
    ("subject", "says", "claimed", "least"),
    [
        (answering("reproduces", 2, 2, None), None, 0, 0),
        (answering("reproduces", 2, 2, 3), None, 0, 0),
        (answering("reproduces", 2, 1, None), "2 runs of the entry and 1 run of the baseline; a "
         "reproduction needs at least 2 of each", 1, 2),
        (answering("reproduces", 1, 3, None), "1 run of the entry and 3 runs of the baseline; a "
         "reproduction needs at least 2 of each", 1, 2),
        (answering("reproduces", 2, 0, None), "2 runs of the entry and 0 runs of the baseline; a "
         "reproduction needs at least 2 of each", 0, 2),
        (answering("challenges", 2, 2, None), None, 0, 0),
        (answering("challenges", 2, 3, 3), "2 runs of the entry and 3 runs of the baseline; a "
         "challenge needs at least 3 of each", 2, 3),
        (answering("challenges", 3, 3, 3), None, 0, 0),
    ],
)  # fmt: skip
def test_a_reply_needs_pairs(subject: Case, says: str | None, claimed: int, least: int) -> None:
    items = found("too-few-runs", subject)
    assert [(f.message, f.claimed, f.expected) for f in items] == (
        [(says, claimed, least)] if says else []
    )


# ---- Reported numbers, and where findings point --------------------------------------------------


def test_a_wrong_number_and_what_to_write() -> None:
    subject = case(SMALL, evidence(GOOD), claims=(loss_claim(value=3.3, n=5),))
    (item,) = found("reported-statistics-wrong", subject)
    assert (item.claimed, item.expected) == (3.3, pytest.approx(MEAN))
    assert item.ratio == pytest.approx(3.3 / MEAN) and item.write == 3.27706
    assert (item.file, item.pointer) == (f"{PATH}/submission.json", "/claims/loss/mean")
    unread = dc.replace(subject.submission, raw={"runs": [{}, {}]})
    assert found("reported-statistics-wrong", dc.replace(subject, submission=unread)) == []
    single = case(SMALL, evidence([3.277]), claims=(loss_claim(value=3.277, sd=0.1),))
    (item,) = found("reported-statistics-wrong", single)
    assert (item.ratio, item.write, item.expected) == (None, None, None)


@pytest.mark.parametrize(("imported", "level"), [(True, Level.WARNING), (False, Level.ERROR)])
def test_an_error_of_an_imported_entry_is_a_warning_and_a_note_stays_one(
    imported: bool, level: Level
) -> None:
    about: dict[str, Any] = {"imported": {"time_s": 99.0, "time_resolution_s": 0.0}}
    subject = case(SMALL, evidence(GOOD), claims=(loss_claim(value=3.3),), **about)
    subject = dc.replace(subject, context=Context(merged=imported))
    mean, table = found("reported-statistics-wrong", subject)
    assert (mean.level, table.level) == (level, Level.NOTE)


def test_a_file_without_a_folder_is_named_itself() -> None:
    subject = dc.replace(case(SMALL, evidence([3.29, 3.3])), folder=Folder("x.log", {}, bare=True))
    (item,) = found("target-missed", subject)
    assert item.file == "x.log"


def test_tracks_have_the_rules_that_these_cases_rest_on() -> None:
    assert (SMALL.significance.pooled_sd, SMALL.significance.alpha) == (0.00139036479, 0.01)
    assert (STEPS.significance.threshold, STEPS.significance.sigma) == (0.004, 0.0013)
    assert TRACKS["nanogpt-small"].quality.target == 3.28
