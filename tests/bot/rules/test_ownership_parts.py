"""Whose runs are whose, and what is said of it: each decision with the case beside it."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from typing import Any

import pytest

from bot.evidence.neighbours import log_keys
from bot.model.case import Case, Context, PullRequest, RunEvidence, Seen
from bot.model.run import Run, Validation
from bot.model.submission import Contributor, Folder, RunSpec
from bot.rules.ownership import owners_of, shown_by_others, shown_earlier
from tests.bot.rules.run_cases import PATH, SMALL, a_case, a_run, found

DAY = dt.datetime(2026, 1, 10, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)
REQUEST = PullRequest(7, "Example-User")
EVERYBODY = ("open project",)


@pytest.mark.parametrize(
    ("tags", "config", "marks", "owners"),
    [
        ((), {}, (), set()),
        (("speedrun:One", "two", "speedrun:two"), {}, (), {"one", "two"}),
        (("speedrun:One",), {}, EVERYBODY, set()),
        ((), {"speedrun": "One"}, (), {"one"}),
        ((), {"github_login": "speedrun:One"}, (), {"one"}),
        ((), {"github_login": 7, "other": "one"}, (), set()),
        (("speedrun:", "speedrun:not a login"), {"speedrun": ""}, (), set()),
    ],
)
def test_what_binds_a_run(tags: Any, config: Any, marks: Any, owners: set[str]) -> None:
    assert owners_of(a_run(tags=tags, config=config, client_marks=marks)) == owners


def entry(
    *logins: str,
    owner: str | tuple[str, ...] = (),
    request: PullRequest | None = REQUEST,
    acted: tuple[str, ...] = (),
    **changes: Any,
) -> Case:
    """An entry of one run, bound to `owner`, and its contributors."""
    tags = tuple(f"speedrun:{name}" for name in ((owner,) if isinstance(owner, str) else owner))
    people = tuple(map(Contributor, logins))
    return a_case([a_run(0, tags=tags, **changes)], submission={"contributors": people},
                  pull_request=request, acted=frozenset(acted))  # fmt: skip


def imported(case: Case) -> Case:
    about = dc.replace(case.submission, imported={"url": "x"})
    track = dc.replace(SMALL, imported=(PATH,))
    context = dc.replace(case.context, merged=True)
    return dc.replace(case, submission=about, track=track, context=context)


@pytest.mark.parametrize(
    ("case", "owner", "claimed"),
    [
        (entry("one", owner="two"), "two", "example-user"),
        (entry("one", owner=("three", "two")), "three", "example-user"),
        (entry("one", owner="two", acted=("b",)), "two", "b, example-user"),
        (entry("one", "zoe", owner="two", request=None), "two", "one, zoe"),
        (entry(owner="two", request=None), None, None),  # nobody says whose it is to be
        (entry("one", owner="one", request=None), None, None),
        (entry("one", owner="one"), None, None),  # `run-not-bound` asks for `/confirm`
        (entry("one", owner=("two", "example-user")), None, None),
        (entry("one", owner="two", acted=("two",)), None, None),
        (entry("one"), None, None),
        (imported(entry("one", owner="two")), None, None),
    ],
)
def test_a_run_that_is_bound_to_another(case: Case, owner: str | None, claimed: str | None) -> None:
    items = found("run-of-another", case)
    message = f"the run is bound to {owner}, who is not a contributor of this submission (r0)"
    fix = f"bring runs of your own, or ask {owner} to add this one by `/runs add`."
    assert [(f.message, f.fix, f.claimed, f.expected) for f in items] == (
        [(message, fix, claimed, owner)] if owner else []
    )


UNNAMED = "nothing in the run names you as its owner (r0)"


def tag(login: str) -> str:
    return f"add the tag `speedrun:{login}` to the run on W&B, then comment `/verify`."


OFFLINE: dict[str, Any] = {"source": "wandb-offline"}


@pytest.mark.parametrize(
    ("case", "message", "fix"),
    [
        (entry("one"), UNNAMED, tag("Example-User")),
        (entry("one", acted=("two",)), UNNAMED, tag("Example-User")),
        (entry("one", request=None), UNNAMED, tag("one")),
        (entry("one", "two", request=None), UNNAMED, tag("LOGIN")),
        (entry(request=None), None, None),
        (entry(), UNNAMED, tag("Example-User")),
        (entry("one", source="snapshot"), UNNAMED, tag("Example-User")),
        (entry("one", **OFFLINE), UNNAMED, "sync the run to W&B with the tag "
         "`speedrun:Example-User`, or train with `--github-login`."),
        (entry("one", source="log"), None, None),
        (entry("one", source="results"), None, None),
        (entry("one", owner="example-user"), None, None),
        (entry("one", owner="two"), None, None),  # `run-of-another` speaks of it
        (entry("one", owner="one", acted=("one",)), None, None),
        (entry("one", owner=("one", "example-user")), None, None),
        (entry("two", "one", owner=("two", "one", "a")),
         "the run is bound to one, who has not confirmed it here (r0)",
         "one comments `/confirm` on the pull request."),
        (imported(entry("one")), None, None),
    ],
)  # fmt: skip
def test_a_run_that_is_bound_to_nobody_here(
    case: Case, message: str | None, fix: str | None
) -> None:
    items = found("run-not-bound", case)
    assert [(f.message, f.fix) for f in items] == ([(message, fix)] if message else [])


def test_only_candidates_are_asked_for() -> None:
    case = a_case([a_run(0, tags=("speedrun:two",))], arms=("baseline",), pull_request=REQUEST)
    assert (found("run-not-bound", case), found("run-of-another", case)) == ((), ())


# ---- Who showed a run first ---------------------------------------------------------------------


def curve(start: float) -> tuple[Validation, ...]:
    return tuple(
        Validation(100 * n, start - 0.1237 * n, 6.0 * n + 0.0137 * (n * n * 7 % 11))
        for n in range(1, 13)
    )


OURS, OTHER = curve(5.1), curve(4.7)
AGAIN = tuple(p._replace(time_s=(p.time_s or 0) * (1.1 + p.step % 700 / 1e4)) for p in OURS)
"""The losses to the last digit, on another clock."""
TEXT = "".join(f"step:{p.step}/1200 val_loss:{p.loss:.4f} train_time:{p.time_s}s\n" for p in OURS)
LOG_KEY = frozenset(log_keys(TEXT.encode())[:1])
NONCE = "f" * 32
NONCE_KEY = frozenset({f"nonce:{NONCE}"})
LINE = f"nonce: {NONCE}\n"


def shown(**changes: Any) -> Seen:
    return dc.replace(Seen(3, "another-user", DAY), **changes)


def context(*seen: Seen, **changes: Any) -> Context:
    fields: dict[str, Any] = {"pull_request": REQUEST, "first_seen": DAY + HOUR} | changes
    return Context(seen=seen, **fields)


def log(*seen: Seen, **changes: Any) -> Case:
    """An entry of one log, whose run has no address."""
    run = a_run(source="log", file=f"{PATH}/a.log", run_id=None, nonce=None, validation=OURS)
    spec = RunSpec("log", "a.log", pointer="/runs/0")
    folder = Folder(PATH, {"a.log": (TEXT + LINE).encode()})
    case = a_case((), submission={"runs": (spec,)}, evidence=(RunEvidence(spec, (run,)),))
    return dc.replace(case, folder=folder, context=context(*seen, **changes))


def linked(*seen: Seen, **changes: Any) -> Case:
    run: Run = dc.replace(a_run(0), **changes)
    return dc.replace(a_case([run]), context=context(*seen))


ADDRESS = frozenset({"wandb:example-team/nanogpt/r0"})
FIRST = "another-user showed this run first, in #3 on 2026-01-10"


@pytest.mark.parametrize(
    ("case", "told"),
    [
        (log(), False),
        (log(shown(points=(OTHER,))), False),
        (log(shown(points=(OTHER, OURS))), True),
        (log(shown(run_keys=LOG_KEY)), True),
        (log(shown(run_keys=LOG_KEY, points=(AGAIN,))), False),
        (log(shown(run_keys=NONCE_KEY, points=(AGAIN,))), True),
        (log(shown(run_keys=LOG_KEY | NONCE_KEY, points=(AGAIN,))), True),
        (log(shown(points=(AGAIN,))), False),
        (log(shown(run_keys=ADDRESS)), False),
        # A run with an address is told by that alone.
        (linked(shown(run_keys=ADDRESS)), True),
        (linked(shown(run_keys=ADDRESS), run_id="r9"), False),
        (linked(shown(run_keys=ADDRESS), run_id=None), True),  # the list has the address still
        (linked(shown(run_keys=ADDRESS), entity=None), True),
        (linked(shown(run_keys=ADDRESS), project=None), True),
        # Who showed it, and when.
        (log(shown(run_keys=LOG_KEY, pull_request=7)), False),
        (log(shown(run_keys=LOG_KEY, at=DAY + HOUR)), False),
        (log(shown(run_keys=LOG_KEY), first_seen=None), True),
        (log(shown(run_keys=LOG_KEY), pull_request=None), False),
        (log(shown(run_keys=LOG_KEY, author="example-USER")), False),
        (log(shown(run_keys=LOG_KEY), acted=frozenset({"another-user"})), False),
        (log(shown(run_keys=LOG_KEY, author="Example-User"), shown(run_keys=LOG_KEY)), False),
        (linked(shown(run_keys=ADDRESS), tags=("speedrun:example-user",)), False),
        (linked(shown(run_keys=ADDRESS), tags=("speedrun:another-user",)), True),
    ],
)
def test_a_run_that_another_pull_request_showed_first(case: Case, told: bool) -> None:
    items = [f for f in found("run-of-another", case) if "first" in f.message]
    assert [f.message.rpartition(" (")[0] for f in items] == [FIRST] * told
    assert [(f.claimed, f.expected) for f in items] == [("Example-User", "another-user")] * told


def test_what_others_showed_and_this_one_does_not_hold() -> None:
    theirs, mine = shown(points=(OTHER,)), shown(run_keys=LOG_KEY)
    own = shown(points=(OTHER,), author="example-user")
    case = log(theirs, mine, own, shown(pull_request=7, points=(OTHER,)))
    assert shown_earlier(case) == (theirs, mine, own)
    assert shown_by_others(case) == (theirs,)
    assert shown_earlier(log(theirs, pull_request=None)) == ()
