"""What is said of runs that are too alike: in one entry, in its points, beside other entries."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
import math
import random
from collections.abc import Sequence
from typing import Any

import pytest

from bot.compute.duplicates import trace_of
from bot.model.case import Case, Neighbour, PullRequest, Seen
from bot.model.run import Run, Validation, Witness, WitnessKind
from bot.model.verdict import Finding
from bot.parse.json_file import read_json
from bot.registry import Level
from tests.bot.rules.run_cases import PATH, SMALL, a_case, a_run, found

STEPS = range(0, 801, 40)
ONE_BY_ONE = "list runs that were trained one by one, each with a seed of its own"
Curve = list[float]


def losses(seed: int, steps: Sequence[int] = STEPS) -> Curve:
    """A curve of its own, as noisy as the seeds of one script."""
    dice = random.Random(seed)
    return [3.2 + 7 * math.exp(-s / 90) + dice.gauss(0, 0.004) for s in steps]


def clock(seed: int, steps: Sequence[int] = STEPS) -> Curve:
    dice, at = random.Random(f"clock {seed}"), 0.0
    times = []
    for step in steps:
        times.append(round(at, 3) if step else 0.0)
        at += dice.uniform(30.0, 50.0)
    return times


def a_curve(n: int, curve: Curve | None = None, times: Curve | None = None, **fields: Any) -> Run:
    """Run n with a curve and a clock of its own, unless they are given."""
    steps = fields.pop("steps", STEPS)
    points = zip(steps, curve or losses(n, steps), times or clock(n, steps), strict=True)
    validation = tuple(Validation(s, round(x, 4), t) for s, x, t in points)
    length = {"total_steps": steps[-1], "last_step": steps[-1], "metrics": {}}
    own = {"file": f"{PATH}/r{n}.log", "run_id": None, "source": "log"}
    return a_run(n, **{"validation": validation, **length, **own, **fields})


def told(case: Case) -> list[Finding]:
    return list(found("duplicate-run", case))


def said(*runs: Run, **changes: Any) -> list[str]:
    items = told(a_case(runs, **changes))
    assert all(f.level is Level.WARNING and f.fix == ONE_BY_ONE for f in items)
    return [f.message for f in items]


def moved(curve: Curve, by: float, seed: int = 1) -> Curve:
    dice = random.Random(seed)
    return [x + dice.gauss(0, by) for x in curve]


def test_trainings_of_their_own_are_told_nothing_of() -> None:
    assert said(*(a_curve(n) for n in range(4))) == []
    assert said(a_curve(0), a_curve(1), arms=("candidate", "baseline")) == []


# ---- in one entry -------------------------------------------------------------------------------


def test_two_curves_with_noise_of_their_own() -> None:
    near = [a_curve(n, moved(losses(0), 2.8e-4, n)) for n in (0, 1)]
    (item,) = told(a_case([*near, a_curve(2)]))
    assert item.message.startswith("2 runs are 0.0") and item.run == near[1].file
    assert item.message.endswith(
        " nats apart over their whole curves, closer than trainings with different seeds are"
    )
    quality = dc.replace(SMALL.quality, goal="max")
    (other,) = told(a_case([*near, a_curve(2)], track=dc.replace(SMALL, quality=quality)))
    assert "nats" not in other.message
    three = [*near, a_curve(2, moved(losses(0), 2.8e-4, 9))]
    (item,) = told(a_case(three, arms=("baseline",) * 3))
    assert item.message.startswith("3 runs are 0.0")
    assert said(*near, arms=("candidate", "baseline")) == []  # of which each is its own arm's


def test_the_parts_of_one_run() -> None:
    other = range(0, 801, 32)
    runs = a_curve(0), a_curve(1, steps=other)
    end = "end at one step and validate at different ones before"
    assert said(*runs) == [f"r0.log and r1.log {end}"]
    assert said(*runs, arms=("candidate", "baseline")) == []
    assert said(runs[0], a_curve(1, steps=range(0, 769, 32))) == []


def test_averages_of_fewer_runs() -> None:
    a, b, c, d = (losses(n) for n in range(20, 24))
    means = [[(x + y) / 2 for x, y in zip(*two, strict=True)] for two in
             ((a, b), (c, d), (a, c), (b, d))]  # fmt: skip
    (message,) = said(*(a_curve(n, mean) for n, mean in enumerate(means)))
    assert message == (
        "the mean curve of r0.log and r1.log is that of r2.log and r3.log: averages of fewer runs "
        "look like this, "
        "and trainings never do"
    )


@pytest.mark.parametrize("factor", [1.5, 0.75])
def test_one_clock_in_two_runs(factor: float) -> None:
    times = [round(t * factor, 3) for t in clock(0)]
    runs = a_curve(0), a_curve(1, times=times)
    end = " as it is or times a constant"
    for arms in ((), ("candidate", "baseline")):
        (message,) = said(*runs, arms=arms)
        assert message in (
            f"the clock of r0.log is that of r1.log,{end}",
            f"the clock of r1.log is that of r0.log,{end}",
        )
    assert said(*runs, arms=("baseline", "baseline")) == []  # no entry gains by it


BEGAN = "2026-01-01T00:00:00.25Z"


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        (BEGAN, BEGAN, True),
        (BEGAN, "2026-01-01T00:00:00.26Z", False),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", False),  # of one script that starts many
        (None, None, False),
    ],
)
def test_two_files_that_began_in_one_instant(
    first: str | None, second: str | None, alike: bool
) -> None:
    runs = a_curve(0, created_at=first), a_curve(1, created_at=second)
    wanted = [f"r1.log and r0.log began at {BEGAN}"] * alike
    for arms in ((), ("candidate", "baseline"), ("baseline", "baseline")):
        assert said(*runs, arms=arms) == wanted
    both = (runs[0], dc.replace(runs[1], file=runs[0].file, index=1))
    assert [m for m in said(*both) if "began at" in m] == []


def test_two_runs_on_the_same_gpus_at_once() -> None:
    boards = (Witness("boards", 7.0, WitnessKind.MACHINE, "the log"),)
    fields = {"runtime_s": 100.0, "witnesses": boards}
    runs = (a_curve(0, created_at="2026-01-01T00:00:00Z", **fields),
            a_curve(1, created_at="2026-01-01T00:01:00Z", **fields))  # fmt: skip
    (item,) = told(a_case(runs))
    assert (
        item.message == ("r1.log began 40 s before r0.log had ended, on the same GPUs")
        and item.run == runs[1].file
    )


# ---- in several points --------------------------------------------------------------------------


def pointed(runs: Sequence[Run], points: Sequence[str], arm: str = "candidate") -> list[Finding]:
    case = a_case(runs, arms=[arm] * len(runs), submission={"points": tuple(sorted(set(points)))})
    evidence = tuple(
        dc.replace(item, spec=dc.replace(item.spec, point=point))
        for item, point in zip(case.evidence, points, strict=True)
    )
    return [f for f in told(dc.replace(case, evidence=evidence)) if " in " in f.message]


def test_a_run_belongs_to_one_point() -> None:
    again = dc.replace(a_curve(0), file=f"{PATH}/again.log", run_id=None)
    (item,) = pointed([a_curve(0), again], ["a", "b"])
    assert item.message == "again.log in b is the same run as r0.log in a"
    assert (item.point, item.run, item.level) == ("b", again.file, Level.ERROR)
    assert item.fix == "give each point runs of its own."
    assert pointed([a_curve(0), a_curve(1)], ["a", "b"]) == []
    assert pointed([a_curve(0), again], ["a", "a"]) == []
    assert pointed([a_curve(0), again], ["a", "b"], "baseline") == []  # an arm may be shared
    (item,) = pointed([a_curve(0), a_curve(1), again], ["a", "b", "c"])
    assert item.point == "c"


# ---- beside other entries -----------------------------------------------------------------------

THEIRS = "submissions/nanogpt-small/theirs"


def beside(runs: Sequence[Run], others: Sequence[Run], **changes: Any) -> list[Finding]:
    entry = Neighbour(THEIRS, "nanogpt-small", None, frozenset(),
                      traces=tuple(trace_of(run) for run in others))  # fmt: skip
    return told(a_case(runs, neighbours=(entry,), **changes))


def test_losses_to_the_last_digit_on_another_clock() -> None:
    again = [a_curve(n, losses(40 + n)) for n in range(3)]
    theirs = [a_curve(10 + n, losses(40 + n)) for n in range(3)]
    for count, words in ((1, "1 run"), (2, "2 runs")):
        (item,) = beside([*again[:count], a_curve(7)], theirs)
        assert item.message == (
            f"the losses of {words} equal those of runs in {THEIRS} to the last digit, on another "
            "clock: one program and seed ran twice, or a copy has a new clock"
        )
        assert (item.run, item.level) == (again[0].file, Level.WARNING)
        assert (item.fix or "").startswith("say in the README that both ran the same code")
    assert beside([a_curve(7)], theirs) == []
    assert beside(again, theirs, arms=("baseline",) * 3) == []


def test_curves_that_are_near_to_those_of_another_entry() -> None:
    theirs = [a_curve(10 + n, losses(40 + n)) for n in range(4)]
    mine = [a_curve(n, moved(losses(40 + n), 3e-4, n)) for n in range(3)]
    (item,) = beside([a_curve(7), *mine], theirs)
    assert item.message.startswith("the curves of 3 runs are 0.0")
    assert item.message.endswith(
        f" nats from those of runs in {THEIRS}, closer than two trainings are"
    )
    assert item.fix == ONE_BY_ONE and item.run in {run.file for run in mine}


def test_averages_of_the_runs_of_another_entry() -> None:
    theirs = [a_curve(10 + n, losses(40 + n)) for n in range(4)]
    means = [
        [(x + y) / 2 for x, y in zip(losses(40 + n), losses(41 + n), strict=True)] for n in (0, 1)
    ]
    items = beside([a_curve(7), *(a_curve(n, mean) for n, mean in enumerate(means))], theirs)
    words = [f.message for f in items if "averages of two runs each" in f.message]
    assert words == [f"the curves of 2 runs are averages of two runs each in {THEIRS}"]


@pytest.mark.parametrize("factor", [1.25, 0.8])
def test_the_clock_of_a_run_of_another_entry(factor: float) -> None:
    theirs = [a_curve(10 + n) for n in range(2)]
    times = [round(t * factor, 3) for t in clock(11)]
    items = beside([a_curve(7), a_curve(8, times=times)], theirs)
    wanted = f"the clocks of 1 run are those of runs in {THEIRS}, as they are or times a constant"
    assert [f.message for f in items if "the clocks of" in f.message] == [wanted]


def test_what_another_pull_request_showed_first() -> None:
    shown = [a_curve(10 + n, losses(40 + n)) for n in range(4)]
    points = tuple(run.validation for run in shown)
    first = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    seen = Seen(9, "somebody", first, points=points, submission="other")
    later = dt.datetime(2026, 2, 1, tzinfo=dt.UTC)
    mine = [a_curve(n, moved(losses(40 + n), 3e-4, n)) for n in range(3)]
    request = PullRequest(10, "example-user")
    theirs = Neighbour("submissions/nanogpt-small/entry", "nanogpt-small", None, frozenset())

    def near(submission: str) -> list[str]:
        first_of = dc.replace(seen, submission=submission)
        fields = {"first_seen": later, "pull_request": request, "neighbours": (theirs,)}
        items = told(a_case(mine, seen=(first_of,), **fields))
        return [f.message.partition(" nats ")[2] for f in items]

    assert near("other") == ["from those of runs in #9, closer than two trainings are"]
    assert near(theirs.path) == []  # which is compared as it stands


def test_an_old_entry_is_left_alone() -> None:
    near = [a_curve(n, moved(losses(0), 2.8e-4, n)) for n in (0, 1)]
    track = dc.replace(SMALL, imported=(PATH,))
    imported = {"imported": {"url": "https://example.org"}}
    assert said(*near, track=track, submission=imported, merged=True) == []


# ---- one run that is listed twice ---------------------------------------------------------------

LIST = f"{PATH}/submission.json"


def listed(runs: Sequence[Run], source: str = "log", targets: Sequence[str] = ()) -> Case:
    """A case of runs that submission.json lists as such."""
    case = a_case(runs)
    specs = tuple(
        dc.replace(item.spec, source=source, target=target)
        for item, target in zip(
            case.evidence,
            targets or [run.file.removeprefix(f"{PATH}/") for run in runs],
            strict=True,
        )
    )
    evidence = tuple(dc.replace(i, spec=s) for i, s in zip(case.evidence, specs, strict=True))
    text = b'{"runs": [\n{},\n{}]}'
    return dc.replace(
        case,
        submission=dc.replace(case.submission, runs=specs),
        evidence=evidence,
        documents={"submission.json": read_json(text, LIST)},
    )


def first_of(case: Case) -> tuple[Any, ...]:
    item = told(case)[0]
    return item.message, item.level, item.run, item.file, item.line, item.pointer, item.fix


ONCE = "list each run once"


def test_one_log_twice() -> None:
    again = a_curve(1, losses(0), clock(0))
    wanted = ("r1.log is the same run as r0.log", Level.ERROR, again.file, LIST, 3, "/runs/1", ONCE)
    assert first_of(listed([a_curve(0), again])) == wanted
    assert told(listed([a_curve(0), a_curve(1)])) == []
    part = dc.replace(again, file=a_curve(0).file, index=1)
    message = "r0.log run 1 is the same run as r0.log"
    assert first_of(listed([a_curve(0), part]))[0] == message
    # Of a folder without a list two logs of one run count once.
    unlisted = dc.replace(listed([a_curve(0), again]), documents={})
    assert [f.level for f in told(unlisted)] == [Level.NOTE]
    bare = dc.replace(unlisted, folder=dc.replace(unlisted.folder, bare=True))
    assert first_of(bare)[:2] == wanted[:2]


def test_one_link_twice() -> None:
    link = "https://wandb.ai/example-team/nanogpt/runs/r0"
    runs = [a_curve(0, source="wandb", file=link), a_curve(1)]
    wanted = (f"{link} is listed twice", Level.ERROR, None, LIST, 3, "/runs/1", ONCE)
    assert first_of(listed(runs, "wandb", (link, link))) == wanted
    message = f"{link}?nw=x is the same run as {link}"
    assert first_of(listed(runs, "wandb", (link, f"{link}?nw=x")))[0] == message
    assert told(listed(runs, "wandb", (link, link.replace("r0", "r1")))) == []


def test_a_copy_that_does_not_count_is_named_with_its_place() -> None:
    near = [a_curve(n, moved(losses(0), 1e-4, n)) for n in (0, 1)]
    case = listed(near)
    message, level, run, *place, fix = first_of(case)
    assert message == ("r1.log does not count: its losses or its clocks are those of r0.log") and (
        level,
        run,
        fix,
    ) == (Level.WARNING, near[1].file, ONCE)
    assert place == [LIST, 3, "/runs/1"] and len(told(case)) == 1
    assert [(f.file, f.pointer) for f in told(a_case(near))] == [(PATH, None)]
