"""Code and runs belong together: one code an arm, the code submitted, and code at all."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bot.evidence.code_hash import source_sha256
from bot.model.case import Case, Standing, Target
from bot.model.run import Run
from bot.model.submission import Reply
from bot.registry import Level
from tests.bot.rules.run_cases import PATH, SMALL, SOURCE, TRACKS, a_case, a_run, found

MINE, A, B, C = source_sha256(SOURCE), "a" * 64, "b" * 64, "c" * 64
TRAINER = {"reference_trainer": "e" * 64}
STEPS = TRACKS["nanogpt-optimization"]
Told = list[tuple[Any, Any, str | None]]


def differ(runs: Sequence[Run], arms: Sequence[str] = (), **fields: Any) -> Told:
    items = found("code-differs-between-runs", a_case(runs, arms=arms, **fields))
    return [(f.claimed, f.expected, f.run) for f in items]


def of_code(*codes: Mapping[str, str]) -> list[Run]:
    return [a_run(n, code_sha256=code) for n, code in enumerate(codes)]


def link(n: int) -> str:
    return a_run(n).file


@pytest.mark.parametrize(
    ("codes", "odd"),
    [
        (({"t.py": A}, {"t.py": A}), None),
        (({"t.py": A}, {"t.py": B}), (B, A, 1)),
        (({"t.py": A}, {"t.py": B}, {"t.py": B}), (A, B, 0)),  # most of them count
        (({"t.py": A}, {}), None),
        (({"t.py": A}, TRAINER), None),
        (({"t.py": A, **TRAINER}, {"t.py": A, "reference_trainer": C}), None),
        # of several files those that all name
        (({"t.py": A, "u.py": B}, {"t.py": A, "v.py": C}), None),
        (({"t.py": A, "u.py": B}, {"t.py": C, "u.py": B}), "both"),
        (({"t.py": A, "u.py": B}, {"t.py": A, "u.py": C}), "both"),
        (({"t.py": A, "a.py": B}, {"t.py": A}), None),
        (({"t.py": A}, {"u.py": A}), None),
        (({"u.py": B, "t.py": A}, {"v.py": A}), None),  # else the first of their names
        (({"t.py": B, "u.py": A}, {"v.py": A}), (A, B, 1)),
    ],
)
def test_runs_of_one_arm_ran_one_code(codes: Sequence[Mapping[str, str]], odd: Any) -> None:
    items = differ(of_code(*codes))
    if odd == "both":
        ((claimed, expected, run),) = items
        assert claimed != expected and len(claimed) == len(expected) == 12 and run == link(1)
        return
    assert items == ([] if odd is None else [(odd[0][:12], odd[1][:12], link(odd[2]))])


def test_each_arm_and_point_has_a_code_of_its_own() -> None:
    runs = of_code({"t.py": A}, {"t.py": B})
    assert differ(runs, ("candidate", "baseline")) == []
    case = a_case(runs)
    spec = dc.replace(case.evidence[1].spec, point="other")
    apart = (case.evidence[0], dc.replace(case.evidence[1], spec=spec))
    assert not found("code-differs-between-runs", dc.replace(case, evidence=apart))
    assert differ(runs, ("baseline", "baseline")) == [(B[:12], A[:12], link(1))]


def lengths(*planned: int | None, **fields: Any) -> list[Run]:
    return [a_run(n, total_steps=steps, **fields) for n, steps in enumerate(planned)]


@pytest.mark.parametrize(
    ("planned", "told"),
    [
        ((1000, 1000), []),
        ((1000, 1100), [(1100, 1000, link(1))]),
        ((1000, 1100, 1100), [(1000, 1100, link(0))]),
        ((1000, None), []),
    ],
)
def test_runs_of_one_arm_were_planned_alike(planned: Sequence[int | None], told: Told) -> None:
    assert differ(lengths(*planned)) == told


def test_where_the_others_belong_is_told() -> None:
    for arm, ending in (("candidate", ', or "arm": "baseline" where they are the baseline'),
                        ("baseline", "")):  # fmt: skip
        case = a_case(lengths(1000, 1100), arms=(arm, arm))
        (item,) = found("code-differs-between-runs", case)
        assert item.message == "the run was planned for 1100 steps, r0 for 1000 (r1)"
        said = "pool runs of one length, or give the others a point of their own"
        assert item.fix == said + ending


def test_runs_that_plan_nothing_end_alike() -> None:
    long, short = a_run(0, total_steps=None), a_run(1, total_steps=None)
    short = dc.replace(short, validation=short.validation[:-1])
    assert differ([long, short]) == [(750, 1000, link(1))]
    assert differ([long, dc.replace(short, total_steps=1000)]) == []
    assert STEPS.common_stop_step and differ([long, short], track=STEPS) == []


# ---- the code that is submitted -----------------------------------------------------------------


def submitted(code: Mapping[str, str], arm: str = "candidate", **fields: Any) -> Told:
    case = a_case([a_run(0, code_sha256=code)], arms=(arm,), **fields)
    items = found("code-differs-from-submission", case)
    return [(f.claimed, f.expected, f.run) for f in items]


@pytest.mark.parametrize(
    ("code", "fields", "told"),
    [
        ({"train.py": MINE}, {}, None),
        ({"x/train.py": MINE}, {}, None),
        ({"train.py": B}, {}, (MINE, B)),
        ({"train.py": B, "z.py": MINE}, {}, (MINE, B)),  # the file of that name counts
        ({"a.py": B, "z.py": MINE}, {}, None),
        ({"a.py": B, "z.py": C}, {}, (MINE, B)),
        ({}, {}, None),
        (TRAINER, {}, None),
        ({"train.py": B}, {"submission": {"code_path": None}}, None),
        ({"train.py": B}, {"submission": {"code_path": "gone.py"}}, None),
        ({"train.py": B}, {"submission": {"code_path": f"{PATH}/train.py"}}, (MINE, B)),
        ({"train.py": B}, {"submission": {"code_path": "./train.py"}}, (MINE, B)),
        ({"train.py": B}, {"linked_code": {"lib/train.py": (A, B)}}, None),  # either will do
        ({"train.py": MINE}, {"linked_code": {"lib/train.py": (A,)}}, None),
        ({"train.py": C}, {"submission": {"code_path": None}, "linked_code": {"t.py": (B, A)}},
         (A, C)),
    ],
)  # fmt: skip
def test_the_runs_ran_the_code_that_is_submitted(
    code: Mapping[str, str], fields: dict[str, Any], told: tuple[str, str] | None
) -> None:
    assert submitted(code, **fields) == ([] if told is None else [(*told, link(0))])
    assert submitted(code, "baseline", **fields) == []


def replied(own: Mapping[str, str], arm: str = "candidate", **target: Any) -> Told:
    """What is said of a reply whose run has this code and configuration, for a target."""
    run = a_run(0, code_sha256=own, config={"config_sha256": "mine"})
    standing = Standing(target=Target("x/entry", **target) if target else None)
    answer = {"reply": Reply("reproduces", "x/entry"), "code_path": None}
    case = a_case([run], arms=(arm,), submission=answer, standing=standing)
    items = found("code-differs-from-submission", case)
    assert all(f.level is Level.NOTE for f in items if f.claimed == "mine")
    return [(f.claimed, f.expected, f.run) for f in items]


@pytest.mark.parametrize(
    ("code", "target", "told"),
    [
        ({"t.py": A}, {}, None),
        ({"t.py": A}, {"code": frozenset({A, B})}, None),
        ({"t.py": C}, {"code": frozenset({B, A})}, (C, A)),
        ({"t.py": C, "u.py": B}, {"code": frozenset({A})}, (B, A)),
        ({"t.py": C, "u.py": A}, {"code": frozenset({A})}, None),
        ({}, {"code": frozenset({A})}, None),
        ({}, {"configs": frozenset({"other", "another"})}, ("mine", "another")),
        ({}, {"configs": frozenset({"mine", "another"})}, None),
        ({"t.py": A}, {"configs": frozenset({"mine"})}, None),
        ({"t.py": A}, {"code": frozenset({A}), "configs": frozenset()}, None),
        ({"t.py": A}, {"code": frozenset({A}), "configs": frozenset({"other"})}, None),
    ],
)
def test_a_reply_runs_the_code_of_its_entry(
    code: Mapping[str, str], target: dict[str, Any], told: tuple[str, str] | None
) -> None:
    assert replied(code, **target) == ([] if told is None else [(*told, link(0))])
    assert replied(code, "baseline", **target) == []


def test_a_run_without_a_known_configuration_is_not_compared_by_it() -> None:
    standing = Standing(target=Target("x/entry", configs=frozenset({"other"})))
    answer = {"reply": Reply("reproduces", "x/entry"), "code_path": None}
    case = a_case([a_run(0, code_sha256={})], submission=answer, standing=standing)
    assert not found("code-differs-from-submission", case)


# ---- code at all --------------------------------------------------------------------------------

REQUIRED = dc.replace(SMALL, code_required=True)
NONE = {"code_path": None}
LINKED = {"code_repository": "https://github.com/example-user/code", "code_commit": "0" * 40}
ABSENT, UNNAMED = '"gone.py" that `code` names is not', "the track requires the code, but the"


def missing(case: Case) -> list[str]:
    return [f.message for f in found("code-missing", case)]


@pytest.mark.parametrize(
    ("submission", "files", "said"),
    [
        ({}, {}, None),
        ({"code_path": "gone.py"}, {}, ABSENT),
        ({"code_path": "gone.py", **LINKED}, {}, ABSENT),
        ({"code_path": "x/gone.py"}, {"y/gone.py": b"1"}, None),
        ({"code_path": "code"}, {"code/a.py": b"1"}, None),
        ({"code_path": "code/"}, {"code/a.py": b"1"}, None),
        ({"code_path": "gone.py", "reply": Reply("reproduces", "x/y")}, {}, None),
        (NONE, {}, UNNAMED),
        ({**NONE, **LINKED}, {}, None),
        ({**NONE, **LINKED, "code_commit": None}, {}, UNNAMED),
        ({**NONE, **LINKED, "code_repository": None}, {}, UNNAMED),
        ({**NONE, "reply": Reply("reproduces", "x/y")}, {}, None),
    ],
)
def test_code_is_there(
    submission: dict[str, Any], files: dict[str, bytes], said: str | None
) -> None:
    runs = [a_run(0, code_sha256={})]
    for track in (REQUIRED, SMALL):
        told = missing(a_case(runs, submission=submission, files=files, track=track))
        needless = said is None or (track is SMALL and said == UNNAMED)
        assert [str(said) in message for message in told] == [True] * (not needless)


@pytest.mark.parametrize(
    ("codes", "absent"),
    [((), True), (({"t.py": A},), False), (({"t.py": A}, {}), True), ((TRAINER,), True)],
)
def test_logs_that_begin_with_their_source_are_code(
    codes: Sequence[Mapping[str, str]], absent: bool
) -> None:
    case = a_case(of_code(*codes), submission=NONE, track=REQUIRED)
    assert [UNNAMED in message for message in missing(case)] == [True] * absent


def test_code_elsewhere_in_the_pull_request_is_there() -> None:
    fields = {"submission": {"code_path": "gone.py"}, "track": REQUIRED}
    assert missing(a_case(linked_code={"lib/gone.py": (A,)}, **fields)) == []
    (item,) = found("code-missing", a_case(**fields))
    assert (item.file, item.pointer, item.claimed) == (PATH, "/code/path", "gone.py")
