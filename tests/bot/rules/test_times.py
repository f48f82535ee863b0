"""When runs were made: dates that cannot be, two at once on one machine, before a search ended."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from typing import Any

import pytest

from bot.model.case import Case
from bot.model.run import Run, Witness, WitnessKind
from bot.model.track import DatedRule
from bot.registry import Level
from bot.rules.at_once import at_once
from tests.bot.rules.run_cases import PATH, SMALL, a_case, a_run, found, results_file

FORMAT = '"YYYY-MM-DD HH:MM:SS UTC", with the time at which the run ended'
TODAY = dt.date(2026, 1, 10)
OPEN = dc.replace(SMALL, rules=())
RULES = (DatedRule(dt.date(2025, 6, 1), "second"), DatedRule(dt.date(2025, 5, 1), "first"))
DATED = dc.replace(SMALL, rules=RULES)


# ---- dates that cannot be -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("finished", "created", "said"),
    [
        (None, None, None),
        ("2026-01-11T23:59:59Z", None, None),  # a day ahead somewhere on earth
        ("2026-01-12T00:00:00Z", None, "the run is dated 2026-01-12, after today, 2026-01-10 (r0)"),
        (None, "2026-01-12T00:00:00Z", "the run is dated 2026-01-12, after today, 2026-01-10 (r0)"),
        ("2026-01-09T00:00:00Z", "2026-01-12T00:00:00Z", None),  # the end counts
        ("2014-12-31T23:59:59Z", None, "the run is dated 2014-12-31, before 2015 (r0)"),
        ("2015-01-01T00:00:00Z", None, None),
    ],
)
def test_a_run_is_dated_neither_ahead_nor_before_all_this(
    finished: str | None, created: str | None, said: str | None
) -> None:
    run = a_run(finished_at=finished, created_at=created)
    told = found("timestamp-invalid", a_case([run], track=OPEN, today=TODAY))
    assert [(f.message, f.level) for f in told] == ([(said, Level.ERROR)] if said else [])
    assert [f.claimed for f in told] == ([said[17:27]] if said else [])


def test_without_a_today_nothing_lies_ahead() -> None:
    assert not found("timestamp-invalid", a_case([a_run(finished_at="2999-01-01T00:00:00Z")]))
    case = a_case(results=results_file({"run_completion_timestamp": "2999-01-01 00:00:00 UTC"}))
    assert not found("timestamp-invalid", case)


@pytest.mark.parametrize(
    ("day", "level"),
    [("2014-12-31", Level.ERROR), ("2025-04-30", Level.WARNING), ("2025-05-01", None)],
)
def test_a_run_is_no_older_than_the_first_rule_of_its_track(day: str, level: Level | None) -> None:
    case = a_case([a_run(finished_at=f"{day}T12:00:00Z")], track=DATED, today=TODAY)
    assert [f.level for f in found("timestamp-invalid", case)] == [level] * (level is not None)
    listed = dc.replace(DATED, imported=(PATH,))
    imported = {"imported": {"url": "https://example.org"}}
    brought = a_case(
        [a_run(finished_at=f"{day}T12:00:00Z")], track=listed, submission=imported, merged=True
    )
    assert [f.level for f in found("timestamp-invalid", brought)] == (
        [Level.ERROR] if level is Level.ERROR else []
    )


def test_what_a_results_file_shows_is_said_once() -> None:
    days = ("2026-01-12", "2014-12-31", "2025-04-30")
    runs = [a_run(n, source="results", finished_at=f"{d}T00:00:00Z") for n, d in enumerate(days)]
    told = found("timestamp-invalid", a_case(runs, track=DATED, today=TODAY))
    assert [(f.level, f.claimed) for f in told] == [(Level.WARNING, "2025-04-30")]


@pytest.mark.parametrize(
    ("stated", "said", "level"),
    [
        ("2026-01-11 23:59:59 UTC", None, None),
        ("2026-01-12 00:00:00 UTC", ' is "{}", after today, 2026-01-10', Level.ERROR),
        ("2015-01-01 00:00:00 UTC", None, None),
        ("2014-12-31 23:59:59 UTC", ' is "{}", before 2015', Level.ERROR),
        ("2026-01-01 00:00:00", ', "{}", has no time zone', Level.WARNING),
        ("2014-12-31 23:59:59", ' is "{}", before 2015', Level.ERROR),
        ("yesterday", ' is "{}", which cannot be read', Level.ERROR),
        (20260101, " is {}, which cannot be read", Level.ERROR),
    ],
)
def test_a_results_file_says_when_it_was_made(
    stated: Any, said: str | None, level: Level | None
) -> None:
    case = a_case((), results=results_file({"run_completion_timestamp": stated}), today=TODAY)
    told = found("timestamp-invalid", case)
    assert [f.level for f in told] == [level] * (level is not None)
    for item in told:
        assert item.message == f"`run_completion_timestamp`{str(said).format(stated)}"
        assert item.claimed == str(stated) and item.fix == f"write it as {FORMAT}"


def test_a_results_file_without_a_time_is_told_where_to_put_it() -> None:
    stated = results_file()
    del stated["runs"][0]["run_info"]["run_completion_timestamp"]
    (told,) = found("timestamp-invalid", a_case((), results=stated, today=TODAY))
    assert (told.level, told.claimed) == (Level.ERROR, None)
    assert told.message == "`run_completion_timestamp` is missing"
    assert told.fix == f"add it to `run_info` as {FORMAT}"


# ---- two at once on one machine -----------------------------------------------------------------


def timed(n: int, second: float | None, length: float | None = 100.0, **changes: Any) -> Run:
    """A run that began at this second of a minute and lasted so long, on the GPUs number 7."""
    witnesses = [Witness("boards", 7.0, WitnessKind.MACHINE, "the log")]
    if second is not None:
        began = 1_767_225_600.0 + second
        witnesses.append(Witness("began_at", began, WitnessKind.MACHINE, "the log"))
    fields = {"runtime_s": length, "witnesses": tuple(witnesses)}
    return a_run(n, **fields | changes)


def overlaps(*runs: Run) -> list[tuple[str | None, str | None, float]]:
    return [(o.first.run_id, o.second.run_id, o.seconds) for o in at_once(a_case(runs))]


BOTH = ("r0", "r1")
SERVICE = {"created_at": "2026-01-01T00:00:00Z"}  # what the second 0 is
OTHER = (Witness("boards", 8.0, WitnessKind.MACHINE, "the log"), *timed(0, 0.0).witnesses[1:])
WORDS = (Witness("boards", "seven", WitnessKind.MACHINE, "the log"), *timed(0, 50.0).witnesses)


@pytest.mark.parametrize(
    ("first", "second", "seconds"),
    [
        # 5 % of 100 s and 2 s are to spare
        (timed(0, 0.0), timed(1, 92.0), 8.0),
        (timed(0, 0.0), timed(1, 93.0), None),
        (timed(0, 0.0), timed(1, 94.0), None),
        (timed(0, 0.0, 200.0), timed(1, 187.0), 13.0),
        (timed(0, 0.0, 200.0), timed(1, 188.0), None),
        (timed(0, None, **SERVICE), timed(1, 50.0), 50.0),
        (timed(0, 90.0, **SERVICE), timed(1, 50.0), 50.0),  # the service's word counts
        (timed(0, None), timed(1, 50.0), None),
        (timed(0, 0.0, None), timed(1, 50.0), 10.0),  # the training clock shows 60 s
        (timed(0, 0.0, 0.0), timed(1, 0.0, 0.0), None),
        (timed(0, 0.0), timed(1, 50.0, witnesses=WORDS), 50.0),
        (timed(0, 0.0), timed(1, 50.0, witnesses=OTHER), None),
        (timed(0, 0.0, client_marks=("resumed",)), timed(1, 50.0), None),
        (timed(0, 0.0), timed(1, 50.0, file=timed(0, 0.0).file), None),
        (timed(0, 0.0, None, validation=()), timed(1, 50.0), None),
    ],
)
def test_two_runs_on_the_same_gpus_at_once(first: Run, second: Run, seconds: float | None) -> None:
    wanted = [] if seconds is None else [(*BOTH, seconds)]
    assert overlaps(first, second) == wanted
    assert overlaps(second, first) == wanted


def test_only_neighbours_in_time_are_compared() -> None:
    runs = [timed(0, 0.0, 1000.0), timed(1, 100.0), timed(2, 300.0)]
    assert overlaps(*runs) == [("r0", "r1", 900.0)]


# ---- before a search ended ----------------------------------------------------------------------

LOOKS = dc.replace(SMALL, significance=dc.replace(SMALL.significance, looks=()))
END, BEGIN = "2026-01-01T12:00:00Z", "2026-01-01T12:00:00Z"
UNKNOWN = "the runs do not say that those which count began after the search"
EARLY = (
    "https://wandb.ai/example-team/nanogpt/runs/r1: the run began on 2026-01-01 11:59 UTC, before "
    "the search ended on 2026-01-01 12:00 UTC"
)


def searched(
    candidate: dict[str, Any], *searches: dict[str, Any], announced: int | None = 5
) -> Case:
    """A candidate run, and those of the search that chose it."""
    runs = [a_run(1, **candidate), *(a_run(n, **s) for n, s in enumerate(searches, 2))]
    arms = ("candidate", *("search" for _ in searches))
    submission = {"preregistration": announced}
    return a_case(runs, arms=arms, track=LOOKS, submission=submission)


@pytest.mark.parametrize(
    ("candidate", "searches", "said"),
    [
        ({}, (), []),
        ({"created_at": BEGIN}, ({"finished_at": END},), []),
        ({"created_at": "2026-01-01T11:59:59Z"}, ({"finished_at": END},), [EARLY]),
        ({"created_at": BEGIN}, ({"heartbeat_at": END},), []),
        ({"created_at": "2026-01-01T11:59:59Z"}, ({"heartbeat_at": END},), [EARLY]),
        (
            {"created_at": "2026-01-01T11:59:59Z"},
            ({"finished_at": "2026-01-01T10:00:00Z", "heartbeat_at": END},),
            [],  # what ended is over, whatever came later
        ),
        ({"created_at": BEGIN}, ({},), [UNKNOWN]),
        ({"created_at": BEGIN}, ({"finished_at": END}, {}), [UNKNOWN]),
        ({}, ({"finished_at": END},), [UNKNOWN]),
        (
            {"created_at": "2026-01-01T11:59:59Z"},
            ({"finished_at": "2026-01-01T10:00:00Z"}, {"finished_at": END}),
            [EARLY],  # the last of the search counts
        ),
    ],
)
def test_runs_that_count_began_after_the_search(
    candidate: dict[str, Any], searches: tuple[dict[str, Any], ...], said: list[str]
) -> None:
    told = found("confirmation-not-fixed", searched(candidate, *searches))
    assert [f.message for f in told] == said
    assert [f.run for f in told] == [a_run(1).file if m == EARLY else None for m in said]


@pytest.mark.parametrize(
    ("announced", "looks", "fixed"), [(None, (), False), (5, (), True), (None, (4, 8), True)]
)
def test_their_number_was_fixed_before(
    announced: int | None, looks: tuple[int, ...], fixed: bool
) -> None:
    case = searched({"created_at": BEGIN}, {"finished_at": END}, announced=announced)
    rule = dc.replace(LOOKS.significance, looks=looks)
    case = dc.replace(case, track=dc.replace(LOOKS, significance=rule))
    messages = [f.message for f in found("confirmation-not-fixed", case)]
    said = "nothing fixed the number of runs that confirm the choice"
    assert messages == [said] * (not fixed)
