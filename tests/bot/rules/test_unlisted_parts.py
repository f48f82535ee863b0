"""Runs that a submission leaves out: which are told, and in which words."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import json
from typing import Any

import pytest

from bot.model.case import Case, Seen, Unlisted
from bot.model.run import Run, Validation, Witness, WitnessKind
from bot.registry import Level
from tests.bot.rules.run_cases import LINK, PATH, SMALL, TRACKS, a_case, a_run, found

PROJECT = "example-team/nanogpt"
BESIDE = "the same configuration that the submission does not list"
LOOKS = dc.replace(SMALL, significance=dc.replace(SMALL.significance, looks=(2, 4)))
NO_TEST = dc.replace(SMALL.significance, test="none")


def other(n: int, loss: float | None = 3.31, **changes: Any) -> Run:
    points = () if loss is None else (Validation(1000, loss, 60.0),)
    return a_run(n, validation=points, **changes)


def told(case: Case) -> list[str]:
    return [f.message for f in found("unlisted-runs", case)]


def imported(case: Case) -> Case:
    about = dc.replace(case.submission, imported={"url": "x"})
    context = dc.replace(case.context, merged=True)
    track = dc.replace(case.track, imported=(PATH,))
    return dc.replace(case, submission=about, context=context, track=track)


def drawer(*runs: Run, project: str = PROJECT, looked: int = 0, total: int = 0,
           unread: bool = False, **changes: Any) -> Case:  # fmt: skip
    fields: dict[str, Any] = {"submission": {"raw": {"runs": [{}] * 3}}} if unread else {}
    return a_case(unlisted=(Unlisted(project, runs, looked, total),), **fields | changes)


WITH_THEM = "; with them n = 3, mean 3.2881, p = 0.73"
"""The losses 3.277, 3.2772 and 3.31: t is -0.7356, with two degrees of freedom."""


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (drawer(), None),
        (drawer(looked=5, total=5), None),
        (drawer(looked=3, total=5), f"3 of the 5 runs of {PROJECT} were looked at"),
        (drawer(other(5)), f"{PROJECT} has 1 run with {BESIDE} (loss 3.3100){WITH_THEM}"),
        (drawer(other(5), looked=3, total=5), f"{PROJECT} has 1 run with {BESIDE} (loss 3.3100)"
         f"{WITH_THEM}; 3 of the 5 runs of {PROJECT} were looked at"),
        (drawer(other(5, None)), f"{PROJECT} has 1 run with {BESIDE}; with them n = 2, mean "
         "3.2771, p = 0.011"),
        (drawer(other(5), unread=True),
         f"{PROJECT} has 1 run with {BESIDE} (loss 3.3100){WITH_THEM}"),
        (drawer(other(5), project=PATH), "the folder has 1 run with the same code or length that "
         f"the submission does not list (loss 3.3100){WITH_THEM}"),
        (drawer(other(5), project=PATH, unread=True), None),
        (drawer(other(5), runs=()), f"{PROJECT} has 1 run with {BESIDE} (loss 3.3100)"),
        (drawer(other(5), track=TRACKS["single-gpu-fineweb"]),
         f"{PROJECT} has 1 run with {BESIDE} (loss 3.3100); with them n = 3, mean 3.2881"),
        (drawer(other(5, finished=False, total_steps=2000), runs=[a_run(n, finished=False,
                total_steps=2000) for n in range(2)]),
         f"{PROJECT} has 1 run with {BESIDE} (loss 3.3100)"),
    ],
)  # fmt: skip
def test_runs_of_the_same_configuration(case: Case, message: str | None) -> None:
    assert told(case) == ([message] if message else [])


def test_a_look_at_some_of_the_runs_is_a_note() -> None:
    (item,) = found("unlisted-runs", drawer(looked=3, total=5))
    assert (item.level, item.pointer) == (Level.NOTE, "/runs")


def test_five_of_the_runs_are_named_and_all_are_counted() -> None:
    case = drawer(*(other(n, 3.31 + n / 100) for n in range(3, 9)))
    (item,) = found("unlisted-runs", case)
    links = ", ".join(LINK.format(n) for n in range(3, 8))
    assert item.fix == f"list them too, or say in the README why they do not count: {links}"
    assert "has 6 runs with" in item.message and "(losses 3.3400 to 3.3900)" in item.message
    assert (item.claimed, item.expected) == (2, 8)


# ---- Seeds that were drawn, and lists of steps --------------------------------------------------


def saying(*values: Any, quantity: str = "drawn") -> list[Run]:
    return [
        a_run(n, witnesses=(Witness(quantity, value, WitnessKind.PROGRAM, f"`s{n}`"),))
        for n, value in enumerate(values)
    ]


def drawn(case: Case) -> list[str]:
    assert told(case) == []
    return [f.message for f in found("witnesses-disagree", case)]


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        (saying(2, 2), None),
        (saying(3, 2), "`s0` says 3 seeds, but the submission lists 2"),
        (saying(3, 5.0), "`s1` says 5 seeds, but the submission lists 2"),
        (saying(5, 3), "`s0` says 5 seeds, but the submission lists 2"),
        (saying("5", "x"), None),
        (saying(5, 5, quantity="steps"), None),
    ],
)
def test_seeds_that_were_drawn(runs: list[Run], message: str | None) -> None:
    case = a_case(runs)
    assert drawn(case) == ([message] if message else [])
    assert drawn(imported(case)) == []
    for item in found("witnesses-disagree", case):
        assert (item.claimed, item.expected) == (2, int((message or "").split()[2]))
        assert item.level is Level.WARNING


def steps(*names: str, status: str = "finished") -> bytes:
    made = {name: {"identity": f"{name}-{status}", "status": status} for name in names}
    return json.dumps({"steps": made}).encode()


def trains(count: int) -> dict[str, bytes]:
    return {
        f"execution-{n}.json": json.dumps(
            {"steps": {"train": {"identity": f"i{n}", "status": "finished"}}}
        ).encode()
        for n in range(count)
    }


ONE_LIST = f"{PATH}/execution.json shows 3 finished trainings, but the submission lists 2"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, None),
        ({"execution.json": steps("a", "b")}, None),
        ({"execution.json": steps("a", "b", "c")}, ONE_LIST),
        ({"execution.json": steps("a", "b", "c", status="running")}, None),
        ({"execution.json": steps("a", "b", "train", "corpus", "results", "data")}, None),
        (trains(2), None),
        (trains(3), f"{PATH}/execution-2.json and 2 more show 3 finished trainings, "
         "but the submission lists 2"),
        ({"execution-x.json": steps("a"), **trains(3)}, f"{PATH}/execution-2.json and 2 more show "
         "3 finished trainings, but the submission lists 2"),
    ],
)  # fmt: skip
def test_lists_of_steps(files: dict[str, bytes], message: str | None) -> None:
    case = a_case(files=files)
    assert told(case) == ([message] if message else [])
    assert told(imported(case)) == []
    assert told(a_case((), files=files)) == []


def test_what_is_listed_counts_if_it_could_not_be_read() -> None:
    case = a_case([a_run(n) for n in range(3)], files={"execution.json": steps("a", "b", "c")})
    assert told(case) == []
    assert told(dc.replace(case, evidence=case.evidence[:1])) == []


# ---- What was shown before ----------------------------------------------------------------------


def curve(start: float) -> tuple[Validation, ...]:
    return tuple(Validation(100 * n, start - 0.123 * n, 6.0 * n) for n in range(1, 11))


def shown(*points: tuple[Validation, ...], number: int = 3) -> Seen:
    at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    return Seen(number, "example-user", at, submission=PATH, points=points)


def gone(count: int) -> tuple[tuple[Validation, ...], ...]:
    return tuple(curve(5.0 + n / 10) for n in range(count))


NO_MORE = "that it no longer lists"


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        ((), None),
        ((shown(()),), None),
        ((shown(a_run(0).validation),), None),
        ((shown(a_run(1).validation),), None),
        ((shown(*gone(1)),), f"this submission showed 1 run {NO_MORE}: #3 (loss 3.77)"),
        ((shown(*gone(1)), shown(*gone(1), number=4)),
         f"this submission showed 1 run {NO_MORE}: #3 (loss 3.77)"),
        ((shown(*gone(5), a_run(0).validation),), f"this submission showed 5 runs {NO_MORE}: "
         "#3 (loss 3.77), #3 (loss 3.87), #3 (loss 3.97), #3 (loss 4.07), #3 (loss 4.17)"),
        ((shown(*gone(6)),), f"this submission showed 6 runs {NO_MORE}: #3 (loss 3.77), #3 (loss "
         "3.87), #3 (loss 3.97), #3 (loss 4.07), #3 (loss 4.17)"),
    ],
)  # fmt: skip
def test_runs_that_were_shown_before(seen: tuple[Seen, ...], message: str | None) -> None:
    assert told(a_case(track=LOOKS, seen=seen)) == ([message] if message else [])
    for item in found("unlisted-runs", a_case(track=LOOKS, seen=seen)):
        assert (item.claimed, item.expected) == (2, 2 + int((message or "").split()[3]))


@pytest.mark.parametrize(
    ("seen", "count"),
    [
        (shown(*gone(2), a_run(0).validation), 2),
        (shown(*(c[:-1] + (c[-1]._replace(loss=3.0),) for c in gone(2)), a_run(0).validation), 0),
        (shown(*gone(2)), 0),  # all of them were replaced: by those of another program, it may be
        (shown(gone(1)[0][:-1], a_run(0).validation), 0),  # it did not end
        (shown(a_run(0).validation, a_run(1).validation), 0),
        (shown(*(tuple(p._replace(time_s=9.0) for p in a_run(n).validation) for n in (0, 1))), 0),
    ],
)
def test_runs_that_are_left_out_on_a_track_without_looks(seen: Seen, count: int) -> None:
    found = told(a_case(seen=(seen,)))
    assert len(found) == (count > 0)
    assert not count or f"showed {count} runs {NO_MORE}" in found[0]
    assert told(a_case(seen=(seen,), track=dc.replace(SMALL, significance=NO_TEST))) == []


def test_a_run_that_is_still_listed_is_not_gone() -> None:
    runs = [a_run(n, validation=curve(5.0 + n)) for n in range(2)]
    assert told(a_case(runs, track=LOOKS, seen=(shown(curve(5.0)),))) == []
    assert len(told(a_case(runs, track=LOOKS, seen=(shown(curve(7.0)),)))) == 1
