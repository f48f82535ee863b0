"""Which run a finding is about, and one finding for all runs of which the same is said."""

from __future__ import annotations

import dataclasses as dc

import pytest

from bot.model.case import Case
from bot.model.verdict import finding
from bot.parse.json_file import read_json
from bot.registry import Level
from bot.rules.about import (
    about,
    listed_in,
    per_message,
    quoted,
    ratio,
    read_problems,
    short_name,
    text_of,
)
from tests.bot.rules.run_cases import PATH, a_case, a_run

LIST = f"{PATH}/submission.json"


def listed(case: Case) -> Case:
    """The case with its list of runs read."""
    document = read_json(case.folder.files["submission.json"], LIST)
    return dc.replace(case, documents={"submission.json": document})


def test_a_finding_says_which_run_is_meant_and_where_it_is_listed() -> None:
    case = a_case([a_run(0), a_run(1, index=1)])
    first, second = case.evidence
    both = dc.replace(second, runs=(a_run(0), a_run(1, index=1)))
    for item, run, name in (
        (first, first.runs[0], "r0"),
        (second, second.runs[0], "r1"),
        (both, both.runs[0], "r0#1"),
        (both, both.runs[1], "r1#2"),
    ):
        made = about(case, item, run, "run-crashed", "it")
        assert made.run == f"https://wandb.ai/example-team/nanogpt/runs/{name}"
        assert (made.file, made.pointer) == (run.file, None)
        told = about(listed(case), item, run, "run-crashed", "it")
        assert (told.file, told.pointer) == (LIST, item.spec.pointer)
        nowhere = dc.replace(item, spec=dc.replace(item.spec, pointer=""))
        assert about(listed(case), nowhere, run, "run-crashed", "it").pointer is None
    assert (listed_in(case), listed_in(listed(case))) == (PATH, LIST)


@pytest.mark.parametrize(
    ("runs", "said", "fix"),
    [
        (("a/r0",), "the run is odd (r0)", "run the run again"),
        (("a/r0", "a/r0"), "the run is odd (r0)", "run the run again"),
        (("a/r0", "a/r1"), "each of the 2 runs is odd (r0 and 1 more run)",
         "run each of the 2 runs again"),
        (("a/r0", "a/r1", "a/r2"), "each of the 3 runs is odd (r0 and 2 more runs)",
         "run each of the 3 runs again"),
    ],
)  # fmt: skip
def test_one_finding_for_all_runs_of_which_the_same_is_said(
    runs: tuple[str, ...], said: str, fix: str
) -> None:
    same = finding("run-crashed", "the run is odd", fix="run the run again")
    (item,) = per_message(dc.replace(same, run=run) for run in runs)
    assert (item.message, item.fix) == (said, fix)
    (silent,) = per_message(dc.replace(same, run=run, fix=None) for run in runs)
    assert silent.fix is None


def test_what_is_said_of_no_run_names_none() -> None:
    (item,) = per_message([finding("device-unknown", "the file names none")] * 2)
    assert item.message == "the file names none"


def test_what_differs_is_said_apart() -> None:
    one = finding("run-crashed", "it", Level.NOTE, run="a/r0", fix="a", point="a")
    others = [
        dc.replace(one, rule="run-unfinished"),
        dc.replace(one, message="other"),
        dc.replace(one, level=Level.ERROR),
        dc.replace(one, point="b"),
        dc.replace(one, fix="b"),
    ]
    assert len(list(per_message([one, *others, one]))) == 6


def test_a_problem_of_a_run_is_told_once() -> None:
    gap = ("history-gap", "a hole")
    run = a_run(0, problems=(gap, ("clock-not-monotonic", "it falls")))
    case = a_case([run, a_run(1)])
    (item,) = read_problems(case, "history-gap")
    assert item.message == "a hole (r0)" and (item.fix or "").startswith("use a run that is logged")
    told = finding("history-gap", "a hole", run=run.file)
    assert list(read_problems(dc.replace(case, problems=(told,)), "history-gap")) == [told]
    other = dc.replace(told, run="other")
    again = list(read_problems(dc.replace(case, problems=(other,)), "history-gap"))
    assert [f.message for f in again] == ["a hole", "a hole (r0)"]
    (bare,) = read_problems(a_case([a_run(0, problems=(("schema", "x"),))]), "schema")
    assert bare.fix is None
    search = a_case([run], arms=("search",))
    assert list(read_problems(search, "history-gap")) == []


def test_small_answers() -> None:
    assert (ratio(1.0, 2.0), ratio(1.0, 0.0), ratio(0.0, 2.0)) == (0.5, None, 0.0)
    assert (text_of("a"), text_of(""), text_of(5), text_of(None)) == ("a", None, None, None)
    assert (short_name("a/b"), short_name("b"), short_name(None)) == ("b", "b", "")
    assert short_name("a/" + "b" * 81) == "b" * 80 + "..."
    assert (quoted("b" * 200), quoted("b" * 201)) == ("b" * 200, "b" * 200 + "...")
