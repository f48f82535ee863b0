"""Whose runs these are: cases that trigger a rule, and near misses."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

import pytest

from bot.model.case import Case, Neighbour, PullRequest, Seen
from bot.model.run import Validation, Witness, WitnessKind
from bot.model.submission import Contributor
from bot.registry import Level
from tests.bot.rules.run_cases import TRACKS, a_case, a_run, found

REQUEST = PullRequest(7, "example-user")
DAY = dt.datetime(2026, 1, 10, tzinfo=dt.UTC)
OWNER = "another-user"


def bound(*tags: str, **changes: Any) -> Case:
    fields = {"pull_request": REQUEST} | changes
    return a_case([a_run(0, tags=tags, config=fields.pop("config", {}),
                         client_marks=fields.pop("marks", ()))], **fields)  # fmt: skip


def named(**changes: Any) -> Case:
    people = (Contributor("example-user"), Contributor(OWNER))
    return bound(f"speedrun:{OWNER}", submission={"contributors": people}, **changes)


def seen(by: str = OWNER, number: int = 3, at: dt.datetime = DAY, exact: bool = True) -> Seen:
    """What an earlier pull request showed: the run's address, or a few of its points, rounded."""
    if exact:
        return Seen(number, by, at, frozenset({"wandb:example-team/nanogpt/r0"}))
    points = tuple(
        Validation(v.step, round(v.loss, 3), round(v.time_s or 0, 4)) for v in a_run(0).validation
    )
    return Seen(number, by, at, frozenset(), (points,))


def shown(*records: Seen, **changes: Any) -> Case:
    fields = {"seen": records, "pull_request": REQUEST, "first_seen": DAY + dt.timedelta(1)}
    return a_case([a_run(0, **changes.pop("run", {}))], **fields | changes)


LOG = {"source": "log", "file": "a.log", "run_id": None, "entity": None, "project": None}
"""What a run of a log has in place of an address on W&B."""


def of_log(*logins: str, **changes: Any) -> Case:
    """A log that names whose run it is."""
    tags = tuple(f"speedrun:{login}" for login in logins)
    return a_case([a_run(0, **LOG, tags=tags)], **{"pull_request": REQUEST} | changes)


PAGE = "wandb:another-team/nanogpt/x1"


def of_page(*neighbours: Neighbour, page: str = PAGE, **changes: Any) -> Case:
    """A log in which W&B's client names the page of a run."""
    said = Witness("page", page, WitnessKind.MACHINE, "W&B's lines in the log")
    fields = {"pull_request": REQUEST, "first_seen": DAY + dt.timedelta(1)} | changes
    return a_case([a_run(0, **LOG, witnesses=(said,))], neighbours=neighbours, **fields)


def an_entry(*people: str, keys: tuple[str, ...] = (PAGE,)) -> Neighbour:
    path = "submissions/nanogpt-small/theirs"
    return Neighbour(path, "nanogpt-small", None, frozenset(keys), people=frozenset(people))


TRIGGERS: list[tuple[str, Level, Callable[[], Case]]] = [
    ("run-of-another", Level.ERROR, lambda: bound(f"speedrun:{OWNER}")),
    ("run-of-another", Level.ERROR, lambda: bound(config={"speedrun": f"speedrun:{OWNER}"})),
    ("run-of-another", Level.ERROR, lambda: bound(f"speedrun:{OWNER}", pull_request=None)),
    ("run-of-another", Level.ERROR, lambda: shown(seen())),
    ("run-of-another", Level.ERROR, lambda: shown(seen(exact=False))),
    # To be listed as a contributor by somebody else is not to have acted.
    (
        "run-of-another",
        Level.ERROR,
        lambda: shown(
            seen(), submission={"contributors": (Contributor("example-user"), Contributor(OWNER))}
        ),
    ),
    (
        "run-of-another",
        Level.ERROR,
        lambda: shown(seen(exact=False), run={"source": "log", "file": "a.log", "run_id": None}),
    ),
    ("run-of-another", Level.ERROR, lambda: of_log(OWNER)),
    ("run-of-another", Level.ERROR, lambda: of_log(OWNER, pull_request=None)),
    # A name of one's own in a file is written in a moment.
    ("run-of-another", Level.ERROR, lambda: of_log(OWNER, "example-user")),
    (
        "run-of-another",
        Level.ERROR,
        lambda: shown(seen(exact=False), run={**LOG, "tags": ("speedrun:example-user",)}),
    ),
    ("run-of-another", Level.WARNING, lambda: of_page(an_entry(OWNER))),
    (
        "run-of-another",
        Level.WARNING,
        lambda: of_page(seen=(Seen(3, OWNER, DAY, frozenset({PAGE})),)),
    ),
    (
        "run-not-bound",
        Level.WARNING,
        lambda: of_log(
            OWNER, submission={"contributors": (Contributor("example-user"), Contributor(OWNER))}
        ),
    ),
    ("run-not-bound", Level.WARNING, lambda: bound()),
    ("run-not-bound", Level.WARNING, lambda: bound("example-user")),
    ("run-not-bound", Level.WARNING, lambda: named()),
    (
        "run-not-bound",
        Level.WARNING,
        lambda: bound("speedrun:example-user", marks=("open project",)),
    ),
]
NEAR_MISSES: list[tuple[str, Callable[[], Case]]] = [
    ("run-of-another", lambda: bound("speedrun:Example-User")),
    ("run-of-another", lambda: bound("fast", "speedrun:", "speedrun:not a login")),
    ("run-of-another", lambda: named()),
    ("run-of-another", lambda: bound(f"speedrun:{OWNER}", acted=frozenset({OWNER}))),
    ("run-of-another", lambda: shown(seen(by="Example-User"))),
    ("run-of-another", lambda: shown(seen(number=7))),
    ("run-of-another", lambda: shown(seen(at=DAY + dt.timedelta(2)))),
    ("run-of-another", lambda: shown(seen(), acted=frozenset({OWNER}))),
    # Who can tag the run owns it, whoever showed it first.
    ("run-of-another", lambda: shown(seen(), run={"tags": ("speedrun:example-user",)})),
    ("run-of-another", lambda: shown(seen(), run={"run_id": "r9"})),
    ("run-of-another", lambda: of_log("Example-User")),
    ("run-of-another", lambda: of_log(OWNER, acted=frozenset({OWNER}))),
    ("run-of-another", lambda: bound(f"speedrun:{OWNER}", "speedrun:example-user")),
    ("run-of-another", lambda: of_page(an_entry("example-user", OWNER))),
    ("run-of-another", lambda: of_page(an_entry(OWNER), page="wandb:another-team/nanogpt/x2")),
    ("run-of-another", lambda: of_page(seen=(Seen(3, "Example-User", DAY, frozenset({PAGE})),))),
    (
        "run-of-another",
        lambda: of_page(seen=(Seen(3, OWNER, DAY + dt.timedelta(2), frozenset({PAGE})),)),
    ),
    ("run-not-bound", lambda: of_log("example-user")),
    ("run-not-bound", lambda: bound("speedrun:Example-User")),
    ("run-not-bound", lambda: bound(config={"github_login": "example-user"})),
    ("run-not-bound", lambda: named(acted=frozenset({OWNER}))),
    ("run-not-bound", lambda: named(pull_request=None)),
    ("run-not-bound", lambda: a_case([a_run(0, source="log", file="a.log")])),
    ("run-not-bound", lambda: a_case([a_run(0, source="results", file="a.json")])),
]


def of_record(change: Callable[[Validation], Validation | None], **others: Any) -> Case:
    """A log of which another pull request showed the original, three points of four left in it."""
    theirs = Seen(3, OWNER, DAY, frozenset(), (curve(1),))
    mine = tuple(w for v in curve(1) if v.step % 400 and (w := change(v)) is not None)
    return shown(theirs, run={"source": "log", "file": "a.log", "run_id": None,
                              "validation": mine}, **others)  # fmt: skip


def curve(seed: int) -> tuple[Validation, ...]:
    """A training of 30 validations with the fluctuations of its seed."""
    draw = random.Random(seed)
    losses = (round(6.3 - s / 1e3 + draw.gauss(0, 0.004), 4) for s in range(100, 3001, 100))
    return tuple(Validation(s, x, round(s / 30 + draw.uniform(0, 0.1), 3))
                 for s, x in zip(range(100, 3001, 100), losses, strict=True))  # fmt: skip


def test_a_copy_with_rows_left_out_is_that_of_another() -> None:
    (item,) = found("run-of-another", of_record(lambda v: v))
    assert "#3" in item.message and not found("duplicate-run", of_record(lambda v: v))
    # One of its losses changed, or a few: it stays a copy.
    assert found(
        "run-of-another", of_record(lambda v: v._replace(loss=3.0) if v.step == 900 else v)
    )
    assert not found("run-of-another", of_record(lambda v: v._replace(loss=v.loss + 0.01)))


def test_a_copy_with_other_steps_and_clocks_resembles_what_another_showed() -> None:
    moved = of_record(lambda v: Validation(v.step - 3, v.loss, (v.time_s or 0) * 0.9 + v.step % 7))
    (item,) = found("duplicate-run", moved)
    assert item.level is Level.WARNING and "#3" in item.message
    own = of_record(lambda v: Validation(v.step - 3, v.loss, 1.0), acted=frozenset({OWNER}))
    assert found("duplicate-run", own) == ()
    draw = random.Random(9)
    assert not found(
        "duplicate-run", of_record(lambda v: Validation(v.step, v.loss + draw.gauss(0, 0.01), None))
    )


@pytest.mark.parametrize(("name", "level", "make"), TRIGGERS)
def test_it_triggers(name: str, level: Level, make: Callable[[], Case]) -> None:
    (item,) = found(name, make())
    assert (item.rule, item.level) == (name, level) and item.message and item.fix


@pytest.mark.parametrize(("name", "make"), NEAR_MISSES)
def test_a_near_miss_does_not(name: str, make: Callable[[], Case]) -> None:
    assert found(name, make()) == ()


def test_the_tag_to_add_is_the_one_of_the_author_whoever_else_acted() -> None:
    for acted in (frozenset(), frozenset({OWNER})):
        (item,) = found("run-not-bound", bound(acted=acted))
        assert item.fix and "`speedrun:example-user`" in item.fix


def test_a_login_of_an_enterprise_owns_its_runs() -> None:
    request = PullRequest(7, "jdoe_acme")
    assert found("run-not-bound", bound("speedrun:jdoe_acme", pull_request=request)) == ()


@pytest.mark.parametrize(
    ("track", "tags", "level"),
    [
        ("single-gpu", [f"speedrun:{OWNER}"], Level.WARNING),
        ("single-gpu", ["speedrun:example-user"], None),
        ("single-gpu", [f"speedrun:{OWNER}", "speedrun:example-user"], None),
        ("single-gpu", [], None),
        # On a track with a target the arm may be the runs of the record.
        ("nanogpt-small", [f"speedrun:{OWNER}"], None),
    ],
)
def test_a_baseline_arm_of_somebody_else(track: str, tags: list[str], level: Level | None) -> None:
    runs = [a_run(0, tags=("speedrun:example-user",)), a_run(1, tags=tuple(tags))]
    arms = ("candidate", "baseline")
    case = a_case(runs, arms=arms, track=TRACKS[track], pull_request=REQUEST)
    assert [f.level for f in found("run-of-another", case)] == [level] * (level is not None)
