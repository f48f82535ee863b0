"""Better than what stands: each condition under which something is said of it, from both sides."""

from __future__ import annotations

import dataclasses as dc
from typing import Any

import pytest

from bot.model.case import Case, Standing
from bot.model.run import Run
from bot.model.submission import Reply
from bot.model.track import Track
from bot.model.verdict import Finding
from bot.registry import Level
from tests.bot.rules.statistic_cases import GOOD, SINGLE, SMALL, STEPS, case, evidence, found
from tests.bot.rules.test_arms import with_arm

NAME = "submissions/nanogpt-small/r"
RECORD = Standing(NAME, 90.5, record_costs=(90.5, 90.6, 90.4))
THREE = [3.277, 3.2772, 3.2771]


def of(track: Track, **cost: Any) -> Track:
    return dc.replace(track, cost=dc.replace(track.cost, **cost))


def margin(value: float) -> Track:
    return dc.replace(SMALL, significance=dc.replace(SMALL.significance, margin=value))


# ---- the record ---------------------------------------------------------------------------------


def no_record(
    seconds: float, track: Track = SMALL, standing: Standing = RECORD, **fields: Any
) -> list[Finding]:
    subject = case(track, evidence(THREE, [seconds] * 3), standing=standing, **fields)
    return found("not-better-than-record", subject)


@pytest.mark.parametrize(
    ("seconds", "track", "told"),
    [
        (90.4, SMALL, False),
        (90.5, SMALL, True),
        (90.6, SMALL, True),
        (90.0, margin(0.5), False),
        (90.01, margin(0.5), True),
        (90.4, of(SMALL, goal="max"), True),
        (90.5, of(SMALL, goal="max"), True),
        (90.6, of(SMALL, goal="max"), False),
        (90.6, dc.replace(SMALL, objective="pareto"), False),
        (90.6, dc.replace(SMALL, objective="baseline"), False),
    ],
)
def test_a_record_is_better_by_the_margin(seconds: float, track: Track, told: bool) -> None:
    items = no_record(seconds, track)
    assert len(items) == told
    for item in items:
        assert (item.claimed, item.expected) == (pytest.approx(seconds), 90.5)
        assert item.ratio == pytest.approx(seconds / 90.5)


def test_the_best_ranks_by_quality_alone() -> None:
    best = dc.replace(SMALL, objective="best")
    for loss, told in ((3.277, 1), (3.2772, 0)):  # the mean is 3.2771
        assert len(no_record(90.0, best, dc.replace(RECORD, record_cost=loss))) == told


def test_the_record_is_named_with_its_margin_and_unit() -> None:
    end = f" of the record {NAME}"
    (item,) = no_record(91.0)
    assert item.message == f"91 s is not better than the 90.5 s{end}"
    (item,) = no_record(90.3, margin(0.5))
    said = f"90.3 s is not better than the 90.5 s{end}; a record is better by at least 0.5"
    assert item.message == said
    (item,) = no_record(91.0, of(SMALL, unit=""))
    assert item.message == f"91 is not better than the 90.5{end}"


def test_without_a_record_none_is_missed() -> None:
    for field in ("record", "record_cost"):
        assert not no_record(91.0, standing=dc.replace(RECORD, **{field: None}))
    assert not found("not-better-than-record", case(SMALL, standing=RECORD))


@pytest.mark.parametrize(
    ("ours", "theirs", "track", "told"),
    [
        (96.0, 97.0, SMALL, 0),  # the arm is of this machine, the record of another
        (96.0, 96.0, SMALL, 1),
        (96.0, 96.4, margin(0.5), 1),
        (96.0, 96.6, margin(0.5), 0),
        (96.0, 97.0, of(SMALL, metric="score"), 0),  # no such cost is known of the runs
    ],
)
def test_a_time_that_beats_its_arm_is_not_held_against_the_record(
    ours: float, theirs: float, track: Track, told: int
) -> None:
    times = [ours - 0.01, ours, ours + 0.01], [theirs - 0.01, theirs, theirs + 0.01]
    subject = case(
        track, evidence(GOOD[:3], times[0]), evidence(THREE, times[1], "baseline"), standing=RECORD
    )
    assert len(found("not-better-than-record", subject)) == told


def test_steps_that_beat_their_arm_are_held_against_the_record() -> None:
    ours, theirs = evidence(THREE, step=3000), evidence(GOOD[:3], arm="baseline", step=3200)
    standing = Standing("submissions/nanogpt-optimization/r", 2900.0)
    (item,) = found("not-better-than-record", case(STEPS, ours, theirs, standing=standing))
    assert item.expected == 2900.0


# ---- proved -------------------------------------------------------------------------------------


def unproved(subject: Case) -> list[Finding]:
    return found("improvement-not-significant", subject)


NOISY, BUSY = [90.0, 90.9, 89.5, 90.7, 90.1], [90.2, 91.5, 90.9, 89.9, 90.0]


def test_a_welch_test_that_fails_is_told_with_its_p() -> None:
    arms = evidence(GOOD, NOISY), evidence(GOOD[::-1], BUSY, "baseline")
    (item,) = unproved(case(SMALL, *arms))
    start = "not shown to beat the baseline arm in training time: Welch's test gives p = 0."
    assert item.message.startswith(start) and item.message.endswith(", needed below 0.01")
    assert item.expected == "p < 0.01" and isinstance(item.claimed, float)
    assert 0.2 < item.claimed < 0.3  # t = 0.62 with 7.5 degrees of freedom, one-sided
    assert unproved(case(dc.replace(SMALL, objective="pareto"), *arms)) == []


def test_two_points_are_corrected_for() -> None:
    items = [
        evidence(GOOD, NOISY, point="a"),
        evidence(GOOD[::-1], BUSY, "baseline", point="a"),
        evidence(GOOD, [x - 30 for x in NOISY], point="b"),
        evidence(GOOD[::-1], BUSY, "baseline", point="b"),
    ]
    (item,) = unproved(case(SMALL, *items, points=("a", "b")))
    assert item.point == "a" and "corrected for the number of points)" in item.message


def test_pairs_are_tested_as_such() -> None:
    seconds = (60.0, 60.1, 61.0, 61.0, 62.0, 62.1)

    def turns(arm: str, first: int) -> list[Any]:
        made = []
        for n in range(first, 6, 2):
            item = evidence([GOOD[n // 2] + n / 1e5], [seconds[n]], arm, pair=str(n // 2))
            runs = [dc.replace(r, file=f"{arm}{n}.log", created_at=f"2026-01-01T00:0{n}:00Z")
                    for r in item.runs]  # fmt: skip
            made.append(dc.replace(item, runs=tuple(runs)))
        return made

    (item,) = unproved(case(SMALL, *turns("candidate", 0), *turns("baseline", 1)))
    assert ": the paired test gives p = 0." in item.message


@pytest.mark.parametrize(
    ("saved", "told"), [(80, ["0.0036"]), (88, ["0.00396"]), (89, []), (200, [])]
)
def test_steps_are_worth_loss(saved: int, told: list[str]) -> None:
    """Of two runs an arm the statistic is the loss that the steps are worth: 45 millionths each."""
    ours = evidence([3.277, 3.278], step=3000)
    theirs = evidence([3.278, 3.277], arm="baseline", step=3000 + saved)
    items = unproved(case(STEPS, ours, theirs))
    end = ", needed at least 0.004"
    start = "not shown to beat the baseline arm in steps: the pairwise rule gives "
    assert [f.message for f in items] == [f"{start}{x}{end}" for x in told]
    assert [f.expected for f in items] == ["at least 0.004"] * len(told)


@pytest.mark.parametrize(
    ("steps", "values", "against"),
    [
        (3000, (3.278, 3.277), True),
        (2912, (3.278, 3.277), True),  # 0.00396
        (2911, (3.278, 3.277), False),  # 0.004005
        (3001, (3.278, 3.277), False),  # not even better
        (3000, (), False),
    ],
)
def test_without_an_arm_the_records_runs_are_the_measure(
    steps: int, values: tuple[float, ...], against: bool
) -> None:
    standing = Standing(
        "submissions/nanogpt-optimization/r", 3000.0, record_costs=(3001.0, 3000.0),
        record_values=values,
    )  # fmt: skip
    costs = dc.replace(standing, record_costs=(3000.0, 3000.0))
    for known in (costs, standing) if steps == 3000 else (costs,):
        items = unproved(case(STEPS, evidence([3.277, 3.278], step=steps), standing=known))
        better = known is standing or steps < 3000
        assert len(items) == (against and better)
        assert all("not shown to beat the record submissions/" in f.message for f in items)
    for gone in ({"record": None}, {"record_costs": ()}):
        none = dc.replace(costs, **gone)
        assert not unproved(case(STEPS, evidence([3.277, 3.278], step=steps), standing=none))


# ---- not timed together -------------------------------------------------------------------------

FAST = evidence(GOOD, [90.0, 90.1, 89.9, 90.0, 90.1])
ASKED = "a possible record: 90.02 s against 90.5 s of {}, but the two were not timed on one machine"
TIMED = "90.02 s against 90.5 s of {}, each timed in its own session"


def possible(subject: Case) -> list[str]:
    return [f.message for f in unproved(subject)]


def test_a_possible_record_is_told() -> None:
    (item,) = unproved(case(SMALL, FAST, standing=RECORD))
    assert item.message == ASKED.format(NAME)
    assert (item.fix or "").startswith("add runs of the record as the baseline arm, taking turns")
    note = dc.replace(SMALL, levels={"improvement-not-significant": "note"})
    (item,) = unproved(case(note, FAST, standing=RECORD))
    assert (item.message, item.level) == (TIMED.format(NAME), Level.WARNING)
    assert (item.claimed, item.expected) == (pytest.approx(90.02), 90.5)


@pytest.mark.parametrize(
    ("track", "seconds", "standing"),
    [
        (SMALL, 90.5, RECORD),
        (SMALL, 90.6, RECORD),
        (SMALL, 90.0, dc.replace(RECORD, record_cost=None)),
        (SMALL, None, RECORD),
        (dc.replace(SMALL, objective="best"), 90.0, RECORD),
        (of(SMALL, metric="steps"), 90.0, dc.replace(RECORD, record_cost=200.0, record_costs=())),
    ],
)
def test_no_possible_record(track: Track, seconds: float | None, standing: Standing) -> None:
    times = None if seconds is None else [seconds] * 5
    item = evidence(GOOD, times)
    if seconds is None:
        item = dc.replace(item, runs=tuple(no_clock(run) for run in item.runs))
    assert possible(case(track, item, standing=standing)) == []


def no_clock(run: Run) -> Run:
    return dc.replace(run, validation=tuple(v._replace(time_s=None) for v in run.validation))


def test_what_misses_the_target_or_is_merged_is_no_possible_record() -> None:
    missed = evidence([x + 0.01 for x in GOOD], [90.0] * 5)
    assert possible(case(SMALL, missed, standing=RECORD)) == []
    subject = case(SMALL, FAST, standing=RECORD)
    merged = dc.replace(subject.context, merged=True)
    assert possible(dc.replace(subject, context=merged)) == []


# ---- the right arm ------------------------------------------------------------------------------


def armed(track: Track, code: tuple[str, ...] = ("a", "b"), **fields: Any) -> Case:
    """Both arms with one source each, and another standing."""
    items = []
    for arm, letter in zip(("candidate", "baseline"), code, strict=True):
        item = evidence(GOOD, None, arm)
        source = {"train.py": letter * 64} if letter else {}
        items.append(
            dc.replace(item, runs=tuple(dc.replace(r, code_sha256=source) for r in item.runs))
        )
    return case(track, *items, **fields)


def stale(subject: Case) -> list[tuple[str, str | None, Level]]:
    return [(f.message, f.fix, f.level) for f in found("baseline-stale", subject)]


SAME = f"the baseline arm ran the same code as the candidate, {'a' * 12}"
SILENT = "nothing in the baseline runs says what code they ran"


@pytest.mark.parametrize(
    ("track", "standing", "name"),
    [
        (SMALL, Standing(), "the record"),
        (SMALL, RECORD, NAME),
        (SINGLE, Standing(), "the baseline"),
        (SINGLE, Standing(baseline="base"), "base"),
        (SINGLE, Standing("record", baseline="base"), "base"),
        (dc.replace(SMALL, objective="best"), Standing(), "the baseline"),
    ],
)
def test_what_to_run_in_the_place_of_ones_own_code(
    track: Track, standing: Standing, name: str
) -> None:
    fix = f"run {name} as the baseline arm, and bring logs with its source."
    assert stale(armed(track, ("a", "a"), standing=standing)) == [(SAME, fix, Level.WARNING)]
    assert stale(armed(track, ("a", ""), standing=standing)) == [(SILENT, fix, Level.NOTE)]
    assert stale(armed(track, ("a", "b"), standing=standing)) == []
    both = armed(track, ("a", ""), standing=standing)
    assert stale(dc.replace(both, evidence=both.evidence[1:])) == []
    pareto = dc.replace(track, objective="pareto")
    assert stale(armed(pareto, ("a", "a"), standing=standing)) == []


def test_an_old_entry_whose_arm_has_no_source_is_left_alone() -> None:
    imported = {"url": "https://example.org"}
    for code, told in ((("a", "a"), [SAME]), (("a", ""), [])):
        subject = armed(SMALL, code, imported=imported)
        merged = dc.replace(subject, context=dc.replace(subject.context, merged=True))
        assert [message for message, _, _ in stale(merged)] == told


@pytest.mark.parametrize(
    ("code", "based_on", "stands", "said"),
    [
        ("", "first", None, "first (as `based_on` says), and second"),
        ("", "second", None, None),
        ("c2", None, "submissions/single-gpu-fineweb/first", "second (by the code or"),
        ("c1", None, "submissions/single-gpu-fineweb/first", None),
        ("c1", None, "elsewhere", "first (by the code or the configuration of its runs), and else"),
    ],
)
def test_the_baseline_that_stands_is_the_boards(
    code: str, based_on: str | None, stands: str | None, said: str | None
) -> None:
    made = with_arm(code, code)
    made = dc.replace(
        made,
        submission=dc.replace(made.submission, based_on=based_on),
        context=dc.replace(made.context, standing=Standing(baseline=stands)),
    )
    messages = [m for m, _, _ in stale(made) if SILENT not in m]
    assert [f"you ran the old baseline {said}" in m for m in messages] == [True] * (
        said is not None
    )


def test_configurations_tell_arms_apart_only_where_all_are_known() -> None:
    def configured(ours: str | None, *theirs: str | None) -> list[str]:
        subject = armed(SMALL, ("a", "a"))
        config = [{} if c is None else {"config_sha256": c} for c in (ours, *theirs)]
        first, second = subject.evidence
        mine = tuple(dc.replace(r, config=config[0]) for r in first.runs)
        other = tuple(dc.replace(r, config=config[1 + n % len(theirs)])
                      for n, r in enumerate(second.runs))  # fmt: skip
        both = (dc.replace(first, runs=mine), dc.replace(second, runs=other))
        return [message for message, _, _ in stale(dc.replace(subject, evidence=both))]

    assert configured("one", "two") == [] and configured("one", "two", "three") == []
    assert configured("one", "two", "one") == [SAME]
    assert configured("one", "two", None) == [SAME] and configured(None, "two") == [SAME]


def test_the_source_of_the_arm_is_held_against_the_records() -> None:
    wanted = frozenset({"d" * 64, "c" * 64})
    standing = dc.replace(RECORD, record_code=wanted)
    (item,) = found("baseline-stale", armed(SMALL, standing=standing))
    assert item.message == f"the source of the baseline runs is not that of {NAME}"
    assert (item.claimed, item.expected) == ("b" * 64, "c" * 64)
    assert item.fix == f"run {NAME} as the baseline arm."
    subject = armed(SMALL, standing=standing)
    first, *rest = subject.evidence[1].runs
    other = (dc.replace(first, code_sha256={"train.py": "e" * 64}), *rest)
    arms = (subject.evidence[0], dc.replace(subject.evidence[1], runs=other))
    (item,) = found("baseline-stale", dc.replace(subject, evidence=arms))
    assert (item.claimed, item.expected) == ("b" * 64, "c" * 64)
    for known in (frozenset({"b" * 64, "c" * 64}), frozenset[str]()):
        assert not stale(armed(SMALL, standing=dc.replace(RECORD, record_code=known)))
    # which source stands is known, and which ran is not
    assert [m for m, _, _ in stale(armed(SMALL, ("a", ""), standing=standing))] == [SILENT]


@pytest.mark.parametrize(
    ("based_on", "standing", "told"),
    [
        ("nanogpt-small/old", RECORD, True),
        ("nanogpt-small/r", RECORD, False),
        (None, RECORD, False),
        ("nanogpt-small/old", Standing(), False),
    ],
)
def test_what_it_is_based_on_is_held_against_the_record(
    based_on: str | None, standing: Standing, told: bool
) -> None:
    items = found("baseline-stale", armed(SMALL, standing=standing, based_on=based_on))
    said = f"it is based on {based_on}, and {NAME} stands now"
    assert [(f.message, f.pointer) for f in items] == [(said, "/based_on")] * told
    alone = case(SMALL, evidence(GOOD), standing=standing, based_on=based_on)
    assert stale(alone) == []  # it is no gain over anything
    answer = Reply("reproduces", "nanogpt-small/r")
    reply = armed(SMALL, standing=standing, based_on=based_on, reply=answer)
    assert stale(reply) == []
    assert stale(armed(SMALL, ("a", "a"), reply=answer)) == []
